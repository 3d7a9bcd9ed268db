//! What can go wrong with the files of a job.

use std::io;
use std::path::PathBuf;

use chronoxide_publish::{PublishError, RemoveError};
use chronoxide_reader::{BlockId, FolderError};

/// Why a job ended. `E` is the verifier's error.
///
/// All inputs are as they were, except after [`Remove`](Self::Remove). Outputs that were published stay: readers hide them, and the job
/// takes them when it is run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError<E> {
    /// An output could not be published.
    #[error(transparent)]
    Publish(PublishError<Refused<E>>),
    /// A file has the name of an output and is something else. It stays as it is.
    #[error("{}: this name is that of an output, but the file is not it", path.display())]
    Occupied {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        source: Refused<E>,
    },
    /// An output that was there already cannot be made durable.
    #[error("{}: cannot make durable what is there already", path.display())]
    Sync {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The last outputs are missing. This is an error of the program.
    #[error("only {published} of the job's {expected} outputs were made")]
    MissingOutputs {
        /// How many there should be; 1 if there are none to say so.
        expected: u32,
        /// How many there are.
        published: usize,
    },
    /// An output was found to be damaged when it was read under its own name, before anything was deleted.
    #[error("{}: cannot be relied upon, and no input is deleted", path.display())]
    Unverified {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Refused<E>,
    },
    /// The folder could not be looked through.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Without this input other blocks would count than do now, so that no input is deleted.
    ///
    /// It was not merged by this job, or holds a part of what another job was made of, which is still there.
    #[error("{}: is still needed, and no input is deleted", path.display())]
    StillNeeded {
        /// The file.
        path: PathBuf,
        /// The block.
        id: BlockId,
    },
    /// Not all inputs could be deleted, or not for good.
    #[error(transparent)]
    Remove(#[from] RemoveError),
}

/// What is wrong with an output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused<E> {
    /// The verifier refused it.
    #[error(transparent)]
    Verify(E),
    /// It is a sound block, but another one.
    #[error("it is block {found}, not {expected}")]
    OtherBlock {
        /// What was planned.
        expected: BlockId,
        /// What it is.
        found: BlockId,
    },
    /// It has another length than was planned.
    #[error("it has {found} bytes, not {expected}")]
    OtherLength {
        /// What was planned.
        expected: u64,
        /// What it has.
        found: u64,
    },
    /// It does not say that it is this output of the job of the others.
    #[error("it is not output {output} of one job with the others")]
    OtherJob {
        /// Which output it should be, from 0.
        output: usize,
    },
}
