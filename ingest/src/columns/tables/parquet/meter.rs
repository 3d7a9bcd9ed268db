//! Memory of the pages of a batch: [`Meter`].

use std::sync::atomic::{AtomicU64, Ordering};

use crate::columns::error::ColumnsError;

/// Memory of the pages that a batch refers to, which all columns of a row group share.
///
/// A batch refers to the dictionaries and last pages of all columns at its start, and to each page that it reads.
#[derive(Debug)]
pub(super) struct Meter {
    /// Maximum memory in bytes.
    limit: u64,
    /// Memory of the dictionaries and last pages.
    open: AtomicU64,
    /// Memory since the start of the batch.
    used: AtomicU64,
}

impl Meter {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, open: AtomicU64::new(0), used: AtomicU64::new(0) }
    }

    /// Releases the pages of the last batch.
    pub(super) fn batch_begins(&self) {
        self.used.store(self.open.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Adds a page of `len` bytes, which replaces one of `replaced` bytes as the last page of its column.
    ///
    /// # Errors
    ///
    /// The pages take more than the limit.
    pub(super) fn add(&self, len: u64, replaced: u64) -> Result<(), ColumnsError> {
        let used = self.used.load(Ordering::Relaxed).saturating_add(len);
        if used > self.limit {
            return Err(ColumnsError::TooLarge {
                what: "the pages of one batch of rows",
                len: used,
                limit: self.limit,
            });
        }
        self.used.store(used, Ordering::Relaxed);
        let open = self.open.load(Ordering::Relaxed).saturating_sub(replaced).saturating_add(len);
        self.open.store(open, Ordering::Relaxed);
        Ok(())
    }
}
