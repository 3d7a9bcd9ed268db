//! Errors of reports.

use chronoxide_compactor::CompactError;
use chronoxide_format::remap::RemapError;
use chronoxide_publish::SpoolError;
use chronoxide_select::SelectError;

use crate::InspectError;

/// Reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The block cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The block cannot be queried.
    #[error(transparent)]
    Query(#[from] chronoxide::Error),
    /// The blocks cannot be merged.
    #[error(transparent)]
    Merge(#[from] CompactError),
    /// A block cannot be merged with the others.
    #[error("{name}: {}", error.reason())]
    Input {
        /// Path of the block.
        name: String,
        /// The error.
        error: CompactError,
    },
    /// The merged block cannot be written to memory.
    #[error("cannot write the merged block")]
    Write(#[from] std::io::Error),
    /// The temporary file cannot be written or read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The remap of a merged block is wrong.
    #[error(transparent)]
    Remap(#[from] RemapError),
}

impl From<chronoxide_format::Error> for ReportError {
    fn from(error: chronoxide_format::Error) -> Self {
        Self::Inspect(error.into())
    }
}

impl From<SelectError> for ReportError {
    fn from(error: SelectError) -> Self {
        Self::Inspect(error.into())
    }
}
