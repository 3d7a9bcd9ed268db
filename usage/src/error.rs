//! Error of reading queries: [`ReadError`].

use std::io;
use std::path::PathBuf;

/// A file or folder cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}")]
pub struct ReadError {
    /// Path of the file.
    pub path: PathBuf,
    /// Reason.
    pub source: io::Error,
}
