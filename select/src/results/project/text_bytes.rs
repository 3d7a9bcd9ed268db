//! [`TextBytes`]: bytes of the labels of all series, as text, by the value of one label.

use chronoxide_format::view::{Keyset, Pool};
use chronoxide_format::{KeyId, SymbolId};

use super::weights::{Weigh, Weights};
use crate::{Searcher, SelectError};

/// Bytes of the names and values of all labels of series, by the value of one label. A label counts once per series
/// that has it, without separators and quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextBytes {
    by_code: Vec<u64>,
    absent: u64,
}

impl TextBytes {
    /// Returns the bytes of the series with each value of the label, by its code: a position in the dictionary of the
    /// key.
    #[must_use]
    pub fn by_code(&self) -> &[u64] {
        &self.by_code
    }

    /// Returns the bytes of the series without the label.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.absent
    }
}

impl Searcher<'_, '_> {
    /// Counts the bytes of the labels of all series by the value of a key, exactly up to 2^53 bytes.
    ///
    /// Costs a few nanoseconds per row and column of each table, and per member of each list; a list is read once per
    /// keyset and value of the key. Takes 16 bytes of memory per row of these tables, and some 32 per distinct pair of
    /// list and value.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn text_bytes(&self, by: KeyId) -> Result<TextBytes, SelectError> {
        let Weights { by_code, absent } = self.weights(by, TextLength)?;
        Ok(TextBytes { by_code: by_code.into_iter().map(|bytes| bytes as u64).collect(), absent: absent as u64 })
    }
}

/// Weighs labels by their text.
struct TextLength;

impl Weigh for TextLength {
    fn label(&self, name: &[u8], _: SymbolId, text: &[u8]) -> f64 {
        (name.len() + text.len()) as f64
    }

    fn row(&self, _: u32, _: u32) -> f64 {
        0.0
    }

    fn keyset_row(&self, _: &Keyset<'_, '_>) -> f64 {
        0.0
    }

    fn list(&self, _: &Pool<'_, '_>, _: u32) -> f64 {
        0.0
    }
}
