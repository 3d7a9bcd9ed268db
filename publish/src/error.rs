//! What can go wrong on the way to a published file.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A step of [`publish`](crate::publish), in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Looking at what has the target's name.
    Inspect,
    /// Creating the temporary file.
    Create,
    /// Giving the temporary file the mode of the file that it replaces.
    SetMode,
    /// Writing the content.
    Write,
    /// Making the content durable.
    SyncFile,
    /// Opening the file again to verify it.
    Reopen,
    /// Giving the file its name.
    Rename,
    /// Making the name durable.
    SyncFolder,
}

impl fmt::Display for Step {
    /// Completes the sentence "cannot ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Inspect => "look at the target",
            Step::Create => "create a temporary file beside it",
            Step::SetMode => "set the mode of its temporary file",
            Step::Write => "write its content",
            Step::SyncFile => "make its content durable",
            Step::Reopen => "read it again",
            Step::Rename => "give the verified file its name",
            Step::SyncFolder => "make its name durable",
        })
    }
}

/// Why a file was not published. `E` is the verifier's error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError<E> {
    /// Something has this name already, and it was not to be replaced.
    #[error("{}: exists already, and is left as it is", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The path ends in no file name: it is empty, or ends in a separator, in `.` or in `..`.
    #[error("{path:?}: names a folder, not a file")]
    NoFileName {
        /// The target as given.
        path: PathBuf,
    },
    /// The folder that should hold the file does not exist, or is no folder.
    #[error("{}: cannot be created, because {} is not a folder", path.display(), folder.display())]
    NoFolder {
        /// The target.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// A folder, a symbolic link or a device has this name: only ordinary files are replaced.
    #[error("{}: is {found}, and only ordinary files are replaced", path.display())]
    NotAFile {
        /// The target.
        path: PathBuf,
        /// What has its name, with an article: "a folder".
        found: &'static str,
    },
    /// The file system takes no names of this length, or not this name.
    #[error("{}: the file system does not take this name", path.display())]
    InvalidName {
        /// The target.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{}: cannot {step}", path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// What was being done.
        step: Step,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file that was read again is not as long as what was written.
    #[error("{}: {written} bytes were written, but {found} are in the file", path.display())]
    LengthDiffers {
        /// The target.
        path: PathBuf,
        /// Bytes that the system accepted.
        written: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// The verifier refused what was read again.
    #[error("{}: what was written does not verify", path.display())]
    Unverified {
        /// The target.
        path: PathBuf,
        /// What the verifier says.
        source: E,
    },
}

impl<E> PublishError<E> {
    /// Whether the target may hold the new file all the same.
    ///
    /// That is so when the error came while or after the file got its name: it is whole and verified then, but
    /// its name may not survive a loss of power. In all other cases the target is as it was.
    pub fn may_be_in_place(&self) -> bool {
        matches!(self, PublishError::Io { step, .. } if *step >= Step::Rename)
    }

    /// Whether an input or output error is to blame, rather than the arguments or what was written.
    pub fn is_io(&self) -> bool {
        matches!(self, PublishError::Io { .. } | PublishError::LengthDiffers { .. })
    }
}
