#!/bin/sh
# Builds the wheel of the Python package, in engines/python/dist/.
#
# Usage: sh engines/python/build.sh [PROFILE]
#
# PROFILE is a profile of cargo, release by default. Needs python3 (3.10 or newer) and Rust; maturin is installed in a
# folder of its own.
set -eu

profile=${1:-release}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tools=$root/target/python-tools
maturin=$(sed -n 's/^requires = \["\(maturin==[^"]*\)"\]$/\1/p' "$here/pyproject.toml")

if ! "$tools/bin/python" -c "import importlib.metadata as m; assert '$maturin' == 'maturin==' + m.version('maturin')" \
    2>/dev/null; then
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet "$maturin"
fi
# Wheels of earlier versions would be installed together with the new one.
rm -rf "$here/dist"
"$tools/bin/maturin" build --manifest-path "$here/Cargo.toml" --locked --profile "$profile" --out "$here/dist"
