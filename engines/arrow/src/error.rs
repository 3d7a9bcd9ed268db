//! [`TableError`]: reasons why the series of a block could not be read as a table.

use arrow_schema::ArrowError;
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
