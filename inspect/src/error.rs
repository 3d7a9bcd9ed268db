//! Errors of showing a block or a remap.

use std::io;

use chronoxide_cli::{Exit, HasExit};
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

impl From<SelectError> for InspectError {
    fn from(error: SelectError) -> Self {
        match error {
            SelectError::Block(error) => Self::Block(error),
            other => Self::Select(other),
        }
    }
}

impl HasExit for InspectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Block(error) => error.exit(),
            Self::Remap(error) => error.exit(),
            // Without limits on a query, the only other error is that of a catalogue with more labels than its file
            // can have.
            Self::Select(_) => Exit::Corrupt,
            Self::Write(error) => error.exit(),
        }
    }
}
