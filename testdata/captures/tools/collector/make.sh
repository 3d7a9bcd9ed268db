#!/bin/sh
# Writes captures/collector anew: metrics of OpenTelemetry's SDK for Python, as the file exporter of a Collector writes them.
# Needs Go, Python 3 and curl. Versions are in go.mod and requirements.txt; times and sizes differ from run to run.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
work=$(mktemp -d)
collector=
trap '[ -z "$collector" ] || kill "$collector"; rm -rf "$work"' EXIT
go build -buildvcs=false -o "$work/collector" .
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --requirement requirements.txt

export PORT="${PORT:-14318}" OUT="$work/out"
mkdir "$OUT"
"$work/collector" --config "$PWD/config.yaml" > "$work/log" 2>&1 &
collector=$!
for attempt in $(seq 100); do
    # Without a body this is an error of the client, and of no interest.
    curl --silent --output /dev/null "http://127.0.0.1:$PORT/v1/metrics" && break
    [ "$attempt" -lt 100 ] || { cat "$work/log"; exit 1; }
    sleep 0.1
done
env -u OTEL_RESOURCE_ATTRIBUTES "$work/venv/bin/python" export.py "http://127.0.0.1:$PORT/v1/metrics" "$OUT/series.jsonl"
kill "$collector"
wait "$collector" || true
collector=
rm -rf "${captures:?}/collector"
cp -r "$OUT" "$captures/collector"
