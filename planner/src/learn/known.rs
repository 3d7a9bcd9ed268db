//! Knowledge from other keysets: groups of keys, and the contents of their tables.

use std::collections::BTreeMap;

use foldhash::HashSet;

/// Groups of keys, by number.
#[derive(Debug, Default)]
pub(crate) struct Known {
    numbers: BTreeMap<Vec<u32>, usize>,
    groups: Vec<KnownGroup>,
}

/// Keys that keysets have in common, which one table describes.
#[derive(Debug, Default)]
pub(crate) struct KnownGroup {
    pub keys: Vec<u32>,
    /// Names of the rows of its table.
    pub rows: HashSet<u64>,
    /// Names of the lists over its table.
    pub lists: HashSet<u64>,
    /// Number of keysets that use it or are expected to.
    pub users: u32,
    pub users_expected: u32,
    /// Number of distinct rows of these keysets, and the sum of the rows of each.
    rows_expected: HashSet<u64>,
    own_rows_expected: usize,
}

impl KnownGroup {
    /// Expects a keyset with these rows to use it.
    pub(crate) fn expect(&mut self, rows: &[u64]) {
        self.users_expected += 1;
        self.own_rows_expected += rows.len();
        self.rows_expected.extend(rows.iter().copied());
    }

    /// Returns the average number of keysets per row.
    pub(crate) fn sharing(&self) -> f64 {
        self.own_rows_expected.max(1) as f64 / self.rows_expected.len().max(1) as f64
    }
}

impl Known {
    /// Returns the group of these keys, and adds it if it is new.
    pub(crate) fn number(&mut self, keys: &[u32]) -> usize {
        if let Some(&number) = self.numbers.get(keys) {
            return number;
        }
        let number = self.groups.len();
        self.numbers.insert(keys.to_vec(), number);
        self.groups.push(KnownGroup { keys: keys.to_vec(), ..KnownGroup::default() });
        number
    }

    pub(crate) fn get(&self, keys: &[u32]) -> Option<&KnownGroup> {
        self.numbers.get(keys).map(|&number| &self.groups[number])
    }

    pub(crate) fn group_mut(&mut self, number: usize) -> &mut KnownGroup {
        &mut self.groups[number]
    }

    /// Returns the groups whose keys a keyset has, those with most keys first.
    pub(crate) fn inside(&self, keys: &[u32]) -> Vec<&KnownGroup> {
        let mut inside: Vec<&KnownGroup> = (self.groups.iter())
            .filter(|group| group.users > 0 && group.keys.len() <= keys.len() && is_subset(&group.keys, keys))
            .collect();
        inside.sort_by_key(|group| std::cmp::Reverse(group.keys.len()));
        inside
    }
}

/// Returns true if all items of one sorted list are in another.
pub(crate) fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|item| rest.any(|other| other == item))
}
