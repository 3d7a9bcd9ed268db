//! [`TableError`]: reasons why the series of a block could not be read as a table.

use arrow_schema::ArrowError;
use chronoxide_format::column::ValueType;
use chronoxide_reader::FileError;
use chronoxide_select::SelectError;

/// Reason why a table could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The block is damaged in a byte that was read, or a limit was reached.
    #[error(transparent)]
    Select(#[from] FileError<SelectError>),
    /// Two columns have the same name.
    #[error("two columns are named {name:?}: rename one of them")]
    DuplicateColumn {
        /// Name of both.
        name: String,
    },
    /// A block has a series column of another type than the scan says.
    #[error("the values of column {name:?} have the type {found}, not {expected}")]
    ColumnType {
        /// Name of the column.
        name: String,
        /// Type of its values.
        found: ValueType,
        /// Type that the scan says.
        expected: ValueType,
    },
    /// The block has more values of one label than an array can hold, or its strings are too long for one.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl From<TableError> for ArrowError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Arrow(error) => error,
            other => Self::ExternalError(Box::new(other)),
        }
    }
}
