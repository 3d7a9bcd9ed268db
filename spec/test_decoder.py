#!/usr/bin/env python3
"""Tests of decoder.py against the golden blocks and the worked example of FORMAT.md: `python3 test_decoder.py`."""

import contextlib
import io
import os
import re
import struct
import tempfile
import time
import unittest

import decoder

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = 1000  # bytes
SECONDS = 60  # for the bit flips


def golden_directory():
    places = [os.environ.get("CHRONOXIDE_GOLDEN"), os.path.join(HERE, "..", "testdata", "golden"), os.path.join(HERE, "golden")]
    return next(place for place in places if place and os.path.isdir(place))


GOLDEN = golden_directory()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def goldens(limit=None):
    """The names of the golden blocks and their bytes."""
    names = sorted(name[:-3] for name in os.listdir(GOLDEN) if name.endswith(".cx"))
    blocks = [(name, read(os.path.join(GOLDEN, name + ".cx"))) for name in names]
    return [(name, data) for name, data in blocks if limit is None or len(data) < limit]


def broken_rule(data):
    """The rule that a block breaks, or None."""
    try:
        decoder.Block(data)
    except decoder.Broken as broken:
        return broken.rule
    return None


def command(*arguments):
    """The exit code, output and errors of the command."""
    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = decoder.main(list(arguments))
    out.flush()
    return code, out.buffer.getvalue(), errors.getvalue()


def sections_of(data):
    directory = decoder.read_directory(data, decoder.read_header(data))
    return {entry.kind: (entry.offset, entry.length) for entry in directory}


def resealed(data):
    """The block with its checksums and its id made right, so that rules behind them are reached."""
    header = decoder.HEADER.read(data)
    end = decoder.HEADER.size + header.section_count * decoder.ENTRY.size
    directory = [decoder.ENTRY.read(data, at) for at in range(decoder.HEADER.size, end, decoder.ENTRY.size)]
    section = {entry.kind: data[entry.offset:entry.offset + entry.length] for entry in directory}
    header = header._replace(block_id=decoder.block_id(
        decoder.META.read(section[2]), section[2], section[1], section.get(decoder.METRIC_METADATA, b"")))
    checks = b"".join(struct.pack("<I", right) for _, right in decoder.chunk_checksums(data, header, directory))
    at = next(entry.offset for entry in directory if entry.kind == 7)
    data = data[:at] + checks + data[at + len(checks):]
    header = header._replace(
        directory_checksum=decoder.crc(header.block_id, data[decoder.HEADER.size:end]),
        checks_checksum=decoder.crc(header.block_id, struct.pack("<IIQ", 7, 0, 0), checks))
    front = decoder.HEADER.struct.pack(*header)[:-4]
    return front + struct.pack("<I", decoder.crc(front)) + data[decoder.HEADER.size:]


def flipped(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]


def header_field(data, kind, layout, name, value):
    """The block with another value of a field in a section's header."""
    offset, _ = sections_of(data)[kind]
    header = layout.read(data, offset)._replace(**{name: value})
    return data[:offset] + layout.struct.pack(*header) + data[offset + layout.size:]


class Primitives(unittest.TestCase):
    def test_siphash_vectors(self):
        key = bytes(range(16))
        self.assertEqual(decoder.sip(key, bytes(range(15))), 0xA129CA6149BE45E5)  # appendix A of the SipHash paper
        published = "310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785".split()
        for length, value in enumerate(published):  # the first of the reference implementation's vectors
            self.assertEqual(struct.pack("<Q", decoder.sip(key, bytes(range(length)))).hex(), value)

    def test_crc_check_value(self):
        self.assertEqual(decoder.crc(b"123456789"), 0xCBF43926)
        self.assertEqual(decoder.crc(b"1234", b"56789"), 0xCBF43926)

    def test_width(self):
        self.assertEqual([decoder.width(n) for n in (0, 1, 2, 255, 256)], [0, 1, 2, 8, 9])

    def test_field(self):
        stream = bytes([0b10110100, 0b00000001])
        self.assertEqual(decoder.field(stream, 2, 3), 0b101)
        self.assertEqual(decoder.field(stream, 7, 2), 0b11)
        self.assertEqual(decoder.field(stream, 16, 0), 0)

    def test_block_id_text(self):
        self.assertEqual(decoder.block_id_text(bytes(16)), "0" * 26)
        self.assertEqual(decoder.block_id_text(b"\xff" * 16), "7" + "Z" * 25)

    def test_quoted(self):
        self.assertEqual(decoder.quoted('a"\\\n\u2028\U0001f980'.encode()), '"a\\"\\\\\\u000a\\u2028\U0001f980"')


class Specification(unittest.TestCase):
    text = read(os.path.join(HERE, "FORMAT.md")).decode("utf-8")

    def test_worked_block(self):
        section = self.text.split("\n## 14. ")[1].split("\n## 15. ")[0]
        data = b""
        for position, values in re.findall(r"^    ([0-9A-F]{4})  ((?:[0-9A-F]{2} ?)+)$", section, re.MULTILINE):
            self.assertEqual(int(position, 16), len(data))
            data += bytes.fromhex(values)
        self.assertEqual(data, read(os.path.join(GOLDEN, "one-series.cx")))

    def test_rules(self):
        section = self.text.split("\n## 15. ")[1]
        rules = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([a-z-]+) \|$", section, re.MULTILINE))
        source = read(os.path.join(HERE, "decoder.py")).decode("utf-8")
        self.assertGreater(len(rules), 0)
        self.assertEqual([rule for rule in rules if '"%s"' % rule not in source], [])
        self.assertEqual({rule for rule, error in rules.items() if error == "unsupported"}, decoder.UNSUPPORTED)

    def test_limits(self):
        limits = re.findall(r"^\| `([A-Z_]+)` \| ([0-9]+) \|", self.text, re.MULTILINE)
        self.assertEqual({name: getattr(decoder, name) for name, _ in limits}, {name: int(n) for name, n in limits})

    def test_field_tables(self):
        """The fields, offsets and sizes of the specification's tables are those of the decoder's."""
        row = r"^\| ([0-9]+) \| ([0-9]+) \| (?:bytes|[ui][0-9]+) \| `(\w+)` \|"
        stated = [(int(offset), int(size), name) for offset, size, name in re.findall(row, self.text, re.MULTILINE)]
        layouts = [decoder.HEADER, decoder.ENTRY, decoder.CATALOGUE, decoder.SYMBOLS, decoder.META, decoder.PAIR,
                   decoder.METRICS]
        declared = []
        for layout in layouts:
            at = 0
            for name, kind in zip(layout.type._fields, re.findall("[0-9]*[a-zA-Z]", layout.struct.format)):
                declared.append((at, struct.calcsize("<" + kind), name))
                at += declared[-1][1]
        self.assertEqual(sorted(stated), sorted(declared))


    def test_shards(self):
        section = self.text.split("\n### Shards\n")[1].split("\n## 12. ")[0]
        rows = re.findall(r"^\|(?: `(.*)`)? \| `([0-9A-F]{16})` \| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|$", section, re.MULTILINE)
        self.assertGreater(len(rows), 5)
        for value, hashed, *shards in rows:
            value = value.encode("utf-8")
            self.assertEqual(decoder.sip(b"chronoxide.shd.0", value), int(hashed, 16), value)
            self.assertEqual([decoder.shard_of(value, count) for count in (3, 4, 8)], [int(shard) for shard in shards], value)
            self.assertEqual(decoder.shard_of(value, 1), 0)


class Golden(unittest.TestCase):
    def test_dumps(self):
        for name, _ in goldens():
            with self.subTest(name):
                path = os.path.join(GOLDEN, name)
                code, out, errors = command("dump", path + ".cx")
                self.assertEqual((code, errors), (0, ""))
                self.assertTrue(out == read(path + ".txt"), "the dump differs")

    def test_verify(self):
        paths = [os.path.join(GOLDEN, name + ".cx") for name, _ in goldens()]
        self.assertGreater(len(paths), 0)
        self.assertEqual(command("verify", *paths), (0, b"", ""))


class Damage(unittest.TestCase):
    def test_bit_flips(self):
        """Each single bit of the small blocks; the bits are visited in strides, so that a timeout leaves an even sample."""
        bits = [(name, data, bit) for name, data in goldens(SMALL) for bit in range(8 * len(data))]
        end = time.monotonic() + SECONDS
        for first in range(64):
            for name, data, bit in bits[first::64]:
                self.assertIsNotNone(broken_rule(flipped(data, bit)), "bit %d of %s" % (bit, name))
            if time.monotonic() > end:
                break

    def test_truncation(self):
        for name, data in goldens(SMALL):
            for length in range(len(data)):
                self.assertIsNotNone(broken_rule(data[:length]), "%d bytes of %s" % (length, name))
            self.assertEqual(broken_rule(data + b"\0"), "file-len")

    def test_resealed_flips(self):
        """With right checksums a flip ends in a rule too, and never in another exception, unless it is in a field of
        the meta section that may have any value, or in metric metadata, or in a section that is not known."""
        free = {"time_start", "time_end", "window_start", "window_end", "job_id", "job_output", "job_output_count",
                "max_name_len", "max_value_len", "planner_version", "row_form"}
        at, free_bytes = 0, set()
        for name, kind in zip(decoder.META.type._fields, re.findall("[0-9]*[a-zA-Z]", decoder.META.struct.format)):
            if name in free:
                free_bytes.update(range(at, at + struct.calcsize("<" + kind)))
            at += struct.calcsize("<" + kind)
        rules = set()
        for name, data in goldens(SMALL):
            self.assertEqual(resealed(data), data)
            for kind, (offset, length) in sections_of(data).items():
                for bit in range(0, 8 * length, 1 if kind in (1, 5, decoder.METRIC_METADATA) else 11):
                    if kind not in decoder.SECTIONS or decoder.SECTIONS[kind] == "checks":
                        continue
                    rule = broken_rule(resealed(flipped(data, 8 * offset + bit)))
                    rules.add(rule)
                    in_free = kind == 2 and (bit // 8 in free_bytes or bit // 8 >= decoder.META.size)
                    in_free = in_free or kind == decoder.METRIC_METADATA
                    self.assertTrue(rule or in_free, "bit %d of section %d of %s" % (bit, kind, name))
        self.assertGreater(len(rules), 35)

    def test_hostile_counts(self):
        """Records without a bit, as many as a count can say, are refused before they are read."""
        empty = dict(goldens())["empty"]
        for kind in decoder.RECORDS:
            start = time.monotonic()
            changed = header_field(empty, 1, decoder.CATALOGUE, kind + "_count", 2**32 - 1)
            self.assertIsNotNone(broken_rule(resealed(changed)))
            self.assertLess(time.monotonic() - start, 1)
        metrics = dict(goldens())["metrics"]
        for kind in decoder.METRIC_RECORDS:
            for widths in (None, bytes(len(decoder.METRIC_RECORDS[kind]))):
                start = time.monotonic()
                kind_of_section, layout = decoder.METRIC_METADATA, decoder.METRICS
                changed = header_field(metrics, kind_of_section, layout, kind + "_count", 2**32 - 1)
                if widths is not None:
                    changed = header_field(changed, kind_of_section, layout, kind + "_widths", widths)
                self.assertIsNotNone(broken_rule(resealed(changed)))
                self.assertLess(time.monotonic() - start, 1)

    def test_random_bytes(self):
        data = dict(goldens())["one-series"]
        for start in range(0, len(data), 3):
            for filling in (b"\xff" * 8, bytes(8)):
                changed = data[:start] + filling + data[start + 8:]
                self.assertEqual(broken_rule(changed) is None, changed == data)


class Command(unittest.TestCase):
    def verify(self, data):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "block.cx")
            with open(path, "wb") as file:
                file.write(data)
            code, out, errors = command("verify", path)
            self.assertEqual(out, b"")
            self.assertRegex(errors, "^" + re.escape(path) + ": [a-z0-9-]+: .+\n$")
            self.assertEqual(command("dump", path)[0], code)
            return code, errors[len(path) + 2:].split(":")[0]

    def test_exit_codes(self):
        data = dict(goldens())["one-series"]
        self.assertEqual(self.verify(b""), (3, "magic"))
        self.assertEqual(self.verify(data[:-1]), (3, "file-len"))
        self.assertEqual(self.verify(data[:8] + b"\1" + data[9:]), (4, "version"))
        self.assertEqual(self.verify(data[:12] + b"\1" + data[13:]), (4, "incompat-features"))

    def test_usage(self):
        self.assertEqual(command()[0], 2)
        self.assertEqual(command("dump", "a", "b")[0], 2)
        self.assertEqual(command("verify", os.path.join(GOLDEN, "there is none"))[0], 1)


if __name__ == "__main__":
    unittest.main()
