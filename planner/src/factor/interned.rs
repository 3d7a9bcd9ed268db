//! Sets of rows and lists of codes, numbered in order of arrival.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::lists::{List, Lists, encode};

/// Set of rows of codes.
#[derive(Debug)]
pub struct InternedRows {
    width: usize,
    codes: Vec<u32>,
    index: HashTable<u32>,
}

impl InternedRows {
    /// Creates an empty set of rows with `width` codes.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, codes: Vec::new(), index: HashTable::new() }
    }

    /// Returns the number of a row, and adds it if it is new.
    pub fn intern(&mut self, row: &[u32]) -> u32 {
        let hasher = FixedState::default();
        let Self { width, codes, index } = self;
        let at = |number: u32| &codes[number as usize * *width..(number as usize + 1) * *width];
        match index.entry(hasher.hash_one(row), |&number| at(number) == row, |&number| hasher.hash_one(at(number))) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let number = (codes.len() / *width) as u32;
                free.insert(number);
                codes.extend_from_slice(row);
                number
            }
        }
    }

    /// Returns the rows in order of arrival.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.codes.chunks_exact(self.width)
    }

    /// Replaces the codes of a column.
    pub(crate) fn replace(&mut self, column: usize, ranks: &[u32]) {
        for row in self.codes.chunks_exact_mut(self.width) {
            row[column] = ranks[row[column] as usize];
        }
    }

    /// Returns the rows in increasing order, and the rank of each row.
    pub(crate) fn sorted(&self) -> (Vec<u32>, Vec<u32>) {
        let mut order: Vec<(&[u32], u32)> = self.rows().zip(0..).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        let mut sorted = Vec::with_capacity(self.codes.len());
        for (rank, (row, number)) in (0u32..).zip(order) {
            ranks[number as usize] = rank;
            sorted.extend_from_slice(row);
        }
        (sorted, ranks)
    }
}

/// Set of lists of rows.
#[derive(Debug, Default)]
pub struct InternedLists {
    lists: Lists,
    index: HashTable<u32>,
}

impl InternedLists {
    /// Returns the number of lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns true if there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the lists in order of arrival.
    #[must_use]
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Returns the members of a known list.
    #[must_use]
    pub fn list(&self, number: u32) -> List<'_> {
        self.lists.list(number)
    }

    /// Returns the number of a list, and adds it if it is new.
    pub fn intern(&mut self, list: &[u32]) -> u32 {
        let hasher = FixedState::default();
        // Equal lists have equal bytes, so the new one is compared and hashed as it would be stored.
        let next = self.lists.push(list.iter().copied());
        let lists = &self.lists;
        let bytes = lists.encoded(next);
        let entry = self.index.entry(
            hasher.hash_one(bytes),
            |&number| lists.encoded(number) == bytes,
            |&number| hasher.hash_one(lists.encoded(number)),
        );
        match entry {
            Entry::Occupied(known) => {
                let number = *known.get();
                self.lists.pop(list.len());
                number
            }
            Entry::Vacant(free) => {
                free.insert(next);
                next
            }
        }
    }

    /// Frees the memory for finding lists: from now on every list is a new one.
    pub fn forget_numbers(&mut self) {
        self.index = HashTable::new();
    }

    /// Returns the number of a known list.
    #[must_use]
    pub fn find(&self, list: &[u32]) -> Option<u32> {
        let mut bytes = Vec::new();
        encode(list.iter().copied(), &mut bytes);
        let hash = FixedState::default().hash_one(&bytes[..]);
        self.index.find(hash, |&number| self.lists.encoded(number) == bytes).copied()
    }

    /// Returns the lists in increasing order, and the rank of each list.
    pub(crate) fn sorted(&self) -> (Lists, Vec<u32>) {
        let mut ranks = vec![0; self.len()];
        let mut sorted = Lists::default();
        for (rank, number) in (0u32..).zip(self.lists.sorted(0..self.len() as u32)) {
            ranks[number as usize] = rank;
            sorted.push(self.list(number).iter());
        }
        (sorted, ranks)
    }
}
