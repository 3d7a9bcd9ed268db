//! Record batches of blocks, against labelsets.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use chronoxide::{BatchOptions, ErrorKind};

use super::{Fixture, Labelset, TestResult, labelsets};

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
