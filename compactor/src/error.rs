//! What can go wrong when blocks are merged.

use chronoxide_format::Error;
use chronoxide_format::build::BuildError;

/// Why blocks cannot be merged. Inputs are numbered as they were given, from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// An input is damaged.
    #[error("input {input}: {source}")]
    Input {
        /// Which.
        input: usize,
        /// What is wrong with it.
        source: Error,
    },
    /// An input has features that must be known to rewrite it.
    #[error("input {input} has features that this program does not know: ro_compat bits {bits:#x}")]
    UnknownFeatures {
        /// Which.
        input: usize,
        /// The header's `ro_compat` word.
        bits: u32,
    },
    /// Two inputs say different things of themselves.
    #[error("input {input} differs from the first in its {what}: blocks that differ there are not merged")]
    Differs {
        /// Which.
        input: usize,
        /// In what.
        what: &'static str,
    },
    /// The series of all inputs do not fit one block.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Series were lost or invented. Nothing was written; this is an error of this program.
    #[error(
        "the series do not balance: {series_in} in, {duplicates} twice, {series_out} out, fingerprints {fingerprints}"
    )]
    Unbalanced {
        /// Series of all inputs.
        series_in: u64,
        /// Series that were there before.
        duplicates: u64,
        /// Series of the output.
        series_out: u64,
        /// Whether the fingerprints balance.
        fingerprints: &'static str,
    },
}
