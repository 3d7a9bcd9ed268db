#!/usr/bin/env python3
"""Tests a reader of blocks against the golden and the broken files: see CONFORMANCE.md.

    python3 conformance.py [--testdata FOLDER] [--remaps] [--no-rules] COMMAND [ARGUMENT...]

Runs `COMMAND verify FILE` on each file of the manifest, and `COMMAND dump FILE` on the golden ones. Prints each
difference, then how many files were judged. Exit code: 0 if the reader agrees with all of them, 5 if not, 2 for wrong
usage, 1 if a file or the command cannot be read.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def manifest(testdata, remaps):
    """Returns the entries of blocks, or of remaps if `remaps`, as dictionaries."""
    with open(os.path.join(testdata, "manifest.tsv"), encoding="utf-8") as file:
        names, *rows = (line.rstrip("\n").split("\t") for line in file)
    entries = [dict(zip(names, row)) for row in rows]
    return [entry for entry in entries if entry["file"].startswith("remaps/") == remaps]


def differences(command, testdata, entry, rules):
    """Yields each difference between the reader and the manifest, in words."""
    path = os.path.join(testdata, entry["file"])
    verified = subprocess.run([*command, "verify", path], capture_output=True)
    message = verified.stderr.decode("utf-8", "replace")
    if verified.returncode != int(entry["exit"]):
        yield "verify exits with %d, not %s: %s" % (verified.returncode, entry["exit"], message.strip())
    elif rules and entry["rule"] != "-" and not message.startswith("%s: %s: " % (path, entry["rule"])):
        yield "verify does not name the rule %s: %s" % (entry["rule"], message.strip())
    elif entry["classes"] == "R" and entry["rule"] == "-" and "only rules of class R" not in message:
        yield "verify does not say that class C was not checked: %s" % message.strip()
    elif entry["rule"] == "-" and entry["classes"] != "R" and (message or verified.stdout):
        yield "verify prints something for a sound file: %s" % message.strip()
    if entry["rule"] == "-":
        dumped = subprocess.run([*command, "dump", path], capture_output=True)
        with open(os.path.splitext(path)[0] + ".txt", "rb") as file:
            if dumped.returncode != 0 or dumped.stdout != file.read():
                yield "the dump differs (exit code %d)" % dumped.returncode


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--testdata", default=os.path.join(HERE, "..", "testdata"), help="folder of manifest.tsv")
    parser.add_argument("--remaps", action="store_true", help="test a reader of remaps")
    parser.add_argument("--no-rules", action="store_true", help="compare exit codes only, not the rules in messages")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND...", help="the reader")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("the command of the reader is missing")
    failed = 0
    try:
        entries = manifest(options.testdata, options.remaps)
        for entry in entries:
            found = list(differences(options.command, options.testdata, entry, not options.no_rules))
            failed += bool(found)
            for difference in found:
                print("%s: %s" % (entry["file"], difference))
    except OSError as error:
        print("%s: %s" % (error.filename, error.strerror), file=sys.stderr)
        return 1
    print("%d files judged, %d differ" % (len(entries), failed))
    return 5 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
