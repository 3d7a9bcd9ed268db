#!/usr/bin/env python3
"""Tests of decoder.py, to be run with `python3 test_decoder.py`.

They are against blocks that a small writer makes here, the golden and broken blocks, and the texts that stand beside
this file. `CHRONOXIDE_GOLDEN`, `CHRONOXIDE_BROKEN` and `CHRONOXIDE_RELAXED` are the folders of blocks, if they are not
in `../testdata`.
"""

import argparse
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
import sys
import tempfile
import time
import unittest
import unittest.mock

import conformance
import decoder
import zstd_blocks
from conformance import assembled, directory_of, repaired, with_header

HERE = os.path.dirname(os.path.abspath(__file__))
MIDDLE = 30000  # bytes
FULL = os.environ.get("CHRONOXIDE_SWEEPS") == "full"  # try all cases
SECONDS = 60 if FULL else 1  # for the bit flips


def folder(variable, name):
    places = [os.environ.get(variable), os.path.join(HERE, "..", "testdata", name), os.path.join(HERE, name)]
    return next((place for place in places if place and os.path.isdir(place)), None)


GOLDEN = folder("CHRONOXIDE_GOLDEN", "golden")
BROKEN = folder("CHRONOXIDE_BROKEN", "broken")
RELAXED = folder("CHRONOXIDE_RELAXED", "relaxed")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def blocks_in(directory):
    """The names of the blocks in a folder, and their bytes."""
    names = sorted(name[:-3] for name in os.listdir(directory) if name.endswith(".cx"))
    return [(name, read(os.path.join(directory, name + ".cx"))) for name in names]


def is_canonical(header):
    """Whether one encoding of a block is known: frames of archives differ."""
    return header.ro_compat == header.incompat == 0


def broken_rule(data):
    """The rule that a block breaks, or None."""
    try:
        decoder.verified(data)
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
    return {entry.kind: (entry.offset, entry.length) for entry in directory_of(data)}


def taken_apart(data):
    """The sections of a block as (kind, id, bytes)."""
    return [(entry.kind, entry.id, decoder.bytes_of(data, entry)) for entry in directory_of(data)]


def r_only(data):
    """The block with a bit in `ro_compat` that no reader knows."""
    return repaired(data, ro_compat=1 << 31)


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
    """The lists of a pool with upper bits above `low` low bits. Other lists have no upper bits."""

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
            fields += [(int(bit in ones), 1) for bit in range(len(rows) + steps if steps else 0)]
        return pack(fields)


class Model:
    """What a block says, to be changed and written again."""

    def __init__(self, data):
        block = decoder.Block(data)
        self.row_form, self.symbols, self.keys = block.meta.row_form, block.symbols, block.keys
        self.meta = next(content for kind, _, content in taken_apart(data) if kind == 1)
        self.tables = [self.table(table) for table in block.tables]
        self.pools = [(pool.table.number, Lists(pool.lists, pool.low_width) if pool.steps else pool.lists)
                      for pool in block.pools]
        self.keyset_count = len(block.keysets)
        self.optional = [section for section in taken_apart(data) if section[0] >= decoder.FIRST_OPTIONAL_KIND]
        self.finish(minor=block.header.minor, compat=block.header.compat)

    def finish(self, **header):
        self.header = header
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
                          (5, 0, members), (6, 0, b"".join(self.symbols))] + self.optional, **self.header)

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


# ---- A small planner, for blocks with each means of the format ------------------------------------------------------


def fingerprints(series):
    """The sums over all series, one by one."""
    for j in b"12":
        total = 0
        for labels in series:
            product = 1
            for name, value in labels.items():
                data = struct.pack("<Q", len(name)) + name + value
                product *= 1 + decoder.sip(b"chronoxide.fpr.%c" % j, data) % ((1 << 61) - 2)
            total += product
        yield total % ((1 << 61) - 1)


def meta_section(series, row_form=decoder.BIT_PACKED, rest=b"", **fields):
    meta = decoder.META.type(len(series), sum(map(len, series)), *fingerprints(series), *[0] * 4, bytes(16), *[0] * 6,
                             65535, 65535, 0, row_form, 0, 0)
    return decoder.META.struct.pack(*meta._replace(**fields)) + rest


class Planned(Model):
    """A model of series, which are dictionaries. `plan` gives the columns of a keyset table and whether the last is a
    list column. A column is a table and the rows of it, one for each series. `low` are the low bits in lists."""

    def __init__(self, series, plan, row_form=decoder.BIT_PACKED, low=None, meta=None, optional=()):
        self.row_form, self.meta, self.optional = row_form, meta or meta_section(series, row_form), list(optional)
        names = sorted({name for labels in series for name in labels})
        self.symbols = sorted({text for labels in series for label in labels.items() for text in label})
        self.keys = [self.symbols.index(name) for name in names]
        self.tables, self.leaf_keys = [], []
        values = [sorted({labels[name] for labels in series if name in labels}) for name in names]
        for k, dictionary in enumerate(values):
            self.tables.append(Table([Column(0)], [], [[self.symbols.index(value)] for value in dictionary]))
            self.leaf_keys.append([k])
        keysets = {}
        for labels in series:
            keysets.setdefault(tuple(sorted(map(names.index, labels))), []).append(labels)
        self.keyset_count = len(keysets)
        plans = [plan(self, [(k, [values[k].index(labels[names[k]]) for labels in of_keyset]) for k in keys])
                 for keys, of_keyset in sorted(keysets.items())]

        rows_of_plans, lists = [], {}
        for columns, has_list in plans:
            rows = {}
            for row in zip(*(codes for _, codes in columns)):
                rows.setdefault(row[:-1] if has_list else row, []).append(row[-1])
            rows_of_plans.append({row: sorted(members) for row, members in rows.items()})
            if has_list:
                lists.setdefault(columns[-1][0], []).extend(rows_of_plans[-1].values())
        lists = {table: sorted(set(map(tuple, of_table))) for table, of_table in lists.items()}
        table_count, pools = len(self.tables) + len(keysets), sorted(lists)
        self.pools = [(table, [list(rows) for rows in lists[table]]) for table in pools]
        for p, (table, rows) in enumerate(self.pools):
            if low is not None and len(self.tables[table].rows) - 1 >> low:
                self.pools[p] = table, Lists(rows, low)
        for (columns, has_list), rows in zip(plans, rows_of_plans):
            domains = [1 + table for table, _ in columns]
            if has_list:
                domains[-1] = 1 + table_count + pools.index(columns[-1][0])
                of_table = lists[columns[-1][0]]
                rows = [[*row, of_table.index(tuple(members))] for row, members in sorted(rows.items())]
            self.add(domains, columns, [list(row) for row in sorted(rows)])
        self.finish()

    def add(self, domains, columns, rows):
        leaves = sorted((key, c) for c, (table, _) in enumerate(columns) for key in self.leaf_keys[table])
        firsts = [self.leaf_keys[table][0] for table, _ in columns]
        needed = len(columns) > 1 and (len(leaves) > len(columns) or firsts != sorted(firsts))
        written = [c for _, c in leaves] if needed else []
        self.tables.append(Table([Column(domain) for domain in domains], written, rows))
        self.leaf_keys.append([key for key, _ in leaves])

    def inner(self, *columns):
        """An inner table over the columns, as a column."""
        rows = sorted(set(zip(*(codes for _, codes in columns))))
        self.add([1 + table for table, _ in columns], columns, [list(row) for row in rows])
        return len(self.tables) - 1, [rows.index(row) for row in zip(*(codes for _, codes in columns))]


def plain(_, columns):
    return columns, False


def maps(model, columns):
    return [model.inner(column) for column in columns], False


def chain(model, columns):
    """A map over a map over a shared table, whose leaves stand around those of another column."""
    if len(columns) < 3:
        return columns, False
    return [model.inner(model.inner(model.inner(columns[0], columns[2]))), columns[1], *columns[3:]], False


def lists(_, columns):
    return columns, True


def lists_over_shared(model, columns):
    if len(columns) < 3:
        return columns, True
    return [columns[1], model.inner(columns[0], *columns[2:])], True


def maps_of_depth(depth):
    def plan(model, columns):
        for _ in range(depth):
            columns = [model.inner(column) for column in columns]
        return columns, False
    return plan


def labels(**texts):
    return {name.encode("utf-8"): text.encode("utf-8") for name, text in texts.items()}


def metrics_section(rows, slack=0, more_texts=()):
    """Metric metadata of rows (name, type, temporality, monotonic, unit, description)."""
    texts = sorted({text for row in rows for text in (row[0], *row[4:])} - {b""} | set(more_texts))
    number = {b"": 0, **{text: 1 + i for i, text in enumerate(texts)}}
    numbers = sorted((number[name], *words, number[unit], number[about]) for name, *words, unit, about in rows)
    row_widths, rows = records(numbers, 6, slack)
    text_widths, ends = records([(end,) for end in itertools.accumulate(map(len, texts))], 1, slack)
    header = decoder.METRICS.struct.pack(len(numbers), len(texts), row_widths, text_widths, 0)
    return header + rows + ends + bytes(8) + b"".join(texts)


def bit_stream(fields):
    """The bytes of (number, width) fields."""
    value, at = 0, 0
    for number, size in fields:
        value |= number << at
        at += size
    return value.to_bytes(decoder.whole_bytes(at), "little")


def number_array(numbers, pick=0):
    """A number array whose groups begin with their least number. Each row that `pick` divides is an exception."""
    groups, group_records = b"", []
    for at in range(0, len(numbers), decoder.VALUE_GROUP):
        group = numbers[at:at + decoder.VALUE_GROUP]
        has_absent = None in group
        base = min((number for number in group if number is not None), default=0)
        codes = [0 if number is None else number - base + has_absent for number in group]
        exceptions = [row for row in range(len(codes)) if pick and row % pick == 0][:255]
        fields = [0 if row in exceptions else code for row, code in enumerate(codes)]
        size = decoder.width(max(fields))
        exception_size = decoder.width(max((codes[row] for row in exceptions), default=0))
        group_records.append((base & 2**32 - 1, base >> 32, 0, size, len(exceptions), exception_size, int(has_absent),
                              len(groups)))
        groups += bytes(exceptions) + bit_stream(
            [(codes[row], exception_size) for row in exceptions] + [(field, size) for field in fields])
    widths, group_records = records(group_records, 8)
    return decoder.NUMBERS.struct.pack(len(numbers), widths, len(groups)) + group_records + groups + bytes(8)


def column_section(name, value_type, merge, values, unit=1, pick=0):
    """A series column of numbers, or of bytes."""
    texts, numbers = [], values
    if value_type == decoder.BYTES:
        numbers = []
        for value in values:
            if value is not None and texts[-1:] != [value]:
                texts.append(value)
            numbers.append(None if value is None else len(texts) - 1)
    numbers = [None if number is None else number // unit % 2**64 for number in numbers]
    section = decoder.SERIES_COLUMN.struct.pack(value_type, merge, len(name), 0, unit) + name
    section += number_array(numbers, pick)
    if value_type == decoder.BYTES:
        section += number_array([0, *itertools.accumulate(map(len, texts))], pick) + b"".join(texts)
    return section


def packed(content):
    """A packed section with a frame of one raw block."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(content)) + (8 * len(content) + 1).to_bytes(3, "little")
    return struct.pack("<Q", len(content)) + frame + content


ONE = [labels(__name__="up", job="api")]
PODS = [labels(__name__="up" if n % 5 else "requests", job="job-%d" % (n % 3), pod="pod-%d" % n,
               zone="zone-%d" % (n % 2)) for n in range(20)] + [labels(__name__="up", pod="pod-%d" % n)
                                                                for n in range(1, 20, 2)]
TWO_POOLS = PODS + [labels(__name__="down", zone="zone-%d" % n) for n in range(2)]
METRICS = [(b"requests", 2, 2, 1, b"1", b"what came"), (b"requests", 1, 0, 0, b"", b""), (b"up", 1, 0, 0, b"", b"")]


def samples():
    fixed = decoder.FIXED_WIDTH
    yield "empty", Planned([], plain)
    yield "one-series", Planned(ONE, plain)
    yield "plain", Planned(PODS, plain)
    yield "plain-fixedwidth", Planned(PODS, plain, fixed)
    yield "maps", Planned(PODS, maps)
    yield "chain", Planned(PODS, chain)
    yield "chain-fixedwidth", Planned(PODS, chain, fixed)
    yield "lists", Planned(PODS, lists)
    yield "lists-fixedwidth", Planned(PODS, lists, fixed)
    yield "lists-two-pools", Planned(TWO_POOLS, lists, low=2)
    yield "lists-split", Planned(PODS, lists, low=1)
    yield "lists-over-shared", Planned(PODS, lists_over_shared, low=3)
    yield "depth", Planned(ONE, maps_of_depth(9))
    texts = (b"region", b"eu"), (b"note", b"")
    rest = b"".join(bytes([n]) * 16 for n in (1, 3, 2)) + b"".join(
        decoder.PAIR.struct.pack(len(key), len(value)) + key + value for key, value in texts)
    yield "meta", Planned(ONE, plain, meta=meta_section(
        ONE, rest=rest, time_start=1700000000123456789, time_end=1700000000123456790, job_id=b"j" * 16, job_output=1,
        job_output_count=2, parent_count=2, ancestor_count=1, external_label_count=1, annotation_count=1, flags=1))
    texts = [b"a", b"a", None, b"", b"\xff"] * (len(PODS) // 5)
    times = [None if n % 7 == 3 else 60 * (n - 4) for n in range(len(PODS))]
    yield "columns", Planned(PODS, plain, optional=[
        (decoder.COLUMN_KIND, 0, column_section(b"app.texts", decoder.BYTES, 6, texts, pick=4)),
        (decoder.COLUMN_KIND, 1, column_section(b"app.times", decoder.I64, 2, times, unit=60)),
    ])
    yield "metrics", Planned(ONE, plain, optional=[(decoder.PLAIN_METRICS, 0, metrics_section(METRICS))])


SAMPLES = {name: model.encoded() for name, model in samples()}


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


TEXTS = {name: read(os.path.join(HERE, name + ".md")).decode("utf-8") for name in ("FORMAT", "ARCHIVE", "METRICS", "COLUMNS")}
RULES = {rule: (rule_class, error) for text in TEXTS.values() for rule, rule_class, error in re.findall(
    r"^\| `([a-z0-9-]+)` \| ([RC]) \| ([a-z-]+) \|$", text, re.MULTILINE)}
CLASSES = {rule: rule_class for rule, (rule_class, _) in RULES.items()}


class Specification(unittest.TestCase):
    text = "".join(TEXTS.values())

    def test_worked_block(self):
        section = TEXTS["FORMAT"].split("\n## 14. ")[1].split("\n## 15. ")[0]
        data = b""
        for position, values in re.findall(r"^    ([0-9A-F]{4})  ((?:[0-9A-F]{2} ?)+)$", section, re.MULTILINE):
            self.assertEqual(int(position, 16), len(data))
            data += bytes.fromhex(values)
        self.assertEqual(data, read(os.path.join(GOLDEN, "one-series.cx")))

    def test_rules(self):
        self.assertEqual({rule for rule, (_, error) in RULES.items() if error == "unsupported"}, decoder.UNSUPPORTED)
        self.assertEqual(set(re.findall(r"`\[([a-z0-9-]+)\]`", self.text)) - {"brackets"}, set(RULES))

    def test_rules_are_checked_as_their_class_says(self):
        """`must` takes rules of class R and `canonical` those of class C, and each rule is checked somewhere."""
        source = read(os.path.join(HERE, "decoder.py")).decode("utf-8")
        checked = {"rows-used", "values-used"}  # which of them is in a variable
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                named = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
                rules = [value for value in named if value in CLASSES]
                checked.update(rules)
                right = "C" if call.func.id in ("canonical", "check_padding", "check_closing", "read_records") else "R"
                self.assertTrue(all(CLASSES[rule] == right for rule in rules), ast.unparse(call))
        self.assertEqual(checked, set(CLASSES))

    def test_registry(self):
        text = read(os.path.join(HERE, "REGISTRY.md")).decode("utf-8")
        rows = re.findall(r"^\| ([0-9]+) \| ([0-9]+) \|", text, re.MULTILINE)
        bits = {int(bit): int(value) for bit, value in rows}
        self.assertEqual(bits, {bit: 1 << bit for bit in range(27, 32)})
        for number, of_kind, name in re.findall(r"^\| ([0-9]+) \| ([0-9, ]+) \| ([a-z-]+) \|", text, re.MULTILINE):
            kind = int(number) + sum(bits[int(bit)] for bit in of_kind.split(","))
            self.assertEqual(decoder.SECTIONS[kind], name)

    def test_limits(self):
        limits = re.findall(r"^\| `([A-Z_]+)` \| ([0-9]+) \|", self.text, re.MULTILINE)
        self.assertEqual({name: getattr(decoder, name) for name, _ in limits}, {name: int(n) for name, n in limits})

    def test_field_tables(self):
        """The fields, offsets and sizes of the specification's tables are those of the decoder's."""
        row = r"^\| ([0-9]+) \| ([0-9]+) \| (?:bytes|[ui][0-9]+) \| `(\w+)` \|"
        stated = [(int(offset), int(size), name) for offset, size, name in re.findall(row, self.text, re.MULTILINE)]
        layouts = [decoder.HEADER, decoder.ENTRY, decoder.CATALOGUE, decoder.SYMBOLS, decoder.PACKED, decoder.META,
                   decoder.PAIR, decoder.METRICS, decoder.SERIES_COLUMN, decoder.NUMBERS]
        declared = []
        for layout in layouts:
            at = 0
            for name, kind in zip(layout.type._fields, re.findall("[0-9]*[a-zA-Z]", layout.struct.format)):
                declared.append((at, struct.calcsize("<" + kind), name))
                at += declared[-1][1]
        self.assertEqual(sorted(stated), sorted(declared))

    def test_shards(self):
        section = self.text.split("\n### Shards\n")[1].split("\n## 12. ")[0]
        row = r"^\|(?: `(.*)`)? \| `([0-9A-F]{16})` \| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|$"
        rows = re.findall(row, section, re.MULTILINE)
        self.assertGreater(len(rows), 5)
        for value, hashed, *shards in rows:
            value = value.encode("utf-8")
            self.assertEqual(decoder.sip(b"chronoxide.shd.0", value), int(hashed, 16), value)
            found = [decoder.shard_of(value, count) for count in (3, 4, 8)]
            self.assertEqual(found, [int(shard) for shard in shards], value)
            self.assertEqual(decoder.shard_of(value, 1), 0)


class Golden(unittest.TestCase):
    folders = [path for path in (GOLDEN, RELAXED) if path]

    def test_dumps(self):
        for path in self.folders:
            for name, _ in blocks_in(path):
                with self.subTest(name):
                    code, out, errors = command("dump", os.path.join(path, name + ".cx"))
                    self.assertEqual((code, errors), (0, ""))
                    self.assertTrue(out == read(os.path.join(path, name + ".txt")), "the dump differs")

    def test_verify(self):
        paths = [os.path.join(path, name + ".cx") for path in self.folders for name, _ in blocks_in(path)]
        self.assertGreater(len(paths), 0)
        notes = ["%s: note: unknown ro_compat bits %#x; only rules of class R were checked\n" % (path, ro_compat)
                 for path in paths for ro_compat in [decoder.HEADER.read(read(path)).ro_compat] if ro_compat]
        self.assertEqual(command("verify", *paths), (0, b"", "".join(notes)))

    def test_there_is_one_encoding(self):
        """A block that is written again from what it says is the same bytes."""
        for name, data in blocks_in(GOLDEN):
            if len(data) < MIDDLE and is_canonical(decoder.HEADER.read(data)):
                with self.subTest(name):
                    self.assertTrue(Model(data).encoded() == data, name)


class Samples(unittest.TestCase):
    def test_series(self):
        """They are the series that the blocks were planned for, whatever the plan."""
        for name, data in SAMPLES.items():
            with self.subTest(name):
                block = decoder.verified(data)
                series = {"empty": [], "lists-two-pools": TWO_POOLS}.get(name, ONE if len(data) < 1000 else PODS)
                series = PODS if block.meta.series_count == len(PODS) else series
                self.assertEqual(series_of(block), sorted(tuple(sorted(labels.items())) for labels in series))
                self.assertTrue(Model(data).encoded() == data)

    def test_archives(self):
        """A packed arena changes what the dump says of the file, and no more."""
        for name, data in SAMPLES.items():
            sections = [(7, 0, packed(content)) if kind == 6 else (kind, number, content)
                        for kind, number, content in taken_apart(data)]
            archive = assembled(sections, incompat=1)
            lines, of_archive = (list(decoder.dump(decoder.verified(block))) for block in (data, archive))
            self.assertEqual(lines[lines.index("meta"):], of_archive[of_archive.index("meta"):], name)
            self.assertTrue(any(re.fullmatch("arena [0-9]+ bytes packed into [0-9]+", line) for line in of_archive))
            shorter = [(7, 0, packed(content[8:][:-1])) if kind == 7 else (kind, number, content)
                       for kind, number, content in sections]
            self.assertEqual(broken_rule(assembled(shorter, incompat=1)), "packed-length")
            self.assertEqual(broken_rule(assembled(sections)), "section-required")
            self.assertEqual(broken_rule(repaired(data, incompat=1)), "section-required")


class Metrics(unittest.TestCase):
    sections = taken_apart(SAMPLES["one-series"])

    def block(self, *optional):
        return assembled(self.sections + list(optional))

    def archive(self, *optional):
        sections = [(7, 0, packed(content)) if kind == 6 else (kind, number, content)
                    for kind, number, content in self.sections]
        return assembled(sections + list(optional), incompat=1)

    def test_packed(self):
        section = metrics_section(METRICS)
        plain = self.block((decoder.PLAIN_METRICS, 0, section))
        of_packed = self.archive((decoder.PACKED_METRICS, 0, packed(section)))
        lines, of_packed = (list(decoder.dump(decoder.verified(data))) for data in (plain, of_packed))
        self.assertEqual(lines[-4:], [
            "metrics 3",
            '  0 "requests" gauge unspecified not-monotonic "" ""',
            '  1 "requests" sum cumulative monotonic "1" "what came"',
            '  2 "up" gauge unspecified not-monotonic "" ""',
        ])
        self.assertEqual(lines[lines.index("meta"):], of_packed[of_packed.index("meta"):])
        self.assertTrue(any(line.startswith("  packed-metric-metadata 0 offset ") for line in of_packed))

    def test_unknown_numbers(self):
        section = metrics_section([(b"up", 9, 3, 2, b"", b"")])
        lines = list(decoder.dump(decoder.verified(self.block((decoder.PLAIN_METRICS, 0, section)))))
        self.assertEqual(lines[-1], '  0 "up" unknown-9 unknown-3 unknown-2 "" ""')

    def test_ids(self):
        plain, section = decoder.PLAIN_METRICS, metrics_section(METRICS)
        self.assertEqual(broken_rule(self.block((plain, 1, section))), "metric-header")
        self.assertEqual(broken_rule(self.block((plain, 0, section), (plain, 1, section))), "metric-header")
        for optional in ([(plain + 1, 1, packed(section))], [(plain, 0, section), (plain + 1, 0, packed(section))],
                         [(plain + 1, 0, b"")], [(plain + 1, 0, struct.pack("<Q", 1 << 48) + packed(section)[8:])]):
            self.assertEqual(broken_rule(self.archive(*optional)), "packed-header")
        self.assertEqual(broken_rule(self.archive((plain + 1, 0, packed(section)[:-1]))), "packed-frame")
        self.assertEqual(broken_rule(self.archive((plain + 1, 0, packed(section[:-1])))), "metric-length")
        # Only an archive can have a packed one.
        self.assertIsNone(broken_rule(self.block((plain + 1, 1, b""), (plain + 1, 2, packed(section)[:-1]))))


class Broken(unittest.TestCase):
    def test_rules(self):
        """Each file breaks the rule after which it is named; if that is of class C, it can be read all the same."""
        self.assertGreater(len(blocks_in(BROKEN)), 0)
        for name, data in blocks_in(BROKEN):
            with self.subTest(name):
                rule = name.split("--")[0]
                self.assertEqual(broken_rule(data), rule)
                if CLASSES[rule] == "C":
                    self.assertIsNone(broken_rule(r_only(data)))
                    self.assertEqual(command("dump", os.path.join(BROKEN, name + ".cx"))[::2], (0, ""))


class Columns(unittest.TestCase):
    count = 600
    sections = Planned([labels(n="%03d" % n) for n in range(600)], plain).encoded()

    def block(self, *columns):
        sections = [(entry.kind, entry.id, decoder.bytes_of(self.sections, entry))
                    for entry in decoder.read_directory(self.sections, decoder.HEADER.read(self.sections))]
        return assembled(sections + [(decoder.COLUMN_KIND, n, section) for n, section in enumerate(columns)])

    def test_values(self):
        """Values are those that were written, in each type and with exceptions or without."""
        numbers = [n * n * n % 1000 if n % 11 else None for n in range(self.count)]
        many = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(self.count)]
        signed = [n - 2**64 if n >> 63 else n for n in many]
        texts = [None if n is None else b"x" * (n % 5) + b"%d" % (n // 90) for n in numbers]
        minutes = [60 * (n % 5 - 2) for n in range(self.count)]
        for pick in 0, 1, 3, 300:
            written = [(b"a", decoder.U64, numbers, 1), (b"b", decoder.U64, many, 1), (b"c", decoder.I64, signed, 1),
                       (b"d", decoder.BYTES, texts, 1), (b"e", decoder.I64, minutes, 60),
                       (b"f", decoder.BYTES, [None] * self.count, 1), (b"g", decoder.U64, [0] * self.count, 1)]
            block = decoder.verified(self.block(*(column_section(name, value_type, 1, values, unit, pick)
                                                  for name, value_type, values, unit in written)))
            found = [(column.name, column.values, column.unit) for column in block.columns]
            self.assertEqual(found, [(name, values, unit) for name, _, values, unit in written])

    def test_ids_and_names(self):
        a, b = (column_section(name, decoder.U64, 1, [None] * self.count) for name in (b"a", b"b"))
        self.assertIsNone(broken_rule(self.block(a, b)))
        self.assertEqual(broken_rule(self.block(b, a)), "value-name")
        self.assertEqual(broken_rule(self.block(a, a)), "value-name")

    def test_counts(self):
        """A wrong number of values or texts is refused before it is read."""
        for values in [0] * (self.count - 1), [0] * (self.count + 1), []:
            block = self.block(column_section(b"a", decoder.U64, 1, values))
            self.assertEqual(broken_rule(block), "value-count")
        for values in [b"a", b"b"] * (self.count // 2), [None] * self.count:
            section = column_section(b"a", decoder.BYTES, 1, values)
            at = len(section) - len(number_array([0, *range(1, 601)])) - 600
            for count in (0, self.count + 2, 2**32 - 1) if values[0] else ():
                changed = section[:at] + struct.pack("<I", count) + section[at + 4:]
                self.assertIn(broken_rule(self.block(changed)), ("value-texts", "value-length"))

    def test_merges(self):
        for value_type in decoder.VALUE_TYPES:
            for merge in range(9):
                rule = broken_rule(self.block(column_section(b"a", value_type, merge, [None] * self.count)))
                allowed = merge < 4 or merge == 6 or (merge == 4 and value_type != decoder.BYTES) or (
                    merge == 5 and value_type == decoder.U64)
                self.assertEqual(rule, None if allowed else "value-header")


class Header(unittest.TestCase):
    data = SAMPLES["one-series"]

    def test_order_of_checks(self):
        data = self.data
        changes = dict(magic=decoder.MAGIC[:7] + b"\xff", header_checksum=0, major=2, incompat=2, file_len=0)
        rules = "magic", "header-checksum", "version", "incompat-features", "file-len"
        for field, rule in zip(list(changes), rules):
            broken = with_header(data, **changes)
            if "header_checksum" in changes:
                broken = broken[:60] + bytes([broken[60] ^ 1]) + broken[61:]
            self.assertEqual(broken_rule(broken), rule)
            del changes[field]
        self.assertIsNone(broken_rule(with_header(data, **changes)))
        self.assertEqual(broken_rule(with_header(data, major=0, minor=6)), "version")
        # The id covers it, and nothing else is about it.
        self.assertEqual(broken_rule(with_header(data, minor=2)), "block-id")

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
                block = decoder.Block(repaired(self.data, **{field: 1 << bit}))
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
    sections = taken_apart(SAMPLES["one-series"])

    def rule(self, *sections):
        return broken_rule(assembled(list(sections)))

    def test_kinds(self):
        s = self.sections
        self.assertIsNone(self.rule(*s))
        for missing in range(1, 7):
            self.assertEqual(self.rule(*(section for section in s if section[0] != missing)), "section-required")
        for sections in (s[:5] + [(7, 0, s[5][2])], s + [(7, 0, s[5][2])], s + [(6, 1, b"")], s[:5] + [(6, 1, s[5][2])],
                         [s[0], (1, 1, b"")] + s[1:]):
            self.assertEqual(self.rule(*sections), "section-required")
        self.assertEqual(self.rule(*s, (8, 0, b"")), "section-unknown")
        self.assertEqual(self.rule(*s, (2**31, 0, b""), (8, 0, b"")), "section-unknown")  # and in another order
        self.assertEqual(self.rule((0, 0, b""), *s), "section-unknown")
        self.assertEqual(self.rule(*s, (2**31 + 1, 0, b""), (2**31, 0, b"")), "section-order")
        for kind in 2**31, 2**31 + 1, 2**31 + 2**30, 2**31 + 2**28, 2**31 + 2**29, 2**32 - 1:
            self.assertIsNone(self.rule(*s, (kind, 7, b"")))

    def test_optional_sections_are_in_the_id(self):
        ids = set()
        for section in (2**31, 0, b""), (2**31, 1, b""), (2**31 + 2, 0, b""), (2**31, 0, b"a"), (2**31, 0, b"b"):
            ids.add(decoder.Block(assembled(self.sections + [section])).header.block_id)
        self.assertEqual(len(ids), 5)

    def test_dump(self):
        block = decoder.Block(assembled(self.sections + [(3221225472, 3, bytes(20))]))
        lines = list(decoder.dump(block))
        end = block.directory[-1].offset + 20
        self.assertEqual(lines[4], "sections 7")
        self.assertEqual(lines[11], "  optional-3221225472 3 offset %d length 20" % (end - 20))
        self.assertEqual(lines[12], "checks 1 offset %d" % end)

    def test_extent(self):
        data = assembled(self.sections)
        for n, rule in (0, "directory-extent"), (5, "section-extent"):
            entry = directory_of(data)[n]
            at = decoder.HEADER.size + n * decoder.ENTRY.size
            for length in entry.length + 1000, decoder.MAX_META_LEN + 1, 2**64 - 1:
                changed = decoder.ENTRY.struct.pack(*entry._replace(length=length))
                self.assertEqual(broken_rule(repaired(data[:at] + changed + data[at + decoder.ENTRY.size:])), rule)
        long_meta = [(1, 0, bytes(decoder.MAX_META_LEN + 1)), *self.sections[1:]]
        with unittest.mock.patch.object(decoder, "block_id", return_value=bytes(16)):
            self.assertEqual(self.rule(*long_meta), "directory-extent")

    def test_count(self):
        data = assembled(self.sections)
        for count in 0, 500, 1025, 2**32 - 1:
            self.assertEqual(broken_rule(with_header(data, section_count=count)), "directory-extent")

    def test_front(self):
        """The front is checked by itself, and before the checks."""
        data = assembled(self.sections)
        meta = directory_of(data)[0]
        for at in range(decoder.HEADER.size, meta.offset + meta.length, 3):
            rule = broken_rule(flipped(data, 8 * at))
            self.assertIn(rule, ("front-checksum", "directory-extent") if at < 88 else ("front-checksum",))
        self.assertEqual(broken_rule(with_header(data, front_checksum=0)), "front-checksum")


class Checks(unittest.TestCase):
    def test_grid(self):
        """Chunks of a block whose front fills more than one of them, and whose sections end where one ends."""
        sections = Directory.sections + [(2**31, i, b"") for i in range(1000)]
        block = decoder.Block(assembled(sections))
        first = block.directory[0].offset + block.directory[0].length
        self.assertGreater(first, 2 * decoder.CHUNK_LEN)
        missing = 5 * decoder.CHUNK_LEN - block.checks_offset - decoder.ENTRY.size
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
        data = SAMPLES["one-series"]
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

    def judge_all(self, rule, change, at_least=1):
        """Judges each golden block that can be changed so."""
        count = 0
        for name, data in SAMPLES.items():
            model = Model(data)
            with self.subTest(name):
                if change(model) is not False:
                    self.judge(rule, model.encoded(), data)
                    count += 1
        self.assertGreaterEqual(count, at_least)

    def test_widths(self):
        for name in Model(SAMPLES["one-series"]).slack:
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
            for _, data in SAMPLES.items():
                offset, length = sections_of(data)[kind]
                for bit in range(8 * (offset + length - 8), 8 * (offset + length), 5 if FULL else 29) if length else ():
                    self.judge(rule, repaired(flipped(data, bit)), data)
        data = SAMPLES["lists"]
        self.judge("symbols-padding", repaired(header_field(data, 3, decoder.SYMBOLS, "reserved", 1)), data)
        data = SAMPLES["metrics"]
        changed = header_field(data, decoder.PLAIN_METRICS, decoder.METRICS, "reserved", 1)
        self.judge("metric-padding", repaired(changed), data)

    def test_meta(self):
        data = SAMPLES["meta"]
        meta = decoder.Block(data).meta
        self.judge("meta-padding", repaired(header_field(data, 1, decoder.META, "reserved", 0x100)), data)
        self.judge("meta-padding", repaired(header_field(data, 1, decoder.META, "flags", meta.flags | 0x80)), data)
        at = sections_of(data)[1][0] + decoder.META.size
        self.assertGreater(meta.parent_count, 1)
        swapped = data[:at] + data[at + 16:at + 32] + data[at:at + 16] + data[at + 32:]
        self.judge("meta-parents", repaired(swapped), data)

    def test_metrics(self):
        data = SAMPLES["metrics"]
        unused = {"more_texts": ["\U0010ffff".encode()]}
        for rule, changes in ("metric-widths", {"slack": 1}), ("metric-text-used", unused):
            section = decoder.PLAIN_METRICS, 0, metrics_section(METRICS, **changes)
            self.judge(rule, assembled(taken_apart(data)[:-1] + [section]), data)

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
        self.judge_all("leaves-needed", lambda model: change(model, True))

        for name, data in SAMPLES.items():
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

    def judge_unused(self, rule, model, original):
        """Class R if a row of a dictionary is unused, else class C."""
        if rule == "values-used":
            self.assertEqual([broken_rule(model.encoded()), broken_rule(r_only(model.encoded()))], [rule] * 2)
        else:
            self.judge(rule, model.encoded(), original)

    def test_values_used(self):
        """A dictionary has a row of a symbol that no series has. An inner table and a list refer to it."""
        for name in ("one-series", "plain", "lists", "lists-fixedwidth"):
            for inner, with_list in (False, False), (True, False), (False, True):
                model = Model(SAMPLES[name])
                model.symbols = model.symbols + ["\U0010ffff\U0010ffff".encode()]
                number = model.pools[0][0] if with_list and model.pools else 0
                model.tables[number].rows = model.tables[number].rows + [[len(model.symbols) - 1]]
                if inner:
                    model.with_inner_table(len(model.keys), Table([Column(1)], [], [[len(model.tables[0].rows) - 1]]))
                if with_list and model.pools:
                    low = model.pools[0][1]
                    model.pools[0] = number, low + [[len(model.tables[number].rows) - 1]]
                self.judge_unused("values-used", model, SAMPLES[name])

    def test_rows_used(self):
        """An inner table to which nothing refers, and a table over it."""
        for name in "one-series", "plain", "lists":
            model = Model(SAMPLES[name])
            at = len(model.tables) - model.keyset_count
            model.with_inner_table(at, Table([Column(1)], [], [[0]]))
            self.judge_unused("rows-used", model, SAMPLES[name])
            model.with_inner_table(at + 1, Table([Column(at + 1)], [], [[0]]))
            self.judge_unused("rows-used", model, SAMPLES[name])

    def test_unused_tables(self):
        """Nothing refers to a key and its dictionary, nor to a table over it."""
        model = Model(SAMPLES["one-series"])
        model.symbols = model.symbols + [b"zz"]
        model.with_inner_table(2, Table([Column(0)], [], [[4]]))
        model.keys = model.keys + [4]
        self.judge_unused("values-used", model, None)
        model.with_inner_table(3, Table([Column(3), Column(1)], [1, 0], [[0, 0]]))
        self.judge_unused("values-used", model, None)

    def test_row_form(self):
        for name in "plain", "lists", "chain-fixedwidth":
            data = repaired(header_field(SAMPLES[name], 1, decoder.META, "row_form", 77))
            self.judge("meta-padding", data, SAMPLES[name])
            self.assertIn("  rows unknown-77", decoder.dump(decoder.Block(r_only(data))))

    def test_low_width(self):
        """More low bits than members need."""
        for low in 7, 16, 32:
            model = Model(SAMPLES["lists"])
            model.pools[0] = model.pools[0][0], Lists(model.pools[0][1], low)
            self.judge("column-width", model.encoded(), SAMPLES["lists"])
        model.pools[0] = model.pools[0][0], Lists(model.pools[0][1], 33)
        self.assertEqual(broken_rule(model.encoded()), "list-upper")

    def test_order_of_classes(self):
        """A rule of class R is reported first, though one of class C that is broken too comes before it."""
        model = Model(SAMPLES["plain"])
        model.slack["key"] = 1
        changed = header_field(model.encoded(), 1, decoder.META, "series_count", 0)
        self.assertEqual(broken_rule(repaired(changed)), "meta-counts")

    def test_depth(self):
        self.assertIsNone(broken_rule(Planned(ONE, maps_of_depth(9)).encoded()))
        self.assertEqual(broken_rule(Planned(ONE, maps_of_depth(10)).encoded()), "table-depth")

    def test_pools(self):
        def swap_pools(model):
            if len(model.pools) < 2:
                return False
            model.pools[:2] = reversed(model.pools[:2])
            first = len(model.tables) + 1
            for table in model.keyset_tables():
                swap = {first: first + 1, first + 1: first}
                table.columns[-1].domain = swap.get(table.columns[-1].domain, table.columns[-1].domain)
        self.judge_all("pool-order", swap_pools)

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
        self.judge_all("list-order", swap_lists)

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
        self.judge_all("list-order", equal_lists)

        def more_lists(model):
            for p, (number, lists) in enumerate(model.pools):
                rows = len(model.tables[number].rows)
                more = next((rest for rest in ([row] for row in range(rows - 1, -1, -1)) if rest > lists[-1]), None)
                if more:
                    model.pools[p] = (number, lists + [more])
                    return True
            return False
        self.judge_all("list-used", more_lists)


class Damage(unittest.TestCase):
    def test_bit_flips(self):
        """Each single bit; the bits are visited in strides, so that a timeout leaves an even sample."""
        bits = [(name, data, bit) for name, data in SAMPLES.items() for bit in range(8 * len(data))]
        end = time.monotonic() + SECONDS
        for first in range(64):
            for name, data, bit in bits[first::64]:
                self.assertIsNotNone(broken_rule(flipped(data, bit)), "bit %d of %s" % (bit, name))
            if time.monotonic() > end:
                break

    def test_truncation(self):
        for name, data in SAMPLES.items():
            for length in range(len(data)):
                rule = "magic" if length < len(decoder.MAGIC) else "file-len"
                self.assertEqual(broken_rule(data[:length]), rule, "%d bytes of %s" % (length, name))
            self.assertEqual(broken_rule(data + b"\0"), "file-len")

    def test_resealed_flips(self):
        """With right checksums a flip ends in a rule too, and never in another exception, unless it is in a field of
        the meta section that may have any value, or in metric metadata, or the series stay the same. With an
        unknown bit in `ro_compat` it ends in a rule of class R, or in none if only rules of class C are broken."""
        free = {"time_start", "time_end", "window_start", "window_end", "job_id", "job_output", "job_output_count",
                "max_name_len", "max_value_len", "planner_version", "row_form"}
        at, free_bytes = 0, set()
        for name, kind in zip(decoder.META.type._fields, re.findall("[0-9]*[a-zA-Z]", decoder.META.struct.format)):
            if name in free:
                free_bytes.update(range(at, at + struct.calcsize("<" + kind)))
            at += struct.calcsize("<" + kind)
        rules = set()
        for name, data in SAMPLES.items():
            self.assertEqual(repaired(data), data)
            for kind, (offset, length) in sections_of(data).items():
                step = (1 if FULL else 23) if kind in (2, 5, decoder.PLAIN_METRICS, decoder.COLUMN_KIND) else (11 if FULL else 211)
                for bit in range(0, 8 * length, step):
                    if kind not in decoder.SECTIONS:
                        continue
                    changed = flipped(data, 8 * offset + bit)
                    rule, r_rule = broken_rule(repaired(changed)), broken_rule(r_only(changed))
                    rules.add(rule)
                    place = "bit %d of section %d of %s breaks %s, and %s" % (bit, kind, name, rule, r_rule)
                    self.assertTrue(CLASSES.get(r_rule) != "C", place)
                    if CLASSES.get(rule) != "C":
                        self.assertTrue((rule is None) == (r_rule is None), place)
                    in_free = kind == 1 and (bit // 8 in free_bytes or bit // 8 >= decoder.META.size)
                    in_free = in_free or kind in (decoder.PLAIN_METRICS, decoder.COLUMN_KIND)
                    if not (rule or in_free):  # a table took another domain, whose rows mean the same
                        same = series_of(decoder.Block(repaired(changed))) == series_of(decoder.Block(data))
                        self.assertTrue(same, "bit %d of section %d of %s" % (bit, kind, name))
        self.assertGreater(len(rules), 35)

    def refused_at_once(self, data):
        for block in repaired(data), r_only(data):
            start = time.monotonic()
            self.assertIsNotNone(broken_rule(block))
            self.assertLess(time.monotonic() - start, 1)

    def test_hostile_counts(self):
        """Records without a bit, as many as a count can say, are refused before they are read."""
        for name in "empty", "one-series", "lists":
            for kind in decoder.RECORDS:
                data = SAMPLES[name]
                changed = header_field(data, 2, decoder.CATALOGUE, kind + "_count", 2**32 - 1)
                self.refused_at_once(changed)
                self.refused_at_once(header_field(
                    changed, 2, decoder.CATALOGUE, kind + "_widths", bytes(len(decoder.RECORDS[kind]))))
            changed = header_field(data, 3, decoder.SYMBOLS, "symbol_count", 2**32 - 1)
            self.refused_at_once(changed)
            self.refused_at_once(header_field(changed, 3, decoder.SYMBOLS, "difference_width", 0))
        metrics = SAMPLES["metrics"]
        for kind in decoder.METRIC_RECORDS:
            changed = header_field(metrics, decoder.PLAIN_METRICS, decoder.METRICS, kind + "_count", 2**32 - 1)
            self.refused_at_once(changed)
            self.refused_at_once(header_field(changed, decoder.PLAIN_METRICS, decoder.METRICS, kind + "_widths",
                                              bytes(len(decoder.METRIC_RECORDS[kind]))))

    def test_hostile_records(self):
        """Records that say more rows, lists and members than there are bits for, and shapes with columns and leaves
        that take none."""
        class Many(list):  # the record says that there are more
            def __len__(self):
                return 2**32 - 1

        for name in "one-series", "lists":
            data = SAMPLES[name]
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
            sections = taken_apart(SAMPLES["empty"])
            self.refused_at_once(assembled([(1, 0, catalogue)] + sections[1:]))

    def test_random_bytes(self):
        data = SAMPLES["one-series"]
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
        data = SAMPLES["one-series"]
        self.assertEqual(self.verify(b""), (3, "magic"))
        self.assertEqual(self.verify(data[:8]), (3, "file-len"))
        self.assertEqual(self.verify(data[:-1]), (3, "file-len"))
        self.assertEqual(self.verify(data[:8] + b"\2" + data[9:]), (3, "header-checksum"))
        self.assertEqual(self.verify(data[:12] + b"\1" + data[13:]), (3, "header-checksum"))
        self.assertEqual(self.verify(with_header(data, major=2)), (4, "version"))
        self.assertEqual(self.verify(with_header(data, incompat=2)), (4, "incompat-features"))
        self.assertEqual(self.verify(assembled(taken_apart(data) + [(8, 0, b"")])), (4, "section-unknown"))

    def test_unknown_ro_compat(self):
        data = SAMPLES["one-series"]
        (code, out, errors), (dump_code, dump, dump_errors) = self.run_with(
            repaired(data, ro_compat=0x80000001), "verify", "dump")
        note = "PATH: note: unknown ro_compat bits 0x80000001; only rules of class R were checked\n"
        self.assertEqual((code, out, errors), (0, b"", note))
        self.assertEqual((dump_code, dump_errors), (0, ""))
        self.assertIn(b"\nfeatures incompat=0 ro_compat=2147483649 compat=0\n", dump)
        damaged = repaired(header_field(data, 1, decoder.META, "job_output", 2), ro_compat=1)
        self.assertEqual(self.verify(damaged), (3, "meta-job"))

    def test_usage(self):
        self.assertEqual(command()[0], 2)
        self.assertEqual(command("dump", "a", "b")[0], 2)
        self.assertEqual(command("verify", os.path.join(GOLDEN, "there is none"))[0], 1)


class Conformance(unittest.TestCase):
    reader = [sys.executable, os.path.join(HERE, "decoder.py")]

    def run_with(self, *arguments):
        """The exit code and output of the runner on a folder of three samples."""
        archive = [(7, 0, packed(content)) if kind == 6 else (kind, number, content)
                   for kind, number, content in taken_apart(SAMPLES["lists"])]
        blocks = {"golden/archive": assembled(archive, incompat=1), "golden/metrics": SAMPLES["metrics"],
                  "relaxed/plain": r_only(header_field(SAMPLES["plain"], 1, decoder.META, "row_form", 2))}
        rows = ["file rule class error exit classes level"]
        with tempfile.TemporaryDirectory() as testdata:
            for name, data in blocks.items():
                os.makedirs(os.path.dirname(os.path.join(testdata, name)), exist_ok=True)
                with open(os.path.join(testdata, name + ".cx"), "wb") as file:
                    file.write(data)
                with open(os.path.join(testdata, name + ".txt"), "w", encoding="utf-8") as file:
                    file.writelines(line + "\n" for line in decoder.dump(decoder.Block(data)))
                header = decoder.HEADER.read(data)
                rows.append("%s.cx - - - 0 %s %s" % (
                    name, "R" if header.ro_compat else "RC", "archive" if header.incompat else "core"))
            with open(os.path.join(testdata, "manifest.tsv"), "w", encoding="utf-8") as file:
                file.writelines(row.replace(" ", "\t") + "\n" for row in rows)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = conformance.main(["--testdata", testdata, *arguments])
        return code, out.getvalue()

    def test_files(self):
        self.assertEqual(self.run_with(*self.reader), (0, "3 files judged, 0 differ\n"))
        self.assertEqual(self.run_with("--no-metrics", *self.reader), (0, "3 files judged, 0 differ\n"))
        code, out = self.run_with("--level", "core", *self.reader)
        self.assertEqual((code, out.splitlines()), (5, [
            "golden/archive.cx: verify exits with 0, not 4: ", "3 files judged, 1 differ"]))

    def test_without(self):
        for text, kind in ("metrics", decoder.PLAIN_METRICS), ("columns", decoder.COLUMN_KIND):
            lines = list(decoder.dump(decoder.Block(SAMPLES[text])))
            of_core = conformance.without("\n".join(lines).encode(), [text])
            self.assertEqual(of_core, conformance.without(of_core, [text]))
            self.assertIn(b"\n  optional-%d 0 offset " % kind, of_core)
            end = next(n for n, line in enumerate(lines) if line.startswith(text))
            self.assertTrue(of_core.decode().rstrip().endswith(lines[end - 1]))

    def test_mutants(self):
        self.assertEqual(self.run_with("--mutants", "5", *self.reader), (0, "5 files judged, 0 differ\n"))
        options = argparse.Namespace(mutants=2000 if FULL else 200, seed=7)
        files = sorted(SAMPLES.items())
        found = list(conformance.mutants(options, files))
        self.assertEqual(found[:50], list(conformance.mutants(argparse.Namespace(mutants=50, seed=7), files)))
        self.assertEqual({code for _, _, _, code in found}, {0, 3, 4})
        self.assertGreater(len({data for _, _, data, _ in found}), len(found) * 9 // 10)


if __name__ == "__main__":
    unittest.main()
