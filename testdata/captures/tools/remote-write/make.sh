#!/bin/sh
# Writes captures/remote-write anew: requests of a Prometheus server, in version 1 and 2 of the protocol, and its series as its API
# lists them. Needs Go and Python 3. The server's version is in go.mod; it is built without service discovery.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
go build -buildvcs=false -tags remove_all_sd -o "$work/prometheus" github.com/prometheus/prometheus/cmd/prometheus

prometheus=127.0.0.1:${PORT:-19090}
port=${RECEIVER_PORT:-19091}
sed -e "s/'PORT'/'$prometheus'/; s/TARGET/127.0.0.1:$port/; s/RECEIVER/127.0.0.1:$port/" scrape.yml.in > "$work/scrape.yml"
mkdir "$work/out"
"$work/prometheus" --config.file "$work/scrape.yml" --storage.tsdb.path "$work/data" --web.listen-address "$prometheus" > "$work/log" 2>&1 &
server=$!
python3 receive.py "$captures/python-client/metrics.om" "$port" "$prometheus" "$work/out" || { tail "$work/log"; exit 1; }
kill "$server"
wait "$server" || true
server=
rm -rf "${captures:?}/remote-write"
cp -r "$work/out" "$captures/remote-write"
