//! [`ExportError`]: reasons why an export failed.

use std::io;

use arrow_schema::ArrowError;
use chronoxide_arrow::TableError;

/// Reason why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The block is damaged, or its columns are not valid.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The output could not be written.
    #[error("cannot write")]
    Write(#[from] io::Error),
    /// The format cannot hold the columns.
    #[error("cannot encode the series")]
    Encode(#[from] ArrowError),
    /// The caller cancelled the export.
    #[error("cancelled")]
    Cancelled,
}

impl ExportError {
    /// Returns the error of a batch that could not be read.
    pub(super) fn from_batch(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(cause) => match cause.downcast::<TableError>() {
                Ok(error) => Self::Table(*error),
                Err(cause) => Self::Encode(ArrowError::ExternalError(cause)),
            },
            other => Self::Table(TableError::Arrow(other)),
        }
    }
}
