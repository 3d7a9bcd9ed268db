"""Damaged files, wrong arguments and interruptions give exceptions, and never end the interpreter."""

import random

import datafusion
import pyarrow
import pytest
from conftest import BROKEN, GOLDEN

import chronoxide

BROKEN_BLOCKS = sorted(BROKEN.glob("*.cx"))
#: Exceptions that an engine raises for an error of the block's stream.
ENGINES = (pyarrow.ArrowException, ValueError, OSError, RuntimeError, NotImplementedError)


def use(path):
    """Goes through every door of a block."""
    block = chronoxide.open(path)
    len(block)
    for _ in zip(range(200), block):
        pass
    block.select('{__name__=~".+"}').refs()
    for name in block.label_names()[:20]:
        block.label_values(name, limit=100)
    block.cardinality()
    block.find({"__name__": "up"})
    repr(block), block._repr_html_()
    pyarrow.table(block).validate(full=True)
    pyarrow.table(block.batches(as_map=True, in_label_order=True)).validate(full=True)
    session = datafusion.SessionContext()
    session.register_table("series", block)
    session.sql("SELECT * FROM series LIMIT 50").collect()
    block.verify()


@pytest.mark.parametrize("path", BROKEN_BLOCKS, ids=lambda path: path.stem)
def test_a_broken_block_is_an_exception(path):
    with pytest.raises((chronoxide.CorruptBlockError, chronoxide.UnsupportedBlockError, *ENGINES)) as raised:
        use(path)
    if isinstance(raised.value, chronoxide.ChronoxideError):
        assert str(path) in str(raised.value)
    with pytest.raises((chronoxide.CorruptBlockError, chronoxide.UnsupportedBlockError)):
        chronoxide.open(path).verify()


def test_there_are_broken_blocks():
    assert len(BROKEN_BLOCKS) > 50


def test_flipped_bytes_are_exceptions(tmp_path):
    chosen, copy = random.Random(3), tmp_path / "flipped.cx"
    for path in [GOLDEN / "plain-bitpacked.cx", GOLDEN / "planned-small.cx", GOLDEN / "unicode.cx"]:
        sound = path.read_bytes()
        for place in chosen.sample(range(len(sound)), min(150, len(sound))):
            flipped = bytearray(sound)
            flipped[place] ^= 1 << chosen.randrange(8)
            copy.write_bytes(flipped)
            try:
                use(copy)
            except (chronoxide.ChronoxideError, *ENGINES):
                continue
            # Padding is not covered by a rule.
            assert chronoxide.open(copy)[:] == chronoxide.open(path)[:]


def test_missing_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        chronoxide.open(tmp_path / "none.cx")
    assert raised.value.filename == str(tmp_path / "none.cx")
    with pytest.raises(TypeError):
        chronoxide.open(7)


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
