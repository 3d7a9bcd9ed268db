//! Cache of lists of attributes by their encoded bytes: [`Lists`].
//!
//! Points of many resources have equal attributes, and each request repeats the attributes of its resources. A known
//! list costs one lookup of its bytes, instead of one per attribute.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use chronoxide_labels::LabelId;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::otlp::Level;

/// Maximum length of a cached list in bytes. Longer ones rarely recur.
const MAX_LEN: usize = 4096;

/// Maximum memory of the cache in bytes. It is cleared when it is full.
const MAX_BYTES: usize = 64 << 20;

/// Share of the memory limit that the cache may take.
const MEMORY_SHARE: usize = 32;

/// Number of lists of a level after which the cache decides whether it is worth its cost.
const LISTS_PER_TRIAL: u32 = 1 << 10;

/// Least number of known lists in a trial.
const MIN_KNOWN: u32 = LISTS_PER_TRIAL / 4;

/// Number of lists of a level that are not looked up after a trial with fewer known ones. Attributes that are unique
/// per series would otherwise cost a copy and a lookup each.
const LISTS_PER_PAUSE: u32 = 8 * LISTS_PER_TRIAL;

/// Cache of lists of attributes by their bytes.
#[derive(Debug, Default)]
pub(super) struct Lists {
    trials: [Trial; 3],
    known: Vec<Known>,
    /// Numbers of known lists.
    index: HashTable<u32>,
    /// Number of the last list of each level.
    last: [u32; 3],
    bytes: Vec<u8>,
    labels: Vec<LabelId>,
    hasher: RandomState,
    max_bytes: usize,
}

/// Labels of a cached list, until the cache changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    start: u32,
    len: u32,
}

/// Use of the cache by a level since the last decision.
#[derive(Debug, Clone, Copy, Default)]
struct Trial {
    looked_up: u32,
    known: u32,
    /// Number of lists that are still not looked up.
    paused: u32,
}

/// Cached list: its level, its bytes and its labels.
#[derive(Debug, Clone, Copy)]
struct Known {
    hash: u64,
    start: u32,
    len: u16,
    level: Level,
    list: List,
    /// Number of the list of this level that came after it.
    next: u32,
}

impl Trial {
    /// Begins a list. Returns false if it is not looked up.
    #[inline]
    fn begins(&mut self) -> bool {
        if self.paused > 0 {
            self.paused -= 1;
            return false;
        }
        if self.looked_up == LISTS_PER_TRIAL {
            let paused = if self.known < MIN_KNOWN { LISTS_PER_PAUSE } else { 0 };
            *self = Self { paused, ..Self::default() };
        }
        self.looked_up += 1;
        true
    }
}

impl List {
    /// List without attributes.
    pub(super) const EMPTY: Self = Self { start: 0, len: 0 };
}

impl Lists {
    /// Creates an empty cache for a run with this memory limit.
    pub(super) fn new(max_memory: Option<usize>) -> Self {
        let max_bytes = max_memory.map_or(MAX_BYTES, |limit| MAX_BYTES.min(limit / MEMORY_SHARE));
        Self { max_bytes, ..Self::default() }
    }

    /// Returns the list of this level with these bytes.
    #[inline]
    pub(super) fn get(&mut self, level: Level, bytes: &[u8]) -> Option<List> {
        if !self.trials.get_mut(level as usize)?.begins() {
            return None;
        }
        let same = |known: &&Known| known.level == level && self.bytes.get(known.range()) == Some(bytes);
        let at = |number: u32| self.known.get(number as usize);
        // Sources repeat their lists in the same order: the expected one is compared without hashing and a lookup.
        let expected = self.last.get(level as usize).and_then(|&last| at(last)).map_or(0, |last| last.next);
        let (number, list) = match at(expected).filter(same) {
            Some(known) => (expected, known.list),
            None => {
                let same = |&number: &u32| at(number).is_some_and(|known| same(&known));
                let number = *self.index.find(self.hash(level, bytes), same)?;
                (number, at(number)?.list)
            }
        };
        self.follow(level, number);
        self.trials.get_mut(level as usize)?.known += 1;
        Some(list)
    }

    /// Records that a list of this level came after the last one.
    #[inline]
    fn follow(&mut self, level: Level, number: u32) {
        let Some(last) = self.last.get_mut(level as usize) else { return };
        if let Some(last) = self.known.get_mut(*last as usize) {
            last.next = number;
        }
        *last = number;
    }

    /// Adds a list that is not cached.
    pub(super) fn insert(&mut self, level: Level, bytes: &[u8], labels: impl Iterator<Item = LabelId>) -> Option<List> {
        let is_paused = self.trials.get(level as usize).is_none_or(|trial| trial.paused > 0);
        if is_paused || bytes.len() > MAX_LEN {
            return None;
        }
        // Buffers that have grown are up to twice as large as their content.
        if self.used_bytes() + bytes.len() > self.max_bytes / 2 {
            self.clear();
        }
        // The limit keeps positions and numbers below 2^32.
        let (start, first) = (self.bytes.len() as u32, self.labels.len() as u32);
        self.bytes.extend_from_slice(bytes);
        self.labels.extend(labels);
        let list = List { start: first, len: self.labels.len() as u32 - first };
        let (hash, number) = (self.hash(level, bytes), self.known.len() as u32);
        self.known.push(Known { hash, start, len: bytes.len() as u16, level, list, next: number + 1 });
        let Self { index, known, .. } = self;
        let hash_known = |&number: &u32| known.get(number as usize).map_or(0, |known| known.hash);
        index.insert_unique(hash, number, hash_known);
        self.follow(level, number);
        Some(list)
    }

    /// Returns the labels of a list, in order of the attributes.
    #[inline]
    pub(super) fn labels(&self, list: List) -> &[LabelId] {
        let start = list.start as usize;
        self.labels.get(start..start + list.len as usize).unwrap_or_default()
    }

    /// Returns the memory in bytes.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.labels.capacity() * size_of::<LabelId>()
            + self.known.capacity() * size_of::<Known>()
            + self.index.allocation_size()
    }

    fn used_bytes(&self) -> usize {
        let entry = size_of::<Known>() + size_of::<u32>() + 1;
        self.bytes.len() + self.labels.len() * size_of::<LabelId>() + self.known.len() * entry
    }

    /// Clears the cache, and frees its memory.
    pub(super) fn clear(&mut self) {
        *self = Self { max_bytes: self.max_bytes, ..Self::default() };
    }

    #[inline]
    fn hash(&self, level: Level, bytes: &[u8]) -> u64 {
        let mut state = self.hasher.build_hasher();
        state.write(bytes);
        state.write_u8(level as u8);
        state.finish()
    }
}

impl Known {
    #[inline]
    fn range(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + usize::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_labels::{StoreKeyId, ValueCode};

    use super::*;

    fn labels(numbers: &[u32]) -> Vec<LabelId> {
        numbers.iter().map(|&number| LabelId { key: StoreKeyId(number), code: ValueCode(number) }).collect()
    }

    #[test]
    fn lists_are_found_by_level_and_bytes_in_any_order() {
        let mut lists = Lists::new(None);
        let levels = [Level::Resource, Level::Scope, Level::Point];
        for number in 0..3_000u32 {
            let level = levels[number as usize % 3];
            lists.insert(level, &number.to_le_bytes(), labels(&[number, number + 1]).into_iter()).unwrap();
        }
        // In order of arrival, and in another one.
        for number in (0..3_000u32).chain((0..3_000).map(|number| number * 7 % 3_000)) {
            let list = lists.get(levels[number as usize % 3], &number.to_le_bytes()).unwrap();
            assert_eq!(lists.labels(list), labels(&[number, number + 1]), "{number}");
            assert_eq!(lists.get(levels[(number as usize + 1) % 3], &number.to_le_bytes()), None, "another level");
        }
        assert_eq!(lists.labels(List::EMPTY), []);
        lists.clear();
        assert_eq!(lists.get(Level::Resource, &0u32.to_le_bytes()), None);
    }

    #[test]
    fn equal_hashes_are_told_apart_by_bytes() {
        let mut lists = Lists::new(None);
        let (one, other) = (b"one".as_slice(), b"other".as_slice());
        lists.insert(Level::Point, one, labels(&[1]).into_iter());
        // Both get the same hash.
        let hash = lists.hash(Level::Point, other);
        lists.known[0].hash = hash;
        lists.index.clear();
        lists.index.insert_unique(hash, 0, |_| hash);
        assert_eq!(lists.get(Level::Point, other), None);
        lists.insert(Level::Point, other, labels(&[2]).into_iter());
        let list = lists.get(Level::Point, other).unwrap();
        assert_eq!(lists.labels(list), labels(&[2]));
    }

    #[test]
    fn a_level_whose_lists_do_not_recur_is_paused_and_tried_again() {
        let mut lists = Lists::new(None);
        let mut looked_up = 0;
        for number in 0..10 * (LISTS_PER_TRIAL + LISTS_PER_PAUSE) {
            assert_eq!(lists.get(Level::Point, &number.to_le_bytes()), None);
            let kept = lists.insert(Level::Point, &number.to_le_bytes(), labels(&[number]).into_iter());
            looked_up += u32::from(kept.is_some());
            assert!(lists.insert(Level::Scope, &number.to_le_bytes(), labels(&[1]).into_iter()).is_some());
        }
        assert!((9 * LISTS_PER_TRIAL..=11 * LISTS_PER_TRIAL).contains(&looked_up), "{looked_up}");
        // Lists that recur are known after the next trial.
        let known = (0..3 * LISTS_PER_PAUSE).filter(|_| match lists.get(Level::Point, b"again") {
            Some(_) => true,
            None => {
                lists.insert(Level::Point, b"again", labels(&[7]).into_iter());
                false
            }
        });
        assert!(known.count() as u32 >= LISTS_PER_PAUSE);
    }

    #[test]
    fn memory_is_bounded_by_the_limit_of_the_run() {
        let limit = 32 << 20;
        let mut lists = Lists::new(Some(limit));
        for number in 0..200_000u32 {
            lists.insert(Level::Point, &number.to_le_bytes().repeat(5), labels(&[number; 3]).into_iter()).unwrap();
            assert!(lists.estimated_bytes() <= limit / MEMORY_SHARE * 5 / 4, "{number}: {}", lists.estimated_bytes());
        }
        assert_eq!(lists.insert(Level::Point, &[0; MAX_LEN + 1], labels(&[1]).into_iter()), None);
    }
}
