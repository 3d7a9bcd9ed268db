//! Errors of assembling series into blocks.

use std::error::Error;

use chronoxide_format::column::ColumnMerge;
use chronoxide_format::layout::MAX_SERIES_COLUMNS;
use chronoxide_labels::{LabelError, SealError};
use chronoxide_text::human::{size, time};

/// Error of assembling series into blocks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The labels do not fit into a store.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The series or the metadata of a block do not fit into a block.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The sink of blocks refused a block.
    #[error(transparent)]
    Output(Box<dyn Error + Send + Sync>),
    /// The thread that seals blocks ended without a result.
    #[error("the thread that seals blocks stopped")]
    SealingStopped,
    /// Points lie in more windows than the options allow.
    #[error(
        "points lie in more than {limit} windows, from {} to {}: use a longer window (--window), or allow more windows \
         (--max-windows)",
        time(starts.0), time(starts.1)
    )]
    TooManyWindows {
        /// Maximum number of windows.
        limit: usize,
        /// Starts of the first and the last window, in nanoseconds since 1970.
        starts: (i64, i64),
    },
    /// More blocks would be made than the options allow.
    #[error(
        "{count} blocks would exceed the limit of {limit}: use a longer window (--window), more memory (--memory-limit), \
         or allow more blocks (--max-blocks)"
    )]
    TooManyBlocks {
        /// Number of blocks, including those not yet sealed.
        count: u64,
        /// Maximum number of blocks.
        limit: u64,
    },
    /// Inputs of one block have different external labels, which are part of the identity of its series.
    #[error("inputs have different external labels; write several blocks to a folder (--output DIR/)")]
    ExternalLabels,
    /// Two inputs have columns of one name that do not fit together.
    #[error(
        "the column {name:?} has type and way to merge {} in {}, and {} in {}: leave out series columns (--no-columns), \
         or read the inputs in two runs",
        first.1, first.0, second.1, second.0
    )]
    ColumnsDiffer {
        /// Name of the column.
        name: String,
        /// Name of the first input, and type and way to merge of its column.
        first: (String, String),
        /// Name of the second input, and type and way to merge of its column.
        second: (String, String),
    },
    /// A block has no room for another series column.
    #[error(
        "{input}: column {name:?}: a block has at most {MAX_SERIES_COLUMNS} series columns: leave out series columns \
         (--no-columns), or read inputs with others in another run"
    )]
    TooManyColumns {
        /// Name of the input.
        input: String,
        /// Name of the column.
        name: String,
    },
    /// Two values of a series cannot be combined: they differ, or their sum does not fit.
    #[error(
        "column {name:?}: two values of a series cannot be merged as {merge}: they differ, or their sum does not fit"
    )]
    Values {
        /// Name of the column.
        name: String,
        /// Way to merge.
        merge: ColumnMerge,
    },
    /// One block needs more memory than the options allow.
    #[error(
        "one block of all inputs does not fit into the memory limit: {series} series need more than the {} that it leaves \
         for them; write several blocks to a folder (--output DIR/), or raise --memory-limit",
        size(*limit as u64)
    )]
    MemoryLimit {
        /// Maximum memory of series and their sealing, in bytes.
        limit: usize,
        /// Series so far.
        series: usize,
    },
}
