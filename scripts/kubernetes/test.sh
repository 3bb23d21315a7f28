#!/usr/bin/env bash
# Tests of pods that carry load, on a cluster of two nodes that is started for them and ended after them.
#
# usage: scripts/kubernetes/test.sh [NAME...]     the tests of these names [all]
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly cluster=scripts/kubernetes/cluster.sh
readonly kdyno="${CARGO_TARGET_DIR:-target}/debug/kdyno"

cargo test --workspace --features kdyno/kubernetes --test kubernetes --no-run
"$cluster" build

# What the program is linked against goes with it.
libraries="$(ldd "$kdyno" | sed -n 's/.*[[:space:]]\(\/[^ ]*\).*/\1=\1/p')"
readonly libraries

# Brokers need Kafka, and the tests have no network to fetch it by.
"$kdyno" cluster up kubernetes-tests
"$kdyno" cluster down kubernetes-tests

trap '"$cluster" down' EXIT
"$cluster" up
# shellcheck disable=SC2086 # a word for each file
image="$("$cluster" image localhost/kdyno/kdyno "$kdyno=/kdyno" $libraries /dev/null=tmp/ /dev/null=etc/)"
"$cluster" run env "KDYNO_TEST_IMAGE=$image" \
    cargo test --workspace --features kdyno/kubernetes --test kubernetes -- "$@"
