#!/usr/bin/env python3
"""A second decoder of Chronoxide blocks, written from FORMAT.md, ARCHIVE.md, METRICS.md and COLUMNS.md
alone.

    python3 decoder.py dump block.cx          prints the dump of section 13
    python3 decoder.py verify block.cx...     checks every rule of these texts

It stands in the order of FORMAT.md and is meant to be read beside it; "section n" is a section of that text. A block is
verified as it is read, so whatever a `Block` yields is sound. `must` checks the rules of class R: it raises `Broken`.
`canonical` checks those of class C: the first that is broken is kept in `Block.form`, and nothing that is read depends
on it. Nothing is allocated or repeated by a count before a rule of class R (a section's length, an order) has bounded
that count.
"""

import itertools
import re
import struct
import sys
import zlib
from collections import namedtuple

import zstd_blocks


class Layout:
    """A field table. Offsets follow from the types; `read` gives a named tuple of the fields that stand at `offset`."""

    def __init__(self, name, **fields):
        self.struct = struct.Struct("<" + "".join(fields.values()))
        self.type = namedtuple(name, fields)
        self.size = self.struct.size

    def read(self, data, offset=0):
        return self.type._make(self.struct.unpack_from(data, offset))


HEADER = Layout("Header", magic="8s", major="H", minor="H", incompat="I", ro_compat="I", compat="I", block_id="16s",
                file_len="Q", section_count="I", front_checksum="I", checks_checksum="I", header_checksum="I")
ENTRY = Layout("Entry", kind="I", id="I", offset="Q", length="Q")
CATALOGUE = Layout("Catalogue", key_count="I", table_count="I", pool_count="I", keyset_count="I", shape_bits="Q",
                   key_widths="5s", table_widths="3s", shape_widths="3s", pool_widths="5s", keyset_widths="2s")
PACKED = Layout("Packed", content_len="Q")
SYMBOLS = Layout("Symbols", symbol_count="I", base_width="B", difference_width="B", reserved="H")
META = Layout("Meta", series_count="Q", label_count="Q", fingerprint_1="Q", fingerprint_2="Q", time_start="q",
              time_end="q", window_start="q", window_end="q", job_id="16s", job_output="I", job_output_count="I",
              parent_count="I", ancestor_count="I", external_label_count="I", annotation_count="I", max_name_len="I",
              max_value_len="I", planner_version="I", row_form="B", flags="B", reserved="H")
PAIR = Layout("Pair", key_len="H", value_len="H")
METRICS = Layout("Metrics", row_count="I", text_count="I", row_widths="6s", text_widths="1s", reserved="B")
SERIES_COLUMN = Layout("SeriesColumn", value_type="B", merge="B", name_len="H", reserved="I", unit="Q")
NUMBERS = Layout("Numbers", count="I", group_widths="8s", groups_len="Q")

# The records of the catalogue: their fields in order, each with the most bits that it may have.
RECORDS = {
    "key": {"name": 32, "row_count": 32, "rows_offset": 48, "base": 32, "width": 32},
    "table": {"row_count": 32, "rows_offset": 48, "shape": 48},
    "pool": {"table": 32, "list_count": 32, "member_count": 32, "low_width": 32, "offset": 48},
    "keyset": {"series_end": 32, "anchors": 48},
}
SHAPE_LIMITS = {"column_count": 10, "leaf_count": 10, "domain": 32}
BASE_WIDTH_BITS, END_WIDTH_BITS = 6, 4

# Those of metric metadata, likewise.
METRIC_RECORDS = {
    "row": {"name": 32, "type": 32, "temporality": 32, "monotonic": 32, "unit": 32, "description": 32},
    "text": {"end": 48},
}
# And those of number arrays.
GROUP_RECORDS = {
    "group": {"base_low": 32, "base_high": 32, "common": 48, "width": 7, "exception_count": 8, "exception_width": 7,
              "has_absent": 1, "start": 48},
}
RECORD_TYPES = {kind: namedtuple(kind, fields)
                for kind, fields in {**RECORDS, **METRIC_RECORDS, **GROUP_RECORDS}.items()}

MAGIC = bytes.fromhex("894358420D0A1A0A")
CLOSING = 8  # zero bytes after a bit stream
VERSION = (1, 0)
ARCHIVE = 1  # incompat
KNOWN_INCOMPAT, KNOWN_RO_COMPAT = ARCHIVE, 0
FIRST_OPTIONAL_KIND = 1 << 31
PLAIN_ARENA, PACKED_ARENA, PLAIN_METRICS, PACKED_METRICS = 6, 7, 2684354561, 2684354562
COLUMN_KIND = 3221225475
SECTIONS = {1: "meta", 2: "catalogue", 3: "symbols", 4: "rows", 5: "members", PLAIN_ARENA: "arena",
            PACKED_ARENA: "packed-arena", PLAIN_METRICS: "metric-metadata", PACKED_METRICS: "packed-metric-metadata",
            COLUMN_KIND: "series-column"}
FIXED_WIDTH, BIT_PACKED = 0, 1  # row_form
TIME_KNOWN, WINDOW_KNOWN = 1, 2  # flags
UNSUPPORTED = {"version", "incompat-features", "section-unknown"}

# ---- Section 1: conventions -----------------------------------------------------------------------------------------


class Broken(Exception):
    """A rule that the block breaks."""

    def __init__(self, rule, reason):
        super().__init__("%s: %s" % (rule, reason))
        self.rule, self.exit_code = rule, 4 if rule in UNSUPPORTED else 3


def must(condition, rule, reason, *values):
    if not condition:
        raise Broken(rule, reason % values)


def width(n):
    """The number of bits that n needs."""
    return n.bit_length()


def field(stream, start, size):
    """The field of `size` bits that starts at bit `start` of a bit stream."""
    load = int.from_bytes(stream[start // 8:(start + size + 7) // 8], "little")
    return load >> start % 8 & (1 << size) - 1


def whole_bytes(bits):
    return (bits + 7) // 8


def check_padding(canonical, stream, end_bit, rule):  # up to the next whole byte
    canonical(field(stream, end_bit, -end_bit % 8) == 0, rule, "unused bits from bit %d on are set", end_bit)


def check_closing(canonical, stream, rule):
    canonical(stream[-CLOSING:] == bytes(CLOSING), rule, "the closing bytes are not zero")


def must_be_utf8(data, rule, what):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise Broken(rule, "%s is not UTF-8" % what) from None


def increasing(items):
    """Whether a sequence is in strictly increasing order."""
    return all(a < b for a, b in zip(items, items[1:]))


# ---- Section 2: limits ----------------------------------------------------------------------------------------------

MAX_SYMBOL_LEN = 65535
MAX_LABELS = 1023
MAX_COLUMNS = 1023
MAX_DEPTH = 10
MAX_SECTIONS = 1024
CHUNK_LEN = 8192
ANCHOR_ROWS = 16
SYMBOL_GROUP = 16
MAX_META_LEN = 16777216
MAX_UPPER_BITS = 65536
MAX_METRIC_TEXT_LEN = 65535
MAX_COLUMN_NAME_LEN = 255
MAX_VALUE_LEN = 65535
VALUE_GROUP = 256
MAX_PACKED_WINDOW = 8388608
MAX_PACKED_RATIO = 256
FREE_PACKED_LEN = 1048576
MAX_PACKED_LEN = 281474976710655

# ---- Section 3: header and directory --------------------------------------------------------------------------------


def read_header(data):
    """Checks the rules in the order of section 3."""
    must(data[:len(MAGIC)] == MAGIC, "magic", "not a block")
    must(len(data) >= HEADER.size, "file-len", "the file ends inside the header")
    header = HEADER.read(data)
    must(header.header_checksum == crc(data[:HEADER.size - 4]), "header-checksum", "the header is damaged")
    must(header.major == VERSION[0], "version", "version %d.%d", header.major, header.minor)
    must(header.incompat & ~KNOWN_INCOMPAT == 0, "incompat-features", "unknown features %#x", header.incompat)
    must(header.file_len == len(data), "file-len", "%d bytes instead of %d", len(data), header.file_len)
    return header


def read_directory(data, header):
    """The entries of the directory."""
    must(1 <= header.section_count <= MAX_SECTIONS, "directory-extent", "%d sections", header.section_count)
    end = HEADER.size + header.section_count * ENTRY.size
    must(end <= len(data), "directory-extent", "the file ends inside the directory")
    directory = [ENTRY.read(data, at) for at in range(HEADER.size, end, ENTRY.size)]
    length = directory[0].length
    must(length <= min(MAX_META_LEN, len(data) - end), "directory-extent", "a first section of %d bytes", length)
    right = crc(header.block_id, data[HEADER.size:end + length])
    must(header.front_checksum == right, "front-checksum", "directory or first section are damaged")
    for entry in directory:  # before the other rules of the entries
        must(entry.kind in SECTIONS or entry.kind >= FIRST_OPTIONAL_KIND, "section-unknown", "kind %d", entry.kind)
    must(increasing([(entry.kind, entry.id) for entry in directory]), "section-order", "sections in another order")
    for entry in directory:
        must(entry.offset == end, "section-extent", "kind %d starts at %d, not %d", entry.kind, entry.offset, end)
        end += entry.length
    must(end <= len(data), "section-extent", "the sections end at %d of %d", end, len(data))
    arena = PACKED_ARENA if header.incompat & ARCHIVE else PLAIN_ARENA
    found = [(entry.kind, entry.id) for entry in directory if entry.kind < FIRST_OPTIONAL_KIND]
    sound = found == [(kind, 0) for kind in (*range(1, PLAIN_ARENA), arena)]
    must(sound, "section-required", "the required sections (kind, id) are %s", found)
    return directory


def bytes_of(data, entry):
    """The bytes of a section."""
    return data[entry.offset:entry.offset + entry.length]


# ---- Section 4: checksums -------------------------------------------------------------------------------------------


def crc(*parts):
    """CRC-32/ISO-HDLC of the parts one after the other."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def chunk_checksums(data, header, directory):
    """The checksums of the chunks, one after the other, and where the last section ends. They start there."""
    first, end = (entry.offset + entry.length for entry in (directory[0], directory[-1]))
    chunks = (data[max(start, first):min(start + CHUNK_LEN, end)] for start in range(0, end, CHUNK_LEN))
    numbered = (crc(header.block_id, struct.pack("<Q", n), chunk) for n, chunk in enumerate(chunks))
    return b"".join(struct.pack("<I", checksum) for checksum in numbered), end


def checks_checksum(header, checks):
    return crc(header.block_id, b"\xff" * 8, checks)


def check_checksums(data, header, directory):
    """Returns how many chunks there are, and where their checksums start."""
    right, end = chunk_checksums(data, header, directory)
    must(len(data) == end + len(right), "checks-length", "%d bytes instead of %d", len(data) - end, len(right))
    must(header.checks_checksum == checks_checksum(header, data[end:]), "checks-checksum", "the checks are damaged")
    for at in range(0, len(right), 4):
        sound = data[end + at:end + at + 4] == right[at:at + 4]
        must(sound, "chunk-checksum", "chunk %d is damaged", at // 4)
    return len(right) // 4, end


# ---- Section 5: catalogue -------------------------------------------------------------------------------------------


ColumnRecord = namedtuple("ColumnRecord", "domain base end_bit")
# The column of each leaf that is written out is in `leaves`, but not for a single column: it takes no bits.
Shape = namedtuple("Shape", "columns leaf_count leaves")


def read_catalogue(canonical, section):
    """The header of the catalogue, a list of named tuples for each kind of record, and the shapes of the tables."""
    must(len(section) >= CATALOGUE.size, "catalogue-header", "%d bytes", len(section))
    header = CATALOGUE.read(section)
    must(header.key_count + header.keyset_count <= header.table_count, "catalogue-header",
         "%d tables for %d keys and %d keysets", header.table_count, header.key_count, header.keyset_count)
    for size, (name, limit) in zip(header.shape_widths, SHAPE_LIMITS.items()):
        must(size <= limit, "catalogue-header", "width %d of %s", size, name)
    must(header.shape_bits < 1 << 48, "catalogue-header", "%d bits of shapes", header.shape_bits)
    must(header.shape_widths[2] > 0 or header.table_count == header.key_count, "catalogue-header",
         "domains of columns without a bit")
    counts = {"key": header.key_count, "table": header.table_count - header.key_count,
              "pool": header.pool_count, "keyset": header.keyset_count}
    arrays, shapes_at = place_records(header, CATALOGUE.size, RECORDS, counts, "catalogue-header", ("key", "table"))
    more, length = place_records(header, shapes_at + whole_bytes(header.shape_bits), RECORDS, counts,
                                 "catalogue-header", ("pool", "keyset"))
    length += CLOSING
    must(len(section) == length, "catalogue-length", "%d bytes instead of %d", len(section), length)
    records = read_records(canonical, section, arrays + more, "catalogue-widths", "catalogue-padding")
    shapes = read_shapes(canonical, section, 8 * shapes_at, header, records["table"])
    check_closing(canonical, section, "catalogue-padding")
    return header, records, shapes


def read_shapes(canonical, section, start, header, tables):
    """The shapes of the tables that are not dictionaries, from bit `start` on. Each shape takes bits, and so does each
    column, because no domain is 0: so the section bounds their number."""
    shapes, end, largest = [], 0, [0, 0, 0]
    for t, record in enumerate(tables, header.key_count):
        must(record.shape == end, "table-columns", "the shape of table %d starts at %d, not %d", t, record.shape, end)

        def take(size):
            nonlocal end
            must(end + size <= header.shape_bits, "table-columns", "the shape of table %d has no end", t)
            end += size
            return field(section, start + end - size, size)

        column_count, leaf_count = take(header.shape_widths[0]), take(header.shape_widths[1])
        widths = header.shape_widths[2], take(BASE_WIDTH_BITS), take(END_WIDTH_BITS)
        must(1 <= column_count <= MAX_COLUMNS, "table-columns", "table %d has %d columns", t, column_count)
        must(widths[1] <= 32, "table-columns", "a base of table %d has %d bits", t, widths[1])
        columns = []
        for c in range(column_count):
            columns.append(ColumnRecord(*map(take, widths)))
            must(columns[c].domain > 0, "column-domain", "column %d of table %d has no domain", c, t)
        leaves = [take(width(column_count - 1)) for _ in range(leaf_count)] if column_count > 1 else []
        right = width(max(column.base for column in columns)), width(max(column.end_bit for column in columns))
        canonical(widths[1:] == right, "catalogue-widths", "widths of the shape of table %d", t)
        fields = column_count, leaf_count, max(column.domain for column in columns)
        largest = list(map(max, largest, fields))
        shapes.append(Shape(columns, leaf_count, leaves))
    must(end == header.shape_bits, "table-columns", "shapes end at bit %d of %d", end, header.shape_bits)
    canonical(list(header.shape_widths) == list(map(width, largest)), "catalogue-widths", "widths in shapes")
    check_padding(canonical, section, start + end, "catalogue-padding")
    return shapes


def place_records(header, length, kinds, counts, rule, names):
    """Kind, count, widths and first byte of each array of these records, from byte `length` on, and where they end."""
    arrays = []
    for kind in names:
        count, widths = counts[kind], getattr(header, kind + "_widths")
        for size, (name, limit) in zip(widths, kinds[kind].items()):
            must(size <= limit, rule, "width %d of %s %s", size, kind, name)
        must(count <= 1 or sum(widths) > 0, rule, "%d %s records without a bit", count, kind)
        arrays.append((kind, count, widths, length))
        length += whole_bytes(count * sum(widths))
    return arrays, length


def read_records(canonical, section, arrays, widths_rule, padding_rule):
    """A list of named tuples for each kind of record."""
    records = {}
    for kind, count, widths, offset in arrays:
        record_type = RECORD_TYPES[kind]
        starts = list(itertools.accumulate(widths, initial=0))
        records[kind] = [record_type._make(field(section, 8 * offset + i * starts[-1] + start, size)
                                           for start, size in zip(starts, widths)) for i in range(count)]
        for i, name in enumerate(record_type._fields):
            right = width(max((record[i] for record in records[kind]), default=0))
            canonical(widths[i] == right, widths_rule, "width %d of %s %s, not %d", widths[i], kind, name, right)
        check_padding(canonical, section, 8 * offset + count * starts[-1], padding_rule)
    return records


# ---- Section 6: symbols ---------------------------------------------------------------------------------------------


def read_packed(section):
    """What a packed section decodes to: ARCHIVE.md."""
    must(len(section) >= PACKED.size, "packed-header", "%d bytes", len(section))
    content_len, frame = PACKED.read(section).content_len, section[PACKED.size:]
    most = min(MAX_PACKED_LEN, max(FREE_PACKED_LEN, MAX_PACKED_RATIO * len(frame)))
    must(content_len <= most, "packed-header", "a content of %d bytes, and at most %d", content_len, most)
    window, blocks_at = read_frame_header(frame, content_len)
    try:  # One byte more is an error too.
        content = zstd_blocks.decode(frame[blocks_at:], min(window, zstd_blocks.MAX_BLOCK_LEN), content_len + 1)
    except zstd_blocks.Damaged as error:
        raise Broken("packed-frame", str(error)) from None
    must(len(content) == content_len, "packed-length", "%d bytes instead of %d", len(content), content_len)
    return content


def read_frame_header(frame, content_len):
    """The window of a frame, and where its blocks start."""
    must(len(frame) >= 6 and frame[:4] == bytes.fromhex("28B52FFD"), "packed-frame", "not a frame")
    descriptor, at = frame[4], 5
    must(descriptor & 31 == 0, "packed-frame", "forbidden features %#x", descriptor)
    window = None
    if not descriptor & 32:
        window = 1 << 10 + (frame[at] >> 3)
        window, at = window + window // 8 * (frame[at] & 7), at + 1
    size = (1 if window is None else 0, 2, 4, 8)[descriptor >> 6]
    must(len(frame) >= at + size, "packed-frame", "a header without an end")
    if size > 0:
        stated = int.from_bytes(frame[at:at + size], "little") + (256 if size == 2 else 0)
        must(stated == content_len, "packed-length", "%d bytes instead of %d", stated, content_len)
        window = stated if window is None else window
    must(window <= MAX_PACKED_WINDOW, "packed-frame", "a window of %d bytes", window)
    return window, at + size


def read_symbols(canonical, section, arena, is_packed):
    """The bytes of all symbols. The section bounds their number, and starts must increase."""
    must(len(section) >= SYMBOLS.size, "symbols-header", "%d bytes", len(section))
    header = SYMBOLS.read(section)
    widths = header.base_width, header.difference_width
    must(widths[0] <= 48 and widths[1] <= 24, "symbols-header", "widths %d and %d", *widths)
    must(widths[1] > 0 or header.symbol_count == 0, "symbols-header", "%d symbols without a bit", header.symbol_count)
    canonical(header.reserved == 0, "symbols-padding", "reserved %d", header.reserved)
    bases = header.symbol_count // SYMBOL_GROUP + 1
    bits = bases * widths[0] + (header.symbol_count + 1 - bases) * widths[1]
    length = SYMBOLS.size + whole_bytes(bits) + CLOSING
    must(len(section) == length, "symbols-length", "%d bytes instead of %d", len(section), length)

    at, base, largest_difference, starts = 8 * SYMBOLS.size, 0, 0, []
    for i in range(header.symbol_count + 1):
        size = widths[i % SYMBOL_GROUP > 0]
        entry = field(section, at, size)
        at += size
        if i % SYMBOL_GROUP == 0:
            base, entry = entry, 0
        largest_difference = max(largest_difference, entry)
        starts.append(base + entry)
    rule = "packed-length" if is_packed else "symbols-starts"
    must(starts[-1] == len(arena), rule, "symbols end at %d of %d", starts[-1], len(arena))
    must(starts[0] == 0, "symbols-starts", "symbol 0 starts at %d", starts[0])
    for start, end in zip(starts, starts[1:]):
        must(start < end <= start + MAX_SYMBOL_LEN, "symbols-starts", "a symbol at %d ends at %d", start, end)
    canonical(widths == (width(base), width(largest_difference)), "symbols-widths", "widths %d and %d", *widths)
    check_padding(canonical, section, at, "symbols-padding")
    check_closing(canonical, section, "symbols-padding")
    return texts_in(arena, starts, "symbols-order", "symbols-utf8")


def texts_in(data, starts, order_rule, utf8_rule):
    """The texts in the data that start here, the last entry being the end."""
    texts = [data[start:end] for start, end in zip(starts, starts[1:])]
    for i, text in enumerate(texts):
        must(i == 0 or texts[i - 1] < text, order_rule, "text %d is not greater than the one before it", i)
    for i, text in enumerate(texts):
        must_be_utf8(text, utf8_rule, "text %d" % i)
    return texts


# ---- Section 7: tables and rows -------------------------------------------------------------------------------------


class Column:
    """A column of a table. Its domain is a `table`, or the lists of a `pool`, or (both None) the symbols."""

    def __init__(self, record, start_bit):
        self.domain, self.base = record.domain, record.base
        self.start_bit, self.width = start_bit, record.end_bit - start_bit
        self.table = self.pool = None

    def rows_table(self):  # the table whose rows the codes are, or the members of the lists
        return self.pool.table if self.pool else self.table


class Table:
    """A table. `leaves` has the (column, position) of each leaf if there are several columns, `keys` its key."""

    def __init__(self, number, kind, record, columns, shape, rows):
        self.number, self.kind = number, kind  # dictionary, map, shared or keyset
        self.columns, self.row_count = columns, record.row_count
        self.rows, self.first_bit = rows, 8 * record.rows_offset  # in the rows section
        self.row_bits = columns[-1].start_bit + columns[-1].width
        self.leaf_count, self.written = shape.leaf_count, shape.leaves
        self.leaves = self.keys = ()
        self.depth = 0
        self.used = None  # a flag for each row on which a series stands

    def code(self, row, column):
        return column.base + field(self.rows, self.first_bit + row * self.row_bits + column.start_bit, column.width)

    def codes(self, column):
        """The codes of all rows, or a single one if they take no bits: work follows the bits that there are."""
        return (self.code(row, column) for row in range(self.row_count if column.width else 1))

    def list_column(self):
        return self.columns[-1] if self.columns[-1].pool else None


def rounded(bits, row_form):
    return next(size for size in (0, 8, 16, 32) if size >= bits) if row_form == FIXED_WIDTH else bits


def read_tables(canonical, catalogue, records, shapes, rows):
    """The tables with their columns, as far as the catalogue tells them."""
    tables = []
    offset = 0
    dictionaries = [Shape([ColumnRecord(0, record.base, record.width)], 0, []) for record in records["key"]]
    for t, (record, shape) in enumerate(zip(records["key"] + records["table"], dictionaries + shapes)):
        kind = "map" if len(shape.columns) == 1 else "shared"
        if t < catalogue.key_count:
            kind = "dictionary"
        elif t >= catalogue.table_count - catalogue.keyset_count:
            kind = "keyset"
        must(record.row_count > 0, "table-rows", "table %d has no row", t)

        columns = []
        start_bit = 0
        for column in shape.columns:
            sound = start_bit <= column.end_bit <= start_bit + 32
            must(sound, "table-extent", "a field of table %d has bits %d to %d", t, start_bit, column.end_bit)
            columns.append(Column(column, start_bit))
            start_bit = column.end_bit
        table = Table(t, kind, record, columns, shape, rows)
        must(record.rows_offset == offset, "rows-offset", "table %d is at %d, not %d", t, record.rows_offset, offset)
        end_bit = 8 * offset + table.row_count * table.row_bits
        offset = whole_bytes(end_bit)
        must(offset + CLOSING <= len(rows), "table-extent", "table %d ends at %d", t, offset)
        check_padding(canonical, rows, end_bit, "rows-padding")
        tables.append(table)
    must(len(rows) == offset + CLOSING, "rows-offset", "rows end at %d of %d", offset + CLOSING, len(rows))
    check_closing(canonical, rows, "rows-padding")
    return tables


def find_domains(table, tables, pools):
    """Gives each column of a table the table or pool of its domain. That of a dictionary is the symbols."""
    t = table.number
    for column in table.columns if table.kind != "dictionary" else ():
        number = column.domain - 1
        if number < len(tables):
            sound = number < t and tables[number].kind != "keyset"
            must(sound, "column-domain", "table %d cannot be a domain of a column of table %d", number, t)
            column.table = tables[number]
        else:
            must(number - len(tables) < len(pools), "column-domain", "a column of table %d has no pool", t)
            sound = table.kind == "keyset" and len(table.columns) > 1 and column is table.columns[-1]
            must(sound, "list-column", "a column of table %d has a pool", t)
            column.pool = pools[number - len(tables)]


def find_leaves(canonical, table):
    """The leaves and the depth of a table, whose domains have theirs."""
    columns, t = table.columns, table.number
    if table.kind == "dictionary":
        table.keys = [t]
        return
    domains = [column.rows_table() for column in columns]
    count = sum(len(domain.keys) for domain in domains)
    must(count <= MAX_LABELS, "leaves-order", "table %d has %d leaves", t, count)
    must(table.leaf_count in (0, count), "leaves-written", "table %d has %d leaves, not %d", t, table.leaf_count, count)
    table.depth = 1 + max(domain.depth for domain in domains)
    must(table.depth <= MAX_DEPTH, "table-depth", "table %d has depth %d", t, table.depth)
    if len(columns) == 1:
        canonical(table.leaf_count == 0, "leaves-needed", "table %d has one column", t)
        table.keys = domains[0].keys
        return
    first_keys = [domain.keys[0] for domain in domains]
    in_order = increasing(first_keys[:-1] if table.list_column() else first_keys)
    canonical(in_order, "columns-order", "columns of table %d in another order", t)
    needed = count > len(columns) or not increasing(first_keys)
    if not table.leaf_count:
        must(not needed, "leaves-written", "table %d needs leaves", t)
        table.leaves = [(c, 0) for c in range(count)]
    else:
        canonical(needed, "leaves-needed", "table %d needs none", t)
        positions = [0] * len(columns)
        table.leaves = []
        for column in table.written:
            sound = column < len(columns) and positions[column] < len(domains[column].keys)
            must(sound, "leaves-order", "a leaf of column %d of table %d is none", column, t)
            table.leaves.append((column, positions[column]))
            positions[column] += 1
    table.keys = [domains[c].keys[position] for c, position in table.leaves]
    must(increasing(table.keys), "leaves-order", "keys of table %d", t)


def check_rows(canonical, table, symbols, row_form):
    """Order, codes and widths. The order bounds the rows of a table whose rows take no bits."""
    t = table.number
    varying = [column for column in table.columns if column.width and not column.pool]
    must(varying or table.row_count == 1, "rows-order", "all rows of table %d are the same", t)
    before = ()
    for r, row in enumerate(zip(*(table.codes(column) for column in varying))):
        must(before < row, "rows-order", "row %d of table %d", r, t)
        before = row
    for c, column in enumerate(table.columns):
        count = column.pool.list_count if column.pool else column.table.row_count if column.table else len(symbols)
        smallest, largest = column.base + (1 << 32), 0
        for code in table.codes(column):
            must(code < count, "column-code", "%d of %d in column %d of table %d", code, count, c, t)
            smallest, largest = min(smallest, code), max(largest, code)
        right = smallest, rounded(width(largest - smallest), row_form)
        canonical((column.base, column.width) == right, "column-width", "base or width of column %d of table %d", c, t)


def check_used(canonical, block):
    """Marks the rows and lists on which series stand, from the keyset tables down. If each row and each list occurs as
    the rules of class C say, these are all."""
    for table in block.tables:
        table.used = bytearray([table.kind == "keyset"]) * table.row_count
    for pool in block.pools:
        pool.used = bytearray(pool.list_count)

    def mark_codes(table):
        some = table.used.find(1) >= 0
        for column in table.columns:
            used = (column.pool or column.table).used
            for row in itertools.compress(range(table.row_count), table.used) if column.width else range(some):
                used[table.code(row, column)] = 1

    for table in block.tables:
        if table.kind == "keyset":
            mark_codes(table)
    for pool in block.pools:
        for row in itertools.chain.from_iterable(itertools.compress(pool.lists, pool.used)):
            pool.table.used[row] = 1
    for table in reversed(block.tables):
        if table.kind in ("map", "shared"):
            mark_codes(table)

    for table in block.tables:
        check, rule = (must, "values-used") if table.kind == "dictionary" else (canonical, "rows-used")
        check(all(table.used), rule, "row %d of table %d is not", table.used.find(0), table.number)
    for pool in block.pools:
        canonical(all(pool.used), "list-used", "list %d of pool %d is not", pool.used.find(0), pool.number)
    dictionaries = block.tables[:len(block.keys)]
    used = set(block.keys).union(*(table.codes(table.columns[0]) for table in dictionaries))
    canonical(len(used) == len(block.symbols), "symbols-used", "%d of %d are", len(used), len(block.symbols))


def check_keys(keys, symbols):
    must(increasing(keys), "keys-order", "keys in another order")
    for name in keys:
        must(name < len(symbols), "keys-order", "there is no symbol %d", name)


# ---- Section 8: list pools and anchors ------------------------------------------------------------------------------


class Pool:
    """A pool of `lists` of rows of a table."""

    def __init__(self, number, record, table):
        self.number, self.table, self.low_width = number, table, record.low_width
        self.list_count, self.member_count = record.list_count, record.member_count
        self.end_width = width(record.member_count)
        self.steps = table.row_count - 1 >> self.low_width  # the largest upper part
        self.ends = 8 * record.offset  # bits at which the two packs start, and end
        self.ends_end = self.ends + self.list_count * self.end_width
        self.members = 8 * whole_bytes(self.ends_end)
        self.members_end = self.start(self.list_count, self.member_count)
        self.lists = []
        self.used = None  # a flag for each list on which a series stands

    def start(self, lists, members):
        """The bit after this number of lists and of members."""
        return self.members + members * (self.low_width + (self.steps > 0)) + lists * self.steps

    def rows(self, section, number, start, end):
        """The rows of list `number`, whose members are numbers `start` to `end` of the pool."""
        at, low = self.start(number, start), self.low_width
        lows = [field(section, at + i * low, low) for i in range(end - start)]
        if not self.steps:
            return lows
        length = end - start + self.steps
        must(length <= MAX_UPPER_BITS, "list-upper", "list %d of pool %d has %d bits", number, self.number, length)
        upper = format(field(section, at + (end - start) * low, length), "b")[::-1]
        ones = [bit for bit, value in enumerate(upper) if value == "1"]
        must(len(ones) == end - start, "list-upper", "list %d of pool %d", number, self.number)
        return [(one - i << low) + lows[i] for i, one in enumerate(ones)]


def read_pools(canonical, records, tables, section, row_form):
    """The pools as far as the catalogue tells them, and where the last one ends."""
    pools = []
    offset = 0
    for p, record in enumerate(records["pool"]):
        sound = record.table < len(tables) and tables[record.table].kind != "keyset"
        must(sound, "pool-table", "pool %d has no dictionary or inner table", p)
        canonical(p == 0 or pools[-1].table.number < record.table, "pool-order", "pool %d", p)
        must(1 <= record.list_count <= record.member_count, "pool-lists", "pool %d has an empty list, or none", p)
        must(record.offset == offset, "members-extent", "pool %d starts at %d, not %d", p, record.offset, offset)
        must(record.low_width <= 32, "list-upper", "pool %d has members of %d low bits", p, record.low_width)
        pool = Pool(p, record, tables[record.table])
        right = rounded(width(pool.table.row_count - 1), row_form)
        canonical(pool.steps or pool.low_width == right, "column-width", "%d bits in pool %d", pool.low_width, p)
        offset = whole_bytes(pool.members_end)
        must(offset + CLOSING <= len(section), "members-extent", "pool %d ends at %d", p, offset)
        pools.append(pool)
    return pools, offset


def read_lists(canonical, pool, section):
    """The lists of a pool. Their ends take bits, and a list is no longer than a table whose rows are checked."""
    check_padding(canonical, section, pool.ends_end, "members-padding")
    check_padding(canonical, section, pool.members_end, "members-padding")
    start = 0
    for i in range(pool.list_count):
        end = field(section, pool.ends + i * pool.end_width, pool.end_width)
        must(start < end <= pool.member_count, "pool-lists", "list %d of pool %d ends at %d", i, pool.number, end)
        must(end - start <= pool.table.row_count, "list-members", "list %d of pool %d is too long", i, pool.number)
        rows = pool.rows(section, i, start, end)
        sound = increasing(rows) and rows[-1] < pool.table.row_count
        must(sound, "list-members", "list %d of pool %d", i, pool.number)
        canonical(i == 0 or pool.lists[-1] < rows, "list-order", "list %d of pool %d", i, pool.number)
        pool.lists.append(rows)
        start = end
    must(start == pool.member_count, "pool-lists", "the lists of pool %d end at %d", pool.number, start)


def read_anchors(canonical, keyset, section):
    """The anchors of a keyset with a list column, as (row, series before it), and where they end."""
    table, column = keyset.table, keyset.table.list_column()
    rows = range(0, table.row_count, ANCHOR_ROWS)
    size = width(keyset.series_end - keyset.series_start)
    start_bit = 8 * keyset.anchors_offset
    end_bit = start_bit + len(rows) * size
    must(whole_bytes(end_bit) + CLOSING <= len(section), "members-extent", "anchors end at %d", whole_bytes(end_bit))
    anchors = [(row, field(section, start_bit + i * size, size)) for i, row in enumerate(rows)]
    before = 0
    for row in range(table.row_count):
        right = row % ANCHOR_ROWS or anchors[row // ANCHOR_ROWS] == (row, before)
        must(right, "anchors", "row %d of keyset %d", row, keyset.number)
        before += len(column.pool.lists[table.code(row, column)])
    check_padding(canonical, section, end_bit, "members-padding")
    return anchors, whole_bytes(end_bit)


# ---- Section 9: keysets and series ----------------------------------------------------------------------------------


class Keyset:
    """A keyset. Its series have the refs [series_start, series_end)."""

    def __init__(self, number, table, series_start, record):
        self.number, self.table = number, table
        self.series_start, self.series_end = series_start, record.series_end
        self.anchors, self.anchors_offset = (), record.anchors

    def lists(self):
        """For each row its list, or a list of nothing without a list column."""
        column = self.table.list_column()
        for row in range(self.table.row_count):
            yield column.pool.lists[self.table.code(row, column)] if column else (None,)

    def series(self):
        """The series in the order of their refs, each as the (key, symbol id) of its labels."""
        for row, members in enumerate(self.lists()):
            for member in members:
                yield [(key, resolve(self.table, row, leaf, member)) for leaf, key in enumerate(self.table.keys)]


def resolve(table, row, leaf, member=None):
    """The symbol id of a leaf's value in a row, and in a member of the row's list."""
    if table.kind == "dictionary":
        return table.code(row, table.columns[0])
    c, position = table.leaves[leaf] if len(table.columns) > 1 else (0, leaf)
    column = table.columns[c]
    return resolve(column.rows_table(), member if column.pool else table.code(row, column), position)


def read_keysets(canonical, records, tables, section, pools_end):
    keysets = []
    start, offset = 0, pools_end
    first_table = len(tables) - len(records["keyset"])
    for s, record in enumerate(records["keyset"]):
        keyset = Keyset(s, tables[first_table + s], start, record)
        end = start + sum(map(len, keyset.lists()))
        must(record.series_end == end, "keyset-series", "keyset %d ends at %d, not %d", s, record.series_end, end)
        must(s == 0 or keysets[-1].table.keys < keyset.table.keys, "keyset-order", "keyset %d", s)
        has_anchors = keyset.table.list_column()
        must(record.anchors == (offset if has_anchors else 0), "members-extent", "the anchors of keyset %d", s)
        if has_anchors:
            keyset.anchors, offset = read_anchors(canonical, keyset, section)
        start = end
        keysets.append(keyset)
    length = offset + CLOSING if records["pool"] else 0
    must(len(section) == length, "members-extent", "%d bytes instead of %d", len(section), length)
    if section:
        check_closing(canonical, section, "members-padding")
    return keysets


# ---- Section 10: meta -----------------------------------------------------------------------------------------------

Origins = namedtuple("Origins", "parents ancestors external_labels annotations")


def read_meta(canonical, section):
    """The header of the meta section, and the lists after it."""
    must(META.size <= len(section), "meta-length", "%d bytes", len(section))
    meta = META.read(section)
    at = META.size

    def take(size):
        nonlocal at
        must(at + size <= len(section), "meta-length", "the section ends too early")
        at += size
        return section[at - size:at]

    def take_ids(count):
        ids = take(16 * count)
        return [ids[i:i + 16] for i in range(0, len(ids), 16)]

    def take_pairs(count):  # bounded, because each takes bytes
        lengths = (PAIR.read(take(PAIR.size)) for _ in range(count))
        return [(take(pair.key_len), take(pair.value_len)) for pair in lengths]

    parents, ancestors = take_ids(meta.parent_count), take_ids(meta.ancestor_count)
    external_labels, annotations = take_pairs(meta.external_label_count), take_pairs(meta.annotation_count)
    must(at == len(section), "meta-length", "%d bytes instead of %d", len(section), at)

    canonical(meta.row_form in (FIXED_WIDTH, BIT_PACKED), "meta-padding", "row form %d", meta.row_form)
    canonical(meta.flags & ~(TIME_KNOWN | WINDOW_KNOWN) == 0, "meta-padding", "flags %d", meta.flags)
    canonical(meta.reserved == 0, "meta-padding", "reserved %d", meta.reserved)
    for known, start, end in ((meta.flags & TIME_KNOWN, meta.time_start, meta.time_end),
                              (meta.flags & WINDOW_KNOWN, meta.window_start, meta.window_end)):
        must(start < end if known else start == end == 0, "meta-time", "%d to %d", start, end)
    if meta.job_output_count:
        must(meta.job_output < meta.job_output_count, "meta-job", "there is no output %d", meta.job_output)
        must(meta.job_id != bytes(16), "meta-job", "a job without an id")
    else:
        must(meta.job_id == bytes(16) and meta.job_output == 0, "meta-job", "a job without outputs")
    canonical(increasing(parents) and increasing(ancestors), "meta-parents", "blocks in another order")
    canonical(not set(parents) & set(ancestors), "meta-parents", "a block is parent and ancestor")
    for pairs in external_labels, annotations:
        for part in itertools.chain.from_iterable(pairs):
            must_be_utf8(part, "meta-pairs", "a key or value")
        must(all(key for key, _ in pairs), "meta-pairs", "an empty key")
        must(increasing([key for key, _ in pairs]), "meta-pairs", "keys in another order")
    must(all(value for _, value in external_labels), "meta-pairs", "an external label with an empty value")
    for limit in meta.max_name_len, meta.max_value_len:
        must(18 <= limit <= MAX_SYMBOL_LEN, "meta-policy", "a limit of %d", limit)
    return meta, Origins(parents, ancestors, external_labels, annotations)


METRIC_WORDS = {
    "type": ("unknown", "gauge", "sum", "histogram", "exponential-histogram", "summary", "gauge-histogram", "info",
             "state-set"),
    "temporality": ("unspecified", "delta", "cumulative"),
    "monotonic": ("not-monotonic", "monotonic"),
}


def read_metrics(canonical, section):
    """The rows of metric metadata with their texts and words: METRICS.md."""
    must(len(section) >= METRICS.size, "metric-header", "%d bytes", len(section))
    header = METRICS.read(section)
    must(header.row_count > 0, "metric-header", "there are no rows")
    canonical(header.reserved == 0, "metric-padding", "reserved %d", header.reserved)
    counts = {kind: getattr(header, kind + "_count") for kind in METRIC_RECORDS}
    arrays, texts_start = place_records(header, METRICS.size, METRIC_RECORDS, counts, "metric-header", METRIC_RECORDS)
    texts_start += CLOSING
    must(texts_start <= len(section), "metric-length", "%d bytes, and texts start at %d", len(section), texts_start)
    front = section[:texts_start]
    records = read_records(canonical, front, arrays, "metric-widths", "metric-padding")
    check_closing(canonical, front, "metric-padding")

    ends = [0] + [record.end for record in records["text"]]
    length = texts_start + ends[-1]
    must(len(section) == length, "metric-length", "%d bytes instead of %d", len(section), length)
    for i, (start, end) in enumerate(zip(ends, ends[1:])):
        sound = start < end <= start + MAX_METRIC_TEXT_LEN
        must(sound, "metric-text-ends", "text %d at %d ends at %d", i, start, end)
    texts = texts_in(section[texts_start:], ends, "metric-text-order", "metric-text-utf8")

    rows, texts = records["row"], [b""] + texts
    for i, row in enumerate(rows):
        sound = 0 < row.name < len(texts) and max(row.unit, row.description) < len(texts)
        must(sound, "metric-values", "row %d has texts %d, %d and %d", i, row.name, row.unit, row.description)
    must(increasing(rows), "metric-order", "rows in another order")
    used = {0}.union(*((row.name, row.unit, row.description) for row in rows))
    canonical(len(used) == len(texts), "metric-text-used", "%d texts, %d used", len(texts) - 1, len(used) - 1)

    def word(row, name):
        number, words = getattr(row, name), METRIC_WORDS[name]
        return words[number] if number < len(words) else "unknown-%d" % number

    return [(texts[row.name], [word(row, name) for name in METRIC_WORDS], texts[row.unit], texts[row.description])
            for row in rows]


def find_metrics(canonical, data, header, directory):
    """The rows of metric metadata, or None if there is no such section. Only an archive can have a packed one."""
    kinds = (PLAIN_METRICS, PACKED_METRICS) if header.incompat & ARCHIVE else (PLAIN_METRICS,)
    entries = [entry for entry in directory if entry.kind in kinds]
    if not entries:
        return None
    last, sound = entries[-1], len(entries) == 1 and entries[0].id == 0
    must(sound or last.kind == PLAIN_METRICS, "packed-header", "id %d, %d sections", last.id, len(entries))
    must(sound, "metric-header", "id %d, %d sections", last.id, len(entries))
    content = bytes_of(data, last)
    return read_metrics(canonical, read_packed(content) if last.kind == PACKED_METRICS else content)


# ---- COLUMNS.md -----------------------------------------------------------------------------------------------------

I64, U64, BYTES = 1, 2, 3
VALUE_TYPES = {I64: "i64", U64: "u64", BYTES: "bytes"}
MERGES = {0: ("drop", (I64, U64, BYTES)), 1: ("same", (I64, U64, BYTES)), 2: ("min", (I64, U64, BYTES)),
          3: ("max", (I64, U64, BYTES)), 4: ("sum", (I64, U64)), 5: ("or", (U64,)), 6: ("newest", (I64, U64, BYTES))}
MAX_UNIT = {I64: (1 << 63) - 1, U64: (1 << 64) - 1, BYTES: 1}
SeriesColumn = namedtuple("SeriesColumn", "name type merge unit values")


def read_group(canonical, group, rows, body):
    """The numbers of a group, None for those that are absent."""
    count = group.exception_count
    exceptions = list(body[:count])
    must(increasing(exceptions) and all(row < rows for row in exceptions), "value-groups", "exceptions %s", exceptions)
    rows_at = 8 * count + count * group.exception_width
    codes = {row: field(body, 8 * count + i * group.exception_width, group.exception_width)
             for i, row in enumerate(exceptions)}
    for row in range(rows):
        number = field(body, rows_at + row * group.width, group.width)
        if row in codes:
            canonical(number == 0, "value-padding", "row %d is an exception and has a field", row)
        else:
            codes[row] = group.common + number
            must(codes[row] < 1 << 64, "value-range", "a code of %d", codes[row])
    check_padding(canonical, body, rows_at + rows * group.width, "value-padding")
    base = group.base_low | group.base_high << 32
    if group.has_absent:
        return [base + codes[row] - 1 & (1 << 64) - 1 if codes[row] else None for row in range(rows)]
    return [base + codes[row] & (1 << 64) - 1 for row in range(rows)]


def read_numbers(canonical, section, start, allowed, rule):
    """The numbers of a number array that starts at byte `start`, and where it ends. `allowed` has their counts."""
    must(len(section) >= start + NUMBERS.size, "value-header", "%d bytes", len(section))
    header = NUMBERS.read(section, start)
    for size, (name, limit) in zip(header.group_widths, GROUP_RECORDS["group"].items()):
        must(size <= limit, "value-header", "width %d of group %s", size, name)
    group_count, at = -(-header.count // VALUE_GROUP), start + NUMBERS.size
    groups_at = at + whole_bytes(group_count * sum(header.group_widths))
    end = groups_at + header.groups_len + CLOSING
    must(end <= len(section), "value-length", "%d bytes, and an array ends at %d", len(section), end)
    must(header.count in allowed, rule, "%d numbers", header.count)
    array = "group", group_count, header.group_widths, at
    records = read_records(canonical, section, [array], "value-widths", "value-padding")["group"]
    numbers, next_start = [], 0
    for g, group in enumerate(records):
        rows = min(VALUE_GROUP, header.count - g * VALUE_GROUP)
        must(max(group.width, group.exception_width) <= 64, "value-groups", "widths of group %d", g)
        must(group.exception_count <= rows, "value-groups", "%d exceptions in group %d", group.exception_count, g)
        must(group.start == next_start, "value-groups", "group %d starts at %d, not %d", g, group.start, next_start)
        bits = group.exception_count * group.exception_width + rows * group.width
        next_start += group.exception_count + whole_bytes(bits)
        must(next_start <= header.groups_len, "value-groups", "group %d ends at %d", g, next_start)
        numbers += read_group(canonical, group, rows, section[groups_at + group.start:groups_at + next_start])
    must(next_start == header.groups_len, "value-groups", "%d bytes of groups", header.groups_len)
    check_closing(canonical, section[:end], "value-padding")
    return numbers, end


def read_texts(canonical, section, start, numbers):
    """The values that numbers of texts stand for."""
    starts, end = read_numbers(canonical, section, start, range(1, len(numbers) + 2), "value-texts")
    sound = None not in starts and starts[0] == 0 and end + starts[-1] == len(section)
    must(sound, "value-texts", "texts start at %s", starts)
    for i, (text_start, text_end) in enumerate(zip(starts, starts[1:])):
        must(text_start <= text_end <= text_start + MAX_VALUE_LEN, "value-texts", "text %d ends at %d", i, text_end)
    texts = [section[end + a:end + b] for a, b in zip(starts, starts[1:])]
    used = 0
    for number in numbers:
        if number is not None:
            must(number < len(texts), "value-range", "text %d of %d", number, len(texts))
            is_next = number == used and (used == 0 or texts[number] != texts[used - 1])
            canonical(number == used - 1 or is_next, "value-texts-used", "text %d after %d", number, used)
            used += is_next
    canonical(used == len(texts), "value-texts-used", "%d texts, %d used", len(texts), used)
    return [None if number is None else texts[number] for number in numbers]


def read_column(canonical, section, series_count):
    must(len(section) >= SERIES_COLUMN.size, "value-header", "%d bytes", len(section))
    header = SERIES_COLUMN.read(section)
    values_at = SERIES_COLUMN.size + header.name_len
    must(len(section) >= values_at, "value-header", "%d bytes end inside the name", len(section))
    name = section[SERIES_COLUMN.size:values_at]
    must_be_utf8(name, "value-name", "the name")
    must(1 <= len(name) <= MAX_COLUMN_NAME_LEN, "value-name", "a name of %d bytes", len(name))
    must(header.value_type in VALUE_TYPES and header.merge in MERGES, "value-header", "type %d", header.value_type)
    must(header.value_type in MERGES[header.merge][1], "value-header", "merge %d of type %d", header.merge, header.value_type)
    must(1 <= header.unit <= MAX_UNIT[header.value_type], "value-header", "unit %d", header.unit)
    canonical(header.reserved == 0, "value-padding", "reserved %d", header.reserved)
    numbers, end = read_numbers(canonical, section, values_at, (series_count,), "value-count")
    if header.value_type == BYTES:
        values = read_texts(canonical, section, end, numbers)
    else:
        must(end == len(section), "value-length", "%d bytes instead of %d", len(section), end)
        least, most = (-(1 << 63), (1 << 63) - 1) if header.value_type == I64 else (0, (1 << 64) - 1)
        wrap = 1 << 64 if header.value_type == I64 else 0
        values = [None if n is None else header.unit * (n - (wrap if n >> 63 else 0)) for n in numbers]
        must(all(least <= value <= most for value in values if value is not None), "value-range", "a value of the type")
    return SeriesColumn(name, VALUE_TYPES[header.value_type], MERGES[header.merge][0], header.unit, values)


def read_columns(canonical, data, directory, series_count):
    """The series columns, in the order of their names."""
    entries = [entry for entry in directory if entry.kind == COLUMN_KIND]
    ids = [entry.id for entry in entries]
    must(ids == list(range(len(ids))), "value-name", "columns have the ids %s", ids)
    columns = [read_column(canonical, bytes_of(data, entry), series_count) for entry in entries]
    must(increasing([column.name for column in columns]), "value-name", "columns in another order")
    return columns


def check_policy(block):
    for name, dictionary in zip(block.keys, block.tables):
        must(len(block.symbols[name]) <= block.meta.max_name_len, "policy-kept", "symbol %d", name)
        for code in dictionary.codes(dictionary.columns[0]):
            must(len(block.symbols[code]) <= block.meta.max_value_len, "policy-kept", "symbol %d", code)


def check_counts(block):
    series = [keyset.series_end - keyset.series_start for keyset in block.keysets]
    labels = [count * len(keyset.table.keys) for count, keyset in zip(series, block.keysets)]
    must(block.meta.series_count == sum(series), "meta-counts", "series_count should be %d", sum(series))
    must(block.meta.label_count == sum(labels), "meta-counts", "label_count should be %d", sum(labels))


# ---- Section 11: identity -------------------------------------------------------------------------------------------

P = (1 << 61) - 1
MASK = (1 << 64) - 1


def sip(key, data):
    """SipHash-2-4 with 64-bit output."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1, v2, v3 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    data += bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(data) + 8, 8):  # the last eight are none
        word, is_last = int.from_bytes(data[at:at + 8], "little"), at == len(data)
        v2 ^= 255 if is_last else 0
        v3 ^= word
        for _ in range(4 if is_last else 2):
            v0 = v0 + v1 & MASK
            v1 = (v1 << 13 & MASK | v1 >> 51) ^ v0
            v0 = v0 << 32 & MASK | v0 >> 32
            v2 = v2 + v3 & MASK
            v3 = (v3 << 16 & MASK | v3 >> 48) ^ v2
            v0 = v0 + v3 & MASK
            v3 = (v3 << 21 & MASK | v3 >> 43) ^ v0
            v2 = v2 + v1 & MASK
            v1 = (v1 << 17 & MASK | v1 >> 47) ^ v2
            v2 = v2 << 32 & MASK | v2 >> 32
        v0 ^= word
    return v0 ^ v1 ^ v2 ^ v3


def label_hash(j, name, value):
    """h_j(name, value)"""
    return 1 + sip(b"chronoxide.fpr.%d" % j, struct.pack("<Q", len(name)) + name + value) % (P - 1)


def row_products(block, j):
    """For each table and row, the product over its labels without those of a list column."""
    products = []
    for table in block.tables:
        if table.kind == "dictionary":
            name = block.symbols[block.keys[table.number]]
            values = (block.symbols[table.code(row, table.columns[0])] for row in range(table.row_count))
            products.append([label_hash(j, name, value) for value in values])
            continue
        constant = 1
        for column in table.columns:
            if not column.width and not column.pool:
                constant = constant * products[column.table.number][column.base] % P
        rows = [constant] * table.row_count
        for column in table.columns:
            if column.width and not column.pool:
                factors = products[column.table.number]
                rows = [product * factors[code] % P for product, code in zip(rows, table.codes(column))]
        products.append(rows)
    return products


def fingerprint(block, j):
    """The sum over all series of the product over their labels; a list is summed once and not for each row."""
    products = row_products(block, j)
    sums = [[sum(products[pool.table.number][row] for row in rows) % P for rows in pool.lists] for pool in block.pools]
    total = 0
    for keyset in block.keysets:
        table, column = keyset.table, keyset.table.list_column()
        for row, product in enumerate(products[table.number]):
            total += product * sums[column.pool.number][table.code(row, column)] if column else product
    return total % P


def block_id(data, directory, meta):
    material = [data[8:24]]
    for entry in directory:
        value = sip(b"chronoxide.sec.0", bytes_of(data, entry))
        material.append(struct.pack("<IIQQ", entry.kind, entry.id, entry.length, value))
    known = meta.flags & TIME_KNOWN and meta.time_start > 0
    milliseconds = meta.time_start // 1000000 if known else 0
    one, two = (sip(b"chronoxide.bid.%d" % i, b"".join(material)) for i in (1, 2))
    return milliseconds.to_bytes(6, "big") + one.to_bytes(8, "big") + (two >> 48).to_bytes(2, "big")


def block_id_text(value):
    """The 26 characters of a ULID."""
    number = int.from_bytes(value, "big")
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number >> shift & 31] for shift in range(125, -1, -5))


def shard_of(value, count):
    """Which of `count` shards, from 0, has the series with this value of the label by which they are spread."""
    return sip(b"chronoxide.shd.0", value) % count


# Section 12 speaks to those who write blocks and look for labels; what it asks of a block is `check_policy`.


class Block:
    """A sound block. Each step may rely on the rules of class R that those before it have checked. `form` is the first
    rule of class C that is broken, or None. They are not judged if the block has an unknown bit in `ro_compat`."""

    def __init__(self, data):
        self.header = read_header(data)
        self.unknown_ro_compat = self.header.ro_compat & ~KNOWN_RO_COMPAT
        self.form = None

        def canonical(condition, rule, reason, *values):
            if not (condition or self.form or self.unknown_ro_compat):
                self.form = Broken(rule, reason % values)

        self.directory = read_directory(data, self.header)
        self.chunk_count, self.checks_offset = check_checksums(data, self.header, self.directory)
        section = {SECTIONS.get(entry.kind): bytes_of(data, entry) for entry in self.directory}
        self.meta, self.origins = read_meta(canonical, section["meta"])
        catalogue, records, shapes = read_catalogue(canonical, section["catalogue"])

        packed = section.get("packed-arena")
        self.packed_len = None if packed is None else len(packed)
        self.arena = section["arena"] if packed is None else read_packed(packed)
        self.symbols = read_symbols(canonical, section["symbols"], self.arena, packed is not None)
        self.keys = [record.name for record in records["key"]]  # symbol ids
        check_keys(self.keys, self.symbols)
        self.tables = read_tables(canonical, catalogue, records, shapes, section["rows"])
        row_form = self.meta.row_form
        self.pools, pools_end = read_pools(canonical, records, self.tables, section["members"], row_form)
        for table in self.tables:
            find_domains(table, self.tables, self.pools)
            find_leaves(canonical, table)
            check_rows(canonical, table, self.symbols, row_form)
        for pool in self.pools:
            read_lists(canonical, pool, section["members"])
        check_used(canonical, self)
        self.keysets = read_keysets(canonical, records, self.tables, section["members"], pools_end)

        check_policy(self)
        check_counts(self)
        for j, stated in (1, self.meta.fingerprint_1), (2, self.meta.fingerprint_2):
            right = fingerprint(self, j)
            must(right == stated, "fingerprint", "fingerprint_%d should be %d", j, right)
        self.metrics = find_metrics(canonical, data, self.header, self.directory)
        self.columns = read_columns(canonical, data, self.directory, self.meta.series_count)
        right = block_id(data, self.directory, self.meta)
        must(self.header.block_id == right, "block-id", "it should be %s", block_id_text(right))


def verified(data):
    """The block, if it breaks no rule of either class."""
    block = Block(data)
    if block.form:
        raise block.form
    return block


# ---- Section 13: dump -----------------------------------------------------------------------------------------------

ESCAPED = re.compile('["\\\\\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff'
                     '\ufff9-\ufffb]')


def quoted(data):
    def escape(match):
        character = match.group()
        return "\\" + character if character in '"\\' else "\\u%04x" % ord(character)
    return '"' + ESCAPED.sub(escape, data.decode("utf-8")) + '"'


def dump(block):
    """The lines of the dump."""
    header, symbols = block.header, block.symbols
    names = [quoted(symbols[name]) for name in block.keys]
    yield "block %s" % block_id_text(header.block_id)
    yield "format %d.%d" % (header.major, header.minor)
    yield "features incompat=%d ro_compat=%d compat=%d" % (header.incompat, header.ro_compat, header.compat)
    yield "file %d bytes" % header.file_len
    yield "sections %d" % header.section_count
    for entry in block.directory:
        name = SECTIONS.get(entry.kind, "optional-%d" % entry.kind)
        yield "  %s %d offset %d length %d" % (name, entry.id, entry.offset, entry.length)
    if block.packed_len is not None:
        yield "arena %d bytes packed into %d" % (len(block.arena), block.packed_len)
    yield "checks %d offset %d" % (block.chunk_count, block.checks_offset)
    yield from dump_meta(block.meta, block.origins)
    yield "symbols %d" % len(symbols)
    for i, symbol in enumerate(symbols):
        yield "  %d %s" % (i, quoted(symbol))
    yield "keys %d" % len(names)
    for k, name in enumerate(names):
        yield "  %d %s values %d" % (k, name, block.tables[k].row_count)
    yield "tables %d" % len(block.tables)
    for table in block.tables:
        yield from dump_table(table, symbols)
    yield "pools %d" % len(block.pools)
    for p, pool in enumerate(block.pools):
        yield "  pool %d table %d lists %d members %d low %d" % (
            p, pool.table.number, pool.list_count, pool.member_count, pool.low_width)
        for i, rows in enumerate(pool.lists):
            yield "    list %d %s" % (i, " ".join(map(str, rows)))
    yield "keysets %d" % len(block.keysets)
    for s, keyset in enumerate(block.keysets):
        place = s, keyset.table.number, keyset.series_start, keyset.series_end
        yield "  keyset %d table %d series %d %d keys " % place + " ".join(names[key] for key in keyset.table.keys)
        for anchor in keyset.anchors:
            yield "    anchor %d %d" % anchor
    yield "series %d" % block.meta.series_count
    for ref, labels in enumerate(itertools.chain.from_iterable(keyset.series() for keyset in block.keysets)):
        yield "  %d %s" % (ref, " ".join("%s=%s" % (names[key], quoted(symbols[value])) for key, value in labels))
    if block.metrics is not None:
        yield "metrics %d" % len(block.metrics)
        for i, (name, words, unit, description) in enumerate(block.metrics):
            yield "  %d %s " % (i, quoted(name)) + " ".join([*words, quoted(unit), quoted(description)])
    if block.columns:
        yield "columns %d" % len(block.columns)
    for c, column in enumerate(block.columns):
        yield "  column %d %s %s %s unit %d" % (c, quoted(column.name), column.type, column.merge, column.unit)
        for ref, value in enumerate(column.values):
            shown = "-" if value is None else "0x" + value.hex() if isinstance(value, bytes) else value
            yield "    %d %s" % (ref, shown)


def dump_meta(meta, origins):
    yield "meta"
    yield "  series %d" % meta.series_count
    yield "  labels %d" % meta.label_count
    yield "  fingerprint %016x %016x" % (meta.fingerprint_1, meta.fingerprint_2)
    yield "  time %d %d" % (meta.time_start, meta.time_end) if meta.flags & TIME_KNOWN else "  time unknown"
    yield "  window %d %d" % (meta.window_start, meta.window_end) if meta.flags & WINDOW_KNOWN else "  window unknown"
    job = "%s %d %d" % (meta.job_id.hex(), meta.job_output, meta.job_output_count)
    yield "  job %s" % (job if meta.job_output_count else "none")
    for name, ids in ("parent", origins.parents), ("ancestor", origins.ancestors):
        yield from ("  %s %s" % (name, block_id_text(value)) for value in ids)
    for name, pairs in ("external", origins.external_labels), ("annotation", origins.annotations):
        yield from ("  %s %s %s" % (name, quoted(key), quoted(value)) for key, value in pairs)
    yield "  policy %d %d" % (meta.max_name_len, meta.max_value_len)
    yield "  planner %d" % meta.planner_version
    forms = {FIXED_WIDTH: "fixedwidth", BIT_PACKED: "bitpacked"}
    yield "  rows %s" % forms.get(meta.row_form, "unknown-%d" % meta.row_form)


def dump_table(table, symbols):
    yield "  table %d %s rows %d bits %d" % (table.number, table.kind, table.row_count, table.row_bits)
    for c, column in enumerate(table.columns):
        domain = ("pool %d" % column.pool.number if column.pool else
                  "table %d" % column.table.number if column.table else "symbols")
        yield "    column %d %s base %d bits %d" % (c, domain, column.base, column.width)
    for i in range(table.leaf_count):  # of a single column, leaf i is leaf i of its domain
        yield "    leaf %d column %d position %d" % (i, *(table.leaves[i] if table.leaves else (0, i)))
    for row in range(table.row_count):
        codes = [table.code(row, column) for column in table.columns]
        value = " " + quoted(symbols[codes[0]]) if table.kind == "dictionary" else ""
        yield "    row %d %s%s" % (row, " ".join(map(str, codes)), value)


# ---- Command --------------------------------------------------------------------------------------------------------


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("dump", "verify") or arguments[0] == "dump" and len(arguments) > 2:
        print("usage: decoder.py dump block.cx | decoder.py verify block.cx...", file=sys.stderr)
        return 2
    codes = {0}
    for path in arguments[1:]:
        try:
            with open(path, "rb") as file:
                data = file.read()
            if arguments[0] == "dump":
                for line in dump(Block(data)):
                    sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
                continue
            unknown = verified(data).unknown_ro_compat
            if unknown:
                note = "unknown ro_compat bits %#x; only rules of class R were checked" % unknown
                print("%s: note: %s" % (path, note), file=sys.stderr)
        except Broken as broken:
            print("%s: %s" % (path, broken), file=sys.stderr)
            codes.add(broken.exit_code)
        except OSError as error:
            print("%s: %s" % (path, error.strerror), file=sys.stderr)
            codes.add(1)
    return 3 if 3 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
