//! Errors of showing a block or a remap.

use std::io;

use chronoxide_dump::DumpError;
use chronoxide_select::SelectError;

/// Reason why showing a block or a remap failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The block is damaged.
    #[error(transparent)]
    Block(#[from] chronoxide_format::Error),
    /// The remap is damaged.
    #[error(transparent)]
    Remap(#[from] chronoxide_format::remap::RemapError),
    /// The block could not be queried.
    #[error(transparent)]
    Select(SelectError),
    /// The text could not be written.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

impl From<DumpError> for InspectError {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::Block(error) => Self::Block(error),
            DumpError::Remap(error) => Self::Remap(error),
            DumpError::Write(error) => Self::Write(error),
        }
    }
}

impl From<SelectError> for InspectError {
    fn from(error: SelectError) -> Self {
        match error {
            SelectError::Block(error) => Self::Block(error),
            other => Self::Select(other),
        }
    }
}
