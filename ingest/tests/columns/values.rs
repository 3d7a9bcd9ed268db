//! Series columns of tables: integers, timestamps and marked bytes.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::num::NonZeroU64;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, Int8Array, Int16Array, Int32Array, Int64Array, LargeBinaryArray,
    RecordBatch, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestError, IngestOptions, Report, Warning};
use chronoxide_testkit::random::Random;
use parquet::file::properties::WriterProperties;

use crate::tables::{self, contents};

/// Type, way to merge and unit of each column, and its values as text by the label `job`.
type Columns = BTreeMap<String, (String, BTreeMap<String, String>)>;

fn jobs(jobs: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(jobs.to_vec()))
}

/// Makes a table of columns with metadata: name, way to merge and unit of series columns.
fn table(columns: Vec<(&str, Option<[&str; 3]>, ArrayRef)>) -> RecordBatch {
    let keys = ["chronoxide.column", "chronoxide.merge", "chronoxide.unit"];
    let field = |(name, marks, array): &(&str, Option<[&str; 3]>, ArrayRef)| {
        let marks = marks.iter().flat_map(|marks| keys.into_iter().zip(*marks));
        let marks: HashMap<String, String> = marks.map(|(key, mark)| (key.to_owned(), mark.to_owned())).collect();
        Field::new(*name, array.data_type().clone(), true).with_metadata(marks)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(.., array)| array).collect()).unwrap()
}

fn ingest(options: IngestOptions, inputs: &[(&str, &[u8])]) -> Result<(Report, Vec<Vec<u8>>), IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    for (name, content) in inputs {
        ingest.read(Source::new((*name).to_owned(), Cursor::new(content.to_vec()))?)?;
    }
    ingest.finish()
}

fn columns_of(block: &[u8]) -> Columns {
    let view = BlockView::open(block).unwrap();
    view.verify().unwrap();
    let text = view.text().unwrap();
    let job = |series: &chronoxide_format::view::Series<'_, '_>| {
        text.labels(series).map(|label| label.unwrap()).find(|label| label.name == "job").unwrap().value.to_owned()
    };
    let columns = view.series_columns().map(|column| {
        let column = column.unwrap();
        let facts = format!("{} {} {}", column.value_type(), column.merge(), column.unit());
        let values = view.series_iter().map(|series| series.unwrap()).filter_map(|series| {
            let value = column.get(series.series_ref()).unwrap()?;
            Some((job(&series), value.to_string()))
        });
        (column.name().to_owned(), (facts, values.collect()))
    });
    columns.collect()
}

fn column(facts: &str, values: &[(&str, &str)]) -> (String, BTreeMap<String, String>) {
    (facts.to_owned(), values.iter().map(|(job, value)| ((*job).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn integers_times_and_marked_bytes_are_columns() {
    let table = table(vec![
        ("job", None, jobs(&["a", "b", "a"])),
        ("series_ref", None, Arc::new(UInt64Array::from(vec![0, 1, 2]))),
        ("small", None, Arc::new(Int8Array::from(vec![Some(-5), None, Some(i8::MIN)]))),
        ("count", Some(["job", "sum", "10"]), Arc::new(UInt16Array::from(vec![10, 20, 30]))),
        ("odd", Some(["odd", "max", "10"]), Arc::new(Int64Array::from(vec![i64::MIN, 7, 15]))),
        (
            "seen",
            None,
            Arc::new(TimestampMillisecondArray::from(vec![Some(1_000), Some(i64::MAX), None]).with_timezone("UTC")),
        ),
        ("raw", Some(["raw", "min", "1"]), Arc::new(BinaryArray::from(vec![&b"\x02"[..], b"", b"\x01\x02"]))),
        ("text", None, Arc::new(BinaryArray::from(vec![&b"x"[..], b"x", b"x"]))),
        ("chronoxide.last_time", None, Arc::new(Int64Array::from(vec![60, 120, 0]))),
    ]);
    let expected = Columns::from([
        ("small".to_owned(), column("i64 newest 1", &[("a", "-128")])),
        ("job".to_owned(), column("u64 sum 10", &[("a", "40"), ("b", "20")])),
        ("odd".to_owned(), column("i64 max 1", &[("a", "15"), ("b", "7")])),
        ("seen".to_owned(), column("i64 newest 1", &[("a", "1000000000")])),
        ("raw".to_owned(), column("bytes min 1", &[("a", "0x0102"), ("b", "0x")])),
        ("chronoxide.last_time".to_owned(), column("i64 max 1", &[("a", "60"), ("b", "120")])),
    ]);
    for content in contents(&table) {
        let (report, blocks) = ingest(IngestOptions::default(), &[("table", &content)]).unwrap();
        assert_eq!(columns_of(&blocks[0]), expected);
        let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, ["table: left out 1 time of series columns before 1677 or after 2262"]);
        assert_eq!(report.series, 2);
        assert_eq!(report.skipped.values_out_of_range, 1, "a time of b is i64::MAX milliseconds");
        assert!(report.is_partial(true));
        let none = IngestOptions { keep_columns: false, ..IngestOptions::default() };
        let (report, blocks) = ingest(none, &[("table", &content)]).unwrap();
        let [Warning::IgnoredColumns { .. }] = report.warnings[..] else { panic!("{:?}", report.warnings) };
        assert_eq!(columns_of(&blocks[0]), Columns::new());
    }
}

#[test]
fn all_integers_units_of_time_and_kinds_of_bytes_are_columns() {
    let raw = |name| Some([name, "newest", "1"]);
    let bytes: Vec<&[u8]> = vec![b"\x00\xff", b"y"];
    let table = table(vec![
        ("job", None, jobs(&["a", "b"])),
        ("i16", None, Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX]))),
        ("i32", None, Arc::new(Int32Array::from(vec![i32::MIN, i32::MAX]))),
        ("u8", None, Arc::new(UInt8Array::from(vec![0, u8::MAX]))),
        ("u32", None, Arc::new(UInt32Array::from(vec![0, u32::MAX]))),
        ("u64", None, Arc::new(UInt64Array::from(vec![0, u64::MAX]))),
        ("s", None, Arc::new(TimestampSecondArray::from(vec![-1, 2]))),
        ("us", None, Arc::new(TimestampMicrosecondArray::from(vec![-1, 2]))),
        ("ns", None, Arc::new(TimestampNanosecondArray::from(vec![-1, i64::MAX]))),
        ("large", raw("large"), Arc::new(LargeBinaryArray::from(bytes.clone()))),
        ("view", raw("view"), Arc::new(BinaryViewArray::from(bytes))),
    ]);
    let two = |value_type: &str, a: &str, b: &str| column(&format!("{value_type} newest 1"), &[("a", a), ("b", b)]);
    let expected = [
        ("i16", two("i64", "-32768", "32767")),
        ("i32", two("i64", "-2147483648", "2147483647")),
        ("u8", two("u64", "0", "255")),
        ("u32", two("u64", "0", "4294967295")),
        ("u64", two("u64", "0", "18446744073709551615")),
        ("us", two("i64", "-1000", "2000")),
        ("ns", two("i64", "-1", "9223372036854775807")),
        ("large", two("bytes", "0x00ff", "0x79")),
        ("view", two("bytes", "0x00ff", "0x79")),
    ];
    let expected: Columns = expected.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
    for content in contents(&table) {
        let (report, blocks) = ingest(IngestOptions::default(), &[("table", &content)]).unwrap();
        let mut found = columns_of(&blocks[0]);
        // Parquet has no seconds: they are written as integers, whose unit is in the metadata of Arrow alone.
        let seconds = found.remove("s").unwrap();
        assert!([two("i64", "-1000000000", "2000000000"), two("i64", "-1", "2")].contains(&seconds), "{seconds:?}");
        assert_eq!(found, expected);
        assert!(!report.is_partial(false));
    }
}

#[test]
fn values_that_are_too_long_cost_their_rows_and_names_occur_once() {
    let long = vec![1; 65_536];
    let of_values = |values: [&[u8]; 2]| {
        let values = Arc::new(BinaryArray::from(values.to_vec()));
        contents(&table(vec![("job", None, jobs(&["a", "b"])), ("raw", Some(["raw", "newest", "1"]), values)]))
    };
    for content in of_values([&long[1..], b"x"]) {
        let (_, blocks) = ingest(IngestOptions::default(), &[("table", &content)]).unwrap();
        assert_eq!(columns_of(&blocks[0])["raw"].1["a"].len(), 2 + 2 * 65_535);
    }
    for content in of_values([&long, b"x"]) {
        let error = ingest(IngestOptions::default(), &[("table", &content)]).unwrap_err();
        assert!(tables::whole(&error).contains("bytes of a series column are longer than 65,535"));
        let skips = IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
        let (report, blocks) = ingest(skips, &[("table", &content)]).unwrap();
        assert_eq!((report.skipped.broken_rows, report.is_partial(true)), (1, true));
        assert_eq!(columns_of(&blocks[0])["raw"], column("bytes newest 1", &[("b", "0x78")]));
    }
    let number = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let twice = table(vec![
        ("job", None, jobs(&["a"])),
        ("one", Some(["x", "max", "1"]), number()),
        ("two", Some(["x", "max", "1"]), number()),
    ]);
    for content in contents(&twice) {
        let error = ingest(IngestOptions::default(), &[("table", &content)]).unwrap_err();
        assert!(tables::whole(&error).contains("two columns are called \"x\""), "{}", tables::whole(&error));
    }
}

#[test]
fn fields_that_cannot_be_columns_are_ignored_with_a_reason() {
    let number = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let bytes = || Arc::new(BinaryArray::from(vec![&b"\xff"[..]])) as ArrayRef;
    let long = "x".repeat(256);
    let table = table(vec![
        ("job", None, jobs(&["a"])),
        ("case", Some(["case", "Sum", "1"]), number()),
        ("flags", Some(["flags", "or", "1"]), number()),
        ("raw", Some(["raw", "sum", "1"]), bytes()),
        ("long", Some([&long, "max", "1"]), number()),
        ("chronoxide.last_time", None, Arc::new(UInt64Array::from(vec![1]))),
        ("kept", Some(["kept", "max", "abc"]), number()),
    ]);
    for content in contents(&table) {
        let (report, blocks) = ingest(IngestOptions::default(), &[("table", &content)]).unwrap();
        assert_eq!(columns_of(&blocks[0]), Columns::from([("kept".to_owned(), column("i64 max 1", &[("a", "1")]))]));
        let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
        let warning = warning.to_string();
        let merge = "its metadata chronoxide.merge does not name a way to merge these values";
        for expected in [
            format!("case (Int64; {merge})"),
            format!("flags (Int64; {merge})"),
            format!("raw (Binary; {merge})"),
            "long (Int64; the name of a series column has 1 to 255 bytes)".to_owned(),
            "chronoxide.last_time (UInt64; times of series are signed integers or timestamps)".to_owned(),
        ] {
            assert!(warning.contains(&expected), "{warning}");
        }
    }
}

#[test]
fn a_thousand_columns_are_kept_and_more_are_refused() {
    for (count, is_kept) in [(1_000, true), (1_001, false)] {
        let names: Vec<String> = (0..count).map(|number| format!("column {number:04}")).collect();
        let mut columns = vec![("job", None, jobs(&["a"]))];
        columns.extend(names.iter().map(|name| (name.as_str(), None, Arc::new(Int8Array::from(vec![1])) as ArrayRef)));
        let content = tables::parquet(&[table(columns)], WriterProperties::default());
        match ingest(IngestOptions::default(), &[("wide", &content)]) {
            Ok((_, blocks)) => assert!(is_kept && columns_of(&blocks[0]).len() == 1_000),
            Err(error) => {
                let message = tables::whole(&error);
                assert!(message.contains("wide: column \"column 1000\": a block has at most 1000 series columns"));
                assert!(!is_kept, "{message}");
            }
        }
    }
}

/// The values of a row that is skipped, and those of the last row, do not become values of other series.
#[test]
fn values_stay_with_their_rows() {
    let point = br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":
        [{"timeUnixNano":"1","attributes":[{"key":"job","value":{"stringValue":"z"}}]}]}}]}]}]}"#;
    let point: Vec<u8> = point.iter().copied().filter(|byte| *byte != b'\n').collect();
    let options = IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
    let values = |inputs: &[(&str, &[u8])]| {
        let (report, blocks) = ingest(options.clone(), inputs).unwrap();
        (columns_of(&blocks[0]).remove("x").map(|(_, values)| values), report)
    };
    let long = vec![1; 65_536];
    let table_of = |raw: [Option<&[u8]>; 3]| {
        table(vec![
            ("job", None, jobs(&["a", "b", "c"])),
            ("x", None, Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
            ("raw", Some(["raw", "newest", "1"]), Arc::new(BinaryArray::from(raw.to_vec()))),
        ])
    };
    let three = BTreeMap::from([("c".to_owned(), "3".to_owned())]);
    for content in contents(&table_of([Some(&long), None, None])) {
        assert_eq!(values(&[("table", &content), ("points", &point)]).0, Some(three.clone()));
    }
    for content in contents(&table_of([Some(b"r"), None, Some(&long)])) {
        let one = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(values(&[("table", &content), ("points", &point)]).0, Some(one));
    }
    let names: Vec<String> = (0..1_100).map(|number| format!("l{number}")).collect();
    let mut wide: Vec<_> = names.iter().map(|name| (name.as_str(), None, jobs(&["v"]))).collect();
    wide.push(("x", None, Arc::new(Int64Array::from(vec![7]))));
    for content in contents(&table(wide)) {
        let (found, report) = values(&[("table", &content), ("points", &point)]);
        assert_eq!((report.skipped.too_many_labels, report.series, found), (1, 1, None));
    }
}

/// The longest text of a series is kept in memory, not the text of each row.
#[test]
fn many_rows_of_one_series_do_not_cut_blocks() {
    let rows = 20_000;
    let values: Vec<&[u8]> = vec![&[7; 100]; rows];
    let table = table(vec![
        ("job", None, jobs(&vec!["a"; rows])),
        ("raw", Some(["raw", "newest", "1"]), Arc::new(BinaryArray::from(values))),
    ]);
    for content in contents(&table) {
        let assemble = AssembleOptions { max_memory: Some(4 << 20), ..AssembleOptions::default() };
        let options = IngestOptions { assemble, ..IngestOptions::default() };
        let (report, _) = ingest(options, &[("table", &content)]).unwrap();
        assert_eq!((report.blocks, report.rows), (1, rows as u64));
    }
}

#[test]
fn columns_that_differ_name_both_inputs() {
    let one = |marks, array: ArrayRef| contents(&table(vec![("job", None, jobs(&["a"])), ("x", marks, array)]));
    let signed = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let others = [one(None, Arc::new(UInt64Array::from(vec![1]))), one(Some(["x", "sum", "1"]), signed())];
    for first in one(None, signed()) {
        for (all, ways) in others.iter().zip(["u64 newest", "i64 sum"]) {
            for second in all {
                let error = ingest(IngestOptions::default(), &[("one", &first), ("two", second)]).unwrap_err();
                let message = tables::whole(&error);
                let expected =
                    format!("the column \"x\" has type and way to merge i64 newest in one, and {ways} in two");
                assert!(message.contains(&expected), "{message}");
            }
        }
    }
    // Units may differ.
    let coarse = &one(Some(["x", "newest", "4"]), Arc::new(Int64Array::from(vec![8])))[0];
    let fine = &one(Some(["x", "newest", "6"]), Arc::new(Int64Array::from(vec![12])))[0];
    let (_, blocks) = ingest(IngestOptions::default(), &[("one", coarse), ("two", fine)]).unwrap();
    assert_eq!(columns_of(&blocks[0])["x"], column("i64 newest 2", &[("a", "12")]));
    let same = [1, 2].map(|number| one(Some(["x", "same", "1"]), Arc::new(Int64Array::from(vec![number])))[0].clone());
    let error = ingest(IngestOptions::default(), &[("one", &same[0]), ("two", &same[1])]).unwrap_err();
    assert!(tables::whole(&error).contains("column \"x\": two values of a series cannot be merged as same"));
}

/// Windows and cuts for memory share the values of random rows among blocks. Their sums are those of a plain model.
#[test]
fn windows_and_a_memory_limit_share_the_values_among_blocks() {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let (mut names, mut times, mut counts, mut model) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        for _ in 0..20_000 {
            let (job, time, count) =
                (format!("job {}", random.below(9_000)), random.below(50_000) as i64, random.below(1_000));
            *model.entry((time.div_euclid(10_000), job.clone())).or_insert(0) += count;
            names.push(job);
            times.push(time);
            counts.push(count as u64);
        }
        let table = table(vec![
            ("job", None, jobs(&names.iter().map(String::as_str).collect::<Vec<_>>())),
            ("timestamp", None, Arc::new(TimestampMillisecondArray::from(times))),
            ("count", Some(["count", "sum", "1"]), Arc::new(UInt64Array::from(counts))),
        ]);
        let content = tables::parquet(&[table], WriterProperties::default());
        let mut block_counts = Vec::new();
        for max_memory in [None, Some(1 << 20)] {
            let assemble = AssembleOptions {
                window: NonZeroU64::new(10_000_000_000),
                max_memory,
                time_step: NonZeroU64::new(1_000_000).filter(|_| seed % 2 == 0),
                ..AssembleOptions::default()
            };
            let (_, blocks) =
                ingest(IngestOptions { assemble, ..IngestOptions::default() }, &[("table", &content)]).unwrap();
            let mut sums = BTreeMap::new();
            for block in &blocks {
                let start = BlockView::open(block).unwrap().meta().unwrap().window().unwrap().start / 10_000_000_000;
                for (job, count) in &columns_of(block)["count"].1 {
                    *sums.entry((start, job.clone())).or_insert(0) += count.parse::<usize>().unwrap();
                }
            }
            assert_eq!(sums, model, "seed {seed}, {max_memory:?}");
            block_counts.push(blocks.len());
        }
        assert!(block_counts[0] == 5 && block_counts[1] > 5, "{block_counts:?}");
    }
}

/// With times of rows, the columns of times have both.
#[test]
fn times_of_rows_and_columns_of_times_are_combined() {
    let table = table(vec![
        ("job", None, jobs(&["a", "b", "c", "d"])),
        ("timestamp", None, Arc::new(TimestampMillisecondArray::from(vec![Some(100_000), None, Some(0), Some(1)]))),
        (
            "chronoxide.first_time",
            Some(["chronoxide.first_time", "min", "6"]),
            Arc::new(Int64Array::from(vec![Some(6), Some(12), Some(18), None])),
        ),
    ]);
    let assemble = AssembleOptions { time_step: NonZeroU64::new(4), ..AssembleOptions::default() };
    let options = IngestOptions { assemble, ..IngestOptions::default() };
    for content in contents(&table) {
        let (_, blocks) = ingest(options.clone(), &[("table", &content)]).unwrap();
        let found = columns_of(&blocks[0]);
        assert_eq!(
            found["chronoxide.first_time"],
            column("i64 min 2", &[("a", "6"), ("b", "12"), ("c", "0"), ("d", "1000000")])
        );
        assert_eq!(
            found["chronoxide.last_time"],
            column("i64 max 4", &[("a", "100000000000"), ("c", "0"), ("d", "1000000")])
        );
    }
}
