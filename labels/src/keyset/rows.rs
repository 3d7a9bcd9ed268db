//! Series of one list of keys.

use std::hash::BuildHasher;

use super::keys::StoreKeyId;
use crate::error::{Counted, LabelError};
use crate::number_index::NumberIndex;
use crate::store::StoreRef;

/// List of keys, and the series that have exactly these keys: rows of value codes.
///
/// A row is the [`StoreRef`] of its series followed by one code per key. The ref is next to the codes because a
/// successful comparison of codes needs it next, and it is in the same cache line.
#[derive(Debug, Clone)]
pub(crate) struct Keyset {
    /// Keys in the byte order of their names.
    keys: Box<[StoreKeyId]>,
    rows: Vec<u32>,
    /// Numbers of rows.
    index: NumberIndex,
}

impl Keyset {
    /// Creates a keyset without series.
    pub(crate) fn new(keys: Box<[StoreKeyId]>) -> Self {
        Self { keys, rows: Vec::new(), index: NumberIndex::default() }
    }

    /// Returns the keys in the byte order of their names.
    pub(crate) fn keys(&self) -> &[StoreKeyId] {
        &self.keys
    }

    /// Returns the number of series.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns the rows in order of arrival, each as the ref of its series and its codes.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = (StoreRef, &[u32])> {
        self.rows.chunks_exact(self.keys.len() + 1).map(|row| match row.split_first() {
            Some((&series, codes)) => (StoreRef(series), codes),
            None => (StoreRef(0), row),
        })
    }

    /// Returns the codes of a row.
    pub(crate) fn row(&self, row: u32) -> Option<&[u32]> {
        codes(&self.rows, self.keys.len(), row)
    }

    /// Returns the ref of a row's series, and its codes.
    pub(crate) fn row_with_ref(&self, row: u32) -> Option<(StoreRef, &[u32])> {
        let series = self.rows.get(row as usize * (self.keys.len() + 1))?;
        Some((StoreRef(*series), self.row(row)?))
    }

    /// Returns the hash of a row's codes, for [`find`](Self::find) and [`push`](Self::push).
    pub(crate) fn hash(hasher: &impl BuildHasher, codes: &[u32]) -> u64 {
        hasher.hash_one(codes)
    }

    /// Returns the series with these codes, if any.
    pub(crate) fn find(&self, hash: u64, wanted: &[u32]) -> Option<StoreRef> {
        let width = self.keys.len();
        let row = self.index.find(hash, |row| codes(&self.rows, width, row) == Some(wanted))?;
        self.rows.get(row as usize * (width + 1)).copied().map(StoreRef)
    }

    /// Adds a series that is not stored yet. Returns the number of its row.
    pub(crate) fn push(
        &mut self,
        hasher: &impl BuildHasher,
        hash: u64,
        new: &[u32],
        series: StoreRef,
    ) -> Result<u32, LabelError> {
        let row = Counted::Series.next(self.len())?;
        self.rows.push(series.0);
        self.rows.extend_from_slice(new);
        let Self { keys, rows, index } = self;
        index.push(hash, |row| Self::hash(hasher, codes(rows, keys.len(), row).unwrap_or_default()));
        Ok(row)
    }

    pub(crate) fn estimated_bytes(&self) -> usize {
        size_of_val(&*self.keys) + self.rows.capacity() * size_of::<u32>() + self.index.estimated_bytes()
    }

    pub(crate) fn used_bytes(&self) -> usize {
        size_of_val(&*self.keys) + size_of_val(&*self.rows) + self.index.used_bytes()
    }
}

fn codes(rows: &[u32], width: usize, row: u32) -> Option<&[u32]> {
    let start = (row as usize).checked_mul(width + 1)?.checked_add(1)?;
    rows.get(start..start + width)
}
