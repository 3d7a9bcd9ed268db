//! Errors of opening a file, and errors with the path of a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_format::ErrorKind;

use crate::ArchiveMemoryError;

/// Reason why a block or a remap could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file could not be opened, measured or read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The system has no room for one more map, file or buffer. The file may be sound.
    #[error("out of resources while opening {}", path.display())]
    OutOfResources {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file is larger than this machine can address.
    #[error("{}: file of {len} bytes is too large for this platform's address space", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Length in bytes.
        len: u64,
    },
    /// The file is not a valid remap, or of an unknown version.
    #[error("{}: {source}", path.display())]
    Remap {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: chronoxide_format::remap::RemapError,
    },
    /// The file is not a valid block, or of an unknown version.
    #[error("{}: {source}", path.display())]
    Block {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: chronoxide_format::Error,
    },
    /// The decoded strings of an archive take more memory than a limit.
    #[error("{}: {source}", path.display())]
    ArchiveMemory {
        /// Path of the file.
        path: PathBuf,
        /// Memory and limit.
        source: ArchiveMemoryError,
    },
}

/// An error of the content of an open block or remap, with the path of its file; see
/// [`Block::locate`](crate::Block::locate).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError<E = chronoxide_format::Error> {
    /// File of the block or remap, or `None` if it was opened from memory.
    pub path: Option<PathBuf>,
    /// Violated rule, or another error of a view.
    pub source: E,
}

impl<E: fmt::Display> fmt::Display for FileError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.source),
            None => self.source.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for FileError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message contains that of the source.
        self.source.source()
    }
}

impl OpenError {
    pub(crate) fn block(path: &Path, source: chronoxide_format::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::OutOfMemory { .. } => {
                Self::OutOfResources { path, source: io::Error::new(io::ErrorKind::OutOfMemory, source) }
            }
            _ => Self::Block { path, source },
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_exhaustion(&source) { Self::OutOfResources { path, source } } else { Self::Io { path, source } }
    }
}

/// Returns true if the system ran out of memory, maps or files. The file may be sound.
fn is_exhaustion(error: &io::Error) -> bool {
    /// ENFILE and EMFILE of Linux and macOS, which have no kind of their own.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    let too_many_files = cfg!(unix) && error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code));
    error.kind() == io::ErrorKind::OutOfMemory || too_many_files
}
