#!/bin/sh
# Adds the jars of kdyno's cache (or of the folders that are named) to the table of known files. Look at what it adds before
# it is committed: the sums are those of what Maven has delivered here.
set -eu
table=$(dirname "$0")/../crates/testbed/src/download/sums.txt
[ $# -gt 0 ] || set -- "${XDG_CACHE_HOME:-$HOME/.cache}/kdyno"
touch "$table"
find "$@" -path '*/libs/*.jar' -exec sha256sum {} + | sed 's|  .*/|  |' | LC_ALL=C sort -u -k2,2 -k1,1 - "$table" -o "$table"
awk '{ if (seen[$2]++) { print $2 " has two sums"; bad = 1 } } END { exit bad }' "$table"
