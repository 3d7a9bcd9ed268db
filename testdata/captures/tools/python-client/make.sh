#!/bin/sh
# Writes captures/python-client anew. Needs Python 3; the version of the library is in requirements.txt.
set -eu
cd "$(dirname "$0")"
captures=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --requirement requirements.txt
mkdir -p "$captures/python-client"
"$work/venv/bin/python" write.py "$captures/python-client"
