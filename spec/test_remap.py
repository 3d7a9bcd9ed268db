#!/usr/bin/env python3
"""Tests of remap.py against the golden and the broken remaps and the worked example of REMAP.md: `python3 test_remap.py`."""

import contextlib
import io
import os
import re
import unittest

import remap

HERE = os.path.dirname(os.path.abspath(__file__))
REMAPS = os.environ.get("CHRONOXIDE_REMAPS", os.path.join(HERE, "..", "testdata", "remaps"))
SMALL = 1500  # bytes


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


class Remaps(unittest.TestCase):
    def test_golden_remaps_say_what_was_put_in(self):
        self.assertGreaterEqual(len(files("golden")), 8)
        for name, data in files("golden"):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                remap.Remap(data).dump()
            text = read(os.path.join(REMAPS, "golden", name + ".txt")).decode("utf-8")
            self.assertEqual(out.getvalue(), text, name)

    def test_broken_remaps_break_the_rule_that_they_are_named_after(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            rules = re.findall(r"^\| `([a-z-]+)` \| (?:corrupt|unsupported|not-a-remap) \|$", file.read(), re.M)
        self.assertEqual(sorted(rules), [name for name, _ in files("broken")])
        for name, data in files("broken"):
            self.assertEqual(broken_rule(data), name)

    def test_every_flipped_bit_and_every_cut_is_refused(self):
        cases = 0
        for name, data in files("golden"):
            if len(data) < SMALL:
                for bit in range(len(data) * 8):
                    flipped = data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]
                    self.assertIsNotNone(broken_rule(flipped), "%s: bit %d" % (name, bit))
                    cases += 1
                for length in range(len(data)):
                    self.assertIsNotNone(broken_rule(data[:length]), "%s: %d bytes" % (name, length))
                    cases += 1
        self.assertGreaterEqual(cases, 13000)

    def test_the_worked_remap_says_what_the_spec_says_of_it(self):
        with open(os.path.join(HERE, "REMAP.md"), encoding="utf-8") as file:
            section = file.read().split("## 8. A worked remap\n")[1].split("\n## 9.")[0]
        lines = re.findall(r"^    [0-9A-F]{4}  ([0-9A-F ]+)$", section, re.M)
        worked = remap.Remap(bytes.fromhex("".join(lines)))
        self.assertEqual(worked.targets, [(0, 0), (0, 1), (0, 2), (0, 4), (0, 5), None, (0, 6), (0, 7), None])


if __name__ == "__main__":
    unittest.main()
