//! Why collecting stops.

use super::windows::TooManyWindows;
use chronoxide_labels::{LabelError, SealError};
use std::error::Error;

/// Why collecting stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The labels do not fit into a store.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The series do not fit into a block, or what is to be said of it does not.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A block was not taken.
    #[error(transparent)]
    Output(Box<dyn Error + Send + Sync>),
    /// A series has points over a time that has too many windows.
    #[error("a series has points over a time of {count} windows (--window)")]
    TooManyWindows {
        /// How many.
        count: i128,
    },
}

impl From<TooManyWindows> for CollectError {
    fn from(TooManyWindows { count }: TooManyWindows) -> Self {
        Self::TooManyWindows { count }
    }
}
