//! Errors and exit codes of the command.

use chronoxide_compactor::engine::{Refused, Unproven};
use chronoxide_compactor::schedule::ScheduleError;
use chronoxide_compactor::{CompactError, CompactionError};
use chronoxide_locations::LocationError;
use chronoxide_memory::Exceeded;
use chronoxide_publish::PublishError;

use crate::{Exit, Failure, HasExit};

/// Error of the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Lock(#[from] chronoxide_publish::LockError),
    #[error(transparent)]
    Compaction(#[from] CompactionError),
    #[error(transparent)]
    Store(#[from] LocationError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("cannot start {threads} threads")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

impl HasExit for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Compaction(error) => compaction_exit(error),
            Self::Store(source) => source.exit(),
            Self::Schedule(error) => schedule_exit(error),
            Self::Lock(_) | Self::Threads { .. } => Exit::Io,
        }
    }
}

fn compaction_exit(error: &CompactionError) -> Exit {
    match error {
        CompactionError::Compact(error) | CompactionError::Input { error, .. } => compact_exit(error),
        CompactionError::Open(source) => source.exit(),
        CompactionError::Store(source) => source.exit(),
        CompactionError::StillNeeded { .. } | CompactionError::Replaced { .. } | CompactionError::OtherLive { .. } => {
            Exit::Usage
        }
        CompactionError::Stale { .. } => Exit::Findings,
        // No argument of the caller is wrong.
        CompactionError::Refused { source, .. }
        | CompactionError::Publish(PublishError::Unverified { source, .. })
        | CompactionError::Occupied { source, .. }
        | CompactionError::Unverified { source, .. }
            if matches!(source, Refused::Hides { .. } | Refused::Stale { .. }) =>
        {
            Exit::Findings
        }
        _ => Exit::Io,
    }
}

fn schedule_exit(error: &ScheduleError) -> Exit {
    match error {
        ScheduleError::Document { .. } | ScheduleError::NoJob { .. } | ScheduleError::Memory { .. } => Exit::Usage,
        // A later run can succeed.
        ScheduleError::NotDone { .. } | ScheduleError::OutputLost { .. } | ScheduleError::Record { .. } => Exit::Io,
        // No later run can succeed: a new schedule is needed.
        ScheduleError::Aborted
        | ScheduleError::CommitBegun
        | ScheduleError::Committed
        | ScheduleError::Stale { .. }
        | ScheduleError::Claimed { .. } => Exit::Findings,
        ScheduleError::Version { .. } => Exit::Unsupported,
        ScheduleError::Unbalanced { .. } => Exit::Corrupt,
        ScheduleError::Store(source) => source.exit(),
        ScheduleError::Open(source) => source.exit(),
        ScheduleError::Compaction(error) => compaction_exit(error),
        _ => Exit::Io,
    }
}

fn compact_exit(error: &CompactError) -> Exit {
    match error {
        CompactError::ReadOnly { .. } => Exit::Unsupported,
        CompactError::Spool(_) | CompactError::Write(_) | CompactError::Exceeded(Exceeded::Scratch(_)) => Exit::Io,
        CompactError::Input { source, .. } => source.exit(),
        CompactError::Unbalanced { .. } | CompactError::Unmapped { .. } => Exit::Corrupt,
        CompactError::Cancelled => Exit::Interrupted,
        _ => Exit::Usage,
    }
}

/// Returns the exit code for blocks that are kept because the proof failed.
pub(crate) fn exit_of_unproven(reason: &Unproven) -> Exit {
    match reason {
        Unproven::Open(source) => source.exit(),
        Unproven::Store(source) => source.exit(),
        // Nothing is wrong: a newer version may delete them, or a later run.
        Unproven::ReadOnly { .. } | Unproven::StillNeeded => Exit::Ok,
        Unproven::Block { error, .. } | Unproven::Compact(error) => match compact_exit(error) {
            // The claim cannot be true, or needs more memory to be proved: no argument of the caller is wrong.
            Exit::Usage => Exit::Findings,
            exit => exit,
        },
        _ => Exit::Findings,
    }
}

/// Returns a usage error.
pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, message.into())
}
