//! Errors of a job's files.

use std::io;
use std::path::PathBuf;

use chronoxide_publish::{PublishError, RemoveError};
use chronoxide_reader::{BlockId, FolderError};

/// Error of a job. `E` is the error of the verifier.
///
/// All inputs are unchanged, except after [`Remove`](Self::Remove). Published outputs stay: readers hide them, and the
/// job reuses them when it is run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum JobError<E> {
    /// An output could not be published.
    #[error(transparent)]
    Publish(PublishError<Refused<E>>),
    /// A file has the name of an output but different content. It is not changed.
    #[error("{}: has the name of an output but different content; move it away", path.display())]
    Occupied { path: PathBuf, source: Refused<E> },
    /// An existing output cannot be synced to disk.
    #[error("{}: cannot sync the existing output", path.display())]
    Sync { path: PathBuf, source: io::Error },
    /// Some outputs were not published. This is a bug.
    #[error("{published} of {expected} outputs were published")]
    MissingOutputs {
        /// Expected number of outputs; 1 if there are none.
        expected: u32,
        published: usize,
    },
    /// An output was damaged when it was read again under its own name. Nothing was deleted.
    #[error("{}: damaged output; no input was deleted", path.display())]
    Unverified { path: PathBuf, source: Refused<E> },
    /// The folder could not be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Without this input, different blocks of the folder would be live. No input was deleted.
    ///
    /// This job did not merge it, or it holds a part of another job's input that still exists.
    #[error("{}: cannot be deleted: other blocks of the folder would become live again; no input was deleted", path.display())]
    StillNeeded { path: PathBuf, id: BlockId },
    /// Some inputs could not be deleted, or the deletion could not be synced to disk.
    #[error(transparent)]
    Remove(#[from] RemoveError),
}

/// Difference of a file from the expected output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Refused<E> {
    /// The verifier refused it.
    #[error(transparent)]
    Verify(E),
    /// The file holds a different block.
    #[error("it is block {found}, not {expected}")]
    OtherBlock { expected: BlockId, found: BlockId },
    /// The file has a different length.
    #[error("it has {found} bytes, not {expected}")]
    OtherLength { expected: u64, found: u64 },
    /// Its metadata names a different job or output number.
    #[error("not output {output} of the same job")]
    OtherJob {
        /// Expected output number, from 0.
        output: usize,
    },
}
