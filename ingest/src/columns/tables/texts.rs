//! Texts of a column: [`Texts`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray};
use arrow_schema::{DataType, Field, FieldRef, Fields};

/// Texts of a column, as bytes.
///
/// Columns are decoded [as bytes](as_bytes), whose decoders do not check that they are UTF-8: one bad value would cost
/// its whole page or message.
pub(super) enum Texts {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    View(BinaryViewArray),
    /// Codes of rows, with their NULLs, and the texts of the codes.
    Coded {
        column: ArrayRef,
        codes: Vec<usize>,
        values: Box<Self>,
    },
}

/// Number that identifies the text of a row among the rows of a batch. Rows with equal numbers have equal texts.
pub(super) type Token = u128;

impl Texts {
    /// Returns the texts of a column, or `None` if it does not hold bytes.
    pub(super) fn new(column: &ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Binary => column.as_binary_opt::<i32>().cloned().map(Self::Small),
            DataType::LargeBinary => column.as_binary_opt::<i64>().cloned().map(Self::Large),
            DataType::BinaryView => column.as_binary_view_opt().cloned().map(Self::View),
            DataType::Dictionary(..) => {
                let dictionary = column.as_any_dictionary_opt()?;
                let values = Box::new(Self::new(dictionary.values())?);
                // A dictionary without values has only NULLs, and no valid codes.
                let has_values = !dictionary.values().is_empty();
                let codes = if has_values { dictionary.normalized_keys() } else { Vec::new() };
                Some(Self::Coded { column: column.clone(), codes, values })
            }
            _ => None,
        }
    }

    /// Returns the bytes of a row, or `None` if it is NULL.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Small(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::Large(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::View(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::Coded { column, codes, values } => {
                if column.is_null(row) {
                    return None;
                }
                values.get(*codes.get(row)?)
            }
        }
    }

    /// Returns the token of a row that is not NULL, or `None` if its text must be compared.
    #[inline]
    pub(super) fn token(&self, row: usize) -> Option<Token> {
        match self {
            Self::Small(_) | Self::Large(_) => None,
            // A view of a batch determines its text: the text itself, or its place in the buffers.
            Self::View(array) => array.views().get(row).copied(),
            Self::Coded { codes, .. } => codes.get(row).map(|&code| code as Token),
        }
    }

    /// Returns the dictionary of the column, whose codes are tokens. Tokens of other columns apply to one batch only.
    pub(super) fn dictionary(&self) -> Option<&ArrayRef> {
        match self {
            Self::Coded { column, .. } => column.as_any_dictionary_opt().map(|dictionary| dictionary.values()),
            _ => None,
        }
    }
}

/// Returns a field with all its texts as bytes. The buffers of both are the same.
pub(super) fn as_bytes(field: &Field) -> Field {
    let each = |field: &FieldRef| Arc::new(as_bytes(field));
    let data_type = match field.data_type() {
        DataType::Map(entries, is_sorted) => DataType::Map(each(entries), *is_sorted),
        DataType::List(element) => DataType::List(each(element)),
        DataType::LargeList(element) => DataType::LargeList(each(element)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(each).collect::<Fields>()),
        DataType::Dictionary(codes, values) => DataType::Dictionary(codes.clone(), Box::new(bytes(values))),
        data_type => bytes(data_type),
    };
    field.clone().with_data_type(data_type)
}

fn bytes(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        other => other.clone(),
    }
}
