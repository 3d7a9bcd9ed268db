//! Errors of showing a block or a remap.

use std::io;

/// Reason why showing a block or a remap failed.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
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
