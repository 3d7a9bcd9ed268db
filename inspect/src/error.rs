//! Errors of showing a block or a remap.

use std::io;

use chronoxide_cli::{Exit, HasExit};

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
    /// The text could not be written.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

impl HasExit for InspectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Block(error) => error.exit(),
            Self::Remap(error) => error.exit(),
            Self::Write(error) => error.exit(),
        }
    }
}
