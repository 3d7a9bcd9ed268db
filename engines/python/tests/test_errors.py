"""Damaged files, wrong arguments and interruptions give exceptions, and never end the interpreter."""

import os
import random

import datafusion
import pyarrow
import pytest
from conftest import BROKEN, GOLDEN

import chronoxide

BROKEN_BLOCKS = sorted(BROKEN.glob("*.cx"))
#: Exceptions that an engine raises for an error of the block's stream.
ENGINES = (pyarrow.ArrowException, ValueError, OSError, RuntimeError, NotImplementedError)


def query(block, text):
    session = datafusion.SessionContext()
    session.register_table("series", block)
    session.sql(text).collect()


#: Everything that reads a block.
DOORS = {
    "len": len,
    "iterate": lambda block: [None for _ in zip(range(2000), block)],
    "item": lambda block: block[-1],
    "select": lambda block: block.select('{__name__=~".+"}').refs(),
    "names": lambda block: block.label_names("{zone=''}"),
    "values": lambda block: [block.label_values(name, limit=100) for name in block.label_names()[:20]],
    "cardinality": lambda block: block.cardinality(),
    "find": lambda block: block.find({"__name__": "up"}),
    "describe": lambda block: (repr(block), block._repr_html_(), block.select()._repr_html_()),
    "meta": lambda block: (block.id, block.time_range, block.external_labels, hash(block)),
    "arrow": lambda block: pyarrow.table(block).validate(full=True),
    "views": lambda block: pyarrow.table(block.batches(strings="view")).validate(full=True),
    "maps": lambda block: pyarrow.table(block.batches(as_map=True, in_label_order=True)).validate(full=True),
    "rows of SQL": lambda block: query(block, "SELECT * FROM series LIMIT 50"),
    "counts of SQL": lambda block: query(block, "SELECT count(*) FROM series WHERE __name__ LIKE 'u%'"),
    "verify": lambda block: block.verify(),
}


def use(path):
    """Goes through every door of a block. Returns the exception of each that is closed."""
    exceptions = {}
    try:
        block = chronoxide.open(path)
    except chronoxide.ChronoxideError as error:
        return {"open": error}
    for name, door in DOORS.items():
        try:
            door(block)
        except (chronoxide.ChronoxideError, *ENGINES) as error:
            exceptions[name] = error
        except Exception as error:
            # DataFusion's package raises this for all errors of a query.
            assert "SQL" in name and type(error) is Exception, repr(error)
            exceptions[name] = error
    return exceptions


@pytest.mark.parametrize("path", BROKEN_BLOCKS, ids=lambda path: path.stem)
def test_a_broken_block_is_an_exception(path):
    exceptions = use(path)
    assert isinstance(exceptions.get("open") or exceptions.get("verify"), chronoxide.ChronoxideError)
    for name, error in exceptions.items():
        assert str(path) in str(error) or not isinstance(error, chronoxide.ChronoxideError), (name, error)
    with pytest.raises((chronoxide.ChronoxideError, ValueError)):
        chronoxide.compact([path, GOLDEN / "one-series.cx"], path.parent / "never.cx")
    assert not (path.parent / "never.cx").exists()


def test_there_are_broken_blocks():
    assert len(BROKEN_BLOCKS) > 50


def test_flipped_bytes_are_exceptions(tmp_path):
    chosen, copy = random.Random(3), tmp_path / "flipped.cx"
    for path in [GOLDEN / "plain-bitpacked.cx", GOLDEN / "planned-small.cx", GOLDEN / "unicode.cx"]:
        sound = path.read_bytes()
        for place in chosen.sample(range(len(sound)), min(100, len(sound))):
            flipped = bytearray(sound)
            flipped[place] ^= 1 << chosen.randrange(8)
            copy.write_bytes(flipped)
            # Padding is not covered by a rule.
            if not use(copy):
                assert chronoxide.open(copy)[:] == chronoxide.open(path)[:]


def test_missing_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        chronoxide.open(tmp_path / "none.cx")
    assert raised.value.filename == str(tmp_path / "none.cx")
    with pytest.raises(TypeError):
        chronoxide.open(7)


def test_pipes_and_devices_are_os_errors(tmp_path):
    os.mkfifo(tmp_path / "pipe.cx")
    for path in [tmp_path / "pipe.cx", "/dev/zero", "/dev/null"]:
        for mmap in [True, False]:
            with pytest.raises(OSError, match=str(path)):
                chronoxide.open(path, mmap=mmap)


def test_a_folder_with_a_damaged_block_is_an_exception(tmp_path):
    (tmp_path / "a.cx").write_bytes((GOLDEN / "meta.cx").read_bytes())
    assert len(chronoxide.open(tmp_path)) > 0
    (tmp_path / "b.cx").write_bytes(b"CHRONOX?" * 100)
    with pytest.raises(chronoxide.CorruptBlockError, match=r"b\.cx"):
        chronoxide.open(tmp_path)


@pytest.mark.parametrize("selector", ["{", "up{pod=}", '{pod=~"("}', "", "sum(up)", '{pod="\0'])
def test_wrong_selectors_are_selector_errors(block, folder, selector):
    for ask in [block.select, block.label_names, block.cardinality, folder.select]:
        with pytest.raises(chronoxide.SelectorError) as raised:
            ask(selector)
        assert isinstance(raised.value, ValueError) and str(raised.value)


def test_classes_are_not_made_by_hand():
    for made in [chronoxide.Block, chronoxide.Folder, chronoxide.Selection, chronoxide.Table]:
        with pytest.raises(TypeError):
            made()
