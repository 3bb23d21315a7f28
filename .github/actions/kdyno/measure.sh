#!/usr/bin/env bash
# What the action does: finds the program, runs the scenario, writes page, JUnit file and run file into a folder of their own
# and the result into the job's summary. Ends with kdyno's exit code, and with 2 where an input is wrong.
#
# Inputs are variables INPUT_…, as action.yml sets them; what GitHub sets are RUNNER_TEMP, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY.
set -euo pipefail

refuse() {
    echo "::error title=kdyno::$1"
    exit 2
}

# An archive is unpacked, and checked where its sum is given.
unpacked() { # archive
    [ -f "$1" ] || refuse "there is no file $1"
    if [ -n "${INPUT_SHA256:-}" ] && ! echo "$INPUT_SHA256  $1" | sha256sum --check --status; then
        refuse "the sum of $1 is not \`sha256\`"
    fi
    mkdir "$folder/program"
    tar --extract --gzip --file "$1" --directory "$folder/program" --strip-components 1 ||
        refuse "$1 is no archive of kdyno"
    program="$folder/program/kdyno"
}

find_program() {
    local given="${INPUT_KDYNO:-}"
    case "$given" in
    "")
        program="$(command -v kdyno)" || refuse "kdyno is not in PATH: \`kdyno\` names the program or its archive"
        ;;
    https://*)
        [ -n "${INPUT_SHA256:-}" ] || refuse "an archive from an address needs its sum: \`sha256\`"
        curl --fail --silent --show-error --location --proto =https --output "$folder/kdyno.tar.gz" "$given" ||
            refuse "the archive cannot be fetched"
        unpacked "$folder/kdyno.tar.gz"
        ;;
    *.tar.gz) unpacked "$given" ;;
    *) program="$(realpath "$given")" ;;
    esac
    "$program" --version || refuse "$program does not run here"
}

folder="$(mktemp --directory "${RUNNER_TEMP:?}/kdyno-XXXXXX")"
results="$folder/results"
find_program

arguments=(--junit "$results/kdyno.xml")
while IFS= read -r line; do
    [ -z "$line" ] || arguments+=(--fail-if "$line")
done <<<"${INPUT_FAIL_IF:-}"
while IFS= read -r line; do
    [ -z "$line" ] || arguments+=("$line")
done <<<"${INPUT_ARGUMENTS:-}"

mkdir "$results"
export KDYNO_OUT="$results"
code=0
"$program" "${INPUT_COMMAND:-run}" "${INPUT_SCENARIO:?}" --no-progress "${arguments[@]}" || code=$?
echo "code=$code" >>"$GITHUB_OUTPUT"

# Without a run file nothing was begun, and kdyno has said why.
if compgen -G "$results/*.kdyno" >/dev/null; then
    echo "folder=$results" >>"$GITHUB_OUTPUT"
    "$program" export latest --format markdown >>"$GITHUB_STEP_SUMMARY"
    "$program" report latest --out "$results/kdyno.html"
fi
exit "$code"
