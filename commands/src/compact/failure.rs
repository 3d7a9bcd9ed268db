//! Errors and exit codes of the command.

use chronoxide_compactor::engine::{Refused, Unproven};
use chronoxide_compactor::plan::PlanError;
use chronoxide_compactor::{CompactError, CompactionError};
use chronoxide_locations::LocationError;
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
    Plan(#[from] PlanError),
    #[error("cannot start {threads} threads")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

impl HasExit for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Compaction(error) => compaction_exit(error),
            Self::Store(source) => source.exit(),
            Self::Plan(error) => plan_exit(error),
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
        // No argument of the caller is wrong.
        CompactionError::Publish(PublishError::Unverified { source, .. })
        | CompactionError::Occupied { source, .. }
        | CompactionError::Unverified { source, .. }
            if matches!(source, Refused::Hides { .. } | Refused::Stale { .. }) =>
        {
            Exit::Findings
        }
        _ => Exit::Io,
    }
}

fn plan_exit(error: &PlanError) -> Exit {
    match error {
        PlanError::Document { .. } | PlanError::NoJob { .. } | PlanError::Memory { .. } => Exit::Usage,
        // A later run can succeed.
        PlanError::NotDone { .. } | PlanError::OutputLost { .. } | PlanError::Record { .. } => Exit::Io,
        // No later run can succeed: a new plan is needed.
        PlanError::Aborted
        | PlanError::CommitBegun
        | PlanError::Committed
        | PlanError::Stale { .. }
        | PlanError::Claimed { .. } => Exit::Findings,
        PlanError::Version { .. } => Exit::Unsupported,
        PlanError::Unbalanced { .. } => Exit::Corrupt,
        PlanError::Store(source) => source.exit(),
        PlanError::Open(source) => source.exit(),
        PlanError::Compaction(error) => compaction_exit(error),
        _ => Exit::Io,
    }
}

fn compact_exit(error: &CompactError) -> Exit {
    match error {
        CompactError::ReadOnly { .. } => Exit::Unsupported,
        CompactError::Spool(_) | CompactError::Write(_) => Exit::Io,
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
