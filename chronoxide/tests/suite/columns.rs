//! Columns of series, against maps of their values.

use std::collections::BTreeMap;

use chronoxide::{
    BlockWriter, Blocks, ColumnMerge, CompactOptions, Error, ErrorKind, Layout, SeriesId, Value, ValueType,
    WriteOptions, compact,
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

/// A merge would lose the values.
#[test]
fn blocks_with_columns_are_not_merged() -> TestResult {
    let folder = tempfile::tempdir()?;
    let paths = ["a.cx", "b.cx"].map(|name| folder.path().join(name));
    write(&paths[0], WriteOptions::new(), &model(0, 5, 0))?;
    super::write(&paths[1], WriteOptions::new(), &labelsets(0, 5))?;
    let output = folder.path().join("all.cx");
    let error = compact(&paths, &output, &CompactOptions::new()).expect_err("a column would be lost");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Unsupported, Some(&*paths[0])));
    assert!(error.to_string().contains("series-column"), "{error}");
    assert!(!output.exists());
    assert_eq!(Blocks::open(folder.path())?.len(), 2);
    Ok(())
}
