//! Batches of a block have the labels of its series, for blocks of every kind and every setting of a scan.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StringViewArray};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Scan, Strings};
use chronoxide_format::SeriesRef;
use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::{Selection, Selector};
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};

/// Refs and labels of the rows of a batch, read from its columns.
fn rows(scan: &Scan, batch: &RecordBatch) -> Vec<(u64, Labelset)> {
    let columns = scan.columns().expect("sound");
    let mut rows: Vec<(u64, Labelset)> = vec![(u64::MAX, Labelset::new()); batch.num_rows()];
    for (column, array) in columns.iter().zip(batch.columns()) {
        assert_eq!(array.len(), batch.num_rows());
        match column.content() {
            ColumnContent::SeriesRef => {
                let refs = array.as_primitive::<UInt64Type>().values();
                rows.iter_mut().zip(refs).for_each(|(row, series)| row.0 = *series);
            }
            ColumnContent::Label(name) => {
                for (row, value) in rows.iter_mut().zip(strings(array)) {
                    value.map(|value| row.1.insert(name.clone(), value.to_owned()));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    rows
}

/// Returns the strings of a column of a label, of either type.
fn strings(array: &ArrayRef) -> Vec<Option<&str>> {
    match array.as_dictionary_opt::<UInt32Type>() {
        Some(array) => array.downcast_dict::<StringViewArray>().expect("strings").into_iter().collect(),
        None => array.as_string_view().iter().collect(),
    }
}

/// All rows of a scan; batches have at most `batch_size` rows, and only the last one fewer.
fn all_rows(scan: &Scan, batch_size: usize) -> Vec<(u64, Labelset)> {
    let batches = scan.clone().with_batch_size(batch_size).batches().expect("sound");
    assert_eq!(batches.schema(), scan.schema().expect("sound"));
    let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().expect("sound");
    for (number, batch) in batches.iter().enumerate() {
        assert!(batch.num_rows() == batch_size || number + 1 == batches.len() && batch.num_rows() > 0);
    }
    batches.iter().flat_map(|batch| rows(scan, batch)).collect()
}

fn table(bytes: &[u8]) -> BlockTable {
    BlockTable::new(Block::from_vec(bytes.to_vec(), Checks::Lazy).expect("sound")).expect("sound")
}

/// Compares scans of a block, with all settings, with its labelsets.
fn check(bytes: &[u8], random: &mut Random) {
    let table = table(bytes);
    let expected: Vec<(u64, Labelset)> = (0..).zip(series_in_order(&table.block().view())).collect();
    let part: Selection =
        expected.iter().filter(|_| random.percent(40)).map(|(number, _)| SeriesRef(*number as u32)).collect();
    let in_part = |(number, _): &&(u64, Labelset)| part.contains(SeriesRef(*number as u32));
    let kept: Vec<(u64, Labelset)> = expected.iter().filter(in_part).cloned().collect();
    for strings in [Strings::Dictionary, Strings::View] {
        let scan = table.scan().with_strings(strings);
        for batch_size in [1, 1 + random.below(20), 8192] {
            assert_eq!(all_rows(&scan, batch_size), expected);
            assert_eq!(all_rows(&scan.clone().with_selection(part.clone()), batch_size), kept);
            let limit = random.below(expected.len() + 2);
            let limited = all_rows(&scan.clone().with_limit(limit as u64), batch_size);
            assert_eq!(limited, expected[..limit.min(expected.len())]);
        }
        let sorted = all_rows(&scan.clone().in_label_order().with_selection(part.clone()), 1 + random.below(9));
        let mut by_labels = kept.clone();
        by_labels.sort_by(|(_, left), (_, right)| left.iter().cmp(right));
        assert_eq!(sorted, by_labels);
    }
    check_maps(&table, &expected);
    let few: Selection = part.iter().take(random.below(4)).collect();
    for series in [table.all(), part, few] {
        check_counts(&table, &expected, series);
    }
}

/// The numbers of series of values of each label, and of one that the block does not have.
fn check_counts(table: &BlockTable, all: &[(u64, Labelset)], series: Selection) {
    for label in table.label_names().expect("sound").iter().map(String::as_str).chain(["no such label"]) {
        // Values come in their order, and null behind them.
        let mut expected: BTreeMap<(bool, Option<&str>), i64> = BTreeMap::new();
        for series_ref in series.iter() {
            let value = all[series_ref.0 as usize].1.get(label).map(String::as_str);
            *expected.entry((value.is_none(), value)).or_default() += 1;
        }
        let (values, counts) = table.scan().with_selection(series.clone()).value_counts(label).expect("sound");
        let found: Vec<_> = values.iter().zip(counts.values().iter().copied()).collect();
        let expected: Vec<_> = expected.into_iter().map(|((_, value), count)| (value, count)).collect();
        assert_eq!(found, expected, "{label}");
    }
}

/// The column of all labels, alone and beside others.
fn check_maps(table: &BlockTable, expected: &[(u64, Labelset)]) {
    let columns = [Column::block_id(), Column::labels(), Column::label("no such label"), Column::label("job")];
    let id = table.block().view().block_id().to_string();
    let mut next = 0;
    for batch in table.scan().with_columns(columns).with_batch_size(7).batches().expect("sound") {
        let batch = batch.expect("sound");
        assert!(batch.column(0).as_string_view().iter().all(|block| block == Some(&id)));
        assert_eq!(batch.column(2).null_count(), batch.num_rows());
        let maps = batch.column(1).as_map();
        for row in 0..batch.num_rows() {
            let entries = maps.value(row);
            let strings =
                |column: usize| entries.column(column).as_string_view().iter().map(|text| text.unwrap_or("null"));
            let found: Vec<(&str, &str)> = strings(0).zip(strings(1)).collect();
            let labels: Vec<(&str, &str)> = expected[next].1.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(found, labels, "series {next}, sorted by name");
            next += 1;
        }
    }
    assert_eq!(next, expected.len());
}

#[test]
fn goldens_have_the_labels_that_the_reader_resolves() {
    let mut random = Random::new(1);
    let mut count = 0;
    for golden in goldens() {
        check(&golden.bytes, &mut random);
        count += 1;
    }
    assert!(count >= 10, "{count} goldens");
}

#[test]
fn random_blocks_have_the_labels_that_the_reader_resolves() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let series = random_series(1 + random.below(200), &mut random);
        let plan = random_plan(&series, &mut random);
        let form = if seed % 3 == 0 { RowForm::FixedWidth } else { RowForm::BitPacked };
        let block = build(&series, &plan, form, &BlockMeta::default()).expect("the plan is valid");
        let result = std::panic::catch_unwind(move || check(&block, &mut Random::new(seed)));
        assert!(result.is_ok(), "seed {seed}");
    }
}

#[test]
fn strings_are_those_of_the_block_and_one_dictionary_serves_all_batches() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let table = table(&golden.bytes);
    let arena = table.block().view().symbols().arena().as_ptr_range();
    let batches: Vec<RecordBatch> =
        table.scan().with_batch_size(2).batches().expect("sound").collect::<Result<_, _>>().expect("sound");
    assert!(batches.len() > 1);
    let pods = |batch: &RecordBatch| {
        let column = batch.column_by_name("pod").expect("a label").as_dictionary::<UInt32Type>();
        column.values().as_any().downcast_ref::<StringViewArray>().expect("views").clone()
    };
    let first = pods(&batches[0]);
    for batch in &batches {
        let own = pods(batch);
        assert_eq!(own.views().as_ptr(), first.views().as_ptr(), "views are shared");
        for buffer in own.data_buffers() {
            let bytes = buffer.as_slice().as_ptr_range();
            assert_eq!((bytes.start, bytes.end), (arena.start, arena.end), "bytes are those of the block");
        }
    }
}

#[test]
fn batches_outlive_the_table_and_the_block() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let table = table(&golden.bytes);
    let expected: Vec<(u64, Labelset)> = (0..).zip(series_in_order(&table.block().view())).collect();
    let scan = table.scan();
    let mut batches = scan.batches().expect("sound");
    drop(table);
    let batch = batches.next().expect("one").expect("sound");
    drop(batches);
    let found = rows(&scan, &batch);
    drop(scan);
    assert_eq!(found, expected);
}

#[test]
fn a_selector_chooses_the_rows() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let table = table(&golden.bytes);
    let selector: Selector = r#"{job="api",pod!=""}"#.parse().expect("a selector");
    let scan = table.scan().with_selection(table.select(selector.matchers()).expect("sound"));
    let expected: BTreeMap<u64, Labelset> = (0..)
        .zip(series_in_order(&table.block().view()))
        .filter(|(_, labels)| labels.get("job").is_some_and(|job| job == "api") && labels.contains_key("pod"))
        .collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(all_rows(&scan, 8192).into_iter().collect::<BTreeMap<_, _>>(), expected);
}

#[test]
fn refs_of_another_block_are_skipped() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let table = table(&golden.bytes);
    let count = u64::from(table.series_count());
    let beyond = Selection::from_range(SeriesRef(3)..SeriesRef(u32::MAX));
    let found = all_rows(&table.scan().with_selection(beyond), 100);
    assert_eq!(found.iter().map(|(series, _)| *series).collect::<Vec<_>>(), (3..count).collect::<Vec<_>>());
}
