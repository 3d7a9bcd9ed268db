//! Knowledge from other keysets: groups of keys, and the contents of their tables.

use std::collections::BTreeMap;

use super::items::{Items, OwnItems};

/// Groups of keys, by number.
#[derive(Debug, Default)]
pub(crate) struct Known {
    numbers: BTreeMap<Vec<u32>, usize>,
    groups: Vec<KnownGroup>,
    /// True once all keysets have a split. Costs are marginal then, and nothing is expected.
    pub is_complete: bool,
}

/// Keys that keysets have in common, which one table describes.
#[derive(Debug, Default)]
pub(crate) struct KnownGroup {
    pub keys: Vec<u32>,
    /// Rows of its table.
    pub rows: Items,
    /// Lists over its table.
    pub lists: Items,
    /// Number of keysets that use it or are expected to.
    pub users: u32,
    pub users_expected: u32,
    /// Rows of the keysets that are expected to use it.
    rows_expected: Items,
}

impl KnownGroup {
    /// Expects a keyset with these rows to use it.
    pub(crate) fn expect(&mut self, rows: &OwnItems) {
        self.users_expected += 1;
        self.rows_expected.add(rows);
    }

    /// Returns the average number of keysets per expected row.
    pub(crate) fn sharing(&self) -> f64 {
        self.rows_expected.sharing()
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
