#!/bin/sh
# Builds the reader: build.sh OUTPUT [s390x]. See reader.c.
set -eu
case ${1:-} in
"" | -*)
    echo "usage: build.sh OUTPUT [s390x]" >&2
    exit 2
    ;;
/*) output=$1 ;;
*) output=$PWD/$1 ;;
esac
cd "$(dirname "$0")"
case ${2:-native} in
s390x) s390x-linux-gnu-gcc -std=c11 -Wall -Wextra -Werror -O2 -static -o "$output" *.c ;;
native)
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -fsanitize=address,undefined -fno-sanitize-recover=all \
        -o "$output" *.c
    ;;
*)
    echo "build.sh: unknown machine $2" >&2
    exit 2
    ;;
esac
