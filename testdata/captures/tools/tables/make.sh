#!/bin/sh
# Writes captures/tables anew. Needs Python 3, Node.js, npm and Go; versions are in requirements.txt,
# node/package-lock.json and go/go.mod.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$captures/tables"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --requirement requirements.txt
"$work/venv/bin/python" write.py "$captures/tables"
cp node/* "$work"
(cd "$work" && npm ci --ignore-scripts --silent)
node "$work/write.mjs" "$captures/tables"
(cd go && go run -buildvcs=false . "$captures/tables/go.arrow")
