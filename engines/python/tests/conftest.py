"""Files for the tests: goldens of the repository, and a block that is made from text."""

import json
import random
import re
from pathlib import Path

import pytest

import chronoxide

TESTDATA = Path(__file__).parents[3] / "testdata"
GOLDEN = TESTDATA / "golden"
BROKEN = TESTDATA / "broken"


def labels_of_dump(path):
    """Returns the labelsets that the dump of a golden lists, by their refs."""
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    series = text[text.index("\nseries ") :].splitlines()[2:]
    pair = re.compile(r'("(?:[^"\\]|\\.)*")=("(?:[^"\\]|\\.)*")')
    labelsets = []
    for line in series:
        if not line.startswith("  "):
            break
        labelsets.append({json.loads(name): json.loads(value) for name, value in pair.findall(line)})
    return labelsets


@pytest.fixture(scope="session")
def rows():
    """Labelsets of two services, with labels that only some have."""
    chosen = random.Random(7)
    made = {}
    for number in range(3000):
        labels = {
            "__name__": chosen.choice(["http_requests_total", "http_errors_total", "up", "queue_length"]),
            "service": chosen.choice(["cart", "checkout", "search"]),
            "pod": f"pod-{number % 97:02}",
        }
        if chosen.random() < 0.5:
            labels["zone"] = chosen.choice("abc")
        if chosen.random() < 0.1:
            labels["note"] = chosen.choice(["ä", "日本", 'quoted "text"', "line\nbreak", "x" * 300])
        made[tuple(sorted(labels.items()))] = labels
    return list(made.values())


@pytest.fixture(scope="session")
def block_path(rows, tmp_path_factory):
    """A block of these labelsets."""
    folder = tmp_path_factory.mktemp("block")
    capture = folder / "rows.jsonl"
    capture.write_text("".join(json.dumps(labels) + "\n" for labels in rows), encoding="utf-8")
    chronoxide.ingest(capture, folder / "rows.cx")
    return folder / "rows.cx"


@pytest.fixture(scope="session")
def block(block_path):
    return chronoxide.open(block_path)


@pytest.fixture(scope="session")
def folder(rows, tmp_path_factory):
    """A folder of two blocks. Each has half of the labelsets, and some are in both."""
    folder = tmp_path_factory.mktemp("folder")
    for name, part in [("a", rows[:1600]), ("b", rows[1400:])]:
        capture = folder / f"{name}.jsonl"
        capture.write_text("".join(json.dumps(labels) + "\n" for labels in part), encoding="utf-8")
        chronoxide.ingest(capture, f"{folder}/blocks/")
    return chronoxide.open(folder / "blocks")


def key(labels):
    """Returns a labelset as a value that can be sorted."""
    return tuple(sorted(labels.items()))
