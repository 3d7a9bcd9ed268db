#!/bin/sh
# Writes the captures anew. Times are fixed; ids of blocks are not.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
export GOFLAGS="-mod=mod -buildvcs=false"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/tsdb" .

# Cuts the zeros off with which a file of head chunks is preallocated, all but 64 of them.
trim() {
    python3 - "$1" <<'PYTHON'
import sys
content = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(content.rstrip(b"\0") + bytes(64))
PYTHON
}

# capture NAME FLAGS...: a data folder, its series as Prometheus lists them, and the number of samples of its logs.
capture() {
    name=$1
    shift
    rm -rf "${captures:?}/$name"
    mkdir -p "$captures/$name"
    "$work/tsdb" write "$work/$name" "$@"
    "$work/tsdb" list "$work/$name" > "$captures/$name/series.jsonl"
    "$work/tsdb" samples "$work/$name" > "$captures/$name/samples"
    for file in "$work/$name"/chunks_head/*; do trim "$file"; done
    # Nothing reads the chunks of blocks.
    rm -rf "$work/$name"/01*/chunks
    # Files that a server has and the library does not write.
    : > "$work/$name/lock"
    printf '[]\0\0' > "$work/$name/queries.active"
    cp -r "$work/$name" "$captures/$name/data"
}

# Blocks, write-ahead log with snappy records, checkpoint, out-of-order log, head chunks.
capture prometheus-data snappy
# The same with zstd records and start times, which have other types of records.
capture prometheus-data-st zstd st
# With deletions in tombstones of the blocks and in the log.
capture prometheus-data-deleted zstd deleted
