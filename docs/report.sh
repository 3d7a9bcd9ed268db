#!/bin/sh
# Makes docs/report.png: the top of a report on testdata/captures/sessions.series.jsonl. Needs Node.js 20, npm and
# Chromium.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet -p chronoxide-commands
bin=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm ci --prefix commands/tests/inspect/page --no-audit --no-fund --loglevel error
"$bin/chronoxide-ingest" --quiet testdata/captures/sessions.series.jsonl -o "$work/sessions.cx"
# The page shows the path as it is given.
(cd "$work" && "$bin/chronoxide-inspect" report sessions.cx -o sessions.html)
node commands/tests/inspect/page/screenshot.mjs "$work/sessions.html" docs/report.png
