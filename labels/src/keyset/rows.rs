//! The series of one list of keys.

use super::keys::StoreKeyId;
use crate::error::{Counted, LabelError};
use crate::store::StoreRef;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A list of keys and the series that have exactly these: rows of value codes, one after the other.
///
/// A row is the [`StoreRef`] of its series and then one code per key. The ref stands with the codes
/// because who has compared a row wants it next, and it is in the same cache line.
#[derive(Debug, Clone)]
pub(crate) struct Keyset {
    /// The keys, in the byte order of their names.
    keys: Box<[StoreKeyId]>,
    rows: Vec<u32>,
    index: HashTable<Slot>,
}

/// A row in the hash table. The hash stays with it: growing the table would otherwise read all rows
/// at random.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    row: u32,
}

/// Spreads 32 bits of hash over the 64 that the table looks at: it takes its position from the low
/// bits and its tags from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Keyset {
    /// A keyset without series.
    pub(crate) fn new(keys: Box<[StoreKeyId]>) -> Self {
        Self { keys, rows: Vec::new(), index: HashTable::new() }
    }

    /// The keys, in the byte order of their names.
    pub(crate) fn keys(&self) -> &[StoreKeyId] {
        &self.keys
    }

    /// How many series there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() / (self.keys.len() + 1)
    }

    /// The rows in the order of arrival, each the ref of its series and its codes.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = (StoreRef, &[u32])> {
        self.rows.chunks_exact(self.keys.len() + 1).map(|row| match row.split_first() {
            Some((&series, codes)) => (StoreRef(series), codes),
            None => (StoreRef(0), row),
        })
    }

    /// The codes of a row.
    pub(crate) fn row(&self, row: u32) -> Option<&[u32]> {
        codes(&self.rows, self.keys.len(), row)
    }

    /// The ref of a row's series, and its codes.
    pub(crate) fn row_with_ref(&self, row: u32) -> Option<(StoreRef, &[u32])> {
        let series = self.rows.get(row as usize * (self.keys.len() + 1))?;
        Some((StoreRef(*series), self.row(row)?))
    }

    /// The hash of a row's codes, for [`find`](Self::find) and [`push`](Self::push).
    pub(crate) fn hash(hasher: &impl BuildHasher, codes: &[u32]) -> u32 {
        let hash = hasher.hash_one(codes);
        (hash ^ (hash >> 32)) as u32
    }

    /// The series with these codes.
    pub(crate) fn find(&self, hash: u32, wanted: &[u32]) -> Option<StoreRef> {
        let stride = self.keys.len() + 1;
        let same = |slot: &Slot| {
            slot.hash == hash && codes(&self.rows, stride - 1, slot.row).is_some_and(|codes| codes == wanted)
        };
        let slot = self.index.find(spread(hash), same)?;
        self.rows.get(slot.row as usize * stride).copied().map(StoreRef)
    }

    /// Adds a series that is not there; the number of its row.
    pub(crate) fn push(&mut self, hash: u32, codes: &[u32], series: StoreRef) -> Result<u32, LabelError> {
        let row = Counted::Series.next(self.len())?;
        self.rows.push(series.0);
        self.rows.extend_from_slice(codes);
        self.index.insert_unique(spread(hash), Slot { hash, row }, |slot| spread(slot.hash));
        Ok(row)
    }

    pub(crate) fn memory_used(&self) -> usize {
        size_of_val(&*self.keys) + self.rows.capacity() * size_of::<u32>() + self.index.allocation_size()
    }
}

fn codes(rows: &[u32], width: usize, row: u32) -> Option<&[u32]> {
    let start = (row as usize).checked_mul(width + 1)?.checked_add(1)?;
    rows.get(start..start + width)
}
