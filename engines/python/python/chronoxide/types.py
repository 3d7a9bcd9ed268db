"""Types of arguments and results."""

from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

AnyPath: TypeAlias = str | PathLike[str]

Layout: TypeAlias = Literal["factored", "bitpacked", "fixed"]
"""Layout of a block: see docs/layouts.md."""

Strings: TypeAlias = Literal["dictionary", "view", "utf8"]
"""Arrow type of the strings of labels."""

TimeRange: TypeAlias = tuple[int, int]
"""Start and end of a time range in nanoseconds since 1970, the end excluded."""

ValueType: TypeAlias = Literal["i64", "u64", "bytes"]
"""Type of the values of a column."""

Merge: TypeAlias = Literal["drop", "same", "min", "max", "sum", "or", "newest"]
"""Way to combine the values of series that become one: see docs/columns.md."""


class Ingested(TypedDict):
    """Result of ``ingest``."""

    paths: list[Path]
    report: dict[str, Any]


class Compacted(TypedDict):
    """Result of ``compact``."""

    paths: list[Path]
    series_in: int
    series_out: int
    duplicates: int
    dropped: int


class Written(TypedDict):
    """Result of ``Writer.finish``."""

    path: Path
    id: str
    nbytes: int
    refs: list[int]
