#!/bin/sh
# Installs the wheel of engines/python/dist/ in a new environment, and runs the tests, the examples of the documentation
# and the type checker.
#
# Usage: sh engines/python/test.sh
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
case ${CARGO_TARGET_DIR:=$root/target} in
/*) ;;
*) CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;;
esac
export CARGO_TARGET_DIR
venv=$CARGO_TARGET_DIR/python-test

python3 -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/tests/requirements.txt" "$here"/dist/*.whl
cd "$here"
"$venv/bin/python" -m pytest
"$venv/bin/python" -m mypy --strict examples
"$venv/bin/python" -m mypy.stubtest chronoxide --allowlist tests/stubtest.txt
