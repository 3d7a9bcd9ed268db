//! [`ArenaSymbolTable`]: one arena of text, where each string ends, and a hash table of positions.

use crate::error::{Counted, LabelError};
use crate::symbols::{StoreSymbolId, SymbolTable};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A symbol table that keeps all text in one arena.
///
/// A string costs its bytes, 8 bytes for where it ends and some 5 to 10 in the hash table, which holds
/// numbers and no second copy of the text. Nothing is allocated per string.
///
/// The hash is seeded at random, so that nobody can prepare strings that collide. No output depends
/// on it: numbers come from the order of arrival. Another hasher `H` changes speed alone.
#[derive(Debug, Default, Clone)]
pub struct ArenaSymbolTable<H = RandomState> {
    text: String,
    /// Where each string ends. `usize`, so that an end is a position in `text` whatever the platform.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: H,
}

impl ArenaSymbolTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H: BuildHasher> ArenaSymbolTable<H> {
    /// The hash of a string in this table, for [`get_hashed`](Self::get_hashed) and
    /// [`intern_hashed`](Self::intern_hashed), and for other tables keyed by the same strings.
    pub(crate) fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// The string of a number that this table gave out; the empty string for any other.
    pub(crate) fn text(&self, id: u32) -> &str {
        text_at(&self.text, &self.ends, id).unwrap_or_default()
    }

    /// [`SymbolTable::get`] with the hash at hand.
    pub(crate) fn get_hashed(&self, hash: u64, text: &str) -> Option<StoreSymbolId> {
        self.index.find(hash, |&id| self.text(id) == text).copied().map(StoreSymbolId)
    }

    /// [`SymbolTable::intern`] with the hash at hand.
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

/// The string of a number, if it is one of the arena's.
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
