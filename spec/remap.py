#!/usr/bin/env python3
"""A second reader of remaps, written from REMAP.md alone: `remap.py dump input.cxr` prints what became of each series, `remap.py verify` says nothing or what is wrong."""

import struct
import sys
import zlib

MAGIC = b"\x89CXR\r\n\x1a\n"
HEADER = struct.Struct("<8sHHI16s16sQIIIIQ4s5s4s2s3s2sII")
GROUP_ROWS = 16
GROUP_KEYSETS = 8
CHUNK_LEN = 8192


class Broken(Exception):
    def __init__(self, rule, message):
        super().__init__("%s: %s" % (rule, message))
        self.rule = rule
        self.exit_code = 4 if rule == "version" else 3


def must(condition, rule, message="broken"):
    if not condition:
        raise Broken(rule, message)


def crc(*parts):
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def block_id_text(value):
    """The 26 characters of a ULID."""
    number = int.from_bytes(value, "big")
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number >> shift & 31] for shift in range(125, -1, -5))


class Stream:
    """A bit stream as one large number."""

    def __init__(self, data, base):
        self.data, self.base = data, base

    def get(self, bit, width):
        bit += self.base
        start, end = bit // 8, -(-(bit + width) // 8)
        return int.from_bytes(self.data[start:end], "little") >> bit % 8 & (1 << width) - 1


class Remap:
    def __init__(self, data):
        must(data[:8] == MAGIC, "magic")
        must(len(data) >= HEADER.size, "file-len")
        (_, major, minor, outputs, self.input_id, self.job_id, file_len, keysets, parts, patterns, runs, row_bits,
         group_widths, keyset_widths, part_widths, pattern_widths, run_widths, reserved, checks_checksum,
         header_checksum) = HEADER.unpack_from(data)
        must((major, minor) == (0, 1), "version")
        must(crc(data[:HEADER.size - 4]) == header_checksum, "header-checksum")
        must(file_len == len(data), "file-len")
        self.file_len = file_len
        wide = (group_widths[1], group_widths[3], part_widths[0], run_widths[2])
        small = (keyset_widths[3], part_widths[1], part_widths[2])
        rest = (group_widths[0], group_widths[2], *keyset_widths[:3], keyset_widths[4], *pattern_widths, *run_widths[:2])
        must(max(wide) <= 48 and max(small) <= 6 and max(rest) <= 32 and part_widths[3] <= 1, "header")
        must(row_bits < 1 << 48 and reserved == bytes(2), "header")
        arrays = ((-(-keysets // GROUP_KEYSETS), group_widths), (keysets, keyset_widths), (parts, part_widths),
                  (patterns, pattern_widths), (runs, run_widths))
        lengths = [-(-count * sum(widths) // 8) for count, widths in arrays]
        body_len = outputs * 24 + sum(lengths) + -(-row_bits // 8) + 8
        must(HEADER.size + body_len + -(-body_len // CHUNK_LEN) * 4 == len(data), "length")
        must(all(count <= 1 or sum(widths) for count, widths in arrays), "record-widths")
        self.check(data, body_len, checks_checksum)
        self.outputs = [struct.unpack_from("<16sQ", data, HEADER.size + 24 * n) for n in range(outputs)]
        byte = HEADER.size + 24 * outputs
        records = []
        for (count, widths), length in zip(arrays, lengths):
            records.append(self.records(data[byte:byte + length], count, widths))
            byte += length
        self.groups, self.keysets, self.parts, self.patterns, self.runs = records
        self.rows = Stream(data, byte * 8)
        self.row_bits = row_bits
        tail = data[byte + row_bits // 8:HEADER.size + body_len]
        must(int.from_bytes(tail, "little") >> row_bits % 8 == 0, "padding")
        self.targets = list(self.read())

    def check(self, data, body_len, checks_checksum):
        body, checks = data[HEADER.size:HEADER.size + body_len], data[HEADER.size + body_len:]
        must(crc(self.input_id, self.job_id, b"\xff" * 8, checks) == checks_checksum, "checks-checksum")
        for n, start in enumerate(range(0, len(body), CHUNK_LEN)):
            chunk = crc(self.input_id, self.job_id, struct.pack("<Q", n), body[start:start + CHUNK_LEN])
            must(chunk == struct.unpack_from("<I", checks, 4 * n)[0], "chunk-checksum", "chunk %d" % n)

    @staticmethod
    def records(data, count, widths):
        stream, bit, records = Stream(data, 0), 0, []
        for _ in range(count):
            record = []
            for width in widths:
                record.append(stream.get(bit, width))
                bit += width
            records.append(record)
        most = [max(values) for values in zip(*records)] if records else [0] * len(widths)
        must([value.bit_length() for value in most] == list(widths), "record-widths")
        must(int.from_bytes(data, "little") >> bit == 0, "padding")
        return records

    def read_patterns(self):
        start = 0
        for length, end in self.patterns:
            must(length > 0 and start < end <= len(self.runs), "patterns")
            runs = self.runs[start:end]
            must(runs[0][0] == 0, "runs")
            for before, after in zip(runs, runs[1:]):
                must(before[0] < after[0] < length, "runs")
                continued = before[2] + after[0] - before[0] if before[1] else 0
                must((before[1], continued) != (after[1], after[2]), "runs")
            must(all(part or not place for _, part, place in runs), "runs")
            yield length, runs
            start = end
        must(start == len(self.runs), "patterns")

    def read(self):
        """What became of each series: an output and a ref, or None."""
        before = 0
        for _, end in self.outputs:
            must(before <= end < min(before + (1 << 32), 1 << 47), "outputs")
            before = end
        patterns = list(self.read_patterns())
        series_start = part_start = bit = seen = base = 0
        for number, (series, row_len, pattern, pattern_width, part_count) in enumerate(self.keysets):
            if number % GROUP_KEYSETS == 0:
                before, rows, parts_before, base = self.groups[number // GROUP_KEYSETS]
                must((before, parts_before) == (series_start, part_start), "groups")
                must(rows == bit, "keyset-rows")
                of_group = self.part_range(part_start, self.keysets[number:number + GROUP_KEYSETS])
                must(min((part[0] for part in of_group), default=1) == 1 and (of_group or not base), "groups")
            must(series and series_start + series < 1 << 32 and part_start + part_count <= len(self.parts), "keysets")
            parts = self.parts[part_start:part_start + part_count]
            must(pattern_width <= 32 and all(part[1] <= 48 and part[2] <= 48 for part in parts), "row-fields")
            must(all(width or not summed for _, _, width, summed in parts), "row-fields")
            row_count = series // row_len if row_len else self.rows.get(bit, series.bit_length())
            must(row_count and (not row_len or series % row_len == 0), "row-lengths")
            bit += 0 if row_len else series.bit_length()
            place, lengths, numbers = 0, set(), []
            bases, fields, sums = [[] for _ in parts], [[] for _ in parts], [0] * len(parts)
            for row in range(row_count):
                if row % GROUP_ROWS == 0:
                    if row_len == 0:
                        must(self.rows.get(bit, series.bit_length()) == place, "row-lengths")
                        bit += series.bit_length()
                    for part, of_part, of_fields in zip(parts, bases, fields):
                        of_part.append(self.rows.get(bit, part[1]))
                        of_fields.append([])
                        bit += part[1]
                    sums = [0] * len(parts)
                numbers.append(pattern + self.rows.get(bit, pattern_width))
                bit += pattern_width
                firsts = []
                for n, (first, _, width, summed) in enumerate(parts):
                    field = self.rows.get(bit, width)
                    bit += width
                    fields[n][-1].append(field)
                    sums[n] += field
                    shift = base + first + bases[n][-1] + (sums[n] if summed else field)
                    firsts.append(shift - series + place)
                must(bit <= self.row_bits, "keyset-rows")
                must(numbers[-1] <= seen and numbers[-1] < len(patterns), "patterns")
                seen = max(seen, numbers[-1] + 1)
                length, runs = patterns[numbers[-1]]
                lengths.add(length)
                yield from self.follow(length, runs, firsts)
                place += length
            must(place == series and lengths == {row_len} if row_len else len(lengths) > 1 and place == series, "row-lengths")
            must(min(numbers) == pattern and (max(numbers) - pattern).bit_length() == pattern_width, "row-fields")
            for part, of_part, of_fields in zip(parts, bases, fields):
                all_fields = [field for group in of_fields for field in group]
                must(min(of_part) == 0 and max(of_part).bit_length() == part[1], "row-fields")
                must(min(all_fields) == 0 and max(all_fields).bit_length() == part[2], "row-fields")
                must(not part[1] or all(min(group) == 0 for group in of_fields), "row-fields")
                must(not part[3] or all(group[0] == 0 for group in of_fields), "row-fields")
            series_start, part_start = series_start + series, part_start + part_count
        must(part_start == len(self.parts), "keysets")
        must(bit == self.row_bits, "keyset-rows")
        must(seen == len(patterns), "patterns")

    def part_range(self, start, keysets):
        """The parts of some keysets."""
        return self.parts[start:start + sum(keyset[4] for keyset in keysets)]

    def dump(self):
        """Section 9."""
        print("remap %s\nformat 0.1\nfile %d bytes" % (block_id_text(self.input_id), self.file_len))
        print("job %s" % (self.job_id.hex() if any(self.job_id) else "none"))
        print("outputs %d" % len(self.outputs))
        before = 0
        for number, (output_id, end) in enumerate(self.outputs):
            print("  %d %s series %d" % (number, block_id_text(output_id), end - before))
            before = end
        print("series %d" % len(self.targets))
        for ref, target in enumerate(self.targets):
            print("  %d %s" % (ref, "gone" if target is None else "%d %d" % target))

    def follow(self, length, runs, firsts):
        for (start, part, place), end in zip(runs, [run[0] for run in runs[1:]] + [length]):
            must(part <= len(firsts), "runs")
            for member in range(start, end):
                yield self.target(firsts[part - 1] + place + member - start) if part else None

    def target(self, number):
        before = 0
        for output, (_, end) in enumerate(self.outputs):
            if before <= number < end:
                return output, number - before
            before = end
        raise Broken("targets", "number %d of %d" % (number, before))


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
            remap.dump()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
