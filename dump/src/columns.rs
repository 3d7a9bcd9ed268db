//! Series columns of a block: their values in numbers.

use std::io::Write;

use chronoxide_format::SeriesRef;
use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::view::BlockView;
use chronoxide_text::escape::Escaped;
use chronoxide_text::human::{self, count_of, time};
use serde::Serialize;

use crate::DumpError;
use crate::summary::{ColumnSummary, column_summaries};

/// A series column, and its values in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnEntry {
    /// Facts about the column.
    #[serde(flatten)]
    pub summary: ColumnSummary,
    /// Number of series with a value.
    pub values: u64,
    /// Least value; none for bytes, and without values.
    pub least: Option<Number>,
    /// Greatest value.
    pub greatest: Option<Number>,
    /// Number of texts that are stored; none for numbers. Neighbours with equal texts share one.
    pub texts: Option<u64>,
    /// Bytes of these texts.
    pub text_bytes: Option<u64>,
}

/// A value that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A signed number.
    I64(i64),
    /// An unsigned number.
    U64(u64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::I64(number) => number.fmt(f),
            Self::U64(number) => number.fmt(f),
        }
    }
}

/// Returns the series columns, in the order of their names. Reads all values.
///
/// # Errors
/// `Corrupt` if the block is damaged.
pub fn column_entries(view: &BlockView<'_>) -> chronoxide_format::Result<Vec<ColumnEntry>> {
    let mut entries = Vec::new();
    for (column, summary) in view.series_columns().zip(column_summaries(view)?) {
        let column = column?;
        let (mut values, mut ends): (u64, Option<(Value<'_>, Value<'_>)>) = (0, None);
        column.read(SeriesRef(0)..SeriesRef(u32::MAX), |_, value| {
            let Some(value) = value else { return Ok(()) };
            values += 1;
            let (least, greatest) = ends.unwrap_or((value, value));
            ends = Some((least.min(value), greatest.max(value)));
            Ok::<(), chronoxide_format::Error>(())
        })?;
        let number = |value: Value<'_>| match value {
            Value::I64(number) => Some(Number::I64(number)),
            Value::U64(number) => Some(Number::U64(number)),
            Value::Bytes(_) => None,
        };
        let is_text = column.value_type() == ValueType::Bytes;
        entries.push(ColumnEntry {
            summary,
            values,
            least: ends.and_then(|(least, _)| number(least)),
            greatest: ends.and_then(|(_, greatest)| number(greatest)),
            texts: is_text.then(|| column.text_count().into()),
            text_bytes: is_text.then(|| column.text_len()),
        });
    }
    Ok(entries)
}

/// Writes the series columns of a block, one per line, as words or as JSON objects.
///
/// # Errors
/// Returns an error if the block is damaged or writing fails.
pub fn write_columns(view: &BlockView<'_>, json: bool, out: &mut dyn Write) -> Result<(), DumpError> {
    for entry in column_entries(view)? {
        if json {
            serde_json::to_writer(&mut *out, &entry).map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else {
            words(&entry, out)?;
        }
    }
    Ok(())
}

fn words(entry: &ColumnEntry, out: &mut dyn Write) -> Result<(), DumpError> {
    let ColumnSummary { name, value_type, merge, unit, bytes, bytes_per_series } = &entry.summary;
    write!(out, "{} {value_type} {merge}", Escaped(name))?;
    if *unit > 1 {
        write!(out, " in units of {}", human::count(*unit))?;
    }
    let each = bytes_per_series.map(|each| format!(" ({} per series)", human::per(each))).unwrap_or_default();
    write!(out, ": {} in {}{each}", count_of(entry.values, "value"), human::bytes(*bytes))?;
    if let (Some(least), Some(greatest)) = (entry.least, entry.greatest) {
        match (least, greatest) {
            (Number::I64(least), Number::I64(greatest)) if [FIRST_TIME, LAST_TIME].contains(&&**name) => {
                write!(out, ", {} to {}", time(least), time(greatest))?;
            }
            _ => write!(out, ", {least} to {greatest}")?,
        }
    }
    if let (Some(texts), Some(text_bytes)) = (entry.texts, entry.text_bytes) {
        write!(out, ", {} of {}", count_of(texts, "text"), human::bytes(text_bytes))?;
    }
    writeln!(out)?;
    Ok(())
}
