//! [`Marks`]: a record of the items that are used.

use bitvec::vec::BitVec;

use crate::number::{index, length, low32};

/// Bits of a word of a [`BitVec`].
const WORD_BITS: usize = index(usize::BITS);

/// One bit per item, group after group: rows of tables, lists of pools.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    bits: BitVec,
    /// Start of each group's items, and the end of the last group.
    starts: Vec<usize>,
}

impl Marks {
    pub(super) fn new() -> Self {
        Self { bits: BitVec::new(), starts: vec![0] }
    }

    /// Makes room for the next group. Its items must be known to be in the block.
    pub(super) fn add_group(&mut self, items: u32) {
        self.bits.resize(self.bits.len() + index(items), false);
        self.starts.push(self.bits.len());
    }

    /// Marks items of a group. Neighbours are often equal.
    #[inline]
    pub(super) fn mark(&mut self, group: u32, items: impl IntoIterator<Item = u32>) {
        let Some(&start) = self.starts.get(index(group)) else { return };
        // One word at a time: a reference to a bit costs several times as much.
        let words = self.bits.as_raw_mut_slice();
        // No bit has the last number.
        let mut last = usize::MAX;
        for item in items {
            let bit = start + index(item);
            if bit != last
                && let Some(word) = words.get_mut(bit / WORD_BITS)
            {
                *word |= 1 << (bit % WORD_BITS);
            }
            last = bit;
        }
    }

    /// Returns the same groups with no item marked.
    pub(super) fn unmarked(&self) -> Self {
        Self { bits: BitVec::repeat(false, self.bits.len()), starts: self.starts.clone() }
    }

    /// Adds the marks of `other`, which has the same groups.
    pub(super) fn unite(&mut self, other: &Self) {
        for (word, other) in self.bits.as_raw_mut_slice().iter_mut().zip(other.bits.as_raw_slice()) {
            *word |= other;
        }
    }

    /// Returns the items of a group that are marked, in order.
    pub(super) fn marked(&self, group: u32) -> impl Iterator<Item = u32> {
        let range = self.starts.get(index(group)).zip(self.starts.get(index(group) + 1));
        let bits = range.and_then(|(&start, &end)| self.bits.get(start..end));
        bits.into_iter().flat_map(|bits| bits.iter_ones()).map(|item| low32(length(item)))
    }

    /// Returns the group and the number of the first item that is not marked, from this group on.
    pub(super) fn first_unmarked_from(&self, group: u32) -> Option<(u64, u64)> {
        let start = *self.starts.get(index(group))?;
        let item = start + self.bits.get(start..)?.first_zero()?;
        let group = self.starts.partition_point(|&start| start <= item) - 1;
        Some((length(group), length(item - self.starts.get(group)?)))
    }
}
