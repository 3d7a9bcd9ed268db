#!/bin/sh
# Makes a workload of many series into one verified block, and prints the time, the memory and the bytes of each step.
#
#     testdata/scale.sh [SERIES] [MEMORY]
#
# SERIES is a number with k, M or G: 10M by default. MEMORY bounds the ingest: 1GiB by default. The blocks go to a
# folder below TMPDIR, which is removed at the end: about 4 bytes per series. Needs GNU time.
set -eu
cd "$(dirname "$0")/.."
series=${1:-10M}
memory=${2:-1GiB}
count=$(echo "$series" | sed 's/k$/000/; s/M$/000000/; s/G$/000000000/')
cargo build --quiet --release -p chronoxide-workload -p chronoxide-commands
bin=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -x /usr/bin/time ] || { echo "scale.sh: GNU time is missing: install the package \"time\"" >&2; exit 1; }

# Runs a step, and prints its name, its time, the time of all processors per million series, its memory, and the bytes
# of its output.
step() {
    name=$1
    output=$2
    shift 2
    /usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" > "$work/stdout" 2> "$work/stderr" || {
        echo "scale.sh: $name failed" >&2
        cat "$work/stderr" >&2
        exit 1
    }
    read -r seconds user system kilobytes < "$work/time"
    cost=$(awk "BEGIN { printf \"%.3f\", ($user + $system) / $count * 1000000 }")
    bytes=$(find "$output" -name '*.cx' -exec cat {} + 2> /dev/null | wc -c)
    printf '%-24s %9s s %8s s/million %7d MiB %14d bytes\n' \
        "$name" "$seconds" "$cost" $((kilobytes / 1024)) "$bytes"
}

mkdir "$work/blocks"
printf '%s series, ingest with --memory-limit %s, %s processors\n' "$series" "$memory" "$(nproc)"
# The generator runs beside the ingest, whose time and memory are printed.
mkfifo "$work/pipe"
"$bin/chronoxide-workload" --series "$count" --format otlp-proto > "$work/pipe" &
step ingest "$work/blocks" "$bin/chronoxide-ingest" "$work/pipe" -o "$work/blocks" --memory-limit "$memory" --quiet
printf '%-24s %9d\n' "blocks" "$(find "$work/blocks" -name '*.cx' | wc -l)"
step "merge, adopted plan" "$work/merged.cx" \
    "$bin/chronoxide-compact" "$work"/blocks/*.cx -o "$work/merged.cx" --quiet
step "archive of it" "$work/archive.cx" \
    "$bin/chronoxide-compact" "$work/merged.cx" -o "$work/archive.cx" --archive --quiet
step verify "$work/merged.cx" "$bin/chronoxide-inspect" verify "$work/merged.cx"

# The labels of some series must be those that the generator wrote: all series of the first pod of the workload.
pod=$("$bin/chronoxide-workload" --series "$count" --format series-json 2> /dev/null | head -n 1 |
    sed 's/.*"k8s.pod.name":"\([^"]*\)".*/\1/')
step "list the series of a pod" "$work/merged.cx" \
    "$bin/chronoxide-inspect" series "$work/merged.cx" --match "{\"k8s.pod.name\"=\"$pod\"}" --format series-json
"$bin/chronoxide-inspect" series "$work/merged.cx" --match "{\"k8s.pod.name\"=\"$pod\"}" --format series-json | sort > "$work/found"
"$bin/chronoxide-workload" --series "$count" --format series-json | grep -F "\"k8s.pod.name\":\"$pod\"" > "$work/pod"
"$bin/chronoxide-ingest" "$work/pod" -o "$work/pod.cx" --quiet
"$bin/chronoxide-inspect" series "$work/pod.cx" --format series-json | sort > "$work/expected"
cmp "$work/found" "$work/expected"
found=$(wc -l < "$work/found")
[ "$found" -gt 0 ]
printf 'all %d series of pod %s are those of the workload\n' "$found" "$pod"
total=$("$bin/chronoxide-inspect" "$work/merged.cx" --json | sed -n 's/.*"series": *\([0-9]*\).*/\1/p' | head -n 1)
bytes=$(wc -c < "$work/merged.cx")
printf '%d series, %d bytes, ' "$total" "$bytes"
awk "BEGIN { printf \"%.3f bytes per series\\n\", $bytes / $total }"
