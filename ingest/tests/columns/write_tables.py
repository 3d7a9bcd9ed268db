"""Writes the series of series.json in a folder as Parquet and Arrow files, and prints their names."""

import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

folder = pathlib.Path(sys.argv[1])
rows = json.loads((folder / "series.json").read_text())
names = sorted({name for row in rows for name in row})


def columns(kind):
    arrays = [pa.array([row.get(name) for row in rows], pa.string()).cast(kind) for name in names]
    return pa.table([pa.array(range(len(rows)), pa.uint64()), *arrays], ["series_ref", *names])


def dictionaries(code):
    arrays = [pa.array([row.get(name) for row in rows], pa.string()).dictionary_encode() for name in names]
    arrays = [pa.DictionaryArray.from_arrays(array.indices.cast(code), array.dictionary) for array in arrays]
    return pa.table(arrays, names)


def maps(kind):
    cells = [list(row.items()) for row in rows]
    return pa.table([pa.array(cells, pa.map_(kind, kind))], ["labels"])


def pairs():
    cells = [[{"key": key, "value": value} for key, value in row.items()] for row in rows]
    return pa.table([pa.array(cells, pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))], ["labels"])


def structs():
    return pa.table([pa.array(rows, pa.struct([(name, pa.string()) for name in names]))], ["labels"])


TABLES = {
    "string": columns(pa.string()),
    "large": columns(pa.large_string()),
    "view": columns(pa.string_view()),
    "codes32": dictionaries(pa.uint32()),
    "codes16": dictionaries(pa.int16()),
    "map": maps(pa.string()),
    "binary": columns(pa.binary()),
    "pairs": pairs(),
    "struct": structs(),
}

for name, table in TABLES.items():
    for codec in ["none", "snappy", "gzip", "lz4", "zstd"]:
        for version in ["1.0", "2.0"]:
            path = f"{name}-{codec}-{version}.parquet"
            pyarrow.parquet.write_table(
                table,
                folder / path,
                compression=codec,
                data_page_version=version,
                row_group_size=1000,
                data_page_size=2000,
                write_page_checksum=codec == "zstd",
            )
            print(path)
    for codec in [None, "lz4", "zstd"]:
        options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=codec is None)
        for kind, create in [("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)]:
            path = f"{name}-{codec}.{kind}"
            with create(folder / path, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=700)
            print(path)

for encoding in ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]:
    path = f"{encoding}.parquet"
    encodings = {name: encoding for name in names}
    pyarrow.parquet.write_table(
        TABLES["string"].drop_columns("series_ref"), folder / path, use_dictionary=False, column_encoding=encodings
    )
    print(path)
