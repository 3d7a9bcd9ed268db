"""Labelsets of time series, in immutable blocks.

A block is a file (``*.cx``) with the labels of the series of a time window. ``open`` maps one, or the live blocks of a
folder:

>>> import chronoxide
>>> block = chronoxide.open("week.cx")
>>> len(block)
10
>>> block[5]
{'__name__': 'up', 'job': 'api', 'pod': 'api-2'}
>>> [labels["pod"] for labels in block.select('up{pod=~"api.*"}')]
['api-1', 'api-2']

Blocks, folders and selections are tables for every library that reads Arrow. The strings of labels are not copied:

>>> import pyarrow
>>> table = pyarrow.table(block.select("up"))
>>> table.num_rows
5

With DataFusion, conditions on labels are answered by the block:

>>> import datafusion
>>> session = datafusion.SessionContext()
>>> session.register_table("series", block)
>>> session.sql("SELECT count(*) AS n FROM series WHERE pod LIKE 'api-%'").to_pydict()
{'n': [3]}
"""

from importlib.metadata import version as _version

from ._chronoxide import (
    Batches,
    Block,
    ChronoxideError,
    Column,
    CompactError,
    CorruptBlockError,
    Folder,
    FolderSelection,
    IngestError,
    Selection,
    SelectorError,
    SeriesIterator,
    Table,
    UnsupportedBlockError,
    Values,
    Writer,
    compact,
    ingest,
    open,
    open_block,
    open_folder,
)
from .types import Compacted, Ingested, Layout, Merge, Strings, ValueType, Written

__version__ = _version("chronoxide")

__all__ = [
    "Batches",
    "Block",
    "ChronoxideError",
    "Column",
    "CompactError",
    "Compacted",
    "CorruptBlockError",
    "Folder",
    "FolderSelection",
    "IngestError",
    "Ingested",
    "Layout",
    "Merge",
    "Selection",
    "SelectorError",
    "SeriesIterator",
    "Strings",
    "Table",
    "UnsupportedBlockError",
    "ValueType",
    "Values",
    "Writer",
    "Written",
    "compact",
    "ingest",
    "open",
    "open_block",
    "open_folder",
]
