//! [`RowSet`]: rows of a table, or codes of a dictionary, with fast membership; and the rows whose code is in a set.

use std::ops::Range;
use std::sync::OnceLock;

use chronoxide_format::view::{Column, Table};

use crate::rows::scan::{each_batch, first_not_before};
use crate::{Limits, Ranges, SelectError};

/// Rows between two checks of the limits.
const ROWS_PER_CHECK: usize = 1 << 14;
/// Ranges that are searched for each row of a short scan instead of making a bitmap.
const FEW_RANGES: usize = 4;

/// A set of rows of a table.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    ranges: Ranges,
    row_count: u32,
    /// One bit per row, made when many rows are tested. Plain words: the test is the innermost step of each query.
    bits: OnceLock<Box<[u64]>>,
}

impl RowSet {
    pub(crate) fn new(ranges: Ranges, row_count: u32) -> Self {
        Self { ranges, row_count, bits: OnceLock::new() }
    }

    pub(crate) fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Returns the number of rows of the table.
    pub(crate) fn row_count(&self) -> u32 {
        self.row_count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn is_all(&self) -> bool {
        self.ranges.has_all(self.row_count)
    }

    #[inline]
    pub(crate) fn contains(&self, row: u32) -> bool {
        match self.bits.get() {
            Some(words) => words.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1),
            None => self.ranges.contains(row),
        }
    }

    /// Returns true if the set has a row from `smallest` to `largest`.
    #[inline]
    pub(crate) fn meets(&self, (smallest, largest): (u32, u32)) -> bool {
        let ranges = self.ranges.as_slice();
        let first = ranges.partition_point(|own| own.end <= smallest);
        ranges.get(first).is_some_and(|own| own.start <= largest)
    }

    /// Returns the positions of the codes that are in the set. The codes must increase.
    pub(crate) fn positions_in(&self, codes: &[u32]) -> Ranges {
        let mut positions = Ranges::default();
        let mut from = 0;
        for range in self.ranges.as_slice() {
            let rest = codes.get(from..).unwrap_or_default();
            let start = from + rest.partition_point(|&code| code < range.start);
            let rest = codes.get(start..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            from = start + rest.partition_point(|&code| code < range.end);
            positions.push(start as u32..from as u32);
        }
        positions
    }

    /// Prepares for `count` tests.
    pub(crate) fn prepare(&self, count: u64) {
        if self.ranges.as_slice().len() > FEW_RANGES && count * 8 > u64::from(self.row_count) / 64 {
            self.bits.get_or_init(|| {
                let mut words = vec![0; self.row_count.div_ceil(64) as usize];
                for range in self.ranges.as_slice() {
                    set_bits(&mut words, range.start..range.end.min(self.row_count));
                }
                words.into()
            });
        }
    }
}

/// Sets the bits of a range, word by word. Words that do not exist are skipped.
fn set_bits(words: &mut [u64], range: Range<u32>) {
    let mut bit = range.start;
    while bit < range.end {
        let count = (64 - bit % 64).min(range.end - bit);
        if let Some(word) = words.get_mut((bit / 64) as usize) {
            *word |= (u64::MAX >> (64 - count)) << (bit % 64);
        }
        bit += count;
    }
}

/// Which codes a filter keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Codes of the set.
    Members,
    /// All other codes.
    Others,
}

impl Keep {
    #[inline]
    fn keeps(self, is_member: bool) -> bool {
        is_member == matches!(self, Self::Members)
    }
}

/// Returns the rows among `within` whose code in a column is kept. Costs a binary search per range of the set if the
/// column is the first, since rows are sorted; about a nanosecond per row otherwise.
pub(crate) fn filter_rows(
    table: &Table<'_, '_>,
    (number, column): (u32, &Column),
    set: &RowSet,
    keep: Keep,
    within: Ranges,
    limits: &Limits<'_>,
) -> Result<Ranges, SelectError> {
    let all_are_members = match column.width {
        0 => Some(set.contains(column.base)),
        _ if set.is_empty() => Some(false),
        _ if set.is_all() => Some(true),
        _ => None,
    };
    if let Some(are_members) = all_are_members {
        return Ok(if keep.keeps(are_members) { within } else { Ranges::default() });
    }
    let searches = set.ranges().as_slice().len() as u64 * u64::from(table.row_count().ilog2() + 1);
    if number == 0 && searches < u64::from(within.count()) {
        let members = sorted_rows(table, column, set)?;
        return Ok(match keep {
            Keep::Members => within.intersection(&members),
            Keep::Others => within.difference(&members),
        });
    }
    scan(table, column, set, keep, &within, limits)
}

/// Returns the rows of the set, by the order of the first column.
fn sorted_rows(table: &Table<'_, '_>, column: &Column, set: &RowSet) -> Result<Ranges, SelectError> {
    let mut rows = Ranges::default();
    let mut from = 0;
    for codes in set.ranges().as_slice() {
        let start = first_row(table, column, from, codes.start)?;
        from = if start == table.row_count() { start } else { first_row(table, column, start, codes.end)? };
        rows.push(start..from);
    }
    Ok(rows)
}

/// Returns the first row from `from` on whose code is at least `code`.
fn first_row(table: &Table<'_, '_>, column: &Column, from: u32, code: u32) -> Result<u32, SelectError> {
    first_not_before(from..table.row_count(), |row| Ok(table.code(row, column)? < code))
}

fn scan(
    table: &Table<'_, '_>,
    column: &Column,
    set: &RowSet,
    keep: Keep,
    within: &Ranges,
    limits: &Limits<'_>,
) -> Result<Ranges, SelectError> {
    set.prepare(u64::from(within.count()));
    let only = match set.ranges().as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    let mut kept = Ranges::default();
    let mut unchecked = 0;
    for range in within.as_slice() {
        each_batch(table, column, range.clone(), |first, codes| {
            match &only {
                Some(only) => {
                    let len = only.end - only.start;
                    push_kept(&mut kept, first, codes, keep, |code| code.wrapping_sub(only.start) < len);
                }
                None => push_kept(&mut kept, first, codes, keep, |code| set.contains(code)),
            }
            unchecked += codes.len();
            if unchecked >= ROWS_PER_CHECK {
                unchecked = 0;
                limits.check()?;
            }
            Ok(())
        })?;
    }
    Ok(kept)
}

/// Appends the rows from `first` on whose code is kept.
#[inline(always)]
fn push_kept(kept: &mut Ranges, first: u32, codes: &[u32], keep: Keep, is_member: impl Fn(u32) -> bool) {
    // Counting first is a loop without branches, and most batches have all rows or none.
    let count = codes.iter().filter(|&&code| keep.keeps(is_member(code))).count();
    if count == 0 {
        return;
    }
    let end = first + codes.len() as u32;
    if count == codes.len() {
        kept.push(first..end);
        return;
    }
    for_each_run(first, codes.iter().map(|&code| keep.keeps(is_member(code))), |rows| kept.push(rows));
}

/// Calls `each` with the runs of numbers, from `first` on, for which `are_kept` is true.
#[inline(always)]
pub(crate) fn for_each_run(first: u32, are_kept: impl Iterator<Item = bool>, mut each: impl FnMut(Range<u32>)) {
    let (mut start, mut end) = (None, first);
    for is_kept in are_kept {
        match (start, is_kept) {
            (None, true) => start = Some(end),
            (Some(from), false) => {
                each(from..end);
                start = None;
            }
            _ => {}
        }
        end += 1;
    }
    if let Some(from) = start {
        each(from..end);
    }
}

#[cfg(test)]
mod tests {
    use bitvec::vec::BitVec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The reference is a bitmap of the crate `bitvec`.
        #[test]
        fn rows_of_a_bitmap_are_those_of_the_ranges(
            bounds in prop::collection::btree_set(0_u32..400, 0..60),
            row_count in 1_u32..400,
        ) {
            let bounds: Vec<u32> = bounds.into_iter().collect();
            let ranges: Ranges = bounds.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let mut expected = BitVec::<u64>::repeat(false, 500);
            ranges.iter().filter(|&row| row < row_count).for_each(|row| expected.set(row as usize, true));
            let set = RowSet::new(ranges.intersection(&Ranges::up_to(row_count)), row_count);
            let check = || (0..500).all(|row| set.contains(row) == expected[row as usize]);
            prop_assert!(check(), "by ranges");
            set.prepare(u64::from(u32::MAX));
            prop_assert_eq!(set.bits.get().is_some(), set.ranges.as_slice().len() > FEW_RANGES);
            prop_assert!(check(), "by bits");
        }
    }
}
