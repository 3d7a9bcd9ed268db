#!/bin/sh
# Ingests, compacts and inspects the captures in testdata/captures. Writes to a temporary folder only.
#
# CHRONOXIDE_BIN is the folder of the commands. Without it, they are built: some minutes on a new machine.
set -eu
unset CDPATH
cd "$(dirname "$0")/.."
[ -n "${CHRONOXIDE_BIN:-}" ] || cargo build --quiet --locked -p chronoxide-commands
bin=${CHRONOXIDE_BIN:-${CARGO_TARGET_DIR:-target}/debug}
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
trap 'exit 130' HUP INT PIPE TERM

run() {
    printf '\n$ %s\n' "$*"
    program=$1
    shift
    "$bin/$program" "$@"
}

run chronoxide-ingest testdata/captures/metrics.jsonl -o "$blocks/metrics.cx"
run chronoxide-ingest testdata/captures/monday.series.jsonl -o "$blocks/monday.cx"
run chronoxide-ingest testdata/captures/tuesday.series.jsonl -o "$blocks/tuesday.cx"
run chronoxide-compact "$blocks/monday.cx" "$blocks/tuesday.cx" -o "$blocks/week.cx"
run chronoxide-inspect "$blocks/week.cx"
run chronoxide-inspect series "$blocks/metrics.cx" --format prometheus --first 3
run chronoxide-inspect values job "$blocks/week.cx" --match up
run chronoxide-inspect cardinality "$blocks/week.cx" --first 3
run chronoxide-inspect shares job "$blocks/week.cx"
run chronoxide-ingest testdata/captures/sessions.series.jsonl -o "$blocks/sessions.cx"
run chronoxide-inspect report "$blocks/sessions.cx" -o "$blocks/sessions.html"
run chronoxide-inspect usage "$blocks/week.cx" --used testdata/usage --first 3
# 5: they differ.
run chronoxide-inspect diff "$blocks/monday.cx" "$blocks/tuesday.cx" --series || [ $? -eq 5 ]
run chronoxide-inspect export "$blocks/week.cx" -o "$blocks/week.parquet"
run chronoxide-inspect verify "$blocks/metrics.cx" "$blocks/week.cx"
