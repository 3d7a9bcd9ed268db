"""Blocks that Python writes, against the labelsets that they were made from."""

import pytest
from conftest import key

import chronoxide


def test_a_written_block_has_the_series_by_their_numbers(rows, tmp_path):
    writer = chronoxide.Writer(time_range=(10, 20))
    assert [writer.insert(labels) for labels in rows] == list(range(len(rows)))
    assert writer.insert({**dict(reversed(rows[7].items())), "empty": ""}) == 7
    assert len(writer) == len(rows)
    written = writer.finish(tmp_path / "new.cx")
    block = chronoxide.open(written["path"])
    assert (block.id, block.nbytes, block.time_range) == (written["id"], written["nbytes"], (10, 20))
    assert sorted(map(key, block)) == sorted(map(key, rows))
    assert [block[ref] for ref in written["refs"]] == rows
    block.verify()


@pytest.mark.parametrize("layout", ["factored", "bitpacked", "fixed"])
def test_layouts_have_the_same_series(rows, tmp_path, layout):
    writer = chronoxide.Writer(layout=layout)
    for labels in rows:
        writer.insert(labels)
    path = writer.finish(tmp_path / "new.cx")["path"]
    assert sorted(map(key, chronoxide.open(path))) == sorted(map(key, rows))


def test_nothing_is_replaced_unless_asked_for(tmp_path):
    path = tmp_path / "new.cx"
    path.write_text("precious")
    writer = chronoxide.Writer()
    writer.insert({"__name__": "up"})
    with pytest.raises(FileExistsError, match=r"new\.cx"):
        writer.finish(path)
    assert path.read_text() == "precious"
    # The series are still there.
    assert len(chronoxide.open(writer.finish(tmp_path / "other.cx")["path"])) == 1
    with pytest.raises(ValueError, match="another Writer"):
        writer.insert({"__name__": "up"})
    replacing = chronoxide.Writer(force=True)
    replacing.insert({"__name__": "down"})
    assert list(chronoxide.open(replacing.finish(path)["path"])) == [{"__name__": "down"}]


def test_wrong_labels_and_paths_are_exceptions(tmp_path):
    writer = chronoxide.Writer()
    for wrong in [{}, {"": "1"}, {"a": "x" * 100_000}]:
        with pytest.raises(ValueError):
            writer.insert(wrong)
    with pytest.raises(TypeError):
        writer.insert({"a": 1})
    assert len(writer) == 0
    with pytest.raises(OSError):
        writer.finish(tmp_path / "no folder" / "new.cx")
    with pytest.raises(ValueError, match="layout"):
        chronoxide.Writer(layout="other")
