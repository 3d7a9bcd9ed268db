#!/bin/sh
# Unpacks the corpora of all fuzz targets into a folder, or packs them again:
#
#     sh testdata/corpus.sh unpack /tmp/corpus
#     sh testdata/corpus.sh pack /tmp/corpus
set -eu
here=$(cd "$(dirname "$0")" && pwd)/corpus
folder=$2
case $1 in
unpack)
    for archive in "$here"/*.tar.zst; do
        target=$(basename "$archive" .tar.zst)
        mkdir -p "$folder/$target"
        zstd -dcq "$archive" | tar -xf - -C "$folder/$target"
    done
    ;;
pack)
    for target in "$folder"/*/; do
        # Sorted and without times or owners: equal corpora give equal archives.
        (cd "$target" && ls) | LC_ALL=C sort |
            tar --no-recursion --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -C "$target" -T - -cf - |
            zstd -q -19 -f -o "$here/$(basename "$target").tar.zst"
    done
    ;;
*)
    echo "usage: corpus.sh unpack|pack FOLDER" >&2
    exit 2
    ;;
esac
