//! [`ArenaSymbolTable`]: one arena of text, the end of each string, and a hash table of positions.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::error::{Counted, LabelError};
use crate::symbols::{StoreSymbolId, SymbolTable};

/// Symbol table that keeps all text in one arena.
///
/// A string costs its bytes, 8 bytes for its end, and about 5 to 10 bytes in the hash table, which stores numbers
/// instead of a second copy of the text. No string is allocated separately.
///
/// The hash is seeded randomly, so that senders cannot prepare colliding strings. No output depends on it: numbers
/// follow the order of arrival. Another hasher `H` changes only the speed.
#[derive(Debug, Default, Clone)]
pub struct ArenaSymbolTable<H = RandomState> {
    text: String,
    /// End of each string. A `usize`, so that an end is a position in `text` on every platform.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: H,
}

impl ArenaSymbolTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H: BuildHasher> ArenaSymbolTable<H> {
    /// Returns the hash of a string for [`get_hashed`](Self::get_hashed) and [`intern_hashed`](Self::intern_hashed),
    /// and for other tables keyed by the same strings.
    pub(crate) fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// Returns the string with this number, or the empty string if the number is out of range.
    pub(crate) fn text(&self, id: u32) -> &str {
        text_at(&self.text, &self.ends, id).unwrap_or_default()
    }

    /// Like [`SymbolTable::get`], with a precomputed hash.
    pub(crate) fn get_hashed(&self, hash: u64, text: &str) -> Option<StoreSymbolId> {
        self.index.find(hash, |&id| self.text(id) == text).copied().map(StoreSymbolId)
    }

    /// Like [`SymbolTable::intern`], with a precomputed hash.
    pub(crate) fn intern_hashed(&mut self, hash: u64, text: &str) -> Result<StoreSymbolId, LabelError> {
        if let Some(id) = self.get_hashed(hash, text) {
            return Ok(id);
        }
        let id = Counted::Symbol.next(self.ends.len())?;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let Self { text, ends, index, hasher } = self;
        index.insert_unique(hash, id, |&other| hasher.hash_one(text_at(text, ends, other).unwrap_or_default()));
        Ok(StoreSymbolId(id))
    }
}

/// Returns the string with this number, or `None` if the number is out of range.
fn text_at<'a>(text: &'a str, ends: &[usize], id: u32) -> Option<&'a str> {
    let id = id as usize;
    let end = *ends.get(id)?;
    let start = if id == 0 { 0 } else { *ends.get(id - 1)? };
    text.get(start..end)
}

impl<H: BuildHasher> SymbolTable for ArenaSymbolTable<H> {
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError> {
        self.intern_hashed(self.hash(text), text)
    }

    fn get(&self, text: &str) -> Option<StoreSymbolId> {
        self.get_hashed(self.hash(text), text)
    }

    fn resolve(&self, id: StoreSymbolId) -> Option<&str> {
        text_at(&self.text, &self.ends, id.0)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn memory_used(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.index.allocation_size()
    }
}
