#!/bin/sh
# Packs what the author of a reader needs, without Rust: the texts, the files of version 1, and the runner.
#
# Usage: sh spec/kit.sh [FILE]      by default chronoxide-kit-1.0.tar.gz in the current folder
#
# Needs GNU tar. Equal contents give equal bytes.
set -eu
unset CDPATH
file=${1:-chronoxide-kit-1.0.tar.gz}
case $file in
-*)
    echo "usage: sh spec/kit.sh [FILE]" >&2
    exit 2
    ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
name=chronoxide-kit-1.0
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' HUP INT TERM
mkdir -p "$stage/$name/spec/registration" "$stage/$name/testdata/frozen"
cd "$root"
cp LICENSE-APACHE LICENSE-MIT "$stage/$name/"
cp spec/KIT.md "$stage/$name/README.md"
cp spec/*.md spec/SHA256SUMS spec/chronoxide.magic spec/conformance.py spec/decoder.py spec/zstd_blocks.py \
    "$stage/$name/spec/"
cp spec/registration/* "$stage/$name/spec/registration/"
cp -R testdata/frozen/1 "$stage/$name/testdata/frozen/"
cd "$OLDPWD"
# One command after the other: the end of a pipe does not tell that its beginning has failed.
(cd "$stage" && find "$name" -type f | LC_ALL=C sort >names)
# Options of GNU tar: a sum of the kit means something only if its bytes do not depend on the machine.
tar --no-recursion --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -C "$stage" -T "$stage/names" \
    -cf "$stage/kit.tar"
gzip -9 -n "$stage/kit.tar"
cp "$stage/kit.tar.gz" "$file"
