#!/usr/bin/env python3
"""Tests of remap.py against the golden and broken remaps and the worked example of REMAP.md: `python3 test_remap.py`.

The text stands beside this file. `CHRONOXIDE_REMAPS` is the folder of `golden` and `broken`, if that is not
`../testdata/remaps`.
"""

import contextlib
import io
import itertools
import os
import re
import struct
import tempfile
import time
import unittest

import remap

HERE = os.path.dirname(os.path.abspath(__file__))
REMAPS = os.environ.get("CHRONOXIDE_REMAPS", os.path.join(HERE, "..", "testdata", "remaps"))
SMALL = 1500  # bytes
FULL = os.environ.get("CHRONOXIDE_SWEEPS") == "full"  # try all cases
STEP = 1 if FULL else 5  # between flipped bits


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files(folder):
    """The names of the remaps in a folder and their bytes."""
    folder = os.path.join(REMAPS, folder)
    names = sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".cxr"))
    return [(name, read(os.path.join(folder, name + ".cxr"))) for name in names]


def broken_rule(data):
    """The rule that a remap breaks, or None."""
    try:
        remap.Remap(data)
    except remap.Broken as broken:
        return broken.rule
    return None


def flipped(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]


def with_header(data, **fields):
    """The remap with other values in its header, whose checksum is made right."""
    header = remap.Header._make(remap.HEADER.unpack_from(data))._replace(**fields)
    front = remap.HEADER.pack(*header)[:-4]
    return front + struct.pack("<I", remap.crc(front)) + data[remap.HEADER.size:]


def sealed(data, end, **fields):
    """The remap whose checks start at `end`, with its length and checksums made right."""
    data = with_header(data, **fields)
    header = remap.Header._make(remap.HEADER.unpack_from(data))
    checks = b""
    for n, start in enumerate(range(0, end, remap.CHUNK_LEN)):
        chunk = data[max(start, remap.HEADER.size):min(start + remap.CHUNK_LEN, end)]
        checks += struct.pack("<I", remap.crc(header.input_id, header.job_id, struct.pack("<Q", n), chunk))
    right = remap.crc(header.input_id, header.job_id, b"\xff" * 8, checks)
    return with_header(data[:end] + checks, file_len=end + len(checks), checks_checksum=right)


def resealed(data, **fields):
    """The same for a remap of the same length."""
    end = len(data)
    while end + 4 * -(-end // remap.CHUNK_LEN) > len(data):
        end -= 1
    return sealed(data, end, **fields)


def pack(numbers):
    """pack() of (number, bits)."""
    bits = "".join(format(number, "b").zfill(size) if size else "" for number, size in reversed(numbers))
    return int(bits or "0", 2).to_bytes(remap.whole_bytes(len(bits)), "little")


def built(outputs, groups, keysets, parts, patterns, runs, rows=()):
    """A remap of records, and of rows as (number, bits)."""
    body, fields, row_bits = b"".join(remap.OUTPUT.pack(bytes(16), end) for end in outputs), {}, sum(b for _, b in rows)
    for (kind, limits), records in zip(remap.RECORDS.items(), (groups, keysets, parts, patterns, runs)):
        widths = bytes(max((record[i] for record in records), default=0).bit_length() for i in range(len(limits)))
        fields.update({kind + "_count": len(records), kind + "_widths": widths})
        body += pack([pair for record in records for pair in zip(record, widths)])
    del fields["group_count"]
    header = remap.Header(remap.MAGIC, *remap.VERSION, 0, bytes(16), bytes(16), 0, output_count=len(outputs), **fields,
                          row_bits=row_bits, reserved=bytes(2), checks_checksum=0, header_checksum=0)
    data = remap.HEADER.pack(*header) + body + pack(rows) + bytes(8)
    return sealed(data, len(data))


def command(*arguments):
    """The exit code, output and errors of the command."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = remap.main(list(arguments))
    return code, out.getvalue(), errors.getvalue()


class Remaps(unittest.TestCase):
    def test_golden_remaps_say_what_was_put_in(self):
        self.assertGreaterEqual(len(files("golden")), 8)
        for name, data in files("golden"):
            text = read(os.path.join(REMAPS, "golden", name + ".txt")).decode("utf-8")
            self.assertEqual("".join(line + "\n" for line in remap.Remap(data).dump()), text, name)

    def test_broken_remaps_break_the_rule_that_they_are_named_after(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            rules = dict(re.findall(r"^\| `([a-z-]+)` \| (corrupt|unsupported|not-a-remap) \|$", file.read(), re.M))
        self.assertEqual(sorted(rules), sorted({name.split("--")[0] for name, _ in files("broken")}))
        self.assertEqual({rule for rule, error in rules.items() if error == "unsupported"}, remap.UNSUPPORTED)
        for name, data in files("broken"):
            with self.subTest(name):
                self.assertEqual(broken_rule(data), name.split("--")[0])

    def test_header_table(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            section = file.read().split("\n## 2. ")[1].split("\n## 3. ")[0]
        row = r"^\| ([0-9]+) \| ([0-9]+) \| (?:bytes|[ui][0-9]+) \| `(\w+)` \|"
        stated = [(int(offset), int(size), name) for offset, size, name in re.findall(row, section, re.M)]
        declared, at = [], 0
        for name, kind in zip(remap.Header._fields, re.findall("[0-9]*[a-zA-Z]", remap.HEADER.format)):
            declared.append((at, struct.calcsize("<" + kind), name))
            at += declared[-1][1]
        self.assertEqual(stated, declared)

    def test_records_table(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            stated = re.findall(r"^\| (GROUP|KEYSET|PART|PATTERN|RUN) \| `(\w+)` \|", file.read(), re.M)
        self.assertEqual(stated, [(kind.upper(), name) for kind, names in remap.RECORDS.items() for name in names])

    def test_order_of_checks(self):
        data = files("golden")[0][1]
        changes = dict(remap_magic=remap.MAGIC[:7] + b"\xff", header_checksum=0, major=1, incompat=1, file_len=0)
        rules = "magic", "header-checksum", "version", "incompat-features", "file-len"
        for field, rule in zip(list(changes), rules):
            broken = with_header(data, **changes)
            self.assertEqual(broken_rule(flipped(broken, 8 * 108) if "header_checksum" in changes else broken), rule)
            del changes[field]
        self.assertIsNone(broken_rule(with_header(data, **changes)))
        self.assertEqual(broken_rule(with_header(data, minor=1)), "version")
        self.assertEqual(broken_rule(with_header(data, incompat=1)[:-1]), "incompat-features")
        for length in range(len(data)):
            rule = "magic" if length < len(remap.MAGIC) else "file-len"
            self.assertEqual(broken_rule(data[:length]), rule)
        self.assertEqual(broken_rule(remap.MAGIC + b"\xff" * 103), "file-len")
        self.assertEqual(broken_rule(remap.MAGIC + b"\xff" * 104), "header-checksum")

    def test_every_flipped_bit_and_every_cut_is_refused(self):
        cases = 0
        for name, data in files("golden"):
            if len(data) < SMALL:
                for bit in range(0, len(data) * 8, STEP):
                    self.assertIsNotNone(broken_rule(flipped(data, bit)), "%s: bit %d" % (name, bit))
                    cases += 1
                for length in range(len(data)):
                    self.assertIsNotNone(broken_rule(data[:length]), "%s: %d bytes" % (name, length))
                    cases += 1
        self.assertGreaterEqual(cases, 13000 if FULL else 3000)

    def test_flipped_bits_behind_right_checksums(self):
        """Any flip from the counts on ends in a rule, or changes what the remap says, never in another exception."""
        rules = set()
        for name, data in files("golden"):
            if len(data) < SMALL:
                self.assertEqual(resealed(data), data)
                before = list(remap.Remap(data).dump())
                self.assertLess(len(before), SMALL)
                for bit in itertools.chain(range(8 * 56, 8 * 104, STEP), range(8 * 112, 8 * (len(data) - 4), STEP)):
                    changed = resealed(flipped(data, bit))
                    rule = broken_rule(changed)
                    rules.add(rule)
                    if rule is None:
                        after = list(itertools.islice(remap.Remap(changed).dump(), SMALL))  # it may be very long
                        self.assertNotEqual(after, before, "%s: bit %d" % (name, bit))
        self.assertGreater(len(rules), 9)

    def test_many_series_in_few_bytes(self):
        """Work follows the file, not the series that it stands for."""
        start, many = time.monotonic(), 2**32 - 1

        def of(floor, row_len=1):
            return built([many], [(0, 0, 0, floor)], [(many, row_len, 0, 0, 1)], [(1, 0, 0, 0)], [(row_len, 1)],
                         [(0, 1, 0)])

        targets = remap.Remap(of(many - 1)).targets()
        self.assertEqual([next(targets) for _ in range(3)], [(0, 0), (0, 1), (0, 2)])
        self.assertIsNone(broken_rule(of(many - 1, many)))
        self.assertIsNone(broken_rule(built([], [(0, 0, 0, 0)], [(many, 3, 0, 0, 0)], [], [(3, 1)], [(0, 0, 0)])))
        self.assertEqual(broken_rule(of(many - 2)), "targets")
        self.assertEqual(broken_rule(of(many)), "targets")
        self.assertLess(time.monotonic() - start, 1)

    def test_grid(self):
        """A chunk ends where the file's position is a multiple, not that of the body."""
        outputs = [5 * n for n in range(700)]
        data = built(outputs, [], [], [], [], [])
        self.assertEqual(len(data), 112 + 24 * 700 + 8 + 3 * 4)
        self.assertEqual(list(remap.Remap(data).targets()), [])
        for at in range(112, len(data) - 12, 101):
            self.assertEqual(broken_rule(flipped(data, 8 * at)), "chunk-checksum")
        self.assertEqual(broken_rule(flipped(data, 8 * len(data) - 1)), "checks-checksum")

    def test_the_worked_remap_says_what_the_spec_says_of_it(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            section = file.read().split("## 8. A worked remap\n")[1].split("\n## 9.")[0]
        lines = re.findall(r"^    [0-9A-F]{4}  ([0-9A-F ]+)$", section, re.M)
        worked = remap.Remap(bytes.fromhex("".join(lines)))
        self.assertEqual(list(worked.targets()), [(0, 0), (0, 1), (0, 2), (0, 4), (0, 5), None, (0, 6), (0, 7), None])

    def test_command(self):
        data = files("golden")[0][1]
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "input.cxr")
            for changed, code in ((data, 0), (data[:-1], 3), (flipped(data, 64), 3), (with_header(data, major=1), 4),
                                  (with_header(data, incompat=1), 4)):
                with open(path, "wb") as file:
                    file.write(changed)
                self.assertEqual(command("verify", path)[0], code)
                self.assertEqual(command("verify", path)[1], "")
                self.assertEqual(command("dump", path)[0], code)
            self.assertEqual(command("verify", path + "x")[0], 1)
            self.assertEqual(command("verify")[0], 2)


if __name__ == "__main__":
    unittest.main()
