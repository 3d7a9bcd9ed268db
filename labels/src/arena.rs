//! [`ArenaSymbolTable`]: one arena of text, the end of each string, and a hash table of ids.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use crate::error::{Counted, LabelError};
use crate::growth::push;
use crate::number_index::NumberIndex;
use crate::symbols::{StoreSymbolId, SymbolTable};

/// Symbol table that keeps all text in one arena.
///
/// A string costs its bytes, 4 bytes for its end, and 6 to 11 bytes in the hash table, which stores numbers instead of
/// a second copy of the text. No string is allocated separately.
///
/// The hash is seeded randomly, so that senders cannot prepare colliding strings. No output depends on it: numbers
/// follow the order of arrival. Another hasher `H` changes only the speed.
#[derive(Debug, Default, Clone)]
pub struct ArenaSymbolTable<H = RandomState> {
    text: String,
    ends: Ends,
    index: NumberIndex,
    hasher: H,
}

/// End of each string in the arena, in order of ids.
#[derive(Debug, Default, Clone)]
struct Ends {
    /// Low 32 bits of each end.
    low: Vec<u32>,
    /// For each multiple of 4 GiB that the arena has passed, the first id whose end is not below it. Usually empty.
    wraps: Vec<u32>,
}

impl Ends {
    fn push(&mut self, end: usize) {
        // A table has at most 2^32 - 1 ids.
        let id = self.low.len() as u32;
        while (self.wraps.len() as u64) < end as u64 >> 32 {
            self.wraps.push(id);
        }
        push(&mut self.low, end as u32);
    }

    /// Returns the end of a string, or `None` if the id is out of range.
    #[inline]
    fn get(&self, id: u32) -> Option<usize> {
        let low = *self.low.get(id as usize)? as usize;
        if self.wraps.is_empty() {
            return Some(low);
        }
        // An arena beyond 4 GiB exists on 64-bit platforms only.
        Some(low + ((self.wraps.partition_point(|&first| first <= id) as u64) << 32) as usize)
    }
}

impl ArenaSymbolTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H: BuildHasher> ArenaSymbolTable<H> {
    /// Returns the hash of each string, in order of ids.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        // There are at most 2^32 - 1 strings.
        (0..self.index.len() as u32).map(|id| self.hash(self.text(id)))
    }

    /// Returns the hash of a string for [`get_hashed`](Self::get_hashed) and [`intern_hashed`](Self::intern_hashed),
    /// and for other tables keyed by the same strings.
    pub(crate) fn hash(&self, text: &str) -> u64 {
        hash_text(&self.hasher, text)
    }

    /// Returns the length of all strings in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Returns the string with this id, or the empty string if the id is out of range.
    pub(crate) fn text(&self, id: u32) -> &str {
        text_at(&self.text, &self.ends, id).unwrap_or_default()
    }

    /// Like [`SymbolTable::get`], with a precomputed hash.
    pub(crate) fn get_hashed(&self, hash: u64, text: &str) -> Option<StoreSymbolId> {
        self.index.find(hash, |id| self.text(id) == text).map(StoreSymbolId)
    }

    /// Like [`SymbolTable::intern`], with a precomputed hash.
    pub(crate) fn intern_hashed(&mut self, hash: u64, text: &str) -> Result<StoreSymbolId, LabelError> {
        if let Some(id) = self.get_hashed(hash, text) {
            return Ok(id);
        }
        let id = Counted::Symbol.next(self.index.len())?;
        append(&mut self.text, text);
        self.ends.push(self.text.len());
        let Self { text, ends, index, hasher } = self;
        index.push(hash, |other| hash_text(hasher, text_at(text, ends, other).unwrap_or_default()));
        Ok(StoreSymbolId(id))
    }
}

/// Returns the hash of a string. `Hash` for `str` would also hash an end mark, which a whole string does not need.
#[inline]
fn hash_text(hasher: &impl BuildHasher, text: &str) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(text.as_bytes());
    state.finish()
}

/// Appends a string to an arena. A large arena grows by a quarter instead of doubling: the system moves large blocks by
/// their pages, so that growth is cheap and unused capacity is not.
fn append(arena: &mut String, text: &str) {
    const LARGE: usize = 1 << 20;
    if arena.capacity() >= LARGE && arena.capacity() - arena.len() < text.len() {
        arena.reserve_exact(text.len().max(arena.capacity() / 4));
    }
    arena.push_str(text);
}

/// Returns the string with this id, or `None` if the id is out of range.
#[inline]
fn text_at<'a>(text: &'a str, ends: &Ends, id: u32) -> Option<&'a str> {
    let end = ends.get(id)?;
    let start = if id == 0 { 0 } else { ends.get(id - 1)? };
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
        self.index.len()
    }

    fn estimated_bytes(&self) -> usize {
        let Ends { low, wraps } = &self.ends;
        self.text.capacity() + (low.capacity() + wraps.capacity()) * size_of::<u32>() + self.index.estimated_bytes()
    }

    fn used_bytes(&self) -> usize {
        let Ends { low, wraps } = &self.ends;
        self.text.len() + (low.len() + wraps.len()) * size_of::<u32>() + self.index.used_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn ends_beyond_4_gib_are_kept() {
        const GIB: usize = 1 << 30;
        let all = [3, 4 * GIB - 1, 4 * GIB, 4 * GIB, 5 * GIB, 17 * GIB + 7, 17 * GIB + 8, 20 * GIB];
        let mut ends = Ends::default();
        for (count, &end) in all.iter().enumerate() {
            assert_eq!(ends.get(count as u32), None);
            ends.push(end);
            let found: Vec<Option<usize>> = (0..=count as u32).map(|id| ends.get(id)).collect();
            let expected: Vec<Option<usize>> = all[..=count].iter().copied().map(Some).collect();
            assert_eq!(found, expected);
        }
    }
}
