//! Cache of row slots: [`Arrangements`] maps lists of keys, in order of arrival, to slots of rows.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Minimum number of key numbers that are cached; see [`Arrangements::insert`].
const LEAST_REMEMBERED: usize = 1 << 20;

/// Cache of the keyset and the slots for lists of keys in order of arrival.
///
/// The points of a capture list their labels in few orders. Most series arrive in a known order, which avoids sorting
/// and comparing names.
#[derive(Debug, Default, Clone)]
pub(crate) struct Arrangements<H = RandomState> {
    index: HashTable<Arrangement>,
    /// Key numbers of all arrangements as they arrived, concatenated. Plain numbers instead of structs, because a slice
    /// of numbers is hashed in one call.
    keys: Vec<u32>,
    /// Slot of each key: its position in the byte order of names.
    slots: Vec<u16>,
    last: Option<Arrangement>,
    hasher: H,
}

#[derive(Debug, Clone)]
struct Arrangement {
    keyset: u32,
    /// Range of its keys and slots.
    range: Range<usize>,
}

impl<H: BuildHasher> Arrangements<H> {
    /// Returns the keyset of a list of keys and the slot of each key, if the list arrived in this order before.
    pub(crate) fn get(&mut self, keys: &[u32]) -> Option<(u32, &[u16])> {
        // The points of a metric are neighbours, so the last list is the most likely one.
        let own = |arrangement: &Arrangement| self.keys.get(arrangement.range.clone());
        if self.last.as_ref().and_then(own) != Some(keys) {
            let same = |arrangement: &Arrangement| own(arrangement) == Some(keys);
            self.last = Some(self.index.find(self.hasher.hash_one(keys), same)?.clone());
        }
        let last = self.last.as_ref()?;
        Some((last.keyset, self.slots.get(last.range.clone())?))
    }

    /// Adds a list of keys that is not cached.
    ///
    /// There are n! orders of n keys. To bound the memory, the cache is cleared once it has more than four orders for
    /// each of the `keyset_keys` keys of all keysets. Clearing costs only time.
    pub(crate) fn insert(&mut self, keys: &[u32], slots: &[u16], keyset: u32, keyset_keys: usize) {
        if self.keys.len() + keys.len() > LEAST_REMEMBERED.max(keyset_keys.saturating_mul(4)) {
            self.index.clear();
            self.keys.clear();
            self.slots.clear();
            self.last = None;
        }
        let range = self.keys.len()..self.keys.len() + keys.len();
        self.keys.extend_from_slice(keys);
        self.slots.extend_from_slice(slots);
        let Self { index, keys: all, hasher, .. } = self;
        index.insert_unique(hasher.hash_one(keys), Arrangement { keyset, range }, |arrangement| {
            hasher.hash_one(all.get(arrangement.range.clone()).unwrap_or_default())
        });
    }

    pub(crate) fn estimated_bytes(&self) -> usize {
        self.index.allocation_size()
            + self.keys.capacity() * size_of::<u32>()
            + self.slots.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_the_same_keys_are_told_apart() {
        let mut arrangements = <Arrangements>::default();
        let (one, two) = ([1, 2], [2, 1]);
        arrangements.insert(&one, &[0, 1], 7, 2);
        assert_eq!(arrangements.get(&one), Some((7, &[0, 1][..])));
        assert_eq!(arrangements.get(&two), None);
        arrangements.insert(&two, &[1, 0], 7, 2);
        assert_eq!(arrangements.get(&two), Some((7, &[1, 0][..])));
    }

    #[test]
    fn memory_stays_bounded_however_many_orders_arrive() {
        let mut arrangements = <Arrangements>::default();
        let slots: Vec<u16> = (0..64).collect();
        for order in 0..100_000u32 {
            let keys: Vec<u32> = (0..64).map(|key| key * 131_072 + order).collect();
            arrangements.insert(&keys, &slots, 0, 64);
            assert_eq!(arrangements.get(&keys), Some((0, &slots[..])));
        }
        assert!(arrangements.keys.len() <= LEAST_REMEMBERED, "{}", arrangements.keys.len());
    }
}
