//! Errors of locations and objects.

use std::io;

use chronoxide_publish::RemoveError;

/// Error of an object store or a folder. Texts name the object: bucket and key, or the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The text is not a location that can be opened.
    #[error("{location}: {reason}")]
    Location {
        /// The text.
        location: String,
        /// Reason, and a remedy.
        reason: String,
    },
    /// The object does not exist.
    #[error("{object}: no such object")]
    Missing {
        /// The object.
        object: String,
    },
    /// A symbolic link of a folder leads to no file, or to itself.
    #[error("{object}: a link that leads to no file")]
    BrokenLink {
        /// The link.
        object: String,
        /// Error of following it.
        source: io::Error,
    },
    /// A file of a folder cannot be read: it is none, has another owner, or its disk is damaged.
    #[error("{object}: cannot read")]
    Unreadable {
        /// The file.
        object: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Files of a folder cannot be deleted.
    #[error(transparent)]
    Remove(#[from] RemoveError),
    /// The bucket or the folder of a location does not exist.
    #[error("{location}: no such bucket or folder")]
    NoLocation {
        /// The location.
        location: String,
    },
    /// The environment has no credentials, and those of the machine's role cannot be read.
    #[error(
        "{object}: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the variables of Google or Azure, or use a machine with a role"
    )]
    NoCredentials {
        /// The object or folder.
        object: String,
        /// Error of the request for those of a role.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store does not know the condition that an upload replaces no object.
    #[error("{object}: the store does not support If-None-Match: set AWS_CONDITIONAL_PUT=disabled")]
    NoConditions {
        /// The object.
        object: String,
    },
    /// A request failed as often as it was tried, or it cannot succeed.
    #[error("{object}: cannot {operation} ({})", attempts_text(*attempts))]
    Request {
        /// The object or folder.
        object: String,
        /// Operation, as a verb.
        operation: &'static str,
        /// Number of attempts.
        attempts: usize,
        /// Error of the last attempt.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A system call failed.
    #[error("{object}: cannot {operation}")]
    Io {
        /// The object or folder.
        object: String,
        /// Operation, as a verb.
        operation: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The object exists and has other bytes. It was not changed.
    #[error("{object}: exists with different content; it was not changed")]
    Occupied {
        /// The object.
        object: String,
    },
    /// Blocks of a location were deleted each time that it was listed.
    #[error("{location}: blocks keep disappearing while they are listed; try again")]
    Changing {
        /// The location.
        location: String,
    },
    /// The object is not the block that was listed or planned.
    #[error("{object}: changed: {reason}")]
    Changed {
        /// The object.
        object: String,
        /// The difference.
        reason: String,
    },
    /// The object is too long for the address space of this machine.
    #[error("{object}: {byte_len} bytes are too many to open on this machine")]
    TooLong {
        /// The object.
        object: String,
        /// Its length.
        byte_len: u64,
    },
    /// The object is not a valid block.
    #[error("{object}")]
    Block {
        /// The object.
        object: String,
        /// The broken rule.
        source: chronoxide_format::Error,
    },
    /// A manifest, or another JSON object, cannot be read.
    #[error("{object}: not valid: {reason}")]
    Json {
        /// The object.
        object: String,
        /// The reason.
        reason: String,
    },
}

fn attempts_text(attempts: usize) -> String {
    if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") }
}

impl LocationError {
    /// Returns true if the object does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Returns true for an error of reading or writing, which says nothing about the object and may pass.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Request { .. }
                | Self::Io { .. }
                | Self::Changing { .. }
                | Self::NoCredentials { .. }
                | Self::NoLocation { .. }
        )
    }

    pub(crate) fn io(object: impl Into<String>, operation: &'static str, source: io::Error) -> Self {
        let object = object.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { object },
            _ => Self::Io { object, operation, source },
        }
    }
}
