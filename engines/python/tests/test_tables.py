"""Blocks as tables of pyarrow, Polars, pandas, DuckDB and DataFusion, against each other and plain loops."""

import collections
import gc
import pathlib
import shutil
import threading

import datafusion
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet
import pytest
from conftest import GOLDEN, key

import chronoxide

GOLDENS = sorted(GOLDEN.glob("*.cx"))


def labels_of(table):
    """Returns the labelset of each row."""
    columns = [name for name in table.column_names if name not in ("series_ref", "_series_ref", "block")]
    return [
        {name: value for name, value in row.items() if value is not None} for row in table.select(columns).to_pylist()
    ]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_a_golden_is_a_table_of_its_series(path):
    block = chronoxide.open(path)
    table = pyarrow.table(block)
    table.validate(full=True)
    # Names of columns end at a NUL in Arrow's C interface, which is shown instead.
    shown = [{name.replace("\0", "\u2400"): value for name, value in labels.items()} for labels in block]
    assert labels_of(table) == shown
    assert table.column_names[1:] == [name.replace("\0", "\u2400") for name in block.label_names()]
    plain = pyarrow.table(block.batches(strings="view"))
    plain.validate(full=True)
    assert labels_of(plain) == shown
    maps = pyarrow.table(block.batches(as_map=True))["labels"].to_pylist()
    assert [dict(labels) for labels in maps] == list(block)


def test_the_strings_of_a_table_are_those_of_the_block(block):
    for strings in ["dictionary", "view"]:
        table = pyarrow.table(chronoxide.open_block(block.path).batches(["note"], strings=strings))
        column = table["note"].chunk(0)
        views = column.dictionary if strings == "dictionary" else column
        assert views.type == pyarrow.string_view()
        buffers = [buffer for buffer in views.buffers()[2:] if buffer is not None]
        assert buffers
        maps = [line.split()[0].split("-") for line in open("/proc/self/maps") if str(block.path) in line]
        inside = [any(int(a, 16) <= buffer.address < int(b, 16) for a, b in maps) for buffer in buffers]
        assert all(inside), strings


def test_batches_have_the_shape_that_was_asked_for(block, rows):
    reader = pyarrow.RecordBatchReader.from_stream(block.batches(["pod", "absent"], batch_size=1000, limit=2100))
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [1000, 1000, 100]
    assert reader.schema.names == ["series_ref", "pod", "absent"]
    assert pyarrow.Table.from_batches(batches)["absent"].null_count == 2100
    ordered = labels_of(pyarrow.table(block.batches(in_label_order=True)))
    assert ordered == sorted(rows, key=lambda labels: [part.encode() for pair in key(labels) for part in pair])
    for wrong in [
        {"labels": ["pod", "pod"]},
        {"labels": ["series_ref"]},
        {"labels": ["block"]},
        {"labels": ["pod"], "as_map": True},
        {"batch_size": 0},
        {"strings": "text"},
    ]:
        with pytest.raises(ValueError):
            block.batches(**wrong)


def test_a_table_of_a_folder_has_the_ids_of_blocks(folder):
    table = pyarrow.table(folder)
    assert table.num_rows == len(folder)
    assert labels_of(table) == list(folder)
    ids = [id for block in folder.blocks for id in [block.id] * len(block)]
    assert table["block"].to_pylist() == ids
    selected = pyarrow.table(folder.select("up"))
    assert labels_of(selected) == list(folder.select("up"))
    assert pyarrow.table(folder.batches(limit=1700)).num_rows == 1700


def test_the_requested_schema_decides_about_dictionaries(block):
    names = block.label_names()
    plain = pyarrow.schema([("series_ref", pyarrow.uint64()), *((name, pyarrow.string_view()) for name in names)])
    reader = pyarrow.RecordBatchReader.from_stream(block, schema=plain)
    assert reader.schema.types == plain.types and reader.schema.names == plain.names
    assert labels_of(reader.read_all()) == list(block)
    strings = pyarrow.schema([(name, pyarrow.string()) for name in names])
    assert pyarrow.RecordBatchReader.from_stream(block, schema=strings).schema.types[1:] == strings.types


def test_a_schema_that_was_released_is_refused(block):
    for schema in [pyarrow.schema([("pod", pyarrow.string())]), block]:
        capsule = schema.__arrow_c_schema__()
        pyarrow.Schema._import_from_c_capsule(capsule)
        with pytest.raises(ValueError, match="released"):
            block.__arrow_c_stream__(capsule)
    with pytest.raises((ValueError, TypeError)):
        block.__arrow_c_stream__(block.__arrow_c_stream__())
    # Only the types of columns matter.
    nested = pyarrow.int8()
    for _ in range(1000):
        nested = pyarrow.list_(nested)
    odd = pyarrow.schema([pyarrow.field("a", nested), pyarrow.field(b"\xff", pyarrow.string_view())])
    stream = pyarrow.RecordBatchReader._import_from_c_capsule(block.__arrow_c_stream__(odd.__arrow_c_schema__()))
    assert stream.schema.field("pod").type == pyarrow.string_view()


def test_names_with_nul_have_a_column(tmp_path):
    capture = tmp_path / "nul.jsonl"
    capture.write_text('{"a\\u0000b": "1", "job": "x\\u0000y"}\n', encoding="utf-8")
    chronoxide.ingest(capture, tmp_path / "nul.cx")
    block = chronoxide.open(tmp_path / "nul.cx")
    assert block[0] == {"a\0b": "1", "job": "x\0y"}
    row = {"series_ref": 0, "a\u2400b": "1", "job": "x\0y"}
    assert pyarrow.table(block).to_pylist() == [row] and polars.DataFrame(block).height == 1
    session = datafusion.SessionContext()
    session.register_table("series", block)
    assert session.sql("SELECT * FROM series WHERE job IS NOT NULL").to_pylist() == [row]


def test_patterns_that_are_labels_are_not_pushed(tmp_path):
    capture = tmp_path / "patterns.jsonl"
    capture.write_text('{"c": "a.c"}\n{"c": "("}\n', encoding="utf-8")
    chronoxide.ingest(capture, tmp_path / "patterns.cx")
    block = chronoxide.open(tmp_path / "patterns.cx")
    session = datafusion.SessionContext()
    session.register_table("series", block)
    ref = block.find({"c": "a.c"})
    found = session.sql(f"SELECT c FROM series WHERE series_ref = {ref} AND 'abc' ~ c").to_pydict()
    assert found["c"] == ["a.c"]


def test_threads_share_a_table(block):
    session = datafusion.SessionContext()
    session.register_table("series", block)
    counts = []

    def count():
        counts.append(session.sql("SELECT count(pod) AS n FROM series").to_pydict()["n"][0])

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [len(block)] * 8


def test_copied_strings_are_for_all_of_pyarrow(block, folder, tmp_path):
    table = pyarrow.table(block.batches(strings="utf8"))
    table.validate(full=True)
    assert table.schema.field("pod").type == pyarrow.string() and labels_of(table) == list(block)
    pyarrow.parquet.write_table(table, tmp_path / "labels.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "labels.parquet").equals(table)
    filtered = table.filter(pyarrow.compute.field("service") == "cart").sort_by("pod")
    assert filtered.num_rows == len(block.select('{service="cart"}'))
    maps = pyarrow.table(folder.batches(strings="utf8", as_map=True))
    assert [dict(labels) for labels in maps["labels"].to_pylist()] == list(folder)


def test_a_stream_that_is_not_read_to_its_end_is_released(block, tmp_path):
    copy = shutil.copy(block.path, tmp_path / "copy.cx")
    opened = chronoxide.open_block(copy)
    unused = [(opened.__arrow_c_stream__(), opened.__arrow_c_schema__()) for _ in range(10)]
    begun = pyarrow.RecordBatchReader.from_stream(opened)
    begun.read_next_batch()
    del opened
    maps = pathlib.Path("/proc/self/maps")
    assert "copy.cx" in maps.read_text()
    del unused, begun
    gc.collect()
    assert "copy.cx" not in maps.read_text()


def expected_counts(rows):
    counts = collections.Counter()
    for labels in rows:
        if labels["__name__"].startswith("http") and labels.get("zone") != "a":
            counts[labels["service"]] += 1
    return dict(counts)


QUERY = """
    SELECT service, count(*) AS n FROM series
    WHERE __name__ LIKE 'http%' AND zone IS DISTINCT FROM 'a' GROUP BY service
"""


def test_polars_reads_a_block(block, rows):
    frame = polars.DataFrame(block)
    assert frame.height == len(rows)
    chosen = frame.filter(
        polars.col("__name__").cast(polars.String).str.starts_with("http"),
        polars.col("zone").cast(polars.String).ne_missing("a"),
    )
    counts = chosen.group_by(polars.col("service").cast(polars.String)).len()
    assert dict(counts.iter_rows()) == expected_counts(rows)
    plain = polars.DataFrame(block.batches(["pod"], strings="view")).filter(polars.col("pod").str.ends_with("7"))
    assert plain.height == sum(labels["pod"].endswith("7") for labels in rows)
    structs = polars.from_arrow(block).struct.unnest()
    assert structs.equals(frame)
    selected = polars.DataFrame(block.select("up").batches(["pod"]))
    assert sorted(selected["pod"].cast(polars.String)) == sorted(labels["pod"] for labels in block.select("up"))


def test_pandas_reads_a_block(block, rows):
    frame = pyarrow.table(block).to_pandas()
    assert len(frame) == len(rows)
    chosen = frame[frame["__name__"].astype(str).str.startswith("http") & (frame["zone"].astype(object) != "a")]
    counts = chosen.groupby("service", observed=True).size()
    assert counts.to_dict() == expected_counts(rows)
    assert pandas.DataFrame.from_arrow(block).equals(frame)


def test_duckdb_queries_a_block(block, rows):
    connection = duckdb.connect()
    series = pyarrow.RecordBatchReader.from_stream(block)
    connection.register("series", series)
    assert dict(connection.execute(QUERY).fetchall()) == expected_counts(rows)


def test_duckdb_queries_a_block_by_its_name(block, rows):
    series = block.batches(strings="view")
    assert series is not None
    assert dict(duckdb.sql(QUERY).fetchall()) == expected_counts(rows)


def test_datafusion_pushes_conditions_to_a_block(block, rows):
    session = datafusion.SessionContext()
    session.register_table("series", block)
    result = session.sql(QUERY).to_pydict()
    assert dict(zip(result["service"], result["n"])) == expected_counts(rows)
    plan = "\n".join(session.sql("EXPLAIN " + QUERY).to_pydict()["plan"])
    assert "full_filters=[" in plan and "FilterExec" not in plan
    up = session.sql("SELECT series_ref FROM series WHERE __name__ = 'up' AND zone IS NULL").to_pydict()
    assert sorted(up["series_ref"]) == block.select('up{zone=""}').refs()
    assert session.sql("SELECT count(*) AS n FROM series WHERE pod ~ '1$'").to_pydict()["n"] == [
        sum(labels["pod"].endswith("1") for labels in rows)
    ]
    upper = session.sql("SELECT count(*) AS n FROM series WHERE upper(pod) = 'POD-11'").to_pydict()
    assert upper["n"] == [sum(labels["pod"] == "pod-11" for labels in rows)]


def test_datafusion_joins_a_folder_with_samples(folder, tmp_path):
    by_row = [(block.id, ref, float(ref)) for block in folder.blocks for ref in range(len(block))]
    samples = pyarrow.table(
        {
            "block": [block for block, _, _ in by_row],
            "series_ref": pyarrow.array([ref for _, ref, _ in by_row], pyarrow.uint64()),
            "value": [value for _, _, value in by_row],
        }
    )
    pyarrow.parquet.write_table(samples, tmp_path / "samples.parquet")
    session = datafusion.SessionContext()
    session.register_table("series", folder)
    session.register_parquet("samples", str(tmp_path / "samples.parquet"))
    found = session.sql(
        "SELECT service, sum(value) AS total FROM series JOIN samples USING (block, series_ref)"
        " WHERE service <> 'cart' GROUP BY service"
    ).to_pydict()
    expected = collections.Counter()
    for block in folder.blocks:
        for ref, labels in enumerate(block):
            if labels["service"] != "cart":
                expected[labels["service"]] += float(ref)
    assert dict(zip(found["service"], found["total"])) == dict(expected)


def test_datafusion_takes_selections_as_arrow(block):
    session = datafusion.SessionContext()
    session.from_arrow(block.select("up"), name="up")
    assert session.sql("SELECT count(*) AS n FROM up").to_pydict()["n"] == [len(block.select("up"))]


def test_datafusion_gets_errors_of_other_sessions(block):
    class Wrong:
        def __datafusion_logical_extension_codec__(self):
            return 7

    with pytest.raises(AttributeError):
        block.__datafusion_table_provider__(object())
    with pytest.raises(TypeError):
        block.__datafusion_table_provider__(Wrong())
