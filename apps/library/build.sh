#!/usr/bin/env bash
# Builds the library and makes the files that it imports. What is missing on this machine is named, and installed when this user
# may. Running it twice is harmless.
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/setup.sh kafka database library
cargo build --release
for records in 5 25; do
    for edition in 1:create 2:update; do
        target/release/library generate --records "${records}000" --edition "${edition%%:*}" \
            --out "target/files/${edition##*:}-${records}k.mrc"
    done
done
