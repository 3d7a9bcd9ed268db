//! Errors of merging.

use chronoxide_format::Error;
use chronoxide_format::remap::RemapBuildError;
use chronoxide_format::view::ReadOnly;
use chronoxide_format::write::BuildError;
use chronoxide_publish::SpoolError;
use chronoxide_text::human;

/// Error of merging blocks. Fields count inputs from 0, messages from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CompactError {
    /// An input is damaged.
    #[error("{}: {source}", nth(*input))]
    Input { input: usize, source: Error },
    /// An input must not be replaced by this version.
    #[error("{}: {}", nth(*input), Self::read_only(*reason))]
    ReadOnly {
        input: usize,
        /// Feature or section that this version does not know.
        reason: ReadOnly,
    },
    /// Two inputs differ where they must be equal.
    #[error("{}: {}", nth(*input), Self::difference(what))]
    Differs { input: usize, what: &'static str },
    /// Two inputs have columns of one name that cannot be merged.
    #[error("{}: {}", nth(*input), Self::columns_differ(*other, name))]
    ColumnsDiffer { input: usize, other: usize, name: String },
    /// A value of an input cannot be combined with that of another.
    #[error("{}: {source}", nth(*input))]
    Column { input: usize, source: BuildError },
    /// The series of all inputs do not fit into one block.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Too many selectors.
    #[error("more than {most} selectors")]
    TooManySelectors { most: usize },
    /// Contradictory options.
    #[error("{what}")]
    Options { what: &'static str },
    /// The merge could exceed the memory limit. Nothing was done.
    #[error(
        "the merge needs up to {} of memory, and may take {} (--memory-limit, and free disk space for scratch files): merge fewer blocks at once, or raise the limit",
        human::bytes(*needed), human::bytes(*limit)
    )]
    Memory {
        /// A number of bytes that suffices.
        needed: u64,
        limit: u64,
    },
    /// The process exceeds its limit of memory. Nothing was written.
    #[error(transparent)]
    Exceeded(#[from] chronoxide_memory::Exceeded),
    /// A remap cannot be built.
    #[error(transparent)]
    Remap(#[from] RemapBuildError),
    /// Targets of a remap do not match the outputs. The outputs were written; this is a bug.
    #[error("{gone} series are missing from the outputs; {left_out} were dropped as requested")]
    Unmapped { gone: u64, left_out: u64 },
    /// Scratch data cannot be written or read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// An output cannot be written.
    #[error("cannot write an output")]
    Write(#[from] std::io::Error),
    /// The observer cancelled. No further output was written.
    #[error("cancelled")]
    Cancelled,
    /// Inputs and outputs do not balance: an input changed while it was read, or this is a bug. Nothing was written.
    #[error(
        "series do not balance: {series_in} in, {duplicates} duplicates, {dropped} dropped, {series_out} out, fingerprints {fingerprints}"
    )]
    Unbalanced {
        series_in: u64,
        duplicates: u64,
        dropped: u64,
        /// Series of the outputs.
        series_out: u64,
        /// `equal` or `different`.
        fingerprints: &'static str,
    },
}

impl CompactError {
    /// Returns the number of the input that the error is about, from 0.
    #[must_use]
    pub const fn input(&self) -> Option<usize> {
        match self {
            Self::Input { input, .. }
            | Self::ReadOnly { input, .. }
            | Self::Differs { input, .. }
            | Self::ColumnsDiffer { input, .. }
            | Self::Column { input, .. } => Some(*input),
            _ => None,
        }
    }

    /// Returns the reason without the number of the input, for messages that name the file.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Input { source, .. } => source.to_string(),
            Self::ReadOnly { reason, .. } => Self::read_only(*reason),
            Self::Differs { what, .. } => Self::difference(what),
            Self::ColumnsDiffer { other, name, .. } => Self::columns_differ(*other, name),
            Self::Column { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    fn read_only(reason: ReadOnly) -> String {
        format!("read-only: {reason}")
    }

    fn columns_differ(other: usize, name: &str) -> String {
        format!("its column {name:?} differs from that of {} in type or way to merge", nth(other))
    }

    fn difference(what: &str) -> String {
        let remedy = if what == "external labels" {
            " (--lift-external-labels turns them into labels of series; --external-label sets a missing one)"
        } else {
            ""
        };
        format!("differs from the first input in its {what}{remedy}")
    }
}

/// Names the input in an error of its bytes.
pub(crate) trait InInput<T> {
    /// Returns the value, or the error of input `input`, which counts from 0.
    fn in_input(self, input: usize) -> Result<T, CompactError>;
}

impl<T> InInput<T> for chronoxide_format::Result<T> {
    fn in_input(self, input: usize) -> Result<T, CompactError> {
        self.map_err(|source| CompactError::Input { input, source })
    }
}

fn nth(input: usize) -> String {
    format!("input {}", input + 1)
}
