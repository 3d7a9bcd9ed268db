"""Blocks, selections and folders against the labelsets that they were made from."""

import copy
import multiprocessing
import pickle
import shutil
import threading
import types

import pytest
from conftest import GOLDEN, key, labels_of_dump

import chronoxide

GOLDENS = sorted(GOLDEN.glob("*.cx"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_a_golden_has_the_labels_of_its_dump(path):
    block, expected = chronoxide.open(path), labels_of_dump(path)
    assert len(block) == len(expected)
    assert list(block) == expected
    assert [block[ref] for ref in range(len(block))] == expected
    assert block[:] == expected and block[::-2] == expected[::-2]
    block.verify()
    for ref, labels in enumerate(expected):
        assert block.find(labels) == ref
        assert labels in block
    names = sorted({name for labels in expected for name in labels}, key=str.encode)
    assert block.label_names() == names
    for name in names:
        values = sorted({labels[name] for labels in expected if name in labels}, key=str.encode)
        assert block.label_values(name) == values
        assert block.label_values(name, limit=1) == values[:1]


def test_there_are_goldens():
    assert len(GOLDENS) > 10


def test_labels_are_in_the_order_of_names(block):
    assert all(list(labels) == sorted(labels) for labels in block)


def test_a_block_has_all_series_once(block, rows):
    assert sorted(map(key, block)) == sorted(map(key, rows))


def test_indexes_out_of_range_are_index_errors(block):
    assert block[-1] == block[len(block) - 1]
    for index in [len(block), -len(block) - 1, 2**70, -(2**70)]:
        with pytest.raises(IndexError):
            block[index]
        with pytest.raises(IndexError):
            block.select()[index]
    with pytest.raises(TypeError):
        block["pod"]


def test_labelsets_that_are_not_there_are_not_found(block, folder, rows):
    assert block.find({**rows[0], "pod": "other"}) is None
    assert block.find({}) is None
    assert block.find({**rows[0], "empty": ""}) == block.find(rows[0])
    assert block.find(types.MappingProxyType(rows[0])) == block.find(rows[0])
    assert 5 not in block and None not in folder and "up" not in block.select()
    for wrong in [{"pod": 7}, 7, ["pod"]]:
        with pytest.raises(TypeError):
            block.find(wrong)


SELECTORS = [
    ('{service="cart"}', lambda labels: labels.get("service") == "cart"),
    ('up{zone!="a"}', lambda labels: labels["__name__"] == "up" and labels.get("zone", "") != "a"),
    ('{zone=""}', lambda labels: "zone" not in labels),
    ('{pod=~"pod-1.",service!~"c.*"}', lambda labels: labels["pod"][:5] == "pod-1" and labels["service"] == "search"),
    ('{note=~".+"}', lambda labels: "note" in labels),
    ('{__name__="none"}', lambda labels: False),
    (None, lambda labels: True),
]


@pytest.mark.parametrize("selector, matches", SELECTORS, ids=[str(selector) for selector, _ in SELECTORS])
def test_a_selection_has_the_series_that_match(block, folder, rows, selector, matches):
    selection, expected = block.select(selector), [labels for labels in rows if matches(labels)]
    assert sorted(map(key, selection)) == sorted(map(key, expected))
    assert len(selection) == len(expected)
    assert selection.refs() == sorted(block.find(labels) for labels in expected)
    assert [selection[number] for number in range(len(selection))] == list(selection)
    assert all(map(selection.has_ref, selection.refs())) and not selection.has_ref(len(block))
    assert all(labels in selection for labels in expected[:50]) and {"pod": "other"} not in selection
    names = sorted({name for labels in expected for name in labels})
    assert block.label_names(selector) == folder.label_names(selector) == names
    pods = sorted({labels["pod"] for labels in expected})
    assert block.label_values("pod", selector) == folder.label_values("pod", selector) == pods

    both = folder.select(selector)
    assert {key(labels) for labels in both} == {key(labels) for labels in expected}
    assert len(both) == len(list(both)) == sum(map(len, both.selections))
    counts = block.cardinality(selector)
    assert counts["series"] == len(expected) == folder.cardinality(selector)["series"]
    assert counts["labels"] == sum(map(len, expected))


def test_cardinality_counts_series_of_metrics(block, rows):
    counts = {}
    for labels in rows:
        counts[labels["__name__"]] = counts.get(labels["__name__"], 0) + 1
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    found = block.cardinality(limit=2)["metrics_by_series"]
    assert [(entry["metric"], entry["series"]) for entry in found] == largest[:2]
    assert len(block.cardinality(limit=None)["metrics_by_series"]) == len(counts)


def test_selections_are_sets(block):
    cart, zone = block.select('{service="cart"}'), block.select('{zone="a"}')
    assert (cart & zone).refs() == block.select('{service="cart",zone="a"}').refs()
    assert (cart - zone).refs() == block.select('{service="cart",zone!="a"}').refs()
    assert set((cart | zone).refs()) == set(cart.refs()) | set(zone.refs())
    assert cart == block.select('{service="cart"}') and cart != zone and cart != "cart"
    other = chronoxide.open(GOLDENS[0]).select()
    assert other != cart
    with pytest.raises(ValueError, match="different blocks"):
        cart | other


def test_a_folder_has_the_series_of_its_blocks(folder, rows):
    assert len(folder) == len(list(folder)) == sum(map(len, folder.blocks))
    assert {key(labels) for labels in folder} == {key(labels) for labels in rows}
    both = folder.find(rows[1500])
    assert len(both) == 2
    by_id = {block.id: block for block in folder.blocks}
    assert all(by_id[block][ref] == rows[1500] for block, ref in both)
    assert rows[0] in folder and {"pod": "other"} not in folder
    folder.verify()


def test_blocks_have_attributes(block, block_path, tmp_path):
    assert block.path == block_path and block.nbytes == block_path.stat().st_size
    assert len(block.id) == 26 and block.external_labels == {}
    capture = tmp_path / "times.prom"
    capture.write_text("up 1 1700000000000\nup 1 1700000060000\n", encoding="utf-8")
    chronoxide.ingest(capture, tmp_path / "times.cx", external_labels={"cluster": "eu"})
    timed = chronoxide.open(tmp_path / "times.cx")
    assert timed.external_labels == {"cluster": "eu"}
    assert timed.time_range == (1_700_000_000_000_000_000, 1_700_000_060_000_000_001)
    assert chronoxide.open(GOLDEN / "plain-bitpacked.cx").time_range is None


def test_a_mapped_block_outlives_its_file(block_path, tmp_path):
    copy = tmp_path / "copy.cx"
    for mmap in [True, False]:
        shutil.copy(block_path, copy)
        block = chronoxide.open(copy, mmap=mmap)
        copy.unlink()
        iterator = iter(block.select('{service="cart"}'))
        del block
        assert len(list(iterator)) > 100


def test_equal_blocks_are_equal(block, folder, block_path):
    again = chronoxide.open_block(block_path, mmap=False)
    assert again == block == block.select().block and hash(again) == hash(block)
    assert folder.blocks == folder.blocks and folder.blocks[0] != folder.blocks[1]
    assert block != block_path and len({block, again}) == 1


def test_other_processes_open_blocks_again(block, folder):
    assert pickle.loads(pickle.dumps(block)) == block == copy.copy(block)
    assert len(pickle.loads(pickle.dumps(folder))) == len(folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(len, [block, folder]) == [len(block), len(folder)]


def test_a_folder_is_not_a_block(block_path):
    assert len(chronoxide.open_folder(block_path.parent).blocks) == 1
    for wrong in [lambda: chronoxide.open_block(block_path.parent), lambda: chronoxide.open_folder(block_path)]:
        with pytest.raises(OSError):
            wrong()


def test_objects_describe_themselves(block, folder):
    assert f"{len(block):,} series" in repr(block) and "5 label names" in repr(block)
    selected = len(block.select("up"))
    assert repr(block.select("up")) == f"<chronoxide.Selection {block.path}: {selected} of {len(block):,} series>"
    assert "2 blocks" in repr(folder)
    for described in [block, folder, block.select(), folder.select(), block.select("none")]:
        html = described._repr_html_()
        assert html.count("<table>") == html.count("</table>") == 1
    assert "<td>pod</td><td>97</td>" in block._repr_html_() and "<td>pod</td><td>97</td>" in folder._repr_html_()
    shown = block.select()._repr_html_()
    assert "<th>pod</th>" in shown and f"and {len(block) - 10:,} more" in shown


def test_html_is_escaped(tmp_path):
    capture = tmp_path / "hostile.jsonl"
    capture.write_text('{"<script>": "<b>&\\"</b>"}\n', encoding="utf-8")
    chronoxide.ingest(capture, tmp_path / "hostile.cx")
    block = chronoxide.open(tmp_path / "hostile.cx")
    for html in [block._repr_html_(), block.select()._repr_html_()]:
        assert "&lt;script&gt;" in html and "<script>" not in html and html.count("<b>") == html.count("</b>") == 1


def test_a_block_serves_many_threads(block):
    expected, found = block.select("up").refs(), []

    def ask():
        for _ in range(20):
            found.append(block.select("up").refs() == expected and len(list(block)) == len(block))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and all(found)
