//! Batches have the values of series columns, and fingerprints, for every setting of a scan.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use chronoxide_arrow::{BlockTable, Column, Scan, TableError};
use chronoxide_format::SeriesRef;
use chronoxide_format::column::ValueType;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::Selection;
use chronoxide_testkit::golden::{Golden, goldens};
use chronoxide_testkit::random::Random;

fn golden(name: &str) -> Golden {
    goldens().into_iter().find(|golden| golden.name == name).expect("it is there")
}

fn table(golden: &Golden) -> BlockTable {
    BlockTable::new(Block::from_vec(golden.bytes.clone(), Checks::Lazy).expect("sound")).expect("sound")
}

/// A series column and the texts of its values, as the dump of a golden lists them.
type Dumped = (String, ValueType, Vec<String>);

/// Series columns of the dump of a golden: decoders that were written from the spec agree with it.
fn dumped(name: &str) -> Vec<Dumped> {
    let path = format!("{}/../../testdata/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a dump");
    let (_, text) = text.split_once("\ncolumns ").expect("series columns");
    let mut columns: Vec<Dumped> = Vec::new();
    for line in text.lines().skip(1).take_while(|line| line.starts_with("  ")) {
        if let Some(facts) = line.strip_prefix("  column ") {
            let (_, name) = facts.split_once('"').expect("a name");
            let (name, facts) = name.split_once("\" ").expect("a type");
            let value_type = facts.split(' ').next().expect("a type");
            let value_type = ValueType::ALL.iter().find(|known| known.name() == value_type).expect("a known type");
            columns.push((name.to_owned(), *value_type, Vec::new()));
        } else {
            let (_, value) = line.trim_start().split_once(' ').expect("a ref and a value");
            columns.last_mut().expect("a column").2.push(value.to_owned());
        }
    }
    columns
}

/// Values of a column of a batch, as the dump writes them.
fn texts(array: &ArrayRef) -> Vec<String> {
    fn all<T: ToString>(values: impl Iterator<Item = Option<T>>) -> Vec<String> {
        values.map(|value| value.map_or_else(|| "-".to_owned(), |value| value.to_string())).collect()
    }
    match array.data_type() {
        DataType::Int64 => all(array.as_primitive::<Int64Type>().iter()),
        DataType::UInt64 => all(array.as_primitive::<UInt64Type>().iter()),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            assert_eq!(zone.as_deref(), Some("UTC"));
            all(array.as_primitive::<TimestampNanosecondType>().iter())
        }
        DataType::BinaryView => all(array.as_binary_view().iter().map(|bytes| bytes.map(digits))),
        other => panic!("{other}"),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a text");
        text
    })
}

/// Refs, and the texts of columns, of the rows of a scan.
fn rows(scan: &Scan) -> (Vec<u32>, Vec<Vec<String>>) {
    let batches: Vec<RecordBatch> = scan.batches().expect("sound").collect::<Result<_, _>>().expect("sound");
    let mut columns = vec![Vec::new(); scan.columns().expect("sound").len() - 1];
    let mut refs = Vec::new();
    for batch in &batches {
        assert_eq!(batch.schema(), scan.schema().expect("sound"));
        refs.extend(batch.column(0).as_primitive::<UInt64Type>().values().iter().map(|series| *series as u32));
        for (texts, array) in columns.iter_mut().zip(&batch.columns()[1..]) {
            texts.extend(self::texts(array));
        }
    }
    (refs, columns)
}

#[test]
fn values_are_those_of_the_dump() {
    for name in ["columns", "columns-groups"] {
        let (table, dumped) = (table(&golden(name)), dumped(name));
        assert!(dumped.len() >= 5, "{} columns", dumped.len());
        let own = dumped.iter().map(|(name, value_type, _)| Column::values(name, *value_type));
        let scan = table.scan().with_columns([Column::series_ref()].into_iter().chain(own));
        let mut random = Random::new(3);
        for round in 0..20 {
            let series: Selection = table.all().iter().filter(|_| random.percent(10 * round.min(10))).collect();
            let scan = scan.clone().with_selection(series.clone()).with_batch_size(1 + random.below(300));
            let sorted = scan.clone().in_label_order();
            for scan in [scan, sorted] {
                let (refs, columns) = rows(&scan);
                let mut in_order: Vec<SeriesRef> = refs.iter().map(|series| SeriesRef(*series)).collect();
                in_order.sort_unstable();
                assert_eq!(in_order, series.iter().collect::<Vec<_>>());
                for ((name, _, values), found) in dumped.iter().zip(columns) {
                    let expected: Vec<&String> = refs.iter().map(|series| &values[*series as usize]).collect();
                    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_block_without_the_column_gives_nulls_and_another_type_is_an_error() {
    let names = ["chronoxide.first_time", "flags", "app.chunks"];
    let types = [ValueType::I64, ValueType::U64, ValueType::Bytes];
    let plain = table(&golden("plain-bitpacked"));
    let columns = names.iter().zip(types).map(|(name, value_type)| Column::values(*name, value_type));
    let scan = plain.scan().with_columns(columns);
    let batch = scan.batches().expect("sound").next().expect("one").expect("sound");
    assert_eq!(batch.schema(), scan.schema().expect("sound"));
    assert_eq!(batch.num_rows(), 10);
    assert!(batch.columns().iter().all(|column| column.logical_null_count() == 10));
    let other = table(&golden("columns")).scan().with_columns([Column::values("flags", ValueType::I64)]);
    let error = other.batches().expect("sound").next().expect("an error").expect_err("the types differ");
    assert!(error.to_string().ends_with("the values of column \"flags\" have the type u64, not i64"), "{error}");
    let error = plain.scan().with_columns([Column::label("flags"), Column::values("flags", ValueType::U64)]).schema();
    assert!(matches!(error, Err(TableError::DuplicateColumn { name }) if name == "flags"));
}

/// Fingerprints of the rows of a scan, with the refs.
fn fingerprints(scan: Scan) -> Vec<(u64, Vec<u8>)> {
    let scan = scan.with_columns([Column::series_ref(), Column::fingerprint()]);
    let mut all = Vec::new();
    for batch in scan.batches().expect("sound") {
        let batch = batch.expect("sound");
        let refs = batch.column(0).as_primitive::<UInt64Type>().values().iter().copied();
        all.extend(refs.zip(batch.column(1).as_fixed_size_binary().iter().flatten().map(<[u8]>::to_vec)));
    }
    all
}

#[test]
fn fingerprints_depend_on_the_labels_alone() {
    // The fingerprint of a block with one series is that of the series: its dump says it.
    let one = fingerprints(table(&golden("one-series")).scan());
    let dump = include_str!("../../../testdata/golden/one-series.txt");
    let line = dump.lines().find_map(|line| line.strip_prefix("  fingerprint ")).expect("it is there");
    assert_eq!(
        one.iter().map(|(_, bytes)| digits(bytes)).collect::<Vec<_>>(),
        [format!("0x{}", line.replace(' ', ""))]
    );

    let (left, right) = (table(&golden("plain-bitpacked")), table(&golden("plain-fixedwidth")));
    let all = fingerprints(left.scan());
    assert_eq!(all, fingerprints(right.scan().with_batch_size(3)));
    let mut distinct: Vec<_> = all.iter().map(|(_, bytes)| bytes).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((all.len(), distinct.len()), (10, 10));

    let planned = table(&golden("planned"));
    let all = fingerprints(planned.scan());
    assert_eq!(all.len(), 780);
    let mut random = Random::new(5);
    let part: Selection = planned.all().iter().filter(|_| random.percent(30)).collect();
    let expected = |scan: Scan| {
        let found = fingerprints(scan.with_batch_size(64));
        assert!(found.iter().all(|(series, bytes)| all[*series as usize] == (*series, bytes.clone())));
        found.len()
    };
    assert_eq!(expected(planned.scan().with_selection(part.clone())), part.count() as usize);
    assert_eq!(expected(planned.scan().with_selection(part.clone()).in_label_order()), part.count() as usize);
    assert_eq!(expected(planned.scan().with_selection(part.clone()).with_limit(100)), 100);
    assert_eq!(expected(planned.scan().with_selection(part).with_limit(100).in_label_order()), 100);
}
