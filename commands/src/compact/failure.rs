//! Errors and exit codes of the command.

use std::path::{Path, PathBuf};

use chronoxide_compactor::job::{JobError, Unproven};
use chronoxide_compactor::plan::PlanError;
use chronoxide_compactor::{CompactError, CompactionError};
use chronoxide_reader::{FolderError, OpenError};
use chronoxide_store::StoreError;

use crate::compact::claims::Unfit;
use crate::{Exit, Failure, HasExit};

/// Error of the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Lock(#[from] chronoxide_publish::LockError),
    #[error(transparent)]
    Remove(#[from] chronoxide_publish::RemoveError),
    #[error("{}: {source}", path.display())]
    Input { path: PathBuf, source: chronoxide_format::Error },
    #[error("{}: {}", path.display(), error.reason())]
    Inputs { path: PathBuf, error: CompactError },
    #[error(
        "{}: its column {name:?} differs from that of {} in type or way to merge (--drop-column leaves it out)",
        path.display(), other.display()
    )]
    ColumnsDiffer { path: PathBuf, other: PathBuf, name: String },
    #[error(transparent)]
    Compaction(CompactionError<Unfit>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("cannot start {threads} threads")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

impl Error {
    /// Adds the name of the input to an error.
    pub(crate) fn named(error: CompactionError<Unfit>, inputs: &[&Path]) -> Self {
        let path = |input: usize| inputs[input].to_path_buf();
        match error {
            CompactionError::Compact(CompactError::Input { input, source }) if input < inputs.len() => {
                Self::Input { path: path(input), source }
            }
            CompactionError::Compact(error @ CompactError::ReadOnly { input, .. })
            | CompactionError::Compact(error @ CompactError::Differs { input, .. })
            | CompactionError::Compact(error @ CompactError::Column { input, .. }) => {
                Self::Inputs { path: path(input), error }
            }
            CompactionError::Compact(CompactError::ColumnsDiffer { input, other, name }) => {
                Self::ColumnsDiffer { path: path(input), other: path(other), name }
            }
            error => Self::Compaction(error),
        }
    }
}

impl HasExit for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Open(source) => source.exit(),
            Self::Store(source) => source.exit(),
            Self::Plan(error) => plan_exit(error),
            Self::Input { source, .. } => source.exit(),
            Self::Inputs { error, .. } => compact_exit(error),
            Self::Compaction(CompactionError::Compact(error)) => compact_exit(error),
            Self::Compaction(CompactionError::Job(JobError::StillNeeded { .. })) => Exit::Usage,
            Self::Compaction(error) if is_refused_for_claims(error) => Exit::Findings,
            _ => Exit::Io,
        }
    }
}

fn is_refused_for_claims(error: &CompactionError<Unfit>) -> bool {
    let sources = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    sources.filter_map(|error| error.downcast_ref::<Unfit>()).any(|unfit| matches!(unfit, Unfit::Hides { .. }))
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
        PlanError::Compact { error, .. } => compact_exit(error),
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
