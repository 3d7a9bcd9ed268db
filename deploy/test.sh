#!/bin/sh
# Runs the tests of the runners, in an environment of their own.
#
# Usage: sh deploy/test.sh [ARGUMENT OF PYTEST]...
#
# CHRONOXIDE_BIN is the folder of the binaries, target/debug by default. A test whose tool is missing is skipped, or
# fails if CHRONOXIDE_REQUIRE_ALL is set.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
case ${CARGO_TARGET_DIR:=$root/target} in
/*) ;;
*) CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;;
esac
export CARGO_TARGET_DIR
venv=$CARGO_TARGET_DIR/deploy-venv
CHRONOXIDE_BIN=${CHRONOXIDE_BIN:-$CARGO_TARGET_DIR/debug}
export CHRONOXIDE_BIN

if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --no-deps --requirement "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/"
fi
# Built from a copy, so that setuptools leaves nothing in the repository.
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
cp "$here/ray/compact.py" "$here/ray/pyproject.toml" "$package"
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --force-reinstall "$package"
cd "$here"
"$venv/bin/python" -m ruff check --no-cache .
"$venv/bin/python" -m ruff format --no-cache --check .
# Some functions of Ray have no types.
"$venv/bin/python" -m mypy --strict --allow-untyped-calls --cache-dir=/dev/null ray/compact.py
"$venv/bin/python" -m mypy --strict --cache-dir=/dev/null kubernetes/render.py
"$venv/bin/python" -m pytest -p no:cacheprovider tests "$@"
