//! [`Cells`]: a column of a batch, as the text formats read it.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, MapArray, RecordBatch, StringViewArray, UInt64Array};
use arrow_schema::{ArrowError, DataType};
use serde::{Serialize, Serializer};

/// A column of a batch. Its type is looked at once, not for each series.
pub(super) enum Cells<'a> {
    Numbers(&'a UInt64Array),
    Strings(&'a StringViewArray),
    Maps { map: &'a MapArray, names: &'a StringViewArray, values: &'a StringViewArray },
}

/// Content of one column for one series.
pub(super) enum Cell<'a> {
    Number(u64),
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
            Self::Numbers(numbers) => numbers.is_valid(row).then(|| Cell::Number(numbers.value(row))),
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
            Self::Number(number) => serializer.serialize_u64(*number),
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
