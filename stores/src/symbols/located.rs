//! [`LocatedSymbolTable`]: one arena, and a location per symbol.

use std::fmt;
use std::hash::BuildHasher;

use chronoxide_labels::{Counted, LabelError, StoreSymbolId, SymbolTable};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::INDEX_ENTRY;
use super::location::{Location, PackedLocation, UnpackedLocation};

/// Arena table with locations of 6 bytes.
pub type PackedArenaSymbolTable<H = RandomState> = LocatedSymbolTable<PackedLocation, H>;

/// Arena table with locations of 8 bytes.
pub type UnpackedArenaSymbolTable<H = RandomState> = LocatedSymbolTable<UnpackedLocation, H>;

/// Symbol table that appends strings to one arena and keeps offset and length of each.
///
/// The table of `labels` keeps ends instead: strings are adjacent, so an end is the next string's offset.
#[derive(Clone)]
pub struct LocatedSymbolTable<L, H = RandomState> {
    arena: String,
    locations: Vec<L>,
    index: HashTable<u32>,
    hasher: H,
    max_bytes: usize,
}

impl<L, H: Default> LocatedSymbolTable<L, H> {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_bytes(u32::MAX as usize)
    }

    /// Creates an empty table whose arena refuses to grow beyond this number of bytes. Limits above 2^32 - 1 are
    /// lowered to it, since offsets have 32 bits.
    #[must_use]
    pub fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            arena: String::new(),
            locations: Vec::new(),
            index: HashTable::new(),
            hasher: H::default(),
            max_bytes: max_bytes.min(u32::MAX as usize),
        }
    }
}

impl<L, H: Default> Default for LocatedSymbolTable<L, H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L, H> fmt::Debug for LocatedSymbolTable<L, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocatedSymbolTable").field("len", &self.locations.len()).finish_non_exhaustive()
    }
}

fn text_at<L: Location>(arena: &str, location: L) -> &str {
    let (offset, len) = location.parts();
    &arena[offset..offset + len]
}

impl<L: Location, H: BuildHasher> LocatedSymbolTable<L, H> {
    /// Returns the hash of each string, in order of ids.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.locations.iter().map(|&location| self.hasher.hash_one(text_at(&self.arena, location)))
    }

    fn get_hashed(&self, hash: u64, text: &str) -> Option<u32> {
        self.index.find(hash, |&id| text_at(&self.arena, self.locations[id as usize]) == text).copied()
    }
}

impl<L: Location, H: BuildHasher> SymbolTable for LocatedSymbolTable<L, H> {
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError> {
        let hash = self.hasher.hash_one(text);
        if let Some(id) = self.get_hashed(hash, text) {
            return Ok(StoreSymbolId(id));
        }
        let id = Counted::Symbol.next(self.locations.len())?;
        if text.len() > L::MAX_LEN {
            return Err(LabelError::SymbolTooLong { len: text.len(), limit: L::MAX_LEN });
        }
        let full = LabelError::ArenaFull { limit: self.max_bytes };
        if text.len() > self.max_bytes - self.arena.len() {
            return Err(full);
        }
        let location = L::new(self.arena.len(), text.len()).ok_or(full)?;
        self.arena.push_str(text);
        self.locations.push(location);
        let Self { arena, locations, index, hasher, .. } = self;
        index.insert_unique(hash, id, |&other| hasher.hash_one(text_at(arena, locations[other as usize])));
        Ok(StoreSymbolId(id))
    }

    fn get(&self, text: &str) -> Option<StoreSymbolId> {
        self.get_hashed(self.hasher.hash_one(text), text).map(StoreSymbolId)
    }

    fn resolve(&self, id: StoreSymbolId) -> Option<&str> {
        self.locations.get(id.index()).map(|&location| text_at(&self.arena, location))
    }

    fn len(&self) -> usize {
        self.locations.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.arena.capacity() + self.locations.capacity() * size_of::<L>() + self.index.allocation_size()
    }

    fn used_bytes(&self) -> usize {
        self.arena.len() + self.locations.len() * (size_of::<L>() + INDEX_ENTRY)
    }
}
