#!/usr/bin/env bash
# Builds the library and makes the files that it imports. What is missing on this machine is named, and installed when this user
# may. Running it twice is harmless.
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/setup.sh kafka database library
cargo build --release
for records in 5000 25000; do
    target/release/library generate --records "$records" --edition 1 --out "target/files/create-$records.mrc"
    target/release/library generate --records "$records" --edition 2 --out "target/files/update-$records.mrc"
done
