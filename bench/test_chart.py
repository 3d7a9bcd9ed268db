"""Tests of the chart's figures; drawing is tested where matplotlib is installed."""

import importlib.util
import os
import tempfile
import unittest

import chart

SIZES = {
    "set": "pods",
    "series": 10,
    "labels": 35,
    "layouts": [
        {"layout": "fixed", "bytes": 100, "sections": {"frame": 7, "meta": 2, "checks": 1, "arena": 40, "rows": 50}},
        {"layout": "factored", "bytes": 60, "sections": {"arena": 40, "rows": 5, "members": 15}},
    ],
}


class Figures(unittest.TestCase):
    def test_bars_are_parts_by_series_and_others_as_they_are(self):
        others = {"another": {"pods": 3.5, "nodes": 1.0}}
        expected = [
            ("fixed", [4.0, 0.0, 5.0, 0.0, 0.0, 1.0]),
            ("factored", [4.0, 0.0, 0.5, 1.5, 0.0, 0.0]),
            ("another", [3.5]),
        ]
        self.assertEqual(chart.bars([SIZES], others, ["pods"]), [("pods\n10 series of 3.5 labels", expected)])

    def test_sections_that_are_no_whole_are_refused(self):
        lacking = {"layout": "fixed", "bytes": 100, "sections": {"arena": 99}}
        self.assertRaisesRegex(chart.Broken, "have 99 bytes, and the block 100", chart.parts, lacking, 10)
        unknown = {"layout": "fixed", "bytes": 100, "sections": {"arena": 99, "new": 1}}
        self.assertRaisesRegex(chart.Broken, "new", chart.parts, unknown, 10)

    def test_sets_without_sizes_are_named(self):
        self.assertRaisesRegex(chart.Broken, "nodes", chart.bars, [SIZES], {}, ["pods", "nodes"])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_the_same_figures_are_the_same_chart(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = []
            for name in ("a.svg", "b.svg"):
                path = os.path.join(folder, name)
                chart.draw(chart.bars([SIZES], {"another": {"pods": 3.5}}, ["pods"]), path)
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read())
        self.assertEqual(texts[0], texts[1])
        for text in ("factored", "10.00", "3.50", "bytes per series"):
            self.assertIn(text, texts[0])


if __name__ == "__main__":
    unittest.main()
