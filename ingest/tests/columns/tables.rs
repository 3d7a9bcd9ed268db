//! Tables of labels as record batches, and what reading them gives.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder, StringViewBuilder};
use arrow_array::types::{Int8Type, UInt32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};
use chronoxide_testkit::random::Random;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::canonical::{self, Labels};

/// Rows of label names and values.
pub type Rows = Vec<Labels>;

/// How the labels of a table are stored in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Utf8,
    LargeUtf8,
    Utf8View,
    /// `Dictionary(UInt32, Utf8View)`, as `chronoxide-inspect export` writes it.
    Dictionary,
    /// `Dictionary(Int8, Utf8)`.
    SmallDictionary,
    Map,
    MapOfViews,
}

pub const SHAPES: [Shape; 7] = [
    Shape::Utf8,
    Shape::LargeUtf8,
    Shape::Utf8View,
    Shape::Dictionary,
    Shape::SmallDictionary,
    Shape::Map,
    Shape::MapOfViews,
];

/// Shapes that the crate `parquet` can write: it lacks dictionaries of views.
pub const PARQUET_SHAPES: [Shape; 6] =
    [Shape::Utf8, Shape::LargeUtf8, Shape::Utf8View, Shape::SmallDictionary, Shape::Map, Shape::MapOfViews];

/// Makes rows in which labels are missing and values recur. Some values are longer than a view holds inline.
pub fn rows(random: &mut Random, count: usize) -> Rows {
    let row = |random: &mut Random| {
        let mut labels = Labels::from([("__name__".to_owned(), format!("metric_{}", random.below(5)))]);
        labels.insert("pod".to_owned(), format!("a-pod-with-a-long-name-{}", random.below(90)));
        for key in ["job", "zone", "é\"{}"] {
            if random.below(3) > 0 {
                labels.insert(key.to_owned(), format!("{key} {}", random.below(20)));
            }
        }
        labels
    };
    (0..count).map(|_| row(random)).collect()
}

pub fn distinct(rows: &Rows) -> BTreeSet<Labels> {
    rows.iter().cloned().collect()
}

/// Stores rows in a batch. A missing label is NULL in even rows and the empty text in odd ones.
pub fn batch(rows: &Rows, shape: Shape) -> RecordBatch {
    let mut fields = vec![Field::new("series_ref", DataType::UInt64, false)];
    let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(0..rows.len() as u64))];
    if matches!(shape, Shape::Map | Shape::MapOfViews) {
        let map = map(rows, shape);
        fields.push(Field::new("labels", map.data_type().clone(), true));
        columns.push(map);
    } else {
        for name in ["__name__", "pod", "job", "zone", "é\"{}"] {
            let cells: Vec<Option<&str>> =
                rows.iter().enumerate().map(|(row, labels)| cell(labels, name, row)).collect();
            let column = column(&cells, shape);
            fields.push(Field::new(name, column.data_type().clone(), true));
            columns.push(column);
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn cell<'a>(labels: &'a Labels, name: &str, row: usize) -> Option<&'a str> {
    let empty = if row.is_multiple_of(2) { None } else { Some("") };
    labels.get(name).map(String::as_str).or(empty)
}

pub fn column(cells: &[Option<&str>], shape: Shape) -> ArrayRef {
    match shape {
        Shape::Utf8 => Arc::new(StringArray::from(cells.to_vec())),
        Shape::LargeUtf8 => Arc::new(LargeStringArray::from(cells.to_vec())),
        Shape::Utf8View => Arc::new(StringViewArray::from(cells.to_vec())),
        Shape::SmallDictionary => Arc::new(cells.iter().copied().collect::<DictionaryArray<Int8Type>>()),
        _ => {
            // Code 0 is a value that is NULL itself.
            let mut values: Vec<Option<&str>> = vec![None];
            let mut codes = Vec::new();
            for (row, &cell) in cells.iter().enumerate() {
                let code = values.iter().position(|&value| value == cell).unwrap_or_else(|| {
                    values.push(cell);
                    values.len() - 1
                });
                codes.push(Some(code as u32).filter(|&code| code > 0 || row.is_multiple_of(4)));
            }
            let values: ArrayRef = Arc::new(StringViewArray::from(values));
            Arc::new(DictionaryArray::<UInt32Type>::new(UInt32Array::from(codes), values))
        }
    }
}

fn map(rows: &Rows, shape: Shape) -> ArrayRef {
    let names =
        || Some(MapFieldNames { entry: "entries".to_owned(), key: "keys".to_owned(), value: "values".to_owned() });
    macro_rules! build {
        ($keys:expr, $values:expr) => {{
            let mut map = MapBuilder::new(names(), $keys, $values);
            for (row, labels) in rows.iter().enumerate() {
                for (name, value) in labels {
                    map.keys().append_value(name);
                    map.values().append_value(value);
                }
                if row.is_multiple_of(3) {
                    map.keys().append_value("missing");
                    map.values().append_option(cell(labels, "missing", row));
                }
                map.append(true).unwrap();
            }
            Arc::new(map.finish())
        }};
    }
    match shape {
        Shape::Map => build!(StringBuilder::new(), StringBuilder::new()),
        _ => build!(StringViewBuilder::new(), StringViewBuilder::new()),
    }
}

pub fn stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

pub fn file(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

pub fn parquet(batches: &[RecordBatch], properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// Reads content as a pipe.
pub fn read(content: &[u8]) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    read_with(content, IngestOptions::default())
}

pub fn read_with(content: &[u8], options: IngestOptions) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    finish(Ingest::new(options, Vec::new()), Source::new("table".to_owned(), Cursor::new(content.to_vec()))?)
}

/// Reads content as a file.
pub fn read_file(content: &[u8], options: IngestOptions) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    finish(Ingest::new(options, Vec::new()), Source::open(file.path())?)
}

fn finish(mut ingest: Ingest, source: Source) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    ingest.read(source)?;
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report))
}

/// Returns an error with all its causes.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// A table as a stream, a file and a Parquet file.
pub fn contents(table: &RecordBatch) -> [Vec<u8>; 3] {
    let tables = [table.clone()];
    let options = IpcWriteOptions::default;
    [stream(&tables, options()), file(&tables, options()), parquet(&tables, WriterProperties::default())]
}
