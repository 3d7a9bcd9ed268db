#!/bin/sh
# Builds the C library and the commands, and tests the Go module with them.
#
# Usage: sh engines/prometheus/test.sh [GO TEST ARGUMENTS]
#
# CHRONOXIDE_LIBRARIES is a folder with built libraries, and CHRONOXIDE_COMMANDS one with built commands: without them,
# these are built. CHRONOXIDE_RANDOM_TIME is how long random data folders are compared, such as 1m.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
command -v go >/dev/null || { echo "$0: Go is required: https://go.dev/dl/" >&2; exit 1; }

target=${CARGO_TARGET_DIR:-$root/target}
case $target in
/*) ;;
*) target=$root/$target ;;
esac
if [ -z "${CHRONOXIDE_COMMANDS:-}" ]; then
    (cd "$root" && cargo build --locked -p chronoxide-commands)
    CHRONOXIDE_COMMANDS=$target/debug
fi
if [ -z "${CHRONOXIDE_LIBRARIES:-}" ]; then
    (cd "$root" && cargo build --locked --manifest-path engines/Cargo.toml -p chronoxide-c)
    CHRONOXIDE_LIBRARIES=${CARGO_TARGET_DIR:-$root/engines/target}/debug
fi
export CHRONOXIDE_COMMANDS CHRONOXIDE_LIBRARIES

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
# Go's cache keeps the folder of the library, so that it must be there for the next run, too. The cache does not see
# that the folder or an installed header changed; it does see other flags.
prefix=$target/prometheus-prefix
sh "$root/engines/c/install.sh" "$prefix" >/dev/null
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
installed=$({ echo "$prefix" && cat "$root/engines/c/include/chronoxide.h"; } | cksum | cut -d ' ' -f 1)
CGO_CFLAGS="-O2 -g -DCHRONOXIDE_INSTALLED=$installed"
export CGO_CFLAGS
cd "$here"
# Without the clients of clouds, which find targets there.
go build -tags remove_all_sd -o "$temporary/promtool" github.com/prometheus/prometheus/cmd/promtool
export CHRONOXIDE_PROMTOOL="$temporary/promtool"

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "not formatted by gofmt: $unformatted" >&2; exit 1; }
# Prometheus's iterators have a Seek that is not that of io.Seeker.
go vet -stdmethods=false ./...
go tool staticcheck ./...
go test -count=1 "$@" ./...
