//! What can go wrong when blocks are merged.

use chronoxide_format::Error;
use chronoxide_format::remap::RemapBuildError;
use chronoxide_format::write::BuildError;
use chronoxide_publish::SpoolError;

/// Why blocks cannot be merged. Fields number inputs from 0, messages from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// An input is damaged.
    #[error("{}: {source}", nth(*input))]
    Input {
        /// Which.
        input: usize,
        /// What is wrong with it.
        source: Error,
    },
    /// An input has features that must be known to rewrite it.
    #[error("{}: {}", nth(*input), Self::unknown_features(*bits))]
    UnknownFeatures {
        /// Which.
        input: usize,
        /// The header's `ro_compat` word.
        bits: u32,
    },
    /// Two inputs say different things of themselves.
    #[error("{}: {}", nth(*input), Self::difference(what))]
    Differs {
        /// Which.
        input: usize,
        /// In what.
        what: &'static str,
    },
    /// The series of all inputs do not fit one block.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// More selectors than can be told apart at once.
    #[error("there are more than {most} selectors")]
    TooManySelectors {
        /// So many there may be.
        most: usize,
    },
    /// Options that do not go together.
    #[error("{what}")]
    Options {
        /// Which, and why.
        what: &'static str,
    },
    /// It could take more memory than it may. Nothing was begun.
    #[error(
        "the merge could need {needed} bytes of memory, and the limit is {limit} (--memory-limit): merge fewer blocks at once, or raise the limit"
    )]
    Memory {
        /// Bytes that it takes at most, about.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },
    /// A remap has no room for what happened.
    #[error(transparent)]
    Remap(#[from] RemapBuildError),
    /// Series that are in an output were not found there, or the other way round. The outputs were written; this is an error of this program.
    #[error("{gone} series are in no output, {left_out} were left out")]
    Unmapped {
        /// Series that were not found.
        gone: u64,
        /// Series that were to be left out.
        left_out: u64,
    },
    /// Scratch data cannot be kept or read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// An output cannot be written.
    #[error("cannot write an output")]
    Write(#[from] std::io::Error),
    /// Who watches did not want it to go on. Nothing more was written.
    #[error("cancelled")]
    Cancelled,
    /// Series were lost or invented. Nothing was written; this is an error of this program.
    #[error(
        "the series do not balance: {series_in} in, {duplicates} twice, {dropped} left out, {series_out} out, fingerprints {fingerprints}"
    )]
    Unbalanced {
        /// Series of all inputs.
        series_in: u64,
        /// Series that were there before.
        duplicates: u64,
        /// Series that were to be left out.
        dropped: u64,
        /// Series of the outputs.
        series_out: u64,
        /// Whether the fingerprints balance.
        fingerprints: &'static str,
    },
}

impl CompactError {
    /// Returns the number of the input that the error is about, from 0.
    pub const fn input(&self) -> Option<usize> {
        match self {
            Self::Input { input, .. } | Self::UnknownFeatures { input, .. } | Self::Differs { input, .. } => {
                Some(*input)
            }
            _ => None,
        }
    }

    /// What is wrong with an input, without saying which: for those who can name it.
    pub fn reason(&self) -> String {
        match self {
            Self::Input { source, .. } => source.to_string(),
            Self::UnknownFeatures { bits, .. } => Self::unknown_features(*bits),
            Self::Differs { what, .. } => Self::difference(what),
            other => other.to_string(),
        }
    }

    fn unknown_features(bits: u32) -> String {
        format!("has features that this program does not know: ro_compat bits {bits:#x}")
    }

    fn difference(what: &str) -> String {
        let remedy = if what == "external labels" {
            " (--lift-external-labels makes them labels of series, --external-label sets one that is missing)"
        } else {
            ""
        };
        format!("differs from the first input in its {what}; such blocks are not merged{remedy}")
    }
}

fn nth(input: usize) -> String {
    format!("input {}", input + 1)
}
