//! Status codes, and the code of each error.

use chronoxide_reader::{Error, ErrorKind, FileError, FindError, FolderError, OpenError};
use chronoxide_select::{BlockSetError, SelectError};

/// Result of a call: CX_OK, or the code of an error. Codes 0 to 4 are also the exit codes of the commands.
pub type CxStatus = i32;

/// Success. Outputs are written, and the error is not.
pub const CX_OK: CxStatus = 0;
/// A file could not be read.
pub const CX_IO: CxStatus = 1;
/// An argument is invalid: a null pointer, a selector that does not parse, text that is not UTF-8, two labels of one
/// name, a cursor in use by another thread.
pub const CX_USAGE: CxStatus = 2;
/// A block is damaged, or the bytes are not a block.
pub const CX_CORRUPT: CxStatus = 3;
/// A block has a version or a feature that this library does not support.
pub const CX_UNSUPPORTED: CxStatus = 4;
/// The caller's buffer is too small. The count says how many elements are needed.
pub const CX_TOO_SMALL: CxStatus = 7;
/// More series than `max_series`.
pub const CX_TOO_MANY_SERIES: CxStatus = 8;
/// The query took longer than `timeout_ms`.
pub const CX_TIMEOUT: CxStatus = 9;
/// The query was cancelled by cx_cancel_set.
pub const CX_CANCELLED: CxStatus = 10;
/// The system has no more memory, files or maps. The file may be sound.
pub const CX_OUT_OF_RESOURCES: CxStatus = 11;
/// A bug in this library. Please report its message. The handle may be used further, except a cursor or a resolver.
pub const CX_INTERNAL: CxStatus = 12;

/// Error with a status code.
pub(crate) trait HasStatus: std::error::Error {
    /// Returns the status code.
    fn status(&self) -> CxStatus;
}

impl HasStatus for Error {
    fn status(&self) -> CxStatus {
        match self.kind() {
            _ if self.is_unsupported() => CX_UNSUPPORTED,
            ErrorKind::OutOfMemory { .. } => CX_OUT_OF_RESOURCES,
            _ => CX_CORRUPT,
        }
    }
}

impl HasStatus for OpenError {
    fn status(&self) -> CxStatus {
        match self {
            Self::Block { source, .. } => source.status(),
            Self::OutOfResources { .. } | Self::TooLarge { .. } | Self::ArchiveMemory { .. } => CX_OUT_OF_RESOURCES,
            _ => CX_IO,
        }
    }
}

impl HasStatus for FindError {
    fn status(&self) -> CxStatus {
        match self {
            Self::Block(error) => error.status(),
            _ => CX_USAGE,
        }
    }
}

impl HasStatus for SelectError {
    fn status(&self) -> CxStatus {
        match self {
            Self::Block(error) => error.status(),
            Self::TooManyLabels { .. } => CX_CORRUPT,
            Self::TooManySeries { .. } => CX_TOO_MANY_SERIES,
            Self::DeadlineExceeded => CX_TIMEOUT,
            Self::Cancelled => CX_CANCELLED,
            Self::OutOfMemory { .. } | Self::MemoryLimit { .. } => CX_OUT_OF_RESOURCES,
            Self::OtherSnapshot => CX_USAGE,
            _ => CX_INTERNAL,
        }
    }
}

impl HasStatus for FolderError {
    fn status(&self) -> CxStatus {
        match self {
            Self::ArchiveMemory { .. } => CX_OUT_OF_RESOURCES,
            _ => CX_IO,
        }
    }
}

impl HasStatus for BlockSetError {
    fn status(&self) -> CxStatus {
        match self {
            Self::TooMany { .. } => CX_OUT_OF_RESOURCES,
            Self::Folder(error) => error.status(),
            _ => CX_IO,
        }
    }
}

impl<E: HasStatus + 'static> HasStatus for FileError<E> {
    fn status(&self) -> CxStatus {
        self.source.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_without_memory_for_its_strings_is_not_corrupt() {
        let error = || Error::from(ErrorKind::OutOfMemory { len: 1 << 40 });
        assert_eq!(error().status(), CX_OUT_OF_RESOURCES);
        let opened = OpenError::Block { path: "a.cx".into(), source: error() };
        assert_eq!(opened.status(), CX_OUT_OF_RESOURCES);
        assert_eq!(SelectError::Block(error()).status(), CX_OUT_OF_RESOURCES);
        assert_eq!(Error::from(ErrorKind::NotABlock).status(), CX_CORRUPT);
    }
}
