//! Errors of compactions.

use std::io;
use std::path::PathBuf;

use chronoxide_locations::LocationError;
use chronoxide_publish::{LockError, PublishError};
use chronoxide_reader::{BlockId, OpenError};

use super::{RemapRefused, Unproven};
use crate::CompactError;

/// Error of a compaction.
///
/// All inputs are unchanged, except after an error of a deletion. Published outputs stay: readers hide them, and the
/// same compaction reuses them when it is run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CompactionError {
    /// The blocks could not be merged. Nothing was published, unless an output could not be written: then earlier
    /// outputs were.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// An input is the reason why the blocks could not be merged.
    #[error("{input}: {reason}")]
    Input {
        /// Path or URL.
        input: String,
        reason: String,
        error: CompactError,
    },
    /// A block cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The location cannot be read or written.
    #[error(transparent)]
    Store(#[from] LocationError),
    /// The folder cannot be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The output could not be published.
    #[error(transparent)]
    Publish(#[from] PublishError<Refused>),
    /// A remap could not be published. The outputs are published.
    #[error(transparent)]
    Remap(#[from] PublishError<RemapRefused>),
    /// An output was not uploaded.
    #[error("{object}: not published")]
    Refused { object: String, source: Refused },
    /// Another process changed the inputs since they were listed.
    #[error("{object}: {reason}; run the command again")]
    Stale { object: String, reason: String },
    /// A file has the name of an output but different content. It is not changed.
    #[error("{object}: has the name of an output but different content; move it away")]
    Occupied { object: String, source: Refused },
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
    #[error("{object}: damaged output; no input was deleted")]
    Unverified { object: String, source: Refused },
    /// Without this input, different blocks of the location would be live. No input was deleted.
    ///
    /// This run did not merge it, or it holds a part of another merge's input that still exists.
    #[error(
        "{object}: cannot be deleted: other blocks would become live again; no input was deleted (if a run was stopped, run it again with its options)"
    )]
    StillNeeded { object: String, id: BlockId },
    /// An input was replaced since it was merged. No input was deleted.
    #[error("{object}: replaced since it was merged; no input was deleted")]
    Replaced { object: String },
    /// Without the inputs, a block of their folder would be live or hidden that is not now. No input was deleted.
    #[error("{location}: deleting these inputs would make block {id} {what}; no input was deleted")]
    OtherLive { location: String, id: BlockId, what: &'static str },
}

/// Difference of a file from the expected output, or reason why it is not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Refused {
    /// The file cannot be read, or is not a sound block.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The location cannot be listed again.
    #[error(transparent)]
    Store(#[from] LocationError),
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
    /// A block that readers see would be hidden, or the output itself.
    #[error(
        "{hidden} would be hidden by what blocks claim to hold, and {holder} is not proved to hold its series ({reason}): move the false block away; nothing was published"
    )]
    Hides { hidden: String, holder: String, reason: Box<Unproven> },
    /// Another process changed the inputs since they were listed.
    #[error("{object}: {reason}; run the command again")]
    Stale { object: String, reason: String },
}
