//! Columns that are labels, times, or ignored.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray, TimestampSecondArray,
};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};

use crate::canonical::Labels;
use crate::tables::{contents, read, whole};

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn texts(cells: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

fn labels<const N: usize>(labels: [(&str, &str); N]) -> Labels {
    labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn columns_that_are_not_text_are_ignored_and_named() {
    let table = table(vec![
        ("job", texts(&[Some("api"), Some("web")])),
        ("value", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("raw", Arc::new(BinaryArray::from(vec![&b"\x00\x01"[..], b"\xff\xfe"]))),
    ]);
    for content in contents(&table) {
        let (found, report) = read(&content).unwrap();
        assert_eq!(found, [labels([("job", "api")]), labels([("job", "web")])].into());
        let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, ["table: ignored columns that are not labels: value (Float64), raw (Binary)"]);
    }
}

#[test]
fn a_table_without_labels_is_refused() {
    let table = table(vec![("value", Arc::new(Float64Array::from(vec![1.0])))]);
    for content in contents(&table) {
        let error = whole(&read(&content).unwrap_err());
        assert!(error.contains("no column holds labels"), "{error}");
        assert!(error.ends_with("found value (Float64)"), "{error}");
    }
}

#[test]
fn a_column_wins_over_an_entry_of_the_map() {
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for (row, job) in [Some("map"), Some("map"), Some("map"), None].into_iter().enumerate() {
        for (key, value) in [("job", job), ("zone", Some("a")), ("zone", Some("b")), ("", Some("x"))] {
            map.keys().append_value(key);
            map.values().append_option(value);
        }
        map.append(row != 2).unwrap();
    }
    let table =
        table(vec![("job", texts(&[Some("column"), None, Some(""), Some("c")])), ("m", Arc::new(map.finish()))]);
    for content in contents(&table) {
        let (found, report) = read(&content).unwrap();
        let expected = [
            labels([("job", "column"), ("zone", "b")]),
            labels([("job", "map"), ("zone", "b")]),
            labels([("job", "c"), ("zone", "b")]),
        ];
        assert_eq!(found, expected.into());
        assert_eq!((report.rows, report.skipped.series_without_labels), (4, 1));
        assert_eq!((report.duplicate_keys.point, report.empty_keys), (4, 3));
    }
}

#[test]
fn samples_are_one_series_and_their_times_are_windows() {
    const HOUR: i64 = 3_600_000;
    let table = table(vec![
        ("job", texts(&[Some("api"), Some("api"), Some("web"), Some("web")])),
        (
            "timestamp",
            Arc::new(TimestampMillisecondArray::from(vec![Some(HOUR), Some(HOUR + 1), Some(3 * HOUR), None])),
        ),
        ("value", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]))),
    ]);
    let window = std::num::NonZeroU64::new(HOUR as u64 * 1_000_000);
    for content in contents(&table) {
        let assemble = AssembleOptions { window, ..AssembleOptions::default() };
        let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
        ingest.read(Source::new("table".to_owned(), std::io::Cursor::new(content)).unwrap()).unwrap();
        let (report, blocks) = ingest.finish().unwrap();
        assert_eq!((report.rows, report.points, report.series), (4, 3, 2));
        assert_eq!(report.time, Some((HOUR * 1_000_000, 3 * HOUR * 1_000_000 + 1)));
        // Two hours, and the row without a time.
        let counts: Vec<u64> =
            blocks.iter().map(|block| BlockView::open(block).unwrap().series_count().unwrap().into()).collect();
        assert_eq!(counts, [1, 1, 1]);
    }
}

#[test]
fn times_that_do_not_fit_are_none() {
    let table = table(vec![
        ("job", texts(&[Some("api"), Some("web")])),
        ("timestamp", Arc::new(TimestampSecondArray::from(vec![i64::MAX, 7]))),
    ]);
    for content in &contents(&table)[..2] {
        let (found, report) = read(content).unwrap();
        assert_eq!(found.len(), 2, "the labels are kept");
        assert_eq!((report.rows, report.points, report.points_without_time), (2, 2, 1));
        assert_eq!(report.time, Some((7_000_000_000, 7_000_000_001)));
    }
}
