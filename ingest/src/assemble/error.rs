//! Why collecting stops.

use chronoxide_labels::{LabelError, SealError};
use std::error::Error;

/// Why collecting stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The labels do not fit into a store.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The series do not fit into a block, or what is to be said of it does not.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A block was not taken.
    #[error(transparent)]
    Output(Box<dyn Error + Send + Sync>),
    /// Points lie in more windows than the options allow.
    #[error(
        "points lie in more than {limit} windows, the first of which starts at {} and the last at {}: use a longer \
         window (--window), or allow more of them (--max-windows)",
        time(starts.0), time(starts.1)
    )]
    TooManyWindows {
        /// Windows that are allowed.
        limit: usize,
        /// Starts of the first and the last window, in nanoseconds since 1970.
        starts: (i64, i64),
    },
    /// More blocks would be made than the options allow.
    #[error(
        "{count} blocks would be made, and {limit} are allowed: use a longer window (--window) or more memory \
         (--memory-limit), or allow more of them (--max-blocks)"
    )]
    TooManyBlocks {
        /// Blocks that would be made.
        count: u64,
        /// Blocks that are allowed.
        limit: u64,
    },
    /// One block needs more memory than the options allow.
    #[error(
        "one block of all inputs does not fit into the memory limit, which leaves {limit} bytes for series and for \
         sealing them; it is reached after {series} series: write to a folder (--output DIR/), which gets several \
         blocks, or raise --memory-limit"
    )]
    MemoryLimit {
        /// Bytes that are allowed.
        limit: usize,
        /// Series so far.
        series: usize,
    },
}

/// A time as RFC 3339.
fn time(nanoseconds: i64) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds.into()).map_or(nanoseconds.to_string(), |time| time.to_string())
}
