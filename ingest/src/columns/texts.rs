//! Texts of a column: [`Texts`].

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, LargeStringArray, StringArray};
use arrow_schema::DataType;

/// Texts of a column of any type of text, as bytes.
///
/// Bytes are not text yet: the Parquet decoder checks that all values of a page together are UTF-8, and not that each
/// begins with a whole character.
pub(super) enum Texts {
    Utf8(StringArray),
    Large(LargeStringArray),
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
    /// Returns the texts of a column, or `None` if it does not hold text.
    pub(super) fn new(column: &ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => column.as_string_opt::<i32>().cloned().map(Self::Utf8),
            DataType::LargeUtf8 => column.as_string_opt::<i64>().cloned().map(Self::Large),
            DataType::Utf8View => column.as_string_view_opt().cloned().map(|array| Self::View(array.to_binary_view())),
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
            Self::Utf8(array) => (!array.is_null(row)).then(|| array.value(row).as_bytes()),
            Self::Large(array) => (!array.is_null(row)).then(|| array.value(row).as_bytes()),
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
            Self::Utf8(_) | Self::Large(_) => None,
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
