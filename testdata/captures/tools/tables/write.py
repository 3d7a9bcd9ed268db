"""Writes the same series as tables of Polars, DuckDB and pyarrow into a folder: python3 write.py FOLDER"""

import os
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet

os.chdir(sys.argv[1])
LONG = "web-with-a-long-name-that-is-not-inline"


def both(frame, name):
    frame.write_ipc(f"polars-{name}.arrow")
    frame.write_parquet(f"polars-{name}.parquet")


series = pl.DataFrame({"__name__": ["up", "up", "down"], "job": ["api", None, LONG], "zone": ["a", "b", "a"]})
both(series, "text")
both(series.with_columns(pl.all().cast(pl.Categorical)), "categorical")
both(series.with_columns(pl.col("zone").cast(pl.Enum(["a", "b", "c"]))), "enum")
both(series.with_columns(pl.all().cast(pl.Binary)), "binary")
both(series.select(labels=pl.struct(pl.all())), "struct")
pairs = [[{"key": k, "value": v} for k, v in row.items() if v] for row in series.to_dicts()]
both(pl.DataFrame({"tags": pairs}), "pairs")
series.write_ipc("polars-zstd.arrow", compression="zstd")
series.write_ipc("polars-oldest.arrow", compat_level=pl.CompatLevel.oldest())
series.write_ipc_stream("polars-stream.arrows")
series.write_csv("polars.csv")
series.write_parquet("polars-partitions", partition_by=["zone"])

connection = duckdb.connect()
connection.execute(f"""CREATE TABLE series AS SELECT * FROM (VALUES
    ('up', 'api', 'a'), ('up', NULL, 'b'), ('down', '{LONG}', 'a')) t(__name__, job, zone)""")
MAP = "MAP_FROM_ENTRIES([e FOR e IN [('__name__', __name__), ('job', job), ('zone', zone)] IF e[2] IS NOT NULL])"
for name, columns in {
    "text": "*",
    "enum": "__name__, job, zone::zones AS zone",
    "blob": "__name__::BLOB AS __name__, job::BLOB AS job, zone::BLOB AS zone",
    "map": f"{MAP} AS tags",
    "maps": "MAP {'job': job} AS resource, MAP {'__name__': __name__, 'zone': zone} AS attributes",
    "struct": "{'__name__': __name__, 'job': job, 'zone': zone} AS labels",
    "pairs": "[{'name': '__name__', 'value': __name__}, {'name': 'job', 'value': job}, "
    "{'name': 'zone', 'value': zone}] AS labels",
}.items():
    if name == "enum":
        connection.execute("CREATE TYPE zones AS ENUM ('a', 'b')")
    connection.execute(f"COPY (SELECT {columns} FROM series) TO 'duckdb-{name}.parquet' (FORMAT parquet)")
connection.execute("COPY series TO 'duckdb.csv' (HEADER)")
connection.execute("""CREATE TABLE partitions AS SELECT * FROM (VALUES
    ('up', 'api', 'x'), ('up', 'b/ä =c', 'x'), ('down', NULL, 'y'), ('down', '', 'z')) t(__name__, job, pod)""")
for form in ["parquet", "csv", "json"]:
    connection.execute(f"COPY partitions TO 'duckdb-{form}-partitions' (FORMAT {form}, PARTITION_BY (job), OVERWRITE)")

table = pa.Table.from_pylist(series.to_dicts())
collected = []
options = {"partition_cols": ["zone"], "basename_template": "{i}.parquet", "existing_data_behavior": "delete_matching"}
pyarrow.parquet.write_to_dataset(table, "pyarrow-partitions", metadata_collector=collected, **options)
parts = table.drop_columns("zone").schema
pyarrow.parquet.write_metadata(parts, "pyarrow-partitions/_common_metadata")
# Threads write the files in any order.
collected.sort(key=lambda part: part.row_group(0).column(0).file_path)
pyarrow.parquet.write_metadata(parts, "pyarrow-partitions/_metadata", metadata_collector=collected)
