//! [`LassoSymbolTable`]: the interner of the crate `lasso`.

use std::fmt;
use std::hash::BuildHasher;
use std::num::NonZeroUsize;

use chronoxide_labels::{Counted, LabelError, StoreSymbolId, SymbolTable};
use foldhash::fast::RandomState;
use lasso::{Capacity, Key, Rodeo, Spur};

use super::INDEX_ENTRY;

/// Symbol table over [`lasso::Rodeo`], which keeps strings in buckets of doubling size and a slice per string.
pub struct LassoSymbolTable<H = RandomState> {
    rodeo: Rodeo<Spur, H>,
    /// Copy of the hasher, which `lasso` does not give access to.
    hasher: H,
    /// Bytes of all strings.
    text_bytes: usize,
}

impl<H: BuildHasher + Clone + Default> LassoSymbolTable<H> {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        let hasher = H::default();
        // Fewer allocations than with lasso's own 50 strings and 4 KiB.
        let capacity = Capacity::new(512, NonZeroUsize::new(16 << 10).expect("not zero"));
        Self { rodeo: Rodeo::with_capacity_and_hasher(capacity, hasher.clone()), hasher, text_bytes: 0 }
    }
}

impl<H: BuildHasher> LassoSymbolTable<H> {
    /// Returns the hash of each string, in order of ids.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.rodeo.strings().map(|text| self.hasher.hash_one(text))
    }
}

impl<H: BuildHasher + Clone + Default> Default for LassoSymbolTable<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> fmt::Debug for LassoSymbolTable<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LassoSymbolTable").field("len", &self.rodeo.len()).finish_non_exhaustive()
    }
}

/// Returns the id of a key. Keys count up from 0, like ids.
fn id(key: Spur) -> StoreSymbolId {
    // A `Spur` has 32 bits.
    StoreSymbolId(key.into_usize() as u32)
}

impl<H: BuildHasher> SymbolTable for LassoSymbolTable<H> {
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError> {
        let before = self.rodeo.len();
        // The other errors are a memory limit, which is not set, and a failed allocation.
        let key = self.rodeo.try_get_or_intern(text).map_err(|_| LabelError::Full { what: Counted::Symbol })?;
        if self.rodeo.len() > before {
            self.text_bytes += text.len();
        }
        Ok(id(key))
    }

    fn get(&self, text: &str) -> Option<StoreSymbolId> {
        self.rodeo.get(text).map(id)
    }

    fn resolve(&self, id: StoreSymbolId) -> Option<&str> {
        self.rodeo.try_resolve(&Spur::try_from_usize(id.index())?)
    }

    fn len(&self) -> usize {
        self.rodeo.len()
    }

    /// Returns the memory in bytes. The capacity of the hash table is derived from that of the list of strings.
    fn estimated_bytes(&self) -> usize {
        // Entries are a power of two, at most 7 of 8 of them are full.
        let buckets = (self.rodeo.len().max(512) * 8).div_ceil(7).next_power_of_two();
        self.rodeo.current_memory_usage() + self.rodeo.capacity() * size_of::<&str>() + buckets * INDEX_ENTRY
    }

    fn used_bytes(&self) -> usize {
        self.text_bytes + self.rodeo.len() * (size_of::<&str>() + INDEX_ENTRY)
    }
}
