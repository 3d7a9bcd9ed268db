//! [`SelectError`]: reasons why a query of a block failed.

use chronoxide_format::Error;

/// Reason why a query failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The block is damaged in a byte that was read.
    #[error(transparent)]
    Block(#[from] Error),
    /// More series were selected than the limit allows.
    #[error("the query selects more than {limit} series: add a matcher or raise the limit")]
    TooManySeries {
        /// Maximum number of series.
        limit: u64,
    },
    /// The deadline passed before the query ended.
    #[error("the query exceeded its time limit")]
    DeadlineExceeded,
    /// There is not enough memory for a result of this many series.
    #[error("not enough memory for {series} series: add a matcher")]
    OutOfMemory {
        /// Number of selected series.
        series: u64,
    },
    /// The refs of the selected series take more memory than the limit allows.
    #[error(
        "the selected series take more than the memory limit of {limit} bytes: add a matcher, ask for fewer series, or \
         raise the limit (max_memory)"
    )]
    MemoryLimit {
        /// Maximum memory in bytes.
        limit: u64,
    },
    /// The selection was made from another snapshot of the folder, in which blocks have other positions.
    #[error("the selection is of another snapshot of the folder: select again")]
    OtherSnapshot,
    /// The caller cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// The catalogue claims many more labels than the file has bytes.
    #[error("the block's keysets have {labels} keys or more in all, a block of its length may have {limit}")]
    TooManyLabels {
        /// Keys of keysets and inner tables that were counted.
        labels: u64,
        /// Maximum number of them.
        limit: u64,
    },
}
