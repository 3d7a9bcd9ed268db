//! Errors of schedules.

use chronoxide_locations::LocationError;
use chronoxide_reader::OpenError;

use crate::CompactionError;

/// Error of a schedule or one of its jobs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ScheduleError {
    /// The document is not a valid schedule.
    #[error("not a valid schedule: {reason}")]
    Document { reason: String },
    /// The schedule has another version than this program.
    #[error("version {version} of schedules is not supported")]
    Version { version: u32 },
    /// The schedule has no such job.
    #[error("the schedule has no job {job}")]
    NoJob { job: String },
    /// A job that must be done first is not done.
    #[error("job {job} is not done: run it first")]
    NotDone { job: String },
    /// A job was done, but one of its outputs is missing, or is not the block that it wrote.
    #[error("{object}: missing or damaged: run job {job} again")]
    OutputLost { job: String, object: String },
    /// The schedule was aborted.
    #[error("the schedule was aborted: make a new one")]
    Aborted,
    /// The commit of the schedule has begun, so that it cannot be aborted.
    #[error("the commit of the schedule has begun: run `commit` again to finish it")]
    CommitBegun,
    /// The schedule was committed, so that it cannot be aborted.
    #[error("the schedule was committed: its outputs have replaced its inputs")]
    Committed,
    /// A block of the location is not as the schedule expects it.
    #[error("{object}: {reason}; make a new schedule")]
    Stale { object: String, reason: String },
    /// Blocks claim to hold a block that readers see, or will see as an output of the schedule.
    #[error("{object} would be hidden, since {holder} claims to hold it: move the false block away")]
    Claimed {
        /// The block that would be hidden.
        object: String,
        /// The block that claims to hold it.
        holder: String,
    },
    /// The parts of the schedule do not add up.
    #[error("{what}: {series_in} series read, {series_out} written and {duplicates} duplicates; fingerprints {}",
        if *is_balanced { "equal" } else { "differ" })]
    Unbalanced {
        /// The job, the merge, or the schedule.
        what: String,
        series_in: u64,
        series_out: u64,
        duplicates: u64,
        /// True if the fingerprints are equal.
        is_balanced: bool,
    },
    /// A record of a job contradicts the schedule or the objects.
    #[error("{object}: {reason}; run the job again")]
    Record {
        /// The record or output.
        object: String,
        reason: String,
    },
    /// A merge needs more memory than a job may have, however it is split.
    #[error("merge {merge}: a job needs {} of memory or more, not {}: raise its limit", mib(*needed), mib(*limit))]
    Memory {
        merge: String,
        /// Bytes that the smallest job needs.
        needed: u64,
        limit: u64,
    },
    /// The location cannot be read or written.
    #[error(transparent)]
    Store(#[from] LocationError),
    /// A block cannot be opened.
    #[error(transparent)]
    Open(OpenError),
    /// Inputs could not be merged, or outputs not be published.
    #[error(transparent)]
    Compaction(CompactionError),
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

impl From<CompactionError> for ScheduleError {
    fn from(error: CompactionError) -> Self {
        match error {
            CompactionError::Store(error) => Self::Store(error),
            CompactionError::Open(error) => Self::Open(error),
            error => Self::Compaction(error),
        }
    }
}
