#!/bin/sh
# Writes captures/node-client anew. Needs Node.js and npm; versions are in package-lock.json.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json write.js "$work"
(cd "$work" && npm ci --ignore-scripts --silent)
mkdir -p "$captures/node-client"
node "$work/write.js" "$captures/node-client"
