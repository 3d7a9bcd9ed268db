#!/bin/sh
# Builds the reader: build.sh OUTPUT [s390x]. See reader.c.
set -eu
cd "$(dirname "$0")"
if [ "${2:-}" = s390x ]; then
    s390x-linux-gnu-gcc -std=c11 -Wall -Wextra -Werror -O2 -static -o "$1" *.c
else
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O2 -fsanitize=address,undefined \
        -fno-sanitize-recover=all -o "$1" *.c
fi
