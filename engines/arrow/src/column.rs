//! [`Column`] and [`Strings`]: columns of a table and their types.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use chronoxide_format::column::ValueType;

use crate::{TableError, ValuesBuilder};

/// Name of the column of fingerprints. No block has a series column of this name.
pub const FINGERPRINT: &str = "chronoxide.fingerprint";

/// A column of a table: its content, under a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    name: String,
    content: ColumnContent,
}

/// Content of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnContent {
    /// Refs of series, as `UInt64`.
    SeriesRef,
    /// Id of the block, as `Utf8View`.
    BlockId,
    /// Values of the label with a name, null where it is absent.
    Label(String),
    /// All labels of a series, as a map sorted by name.
    Labels,
    /// Values of the series column with a name, null where a series or the block has none.
    Values {
        /// Name of the series column.
        name: String,
        /// Type of its values.
        value_type: ValueType,
    },
    /// Fingerprints of the labels of series, as `FixedSizeBinary(16)`.
    Fingerprint,
}

/// Type of columns of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strings {
    /// `Dictionary(UInt32, Utf8View)`: 4 bytes per series, and the dictionary of the block.
    #[default]
    Dictionary,
    /// `Utf8View`: 16 bytes per series, for consumers without dictionaries. Strings are not copied either.
    View,
}

impl Strings {
    /// Returns the type of a column of a label.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Dictionary => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8View)),
            Self::View => DataType::Utf8View,
        }
    }
}

impl Column {
    /// Column `series_ref`: the ref of each series in its block.
    #[must_use]
    pub fn series_ref() -> Self {
        Self { name: "series_ref".to_owned(), content: ColumnContent::SeriesRef }
    }

    /// Column `block`: the id of the block.
    #[must_use]
    pub fn block_id() -> Self {
        Self { name: "block".to_owned(), content: ColumnContent::BlockId }
    }

    /// Column of a label, named like it.
    #[must_use]
    pub fn label(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { content: ColumnContent::Label(name.clone()), name }
    }

    /// Column `labels`: all labels of each series.
    #[must_use]
    pub fn labels() -> Self {
        Self { name: "labels".to_owned(), content: ColumnContent::Labels }
    }

    /// Column of the values of a series column, named like it: `Int64`, `UInt64` or `BinaryView`. The values of
    /// `chronoxide.first_time` and `chronoxide.last_time` are `Timestamp(Nanosecond, "UTC")`.
    #[must_use]
    pub fn values(name: impl Into<String>, value_type: ValueType) -> Self {
        let name = name.into();
        Self { content: ColumnContent::Values { name: name.clone(), value_type }, name }
    }

    /// Column [`FINGERPRINT`]: the fingerprint of the labels of each series, which is the same in every block.
    #[must_use]
    pub fn fingerprint() -> Self {
        Self { name: FINGERPRINT.to_owned(), content: ColumnContent::Fingerprint }
    }

    /// Returns other columns, renamed where a label has their name, and then a column per label.
    #[must_use]
    pub fn with_labels(columns: impl IntoIterator<Item = Self>, labels: Vec<String>) -> Vec<Self> {
        let beside = |column: Self| column.beside(labels.iter().map(String::as_str));
        let mut all: Vec<Self> = columns.into_iter().map(beside).collect();
        all.extend(labels.into_iter().map(Self::label));
        all
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Puts as many underscores before the name as make it differ from the names of all labels.
    #[must_use]
    pub fn beside<'l>(mut self, labels: impl IntoIterator<Item = &'l str> + Clone) -> Self {
        while labels.clone().into_iter().any(|label| label == self.name) {
            self.name.insert(0, '_');
        }
        self
    }

    /// Replaces each NUL in the name by `␀` (U+2400): names of Arrow's C data interface end at a NUL.
    #[must_use]
    pub fn without_nul(self) -> Self {
        let name = self.name.replace('\0', "\u{2400}");
        self.with_name(name)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &ColumnContent {
        &self.content
    }

    /// Returns the field of a schema.
    #[must_use]
    pub fn field(&self, strings: Strings) -> Field {
        match &self.content {
            ColumnContent::SeriesRef => Field::new(&self.name, DataType::UInt64, false),
            ColumnContent::BlockId => Field::new(&self.name, DataType::Utf8View, false),
            ColumnContent::Label(_) => Field::new(&self.name, strings.data_type(), true),
            ColumnContent::Labels => Field::new(&self.name, map_type(), false),
            ColumnContent::Values { name, value_type } => {
                Field::new(&self.name, ValuesBuilder::data_type(name, *value_type), true)
            }
            ColumnContent::Fingerprint => Field::new(&self.name, DataType::FixedSizeBinary(16), false),
        }
    }
}

/// Returns the type of a column of all labels.
fn map_type() -> DataType {
    DataType::Map(entries_field(), true)
}

/// Returns the field of the entries of maps.
pub(crate) fn entries_field() -> FieldRef {
    Arc::new(Field::new("entries", DataType::Struct(entry_fields()), false))
}

/// Returns the fields of an entry: the name and the value of a label.
pub(crate) fn entry_fields() -> Fields {
    let names = Field::new("keys", DataType::Utf8View, false);
    let values = Field::new("values", DataType::Utf8View, false);
    [names, values].into_iter().collect()
}

/// Returns the schema of columns.
///
/// # Errors
/// [`TableError::DuplicateColumn`] if two have the same name.
pub fn schema(columns: &[Column], strings: Strings) -> Result<SchemaRef, TableError> {
    let mut names = BTreeSet::new();
    if let Some(twice) = columns.iter().find(|column| !names.insert(&column.name)) {
        return Err(TableError::DuplicateColumn { name: twice.name.clone() });
    }
    Ok(Arc::new(Schema::new(columns.iter().map(|column| column.field(strings)).collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_labels_have_get_underscores() {
        let labels = ["series_ref", "_series_ref", "job"];
        assert_eq!(Column::series_ref().beside(labels).name(), "__series_ref");
        assert_eq!(Column::block_id().beside(labels).name(), "block");
    }

    #[test]
    fn two_columns_of_one_name_are_an_error() {
        let columns = [Column::series_ref(), Column::label("series_ref")];
        let message = schema(&columns, Strings::View).map_err(|error| error.to_string());
        assert_eq!(message, Err("two columns are named \"series_ref\": rename one of them".to_owned()));
    }
}
