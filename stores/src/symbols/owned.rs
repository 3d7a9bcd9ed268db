//! [`OwnedSymbolTable`]: one owned string per symbol.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use byteview::StrView;
use chronoxide_labels::{Counted, LabelError, StoreSymbolId, SymbolTable};
use foldhash::fast::RandomState;
use german_str::GermanStr;
use hashbrown::HashTable;
use smol_str::SmolStr;

use super::INDEX_ENTRY;
use super::text::OwnedText;

/// Symbol table with an `Arc<str>` per symbol.
pub type ArcSymbolTable<H = RandomState> = OwnedSymbolTable<Arc<str>, H>;

/// Symbol table with a [`GermanStr`] per symbol.
pub type GermanSymbolTable<H = RandomState> = OwnedSymbolTable<GermanStr, H>;

/// Symbol table with a [`SmolStr`] per symbol.
pub type SmolStrSymbolTable<H = RandomState> = OwnedSymbolTable<SmolStr, H>;

/// Symbol table with a [`StrView`] of byteview per symbol.
pub type ByteViewSymbolTable<H = RandomState> = OwnedSymbolTable<StrView, H>;

/// Symbol table that keeps an owned string per symbol, in order of ids, and a hash table of ids.
#[derive(Clone)]
pub struct OwnedSymbolTable<T, H = RandomState> {
    texts: Vec<T>,
    index: HashTable<u32>,
    hasher: H,
    /// Bytes requested for strings that are not inline.
    heap_bytes: usize,
}

impl<T, H: Default> OwnedSymbolTable<T, H> {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { texts: Vec::new(), index: HashTable::new(), hasher: H::default(), heap_bytes: 0 }
    }
}

impl<T, H: Default> Default for OwnedSymbolTable<T, H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, H> fmt::Debug for OwnedSymbolTable<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedSymbolTable").field("len", &self.texts.len()).finish_non_exhaustive()
    }
}

impl<T: OwnedText, H: BuildHasher> OwnedSymbolTable<T, H> {
    /// Returns the hash of each string, in order of ids.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.texts.iter().map(|text| self.hasher.hash_one(text.as_text()))
    }

    fn get_hashed(&self, hash: u64, text: &str) -> Option<u32> {
        self.index.find(hash, |&id| self.texts[id as usize].as_text() == text).copied()
    }
}

impl<T: OwnedText, H: BuildHasher> SymbolTable for OwnedSymbolTable<T, H> {
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError> {
        let hash = self.hasher.hash_one(text);
        if let Some(id) = self.get_hashed(hash, text) {
            return Ok(StoreSymbolId(id));
        }
        let id = Counted::Symbol.next(self.texts.len())?;
        self.texts.push(T::from_text(text)?);
        self.heap_bytes += T::heap_bytes(text.len());
        let Self { texts, index, hasher, .. } = self;
        index.insert_unique(hash, id, |&other| hasher.hash_one(texts[other as usize].as_text()));
        Ok(StoreSymbolId(id))
    }

    fn get(&self, text: &str) -> Option<StoreSymbolId> {
        self.get_hashed(self.hasher.hash_one(text), text).map(StoreSymbolId)
    }

    fn resolve(&self, id: StoreSymbolId) -> Option<&str> {
        self.texts.get(id.index()).map(T::as_text)
    }

    fn len(&self) -> usize {
        self.texts.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.heap_bytes + self.texts.capacity() * size_of::<T>() + self.index.allocation_size()
    }

    fn used_bytes(&self) -> usize {
        self.heap_bytes + self.texts.len() * (size_of::<T>() + INDEX_ENTRY)
    }
}
