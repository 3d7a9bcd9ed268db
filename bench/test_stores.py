"""Tests of the figures of stores; drawing is tested where matplotlib is installed."""

import importlib.util
import json
import os
import tempfile
import unittest

import stores


def write_estimate(folder, group, function, value, nanoseconds, elements):
    """Writes what criterion writes of a benchmark."""
    place = os.path.join(folder, group.replace("/", "_"), function.replace("/", "_") + (value or ""), "new")
    os.makedirs(place)
    benchmark = {"group_id": group, "function_id": function, "value_str": value, "throughput": {"Elements": elements}}
    with open(os.path.join(place, "benchmark.json"), "w", encoding="utf-8") as file:
        json.dump(benchmark, file)
    with open(os.path.join(place, "estimates.json"), "w", encoding="utf-8") as file:
        json.dump({"median": {"point_estimate": nanoseconds}}, file)


class Figures(unittest.TestCase):
    def test_estimates_are_per_element_and_ratios_to_a_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            write_estimate(folder, "visit 50k", "flat", None, 200.0, 10)
            write_estimate(folder, "visit 50k", "keyset", None, 300.0, 10)
            write_estimate(folder, "clone/x", "Arc<str>", "2 threads", 70.0, 7)
            found = stores.estimates(folder)
        self.assertEqual(found, {"visit 50k": {"flat": 20.0, "keyset": 30.0}, "clone/x": {"Arc<str>/2 threads": 10.0}})
        articles = {"visit 50k": {"baseline": "flat", "figures": {"flat": 4, "keyset": 32}}, "absent": {"baseline": "a", "figures": {}}}
        expected = [("visit 50k, ratio to flat", [("flat", 1.0, 1.0), ("keyset", 1.5, 8.0)])]
        self.assertEqual(stores.panels(found, articles), expected)

    def test_tables_begin_with_the_least(self):
        expected = "| visit | ns per element | ratio |\n| --- | ---: | ---: |\n| flat | 20.0 | 1.00 |\n| keyset | 30.0 | 1.50 |\n"
        self.assertEqual(stores.markdown("visit", {"keyset": 30.0, "flat": 20.0}), expected)

    def test_a_missing_baseline_is_named(self):
        self.assertRaisesRegex(stores.Broken, "flat: keyset", stores.ratios, {"keyset": 1.0}, "flat")
        self.assertRaisesRegex(stores.Broken, "no group", stores.panels, {}, {"a": {"baseline": "b", "figures": {"b": 1}}})

    def test_the_articles_figures_have_their_baselines(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "articles.json")
        with open(path, encoding="utf-8") as file:
            articles = json.load(file)
        for group, entry in articles.items():
            self.assertEqual(stores.ratios(entry["figures"], entry["baseline"])[entry["baseline"]], 1.0, group)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_the_same_figures_are_the_same_charts(self):
        with tempfile.TemporaryDirectory() as folder:
            csv = os.path.join(folder, "flat.csv")
            with open(csv, "w", encoding="utf-8") as file:
                file.write("points,resident_bytes,ns_per_point\n1000000,1048576,500\n2000000,2097152,400\n")
            texts = []
            for name in ("a.svg", "b.svg"):
                path = os.path.join(folder, name)
                stores.draw_ratios([("visit", [("flat", 1.0, 1.0), ("keyset", 1.5, 8.0)])], path)
                memory = os.path.join(folder, "memory-" + name)
                stores.draw_runs(stores.runs([csv]), memory)
                for written in (path, memory):
                    with open(written, encoding="utf-8") as file:
                        texts.append(file.read())
        self.assertEqual(texts[:2], texts[2:])
        for number, text in (0, "keyset"), (0, "8.00"), (0, "article"), (1, "flat"), (1, "resident memory"):
            self.assertIn(text, texts[number])


if __name__ == "__main__":
    unittest.main()
