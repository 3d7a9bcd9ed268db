//! Groups of columns of a keyset, as dense codes: [`Group`].

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Maximum bits of a bitmap for counting pairs of codes, so that it stays in the second-level cache.
const MAX_BITMAP_BITS: usize = 1 << 20;

/// Columns of a keyset, and the combinations of codes in its rows.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Positions of the columns in the keyset, in increasing order.
    pub columns: Vec<usize>,
    /// Combination of each row, numbered in order of first occurrence.
    pub codes: Vec<u32>,
    /// Name of each combination, which is equal in all keysets: the sum of the names of its labels.
    pub names: Vec<u64>,
}

/// Returns the name of a label, for sums that name combinations.
pub(crate) fn label_name(key: u32, code: u32) -> u64 {
    let label = u64::from(key) << 32 | u64::from(code);
    let mixed = (label ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) ^ mixed >> 32
}

impl Group {
    /// Returns the number of combinations.
    pub(crate) fn distinct(&self) -> usize {
        self.names.len()
    }

    /// Creates a group of these columns from the names of the combination of each row.
    pub(crate) fn from_names(columns: Vec<usize>, names: &[u64], numbering: &mut Numbering) -> Self {
        let (codes, names) = numbering.number(names.iter().copied());
        Self { columns, codes, names }
    }

    /// Returns the union of two groups.
    pub(crate) fn join(&self, other: &Self, numbering: &mut Numbering) -> Self {
        let mut columns = [&self.columns[..], &other.columns].concat();
        columns.sort_unstable();
        let names = self
            .codes
            .iter()
            .zip(&other.codes)
            .map(|(&left, &right)| self.names[left as usize].wrapping_add(other.names[right as usize]));
        let (codes, names) = numbering.number(names);
        Self { columns, codes, names }
    }

    /// Returns the number of combinations of the union.
    pub(crate) fn count_joined(&self, other: &Self, counting: &mut Counting) -> usize {
        if self.distinct() == 1 || other.distinct() == 1 {
            return self.distinct().max(other.distinct());
        }
        counting.count(self, other)
    }
}

/// Numbering of items in order of first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    index: HashTable<(u64, u32)>,
}

impl Numbering {
    /// Returns the number of each item, and the distinct items.
    pub(crate) fn number(&mut self, items: impl Iterator<Item = u64>) -> (Vec<u32>, Vec<u64>) {
        self.index.clear();
        let hasher = FixedState::default();
        let (mut codes, mut distinct) = (Vec::with_capacity(items.size_hint().0), Vec::new());
        let mut last = None;
        for item in items {
            // Rows are sorted, so neighbours are often equal.
            if let Some((before, code)) = last
                && before == item
            {
                codes.push(code);
                continue;
            }
            let code = match self.index.entry(
                hasher.hash_one(item),
                |known| known.0 == item,
                |known| hasher.hash_one(known.0),
            ) {
                Entry::Occupied(known) => known.get().1,
                Entry::Vacant(free) => {
                    let code = distinct.len() as u32;
                    distinct.push(item);
                    free.insert((item, code));
                    code
                }
            };
            last = Some((item, code));
            codes.push(code);
        }
        (codes, distinct)
    }
}

/// Counter of distinct pairs of codes.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    bitmap: Vec<u64>,
    numbering: Numbering,
}

impl Counting {
    fn count(&mut self, left: &Group, right: &Group) -> usize {
        let bits = left.distinct().saturating_mul(right.distinct());
        if bits > MAX_BITMAP_BITS.min(left.codes.len() * 256) {
            let pairs =
                left.codes.iter().zip(&right.codes).map(|(&left, &right)| u64::from(left) << 32 | u64::from(right));
            return self.numbering.number(pairs).1.len();
        }
        self.bitmap.clear();
        self.bitmap.resize(bits.div_ceil(64), 0);
        let mut count = 0;
        for (&left, &other) in left.codes.iter().zip(&right.codes) {
            let bit = left as usize * right.distinct() + other as usize;
            let (word, mask) = (&mut self.bitmap[bit / 64], 1 << (bit % 64));
            count += usize::from(*word & mask == 0);
            *word |= mask;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn joined_groups_have_the_distinct_pairs() {
        let mut numbering = Numbering::default();
        let (left, right) = ([5, 5, 9, 9, 5, 7], [1, 2, 1, 1, 1, 3]);
        let names = |key, codes: [u32; 6]| codes.map(|code| label_name(key, code));
        let a = Group::from_names(vec![2], &names(2, left), &mut numbering);
        let b = Group::from_names(vec![0], &names(0, right), &mut numbering);
        let joined = a.join(&b, &mut numbering);
        let model: BTreeSet<_> = left.into_iter().zip(right).collect();
        assert_eq!((a.distinct(), b.distinct(), joined.distinct()), (3, 3, model.len()));
        assert_eq!(a.count_joined(&b, &mut Counting::default()), model.len());
        assert_eq!(joined.columns, [0, 2]);
        assert_eq!(joined.codes, [0, 1, 2, 2, 0, 3]);
    }
}
