//! Record batches of blocks, against labelsets.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use chronoxide::{BatchOptions, Damage, Error, ErrorKind, WriteOptions};

use super::opening::make_no_text;
use super::{Fixture, Labelset, TestResult, labelsets, write};

/// Returns the labels of each row of columns of strings, but the ids of blocks.
fn rows(batches: impl RecordBatchReader) -> Result<Vec<Labelset>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for batch in batches {
        let batch: RecordBatch = batch?;
        let schema = batch.schema();
        let mut labels = vec![Labelset::new(); batch.num_rows()];
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            if *field.data_type() != DataType::Utf8View || field.name() == "block" {
                continue;
            }
            for (row, value) in labels.iter_mut().zip(column.as_string_view()) {
                row.extend(value.map(|value| (field.name().clone(), value.to_owned())));
            }
        }
        all.extend(labels);
    }
    Ok(all)
}

#[test]
fn batches_have_the_series_of_each_block() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let columns = BatchOptions::new().without_dictionaries(true).batch_size(7);
    let mut found = rows(blocks.query("up")?.batches(&columns)?)?;
    let mut expected: Vec<_> = [labelsets(0, 10), labelsets(5, 15)].concat();
    expected.retain(|labels| labels["__name__"] == "up");
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);

    let batches = blocks.query("{}")?.batches(&columns.clone().block_ids(true))?;
    let names: Vec<_> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["block", "series_ref", "__name__", "größe", "namespace", "pod"]);
    let mut of_blocks = BTreeMap::new();
    for batch in batches {
        let batch = batch?;
        assert!(batch.num_rows() <= 7);
        for id in batch.column(0).as_string_view().iter().flatten() {
            *of_blocks.entry(id.to_owned()).or_default() += 1;
        }
    }
    let ids = blocks.iter().map(|block| Ok((block?.id.to_string(), 20))).collect::<Result<_, chronoxide::Error>>()?;
    assert_eq!(of_blocks, ids);
    Ok(())
}

#[test]
fn columns_order_and_number_are_those_of_the_options() -> TestResult {
    let fixture = Fixture::new()?;
    let block = chronoxide::Blocks::open(&fixture.paths[0])?;
    let query = block.query("{}")?;
    let pods = BatchOptions::new().labels(["pod", "none"]).without_dictionaries(true);
    let found = rows(query.batches(&pods.clone().sorted(true).limit(3))?)?;
    // In the order of labels, all series of one name that have the label `größe` come first, by namespace and pod.
    let pod = |number: u32| Labelset::from([("pod".to_owned(), format!("web-{number}"))]);
    assert_eq!(found, [0, 6, 4].map(pod));
    let map = query.batches(&BatchOptions::new().as_map(true))?;
    assert!(matches!(map.schema().field(1).data_type(), DataType::Map(..)));
    assert_eq!(map.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize, arrow_schema::ArrowError>>()?, 20);
    let dictionaries = query.batches(&BatchOptions::new().labels(["pod"]))?;
    assert!(matches!(dictionaries.schema().field(1).data_type(), DataType::Dictionary(..)));
    let error = query.batches(&pods.labels(["pod", "pod"])).expect_err("two columns of one name");
    assert_eq!(error.kind(), ErrorKind::Usage);
    Ok(())
}

/// Columns are the labels of all blocks, and rows those of their own block.
#[test]
fn batches_of_blocks_with_other_labels_have_all_of_them() -> TestResult {
    let fixture = Fixture::new()?;
    let other: Vec<Labelset> = (0..3).map(|number| [("zone".to_owned(), number.to_string())].into()).collect();
    write(&fixture.paths[1], WriteOptions::new().replace(true), &other)?;
    let blocks = fixture.blocks()?;
    let options = BatchOptions::new().without_dictionaries(true);
    let mut expected = [labelsets(0, 10), other.clone()].concat();
    expected.sort_unstable();
    let selection = blocks.query("{}")?.select()?;
    for batches in [blocks.query("{}")?.batches(&options)?, selection.batches(&options)?] {
        let mut found = rows(batches)?;
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    for (part, single) in selection.by_block().iter().zip(blocks.each()) {
        let mut expected = if part.len() == 3 { other.clone() } else { labelsets(0, 10) };
        expected.sort_unstable();
        for batches in [part.batches(&options)?, single.query("{}")?.batches(&options)?] {
            let mut found = rows(batches)?;
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }
    Ok(())
}

#[test]
fn batches_leave_out_damaged_blocks_if_that_is_asked_for() -> TestResult {
    for damaged in 0..2 {
        let fixture = Fixture::new()?;
        make_no_text(&fixture.paths[damaged], "web-7")?;
        let (blocks, damage) = (fixture.blocks()?, Damage::new());
        let options = BatchOptions::new().without_dictionaries(true);
        let query = blocks.query("up")?;
        let error = query.batches(&options).expect_err("a block is damaged");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[damaged])));
        let mut expected = if damaged == 0 { labelsets(5, 15) } else { labelsets(0, 10) };
        expected.retain(|labels| labels["__name__"] == "up");
        expected.sort_unstable();
        let mut found = rows(query.skip_damaged(&damage).batches(&options)?)?;
        found.sort_unstable();
        assert_eq!(found, expected);
        assert!(damage.errors().iter().map(Error::path).eq([Some(&*fixture.paths[damaged])]), "{damage:?}");
    }
    Ok(())
}
