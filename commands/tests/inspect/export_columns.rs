//! Series columns in exports, beside the values in the block.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroU64;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use chronoxide::{BlockWriter, ColumnMerge, ValueType};
use chronoxide_format::SeriesRef;
use chronoxide_format::view::BlockView;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};
use chronoxide_testkit::random::Random;
use chronoxide_text::human::time;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value as Json};

use crate::support::{Folder, assert_exit, golden, run, stdout};

/// A value as text: a number in digits, bytes as hexadecimal digits.
type Cell = Option<String>;

/// Type, way to merge and unit of a column, and its values by the refs of series.
type Column = (String, String, String, BTreeMap<u64, Cell>);

/// Series columns by name.
type Columns = BTreeMap<String, Column>;

fn columns_of_block(block: &[u8]) -> Columns {
    let view = BlockView::open(block).unwrap();
    let count = view.series_count().unwrap();
    let columns = view.series_columns().map(|column| {
        let column = column.unwrap();
        let cell = |series| column.get(SeriesRef(series)).unwrap().map(|value| value.to_string());
        let values = (0..count).map(|series| (u64::from(series), cell(series))).collect();
        let [value_type, merge] = [column.value_type().to_string(), column.merge().to_string()];
        (column.name().to_owned(), (value_type, merge, column.unit().to_string(), values))
    });
    columns.collect()
}

fn cell(column: &dyn Array, row: usize) -> Cell {
    if column.is_null(row) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) if **zone == *"UTC" => {
            column.as_primitive::<TimestampNanosecondType>().value(row).to_string()
        }
        DataType::Binary => {
            let digits = column.as_binary::<i32>().value(row).iter().map(|byte| format!("{byte:02x}"));
            format!("0x{}", digits.collect::<String>())
        }
        other => panic!("{other}"),
    })
}

fn value_type(field: &Field) -> String {
    let times =
        ["chronoxide.first_time", "chronoxide.last_time"].contains(&field.metadata()["chronoxide.column"].as_str());
    match field.data_type() {
        DataType::Int64 if !times => "i64",
        DataType::Timestamp(..) if times => "i64",
        DataType::UInt64 => "u64",
        DataType::Binary => "bytes",
        other => panic!("{}: {other}", field.name()),
    }
    .to_owned()
}

/// Returns the series columns of batches, by the names of their fields.
fn columns_of_batches(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> Columns {
    let mut columns = Columns::new();
    for batch in batches {
        let batch = batch.unwrap();
        let refs = batch.column(0).as_primitive::<UInt64Type>();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let Some(merge) = field.metadata().get("chronoxide.merge").cloned() else { continue };
            let (name, unit) = (field.name().clone(), field.metadata()["chronoxide.unit"].clone());
            let column = columns.entry(name).or_insert_with(|| (value_type(field), merge, unit, BTreeMap::new()));
            let cells = (0..batch.num_rows()).map(|row| (refs.value(row), cell(array, row)));
            column.3.extend(cells);
        }
    }
    columns
}

fn exported(folder: &Folder, block: &str, format: &str, options: &[&str]) -> Columns {
    let path = folder.file(&format!("out.{format}"));
    let arguments = [&["export", "-q", block, "--force", "-o", path.to_str().unwrap()], options].concat();
    assert_eq!(stdout(&arguments), "");
    let file = File::open(path).unwrap();
    match format {
        "arrow" => columns_of_batches(FileReader::try_new(file, None).unwrap()),
        _ => columns_of_batches(ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap()),
    }
}

#[test]
fn parquet_and_arrow_have_the_columns_of_the_block() {
    let folder = Folder::new();
    let block = golden("columns.cx");
    let expected = columns_of_block(&fs::read(&block).unwrap());
    assert_eq!(expected.len(), 7);
    for format in ["parquet", "arrow"] {
        for options in [&[][..], &["--map"], &["--sort"], &["--keep-column", "*"]] {
            assert_eq!(exported(&folder, &block, format, options), expected, "{format} {options:?}");
        }
        let kept = |options: &[&str]| exported(&folder, &block, format, options).into_keys().collect::<Vec<_>>();
        assert_eq!(kept(&["--drop-column", "*"]), [""; 0]);
        assert_eq!(
            kept(&["--keep-column", "chronoxide.*", "--keep-column", "flags", "--drop-column", "chronoxide.last_time"]),
            ["chronoxide.first_time", "flags"]
        );
        assert_eq!(kept(&["--columns", "series_ref,total,__name__,flags"]), ["flags", "total"]);
    }
    let note = run(&["export", &block, "--format", "arrow", "--drop-column", "nope", "--keep-column", "flags"]);
    assert_exit(&note, 0, "note: the block has no such series column: drop column \"nope\"");
    assert_exit(
        &run(&["export", &block, "--format", "csv", "--columns", "job", "--keep-column", "flags"]),
        2,
        "--columns",
    );
}

/// Times as RFC 3339, numbers in digits, bytes as hexadecimal digits.
#[test]
fn text_has_the_columns_that_are_asked_for() {
    let block = golden("columns.cx");
    let bytes = fs::read(&block).unwrap();
    let expected = columns_of_block(&bytes);
    let shown = |name: &str, cell: &Cell| match cell {
        Some(number) if name.starts_with("chronoxide.") => time(number.parse().unwrap()),
        cell => cell.clone().unwrap_or_default(),
    };
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    let listed = format!("series_ref,{}", names.join(","));
    let text = stdout(&["export", &block, "--format", "csv", "--columns", &listed]);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(listed.as_str()));
    for (series_ref, line) in (0..).zip(lines.by_ref()) {
        let cells = names.iter().map(|name| shown(name, &expected[*name].3[&series_ref]));
        assert_eq!(line, [series_ref.to_string()].into_iter().chain(cells).collect::<Vec<_>>().join(","));
    }
    let text = stdout(&["export", &block, "--format", "jsonl", "--columns", &listed]);
    assert_eq!(text.lines().count(), expected["flags"].3.len());
    for (series_ref, line) in (0..).zip(text.lines()) {
        let object: Map<String, Json> = serde_json::from_str(line).unwrap();
        for name in &names {
            let cell = &expected[*name].3[&series_ref];
            let found = object.get(*name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            assert_eq!(found, cell.as_ref().map(|_| shown(name, cell)), "{name} of {series_ref}");
            let is_text = name.starts_with("chronoxide.") || expected[*name].0 == "bytes";
            assert!(object.get(*name).is_none_or(|value| value.is_string() == is_text), "{line}");
        }
    }
    // Readers would take a column for a label.
    for format in ["csv", "jsonl"] {
        let plain = stdout(&["export", &block, "--format", format]);
        let has_column = |line: &str| {
            let is_column = |word: &str| names.contains(&word.trim_matches('"'));
            line.split(['{', ',', ':']).any(is_column)
        };
        assert!(!plain.lines().any(has_column), "{plain}");
        let kept = stdout(&["export", &block, "--format", format, "--keep-column", "chronoxide.*"]);
        assert!(kept.contains("chronoxide.first_time") && !kept.contains("flags"), "{kept}");
    }
}

#[test]
fn a_label_keeps_its_name_beside_a_column() {
    let folder = Folder::new();
    let path = folder.file("block.cx");
    let mut writer = BlockWriter::new();
    for (name, value) in [("size", 1_u64), ("_size", 2), ("series_ref", 3), ("labels", 4)] {
        let column = writer.add_column(name, ValueType::U64, ColumnMerge::Max).unwrap();
        let series = writer.insert([("__name__", "up"), ("size", "large")]).unwrap();
        writer.set(column, series, value).unwrap();
    }
    writer.finish(&path).unwrap();
    let block = path.to_str().unwrap();
    let values = |columns: Columns| -> BTreeMap<String, Cell> {
        columns.into_iter().map(|(name, (_, _, _, values))| (name, values[&0].clone())).collect()
    };
    let named = |names: [(&str, u64); 4]| -> BTreeMap<String, Cell> {
        names.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_string()))).collect()
    };
    for format in ["parquet", "arrow"] {
        let found = values(exported(&folder, block, format, &[]));
        assert_eq!(found, named([("__size", 1), ("_size", 2), ("_series_ref", 3), ("labels", 4)]), "{format}");
        let mapped = values(exported(&folder, block, format, &["--map"]));
        assert_eq!(mapped, named([("size", 1), ("_size", 2), ("_series_ref", 3), ("_labels", 4)]), "{format}");
    }
    let text = stdout(&["export", block, "--format", "csv", "--columns", "size,__size,_series_ref,series_ref"]);
    assert_eq!(text, "size,__size,_series_ref,series_ref\nlarge,1,3,0\n");
}

#[test]
fn a_time_range_selects_series_by_their_first_and_last_time() {
    let block = golden("columns.cx");
    let columns = columns_of_block(&fs::read(&block).unwrap());
    let number = |name: &str, series: &u64| columns[name].3[series].as_ref().map(|cell| cell.parse::<i64>().unwrap());
    let minute = |minutes: i64| 1_700_000_040_000_000_000 + minutes * 60_000_000_000;
    let mut counts = Vec::new();
    for (start, end) in [(-10, 0), (0, 1), (3, 60), (60, 118), (119, 500), (-100, 500), (500, 501)] {
        let expected: Vec<String> = columns["flags"]
            .3
            .keys()
            .filter(|series| {
                number("chronoxide.first_time", series).is_none_or(|first| first < minute(end))
                    && number("chronoxide.last_time", series).is_none_or(|last| last >= minute(start))
            })
            .map(u64::to_string)
            .collect();
        let (min, max) = (time(minute(start)), time(minute(end)));
        let times = ["--min-time", &min, "--max-time", &max];
        for order in [&[][..], &["--sort"]] {
            let options = ["export", &block, "--format", "csv", "--columns", "series_ref"];
            let text = stdout(&[&options[..], &times, order].concat());
            let mut found: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
            found.sort_by_key(|series_ref| series_ref.parse::<u64>().unwrap());
            // A block without data in the range has no series, also those whose times are unknown.
            let shown = stdout(&[&["series", &block, "--json"], &times[..]].concat());
            assert_eq!(found.len(), shown.lines().count(), "{start} to {end}");
            if !found.is_empty() {
                assert_eq!(found, expected, "{start} to {end}");
            }
        }
        counts.push(expected.len());
    }
    counts.sort_unstable();
    counts.dedup();
    assert!(counts.len() > 2, "{counts:?}");
    let both = ["export", &block, "--format", "csv", "--min-time", &time(minute(60)), "--match", "{job=\"nope\"}"];
    assert_eq!(stdout(&[&both[..], &["-q"]].concat()).lines().count(), 1);

    let plain =
        run(&["export", &golden("plain-bitpacked.cx"), "--format", "csv", "--min-time", "2025-11-11T09:00:00Z"]);
    let note = "note: 1 block does not know the times of its series: all count that match";
    let shown = run(&["series", &golden("plain-bitpacked.cx"), "--min-time", "2025-11-11T09:00:00Z"]);
    assert_exit(&plain, 0, if String::from_utf8_lossy(&shown.stderr).contains(note) { note } else { "" });
    assert_eq!(plain.stderr, shown.stderr);
    assert_eq!(
        String::from_utf8_lossy(&plain.stdout).lines().count(),
        1 + String::from_utf8_lossy(&shown.stdout).lines().count()
    );
    let turned = ["export", &block, "--format", "csv", "--min-time", &time(minute(2)), "--max-time", &time(minute(1))];
    assert_exit(&run(&turned), 2, "--min-time must be before --max-time");
}

/// Labels of a series, and its values of all columns.
type Row = (Vec<(String, String)>, Vec<Cell>);

/// Returns name, type, way to merge and unit of each column, and all series.
fn content(block: &[u8]) -> (Vec<[String; 4]>, Vec<Row>) {
    let (view, columns) = (BlockView::open(block).unwrap(), columns_of_block(block));
    view.verify().unwrap();
    let text = view.text().unwrap();
    let mut series: Vec<_> = view
        .series_iter()
        .map(|series| series.unwrap())
        .map(|series| {
            let labels = text.labels(&series).map(|label| label.unwrap());
            let labels = labels.map(|label| (label.name.to_owned(), label.value.to_owned())).collect();
            let series_ref = u64::from(series.series_ref().0);
            (labels, columns.values().map(|(.., values)| values[&series_ref].clone()).collect())
        })
        .collect();
    series.sort();
    let facts = columns.into_iter().map(|(name, (value_type, merge, unit, _))| [name, value_type, merge, unit]);
    (facts.collect(), series)
}

fn ingested(path: &Path, assemble: AssembleOptions) -> Vec<u8> {
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    let source = ingest.open(path, 1 << 20).unwrap();
    ingest.read(source).unwrap();
    let (report, mut blocks) = ingest.finish().unwrap();
    assert_eq!((report.warnings.len(), blocks.len()), (0, 1), "{:?}", report.warnings);
    blocks.remove(0)
}

/// A capture with times, and the golden block, whose column without values is gone.
#[test]
fn an_exported_block_comes_back_with_its_columns() {
    let folder = Folder::new();
    let mut random = Random::new(1);
    let sample = |random: &mut Random| {
        let time = 1_700_000_000_000 + random.below(7_200_000);
        format!("up{{job=\"{}\",pod=\"{}\"}} 1 {time}\n", random.below(3), random.below(200))
    };
    let capture = folder.write("capture.prom", (0..2_000).map(|_| sample(&mut random)).collect::<String>());
    let assemble = AssembleOptions { time_step: NonZeroU64::new(60_000_000_000), ..AssembleOptions::default() };
    let timed = ingested(Path::new(&capture), assemble);
    let golden = fs::read(golden("columns.cx")).unwrap();
    for (block, column_count) in [(timed, 2), (golden, 6)] {
        let path = folder.write("block.cx", &block);
        let (mut facts, series) = content(&block);
        let valued: Vec<bool> =
            (0..facts.len()).map(|column| series.iter().any(|(_, cells)| cells[column].is_some())).collect();
        let kept = |cells: &[Cell]| {
            cells.iter().zip(&valued).filter(|(_, kept)| **kept).map(|(cell, _)| cell.clone()).collect()
        };
        let series: Vec<Row> = series.iter().map(|(labels, cells)| (labels.clone(), kept(cells))).collect();
        let mut keep = valued.iter();
        facts.retain(|_| *keep.next().unwrap());
        assert_eq!(facts.len(), column_count);
        for (format, options) in
            [("parquet", &[][..]), ("parquet", &["--map", "--sort"]), ("arrow", &[]), ("arrow", &["--map"])]
        {
            let file = folder.file(&format!("out.{format}"));
            stdout(&[&["export", "-q", &path, "--force", "-o", file.to_str().unwrap()], options].concat());
            let again = content(&ingested(&file, AssembleOptions::default()));
            assert_eq!(again, (facts.clone(), series.clone()), "{format} {options:?}");
        }
    }
}
