#!/usr/bin/env bash
# Makes the pictures of the documents, docs/guide/pictures/*.png, from real runs. Runs that are in target/pictures are taken
# as they are; the others are measured first, ten minutes for all: remove a folder there to measure its run again.
#
# usage: scripts/pictures.sh [KDYNO]      the program [target/release/kdyno]
set -euo pipefail
cd "$(dirname "$0")/.."

kdyno="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/kdyno}")"
readonly kdyno
readonly runs="$PWD/target/pictures"
mkdir -p "$runs/all"

# The scenario of the tutorial is that of its page.
sed -n '/^```yaml$/,/^```$/{/^```/!p}' docs/guide/first-hour.md >"$runs/checkout.yaml"

page() { # name, command …: its page, of a run that is measured unless it is there
    local name="$1"
    shift
    if [ ! -d "$runs/$name" ]; then
        rm -rf "$runs/$name.new"
        (cd "$runs" && "$kdyno" "$@" --out "$runs/$name.new")
        mv "$runs/$name.new" "$runs/$name"
    fi
    "$kdyno" report latest --dir "$runs/$name" --out "$runs/$name.html"
    cp "$runs/$name"/*.kdyno "$runs/all/"
}

page page run first-light
page verdict compare ./checkout.yaml --a linger=0ms --b linger=5ms --design duet --quick
page capacity find ./checkout.yaml --highest writers.rate --from 20k/s --to 200k/s --while 'writers.response.p99 <= 20ms' --quick --budget 5m
page flame-graph run first-light --profile smoke --flame cpu

cat >"$runs/front.md" <<'END'
---
title: Orders of the check-out
date: 2026-12-01
authors: the performance team
---

What we wanted to know: does `linger.ms=5` pay, and how much does one broker sustain?
END
"$kdyno" publish "$runs/front.md" "$runs"/verdict/*.kdyno "$runs"/capacity/*.kdyno --out "$runs/document.html"

rm -f "$runs/address"
"$kdyno" serve "$runs/all" --port 0 >"$runs/address" &
server=$!
trap 'kill "$server"' EXIT
until [ -s "$runs/address" ]; do sleep 0.1; done
CHROMIUM="$(command -v chromium)" node web/pictures.mjs "$runs" docs/guide/pictures "$(cat "$runs/address")"
