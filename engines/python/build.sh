#!/bin/sh
# Builds the wheel of the Python package, in engines/python/dist/.
#
# Usage: sh engines/python/build.sh [--dev]
#
# --dev packs the module that cargo builds together with the tests of the engines: much faster where these are built, slow
# when used. Linux only.
#
# Needs python3 (3.10 or newer) and Rust; maturin is installed in a folder of its own.
set -eu
unset CDPATH

case ${1:-} in
'' | --dev) ;;
*)
    echo "usage: sh engines/python/build.sh [--dev]" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
case ${CARGO_TARGET_DIR:=$root/target} in
/*) ;;
*) CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;;
esac
export CARGO_TARGET_DIR
target=$CARGO_TARGET_DIR
tools=$target/python-tools
maturin=$(sed -n 's/^requires = \["\(maturin==[^"]*\)"\]$/\1/p' "$here/pyproject.toml")

if ! "$tools/bin/python" -c "import wheel, importlib.metadata as m; assert '$maturin' == 'maturin==' + m.version('maturin')" \
    2>/dev/null; then
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet "$maturin" wheel==0.48.0
fi
# Wheels of earlier versions would be installed together with the new one.
rm -rf "$here/dist"
if [ "${1:-}" = --dev ]; then
    cd "$here"
    # With the features that the tests of the engines have, or DataFusion would be built again.
    PYO3_BUILD_EXTENSION_MODULE=1 cargo build --locked --workspace --lib --tests
    wheel=$(mktemp -d)
    trap 'rm -rf "$wheel"' EXIT
    "$tools/bin/maturin" pep517 write-dist-info --metadata-directory "$wheel"
    mkdir "$wheel/chronoxide" dist
    cp python/chronoxide/*.py python/chronoxide/*.pyi python/chronoxide/py.typed "$wheel/chronoxide"
    cp "$target/debug/lib_chronoxide.so" "$wheel/chronoxide/_chronoxide.abi3.so"
    "$tools/bin/python" -m wheel pack "$wheel" --dest-dir dist
else
    "$tools/bin/maturin" build --manifest-path "$here/Cargo.toml" --locked --release --out "$here/dist"
fi
