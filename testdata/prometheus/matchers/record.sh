#!/bin/sh
# Writes the series and selectors, and records Prometheus's answers. Needs python3, go, zstd and a Go module proxy.
set -eu
cd "$(dirname "$0")"
python3 cases.py
answers=$(mktemp)
trap 'rm -f "$answers"' EXIT
go run . series.jsonl selectors.jsonl >"$answers"
zstd -19 -q -f "$answers" -o answers.jsonl.zst
