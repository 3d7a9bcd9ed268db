//! Stand-ins for the decoders where the feature `tables` is off. No input comes here: see [`ABSENT`](super::ABSENT).

use super::ABSENT;
use super::error::{ColumnsError, RowsError, SkippedRows};
use crate::series::SeriesSink;

/// Decoder of no messages.
pub(crate) struct MessageDecoder;

impl MessageDecoder {
    pub(crate) fn new(_: usize) -> Self {
        Self
    }

    pub(crate) fn skip_rows(&mut self) {}

    pub(crate) fn ignore_values(&mut self) {}

    pub(crate) fn take_skipped(&mut self) -> SkippedRows {
        SkippedRows::default()
    }

    pub(crate) fn row_count(&self) -> u64 {
        0
    }

    pub(crate) fn ignored(&self) -> &[String] {
        &[]
    }

    pub(crate) fn message<S: SeriesSink>(&mut self, _: &[u8], _: &mut S) -> Result<(), RowsError<S::Error>> {
        Err(ColumnsError::Message(ABSENT).into())
    }
}

/// Returns no length: metadata of messages cannot be read.
pub(crate) fn body_len(_: &[u8]) -> Option<u64> {
    None
}

/// Returns true: only the prefix of a message shows what it is.
pub(crate) fn is_schema(_: &[u8]) -> bool {
    true
}
