//! [`Cells`]: a column of a batch, as the text formats read it.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, BinaryViewArray, Int64Array, MapArray, RecordBatch, StringViewArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chronoxide_format::column::Value;
use chronoxide_text::human::time;
use serde::{Serialize, Serializer};

/// A column of a batch. Its type is looked at once, not for each series.
pub(super) enum Cells<'a> {
    Numbers(&'a UInt64Array),
    Signed(&'a Int64Array),
    Times(&'a TimestampNanosecondArray),
    Bytes(&'a BinaryViewArray),
    Strings(&'a StringViewArray),
    Maps { map: &'a MapArray, names: &'a StringViewArray, values: &'a StringViewArray },
}

/// Content of one column for one series.
pub(super) enum Cell<'a> {
    /// A number, or bytes.
    Value(Value<'a>),
    /// Nanoseconds since 1970.
    Time(i64),
    Text(&'a str),
    Labels(Labels<'a>),
}

/// All labels of a series.
pub(super) struct Labels<'a> {
    names: &'a StringViewArray,
    values: &'a StringViewArray,
    /// Positions of the labels in both.
    entries: Range<usize>,
}

impl<'a> Cells<'a> {
    /// Returns the columns of a batch. Fails if one has a type that scans do not give with strings as views.
    pub(super) fn columns(batch: &'a RecordBatch) -> Result<Vec<Self>, ArrowError> {
        batch.columns().iter().map(|array| Self::new(array)).collect()
    }

    fn new(array: &'a dyn Array) -> Result<Self, ArrowError> {
        let strings = |array: &'a dyn Array| array.as_string_view_opt().ok_or_else(|| unsupported(array.data_type()));
        Ok(match array.data_type() {
            DataType::UInt64 => Self::Numbers(array.as_primitive::<UInt64Type>()),
            DataType::Int64 => Self::Signed(array.as_primitive::<Int64Type>()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Self::Times(array.as_primitive::<TimestampNanosecondType>())
            }
            DataType::BinaryView => Self::Bytes(array.as_binary_view()),
            DataType::Map(..) => {
                let map = array.as_map();
                Self::Maps { map, names: strings(map.keys())?, values: strings(map.values())? }
            }
            _ => Self::Strings(strings(array)?),
        })
    }

    /// Returns the cell of a row of the batch, or `None` if it is null.
    pub(super) fn get(&self, row: usize) -> Option<Cell<'a>> {
        match *self {
            Self::Numbers(numbers) => numbers.is_valid(row).then(|| Cell::Value(Value::U64(numbers.value(row)))),
            Self::Signed(numbers) => numbers.is_valid(row).then(|| Cell::Value(Value::I64(numbers.value(row)))),
            Self::Times(times) => times.is_valid(row).then(|| Cell::Time(times.value(row))),
            Self::Bytes(bytes) => bytes.is_valid(row).then(|| Cell::Value(Value::Bytes(bytes.value(row)))),
            Self::Strings(strings) => strings.is_valid(row).then(|| Cell::Text(strings.value(row))),
            Self::Maps { map, names, values } => {
                let offsets = map.value_offsets();
                let entries = offsets[row] as usize..offsets[row + 1] as usize;
                map.is_valid(row).then_some(Cell::Labels(Labels { names, values, entries }))
            }
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(Value::U64(number)) => serializer.serialize_u64(*number),
            Self::Value(Value::I64(number)) => serializer.serialize_i64(*number),
            Self::Value(bytes @ Value::Bytes(_)) => serializer.collect_str(bytes),
            Self::Time(nanoseconds) => serializer.serialize_str(&time(*nanoseconds)),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Labels(labels) => serializer.collect_map(
                labels.entries.clone().map(|entry| (labels.names.value(entry), labels.values.value(entry))),
            ),
        }
    }
}

fn unsupported(data_type: &DataType) -> ArrowError {
    ArrowError::NotYetImplemented(format!("text of columns of type {data_type}"))
}
