//! Columns of series, against maps of their values.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatchReader};
use chronoxide::{
    BatchOptions, BlockWriter, Blocks, ColumnMerge, CompactOptions, Error, ErrorKind, Layout, SeriesId, Value,
    ValueType, WriteOptions, compact,
};

use super::{Labelset, TestResult, labelsets};

/// Values of a block: a number, a signed number and a text for some pods.
type Model = BTreeMap<Labelset, (u64, i64, String)>;

fn model(from: u32, to: u32, salt: u64) -> Model {
    let value = |(number, labels): (u64, Labelset)| {
        let (mixed, text) = ((number + salt) * 7919 % 1000, format!("chunk {}", (number + salt) / 3));
        (labels, (mixed, mixed.cast_signed() - 500, text))
    };
    (0..).zip(labelsets(from, to)).map(value).collect()
}

/// Writes a block in another order than that of its refs. Each 5th series has no values.
fn write(path: &std::path::Path, options: WriteOptions, model: &Model) -> Result<(), Error> {
    let mut writer = BlockWriter::with_options(options);
    let sum = writer.add_column("app.sum", ValueType::U64, ColumnMerge::Sum)?;
    let first = writer.add_column_of("app.first", ValueType::I64, ColumnMerge::Min, 10)?;
    let text = writer.add_column("app.text", ValueType::Bytes, ColumnMerge::Newest)?;
    for (labels, (number, signed, chunk)) in model.iter().rev() {
        let series = writer.insert(labels)?;
        if number % 5 > 0 {
            // Twice, and in two parts.
            writer.set(sum, series, *number - 1)?;
            writer.set(sum, series, 1_u64)?;
            writer.set(first, series, signed * 10 + 70)?;
            writer.set(first, series, signed * 10)?;
            writer.set(text, series, "older")?;
            writer.set(text, series, chunk.as_str())?;
        }
    }
    writer.finish(path).map(drop)
}

fn known(model: &Model, labels: &Labelset) -> Option<(u64, i64, String)> {
    model.get(labels).filter(|(number, ..)| number % 5 > 0).cloned()
}

fn owned(series: &chronoxide::Series<'_, '_>) -> Labelset {
    series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned())).collect()
}

#[test]
fn values_are_those_that_were_set() -> TestResult {
    let folder = tempfile::tempdir()?;
    let model = model(0, 400, 0);
    for layout in [Layout::Factored, Layout::BitPacked, Layout::FixedWidth] {
        let path = folder.path().join("one.cx");
        write(&path, WriteOptions::new().layout(layout).replace(true), &model)?;
        let blocks = Blocks::open(&path)?;
        blocks.verify()?;
        let facts: Vec<_> =
            blocks.columns()?.into_iter().map(|column| (column.name, column.value_type, column.merge)).collect();
        assert_eq!(
            facts,
            [
                ("app.first", ValueType::I64, ColumnMerge::Min),
                ("app.sum", ValueType::U64, ColumnMerge::Sum),
                ("app.text", ValueType::Bytes, ColumnMerge::Newest),
            ]
        );
        assert!(blocks.column("app")?.is_none());
        let column = |name| blocks.column(name).map(|column| column.expect("the block has it"));
        let (sum, first, text) = (column("app.sum")?, column("app.first")?, column("app.text")?);
        let (mut rows, mut count) = (blocks.query("{}")?.series()?, 0);
        while let Some(series) = rows.next()? {
            let expected = known(&model, &owned(&series));
            assert_eq!(sum.of(&series)?, expected.as_ref().map(|(number, ..)| Value::U64(*number)));
            assert_eq!(first.of(&series)?, expected.as_ref().map(|(_, signed, _)| Value::I64(signed * 10)));
            assert_eq!(text.of(&series)?, expected.as_ref().map(|(.., chunk)| Value::Bytes(chunk.as_bytes())));
            count += usize::from(expected.is_some());
        }
        assert!(count > 100 && count < model.len(), "{count}");
        // Ids and selections give the same values.
        let selection = blocks.query(r#"up{pod=~"web-.*[2-7]"}"#)?.select()?;
        let mut read = Vec::new();
        sum.read_selection(&selection, |id, value| {
            read.push((id, value));
            Ok::<(), Error>(())
        })?;
        let by_id = selection.ids().map(|id| Ok((id, sum.get(id)?))).collect::<Result<Vec<_>, Error>>()?;
        assert_eq!(read, by_id);
        assert!(read.len() > 100);
        let other = SeriesId { series: u32::MAX, ..by_id[0].0 };
        assert_eq!(sum.get(other)?, None);
    }
    Ok(())
}

#[test]
fn values_of_several_blocks_are_combined() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    // Times decide which block is newer, not the order of ids.
    let (older, newer) = (model(0, 10, 3), model(5, 15, 4));
    write(&path("a.cx"), WriteOptions::new().time(0, 100), &newer)?;
    write(&path("b.cx"), WriteOptions::new().time(-50, 90), &older)?;
    let blocks = Blocks::open(folder.path())?;
    let column = |name| blocks.column(name).map(|column| column.expect("a block has it"));
    let (sum, first, text) = (column("app.sum")?, column("app.first")?, column("app.text")?);
    for mut rows in [blocks.query("{}")?.series()?, blocks.query("{}")?.sorted_series()?] {
        let mut both = 0;
        while let Some(series) = rows.next()? {
            let labels = owned(&series);
            let all: Vec<_> = [&older, &newer].into_iter().filter_map(|model| known(model, &labels)).collect();
            both += usize::from(all.len() == 2);
            let total: u64 = all.iter().map(|(number, ..)| number).sum();
            assert_eq!(sum.of(&series)?, (!all.is_empty()).then_some(Value::U64(total)));
            assert_eq!(first.of(&series)?, all.iter().map(|(_, signed, _)| Value::I64(signed * 10)).min());
            assert_eq!(text.of(&series)?, all.last().map(|(.., chunk)| Value::Bytes(chunk.as_bytes())));
        }
        assert!(both > 3, "{both}");
    }
    // A block without columns, and one whose column is another.
    let mut writer = BlockWriter::new();
    writer.insert([("__name__", "up"), ("pod", "plain")])?;
    writer.finish(path("c.cx"))?;
    let fresh = blocks.refresh()?;
    let plain = fresh.query(r#"{pod="plain"}"#)?.select()?;
    let sum = fresh.column("app.sum")?.expect("two blocks have it");
    sum.read_selection(&plain, |_, value| {
        assert_eq!(value, None);
        Ok::<(), Error>(())
    })?;
    let error = sum.read_selection(&blocks.query("{}")?.select()?, |_, _| Ok::<(), Error>(()));
    assert_eq!(error.expect_err("another snapshot").kind(), ErrorKind::Usage);
    let mut writer = BlockWriter::new();
    writer.add_column("app.sum", ValueType::U64, ColumnMerge::Max)?;
    writer.insert([("__name__", "up"), ("pod", "other")])?;
    writer.finish(path("d.cx"))?;
    let fresh = blocks.refresh()?;
    for error in [fresh.column("app.sum").map(drop), fresh.columns().map(drop)] {
        let error = error.expect_err("the ways differ");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("d.cx") && error.to_string().contains("app.sum"), "{error}");
    }
    Ok(())
}

#[test]
fn what_a_column_cannot_have_is_refused() -> TestResult {
    let mut writer = BlockWriter::new();
    for (name, value_type, merge, unit) in [
        ("", ValueType::U64, ColumnMerge::Min, 1),
        ("bytes", ValueType::Bytes, ColumnMerge::Sum, 1),
        ("unit", ValueType::I64, ColumnMerge::Min, 0),
    ] {
        let error = writer.add_column_of(name, value_type, merge, unit).expect_err("it is not allowed");
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
    let same = writer.add_column("same", ValueType::U64, ColumnMerge::Same)?;
    let error = writer.add_column("same", ValueType::I64, ColumnMerge::Max).expect_err("it is there");
    assert_eq!(error.kind(), ErrorKind::Usage);
    let minutes = writer.add_column_of("minutes", ValueType::I64, ColumnMerge::Sum, 60)?;
    let series = writer.insert([("__name__", "up")])?;
    writer.set(same, series, 7_u64)?;
    writer.set(same, series, 7_u64)?;
    writer.set(minutes, series, i64::MAX / 60 * 60)?;
    for error in [
        writer.set(same, series, 8_u64),
        writer.set(same, series, 7_i64),
        writer.set(minutes, series, 61_i64),
        writer.set(minutes, series, 60_i64),
        writer.set(minutes, chronoxide::SeriesNumber(1), 60_i64),
        writer.set(chronoxide::ColumnNumber(2), series, 60_i64),
    ] {
        assert_eq!(error.expect_err("it is not allowed").kind(), ErrorKind::Usage);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("one.cx");
    writer.finish(&path)?;
    let blocks = Blocks::open(&path)?;
    let value = |name| {
        Ok::<_, Error>(blocks.column(name)?.map(|column| column.get(SeriesId { block: id(&blocks), series: 0 })))
    };
    assert_eq!(value("same")?.transpose()?.flatten(), Some(Value::U64(7)));
    assert_eq!(value("minutes")?.transpose()?.flatten(), Some(Value::I64(i64::MAX / 60 * 60)));
    Ok(())
}

fn id(blocks: &Blocks) -> chronoxide::BlockId {
    blocks.iter().next().expect("a block").expect("a sound block").id
}

/// Values of the inputs are those of the output, combined.
#[test]
fn a_merged_block_has_the_values_of_its_inputs() -> TestResult {
    let folder = tempfile::tempdir()?;
    let paths = ["a.cx", "b.cx", "c.cx"].map(|name| folder.path().join(name));
    let (older, newer) = (model(0, 10, 3), model(5, 15, 4));
    write(&paths[0], WriteOptions::new().time(0, 100), &newer)?;
    write(&paths[1], WriteOptions::new().time(-50, 90), &older)?;
    super::write(&paths[2], WriteOptions::new().time(0, 1), &labelsets(12, 17))?;
    let merged = compact(&paths, folder.path().join("all.cx"), &CompactOptions::new())?;
    let (before, after) = (Blocks::open(&paths[0])?, Blocks::open(folder.path())?);
    assert_eq!((after.len(), after.replaced()), (1, 3));
    assert_eq!(after.columns()?, before.columns()?);
    let column = |name| after.column(name).map(|column| column.expect("a block has it"));
    let (sum, first, text) = (column("app.sum")?, column("app.first")?, column("app.text")?);
    let (mut rows, mut count) = (after.query("{}")?.series()?, 0);
    while let Some(series) = rows.next()? {
        let labels = owned(&series);
        let all: Vec<_> = [&older, &newer].into_iter().filter_map(|model| known(model, &labels)).collect();
        let total: u64 = all.iter().map(|(number, ..)| number).sum();
        assert_eq!(sum.of(&series)?, (!all.is_empty()).then_some(Value::U64(total)));
        assert_eq!(first.of(&series)?, all.iter().map(|(_, signed, _)| Value::I64(signed * 10)).min());
        assert_eq!(text.of(&series)?, all.last().map(|(.., chunk)| Value::Bytes(chunk.as_bytes())));
        count += 1;
    }
    assert_eq!(count, merged.series_out);
    Ok(())
}

#[test]
fn columns_that_differ_are_not_merged() -> TestResult {
    let folder = tempfile::tempdir()?;
    let paths = ["a.cx", "b.cx"].map(|name| folder.path().join(name));
    for (path, merge) in paths.iter().zip([ColumnMerge::Min, ColumnMerge::Max]) {
        let mut writer = BlockWriter::new();
        writer.add_column("app.time", ValueType::I64, merge)?;
        writer.insert([("__name__", merge.name())])?;
        writer.finish(path)?;
    }
    let output = folder.path().join("all.cx");
    let error = compact(&paths, &output, &CompactOptions::new()).expect_err("the ways differ");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Usage, Some(&*paths[1])));
    let text = error.to_string();
    assert!(text.contains("app.time") && text.contains("a.cx") && text.contains("b.cx"), "{text}");
    assert!(!output.exists());
    Ok(())
}

/// Neither the order of insertion nor its reverse is the order of refs.
#[test]
fn values_stay_with_their_series_in_any_order() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("one.cx");
    let mut writer = BlockWriter::new();
    let number = writer.add_column("number", ValueType::U64, ColumnMerge::Max)?;
    for step in 0..101_u64 {
        let pod = step * 37 % 101;
        let series = writer.insert([("pod", format!("{pod:03}").as_str())])?;
        writer.set(number, series, pod)?;
    }
    writer.finish(&path)?;
    let blocks = Blocks::open(&path)?;
    let column = blocks.column("number")?.expect("the block has it");
    let mut rows = blocks.query("{}")?.series()?;
    let mut count = 0;
    while let Some(series) = rows.next()? {
        let pod: u64 = series.labels()[0].value.parse()?;
        assert_eq!(column.of(&series)?, Some(Value::U64(pod)));
        count += 1;
    }
    assert_eq!(count, 101);
    Ok(())
}

/// Writes a block of the series `shared`, and of another so that each block has its own id.
fn write_one(
    path: &std::path::Path,
    (start, end): (i64, i64),
    own: &str,
    value: i64,
) -> Result<chronoxide::BlockId, Error> {
    let mut writer = BlockWriter::with_options(WriteOptions::new().time(start, end));
    let newest = writer.add_column("newest", ValueType::I64, ColumnMerge::Newest)?;
    let shared = writer.insert([("pod", "shared")])?;
    writer.insert([("pod", own)])?;
    writer.set(newest, shared, value)?;
    writer.finish(path).map(|written| written.block)
}

/// Ends of times decide, not starts, and ids decide between equal ends.
#[test]
fn the_newest_block_is_the_one_that_ends_last() -> TestResult {
    // Ids are as good as random: each order of them comes up.
    for round in 0..8 {
        for (times, is_by_id) in [([(50, 90), (0, 100)], false), ([(0, 100), (50, 100)], true)] {
            let folder = tempfile::tempdir()?;
            let mut ids = Vec::new();
            for (number, time) in (0..).zip(times) {
                let path = folder.path().join(format!("{number}.cx"));
                ids.push((write_one(&path, time, &format!("own-{round}-{number}"), number)?, number));
            }
            let greatest = ids.iter().max().expect("two blocks").1;
            let expected = if is_by_id { greatest } else { 1 };
            let blocks = Blocks::open(folder.path())?;
            let column = blocks.column("newest")?.expect("both blocks have it");
            let mut rows = blocks.query(r#"{pod="shared"}"#)?.series()?;
            let series = rows.next()?.expect("the shared series");
            assert_eq!(series.ids().count(), 2);
            assert_eq!(column.of(&series)?, Some(Value::I64(expected)));
        }
    }
    Ok(())
}

/// Columns of one name and way, but of two types; and a value that is refused when it is set, not when it is written.
#[test]
fn types_and_units_are_checked_at_once() -> TestResult {
    let folder = tempfile::tempdir()?;
    for (name, value_type) in [("a.cx", ValueType::U64), ("b.cx", ValueType::I64)] {
        let mut writer = BlockWriter::new();
        writer.add_column("value", value_type, ColumnMerge::Max)?;
        writer.insert([("pod", name)])?;
        writer.finish(folder.path().join(name))?;
    }
    let blocks = Blocks::open(folder.path())?;
    for error in [blocks.column("value").map(drop), blocks.columns().map(drop)] {
        assert_eq!(error.expect_err("the types differ").kind(), ErrorKind::Usage);
    }
    let mut writer = BlockWriter::new();
    let minutes = writer.add_column_of("minutes", ValueType::I64, ColumnMerge::Sum, 60)?;
    let series = writer.insert([("pod", "a")])?;
    assert_eq!(writer.set(minutes, series, 61_i64).expect_err("no multiple").kind(), ErrorKind::Usage);
    assert_eq!(writer.set(minutes, series, 60_u64).expect_err("another type").kind(), ErrorKind::Usage);
    writer.set(minutes, series, 120_i64)?;
    writer.finish(folder.path().join("c.cx"))?;
    Ok(())
}

/// A selection's series of a block without the column are told, too.
#[test]
fn series_of_blocks_without_a_column_have_no_value() -> TestResult {
    let folder = tempfile::tempdir()?;
    write_one(&folder.path().join("a.cx"), (0, 1), "own", 7)?;
    super::write(&folder.path().join("b.cx"), WriteOptions::new(), &labelsets(0, 5))?;
    let blocks = Blocks::open(folder.path())?;
    let column = blocks.column("newest")?.expect("a block has it");
    let selection = blocks.query("{}")?.select()?;
    let mut read = Vec::new();
    column.read_selection(&selection, |id, value| {
        read.push((id, value));
        Ok::<(), Error>(())
    })?;
    let by_id = selection.ids().map(|id| Ok((id, column.get(id)?))).collect::<Result<Vec<_>, Error>>()?;
    assert_eq!(read, by_id);
    assert_eq!((read.len(), read.iter().filter(|(_, value)| value.is_some()).count()), (12, 1));
    Ok(())
}

/// Rows of batches: the metric and the pod, a number, a signed number, bytes and a time.
type ValueRow = (String, String, Option<u64>, Option<i64>, Option<Vec<u8>>, Option<i64>);

fn value_rows(batches: chronoxide::Batches) -> Result<Vec<ValueRow>, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch?;
        let column = |name| batch.column_by_name(name).expect("a column");
        let times = column("chronoxide.first_time").as_primitive::<TimestampNanosecondType>();
        for row in 0..batch.num_rows() {
            let label = |name| column(name).as_string_view().value(row).to_owned();
            let sum = column("app.sum").as_primitive::<UInt64Type>().iter().nth(row).flatten();
            let first = column("app.first").as_primitive::<Int64Type>().iter().nth(row).flatten();
            let text = column("app.text").as_binary_view().iter().nth(row).flatten().map(<[u8]>::to_vec);
            rows.push((label("__name__"), label("pod"), sum, first, text, times.iter().nth(row).flatten()));
        }
    }
    Ok(rows)
}

/// A folder of two blocks: the first has the columns of the model, the second has times.
#[test]
fn batches_have_the_values_of_each_block() -> TestResult {
    let folder = tempfile::tempdir()?;
    let model = model(0, 40, 2);
    write(&folder.path().join("a.cx"), WriteOptions::new().time(0, 9), &model)?;
    let timed = labelsets(30, 50);
    let mut writer = BlockWriter::with_options(WriteOptions::new().time(9, 12));
    let first_time = writer.add_column("chronoxide.first_time", ValueType::I64, ColumnMerge::Min)?;
    for (labels, time) in timed.iter().zip(-10_i64..) {
        let series = writer.insert(labels)?;
        if time % 3 != 0 {
            writer.set(first_time, series, time)?;
        }
    }
    writer.finish(folder.path().join("b.cx"))?;

    let blocks = Blocks::open(folder.path())?;
    let names = ["app.sum", "app.first", "app.text", "chronoxide.first_time"];
    let options = BatchOptions::new().labels(["__name__", "pod"]).values(names).without_dictionaries(true);
    let named = |labels: &Labelset| (labels["__name__"].clone(), labels["pod"].clone());
    let mut expected: Vec<ValueRow> = Vec::new();
    for labels in model.keys() {
        let (name, pod) = named(labels);
        let (sum, first, text) = known(&model, labels)
            .map(|(sum, first, text)| (sum, first * 10, text.into_bytes()))
            .map_or((None, None, None), |(sum, first, text)| (Some(sum), Some(first), Some(text)));
        expected.push((name, pod, sum, first, text, None));
    }
    for (labels, time) in timed.iter().zip(-10_i64..) {
        let (name, pod) = named(labels);
        expected.push((name, pod, None, None, None, (time % 3 != 0).then_some(time)));
    }
    expected.sort_unstable();
    for options in [options.clone(), options.clone().batch_size(7), options.clone().sorted(true).batch_size(5)] {
        let query = blocks.query("{}")?;
        for batches in [query.batches(&options)?, query.select()?.batches(&options)?] {
            let fields = batches.schema();
            let fields: Vec<&str> = fields.fields().iter().map(|field| field.name().as_str()).collect();
            assert_eq!(fields[1..], [&["__name__", "pod"], &names[..]].concat());
            let mut found = value_rows(batches)?;
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }
    // An array has the values of a selection, in the order of its ids.
    let up = blocks.query("up")?.select()?;
    for name in names {
        let column = blocks.column(name)?.expect("a block has it");
        let array = column.to_array(&up)?;
        assert_eq!((array.len(), array.null_count() > 20), (60, true), "{name}");
        for (row, id) in up.ids().enumerate() {
            assert_eq!(array.is_valid(row), column.get(id)?.is_some());
        }
        if name == "app.sum" {
            let sums = array.as_primitive::<UInt64Type>().iter().map(|sum| sum.map(Value::U64));
            assert!(sums.eq(up.ids().map(|id| column.get(id).expect("sound"))));
        }
    }
    // Fingerprints join the series that both blocks have.
    let fingerprints = BatchOptions::new().labels(["pod"]).values([BatchOptions::FINGERPRINT]);
    let mut distinct = std::collections::BTreeSet::new();
    let mut count = 0;
    for batch in blocks.query("{}")?.batches(&fingerprints)? {
        let batch = batch?;
        distinct.extend(batch.column(2).as_fixed_size_binary().iter().flatten().map(<[u8]>::to_vec));
        count += batch.num_rows();
    }
    assert_eq!((count, distinct.len()), (120, 100));
    let mut rows = blocks.query("{}")?.series()?;
    while let Some(series) = rows.next()? {
        assert!(distinct.remove(&series.fingerprint()[..]));
    }
    assert!(distinct.is_empty());
    Ok(())
}

#[test]
fn batches_refuse_values_that_blocks_do_not_have_alike() -> TestResult {
    let folder = tempfile::tempdir()?;
    let write_one = |name: &str, value_type| -> TestResult {
        let mut writer = BlockWriter::new();
        writer.add_column("value", value_type, ColumnMerge::Max)?;
        writer.insert([("pod", name), ("value", "label"), ("block", "label")])?;
        writer.finish(folder.path().join(name))?;
        Ok(())
    };
    let refused = |names: &[&str], options: BatchOptions| -> Result<String, Box<dyn std::error::Error>> {
        let blocks = Blocks::open(folder.path())?;
        let query = blocks.query("{}")?;
        let options = options.values(names.iter().copied());
        let errors = [query.batches(&options).map(drop), query.select()?.batches(&options).map(drop)];
        let [first, second] = errors.map(|error| error.expect_err("it is not allowed"));
        assert_eq!((first.kind(), first.to_string()), (ErrorKind::Usage, second.to_string()));
        Ok(first.to_string())
    };
    write_one("a.cx", ValueType::U64)?;
    let pods = BatchOptions::new().labels(["pod"]);
    let text = refused(&["app.none"], pods.clone())?;
    assert_eq!(text, "no block has a series column \"app.none\"");
    let text = refused(&["value"], BatchOptions::new())?;
    assert_eq!(text, "\"value\" is a label and a series column: name the labels to read, without this one");
    let text = refused(&["value", "value"], pods.clone())?;
    assert!(text.contains("two columns are named \"value\""), "{text}");
    let blocks = Blocks::open(folder.path())?;
    assert!(blocks.query("{}")?.batches(&pods.clone().values(["value"])).is_ok());
    write_one("b.cx", ValueType::I64)?;
    let text = refused(&["value"], pods)?;
    assert!(["a.cx", "b.cx", "\"value\"", "differ"].iter().all(|part| text.contains(part)), "{text}");
    Ok(())
}

/// Ids in any order, repeated, of a block without the column, and of none.
#[test]
fn values_of_ids_are_those_of_each() -> TestResult {
    let folder = tempfile::tempdir()?;
    write(&folder.path().join("a.cx"), WriteOptions::new(), &model(0, 400, 1))?;
    super::write(&folder.path().join("b.cx"), WriteOptions::new(), &labelsets(300, 310))?;
    let blocks = Blocks::open(folder.path())?;
    let mut ids: Vec<SeriesId> = blocks.query("{}")?.select()?.ids().collect();
    assert_eq!(ids.len(), 820);
    let unknown = SeriesId { block: chronoxide::BlockId([7; 16]), series: 0 };
    let beyond = |id: SeriesId| (0..3).map(move |more| SeriesId { series: u32::MAX - 2 + more, ..id });
    let (first, last) = (ids[0], ids[819]);
    ids.extend([unknown, first, first, last, unknown].into_iter().chain(beyond(first)).chain(beyond(last)));
    ids.extend((0..400).rev().map(|place| ids[place * 2]).collect::<Vec<_>>());
    for name in ["app.sum", "app.first", "app.text"] {
        let column = blocks.column(name)?.expect("a block has it");
        let mut read = Vec::new();
        column.read_ids(&ids, |position, value| {
            assert_eq!(position, read.len());
            read.push(value);
            Ok::<(), Error>(())
        })?;
        let each = ids.iter().map(|&id| column.get(id)).collect::<Result<Vec<_>, Error>>()?;
        assert_eq!(read, each);
        assert!(read.iter().flatten().count() > 800, "{}", read.iter().flatten().count());
        let refused = column.read_ids(&ids, |position, _| match position {
            5 => Err(Box::<dyn std::error::Error>::from("enough")),
            _ => Ok(()),
        });
        assert_eq!(refused.expect_err("the sixth").to_string(), "enough");
    }
    Ok(())
}

/// Series know their places in one snapshot: those of another are refused.
#[test]
fn a_series_of_another_snapshot_has_no_value() -> TestResult {
    let folder = tempfile::tempdir()?;
    let put = |number: u64| -> TestResult {
        let mut writer = BlockWriter::new();
        let column = writer.add_column("app.number", ValueType::U64, ColumnMerge::Same)?;
        let series = writer.insert([("__name__", "up"), ("pod", &number.to_string())])?;
        writer.set(column, series, number)?;
        writer.finish(folder.path().join(format!("{number}.cx")))?;
        Ok(())
    };
    (0..3).try_for_each(put)?;
    let old = Blocks::open(folder.path())?;
    (3..9).try_for_each(put)?;
    let fresh = old.refresh()?;
    let again = fresh.clone();
    for (blocks, other) in [(&old, &fresh), (&fresh, &old)] {
        let column = other.column("app.number")?.expect("the blocks have it");
        let mut rows = blocks.query("{}")?.series()?;
        while let Some(series) = rows.next()? {
            assert_eq!(column.of(&series).expect_err("another snapshot").kind(), ErrorKind::Usage);
        }
    }
    // A clone, or one of the same blocks, is the same.
    let column = again.column("app.number")?.expect("the blocks have it");
    let mut rows = fresh.query("{}")?.series()?;
    while let Some(series) = rows.next()? {
        assert_eq!(column.of(&series)?, Some(Value::U64(series.get("pod").expect("a pod").parse()?)));
    }
    Ok(())
}
