//! Series of one list of keys.

use std::hash::BuildHasher;

use super::keys::StoreKeyId;
use crate::error::{Counted, LabelError};
use crate::number_index::NumberIndex;
use crate::store::StoreRef;

/// Codes in a chunk of rows, at most: 64 KiB. The allocator takes chunks of this size from its heap; it would map
/// larger ones from the system each time.
const CHUNK_LEN: usize = 1 << 14;

/// List of keys, and the series that have exactly these keys: rows of value codes.
#[derive(Debug, Clone)]
pub(crate) struct Keyset {
    /// Keys in the byte order of their names.
    keys: Box<[StoreKeyId]>,
    /// Bits of a row in a block.
    pub(crate) row_bits: u32,
    rows: Rows,
    /// Numbers of rows.
    index: NumberIndex,
}

/// Rows in chunks, which are never moved: one large array would be copied each time it grows, and could be half empty.
///
/// A row is the [`StoreRef`] of its series followed by one code per key. The ref is next to the codes because a
/// successful comparison of codes needs it next, and it is in the same cache line.
#[derive(Debug, Clone)]
struct Rows {
    /// Length of a row: the ref and the codes.
    width: usize,
    /// Binary logarithm of the number of rows in a chunk.
    chunk_shift: u32,
    /// Chunks that are full.
    full: Vec<Vec<u32>>,
    /// Last chunk. It grows if it is the first, so that few rows take little memory.
    last: Vec<u32>,
}

impl Rows {
    fn new(key_count: usize) -> Self {
        let width = key_count + 1;
        let chunk_shift = (CHUNK_LEN / width).max(1).ilog2();
        Self { width, chunk_shift, full: Vec::new(), last: Vec::new() }
    }

    /// Returns a row, or `None` if it is out of range.
    #[inline]
    fn get(&self, row: u32) -> Option<&[u32]> {
        let row = row as usize;
        let (chunk, start) = (row >> self.chunk_shift, (row & ((1 << self.chunk_shift) - 1)) * self.width);
        let chunk = if chunk == self.full.len() { &self.last } else { self.full.get(chunk)? };
        chunk.get(start..start + self.width)
    }

    /// Returns the codes of a row.
    #[inline]
    fn codes(&self, row: u32) -> Option<&[u32]> {
        self.get(row)?.get(1..)
    }

    fn push(&mut self, series: StoreRef, codes: &[u32]) {
        let chunk_len = self.width << self.chunk_shift;
        if self.last.len() == chunk_len {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(chunk_len)));
        }
        self.last.push(series.0);
        self.last.extend_from_slice(codes);
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.full.iter().chain([&self.last]).flat_map(|chunk| chunk.chunks_exact(self.width))
    }

    fn estimated_bytes(&self) -> usize {
        let chunk_len = self.width << self.chunk_shift;
        let codes = self.full.len() * chunk_len + self.last.capacity();
        codes * size_of::<u32>() + self.full.capacity() * size_of::<Vec<u32>>()
    }

    fn used_bytes(&self) -> usize {
        let chunk_len = self.width << self.chunk_shift;
        (self.full.len() * chunk_len + self.last.len()) * size_of::<u32>() + self.full.len() * size_of::<Vec<u32>>()
    }
}

impl Keyset {
    /// Creates a keyset without series.
    pub(crate) fn new(keys: Box<[StoreKeyId]>, row_bits: u32) -> Self {
        let rows = Rows::new(keys.len());
        Self { keys, row_bits, rows, index: NumberIndex::default() }
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
    pub(crate) fn rows(&self) -> impl Iterator<Item = (StoreRef, &[u32])> {
        self.rows.iter().map(|row| match row.split_first() {
            Some((&series, codes)) => (StoreRef(series), codes),
            None => (StoreRef(0), row),
        })
    }

    /// Returns the codes of a row.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> Option<&[u32]> {
        self.rows.codes(row)
    }

    /// Returns the ref of a row's series, and its codes.
    pub(crate) fn row_with_ref(&self, row: u32) -> Option<(StoreRef, &[u32])> {
        let (&series, codes) = self.rows.get(row)?.split_first()?;
        Some((StoreRef(series), codes))
    }

    /// Returns the hash of a row's codes, for [`find`](Self::find) and [`push`](Self::push).
    pub(crate) fn hash(hasher: &impl BuildHasher, codes: &[u32]) -> u64 {
        hasher.hash_one(codes)
    }

    /// Returns the series with these codes, if any.
    pub(crate) fn find(&self, hash: u64, wanted: &[u32]) -> Option<StoreRef> {
        let row = self.index.find(hash, |row| self.rows.codes(row) == Some(wanted))?;
        self.row_with_ref(row).map(|(series, _)| series)
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
        self.rows.push(series, new);
        let Self { rows, index, .. } = self;
        index.push(hash, |row| Self::hash(hasher, rows.codes(row).unwrap_or_default()));
        Ok(row)
    }

    pub(crate) fn estimated_bytes(&self) -> usize {
        // Each key has the number of the keyset too, in a list that is up to half empty.
        3 * size_of_val(&*self.keys) + self.rows.estimated_bytes() + self.index.estimated_bytes()
    }

    pub(crate) fn used_bytes(&self) -> usize {
        size_of_val(&*self.keys) + self.rows.used_bytes() + self.index.used_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_within_and_across_chunks() {
        for key_count in [1, 2, 7, 24, 511, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN] {
            let mut rows = Rows::new(key_count);
            let count = (3 * CHUNK_LEN / (key_count + 1)).max(3) as u32 + 1;
            let codes = |row: u32| -> Vec<u32> { (0..key_count as u32).map(|key| row ^ key).collect() };
            for row in 0..count {
                assert_eq!(rows.get(row), None);
                rows.push(StoreRef(row + 7), &codes(row));
            }
            assert!(rows.full.len() >= 2, "{key_count}: {} chunks are full", rows.full.len());
            assert!(rows.used_bytes() <= rows.estimated_bytes());
            assert_eq!(rows.iter().count(), count as usize);
            for (row, found) in (0..count).zip(rows.iter()) {
                let expected = [vec![row + 7], codes(row)].concat();
                assert_eq!((found, rows.get(row)), (&expected[..], Some(&expected[..])), "{key_count}, {row}");
            }
        }
    }
}
