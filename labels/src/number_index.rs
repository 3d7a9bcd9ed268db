//! [`NumberIndex`]: finds numbered items by their hash.

use hashbrown::HashTable;

/// Hash table of item numbers. The items are kept elsewhere, in order of number. An entry has 4 bytes and a control
/// byte; between 7/16 and 7/8 of the entries are full, except in the smallest tables.
///
/// When it is full, it is built anew from the items. This reads the items in their order, which is the order of memory,
/// whereas a growing `HashTable` would read them in random order; and the old table is freed before the new one is
/// allocated.
#[derive(Debug, Default, Clone)]
pub(crate) struct NumberIndex {
    table: HashTable<u32>,
}

impl NumberIndex {
    /// Returns the number of the item with this hash for which `is_equal` returns true, if any.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_equal: impl FnMut(u32) -> bool) -> Option<u32> {
        self.table.find(hash, |&number| is_equal(number)).copied()
    }

    /// Adds an item that is not in the table. Its number is [`len`](Self::len). `hash_item` returns the hash of an item
    /// by its number.
    pub(crate) fn push(&mut self, hash: u64, hash_item: impl Fn(u32) -> u64) {
        // Callers number items with 32 bits.
        let number = self.table.len() as u32;
        if self.table.len() == self.table.capacity() {
            self.table = HashTable::new();
            self.table = HashTable::with_capacity(number as usize + 1);
            for number in 0..number {
                self.table.insert_unique(hash_item(number), number, |&other| hash_item(other));
            }
        }
        self.table.insert_unique(hash, number, |&other| hash_item(other));
    }

    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the memory in bytes, including free entries.
    pub(crate) fn estimated_bytes(&self) -> usize {
        self.table.allocation_size()
    }

    /// Returns the memory in bytes of the full entries.
    pub(crate) fn used_bytes(&self) -> usize {
        self.len() * INDEX_ENTRY
    }
}

/// Bytes of an entry: the number, and hashbrown's control byte.
const INDEX_ENTRY: usize = size_of::<u32>() + 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_after_each_growth() {
        // Every fourth item has the hash of its neighbours.
        let hash_item = |number: u32| u64::from(number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut index = NumberIndex::default();
        for number in 0..5_000 {
            assert_eq!(index.find(hash_item(number), |found| found == number), None);
            index.push(hash_item(number), hash_item);
            assert_eq!(index.len(), number as usize + 1);
            if (number + 1).is_power_of_two() || number == 4_999 {
                for known in 0..=number {
                    assert_eq!(index.find(hash_item(known), |found| found == known), Some(known), "of {number}");
                }
            }
        }
        assert!(index.used_bytes() <= index.estimated_bytes());
    }
}
