"""Distinct series of a `series-json` file, kept as codes of strings: by keyset, and within it by column.

Series are defined as in `chronoxide-ingest`: labels with an empty name or value are dropped, series without labels are
none, and of a name that an object has twice the last one counts. Nothing is cut, however long it is.
"""

import contextlib
import functools
import gzip
import json
import subprocess
import zlib
from array import array


class Damaged(Exception):
    """The input is not what it should be; says where."""


class Failed(Exception):
    """Something that was needed is missing, or did not do its work."""


class Keyset:
    """The series that have the same keys: `rows` are their numbers in the input, each column has a code per row."""

    def __init__(self, keys):
        self.keys = keys  # ascending
        self.rows = array("I")
        self.columns = [array("I") for _ in keys]
        self.seen = set()


class Series:
    """Series are numbered in the order in which each came first."""

    def __init__(self):
        self.texts = []  # of each series, as UTF-8
        self.codes = {}  # of each value, in the order of the codes
        self.keysets = {}  # by their keys
        self.shapes = {}  # keysets by keys in the order of the input, which saves sorting keys for each line
        self.records = 0
        self.labels = 0

    def __len__(self):
        return len(self.texts)

    def add(self, labels):
        self.records += 1
        if not labels:
            return
        shape = tuple(labels)
        keyset = self.shapes.get(shape)
        if keyset is None:
            keys = tuple(sorted(shape))
            keyset = self.shapes[shape] = self.keysets.setdefault(keys, Keyset(keys))
        values = [labels[key] for key in keyset.keys]
        row = array("I", [self.codes.setdefault(value, len(self.codes)) for value in values])
        packed = row.tobytes()
        if packed in keyset.seen:
            return
        keyset.seen.add(packed)
        keyset.rows.append(len(self.texts))
        for column, code in zip(keyset.columns, row):
            column.append(code)
        self.labels += len(row)
        self.texts.append(",".join(map("=".join, zip(keyset.keys, values))).encode())

    def finish(self):
        """Frees what only adding needs."""
        self.shapes.clear()
        for keyset in self.keysets.values():
            keyset.seen.clear()

    @functools.cached_property
    def values(self):
        """The value of each code."""
        return list(self.codes)

    @property
    def text_len(self):
        return sum(map(len, self.texts)) + len(self.texts)

    @property
    def input_order(self):
        return range(len(self))

    @functools.cached_property
    def sorted_order(self):
        """The numbers of the series by their texts, in byte order."""
        return array("I", sorted(range(len(self)), key=self.texts.__getitem__))

    @functools.cached_property
    def keyset_major_order(self):
        """Keyset after keyset, by their lists of keys; in each by the columns, that with most distinct values first. Columns
        with equally many stand in the order of their keys."""
        order = array("I")
        for keys in sorted(self.keysets):
            keyset = self.keysets[keys]
            columns = sorted(keyset.columns, key=lambda column: -len(set(column)))
            by_values = [tuple(self.values[column[row]] for column in columns) for row in range(len(keyset.rows))]
            order.extend(keyset.rows[row] for row in sorted(range(len(keyset.rows)), key=by_values.__getitem__))
        return order


def labels_of(line):
    """Returns the labels of a line. Raises `ValueError` if it is not an object of strings."""
    labels = json.loads(line.decode())
    if type(labels) is not dict or any(type(value) is not str for value in labels.values()):
        raise ValueError("not an object of label to string")
    if "" in labels or "" in labels.values():
        labels = {key: value for key, value in labels.items() if key and value}
    for text in (*labels, *labels.values()) if b"\\u" in line else ():
        text.encode()  # half a surrogate pair is not a character
    return labels


@contextlib.contextmanager
def unpacked(path):
    """The content of a file, line by line; what compressed it is seen by its first bytes."""
    with open(path, "rb") as file:
        head = file.read(4)
    # A zstd stream may begin with a skippable frame.
    if head == b"\x28\xb5\x2f\xfd" or head[1:] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F:
        try:
            process = subprocess.Popen(["zstd", "-dcq", "--long=31", "--", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Failed(f"{path}: is compressed, and zstd cannot be started: {error.strerror}") from error
        with process:
            try:
                yield process.stdout
                message = process.stderr.read()
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise Damaged(f"{path}: {message.decode(errors='replace').strip()}")
    elif head[:2] == b"\x1f\x8b":
        with gzip.open(path) as file:
            try:
                yield file
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise Damaged(f"{path}: {error}") from error
    else:
        with open(path, "rb") as file:
            yield file


def read(path):
    """The series of a file."""
    series = Series()
    with unpacked(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                labels = labels_of(line)
            except (ValueError, RecursionError) as error:
                raise Damaged(f"{path}: line {number}: {error}") from error
            series.add(labels)
    series.finish()
    return series
