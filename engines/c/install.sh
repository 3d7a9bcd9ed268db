#!/bin/sh
# Builds the C library in release, and installs it with its header and its pkg-config file.
#
# Usage: sh engines/c/install.sh PREFIX
#
# PREFIX gets include/chronoxide.h, lib/libchronoxide.a, the shared library and lib/pkgconfig/chronoxide.pc. With
# DESTDIR, files go below it, as packages are made. With CHRONOXIDE_LIBRARIES, a folder with built libraries, nothing is
# built, and these are installed as they are.
set -eu

if [ $# -ne 1 ] || [ -z "$1" ]; then
    echo "usage: sh engines/c/install.sh PREFIX" >&2
    exit 2
fi
case $1 in
/*) prefix=$1 ;;
*) prefix=$PWD/$1 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
major=${version%%.*}

built=no
if [ -z "${CHRONOXIDE_LIBRARIES:-}" ]; then
    built=yes
    (cd "$root" && cargo build --release --locked --manifest-path engines/Cargo.toml -p chronoxide-c)
    target=${CARGO_TARGET_DIR:-target}
    case $target in
    /*) ;;
    *) target=$root/$target ;;
    esac
    CHRONOXIDE_LIBRARIES=$target/release
fi

lib=${DESTDIR:-}$prefix/lib
include=${DESTDIR:-}$prefix/include
mkdir -p "$lib/pkgconfig" "$include"
install -m 644 "$here/include/chronoxide.h" "$include/"
install -m 644 "$CHRONOXIDE_LIBRARIES/libchronoxide.a" "$lib/"
case $(uname -s) in
Darwin)
    install -m 755 "$CHRONOXIDE_LIBRARIES/libchronoxide.dylib" "$lib/"
    private="-liconv -lSystem -lc -lm"
    ;;
*)
    install -m 755 "$CHRONOXIDE_LIBRARIES/libchronoxide.so" "$lib/libchronoxide.so.$version"
    # Programs load the name with the major version, and are linked with the one without.
    ln -sf "libchronoxide.so.$version" "$lib/libchronoxide.so.$major"
    ln -sf "libchronoxide.so.$version" "$lib/libchronoxide.so"
    private="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"
    ;;
esac
if [ "$built" = yes ] && command -v strip >/dev/null; then
    # Line tables take most of both files.
    strip -S "$lib"/libchronoxide.*
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@PRIVATE@|$private|" "$here/chronoxide.pc.in" \
    >"$lib/pkgconfig/chronoxide.pc"
echo "installed chronoxide $version below ${DESTDIR:-}$prefix"
[ -z "${DESTDIR:-}" ] || exit 0
# A program that links the shared library also needs the loader to find it.
case $(uname -s) in
Darwin) search=DYLD_LIBRARY_PATH ;;
*) search=LD_LIBRARY_PATH ;;
esac
cat <<EOF
The loader must find the shared library when a program starts. Choose one:
  for one shell        export $search=$prefix/lib
  in the program       cc ... \$(pkg-config --libs chronoxide) -Wl,-rpath,$prefix/lib
EOF
if [ "$search" = LD_LIBRARY_PATH ]; then
    echo "  for all programs     add $prefix/lib to /etc/ld.so.conf.d/chronoxide.conf, then run ldconfig (both as root)"
fi
case $prefix in
/usr | /usr/local) ;;
*) echo "pkg-config finds it with PKG_CONFIG_PATH=$prefix/lib/pkgconfig" ;;
esac
