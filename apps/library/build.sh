#!/usr/bin/env bash
# Builds the library and makes the files that it imports. What is missing on this machine is named, and installed when this user
# may. Running it twice is harmless.
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/setup.sh kafka database library
cargo build --release

# The records of each size have numbers of their own, so that several files go into one library. `before-PROFILE-SIZE` is what has
# to be imported before `PROFILE-SIZE`: of an update the records themselves, of a create one other record.
make() { # name, records, first, edition
    target/release/library generate --records "$2" --first "$3" --edition "$4" --out "target/files/$1.mrc"
}
for records in 1000 5000 25000; do
    make "create-$records" "$records" "$((records + 1))" 1
    make "update-$records" "$records" "$((records + 1))" 2
    make "before-create-$records" 1 1 1
    make "before-update-$records" "$records" "$((records + 1))" 1
done
