//! Errors of publishing a file.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Steps of [`publish`](crate::publish), in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Examining an existing target.
    Inspect,
    /// Creating the temporary file.
    Create,
    /// Giving the temporary file the mode of the file that it replaces.
    SetMode,
    /// Writing the content.
    Write,
    /// Syncing the content to disk.
    SyncFile,
    /// Opening the file again to verify it.
    Reopen,
    /// Renaming the temporary file to the target.
    Rename,
    /// Syncing the folder to disk, which makes the name durable.
    SyncFolder,
}

impl fmt::Display for Step {
    /// Completes the sentence "cannot ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Inspect => "examine the target",
            Step::Create => "create a temporary file beside it",
            Step::SetMode => "set the mode of its temporary file",
            Step::Write => "write its content",
            Step::SyncFile => "sync its content to disk",
            Step::Reopen => "read it back",
            Step::Rename => "rename the verified file",
            Step::SyncFolder => "sync its folder to disk",
        })
    }
}

/// Error of [`publish`](crate::publish). `E` is the error of the verifier.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError<E> {
    /// The target exists and must not be replaced.
    #[error("{}: already exists (use --force to replace it)", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The path has no file name: it is empty, or ends with a separator, `.` or `..`.
    #[error("{path:?}: must name a file, not a folder")]
    NoFileName {
        /// The target as given.
        path: PathBuf,
    },
    /// The folder of the target does not exist or is not a folder.
    #[error("{}: cannot create the file: {} does not exist or is not a folder", path.display(), folder.display())]
    NoFolder {
        /// The target.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The target is a folder, a symbolic link or a device. Only regular files are replaced.
    #[error("{}: is {found}; only regular files can be replaced", path.display())]
    NotAFile {
        /// The target.
        path: PathBuf,
        /// Type of the target with an article, such as "a folder".
        found: &'static str,
    },
    /// The file system does not accept the name, for example because of its length.
    #[error("{}: the file system does not accept this name", path.display())]
    InvalidName {
        /// The target.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{}: cannot {step}", path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// Step that failed.
        step: Step,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has another length than was written.
    #[error("{}: wrote {written} bytes, but the file has {found}", path.display())]
    LengthDiffers {
        /// The target.
        path: PathBuf,
        /// Bytes that the system accepted.
        written: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// The verifier rejected the file when it was read back.
    #[error("{}: verification of the written file failed", path.display())]
    Unverified {
        /// The target.
        path: PathBuf,
        /// Error of the verifier.
        source: E,
    },
}

impl<E> PublishError<E> {
    /// Returns true if the target may be the new file despite the error.
    ///
    /// This is the case if the error occurred during or after the renaming: the file is complete and verified, but its
    /// name may not survive a power loss. In all other cases the target is unchanged.
    pub fn may_be_in_place(&self) -> bool {
        matches!(self, PublishError::Io { step, .. } if *step >= Step::Rename)
    }

    /// Returns true for input and output errors, as opposed to errors of arguments or of the content.
    pub fn is_io(&self) -> bool {
        matches!(self, PublishError::Io { .. } | PublishError::LengthDiffers { .. })
    }
}
