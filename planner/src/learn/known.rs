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
    /// Signature of the keys.
    signature: u64,
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
        let signature = signature(keys);
        self.groups.push(KnownGroup { keys: keys.to_vec(), signature, ..KnownGroup::default() });
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
        let others = !signature(keys);
        let mut inside: Vec<&KnownGroup> = (self.groups.iter())
            .filter(|group| group.users > 0 && group.signature & others == 0 && is_subset(&group.keys, keys))
            .collect();
        inside.sort_by_key(|group| std::cmp::Reverse(group.keys.len()));
        inside
    }
}

/// Returns a bit for each key, which other keys may have too: most groups lack a bit of a keyset.
fn signature(keys: &[u32]) -> u64 {
    keys.iter().fold(0, |bits, key| bits | 1 << (key % u64::BITS))
}

/// Returns true if all items of one sorted list are in another.
pub(crate) fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|item| rest.any(|other| other == item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_in_keysets_that_have_all_their_keys() {
        let mut known = Known::default();
        // Keys 1, 65 and 129 have the same bit.
        for (keys, users) in [(&[1, 2][..], 1), (&[65], 1), (&[1, 65, 129], 1), (&[1, 3], 0), (&[2], 2)] {
            let number = known.number(keys);
            known.group_mut(number).users = users;
        }
        let inside = |keys: &[u32]| known.inside(keys).into_iter().map(|group| group.keys.clone()).collect::<Vec<_>>();
        assert_eq!(inside(&[1, 2, 3]), [&[1, 2][..], &[2]]);
        assert_eq!(inside(&[1, 65, 66]), [[65]]);
        assert_eq!(inside(&[1, 2, 65, 129]), [&[1, 65, 129][..], &[1, 2], &[65], &[2]]);
        assert_eq!(inside(&[129, 130]), Vec::<Vec<u32>>::new());
    }
}
