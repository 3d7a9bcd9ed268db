#!/bin/sh
# Installs the wheel of engines/python/dist/ in a new environment, and runs the tests, the examples of the documentation
# and the type checker.
#
# Usage: sh engines/python/test.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/python-test

python3 -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/tests/requirements.txt" "$here"/dist/*.whl
cd "$here"
"$venv/bin/python" -m pytest
"$venv/bin/python" -m mypy --strict examples
"$venv/bin/python" -m mypy.stubtest chronoxide --allowlist tests/stubtest.txt
