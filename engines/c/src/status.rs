//! Status codes, and the code of each error.

use blocks::ErrorKind;

/// Result of a call: CX_OK, or the code of an error. Codes 0 to 4 are also the exit codes of the commands.
pub type CxStatus = i32;

/// Success. Outputs are written, and the error is not.
pub const CX_OK: CxStatus = 0;
/// A file could not be read.
pub const CX_IO: CxStatus = 1;
/// An argument is invalid: a null pointer, a selector that does not parse, text that is not UTF-8, two labels of one
/// name, a reader or rows in use by another thread.
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
/// A bug in this library. Please report its message. The handle may be used further, except a reader or rows.
pub const CX_INTERNAL: CxStatus = 12;

/// Returns the code of an error.
pub(crate) fn status(kind: ErrorKind) -> CxStatus {
    match kind {
        ErrorKind::Io => CX_IO,
        ErrorKind::Usage => CX_USAGE,
        ErrorKind::Corrupt => CX_CORRUPT,
        ErrorKind::Unsupported => CX_UNSUPPORTED,
        ErrorKind::TooManySeries => CX_TOO_MANY_SERIES,
        ErrorKind::Timeout => CX_TIMEOUT,
        ErrorKind::Cancelled => CX_CANCELLED,
        ErrorKind::OutOfResources => CX_OUT_OF_RESOURCES,
        _ => CX_INTERNAL,
    }
}
