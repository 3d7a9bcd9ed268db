//! Tables of other programs: what their columns mean, and what one bad value costs.

use std::sync::Arc;

use arrow_array::builder::{GenericListBuilder, MapBuilder, MapFieldNames, StringBuilder, StructBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int8Array,
    LargeBinaryArray, MapArray, OffsetSizeTrait, RecordBatch, StringArray, StructArray, TimestampNanosecondArray,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{DataType, Field, Fields};
use chronoxide_format::metadata::MetricMetadata;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{Ingest, IngestOptions};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::canonical::Labels;
use crate::tables::{self, read, read_with, whole};

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn texts(cells: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

fn labels(text: &str) -> Labels {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn all<const N: usize>(texts: [&str; N]) -> std::collections::BTreeSet<Labels> {
    texts.map(labels).into()
}

fn arrow(table: &RecordBatch) -> [Vec<u8>; 2] {
    let tables = [table.clone()];
    [tables::stream(&tables, IpcWriteOptions::default()), tables::file(&tables, IpcWriteOptions::default())]
}

fn parquet(table: &RecordBatch, footer: &[(&str, &str)]) -> Vec<u8> {
    let properties = WriterProperties::builder().set_key_value_metadata(Some(
        footer.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect(),
    ));
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

fn contents(table: &RecordBatch) -> Vec<Vec<u8>> {
    [arrow(table).to_vec(), vec![parquet(table, &[])]].concat()
}

fn series_of(block: &[u8]) -> std::collections::BTreeSet<Labels> {
    crate::canonical::block_series(block).into_iter().collect()
}

fn warnings(report: &chronoxide_ingest::Report) -> Vec<String> {
    report.warnings.iter().map(ToString::to_string).collect()
}

/// Maps of each row, as pairs.
fn maps(rows: &[Option<&str>]) -> ArrayRef {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (name, value) in row.unwrap_or_default().split_whitespace().map(|pair| pair.split_once('=').unwrap()) {
            map.keys().append_value(name);
            map.values().append_value(value);
        }
        map.append(row.is_some()).unwrap();
    }
    Arc::new(map.finish())
}

/// Lists of pairs of each row, with these fields.
fn lists<O: OffsetSizeTrait>(rows: &[Option<&str>], fields: [&str; 2]) -> ArrayRef {
    let fields: Fields = fields.map(|name| Field::new(name, DataType::Utf8, true)).to_vec().into();
    let mut list = GenericListBuilder::<O, StructBuilder>::new(StructBuilder::from_fields(fields.clone(), 0));
    for row in rows {
        for pair in row.unwrap_or_default().split_whitespace() {
            let (first, second) = pair.split_once('=').unwrap();
            let pairs = list.values();
            pairs.field_builder::<StringBuilder>(0).unwrap().append_value(first);
            pairs.field_builder::<StringBuilder>(1).unwrap().append_value(second);
            pairs.append(first != "null");
        }
        list.append(row.is_some());
    }
    Arc::new(list.finish())
}

#[test]
fn lists_of_pairs_are_maps_in_any_order_of_their_fields() {
    let rows = [Some("job=a pod=x"), None, Some("job=b null=1"), Some("")];
    let swapped = [Some("a=job x=pod"), None, Some("b=job"), Some("")];
    for column in [
        maps(&[Some("job=a pod=x"), None, Some("job=b"), Some("")]),
        lists::<i32>(&rows, ["key", "value"]),
        lists::<i64>(&rows, ["k", "v"]),
        lists::<i32>(&rows, ["first", "second"]),
        lists::<i32>(&swapped, ["value", "name"]),
    ] {
        let table = table(vec![("tags", column)]);
        for content in contents(&table) {
            let (found, report) = read(&content).unwrap();
            assert_eq!(found, all(["job=a pod=x", "job=b"]), "{}", table.schema());
            assert_eq!((report.rows, report.skipped.series_without_labels, warnings(&report)), (4, 2, vec![]));
        }
    }
}

#[test]
fn structs_of_texts_are_labels() {
    let fields = Fields::from(vec![Field::new("job", DataType::Utf8, true), Field::new("pod", DataType::Utf8, true)]);
    let columns = vec![texts(&[Some("a"), Some("b"), Some("c")]), texts(&[Some("x"), None, Some("z")])];
    let structs = StructArray::new(fields, columns, Some(vec![true, true, false].into()));
    let table = table(vec![("labels", Arc::new(structs)), ("pod", texts(&[None, Some("y"), Some("z")]))]);
    for content in contents(&table) {
        let (found, report) = read(&content).unwrap();
        assert_eq!((found, warnings(&report)), (all(["job=a pod=x", "job=b pod=y", "pod=z"]), vec![]));
    }
}

#[test]
fn binary_columns_are_text_if_most_values_are() {
    let cells = || vec![Some(&b"a"[..]), None, Some("é".as_bytes()), Some(b"")];
    let columns: [ArrayRef; 3] = [
        Arc::new(BinaryArray::from(cells())),
        Arc::new(LargeBinaryArray::from(cells())),
        Arc::new(BinaryViewArray::from(cells())),
    ];
    let hashes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xde\xad\xbe\xef"[..], b"\x01\x02", b"ok", b""]));
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab"; 4].into_iter()).unwrap());
    for column in columns {
        let shown = column.data_type().to_string();
        let table = table(vec![
            ("job", column),
            ("hash", hashes.clone()),
            ("fixed", fixed.clone()),
            ("n", texts(&[Some("1"); 4])),
        ]);
        for content in contents(&table) {
            let (found, report) = read(&content).unwrap();
            assert_eq!(found, all(["job=a n=1", "n=1", "job=é n=1"]), "{shown}");
            let mut ignored = warnings(&report);
            let [warning] = &mut ignored[..] else { panic!("{ignored:?}") };
            assert!(
                warning.starts_with("table: ignored columns that are not labels: fixed (FixedSizeBinary(2))"),
                "{warning}"
            );
            assert!(warning.contains("hash (Binary)"), "{warning}");
        }
    }
    // In maps too: some writers do not mark strings.
    let pairs = |column: ArrayRef| {
        let map = column.as_any().downcast_ref::<MapArray>().unwrap();
        let binary = |column: &ArrayRef| -> ArrayRef {
            Arc::new(BinaryArray::from(column.as_any().downcast_ref::<StringArray>().unwrap().clone()))
        };
        let fields = ["key", "value"].map(|name| Field::new(name, DataType::Binary, name == "value"));
        let entries = StructArray::new(fields.to_vec().into(), vec![binary(map.keys()), binary(map.values())], None);
        let field = Arc::new(Field::new("key_value", entries.data_type().clone(), false));
        Arc::new(MapArray::new(field, map.offsets().clone(), entries, None, false))
    };
    let table = table(vec![("labels", pairs(maps(&[Some("job=a pod=x"), Some("job=b")])))]);
    for content in contents(&table) {
        assert_eq!(read(&content).unwrap().0, all(["job=a pod=x", "job=b"]));
    }
}

#[test]
fn labels_files_of_parquet_common_have_names_without_prefix_and_times() {
    const HOUR: u64 = 3_600_000;
    let indexes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"ab"[..], b"a"]));
    let columns = vec![
        ("l___name__", texts(&[Some("up"), Some("up")])),
        ("l_job", texts(&[Some("a"), None])),
        ("s_col_indexes", indexes.clone()),
    ];
    let chunks = vec![("s_data_0", indexes.clone()), ("s_data_1", indexes.clone()), ("s_series_hash", indexes)];
    let (start, end) = ((10 * HOUR).to_string(), (12 * HOUR).to_string());
    let footer = [("minT", start.as_str()), ("maxT", end.as_str()), ("data_col_duration_ms", "28800000")];
    let with_chunks = [columns.clone(), chunks.clone()].concat();
    // Projections of labels only are recognized by the footer.
    let projected = columns[..2].to_vec();
    for (columns, footer) in
        [(columns.clone(), &footer[..]), (columns, &[]), (with_chunks, &footer), (projected, &footer)]
    {
        let content = parquet(&table(columns), footer);
        let window = std::num::NonZeroU64::new(HOUR * 1_000_000);
        let assemble = chronoxide_ingest::AssembleOptions { window, ..Default::default() };
        for options in [IngestOptions::default(), IngestOptions { assemble, ..Default::default() }] {
            let mut ingest = Ingest::new(options.clone(), Vec::new());
            ingest.read(Source::new("table".to_owned(), std::io::Cursor::new(content.clone())).unwrap()).unwrap();
            let (report, blocks) = ingest.finish().unwrap();
            for block in &blocks {
                assert_eq!(series_of(block), all(["__name__=up job=a", "__name__=up"]));
            }
            assert_eq!(report.points, 0, "the time range of a file is not a point");
            let window_count = if options.assemble.window.is_some() && !footer.is_empty() { 2 } else { 1 };
            assert_eq!(blocks.len(), window_count);
            let times = blocks.iter().map(|block| BlockView::open(block).unwrap().meta().unwrap().time());
            let (first, last) = (10 * HOUR * 1_000_000, 12 * HOUR * 1_000_000);
            if !footer.is_empty() && options.assemble.window.is_none() {
                let expected = TimeRange { start: first as i64, end: last as i64 };
                assert_eq!(times.collect::<Vec<_>>(), [Some(expected)]);
            }
        }
    }
    // A file of chunks has no labels, and does not stop the run.
    let (found, report) = read(&parquet(&table(chunks), &footer)).unwrap();
    assert_eq!((found.len(), report.rows, warnings(&report)), (0, 0, vec!["table: no series".to_owned()]));
}

#[test]
fn tables_of_the_clickhouse_exporter_have_the_labels_of_otlp() {
    let columns = vec![
        ("ResourceAttributes", maps(&[Some("service.name=cart k=resource r=1"), Some("k=resource")])),
        ("ResourceSchemaUrl", texts(&[Some("url"); 2])),
        ("ScopeName", texts(&[Some("lib"), Some("")])),
        ("ScopeVersion", texts(&[Some("1.0"), Some("")])),
        ("ScopeAttributes", maps(&[Some("k=scope s=2"), Some("")])),
        ("ServiceName", texts(&[Some("cart"), Some("shop")])),
        ("MetricName", texts(&[Some("requests"), Some("requests")])),
        ("MetricDescription", texts(&[Some("Requests."); 2])),
        ("MetricUnit", texts(&[Some("1"); 2])),
        ("Attributes", maps(&[Some("k=point p=3 __name__=no"), Some("otel_scope_name=own")])),
        ("TimeUnix", Arc::new(TimestampNanosecondArray::from(vec![7, 8])) as ArrayRef),
        ("Value", Arc::new(arrow_array::Float64Array::from(vec![1.0, 2.0]))),
    ];
    let expected = all([
        "__name__=requests service.name=cart k=point r=1 s=2 p=3 otel_scope_name=lib otel_scope_version=1.0",
        "__name__=requests service.name=shop k=resource otel_scope_name=own",
    ]);
    for content in contents(&table(columns)) {
        let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
        ingest.read(Source::new("table".to_owned(), std::io::Cursor::new(content)).unwrap()).unwrap();
        let (report, blocks) = ingest.finish().unwrap();
        assert_eq!(series_of(&blocks[0]), expected);
        assert_eq!((report.points, report.time), (2, Some((7, 9))));
        let expected = ["table: ignored columns that are not labels: ResourceSchemaUrl (Utf8), Value (Float64)"];
        assert_eq!(warnings(&report), expected);
        let view = BlockView::open(&blocks[0]).unwrap();
        let metadata: Vec<MetricMetadata<'_>> =
            view.metric_metadata().unwrap().iter().map(|metric| metric.unwrap()).collect();
        let expected =
            MetricMetadata { name: "requests", unit: "1", description: "Requests.", ..MetricMetadata::default() };
        assert_eq!(metadata, [expected]);
    }
}

#[test]
fn several_maps_are_merged_unless_one_is_called_labels() {
    let merged = table(vec![
        ("attributes", maps(&[Some("k=point a=1"), None])),
        ("resource_attributes", maps(&[Some("k=resource r=1"), Some("k=resource")])),
        ("name", texts(&[Some("m"), Some("n")])),
    ]);
    let one = table(vec![("labels", maps(&[Some("a=1")])), ("other", maps(&[Some("b=1")]))]);
    for (table, expected, warning) in [
        (merged, all(["name=m k=point a=1 r=1", "name=n k=resource"]), None),
        (one, all(["a=1"]), Some("table: ignored columns that are not labels: other (nested)".to_owned())),
    ] {
        for content in contents(&table) {
            let (found, report) = read(&content).unwrap();
            assert_eq!((found, warnings(&report)), (expected.clone(), Vec::from_iter(warning.clone())));
        }
    }
}

/// Replaces text in the encoded table by bytes that are not UTF-8.
fn damaged(mut content: Vec<u8>, text: &[u8]) -> Vec<u8> {
    let mut count = 0;
    for at in 0..content.len() - text.len() {
        if &content[at..at + text.len()] == text {
            // Behind the first bytes, which views repeat.
            content[at + 6] = 0xff;
            count += 1;
        }
    }
    assert!(count > 0, "the value is in the file");
    content
}

#[test]
fn a_value_that_is_not_utf8_costs_its_row_only() {
    let skipping = || IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
    let pods = |bad: &'static str| [Some("pod-1-of-the-set"), Some(bad), Some("pod-3-of-the-set"), None];
    let bad = "bad-value-of-row-2";
    let dictionary: ArrayRef = Arc::new(pods(bad).into_iter().collect::<DictionaryArray<Int8Type>>());
    let views: ArrayRef = Arc::new(arrow_array::StringViewArray::from(pods(bad).to_vec()));
    let map =
        maps(&[Some("pod=pod-1-of-the-set"), Some("pod=bad-value-of-row-2"), Some("pod=pod-3-of-the-set"), Some("")]);
    for (column, name) in [(texts(&pods(bad)), "pod"), (dictionary, "pod"), (views, "pod"), (map, "labels")] {
        let table = table(vec![("n", texts(&[Some("1"), Some("2"), Some("3"), Some("4")])), (name, column)]);
        for content in contents(&table) {
            let content = damaged(content, bad.as_bytes());
            let (found, report) = read_with(&content, skipping()).unwrap();
            let expected = all(["n=1 pod=pod-1-of-the-set", "n=3 pod=pod-3-of-the-set", "n=4"]);
            assert_eq!(found, expected, "{}", table.schema());
            assert_eq!((report.rows, report.skipped.broken_rows, report.skipped.broken_records), (4, 1, 0));
            let warnings = warnings(&report);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            let expected = format!("skipped row 2: the value in column {name:?} is not valid UTF-8");
            assert!(warnings[0].ends_with(&expected), "{}", warnings[0]);
            assert!(report.is_partial(true));
            // Without the option the run ends.
            let error = whole(&read(&content).unwrap_err());
            assert!(error.ends_with(&format!("row 2: the value in column {name:?} is not valid UTF-8")), "{error}");
        }
    }
}

#[test]
fn rows_with_bad_values_are_numbered_within_their_record() {
    let values: Vec<String> = (0..5_000).map(|row| format!("value-of-row-{row}-")).collect();
    let cells: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
    let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..5_000).map(f64::from)));
    let table = table(vec![("n", numbers), ("pod", texts(&cells))]);
    let skipping = IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
    let content = damaged(parquet(&table, &[]), b"value-of-row-4321-");
    let (found, report) = read_with(&content, skipping.clone()).unwrap();
    assert_eq!((found.len(), report.skipped.broken_rows), (4_999, 1));
    let expected = "table: row group 1: skipped row 4322: the value in column \"pod\" is not valid UTF-8";
    assert_eq!(warnings(&report), [expected, "table: ignored columns that are not labels: n (Float64)"]);
    // All rows are bad: they are counted, and the first are named.
    let content = damaged(arrow(&table)[0].clone(), b"value-of-row-");
    let (found, report) = read_with(&content, skipping).unwrap();
    assert_eq!((found.len(), report.skipped.broken_rows), (0, 5_000));
    assert_eq!(report.warnings.len() as u64 + report.more_warnings, 5_001, "and one of the ignored column");
}

#[test]
fn a_dictionary_of_numbers_is_ignored() {
    let column = DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0, 0]), Arc::new(Int8Array::from(vec![7])));
    let table = table(vec![("code", Arc::new(column)), ("job", texts(&[Some("a"), Some("b")]))]);
    for content in arrow(&table) {
        let (found, report) = read(&content).unwrap();
        assert_eq!((found, warnings(&report).len()), (all(["job=a", "job=b"]), 1));
    }
}

#[test]
fn a_summary_of_other_files_is_skipped() {
    // pyarrow: write_to_dataset with a metadata collector, then write_metadata.
    let content = include_bytes!("../../../testdata/captures/tables/pyarrow-partitions/_metadata");
    let (found, report) = read(content).unwrap();
    assert_eq!((found.len(), report.unknown_files), (0, 1));
    assert_eq!(warnings(&report), ["table: skipped: a summary of row groups in other files"]);
}
