#!/usr/bin/env python3
"""Tests a reader of blocks against the files of testdata: see CONFORMANCE.md.

    python3 conformance.py [OPTION...] COMMAND [ARGUMENT...]

Runs `COMMAND verify FILE` on each file of the manifest, and `COMMAND dump FILE` on the sound ones. With `--mutants`, it
runs `COMMAND verify FILE` on changed and repaired blocks instead, and compares the exit code with that of `decoder.py`.
Prints each difference, then how many files were judged. Exit code: 0 if the reader agrees with all of them, 5 if not, 2
for wrong usage, 1 if a file or the command cannot be read.
"""

import argparse
import concurrent.futures
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

import decoder

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 60  # for one file
MUTANT_LEN = 4000  # most bytes of a file that is changed
LAYOUTS = {1: decoder.META, 2: decoder.CATALOGUE, 3: decoder.SYMBOLS, decoder.PACKED_ARENA: decoder.PACKED,
           decoder.PLAIN_METRICS: decoder.METRICS, decoder.PACKED_METRICS: decoder.PACKED,
           decoder.COLUMN_KIND: decoder.SERIES_COLUMN}


def manifest(options):
    """The entries of blocks, or of remaps, as dictionaries."""
    with open(os.path.join(options.testdata, "manifest.tsv"), encoding="utf-8") as file:
        names, *rows = (line.rstrip("\n").split("\t") for line in file)
    entries = [dict(zip(names, row)) for row in rows]
    return [entry for entry in entries if entry["file"].startswith("remaps/") == options.remaps]


def run(command, action, path):
    """The exit code, output and errors of the reader; the exit code is None if it does not end."""
    try:
        done = subprocess.run([*command, action, path], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, b"", "it does not end"
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()


def ended(code):
    """How a command ended, in words."""
    return "is ended by signal %d" % -code if code is not None and code < 0 else "exits with %s" % code


# Texts that a reader may leave out: the kinds of their sections, the beginning of their rules, and their part of a dump.
OPTIONAL = {
    "metrics": ((decoder.PLAIN_METRICS, decoder.PACKED_METRICS), "metric-", rb"^metrics .*?(?=^columns |\Z)"),
    "columns": ((decoder.COLUMN_KIND,), "value-", rb"^columns .*\Z"),
}


def without(dump, unknown):
    """The dump of a reader that does not know some texts: their sections have other names, too."""
    for kinds, _, part in (OPTIONAL[text] for text in unknown):
        for kind in kinds:
            dump = dump.replace(b"\n  %s " % decoder.SECTIONS[kind].encode(), b"\n  optional-%d " % kind)
        dump = re.sub(part, b"", dump, flags=re.MULTILINE | re.DOTALL)
    return dump


def differences(options, entry):
    """Yields each difference between the reader and the manifest, in words."""
    path = os.path.join(options.testdata, entry["file"])
    rule, exit_code = entry["rule"], int(entry["exit"])
    if options.level == "core" and entry.get("level") == "archive":
        rule, exit_code = "incompat-features", 4
    code, out, message = run(options.command, "verify", path)
    if code == 0 and any(rule.startswith(OPTIONAL[text][1]) or "--" + text in path for text in options.unknown):
        return
    if code != exit_code:
        yield "verify %s, not %d: %s" % (ended(code), exit_code, message)
    elif not options.no_rules and rule != "-" and not message.startswith("%s: %s: " % (path, rule)):
        yield "verify does not name the rule %s: %s" % (rule, message)
    elif entry["classes"] == "R" and rule == "-" and "only rules of class R" not in message:
        yield "verify does not say that class C was not checked: %s" % message
    elif entry["classes"] != "R" and rule == "-" and (message or out):
        yield "verify prints something for a sound file: %s" % message
    if rule == "-":
        code, out, message = run(options.command, "dump", path)
        with open(os.path.splitext(path)[0] + ".txt", "rb") as file:
            right = file.read()
        out, right = without(out, options.unknown), without(right, options.unknown)
        if code != 0 or out != right:
            lines = zip(out.split(b"\n") + [b""], right.split(b"\n") + [b""])
            first = next((n for n, (line, wanted) in enumerate(lines, 1) if line != wanted), 1)
            yield "the dump differs from line %d on (dump %s)" % (first, ended(code))


# ---- Mutants --------------------------------------------------------------------------------------------------------


def directory_of(data):
    count = min(decoder.HEADER.read(data).section_count, (len(data) - decoder.HEADER.size) // decoder.ENTRY.size)
    return [decoder.ENTRY.read(data, decoder.HEADER.size + n * decoder.ENTRY.size) for n in range(count)]


def with_header(data, **fields):
    """The block with other values in its header, whose checksum is made right."""
    front = decoder.HEADER.struct.pack(*decoder.HEADER.read(data)._replace(**fields))[:-4]
    return front + struct.pack("<I", decoder.crc(front)) + data[decoder.HEADER.size:]


def repaired(data, **fields):
    """The block with other values in its header, and with its id, checksums and length made right, as far as the
    directory says where the sections are: so rules behind these are reached."""
    data = with_header(data, **fields)
    directory = directory_of(data)
    if not directory:
        return with_header(data, file_len=len(data))
    front_end = decoder.HEADER.size + len(directory) * decoder.ENTRY.size
    meta = decoder.META.read(data[front_end:front_end + decoder.META.size].ljust(decoder.META.size, b"\0"))
    header = decoder.HEADER.read(data)._replace(block_id=decoder.block_id(data, directory, meta))
    checks_sum, end = 0, directory[-1].offset + directory[-1].length
    if front_end <= end <= len(data):
        checks, _ = decoder.chunk_checksums(data, header, directory)
        checks_sum, data = decoder.checks_checksum(header, checks), data[:end] + checks
    front_checksum = decoder.crc(header.block_id, data[decoder.HEADER.size:front_end + directory[0].length])
    return with_header(data, block_id=header.block_id, file_len=len(data), front_checksum=front_checksum,
                       checks_checksum=checks_sum)


def assembled(sections, **fields):
    """The block with these sections, given as (kind, id, bytes)."""
    end = decoder.HEADER.size + decoder.ENTRY.size * len(sections)
    directory = b""
    for kind, number, content in sections:
        directory += decoder.ENTRY.struct.pack(kind, number, end, len(content))
        end += len(content)
    header = decoder.HEADER.struct.pack(decoder.MAGIC, *decoder.VERSION, 0, 0, 0, bytes(16), 0, len(sections), 0, 0, 0)
    return repaired(header + directory + b"".join(content for _, _, content in sections), **fields)


def fields_of(data):
    """Position and size of each field in the header, the directory and the headers of sections. Widths are fields, too;
    magic and ids are not."""
    places = [(0, decoder.HEADER)]
    for n, entry in enumerate(directory_of(data)):
        places.append((decoder.HEADER.size + n * decoder.ENTRY.size, decoder.ENTRY))
        if entry.kind in LAYOUTS:
            places.append((entry.offset, LAYOUTS[entry.kind]))
    for at, layout in places:
        for count, kind in re.findall("([0-9]*)([a-zA-Z])", layout.struct.format):
            size = struct.calcsize("<" + kind)
            if int(count or 1) < 8:
                yield from ((at + n * size, size) for n in range(int(count or 1)))
            at += int(count or 1) * size


def changed(data, below):
    """The block with one change. `below(n)` is a random number from 0 to n - 1."""
    header, sections = decoder.HEADER.read(data), directory_of(data)
    action = below(8)
    if action < 2:
        fields = list(fields_of(data))
        at, size = fields[below(len(fields))]
        value, most = int.from_bytes(data[at:at + size], "little"), 256 ** size
        value = (0, 1, value + 1, value - 1, value ^ 1 << below(8 * size), most - 1, below(40), below(most))[below(8)]
        return data[:at] + (value % most).to_bytes(size, "little") + data[at + size:]
    entry = sections[below(len(sections))]
    at = entry.offset + below(entry.length or 1)
    if action < 6:  # a bit, or a byte
        value = data[at] ^ 1 << below(8) if below(4) else below(256)
        return data[:at] + bytes([value]) + data[at + 1:]
    if action == 6:
        return with_header(data, ro_compat=header.ro_compat ^ 1 << below(32))
    contents = [(other.kind, other.id, decoder.bytes_of(data, other)) for other in sections]
    n, at, added = sections.index(entry), at - entry.offset, bytes([below(256)] * below(2))
    kind, number, content = contents[n]
    contents[n] = kind, number, content[:at] + added + content[at + 1 - len(added):]
    return assembled(contents, ro_compat=header.ro_compat, compat=header.compat, incompat=header.incompat)


def judged(data):
    """The exit code of `decoder.py` on a block, and the block. What meta says of the series is made right first."""
    for _ in range(5):
        try:
            decoder.verified(data)
            return 0, data
        except decoder.Broken as broken:
            stated = re.search("(series_count|label_count|fingerprint_[12]) should be ([0-9]+)$", str(broken))
            if not stated:
                return broken.exit_code, data
            at = directory_of(data)[0].offset
            meta = decoder.META.read(data, at)._replace(**{stated.group(1): int(stated.group(2))})
            data = repaired(data[:at] + decoder.META.struct.pack(*meta) + data[at + decoder.META.size:])
    raise AssertionError("what meta says of the series cannot be made right")


def mutants(options, files):
    """Yields the number, file name, bytes and right exit code of each mutant. They depend on seed and number only."""
    for number in range(options.mutants):
        chosen = random.Random(options.seed << 32 | number)

        def below(n):
            return int(chosen.random() * n)

        name, data = files[below(len(files))]
        for _ in range(1 + below(3)):
            data = repaired(changed(data, below))
            ends = [entry.offset + entry.length for entry in directory_of(data)]
            if len(ends) != decoder.HEADER.read(data).section_count or max(ends, default=len(data)) >= len(data):
                break
        yield (number, name, *reversed(judged(data)))


def compare_mutants(options, entries):
    """How many mutants were judged, and how many differ."""
    files = []
    for entry in sorted(entries, key=lambda entry: entry["file"]):
        if entry["rule"] == "-" and not (options.level == "core" and entry.get("level") == "archive"):
            with open(os.path.join(options.testdata, entry["file"]), "rb") as file:
                data = file.read()
            if len(data) < MUTANT_LEN:
                files.append((entry["file"], data))
    folder, count, failed = tempfile.mkdtemp(prefix="mutants-"), 0, 0
    for number, name, data, right in mutants(options, files):
        kinds = {kind for text in options.unknown for kind in OPTIONAL[text][0]}
        is_unknown = any(entry.kind in kinds for entry in directory_of(data))
        archive = decoder.HEADER.read(data).incompat & decoder.ARCHIVE
        if options.level == "core" and archive or is_unknown:
            continue
        path = os.path.join(folder, "%d-%d.cx" % (options.seed, number))
        with open(path, "wb") as file:
            file.write(data)
        code, _, message = run(options.command, "verify", path)
        count += 1
        if code == right:
            os.remove(path)
        else:
            failed += 1
            print("%s: mutant %d of seed %d, of %s: verify %s, not %d: %s" % (
                path, number, options.seed, name, ended(code), right, message))
    if not failed:
        os.rmdir(folder)
    return count, failed


def compare_files(options, entries):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = pool.map(lambda entry: list(differences(options, entry)), entries)
    for entry, found in zip(entries, judged):
        failed += bool(found)
        for difference in found:
            print("%s: %s" % (entry["file"], difference))
    return len(entries), failed


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--testdata", help="folder of manifest.tsv; by default, that of the frozen files")
    parser.add_argument("--remaps", action="store_true", help="test a reader of remaps")
    parser.add_argument("--no-rules", action="store_true", help="compare exit codes only, not the rules in messages")
    parser.add_argument("--level", choices=("core", "archive"), default="archive", help="level of the reader")
    for text, what in ("metrics", "metric metadata"), ("columns", "series columns"):
        parser.add_argument("--no-" + text, action="append_const", const=text, dest="unknown", default=[],
                            help="the reader does not know %s" % what)
    parser.add_argument("--mutants", type=int, metavar="N", help="judge this number of changed blocks instead")
    parser.add_argument("--seed", type=int, default=1, help="of the mutants")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND...", help="the reader")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("the command of the reader is missing")
    if options.mutants is not None and (options.remaps or options.mutants < 1):
        parser.error("there are no mutants of remaps" if options.remaps else "--mutants needs a number from 1 on")
    if options.testdata is None:
        folders = [] if options.remaps else ["frozen", "1"]
        options.testdata = os.path.normpath(os.path.join(HERE, "..", "testdata", *folders))
    try:
        entries = manifest(options)
        count, failed = (compare_mutants if options.mutants else compare_files)(options, entries)
        if not count:
            parser.error("no file can be judged with these options")
    except OSError as error:
        print("%s: %s" % (error.filename, error.strerror), file=sys.stderr)
        return 1
    print("%d files judged, %d differ" % (count, failed))
    return 5 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
