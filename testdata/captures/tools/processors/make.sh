#!/bin/sh
# Writes captures/processors anew: the configuration that `usage` prints for request.json and queries.promql, both
# written by hand, and what a Collector's processors leave of the request. Needs Go and the commands in PATH.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../../processors && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chronoxide-ingest --quiet "$captures/request.json" -o "$work/request.cx"
chronoxide-inspect usage --quiet "$work/request.cx" --used "$captures/queries.promql" --relabel collector \
    > "$work/config.yaml"
go run -buildvcs=false . "$work/config.yaml" < "$captures/request.json" > "$work/processed.json"
mv "$work/config.yaml" "$work/processed.json" "$captures"
