#!/usr/bin/env python3
"""A second reader of Chronoxide remaps, written from REMAP.md alone.

    python3 remap.py dump input.cxr...        prints the dump of section 9: what became of each series
    python3 remap.py verify input.cxr...      checks every rule of section 7

A remap is verified as it is read. Nothing is allocated or repeated by a count before something else has bounded it: not
the file, but its rows may stand for as many series as there are.
"""

import bisect
import struct
import sys
import zlib
from collections import namedtuple

MAGIC = b"\x89CXR\r\n\x1a\n"
VERSION = (0, 2)
KNOWN_INCOMPAT = 0
HEADER = struct.Struct("<8sHHI16s16sQIIIIIQ4s5s4s2s3s2sII")
Header = namedtuple("Header", """remap_magic major minor incompat input_id job_id file_len output_count keyset_count
    part_count pattern_count run_count row_bits group_widths keyset_widths part_widths pattern_widths run_widths
    reserved checks_checksum header_checksum""")
OUTPUT = struct.Struct("<16sQ")
UNSUPPORTED = {"version", "incompat-features"}

# The fields of the records, each with the most bits that it may have.
RECORDS = {
    "group": {"series_start": 32, "rows": 48, "part_start": 32, "floor": 48},
    "keyset": {"series": 32, "row_len": 32, "pattern": 32, "pattern_width": 6, "part_count": 32},
    "part": {"least_base": 48, "base_width": 6, "width": 6, "summed": 1},
    "pattern": {"length": 32, "run_end": 32},
    "run": {"start": 32, "part": 32, "place": 48},
}
RECORD_TYPES = {kind: namedtuple(kind, fields) for kind, fields in RECORDS.items()}
GROUP_KEYSETS = 8
SLICE_ROWS = 16
CHUNK_LEN = 8192
CLOSING = 8  # zero bytes after the rows


class Broken(Exception):
    """A rule of section 7 that the remap breaks."""

    def __init__(self, rule, reason):
        super().__init__("%s: %s" % (rule, reason))
        self.rule = rule
        self.exit_code = 4 if rule in UNSUPPORTED else 3


def must(condition, rule, reason="broken"):
    if not condition:
        raise Broken(rule, reason)


def crc(*parts):
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def whole_bytes(bits):
    return (bits + 7) // 8


def block_id_text(value):
    """The 26 characters of a ULID."""
    number = int.from_bytes(value, "big")
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number >> shift & 31] for shift in range(125, -1, -5))


class Stream:
    """A bit stream, whose bits count from bit `base` of the data. `bit` is where the next field starts."""

    def __init__(self, data, base=0):
        self.data, self.base, self.bit = data, base, 0

    def take(self, width):
        start = self.base + self.bit
        self.bit += width
        load = int.from_bytes(self.data[start // 8:whole_bytes(start + width)], "little")
        return load >> start % 8 & (1 << width) - 1


def read_header(data):
    """Checks the rules in the order of section 2."""
    must(data[:len(MAGIC)] == MAGIC, "magic", "not a remap")
    must(len(data) >= HEADER.size, "file-len", "the file ends inside the header")
    header = Header._make(HEADER.unpack_from(data))
    must(crc(data[:HEADER.size - 4]) == header.header_checksum, "header-checksum", "the header is damaged")
    must((header.major, header.minor) == VERSION, "version", "version %d.%d" % (header.major, header.minor))
    must(header.incompat & ~KNOWN_INCOMPAT == 0, "incompat-features", "unknown features %#x" % header.incompat)
    must(header.file_len == len(data), "file-len", "%d bytes instead of %d" % (len(data), header.file_len))
    for kind, limits in RECORDS.items():
        for width, (name, limit) in zip(getattr(header, kind + "_widths"), limits.items()):
            must(width <= limit, "header", "width %d of %s %s" % (width, kind, name))
    must(header.row_bits < 1 << 48 and header.reserved == bytes(2), "header", "row_bits or reserved")
    return header


def check_chunks(data, header, end):
    """Section 6. The checks start at `end`."""
    checks, place = data[end:], (header.input_id, header.job_id)
    must(crc(*place, b"\xff" * 8, checks) == header.checks_checksum, "checks-checksum", "the checks are damaged")
    for n, start in enumerate(range(0, end, CHUNK_LEN)):
        chunk = data[max(start, HEADER.size):min(start + CHUNK_LEN, end)]
        right = crc(*place, struct.pack("<Q", n), chunk)
        must(checks[4 * n:4 * n + 4] == struct.pack("<I", right), "chunk-checksum", "chunk %d is damaged" % n)


def read_records(data, kind, count, widths):
    record_type = RECORD_TYPES[kind]
    stream = Stream(data)
    records = [record_type._make([stream.take(width) for width in widths]) for _ in range(count)]
    for i, name in enumerate(record_type._fields):
        right = max((record[i] for record in records), default=0).bit_length()
        must(widths[i] == right, "record-widths", "width %d of %s %s, not %d" % (widths[i], kind, name, right))
    must(stream.take(-stream.bit % 8) == 0, "padding", "after %s records" % kind)
    return records


class Pattern:
    """The runs of a pattern as (start, end, part, place), and for each part the least and largest place in its runs."""

    def __init__(self, length, runs):
        must(length > 0, "patterns", "a pattern without series")
        must(runs[0].start == 0, "runs", "the first starts at %d" % runs[0].start)
        self.length, self.runs, self.spans = length, [], {}
        for before, after in zip(runs, runs[1:]):
            must(before.start < after.start < length, "runs", "a run starts at %d" % after.start)
            continued = before.place + after.start - before.start if before.part else 0
            must((before.part, continued) != (after.part, after.place), "runs", "a run continues the one before it")
        for run, end in zip(runs, [run.start for run in runs[1:]] + [length]):
            must(run.part or not run.place, "runs", "part 0 has place %d" % run.place)
            self.runs.append((run.start, end, run.part, run.place))
            if run.part:
                last = run.place + end - run.start - 1
                low, high = self.spans.get(run.part, (run.place, last))
                self.spans[run.part] = min(low, run.place), max(high, last)


class Keyset:
    """A keyset with its rows, as (series of the keyset before it, pattern, shifts of the parts that have bits). Rows
    that take no bits are all alike: only the first and the last are in `rows`. `seen` patterns occur up to its end."""

    def __init__(self, record, parts, floor, patterns, seen, stream, row_bits):
        self.series, self.row_len = record.series, record.row_len
        self.least_shifts = [floor + part.least_base for part in parts]
        self.varying = {n: part for n, part in enumerate(parts) if part.base_width or part.width}
        self.alike = self.row_len > 0 and not record.pattern_width and not self.varying
        self.rows = []
        series_width = self.series.bit_length()
        must(record.pattern_width <= 32, "row-fields", "pattern_width %d" % record.pattern_width)
        for part in parts:
            must(part.base_width <= 48 and part.width <= 48, "row-fields", "width of a part")
            must(part.width or not part.summed, "row-fields", "sums of nothing")
        row_count = self.series // self.row_len if self.row_len else stream.take(series_width)
        must(row_count > 0, "row-lengths", "there are no rows")
        must(not self.row_len or self.series % self.row_len == 0, "row-lengths", "row_len %d" % self.row_len)

        bases, fields, sums = ({n: [] for n in self.varying} for _ in range(3))
        numbers, lengths, place = set(), set(), 0
        rows = range(row_count)
        for row in rows[:1] if self.alike else rows:
            if row % SLICE_ROWS == 0:
                if not self.row_len:
                    must(stream.take(series_width) == place, "row-lengths", "series before row %d" % row)
                for n, part in self.varying.items():
                    bases[n].append(stream.take(part.base_width))
                    fields[n].append([])
                    sums[n] = 0
            number = record.pattern + stream.take(record.pattern_width)
            shifts = {}
            for n, part in self.varying.items():
                value = stream.take(part.width)
                fields[n][-1].append(value)
                sums[n] = sums[n] + value if part.summed else value
                shifts[n] = self.least_shifts[n] + bases[n][-1] + sums[n]
            must(stream.bit <= row_bits, "keyset-rows", "rows end at bit %d of %d" % (stream.bit, row_bits))
            must(number <= seen and number < len(patterns), "patterns", "pattern %d behind %d others" % (number, seen))
            seen = max(seen, number + 1)
            self.rows.append((place, number, shifts))
            place += patterns[number].length
            numbers.add(number)
            lengths.add(patterns[number].length)
        if self.row_len:
            must(lengths == {self.row_len}, "row-lengths", "row_len %d" % self.row_len)
        else:
            must(place == self.series and len(lengths) > 1, "row-lengths", "rows of %d series" % place)
        self.seen = seen
        if self.alike and row_count > 1:
            self.rows.append((self.series - self.row_len, number, shifts))

        right = min(numbers), (max(numbers) - min(numbers)).bit_length()
        must((record.pattern, record.pattern_width) == right, "row-fields", "pattern or pattern_width")
        for n, part in self.varying.items():
            of_rows = [value for of_slice in fields[n] for value in of_slice]
            for values, width in (bases[n], part.base_width), (of_rows, part.width):
                must(min(values) == 0 and max(values).bit_length() == width, "row-fields", "part %d" % n)
            must(not part.base_width or not any(map(min, fields[n])), "row-fields", "base of a slice of part %d" % n)
            must(not part.summed or not any(of_slice[0] for of_slice in fields[n]), "row-fields", "sums of part %d" % n)

    def first(self, place, shifts, n):
        """The first of a row in part `n` of the keyset."""
        return shifts.get(n, self.least_shifts[n]) - self.series + place

    def check_targets(self, patterns, end):
        for place, number, shifts in self.rows:
            for part, (low, high) in patterns[number].spans.items():
                must(part <= len(self.least_shifts), "runs", "there is no part %d" % part)
                first = self.first(place, shifts, part - 1)
                must(0 <= first and first + high < end, "targets", "%d to %d" % (first + low, first + high))

    def targets(self, patterns):
        """The number of each series' target, or None."""
        rows = self.rows
        if self.alike:
            rows = ((place, *self.rows[0][1:]) for place in range(0, self.series, self.row_len))
        for place, number, shifts in rows:
            for start, end, part, run_place in patterns[number].runs:
                first = self.first(place, shifts, part - 1) + run_place if part else None
                for member in range(end - start):
                    yield first + member if part else None


class Remap:
    """A sound remap."""

    def __init__(self, data):
        self.header = header = read_header(data)
        counts = {kind: getattr(header, kind + "_count") for kind in RECORDS if kind != "group"}
        counts["group"] = -(-header.keyset_count // GROUP_KEYSETS)
        at, places = HEADER.size + OUTPUT.size * header.output_count, {}
        for kind in RECORDS:
            widths = getattr(header, kind + "_widths")
            length = whole_bytes(counts[kind] * sum(widths))
            must(counts[kind] <= 1 or sum(widths), "record-widths", "%s records without a bit" % kind)
            places[kind] = at, length, counts[kind], widths
            at += length
        end = at + whole_bytes(header.row_bits) + CLOSING
        length = end + 4 * -(-end // CHUNK_LEN)
        must(length == len(data), "length", "%d bytes instead of %d" % (len(data), length))
        check_chunks(data, header, end)
        must(int.from_bytes(data[at + header.row_bits // 8:end], "little") >> header.row_bits % 8 == 0, "padding")

        self.outputs = [OUTPUT.unpack_from(data, HEADER.size + OUTPUT.size * n) for n in range(header.output_count)]
        self.check_outputs()
        records = {kind: read_records(data[start:start + length], kind, count, widths)
                   for kind, (start, length, count, widths) in places.items()}
        self.patterns = list(self.read_patterns(records["pattern"], records["run"]))
        self.keysets = list(self.read_keysets(records, Stream(data, 8 * at)))

    def check_outputs(self):
        before = 0
        for _, end in self.outputs:
            must(before <= end < min(before + (1 << 32), 1 << 47), "outputs", "series end at %d" % end)
            before = end

    def read_patterns(self, records, runs):
        start = 0
        for length, end in records:
            must(start < end <= len(runs), "patterns", "runs end at %d, not after %d" % (end, start))
            yield Pattern(length, runs[start:end])
            start = end
        must(start == len(runs), "patterns", "runs end at %d of %d" % (start, len(runs)))

    def read_keysets(self, records, stream):
        parts, groups, row_bits = records["part"], records["group"], self.header.row_bits
        series_end = self.outputs[-1][1] if self.outputs else 0
        series_start = part_start = seen = floor = 0
        for s, record in enumerate(records["keyset"]):
            if s % GROUP_KEYSETS == 0:
                group = groups[s // GROUP_KEYSETS]
                floor = group.floor
                starts = series_start, part_start
                must((group.series_start, group.part_start) == starts, "groups", "starts of a group")
                must(group.rows == stream.bit, "keyset-rows", "rows of a group at %d" % stream.bit)
                part_count = sum(keyset.part_count for keyset in records["keyset"][s:s + GROUP_KEYSETS])
                least = min((part.least_base for part in parts[part_start:part_start + part_count]), default=1)
                must(least == 1 and (part_count or not floor), "groups", "least_base or floor")
            part_end = part_start + record.part_count
            must(record.series and series_start + record.series < 1 << 32, "keysets", "series of keyset %d" % s)
            must(part_end <= len(parts), "keysets", "parts of keyset %d" % s)
            keyset = Keyset(record, parts[part_start:part_end], floor, self.patterns, seen, stream, row_bits)
            seen = keyset.seen
            keyset.check_targets(self.patterns, series_end)
            yield keyset
            series_start, part_start = series_start + record.series, part_end
        must(part_start == len(parts), "keysets", "parts end at %d of %d" % (part_start, len(parts)))
        must(stream.bit == row_bits, "keyset-rows", "rows end at bit %d of %d" % (stream.bit, row_bits))
        must(seen == len(self.patterns), "patterns", "%d of %d occur" % (seen, len(self.patterns)))

    def targets(self):
        """What became of each series: an output and a series ref in it, or None."""
        ends = [0] + [end for _, end in self.outputs]
        for keyset in self.keysets:
            for number in keyset.targets(self.patterns):
                output = bisect.bisect_right(ends, number) - 1 if number is not None else None
                yield None if number is None else (output, number - ends[output])

    def dump(self):
        """The lines of section 9."""
        header = self.header
        yield "remap %s" % block_id_text(header.input_id)
        yield "format %d.%d" % (header.major, header.minor)
        yield "file %d bytes" % header.file_len
        yield "job %s" % (header.job_id.hex() if any(header.job_id) else "none")
        yield "outputs %d" % len(self.outputs)
        before = 0
        for number, (output_id, end) in enumerate(self.outputs):
            yield "  %d %s series %d" % (number, block_id_text(output_id), end - before)
            before = end
        yield "series %d" % sum(keyset.series for keyset in self.keysets)
        for ref, target in enumerate(self.targets()):
            yield "  %d %s" % (ref, "gone" if target is None else "%d %d" % target)


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("dump", "verify"):
        print("usage: remap.py dump|verify input.cxr...", file=sys.stderr)
        return 2
    code = 0
    for path in arguments[1:]:
        try:
            with open(path, "rb") as file:
                remap = Remap(file.read())
        except Broken as broken:
            print("%s: %s" % (path, broken), file=sys.stderr)
            code = max(code, broken.exit_code)
            continue
        except OSError as error:
            print("%s: %s" % (path, error.strerror), file=sys.stderr)
            code = max(code, 1)
            continue
        if arguments[0] == "dump":
            for line in remap.dump():
                print(line)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
