#!/bin/sh
# Runs a program of tests with the time of each test. `testdata/test.sh` has cargo call it.
#
# Times are an unstable option of libtest; stable toolchains have it behind this variable.
case $1 in
*/deps/*)
    printf '%s\t%s\n' "$1" "$PWD" >>"$CHRONOXIDE_TEST_PROGRAMS"
    RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --report-time
    ;;
*) exec "$@" ;;
esac
