//! Sets of rows and lists of codes, numbered in order of arrival.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

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

    /// Returns the number of a known row.
    #[must_use]
    pub fn find(&self, row: &[u32]) -> Option<u32> {
        let at = |number: u32| &self.codes[number as usize * self.width..(number as usize + 1) * self.width];
        self.index.find(FixedState::default().hash_one(row), |&number| at(number) == row).copied()
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
    members: Vec<u32>,
    ends: Vec<usize>,
    index: HashTable<u32>,
}

impl InternedLists {
    fn at<'a>(members: &'a [u32], ends: &[usize], number: u32) -> &'a [u32] {
        let start = number.checked_sub(1).map_or(0, |before| ends[before as usize]);
        &members[start..ends[number as usize]]
    }

    /// Returns the number of lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the members of a known list.
    #[must_use]
    pub fn list(&self, number: u32) -> &[u32] {
        Self::at(&self.members, &self.ends, number)
    }

    /// Returns the number of a list, and adds it if it is new.
    pub fn intern(&mut self, list: &[u32]) -> u32 {
        let hasher = FixedState::default();
        let Self { members, ends, index } = self;
        let entry = index.entry(
            hasher.hash_one(list),
            |&number| Self::at(members, ends, number) == list,
            |&number| hasher.hash_one(Self::at(members, ends, number)),
        );
        match entry {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let number = ends.len() as u32;
                free.insert(number);
                members.extend_from_slice(list);
                ends.push(members.len());
                number
            }
        }
    }

    /// Returns the number of a known list.
    #[must_use]
    pub fn find(&self, list: &[u32]) -> Option<u32> {
        let at = |number: u32| Self::at(&self.members, &self.ends, number);
        self.index.find(FixedState::default().hash_one(list), |&number| at(number) == list).copied()
    }

    /// Returns the lists in increasing order, and the rank of each list.
    pub(crate) fn sorted(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut order: Vec<(&[u32], u32)> =
            (0..self.ends.len() as u32).map(|number| (Self::at(&self.members, &self.ends, number), number)).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        let mut sorted = Vec::with_capacity(order.len());
        for (rank, (list, number)) in (0u32..).zip(order) {
            ranks[number as usize] = rank;
            sorted.push(list.to_vec());
        }
        (sorted, ranks)
    }
}
