#!/bin/sh
# Writes the captures in ../../tables anew.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1
"$work/venv/bin/python" "$here/make.py" "$here/../../tables"
