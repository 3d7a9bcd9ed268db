#!/usr/bin/env python3
"""Tests of compare.py: `python3 -m unittest test_compare` in this folder.

Those of Parquet need pyarrow, those of the zstd command that command, and those of the real chronoxide-ingest its path in
CHRONOXIDE_INGEST; without, they are skipped.
"""

import contextlib
import gzip
import io
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import bound
import compare
import series
import sizes

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None

INGEST = os.environ.get("CHRONOXIDE_INGEST")
CAPTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata", "captures")
needs_pyarrow = unittest.skipUnless(pyarrow, "pyarrow cannot be imported")
needs_zstd = unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
needs_ingest = unittest.skipUnless(INGEST, "CHRONOXIDE_INGEST is not set")
needs_scripts = unittest.skipIf(os.name == "nt", "scripts cannot be executed here")

# Four series of two keysets, in this order, with a duplicate and lines that are not series.
FOUR = b"""{"job":"b","__name__":"up","pod":"x"}
{"__name__":"up","job":"a","pod":"y"}

{"__name__":"up","job":"b","pod":"x","empty":""}
{"job":"a"}
{"empty":""}
{}
{"__name__":"up","job":"a","pod":"x"}
"""
FOUR_TEXTS = ["__name__=up,job=b,pod=x", "__name__=up,job=a,pod=y", "job=a", "__name__=up,job=a,pod=x"]

HELP = """Options:
      --force
          Replace outputs that exist

      --layout <LAYOUT>
          How rows are laid out; see also --format

          Possible values:
          - fixed:     Fields of 0, 8, 16 or 32 bits
          - bitpacked: Fields of exactly the bits that they need
          - factored:  Tables
          
          [default: bitpacked]

      --report <FILE>
          Possible values:
          - other: not a layout
"""
SHORT_HELP = """Options:
      --layout <LAYOUT>  How rows are laid out [default: bitpacked] [possible values: fixed, bitpacked, factored]
  -h, --help             Print help
"""

# Knows the layouts big and small; all blocks have 5 series.
FAKE_INGEST = """#!/bin/sh
if [ "$1" = --help ]; then
    echo '      --layout <LAYOUT>  [possible values: big, small, broken]'
    exit
fi
layout=; output=
while [ $# -gt 0 ]; do
    case $1 in
        --layout) layout=$2; shift ;;
        -o) output=$2; shift ;;
    esac
    shift
done
case $layout in
    big) printf 0123456789 > "$output" ;;
    small) printf 01234 > "$output" ;;
    broken) echo 'no such luck' >&2; exit 3 ;;
esac
echo '{"series": SERIES, "input": {"names_cut": 0, "values_cut": CUT}}'
"""


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, content, name="series.jsonl"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def read(self, content):
        return series.read(self.file(content))

    def fake_ingest(self, series_count, cut=0):
        path = self.file(FAKE_INGEST.replace("SERIES", str(series_count)).replace("CUT", str(cut)).encode(), "fake-ingest")
        os.chmod(path, 0o755)
        return path

    def command(self, *arguments):
        """Exit code, output and messages."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = compare.main(list(arguments))
            except SystemExit as exit:
                code = exit.code
        return code, out.getvalue(), errors.getvalue()


def texts(found):
    return [text.decode() for text in found.texts]


class Reading(Temporary):
    def test_texts_have_labels_in_the_order_of_keys_and_each_series_once(self):
        found = self.read(FOUR)
        self.assertEqual(texts(found), FOUR_TEXTS)
        self.assertEqual((found.records, len(found), found.labels), (7, 4, 10))
        self.assertEqual(found.text_len, len("\n".join(FOUR_TEXTS)) + 1)
        self.assertEqual(list(found.keysets), [("__name__", "job", "pod"), ("job",)])

    def test_keys_are_ordered_by_their_bytes(self):
        found = self.read('{"ﬀ":"1","𐀀":"2","B":"3","a":"4"}'.encode())  # UTF-16 would have them the other way round
        self.assertEqual(texts(found), ["B=3,a=4,ﬀ=1,𐀀=2"])

    def test_series_that_only_look_alike_in_the_text_are_two(self):
        found = self.read(b'{"a":"1,b=2"}\n{"a":"1","b":"2"}\n')
        self.assertEqual(texts(found), ["a=1,b=2"] * 2)

    def test_names_that_are_empty_are_no_labels_and_of_two_the_last_counts(self):
        self.assertEqual(texts(self.read(b'{"":"x","a":"1","a":"2"}')), ["a=2"])

    def test_compression_is_seen_by_content(self):
        self.assertEqual(texts(series.read(self.file(gzip.compress(FOUR[:40]) + gzip.compress(FOUR[40:])))), FOUR_TEXTS)

    @needs_zstd
    def test_frames_of_zstd_are_read_and_their_end_is_missed(self):
        packed = subprocess.run(["zstd", "-c"], input=FOUR, capture_output=True, check=True).stdout
        skippable = b"\x53\x2a\x4d\x18\x01\0\0\0x"
        self.assertEqual(texts(series.read(self.file(packed))), FOUR_TEXTS)
        self.assertEqual(texts(series.read(self.file(skippable + packed + packed))), FOUR_TEXTS)
        with self.assertRaises(series.Damaged):
            series.read(self.file(packed[:-6]))

    def test_a_torn_gzip_is_damage(self):
        with self.assertRaises(series.Damaged):
            series.read(self.file(gzip.compress(FOUR)[:-9]))

    def test_a_broken_line_is_named(self):
        broken = [b"[]", b"1", b'{"a":1}', b'{"a":{}}', b'{"a":"b"', b'{"a":"b"} {', b'{"a":"\xff"}', b'{"a":"\\ud800"}']
        for line in (*broken, b"[" * 10**5):
            path = self.file(b'{"a":"b"}\n\n' + line + b"\n")
            with self.assertRaises(series.Damaged) as raised:
                series.read(path)
            self.assertIn(f"{path}: line 3: ", str(raised.exception))

    def test_series_are_sorted_by_their_texts(self):
        found = self.read(FOUR)
        self.assertEqual([texts(found)[number] for number in found.sorted_order], sorted(FOUR_TEXTS))
        # Newlines take no part: a tab is before one, so that the first would stay the first.
        self.assertEqual(list(self.read(b'{"a":"1\\t"}\n{"a":"1"}\n').sorted_order), [1, 0])

    def test_keyset_major_sorts_by_the_column_with_most_values_first(self):
        found = self.read(
            b'{"b":"1","a":"z","c":"9"}\n'
            b'{"d":"1"}\n'
            b'{"a":"y","b":"2","c":"7"}\n'
            b'{"a":"z","b":"10","c":"7"}\n'
            b'{"c":"9","a":"y","b":"1"}\n')
        # b has three values, a and c have two; "10" is before "2" as text.
        self.assertEqual(list(found.keyset_major_order), [4, 0, 3, 2, 1])


class Bound(unittest.TestCase):
    def test_binomials_are_those_of_whole_numbers(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        choose = random.Random(seed)
        cases = [(total, chosen) for total in range(12) for chosen in range(total + 1)]
        edges = (bound.EXACT - 1, bound.EXACT, bound.EXACT + 1)
        cases += [(total, chosen) for total in edges for chosen in (1, 2, total // 3, total // 2, total - 1)]
        cases += [(choose.randrange(2000, 1 << choose.randrange(12, 300)), choose.randrange(500)) for _ in range(200)]
        cases += [(10**400, 500), (500 << 60, 500), ((500 << 60) - 1, 500)]
        for total, chosen in cases:
            expected = math.log2(math.comb(total, chosen))
            found = bound.log2_binomial(total, chosen)
            self.assertAlmostEqual(found, expected, delta=1e-10 * max(1, expected), msg=(total, chosen))

    def test_binomials_of_many_rows_are_the_product_of_choices(self):
        for total, chosen in ((10**6, 400_000), (10**6, 600_000), (10**9, 300_000), (10**18, 300_000)):
            few = min(chosen, total - chosen)
            expected = math.fsum(math.log2((total - n) / (few - n)) for n in range(few))
            self.assertAlmostEqual(bound.log2_binomial(total, chosen) / expected, 1, places=11, msg=(total, chosen))

    def test_a_million_rows_of_a_huge_product(self):
        # Choosing so few is choosing one after the other, in any order: n log2 M - log2 n!, with Stirling's n!.
        rows = 10**6
        factorial = rows * math.log2(rows / math.e) + 0.5 * math.log2(2 * math.pi * rows)
        self.assertAlmostEqual(bound.log2_binomial(10**500, rows) / (rows * 500 * math.log2(10) - factorial), 1, places=9)

    def test_determined_columns_are_dropped(self):
        pod = [0, 1, 2, 3, 0]
        node = [7, 7, 8, 8, 7]
        zone = [5, 5, 5, 5, 5]
        le = [1, 1, 1, 1, 2]
        self.assertEqual(bound.kept_columns([zone, node, pod, le]), [2, 3])
        self.assertEqual(bound.kept_columns([le, node]), [0, 1])
        self.assertEqual(bound.kept_columns([le, node, pod]), [0, 2])  # one of those that are kept is enough

    def test_of_columns_that_determine_each_other_the_first_is_kept(self):
        uid, pod = [4, 5, 6], [1, 2, 3]
        self.assertEqual(bound.kept_columns([uid, pod]), [0])
        self.assertEqual(bound.kept_columns([[9, 9, 9], pod, uid]), [1])
        self.assertEqual(bound.kept_columns([[1], [2], [3]]), [0])

    def test_the_bound_of_a_tiny_set(self):
        # 4 of the 2 * 3 rows that there could be, and all of the 2: log2 15 and nothing.
        grid = [[0, 0, 1, 1], [0, 1, 1, 2], [8, 8, 8, 8]]
        self.assertAlmostEqual(bound.set_entropy([grid]), math.log2(15))
        self.assertAlmostEqual(bound.set_entropy([grid, [[1, 2], [3, 4]], grid]), 2 * math.log2(15))
        self.assertEqual(bound.set_entropy([]), 0)


class Sizes(Temporary):
    def test_layouts_are_found_in_both_kinds_of_help(self):
        self.assertEqual(sizes.layouts_of_help(HELP), ["fixed", "bitpacked", "factored"])
        self.assertEqual(sizes.layouts_of_help(SHORT_HELP), ["fixed", "bitpacked", "factored"])
        self.assertEqual(sizes.layouts_of_help("--layouts are not spoken of"), [])

    @needs_zstd
    def test_zstd_compresses_the_text_in_each_order(self):
        content = b"".join(b'{"pod":"%d","a":"%d"}\n' % (n * 7919 % 3001, n % 5) for n in range(3000))
        text = ["a=%d,pod=%d\n" % (n % 5, n * 7919 % 3001) for n in range(3000)]
        code, out, _ = self.command("--json", "--only", "zstd", self.file(content))
        result = json.loads(out)
        self.assertEqual(code, 0)
        long = ["-19", "--long=27", "-T1"]
        for key, options, lines in (("zstd_3", ["-3"], text), ("zstd_19_long_sorted", long, sorted(text))):
            path = self.file("".join(lines).encode(), "text")
            expected = len(subprocess.run(["zstd", "-c", *options, path], capture_output=True, check=True).stdout)
            self.assertEqual(result[key], {"bytes": expected, "bytes_per_series": expected / 3000}, key)
        self.assertEqual(result["text"]["bytes"], len("".join(text)))

    @needs_ingest
    def test_the_layouts_of_the_real_command_are_measured(self):
        path = os.path.join(CAPTURES, "monday.series.jsonl")
        code, out, errors = self.command("--json", "--only", "layouts", "--chronoxide-ingest", INGEST, path)
        self.assertEqual((code, errors), (0, ""))
        result = json.loads(out)
        self.assertLessEqual({"fixed", "bitpacked"}, set(result["layouts"]))
        for layout, size in result["layouts"].items():
            output = os.path.join(self.folder, layout)
            said = subprocess.run([INGEST, path, "-o", output, "--layout", layout, "--json"], capture_output=True, check=True)
            self.assertEqual(size["bytes"], json.loads(said.stdout)["bytes"], layout)


@needs_pyarrow
class Parquet(Temporary):
    def test_a_file_has_the_rows_in_order_in_one_row_group_of_dictionary_columns(self):
        found = self.read(FOUR)
        path = os.path.join(self.folder, "series.parquet")
        for order in (found.input_order, found.sorted_order, found.keyset_major_order):
            sizes.write_parquet(sizes.parquet_table(found, order), path, 1 << 30)
            rows = pyarrow.parquet.read_table(path).to_pylist()
            lines = [",".join(f"{key}={value}" for key, value in row.items() if value is not None) for row in rows]
            self.assertEqual(lines, [FOUR_TEXTS[number] for number in order])
        metadata = pyarrow.parquet.read_metadata(path)
        self.assertEqual(metadata.num_row_groups, 1)
        for column in map(metadata.row_group(0).column, range(3)):
            self.assertEqual((column.physical_type, column.compression, column.has_dictionary_page), ("BYTE_ARRAY", "ZSTD", True))
        self.assertEqual([field.type for field in pyarrow.parquet.read_schema(path)], [pyarrow.string()] * 3)

    def test_of_plain_and_dictionary_pages_the_smaller_file_counts(self):
        unique = self.read(b"".join(b'{"a":"%064x"}\n' % (n * 7919 % 30011) for n in range(30000)))
        repeated = self.read(b"".join(b'{"a":"%064x","b":"%d"}\n' % (n * 7919 % 17011, n // 17011) for n in range(85055)))
        smaller = []
        for found in (unique, repeated):
            table, each = sizes.parquet_table(found, found.input_order), []
            for limit in sizes.DICTIONARY_LIMITS:
                path = os.path.join(self.folder, "series.parquet")
                sizes.write_parquet(table, path, limit)
                each.append(os.path.getsize(path))
            smaller.append(each.index(min(each)))
            self.assertEqual(sizes.parquet(found, found.input_order, self.folder)[0], min(each))
        self.assertEqual(smaller, [0, 1])

    def test_the_best_order_is_the_smallest_file(self):
        code, out, _ = self.command("--json", "--only", "parquet", os.path.join(CAPTURES, "monday.series.jsonl"))
        found = json.loads(out)["parquet"]
        orders = {order: found[order]["bytes"] for order in ("input", "sorted", "keyset_major")}
        self.assertEqual((code, orders[found["best"]]), (0, min(orders.values())))
        self.assertTrue(all(0 < found[order]["footer_bytes"] < size for order, size in orders.items()))


class Command(Temporary):
    def test_the_bound_is_reported_with_counts(self):
        code, out, errors = self.command("--json", "--only", "bound", self.file(FOUR))
        # Three of four pairs of job and pod.
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(json.loads(out), {
            "file": os.path.join(self.folder, "series.jsonl"), "records": 7, "series": 4, "labels": 10, "keysets": 2, "keys": 3,
            "text": {"bytes": 78, "bytes_per_series": 19.5},
            "set_bound": {"bytes": 0.25, "bytes_per_series": 0.0625, "bits": 2.0}})

    def test_a_file_without_series_has_no_bytes_per_series(self):
        code, out, _ = self.command("--json", "--only", "bound", self.file(b"\n"))
        self.assertEqual((code, json.loads(out)["text"]), (0, {"bytes": 0, "bytes_per_series": None}))
        self.assertIn("0 series, no labels each", self.command("--only", "bound", self.file(b""))[1])

    @needs_scripts
    def test_the_table_is_aligned_and_what_failed_is_empty(self):
        path = self.file(FOUR)
        code, out, errors = self.command("--only", "bound,layouts", "--chronoxide-ingest", self.fake_ingest(4), path)
        self.assertEqual(code, 1)
        self.assertEqual(out, f"""{path}
4 series, 2.5 labels each, 2 keysets, 3 keys
                     bytes  per series
  text                  78       19.50
  block, big            10        2.50
  block, small           5        1.25
  block, broken
  set-entropy bound      0        0.06

""")
        self.assertEqual(errors.count("\n"), 1)
        self.assertIn("layout broken: ", errors)
        self.assertIn("ended with 3: no such luck", errors)

    @needs_scripts
    def test_layouts_can_be_named(self):
        arguments = ("--json", "--only", "layouts", "--layout", "small", "--layout", "small", self.file(FOUR))
        code, out, errors = self.command("--chronoxide-ingest", self.fake_ingest(4), *arguments)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(json.loads(out)["layouts"], {"small": {"bytes": 5, "bytes_per_series": 1.25}})
        code, out, errors = self.command("--chronoxide-ingest", self.fake_ingest(5), *arguments)
        self.assertEqual((code, json.loads(out)["layouts"]), (1, {"small": None}))
        self.assertIn("the block has 5 series, the file 4", errors)
        code, out, errors = self.command("--chronoxide-ingest", self.fake_ingest(4, cut=2), *arguments)
        self.assertEqual((code, json.loads(out)["layouts"]["small"]["bytes"]), (0, 5))
        self.assertIn("2 names and values are longer", errors)

    def test_missing_tools_are_named_and_their_cells_empty(self):
        path = self.file(FOUR)
        without_pyarrow = {"pyarrow": None, "pyarrow.parquet": None}
        with mock.patch.dict(os.environ, PATH=self.folder), mock.patch.dict(sys.modules, without_pyarrow):
            code, out, errors = self.command("--json", "--chronoxide-ingest", os.path.join(self.folder, "none"), path)
        result = json.loads(out)
        self.assertEqual(code, 1)
        self.assertEqual([result[key] for key in ("zstd_3", "zstd_19_long_sorted", "layouts")], [None] * 3)
        self.assertEqual(set(result["parquet"].values()), {None})
        self.assertEqual(result["set_bound"]["bits"], 2)
        for part in ("zstd -3: zstd cannot be started", "Parquet: pyarrow cannot be imported", "none cannot be started"):
            self.assertIn(part, errors)

    def test_compressed_input_without_zstd_is_said(self):
        path = self.file(b"\x28\xb5\x2f\xfd")
        with mock.patch.dict(os.environ, PATH=self.folder):
            code, out, errors = self.command(path)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"{path}: is compressed, and zstd cannot be started", errors)

    def test_a_broken_line_is_3_and_other_files_are_measured(self):
        broken, sound = self.file(b'{"a":"1"}\n{"a":1}\n', "broken"), self.file(FOUR)
        code, out, errors = self.command("--json", "--only", "bound", broken, os.path.join(self.folder, "none"), sound)
        self.assertEqual((code, json.loads(out)["file"]), (3, sound))
        self.assertIn(f"{broken}: line 2: ", errors)
        self.assertIn("none: No such file", errors)

    def test_wrong_usage_is_2(self):
        path = self.file(FOUR)
        for arguments in ([], ["--only", "everything", path], ["--only", "", path], ["--unknown", path],
                          ["--only", "bound", "--layout", "fixed", path]):
            code, out, errors = self.command(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn("usage: compare.py", errors)


if __name__ == "__main__":
    unittest.main()
