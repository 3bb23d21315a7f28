#!/usr/bin/env bash
# Makes what of the pages is made by Node: npm's packages by the lock file, and of them the script that pages carry
# (web/dist/, embedded when kdyno-report is built). Without Node and npm it says once that pages will have none, and ends
# with 0: they are complete without it. Quiet when nothing is to be done.
#
# usage: scripts/web.sh
set -euo pipefail
cd "$(dirname "$0")/../web"

if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "web: node or npm is missing: pages are complete, but have no script (scripts/setup.sh web installs both)" >&2
    exit 0
fi

# A copy of the lock file tells whether what is installed is what it names.
readonly INSTALLED=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$INSTALLED"; then
    echo "web: installing npm's packages" >&2
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    cp package-lock.json "$INSTALLED"
fi
npm run --silent build
