#!/usr/bin/env python3
"""Tests of decoder.py, to be run with `python3 test_decoder.py`.

They are against the golden and broken blocks and the worked example of FORMAT.md, which stands beside this file.
`CHRONOXIDE_GOLDEN` and `CHRONOXIDE_BROKEN` are the folders of blocks, if they are not in `../testdata`.
"""

import ast
import contextlib
import io
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import decoder
import zstd_blocks

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL, MIDDLE = 1000, 30000  # bytes
FULL = os.environ.get("CHRONOXIDE_SWEEPS") == "full"  # try all cases
SECONDS = 60 if FULL else 1  # for the bit flips


def folder(variable, name):
    places = [os.environ.get(variable), os.path.join(HERE, "..", "testdata", name), os.path.join(HERE, name)]
    return next(place for place in places if place and os.path.isdir(place))


GOLDEN = folder("CHRONOXIDE_GOLDEN", "golden")
BROKEN = folder("CHRONOXIDE_BROKEN", "broken")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def blocks_in(directory):
    names = sorted(name[:-3] for name in os.listdir(directory) if name.endswith(".cx"))
    return [(name, read(os.path.join(directory, name + ".cx"))) for name in names]


def goldens(limit=None):
    """The names of the golden blocks and their bytes."""
    blocks = blocks_in(GOLDEN)
    return [(name, data) for name, data in blocks if limit is None or len(data) < limit]


def is_canonical(header):
    """Whether one encoding of a block is known: frames of archives differ."""
    return header.ro_compat == header.incompat == 0


def canonical_goldens(limit):
    """Those without a bit in `ro_compat`, so that rules of class C are judged too."""
    return [(name, data) for name, data in goldens(limit) if is_canonical(decoder.HEADER.read(data))]


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


def directory_of(data):
    header = decoder.HEADER.read(data)
    return [decoder.ENTRY.read(data, at)
            for at in range(decoder.HEADER.size, decoder.directory_end(header), decoder.ENTRY.size)]


def sections_of(data):
    return {entry.kind: (entry.offset, entry.length) for entry in directory_of(data)}


def with_header(data, **fields):
    """The block with other values in its header, whose checksum is made right."""
    front = decoder.HEADER.struct.pack(*decoder.HEADER.read(data)._replace(**fields))[:-4]
    return front + struct.pack("<I", decoder.crc(front)) + data[decoder.HEADER.size:]


def resealed(data, **fields):
    """The block with other values in its header, and with its length, checksums and id made right, so that rules behind
    them are reached."""
    data = with_header(data, **fields)
    directory = directory_of(data)
    meta_at = next(entry.offset for entry in directory if entry.kind == 1)
    header = decoder.HEADER.read(data)
    header = header._replace(block_id=decoder.block_id(data, directory, decoder.META.read(data, meta_at)))
    checks = b"".join(struct.pack("<I", right) for right in decoder.chunk_checksums(data, header, directory))
    data = data[:decoder.sections_end(header, directory)] + checks
    return with_header(
        data, block_id=header.block_id, file_len=len(data),
        directory_checksum=decoder.crc(header.block_id, data[decoder.HEADER.size:decoder.directory_end(header)]),
        checks_checksum=decoder.checks_checksum(header, checks))


def assembled(sections, **fields):
    """The block with these sections, given as (kind, id, bytes)."""
    end = decoder.HEADER.size + decoder.ENTRY.size * len(sections)
    directory = b""
    for kind, number, content in sections:
        directory += decoder.ENTRY.struct.pack(kind, number, end, len(content))
        end += len(content)
    header = decoder.HEADER.struct.pack(decoder.MAGIC, *decoder.VERSION, 0, 0, 0, bytes(16), 0, len(sections), 0, 0, 0)
    return resealed(header + directory + b"".join(content for _, _, content in sections), **fields)


def taken_apart(data):
    """The sections of a block as (kind, id, bytes)."""
    return [(entry.kind, entry.id, decoder.bytes_of(data, entry)) for entry in directory_of(data)]


def r_only(data):
    """The block with a bit in `ro_compat` that no reader knows."""
    return resealed(data, ro_compat=1 << 31)


def flipped(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]


def header_field(data, kind, layout, name, value):
    """The block with another value of a field in a section's header."""
    offset, _ = sections_of(data)[kind]
    header = layout.read(data, offset)._replace(**{name: value})
    return data[:offset] + layout.struct.pack(*header) + data[offset + layout.size:]


# ---- A small encoder, for blocks that no writer makes ---------------------------------------------------------------


def pack(fields):
    """pack() of section 1, of (number, bits)."""
    bits = "".join(format(number, "b").zfill(size) if size else "" for number, size in reversed(fields))
    return int(bits or "0", 2).to_bytes(decoder.whole_bytes(len(bits)), "little")


def records(rows, count, slack=0):
    """The widths of the fields of records, and the records."""
    widths = [decoder.width(max((row[i] for row in rows), default=0)) + slack for i in range(count)]
    return bytes(widths), pack([pair for row in rows for pair in zip(row, widths)])


class Column:
    def __init__(self, domain, base=None, bits=None):
        self.domain, self.base, self.bits = domain, base, bits  # None: as they must be


class Table:
    def __init__(self, columns, leaves, rows):
        self.columns, self.leaves, self.rows = columns, leaves, rows


class Lists(list):
    """The lists of a pool that splits them into `low` low bits and upper bits. Other lists are plain."""

    def __init__(self, lists, low):
        super().__init__(lists)
        self.low = low

    def packed(self, row_count):
        fields = []
        # A hostile table may claim any number of rows.
        steps = min(row_count - 1 >> self.low, decoder.MAX_UPPER_BITS)
        for rows in self:
            fields += [(row % 2**self.low, self.low) for row in rows]
            ones = {(row >> self.low) + i for i, row in enumerate(rows)}
            fields += [(int(bit in ones), 1) for bit in range(len(rows) + steps)]
        return pack(fields)


class Model:
    """What a block says, to be changed and written again."""

    def __init__(self, data):
        block = decoder.Block(data)
        self.row_form, self.symbols, self.keys = block.meta.row_form, block.symbols, block.keys
        self.compat = block.header.compat
        self.meta = next(content for kind, _, content in taken_apart(data) if kind == 1)
        self.optional = [section for section in taken_apart(data) if section[0] >= decoder.FIRST_OPTIONAL_KIND]
        self.tables = [self.table(table) for table in block.tables]
        self.pools = [(pool.table.number, Lists(pool.lists, pool.low_width) if pool.split else pool.lists)
                      for pool in block.pools]
        self.keyset_count = len(block.keysets)
        self.slack = dict.fromkeys(("symbols", "key", "table", "shape", "base", "end", "pool", "keyset"), 0)

    @staticmethod
    def table(table):
        leaves = table.written if len(table.columns) > 1 else [0] * table.leaf_count
        rows = [[table.code(row, column) for column in table.columns] for row in range(table.row_count)]
        return Table([Column(column.domain) for column in table.columns], leaves, rows)

    def symbols_section(self):
        starts = list(itertools.accumulate(map(len, self.symbols), initial=0))
        bases = starts[::decoder.SYMBOL_GROUP]
        entries = [(start - bases[i // decoder.SYMBOL_GROUP], 1) if i % decoder.SYMBOL_GROUP else (start, 0)
                   for i, start in enumerate(starts)]
        widths = [decoder.width(max((number for number, is_difference in entries if is_difference == which), default=0))
                  + self.slack["symbols"] for which in (0, 1)]
        fields = [(number, widths[is_difference]) for number, is_difference in entries]
        return decoder.SYMBOLS.struct.pack(len(self.symbols), *widths, 0) + pack(fields) + bytes(8)

    def encoded(self):
        rows, key_records, table_records, shapes = b"", [], [], []
        for t, table in enumerate(self.tables):
            bases, widths = [], []
            for c, column in enumerate(table.columns):
                codes = [row[c] for row in table.rows]
                bases.append(min(codes) if column.base is None else column.base)
                right = decoder.rounded(decoder.width(max(codes) - bases[c]), self.row_form)
                widths.append(right if column.bits is None else column.bits)
            if t < len(self.keys):
                key_records.append((self.keys[t], len(table.rows), len(rows), bases[0], widths[0]))
            else:
                table_records.append((len(table.rows), len(rows), len(shapes)))
                shapes.append((table, bases, list(itertools.accumulate(widths))))
            rows += pack([(code - base, bits) for row in table.rows for code, base, bits in zip(row, bases, widths)])

        shape_widths = [decoder.width(max(numbers, default=0)) + self.slack["shape"] for numbers in (
            [len(table.columns) for table, _, _ in shapes], [len(table.leaves) for table, _, _ in shapes],
            [column.domain for table, _, _ in shapes for column in table.columns])]
        fields, start, starts = [], 0, []
        for table, bases, ends in shapes:
            base_width = decoder.width(max(bases)) + self.slack["base"]
            end_width = decoder.width(max(ends)) + self.slack["end"]
            shape = [(len(table.columns), shape_widths[0]), (len(table.leaves), shape_widths[1]), (base_width, 6),
                     (end_width, 4)]
            for column, base, end in zip(table.columns, bases, ends):
                shape += [(column.domain, shape_widths[2]), (base, base_width), (end, end_width)]
            shape += [(leaf, decoder.width(len(table.columns) - 1)) for leaf in table.leaves]
            starts.append(start)
            start += sum(size for _, size in shape)
            fields += shape
        table_records = [record[:2] + (starts[record[2]],) for record in table_records]

        members, pool_records, keyset_records = b"", [], []
        for number, lists in self.pools:
            ends = list(itertools.accumulate(map(len, lists)))
            bits = decoder.rounded(decoder.width(len(self.tables[number].rows) - 1), self.row_form)
            is_split = isinstance(lists, Lists)
            pool_records.append((number, len(lists), ends[-1], lists.low if is_split else bits, len(members)))
            members += pack([(end, decoder.width(ends[-1])) for end in ends])
            if is_split:
                members += lists.packed(len(self.tables[number].rows))
            else:
                members += pack([(member, bits) for rows_of_list in lists for member in rows_of_list])
        series_end = 0
        for table in self.tables[len(self.tables) - self.keyset_count:]:
            pool = table.columns[-1].domain - 1 - len(self.tables)
            counts = [len(self.pools[pool][1][row[-1]]) if pool >= 0 else 1 for row in table.rows]
            series_end += sum(counts)
            keyset_records.append((series_end, len(members) if pool >= 0 else 0))
            if pool >= 0:
                before = list(itertools.accumulate(counts, initial=0))[:-1:decoder.ANCHOR_ROWS]
                members += pack([(number, decoder.width(sum(counts))) for number in before])
        if self.pools:
            members += bytes(8)

        parts = [records(key_records, 5, self.slack["key"]), records(table_records, 3, self.slack["table"]),
                 (bytes(shape_widths), pack(fields)), records(pool_records, 5, self.slack["pool"]),
                 records(keyset_records, 2, self.slack["keyset"])]
        catalogue = decoder.CATALOGUE.struct.pack(
            len(self.keys), len(self.tables), len(self.pools), self.keyset_count, start, *(part[0] for part in parts))
        catalogue += b"".join(content for _, content in parts) + bytes(8)
        return assembled([(1, 0, self.meta), (2, 0, catalogue), (3, 0, self.symbols_section()), (4, 0, rows + bytes(8)),
                          (5, 0, members), (6, 0, b"".join(self.symbols))] + self.optional, compat=self.compat)

    def with_inner_table(self, at, table):
        """Puts in another table, as number `at`."""
        for other in self.tables[len(self.keys):]:
            for column in other.columns:
                column.domain += column.domain > at
        self.pools = [(number + (number >= at), lists) for number, lists in self.pools]
        self.tables.insert(at, table)

    def keyset_tables(self):
        return self.tables[len(self.tables) - self.keyset_count:]


def series_of(block):
    """The series as people read them, in an order that does not depend on the plan."""
    return sorted(tuple((block.symbols[block.keys[key]], block.symbols[value]) for key, value in labels)
                  for keyset in block.keysets for labels in keyset.series())


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
        section = self.text.split("\n## 15. ")[1].split("\n## 16. ")[0]
        rules = re.findall(r"^\| `([a-z0-9-]+)` \| ([RC]) \| ([a-z-]+) \|$", section, re.MULTILINE)
        self.assertGreater(len(rules), 0)
        self.assertEqual({rule: rule_class for rule, rule_class, _ in rules}, decoder.CLASSES)
        self.assertEqual({rule for rule, _, error in rules if error == "unsupported"}, decoder.UNSUPPORTED)
        stated = set(re.findall(r"`\[([a-z0-9-]+)\]`", self.text))
        self.assertEqual(stated - {"brackets"}, set(decoder.CLASSES))

    def test_rules_are_checked_as_their_class_says(self):
        """`must` takes rules of class R and `canonical` those of class C, and each rule is checked somewhere."""
        source = read(os.path.join(HERE, "decoder.py")).decode("utf-8")
        checked = set()
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                named = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
                rules = [value for value in named if value in decoder.CLASSES]
                checked.update(rules)
                right = {"must": "R", "must_be_utf8": "R", "place_records": "R", "canonical": "C", "check_padding": "C",
                         "check_closing": "C", "read_records": "C"}.get(call.func.id)
                self.assertTrue(all(decoder.CLASSES[rule] == right for rule in rules), ast.unparse(call))
        self.assertEqual(checked, set(decoder.CLASSES))

    def test_registry(self):
        section = self.text.split("\n## 16. ")[1].split("\n## Annex")[0]
        first, last = re.search(r"^\| (2\^31 .*) to (2\^31 .*) \| private sections \|$", section, re.MULTILINE).groups()
        first, last = (eval(bound.replace("^", "**")) for bound in (first, last))
        self.assertEqual(decoder.PRIVATE_KINDS, range(first, last + 1))

    def test_limits(self):
        limits = re.findall(r"^\| `([A-Z_]+)` \| ([0-9]+) \|", self.text, re.MULTILINE)
        self.assertEqual({name: getattr(decoder, name) for name, _ in limits}, {name: int(n) for name, n in limits})

    def test_field_tables(self):
        """The fields, offsets and sizes of the specification's tables are those of the decoder's."""
        row = r"^\| ([0-9]+) \| ([0-9]+) \| (?:bytes|[ui][0-9]+) \| `(\w+)` \|"
        stated = [(int(offset), int(size), name) for offset, size, name in re.findall(row, self.text, re.MULTILINE)]
        layouts = [decoder.HEADER, decoder.ENTRY, decoder.CATALOGUE, decoder.SYMBOLS, decoder.PACKED_ARENA, decoder.META,
                   decoder.PAIR, decoder.METRICS]
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
        notes = ["%s: note: unknown ro_compat bits %#x; only rules of class R were checked\n" % (path, ro_compat)
                 for path in paths for ro_compat in [decoder.HEADER.read(read(path)).ro_compat] if ro_compat]
        self.assertEqual(command("verify", *paths), (0, b"", "".join(notes)))

    def test_there_is_one_encoding(self):
        """A block that is written again from what it says is the same bytes."""
        for name, data in canonical_goldens(MIDDLE):
            self.assertTrue(Model(data).encoded() == data, name)


class Broken(unittest.TestCase):
    def test_rules(self):
        """Each file breaks the rule after which it is named; if that is of class C, it can be read all the same."""
        self.assertGreater(len(blocks_in(BROKEN)), 0)
        for name, data in blocks_in(BROKEN):
            with self.subTest(name):
                rule = name.split("--")[0]
                self.assertEqual(broken_rule(data), rule)
                if decoder.CLASSES[rule] == "C":
                    self.assertIsNone(broken_rule(r_only(data)))


class Header(unittest.TestCase):
    data = dict(goldens())["one-series"]

    def test_order_of_checks(self):
        data = self.data
        changes = dict(magic=decoder.MAGIC[:7] + b"\xff", header_checksum=0, major=1, incompat=2, file_len=0)
        rules = "magic", "header-checksum", "version", "incompat-features", "file-len"
        for field, rule in zip(list(changes), rules):
            broken = with_header(data, **changes)
            if "header_checksum" in changes:
                broken = broken[:60] + bytes([broken[60] ^ 1]) + broken[61:]
            self.assertEqual(broken_rule(broken), rule)
            del changes[field]
        self.assertIsNone(broken_rule(with_header(data, **changes)))
        self.assertEqual(broken_rule(with_header(data, minor=2)), "version")

    def test_short_files(self):
        for length in range(8):
            self.assertEqual(broken_rule(decoder.MAGIC[:length]), "magic")
        for length in range(8, 64):
            for filling in (self.data[8:], b"\xff" * 56, bytes(56)):
                self.assertEqual(broken_rule(decoder.MAGIC + filling[:length - 8]), "file-len")
        self.assertEqual(broken_rule(decoder.MAGIC + bytes(56)), "header-checksum")

    def test_feature_words(self):
        """Bits of `ro_compat` and `compat` change the id, and nothing else."""
        lines = list(decoder.dump(decoder.Block(self.data)))
        for field in "ro_compat", "compat":
            for bit in range(32):
                block = decoder.Block(resealed(self.data, **{field: 1 << bit}))
                self.assertNotEqual(block.header.block_id, decoder.Block(self.data).header.block_id)
                self.assertEqual(list(decoder.dump(block))[3:], lines[3:])
                self.assertEqual(broken_rule(with_header(self.data, **{field: 1 << bit})), "block-id")

    def test_feature_bits_are_judged_before_the_file_length(self):
        self.assertEqual(broken_rule(with_header(self.data, incompat=2, file_len=1)), "incompat-features")
        self.assertEqual(broken_rule(with_header(self.data, incompat=2)[:-1]), "incompat-features")


class Frames(unittest.TestCase):
    """Frames of the command `zstd` decode to what they were made from."""

    def test_frames(self):
        command = shutil.which("zstd")
        if command is None:
            self.assertFalse(os.environ.get("CHRONOXIDE_REQUIRE_ALL"), "zstd is not there")
            self.skipTest("zstd is not there")
        levels = ("-1", "-12", "-19")
        chosen, cases = random.Random(1), 0
        for length in (0, 1, 20, 1000, 40000, 150000):
            ids = sorted(b"%016x%08d" % (chosen.getrandbits(64), n) for n in range(length // 24))
            for content in (chosen.randbytes(length), bytes(chosen.choices(b"abcdef0123", k=length)), b"".join(ids),
                            b"x" * length, bytes(min(255, int(abs(chosen.gauss(0, 20)))) for _ in range(length))):
                for level in levels if FULL else [levels[cases % 3]]:  # one by turns, or each
                    frame = subprocess.run([command, "-q", "-c", "--no-check", level], input=content,
                                           stdout=subprocess.PIPE, check=True).stdout
                    window, at = decoder.read_frame_header(frame, len(content))
                    window = min(window, zstd_blocks.MAX_BLOCK_LEN)
                    self.assertTrue(zstd_blocks.decode(frame[at:], window, len(content)) == content, level)
                    cases += 1
        self.assertEqual(cases, 90 if FULL else 30)


class Directory(unittest.TestCase):
    sections = taken_apart(dict(goldens())["one-series"])

    def rule(self, *sections):
        return broken_rule(assembled(list(sections)))

    def test_kinds(self):
        s = self.sections
        private, experiment = decoder.PRIVATE_KINDS.start, decoder.PRIVATE_KINDS.stop
        self.assertIsNone(self.rule(*s))
        for missing in (3, 4, 5):
            self.assertEqual(self.rule(*(section for section in s if section[0] != missing)), "section-required")
        self.assertEqual(self.rule(*s[:5]), "arena-kind")
        self.assertEqual(self.rule(*s[:5], (7, 0, s[5][2])), "arena-kind")
        self.assertEqual(self.rule(*s, (7, 0, s[5][2])), "arena-kind")
        self.assertEqual(self.rule(*s, (6, 1, b"")), "section-required")
        self.assertEqual(self.rule(*s[:5], (6, 1, s[5][2])), "section-required")
        self.assertEqual(self.rule(*s, (decoder.METRIC_METADATA, 1, b"")), "section-required")
        self.assertEqual(self.rule(*s, (8, 0, b"")), "section-unknown")
        self.assertEqual(self.rule(*s, (experiment, 0, b""), (8, 0, b"")), "section-unknown")  # and in another order
        self.assertEqual(self.rule((0, 0, b""), *s), "section-unknown")
        self.assertEqual(self.rule(*s, (experiment, 0, b""), (private, 0, bytes(16))), "section-order")
        for kind in private, experiment - 1:
            self.assertEqual(self.rule(*s, (kind, 0, bytes(16)), (kind, 1, bytes(15))), "section-owner")
            self.assertIsNone(self.rule(*s, (kind, 0, bytes(16)), (kind, 1, bytes(17))))
        for kind in private - 1, experiment, 2**31, 2**32 - 1:
            self.assertIsNone(self.rule(*s, (kind, 7, b"")))

    def test_optional_sections_are_in_the_id(self):
        ids = set()
        for section in (2**31, 0, b""), (2**31, 1, b""), (2**31 + 2, 0, b""), (2**31, 0, b"a"), (2**31, 0, b"b"):
            ids.add(decoder.Block(assembled(self.sections + [section])).header.block_id)
        self.assertEqual(len(ids), 5)

    def test_dump(self):
        block = decoder.Block(assembled(self.sections + [(decoder.PRIVATE_KINDS.start, 3, bytes(20))]))
        lines = list(decoder.dump(block))
        end = block.directory[-1].offset + 20
        self.assertEqual(lines[4], "sections 7")
        self.assertEqual(lines[11], "  optional-3221225472 3 offset %d length 20" % (end - 20))
        self.assertEqual(lines[12], "checks 1 offset %d" % end)

    def test_extent(self):
        data = assembled(self.sections)
        entry = directory_of(data)[5]
        for changed in entry._replace(length=entry.length + 1000), entry._replace(length=2**64 - 1):
            at = decoder.HEADER.size + 5 * decoder.ENTRY.size
            longer = data[:at] + decoder.ENTRY.struct.pack(*changed) + data[at + decoder.ENTRY.size:]
            header = decoder.HEADER.read(data)
            right = decoder.crc(header.block_id, longer[64:decoder.directory_end(header)])
            self.assertEqual(broken_rule(with_header(longer, directory_checksum=right)), "section-extent")

    def test_count(self):
        for count in 1025, 2**32 - 1:
            self.assertEqual(broken_rule(with_header(self.data(), section_count=count)), "directory-extent")
        self.assertEqual(broken_rule(with_header(self.data(), section_count=500)), "directory-extent")

    def data(self):
        return assembled(self.sections)


class Checks(unittest.TestCase):
    def test_grid(self):
        """Chunks of a block whose directory fills more than one of them, and whose sections end where one ends."""
        sections = Directory.sections + [(2**31, i, b"") for i in range(1000)]
        data = assembled(sections)
        first = decoder.directory_end(decoder.HEADER.read(data))
        self.assertGreater(first, 2 * decoder.CHUNK_LEN)
        missing = 5 * decoder.CHUNK_LEN - decoder.Block(data).checks_offset - decoder.ENTRY.size
        for more in range(-1, 2):
            last = (2**31, 1000, bytes(missing + more))
            data = assembled(sections + [last])
            block = decoder.Block(data)
            self.assertEqual((block.chunk_count, block.checks_offset), (5 + (more > 0), 5 * decoder.CHUNK_LEN + more))
            self.assertEqual(len(data), block.checks_offset + 4 * block.chunk_count)
            self.assertEqual(data[block.checks_offset:][:8], b"".join(
                struct.pack("<I", decoder.crc(block.header.block_id, struct.pack("<Q", n))) for n in (0, 1)))
            for at in range(first + decoder.ENTRY.size, block.checks_offset, 997):
                self.assertEqual(broken_rule(flipped(data, 8 * at)), "chunk-checksum")
            for at in range(block.checks_offset, len(data)):
                self.assertEqual(broken_rule(flipped(data, 8 * at)), "checks-checksum")
                header, changed = decoder.HEADER.read(data), flipped(data, 8 * at)
                right = decoder.checks_checksum(header, changed[block.checks_offset:])
                self.assertEqual(broken_rule(with_header(changed, checks_checksum=right)), "chunk-checksum")

    def test_length(self):
        data = dict(goldens())["one-series"]
        for changed in data + bytes(4), data + b"\0", data[:-1], data[:-4]:
            self.assertEqual(broken_rule(with_header(changed, file_len=len(changed))), "checks-length")


class Canonical(unittest.TestCase):
    """Blocks that break one rule of class C are refused with it; with an unknown bit in `ro_compat` they are read, and
    say the same."""

    def judge(self, rule, data, original):
        self.assertEqual(broken_rule(data), rule)
        block = decoder.Block(r_only(data))
        self.assertEqual(block.unknown_ro_compat, 1 << 31)
        self.assertEqual(series_of(block), series_of(decoder.Block(original)))
        for line in decoder.dump(block):
            self.assertIsInstance(line, str)

    def judge_all(self, rule, change, size=None, at_least=1):
        """Judges each golden block that can be changed so."""
        count = 0
        for name, data in canonical_goldens(size or SMALL):
            model = Model(data)
            with self.subTest(name):
                if change(model) is not False:
                    self.judge(rule, model.encoded(), data)
                    count += 1
        self.assertGreaterEqual(count, at_least)

    def test_widths(self):
        for name in Model(dict(goldens())["one-series"]).slack:
            def change(model):
                model.slack[name] = 1
                sound = name in ("symbols", "shape") or {
                    "key": model.keys, "pool": model.pools, "keyset": model.keyset_count}.get(name, model.tables)
                return bool(sound)
            self.judge_all("symbols-widths" if name == "symbols" else "catalogue-widths", change)

    def test_padding(self):
        """Each bit of the closing bytes, and `reserved`."""
        for name, kind in (("catalogue", 2), ("symbols", 3), ("rows", 4), ("members", 5)):
            rule = name + "-padding"
            for _, data in canonical_goldens(SMALL):
                offset, length = sections_of(data)[kind]
                for bit in range(8 * (offset + length - 8), 8 * (offset + length), 5 if FULL else 29) if length else ():
                    self.judge(rule, resealed(flipped(data, bit)), data)
        data = dict(goldens())["lists-bitpacked"]
        self.judge("symbols-padding", resealed(header_field(data, 3, decoder.SYMBOLS, "reserved", 1)), data)
        data = dict(goldens())["metrics"]
        changed = header_field(data, decoder.METRIC_METADATA, decoder.METRICS, "reserved", 1)
        self.judge("metric-padding", resealed(changed), data)

    def test_meta(self):
        data = dict(goldens())["meta"]
        meta = decoder.Block(data).meta
        self.judge("meta-padding", resealed(header_field(data, 1, decoder.META, "reserved", 0x100)), data)
        self.judge("meta-padding", resealed(header_field(data, 1, decoder.META, "flags", meta.flags | 0x80)), data)
        at = sections_of(data)[1][0] + decoder.META.size
        self.assertGreater(meta.parent_count, 1)
        swapped = data[:at] + data[at + 16:at + 32] + data[at:at + 16] + data[at + 32:]
        self.judge("meta-parents", resealed(swapped), data)

    def test_metrics(self):
        data = dict(goldens())["metrics"]
        layout, limits = decoder.METRICS, decoder.METRIC_RECORDS
        *others, (kind, number, section) = taken_apart(data)
        header = layout.read(section)
        counts = {"row": header.row_count, "text": header.text_count}
        arrays, end = decoder.place_records(header, layout.size, limits, counts, "metric-header", limits)
        found = decoder.read_records(decoder.must, section, arrays, "metric-widths", "metric-padding")
        texts = section[end + 8:]

        def written(rows, ends, texts, slack=0):
            (row_widths, rows), (text_widths, ends) = records(rows, 6, slack), records(ends, 1, slack)
            front = layout.struct.pack(header.row_count, len(found["text"]) + (len(texts) > len(section[end + 8:])),
                                       row_widths, text_widths, 0)
            return assembled(others + [(kind, number, front + rows + ends + bytes(8) + texts)])

        self.assertEqual(written(found["row"], found["text"], texts), data)
        self.judge("metric-widths", written(found["row"], found["text"], texts, 1), data)
        more = found["text"] + [(len(texts) + 4,)]
        self.judge("metric-text-used", written(found["row"], more, texts + b"\xf4\x8f\xbf\xbf"), data)

    def test_symbols_used(self):
        def change(model):
            model.symbols = model.symbols + [b"".join(model.symbols[-1:]) + b"z"]
        self.judge_all("symbols-used", change, at_least=5)

    def test_column_width(self):
        for c in range(3):
            def widen(model):
                for table in model.tables:
                    if len(table.columns) > c:
                        codes = [row[c] for row in table.rows]
                        right = decoder.rounded(decoder.width(max(codes) - min(codes)), model.row_form)
                        table.columns[c].bits = right + 1 if model.row_form == decoder.BIT_PACKED else right + 3
                        if table.columns[c].bits <= 32:
                            return True
                        table.columns[c].bits = None
                return False

            def lower(model):
                for table in model.tables:
                    if len(table.columns) > c and min(row[c] for row in table.rows) > 0:
                        table.columns[c].base = 0
                        return True
                return False
            self.judge_all("column-width", widen)
            if c < 2:
                self.judge_all("column-width", lower)

    def test_leaves_needed(self):
        def change(model, only_maps=False):
            for t, table in enumerate(model.tables[len(model.keys):], len(model.keys)):
                if not table.leaves and not (only_maps and len(table.columns) > 1):
                    leaves = len(decoder.Block(model.encoded()).tables[t].keys)
                    table.leaves = list(range(leaves)) if len(table.columns) > 1 else [0] * leaves
                    return table
            return False
        self.judge_all("leaves-needed", change, at_least=4)
        self.judge_all("leaves-needed", lambda model: change(model, True), MIDDLE)

        for name, data in canonical_goldens(SMALL):
            model = Model(data)
            table = change(model)
            if table:
                table.leaves.append(0)  # one more than the domains have
                self.assertEqual(broken_rule(r_only(model.encoded())), "leaves-written", name)

    def test_columns_order(self):
        def change(model):
            for t, table in enumerate(model.keyset_tables(), len(model.tables) - model.keyset_count):
                prefix_len = len(table.columns) - (table.columns[-1].domain > len(model.tables))
                if prefix_len > 1:
                    leaves = decoder.Block(model.encoded()).tables[t].leaves
                    table.leaves = [{0: 1, 1: 0}.get(c, c) for c, _ in leaves]
                    table.columns[:2] = reversed(table.columns[:2])
                    table.rows = sorted([row[1::-1] + row[2:] for row in table.rows], key=lambda row: row[:prefix_len])
                    return True
            return False
        self.judge_all("columns-order", change, at_least=3)

    def test_map_needed(self):
        def change(model):
            if model.keyset_count == 0:
                return False
            number = model.tables[-1].columns[0].domain - 1
            domain = model.tables[number]
            if number >= len(model.keys) and len(domain.columns) == 1:
                return False
            at = len(model.tables) - model.keyset_count
            model.with_inner_table(at, Table([Column(number + 1)], [], [[row] for row in range(len(domain.rows))]))
            model.tables[-1].columns[0].domain = at + 1
        self.judge_all("map-needed", change, at_least=4)

    def test_rows_used(self):
        """A dictionary has a row of a symbol that no series has."""
        def change(model):
            if not model.keys:
                return False
            model.symbols = model.symbols + ["\U0010ffff\U0010ffff".encode()]
            model.tables[0].rows = model.tables[0].rows + [[len(model.symbols) - 1]]
            for number, _ in model.pools:
                if number == 0:
                    return False
        self.judge_all("rows-used", change, at_least=3)

    def test_unused_tables(self):
        """Nothing refers to a key and its dictionary, nor to a table over it."""
        data = dict(goldens())["one-series"]
        model = Model(data)
        model.symbols = model.symbols + [b"zz"]
        model.with_inner_table(2, Table([Column(0)], [], [[4]]))
        model.keys = model.keys + [4]
        self.judge("rows-used", model.encoded(), data)
        model.with_inner_table(3, Table([Column(3), Column(1)], [1, 0], [[0, 0]]))
        self.assertIn(broken_rule(model.encoded()), ("rows-used", "columns-order"))
        self.assertEqual(series_of(decoder.Block(r_only(model.encoded()))), series_of(decoder.Block(data)))

    def test_pools(self):
        def swap_pools(model):
            if len(model.pools) < 2:
                return False
            model.pools[:2] = reversed(model.pools[:2])
            first = len(model.tables) + 1
            for table in model.keyset_tables():
                swap = {first: first + 1, first + 1: first}
                table.columns[-1].domain = swap.get(table.columns[-1].domain, table.columns[-1].domain)
        self.judge_all("pool-order", swap_pools, MIDDLE)

        def swap_lists(model):
            for p, (number, lists) in enumerate(model.pools):
                if len(lists) > 1:
                    model.pools[p] = (number, [lists[1], lists[0]] + lists[2:])
                    for table in model.keyset_tables():
                        if table.columns[-1].domain == len(model.tables) + 1 + p:
                            for row in table.rows:
                                row[-1] = {0: 1, 1: 0}.get(row[-1], row[-1])
                    return True
            return False
        self.judge_all("list-order", swap_lists, MIDDLE)

        def equal_lists(model):
            for p, (number, lists) in enumerate(model.pools):
                for table in model.keyset_tables():
                    if table.columns[-1].domain == len(model.tables) + 1 + p:
                        model.pools[p] = (number, lists + [lists[table.rows[-1][-1]]])
                        if any(row[-1] == table.rows[-1][-1] for row in table.rows[:-1]):
                            table.rows[-1][-1] = len(lists)
                            return True
                        model.pools[p] = (number, lists)
            return False
        self.judge_all("list-order", equal_lists, MIDDLE)

        def more_lists(model):
            for p, (number, lists) in enumerate(model.pools):
                rows = len(model.tables[number].rows)
                more = next((rest for rest in ([row] for row in range(rows - 1, -1, -1)) if rest > lists[-1]), None)
                if more:
                    model.pools[p] = (number, lists + [more])
                    return True
            return False
        self.judge_all("list-used", more_lists, MIDDLE)


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
                rule = "magic" if length < len(decoder.MAGIC) else "file-len"
                self.assertEqual(broken_rule(data[:length]), rule, "%d bytes of %s" % (length, name))
            self.assertEqual(broken_rule(data + b"\0"), "file-len")

    def test_resealed_flips(self):
        """With right checksums a flip ends in a rule too, and never in another exception, unless it is in a field of
        the meta section that may have any value, or in metric metadata, or in a section that is not known. With an
        unknown bit in `ro_compat` it ends in a rule of class R, or in none if only rules of class C are broken."""
        free = {"time_start", "time_end", "window_start", "window_end", "job_id", "job_output", "job_output_count",
                "max_name_len", "max_value_len", "planner_version", "row_form"}
        at, free_bytes = 0, set()
        for name, kind in zip(decoder.META.type._fields, re.findall("[0-9]*[a-zA-Z]", decoder.META.struct.format)):
            if name in free:
                free_bytes.update(range(at, at + struct.calcsize("<" + kind)))
            at += struct.calcsize("<" + kind)
        rules = set()
        for name, data in canonical_goldens(SMALL):
            self.assertEqual(resealed(data), data)
            for kind, (offset, length) in sections_of(data).items():
                step = (1 if FULL else 23) if kind in (2, 5, decoder.METRIC_METADATA) else (11 if FULL else 211)
                for bit in range(0, 8 * length, step):
                    if kind not in decoder.SECTIONS:
                        continue
                    changed = flipped(data, 8 * offset + bit)
                    rule, r_rule = broken_rule(resealed(changed)), broken_rule(r_only(changed))
                    rules.add(rule)
                    place = "bit %d of section %d of %s breaks %s, and %s" % (bit, kind, name, rule, r_rule)
                    self.assertTrue(decoder.CLASSES.get(r_rule) != "C", place)
                    if decoder.CLASSES.get(rule) != "C":
                        self.assertTrue((rule is None) == (r_rule is None), place)
                    in_free = kind == 1 and (bit // 8 in free_bytes or bit // 8 >= decoder.META.size)
                    in_free = in_free or kind == decoder.METRIC_METADATA
                    self.assertTrue(rule or in_free, "bit %d of section %d of %s" % (bit, kind, name))
        self.assertGreater(len(rules), 35)

    def refused_at_once(self, data):
        for block in resealed(data), r_only(data):
            start = time.monotonic()
            self.assertIsNotNone(broken_rule(block))
            self.assertLess(time.monotonic() - start, 1)

    def test_hostile_counts(self):
        """Records without a bit, as many as a count can say, are refused before they are read."""
        for name in "empty", "one-series", "lists-bitpacked":
            for kind in decoder.RECORDS:
                data = dict(goldens())[name]
                changed = header_field(data, 2, decoder.CATALOGUE, kind + "_count", 2**32 - 1)
                self.refused_at_once(changed)
                self.refused_at_once(header_field(
                    changed, 2, decoder.CATALOGUE, kind + "_widths", bytes(len(decoder.RECORDS[kind]))))
            changed = header_field(data, 3, decoder.SYMBOLS, "symbol_count", 2**32 - 1)
            self.refused_at_once(changed)
            self.refused_at_once(header_field(changed, 3, decoder.SYMBOLS, "difference_width", 0))
        metrics = dict(goldens())["metrics"]
        for kind in decoder.METRIC_RECORDS:
            changed = header_field(metrics, decoder.METRIC_METADATA, decoder.METRICS, kind + "_count", 2**32 - 1)
            self.refused_at_once(changed)
            self.refused_at_once(header_field(changed, decoder.METRIC_METADATA, decoder.METRICS, kind + "_widths",
                                              bytes(len(decoder.METRIC_RECORDS[kind]))))

    def test_hostile_records(self):
        """Records that say more rows, lists and members than there are bits for, and shapes with columns and leaves
        that take none."""
        class Many(list):  # the record says that there are more
            def __len__(self):
                return 2**32 - 1

        for name in "one-series", "lists-bitpacked":
            data = dict(goldens())[name]
            for t in range(len(Model(data).tables)):
                for constant in False, True:
                    model = Model(data)
                    rows = model.tables[t].rows
                    model.tables[t].rows = Many(rows[:1] if constant else rows)
                    self.refused_at_once(model.encoded())
            for p in range(len(Model(data).pools)):
                model = Model(data)
                model.pools[p] = (model.pools[p][0], Many(model.pools[p][1]))
                self.refused_at_once(model.encoded())
                model = Model(data)
                model.pools[p] = (model.pools[p][0], [Many(model.pools[p][1][0])] + model.pools[p][1][1:])
                self.refused_at_once(model.encoded())
        for widths in (10, 0, 0), (10, 10, 0):
            per_shape = sum(widths) + 10
            count = 20000
            shape = (1023, widths[0]), (1023 if widths[1] else 0, widths[1]), (0, 10)
            table_widths, tables = records([(1, 0, i * per_shape) for i in range(count)], 3)
            catalogue = decoder.CATALOGUE.struct.pack(0, count, 0, 0, count * per_shape, bytes(5), table_widths,
                                                      bytes(widths), bytes(4), bytes(2))
            catalogue += tables + pack(shape * count) + bytes(8)
            sections = taken_apart(dict(goldens())["empty"])
            self.refused_at_once(assembled([(1, 0, catalogue)] + sections[1:]))

    def test_random_bytes(self):
        data = dict(goldens())["one-series"]
        for start in range(0, len(data), 3):
            for filling in (b"\xff" * 8, bytes(8)):
                changed = data[:start] + filling + data[start + 8:]
                self.assertEqual(broken_rule(changed) is None, changed == data)


class Command(unittest.TestCase):
    def run_with(self, data, *names):
        """The exit code, output and errors of commands on a file; PATH stands for the path."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "block.cx")
            with open(path, "wb") as file:
                file.write(data)
            for name in names:
                code, out, errors = command(name, path)
                yield code, out, errors.replace(path, "PATH")

    def verify(self, data):
        (code, out, errors), (dump_code, _, dump_errors) = self.run_with(data, "verify", "dump")
        self.assertEqual(out, b"")
        self.assertRegex(errors, "^PATH: [a-z0-9-]+: .+\n$")
        self.assertEqual((dump_code, dump_errors), (code, errors))
        return code, errors.split(": ")[1]

    def test_exit_codes(self):
        data = dict(goldens())["one-series"]
        self.assertEqual(self.verify(b""), (3, "magic"))
        self.assertEqual(self.verify(data[:8]), (3, "file-len"))
        self.assertEqual(self.verify(data[:-1]), (3, "file-len"))
        self.assertEqual(self.verify(data[:8] + b"\1" + data[9:]), (3, "header-checksum"))
        self.assertEqual(self.verify(data[:12] + b"\1" + data[13:]), (3, "header-checksum"))
        self.assertEqual(self.verify(with_header(data, major=1)), (4, "version"))
        self.assertEqual(self.verify(with_header(data, incompat=2)), (4, "incompat-features"))
        self.assertEqual(self.verify(assembled(taken_apart(data) + [(8, 0, b"")])), (4, "section-unknown"))

    def test_unknown_ro_compat(self):
        data = dict(goldens())["one-series"]
        (code, out, errors), (dump_code, dump, dump_errors) = self.run_with(
            resealed(data, ro_compat=0x80000001), "verify", "dump")
        note = "PATH: note: unknown ro_compat bits 0x80000001; only rules of class R were checked\n"
        self.assertEqual((code, out, errors), (0, b"", note))
        self.assertEqual((dump_code, dump_errors), (0, ""))
        self.assertIn(b"\nfeatures incompat=0 ro_compat=2147483649 compat=0\n", dump)
        damaged = resealed(header_field(data, 1, decoder.META, "row_form", 2), ro_compat=1)
        self.assertEqual(self.verify(damaged), (3, "meta-values"))

    def test_usage(self):
        self.assertEqual(command()[0], 2)
        self.assertEqual(command("dump", "a", "b")[0], 2)
        self.assertEqual(command("verify", os.path.join(GOLDEN, "there is none"))[0], 1)


if __name__ == "__main__":
    unittest.main()
