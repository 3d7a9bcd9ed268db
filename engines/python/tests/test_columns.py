"""Columns of values, against dicts of the values that were set."""

import datetime

import numpy
import polars
import pyarrow
import pytest
from conftest import GOLDEN, key

import chronoxide

COLUMNS = {
    "app.chunks": ("bytes", "newest"),
    "app.size": ("u64", "sum"),
    "chronoxide.first_time": ("i64", "min"),
}


def value(name, number):
    """The value of a series by its number: each column has one for other series."""
    values = {
        "app.chunks": None if number % 4 == 1 else b"" if number % 7 == 0 else b"chunk %d" % (number // 3),
        "app.size": None if number % 5 == 2 else 2**64 - 1 - number,
        "chronoxide.first_time": -(2**63) + 60 * number,
    }
    return values[name]


@pytest.fixture(scope="module")
def paths(rows, tmp_path_factory):
    """A folder of two blocks: only the first has columns. Some series are in both."""
    folder = tmp_path_factory.mktemp("columns")
    writer = chronoxide.Writer(time_range=(0, 10))
    units = {"u64": 1, "i64": 2, "bytes": 1}
    numbers = {name: writer.add_column(name, *kind, unit=units[kind[0]]) for name, kind in COLUMNS.items()}
    assert list(numbers.values()) == [0, 1, 2]
    for number, labels in enumerate(rows[:600]):
        series = writer.insert(labels)
        for name, column in numbers.items():
            if (own := value(name, number)) is not None:
                writer.set(column, series, own)
    writer.finish(folder / "values.cx")
    plain = chronoxide.Writer(time_range=(10, 20))
    for labels in rows[500:700]:
        plain.insert(labels)
    plain.finish(folder / "plain.cx")
    return folder


@pytest.fixture(scope="module")
def expected(rows):
    """Values by labelset."""
    return {key(labels): {name: value(name, number) for name in COLUMNS} for number, labels in enumerate(rows[:600])}


def test_values_are_those_that_were_set(paths, expected):
    block = chronoxide.open(paths / "values.cx")
    columns = block.columns
    assert {name: (column.type, column.merge) for name, column in columns.items()} == COLUMNS
    assert list(columns) == sorted(COLUMNS) and all(column.name == name for name, column in columns.items())
    for name, column in columns.items():
        everything = [expected[key(labels)][name] for labels in block]
        assert [column[ref] for ref in range(len(block))] == everything
        array = pyarrow.array(column.read())
        array.validate(full=True)
        assert array.cast("int64" if column.type == "i64" else array.type).to_pylist() == everything
        selection = block.select('up{pod=~"pod-.[0-6]"}')
        values = column.read(selection)
        found = [expected[key(labels)][name] for labels in selection]
        assert 20 < len(values) == len(selection) == len(found) < len(block)
        assert values.null_count == found.count(None)
        integers = pyarrow.array(values).cast("int64" if column.type == "i64" else pyarrow.array(values).type)
        assert integers.to_pylist() == found
        assert polars.Series(values).len() == len(found)
    assert columns["chronoxide.first_time"].read().null_count == 0 < columns["app.size"].read().null_count


def test_numpy_reads_integers_where_they_are(paths, expected):
    block = chronoxide.open(paths / "values.cx")
    column = block.columns["chronoxide.first_time"]
    values = column.read(block)
    array = numpy.asarray(values)
    assert array.dtype == numpy.int64 and not array.flags.writeable
    assert array.__array_interface__["data"][0] == values.__array_interface__["data"][0]
    del values, block
    assert array.tolist() == [expected[key(labels)][column.name] for labels in chronoxide.open(paths / "values.cx")]
    block = chronoxide.open(paths / "values.cx")
    with pytest.raises(ValueError, match="of 600 series have no value"):
        numpy.asarray(block.columns["app.size"].read())
    with pytest.raises(ValueError, match=r"bytes|no value"):
        numpy.asarray(block.columns["app.chunks"].read())
    empty = numpy.asarray(column.read(block.select("absent")))
    assert (empty.shape, empty.dtype) == ((0,), numpy.int64)


def test_a_folder_has_the_columns_of_its_blocks(paths, expected):
    folder = chronoxide.open(paths)
    columns = folder.columns
    assert {name: (column.type, column.merge) for name, column in columns.items()} == COLUMNS
    for name, column in columns.items():
        values = pyarrow.array(column.read(folder))
        values = values.cast("int64" if column.type == "i64" else values.type).to_pylist()
        found = []
        for block in folder.blocks:
            has_columns = block.columns != {}
            found += [expected[key(labels)][name] if has_columns else None for labels in block]
        assert values == found and len(values) == 800
        places = [(block.id, ref) for block in folder.blocks for ref in range(len(block))]
        assert [column[place] for place in places] == found
    both = next(labels for labels in folder if len(folder.find(labels)) == 2)
    assert {columns["chronoxide.first_time"][place] for place in folder.find(both)} == {
        None,
        expected[key(both)]["chronoxide.first_time"],
    }


@pytest.mark.parametrize("strings", ["dictionary", "view", "utf8"])
def test_batches_have_values_beside_labels(paths, expected, strings):
    folder = chronoxide.open(paths)
    names = [*COLUMNS, "chronoxide.fingerprint"]
    table = pyarrow.table(folder.batches(["pod"], values=names, strings=strings, batch_size=100))
    table.validate(full=True)
    assert table.column_names == ["block", "series_ref", "pod", *names]
    assert [str(table.schema.field(name).type) for name in names] == [
        "binary" if strings == "utf8" else "binary_view",
        "uint64",
        "timestamp[ns, tz=UTC]",
        "fixed_size_binary[16]",
    ]
    blocks = {block.id: block for block in folder.blocks}
    fingerprints = {}
    table = table.set_column(5, "chronoxide.first_time", table["chronoxide.first_time"].cast("int64"))
    for row in table.to_pylist():
        block = blocks[row["block"]]
        labels = key(block[row["series_ref"]])
        own = expected[labels] if block.columns else dict.fromkeys(COLUMNS)
        assert {name: row[name] for name in COLUMNS} == own
        assert fingerprints.setdefault(labels, row["chronoxide.fingerprint"]) == row["chronoxide.fingerprint"]
    assert table.num_rows == 800 and len(fingerprints) == len(set(fingerprints.values())) == 700


def test_wrong_columns_and_values_are_exceptions(paths, tmp_path):
    block, folder = chronoxide.open(paths / "values.cx"), chronoxide.open(paths)
    with pytest.raises(ValueError, match=r'no block has a series column "app\.none"'):
        block.batches(values=["app.none"])
    column, others = block.columns["app.size"], folder.columns["app.size"]
    for ref in [600, 2**32 - 1]:
        with pytest.raises(IndexError, match="600 series"):
            column[ref]
    with pytest.raises((OverflowError, TypeError)):
        column[-1]
    with pytest.raises(TypeError):
        column["pod"]
    with pytest.raises(TypeError, match="a block id and a ref"):
        others[0]
    for wrong in ["no id", chronoxide.open(GOLDEN / "plain-bitpacked.cx").id]:
        with pytest.raises(KeyError):
            others[wrong, 0]
    with pytest.raises(ValueError, match="other blocks"):
        column.read(folder.select("up"))
    writer = chronoxide.Writer()
    for wrong in [("a", "i32", "min"), ("a", "i64", "first"), ("", "i64", "min"), ("a", "bytes", "sum")]:
        with pytest.raises(ValueError):
            writer.add_column(*wrong)
    number, text = writer.add_column("number", "u64", "same"), writer.add_column("text", "bytes", "min")
    with pytest.raises(ValueError, match="number"):
        writer.add_column("number", "u64", "same")
    series = writer.insert({"pod": "a", "number": "label"})
    writer.set(number, series, 7)
    for column, other, wrong in [(number, series, 8), (number, 1, 7), (2, series, 7)]:
        with pytest.raises(ValueError):
            writer.set(column, other, wrong)
    for wrong in [-1, 2**64]:
        with pytest.raises(OverflowError):
            writer.set(number, series, wrong)
    for column, wrong in [(number, b"7"), (number, "7"), (text, 7), (text, "7")]:
        with pytest.raises(TypeError):
            writer.set(column, series, wrong)
    made = chronoxide.open(writer.finish(tmp_path / "new.cx")["path"])
    assert (made.columns["number"][0], made.columns["text"][0]) == (7, None)
    with pytest.raises(ValueError, match='"number" is a label and a series column'):
        made.batches(values=["number"])
    assert pyarrow.table(made.batches(["pod"], values=["number"]))["number"].to_pylist() == [7]
    with pytest.raises(ValueError, match="another Writer"):
        writer.set(number, series, 7)


def test_columns_that_differ_name_both_blocks(tmp_path):
    for name, kind in [("a.cx", "u64"), ("b.cx", "i64")]:
        writer = chronoxide.Writer()
        writer.add_column("value", kind, "max")
        writer.insert({"pod": name})
        writer.finish(tmp_path / name)
    folder = chronoxide.open(tmp_path)
    with pytest.raises(ValueError, match=r"a\.cx.*b\.cx|b\.cx.*a\.cx"):
        folder.columns
    with pytest.raises(ValueError, match="differ"):
        folder.batches(values=["value"])


def test_damage_of_values_is_an_exception(tmp_path):
    # A byte in the second chunk of 8 KiB, which has the end of the column.
    damaged = bytearray((GOLDEN / "columns-groups.cx").read_bytes())
    damaged[8500] ^= 0xFF
    path = tmp_path / "damaged.cx"
    path.write_bytes(damaged)
    sound = chronoxide.open(GOLDEN / "columns-groups.cx")
    assert len(pyarrow.array(sound.columns["scattered"].read())) == 600
    with pytest.raises(chronoxide.CorruptBlockError, match=r"damaged\.cx"):
        chronoxide.open(path).columns
    with pytest.raises(Exception, match=r"damaged\.cx"):
        pyarrow.table(chronoxide.open(path).batches([], values=["scattered"]))


SECOND = 10**9
# Seconds from which the tests count: integers of early times would be seconds, not milliseconds.
BASE = 1_700_000_000


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """A folder of two blocks, the first with times, and the times of its pods: pod-n has n + 1 points."""
    folder = tmp_path_factory.mktemp("times")
    lines, known = [], {}
    for pod in range(40):
        seconds = [BASE + 100 * pod + 7 * point for point in range(pod + 1)]
        lines += [f'up{{pod="pod-{pod}"}} 1 {1000 * second}' for second in seconds]
        known[f"pod-{pod}"] = (seconds[0] // 10 * 10 * SECOND, -(-seconds[-1] // 10) * 10 * SECOND)
    capture = folder / "times.prom"
    capture.write_text("\n".join(lines) + "\n", encoding="utf-8")
    chronoxide.ingest(capture, folder / "a.cx", time_step=datetime.timedelta(seconds=10))
    lines = [f'up{{pod="other-{pod}"}} 1 {1000 * (BASE + 5000 + 100 * pod)}' for pod in range(3)]
    capture.write_text("\n".join(lines) + "\n", encoding="utf-8")
    chronoxide.ingest(capture, folder / "b.cx")
    capture.unlink()
    return folder, known


def test_times_are_those_of_the_points(times):
    folder, known = times
    block = chronoxide.open(folder / "a.cx")
    first, last = (block.columns[f"chronoxide.{name}_time"].read() for name in ["first", "last"])
    columns = (pyarrow.array(values).cast("int64").to_pylist() for values in [first, last])
    assert dict(zip([labels["pod"] for labels in block], zip(*columns, strict=True), strict=True)) == known


@pytest.mark.parametrize(
    "start, end", [(0, 1), (1000, 1001), (1005, 1300), (2500, 5000), (3990, 6000), (5050, 5060), (9000, 9001), (5, 5)]
)
def test_a_time_range_leaves_out_series_without_data_there(times, start, end):
    folder, known = times
    between = ((BASE + start) * SECOND, (BASE + end) * SECOND)
    is_alive = {pod: start < end and first < between[1] and last >= between[0] for pod, (first, last) in known.items()}
    alive = sorted(pod for pod in known if is_alive[pod])
    block, both = chronoxide.open(folder / "a.cx"), chronoxide.open(folder)
    selected = block.select("up", between=between)
    assert sorted(labels["pod"] for labels in selected) == alive
    assert block.label_values("pod", between=between) == alive
    assert block.label_names(between=between) == (["__name__", "pod"] if alive else [])
    assert block.cardinality(between=between)["series"] == len(alive)
    # All series of a block without times are there if the block has data in the range.
    others = [f"other-{pod}" for pod in range(3)] if start < end and start <= 5200 and end > 5000 else []
    assert sorted(both.label_values("pod", between=between)) == sorted(alive + others)
    assert len(both.select(between=between)) == len(alive + others)
    assert both.untimed_blocks(between) == (1 if others and not (start <= 5000 and end > 5200) else 0)


def test_compactions_keep_the_columns_that_they_are_told(times, tmp_path):
    folder, _ = times
    names = ["chronoxide.first_time", "chronoxide.last_time"]
    for options, left in [
        ({}, names),
        ({"drop_columns": ["chronoxide.l*"]}, names[:1]),
        ({"keep_columns": ["chronoxide.last_time"]}, names[1:]),
        ({"drop_columns": ["*"]}, []),
    ]:
        chronoxide.compact([folder / "a.cx", folder / "b.cx"], tmp_path / "merged.cx", force=True, **options)
        assert list(chronoxide.open(tmp_path / "merged.cx").columns) == left


def test_a_step_must_be_a_length_of_time(tmp_path):
    (tmp_path / "a.prom").write_text("up 1 1\n", encoding="utf-8")
    for wrong in [datetime.timedelta(0), datetime.timedelta(days=200_000)]:
        with pytest.raises(ValueError, match="time_step must be longer than zero and shorter than 292 years"):
            chronoxide.ingest(tmp_path / "a.prom", tmp_path / "a.cx", time_step=wrong)
