//! What was learned on other keysets: lists of keys that stand together, and what their tables hold already.

use std::collections::BTreeMap;

use foldhash::HashSet;

/// Groups of keys, by their number.
#[derive(Debug, Default)]
pub(crate) struct Known {
    numbers: BTreeMap<Vec<u32>, usize>,
    groups: Vec<KnownGroup>,
}

/// Keys that keysets have in common, which one table describes.
#[derive(Debug, Default)]
pub(crate) struct KnownGroup {
    pub keys: Vec<u32>,
    /// Names of the rows that its table has.
    pub rows: HashSet<u64>,
    /// Names of the lists over it.
    pub lists: HashSet<u64>,
    /// Keysets that use it, and that are expected to.
    pub users: u32,
    pub users_expected: u32,
    /// The rows of all these, and how many they are if each keyset counts its own.
    rows_expected: HashSet<u64>,
    own_rows_expected: usize,
}

impl KnownGroup {
    /// Expects a keyset to use it with these rows.
    pub(crate) fn expect(&mut self, rows: &[u64]) {
        self.users_expected += 1;
        self.own_rows_expected += rows.len();
        self.rows_expected.extend(rows.iter().copied());
    }

    /// How many keysets have a row, on average.
    pub(crate) fn sharing(&self) -> f64 {
        self.own_rows_expected.max(1) as f64 / self.rows_expected.len().max(1) as f64
    }
}

impl Known {
    /// The group of these keys, which is added if it is new.
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

    /// The groups whose keys a keyset has, those with the most keys first.
    pub(crate) fn inside(&self, keys: &[u32]) -> Vec<&KnownGroup> {
        let mut inside: Vec<&KnownGroup> = (self.groups.iter())
            .filter(|group| group.users > 0 && group.keys.len() <= keys.len() && is_subset(&group.keys, keys))
            .collect();
        inside.sort_by_key(|group| std::cmp::Reverse(group.keys.len()));
        inside
    }
}

/// Whether all of one sorted list are in another.
pub(crate) fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|item| rest.any(|other| other == item))
}
