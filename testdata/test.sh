#!/bin/sh
# Runs the tests of the main workspace, then lists the slowest ones, and those that were skipped and why.
#
# Usage: sh testdata/test.sh [ARGUMENT OF cargo test]...   for instance -p chronoxide-format -- goldens::
#
# With CHRONOXIDE_SWEEPS=full, tests try all their cases: the slow tier, which takes hours. With
# CHRONOXIDE_REQUIRE_ALL=1, a test whose tool or data is missing fails. With CHRONOXIDE_TEST_REPORT, the name of a
# folder, the output and the list of programs are kept there.
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 1
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' HUP INT PIPE TERM
report=${CHRONOXIDE_TEST_REPORT:-$temporary}
mkdir -p "$report" || exit 1
# Absolute: cargo runs each test program in the folder of its crate.
report=$(cd "$report" && pwd) || exit 1
: >"$report/skipped"
: >"$report/programs"
export CHRONOXIDE_SKIPPED="$report/skipped" CHRONOXIDE_TEST_PROGRAMS="$report/programs"
[ ! -t 1 ] || export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-always}"

packages=--workspace
case " $* " in *" -p"* | *" --package"*) packages= ;; esac
{
    # As a string of TOML.
    runner=$(printf '%s' "$PWD/testdata/timed.sh" | sed 's/[\\"]/\\&/g')
    # shellcheck disable=SC2086 # Nothing, or one word.
    cargo --config "target.'cfg(all())'.runner = ['sh', \"$runner\"]" test $packages "$@"
    echo $? >"$temporary/exit"
} 2>&1 | tee "$report/output"

# Lines of libtest: `test NAME ... ok <1.234s>`. Output of the test can come before and in between.
sed -n 's/.*test \([^ ]*\) \.\.\. .*ok <\([0-9.]*\)s>$/\2 s  \1/p' "$report/output" | sort -rn | head -n 10 >"$temporary/slowest"
if [ -s "$temporary/slowest" ]; then
    printf '\nslowest tests:\n'
    cat "$temporary/slowest"
fi
if [ -s "$report/skipped" ]; then
    printf '\nskipped, because something is missing:\n'
    sort "$report/skipped" | uniq -c
else
    printf '\nno test was skipped\n'
fi
exit "$(cat "$temporary/exit")"
