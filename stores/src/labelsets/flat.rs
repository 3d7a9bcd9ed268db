//! [`FlatInternedLabelSetStore`]: pairs of symbol ids.

use std::fmt;
use std::hash::BuildHasher;

use chronoxide_labels::{
    ArenaSymbolTable, Counted, LabelError, LabelSetStore, LabelSets, MAX_LABELS, StoreRef, StoreSymbolId, SymbolTable,
    labelset,
};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::symbols::INDEX_ENTRY;

/// Name and value of a label.
type Pair = (u32, u32);

/// Labelset store over a symbol table `T`: each series is a list of pairs of symbol ids, all in one array.
///
/// A series costs 8 bytes per label, 8 for the end of its pairs, and 6 to 11 in the hash table.
#[derive(Clone, Default)]
pub struct FlatInternedLabelSetStore<T = ArenaSymbolTable, H = RandomState> {
    symbols: T,
    pairs: Vec<Pair>,
    /// End of the pairs of each series.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: H,
}

impl FlatInternedLabelSetStore {
    /// Creates an empty store over the symbol table of `labels`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<T, H: Default> FlatInternedLabelSetStore<T, H> {
    /// Creates an empty store over a symbol table.
    #[must_use]
    pub fn with_symbols(symbols: T) -> Self {
        Self { symbols, pairs: Vec::new(), ends: Vec::new(), index: HashTable::new(), hasher: H::default() }
    }
}

impl<T, H> fmt::Debug for FlatInternedLabelSetStore<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatInternedLabelSetStore").field("len", &self.ends.len()).finish_non_exhaustive()
    }
}

/// Returns the pairs of a series, or `None` if the number is out of range.
fn pairs_at<'a>(pairs: &'a [Pair], ends: &[usize], series: u32) -> Option<&'a [Pair]> {
    let series = series as usize;
    let end = *ends.get(series)?;
    let start = if series == 0 { 0 } else { ends[series - 1] };
    pairs.get(start..end)
}

impl<T: SymbolTable, H: BuildHasher> FlatInternedLabelSetStore<T, H> {
    /// Returns the hash of each series, in order of refs.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        // A store has at most 2^32 - 1 series.
        (0..self.ends.len() as u32).filter_map(|series| Some(self.hasher.hash_one(self.pairs(series)?)))
    }

    /// Returns the number of distinct strings.
    #[must_use]
    pub fn symbol_count(&self) -> usize {
        self.symbols.len()
    }

    fn pairs(&self, series: u32) -> Option<&[Pair]> {
        pairs_at(&self.pairs, &self.ends, series)
    }

    fn get_hashed(&self, hash: u64, pairs: &[Pair]) -> Option<u32> {
        self.index.find(hash, |&series| self.pairs(series) == Some(pairs)).copied()
    }
}

impl<T: SymbolTable, H: BuildHasher> LabelSets for FlatInternedLabelSetStore<T, H> {
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError> {
        labelset::check(labels)?;
        let mut pairs = [(0, 0); MAX_LABELS];
        for (&(name, value), pair) in labels.iter().zip(&mut pairs) {
            let (Some(name), Some(value)) = (self.symbols.get(name), self.symbols.get(value)) else {
                return Ok(None);
            };
            *pair = (name.0, value.0);
        }
        let pairs = &pairs[..labels.len()];
        Ok(self.get_hashed(self.hasher.hash_one(pairs), pairs).map(StoreRef))
    }

    fn visit(&self, series: StoreRef, mut each: impl FnMut(&str, &str)) -> Result<(), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Series, number: series.0 };
        for &(name, value) in self.pairs(series.0).ok_or(unknown)? {
            let text = |id| self.symbols.resolve(StoreSymbolId(id)).unwrap_or_default();
            each(text(name), text(value));
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.symbols.estimated_bytes()
            + self.pairs.capacity() * size_of::<Pair>()
            + self.ends.capacity() * size_of::<usize>()
            + self.index.allocation_size()
    }

    fn used_bytes(&self) -> usize {
        self.symbols.used_bytes()
            + self.pairs.len() * size_of::<Pair>()
            + self.ends.len() * (size_of::<usize>() + INDEX_ENTRY)
    }
}

impl<T: SymbolTable, H: BuildHasher> LabelSetStore for FlatInternedLabelSetStore<T, H> {
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError> {
        labelset::check(labels)?;
        let start = self.pairs.len();
        for &(name, value) in labels {
            match (self.symbols.intern(name), self.symbols.intern(value)) {
                (Ok(name), Ok(value)) => self.pairs.push((name.0, value.0)),
                (Err(error), _) | (_, Err(error)) => {
                    self.pairs.truncate(start);
                    return Err(error);
                }
            }
        }
        // The pairs of the series are written before it is known to be new, and taken back otherwise.
        let new = &self.pairs[start..];
        let hash = self.hasher.hash_one(new);
        let known = self.get_hashed(hash, new);
        let number = match known {
            Some(series) => Ok((StoreRef(series), false)),
            None => Counted::Series.next(self.ends.len()).map(|series| (StoreRef(series), true)),
        };
        let Ok((StoreRef(series), true)) = number else {
            self.pairs.truncate(start);
            return number;
        };
        self.ends.push(self.pairs.len());
        let Self { pairs, ends, index, hasher, .. } = self;
        index.insert_unique(hash, series, |&other| hasher.hash_one(pairs_at(pairs, ends, other).unwrap_or_default()));
        number
    }
}
