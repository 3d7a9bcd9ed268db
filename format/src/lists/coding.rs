//! Bits of lists: [`Coding`].
//!
//! The low bits of each member of a list are a field. The other bits, if there are any, are coded by the method of
//! Elias (1974) and Fano (1971), as a position among ones and zeros: the list is *split*. If the number of low bits is
//! well chosen, a member takes at most two bits more than the logarithm of the average gap. All lists of a pool have
//! the same number of low bits, so that the start of each list follows from the number of members before it.

use crate::bits::{BitWriter, mask, width};
use crate::layout::MAX_UPPER_BITS;

/// A split pool takes at most this share of the bits of plain lists: 15 of 16.
const MAX_SHARE: (u64, u64) = (15, 16);

/// Coding of the lists of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    /// Bits of the field of a member.
    pub low_width: u32,
    /// Largest upper part of a member; 0 if the field has all bits.
    pub max_upper: u32,
}

/// Counts of a pool that its size depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListSizes {
    /// Number of rows of the table, at least one.
    pub row_count: u32,
    /// Number of lists.
    pub list_count: u64,
    /// Number of members of all lists.
    pub member_count: u64,
    /// Largest number of members of a list.
    pub longest: u64,
}

impl ListSizes {
    /// Returns the bits of all members in a block with bit-packed rows, as the writer codes them.
    #[must_use]
    pub fn member_bits(&self) -> u64 {
        self.coding().bits(self.list_count, self.member_count).unwrap_or(u64::MAX)
    }

    /// Returns the bits of the field of a member: all of its bits, or the low ones if lists are split.
    #[must_use]
    pub fn low_width(&self) -> u32 {
        self.coding().low_width
    }

    fn coding(&self) -> Coding {
        Coding::choose(width(self.row_count.saturating_sub(1).into()), self)
    }
}

impl Coding {
    /// Returns the coding with fields of `low_width` bits, at most 32, for members below `row_count`.
    #[inline]
    pub(crate) fn new(low_width: u32, row_count: u32) -> Self {
        Self { low_width, max_upper: row_count.saturating_sub(1).checked_shr(low_width).unwrap_or(0) }
    }

    /// Chooses the coding with the fewest bits. `plain_width` is the width of a field that holds a whole member. Lists
    /// are split only if that saves a sixteenth, and if the format allows as many upper bits.
    pub(crate) fn choose(plain_width: u32, sizes: &ListSizes) -> Self {
        let plain = Self { low_width: plain_width, max_upper: 0 };
        let bits = |coding: &Self| coding.bits(sizes.list_count, sizes.member_count).unwrap_or(u64::MAX);
        // Fewer low bits than the largest row number has: all of these split. The first of equal ones is taken, the one
        // with the fewest upper bits.
        let split = (0..width(sizes.row_count.saturating_sub(1).into()))
            .rev()
            .map(|low_width| Self::new(low_width, sizes.row_count))
            .filter(|coding| sizes.longest + u64::from(coding.max_upper) <= MAX_UPPER_BITS)
            .min_by_key(bits);
        let (share, of) = MAX_SHARE;
        match split {
            Some(split) if bits(&split).saturating_mul(of) <= bits(&plain).saturating_mul(share) => split,
            _ => plain,
        }
    }

    /// Returns true if lists are split.
    #[inline]
    pub(crate) const fn is_split(self) -> bool {
        self.max_upper > 0
    }

    /// Returns the bits of this number of lists with this number of members together; `None` if there are too many.
    #[inline]
    pub(crate) fn bits(self, lists: u64, members: u64) -> Option<u64> {
        let per_member = u64::from(self.low_width) + u64::from(self.is_split());
        members.checked_mul(per_member)?.checked_add(lists.checked_mul(self.max_upper.into())?)
    }

    /// Writes a list: the low bits of all members, then the upper bits.
    pub(crate) fn push_list(self, list: &[u32], writer: &mut BitWriter) {
        for &member in list {
            writer.push(u64::from(member) & mask(self.low_width), self.low_width);
        }
        if !self.is_split() {
            return;
        }
        let mut zeros = 0;
        for &member in list {
            let upper = member.checked_shr(self.low_width).unwrap_or(0);
            push_zeros(upper - zeros, writer);
            writer.push(1, 1);
            zeros = upper;
        }
        push_zeros(self.max_upper - zeros, writer);
    }
}

fn push_zeros(mut count: u32, writer: &mut BitWriter) {
    while count > 0 {
        let width = count.min(32);
        writer.push(0, width);
        count -= width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(row_count: u32, list_count: u64, member_count: u64, longest: u64) -> ListSizes {
        ListSizes { row_count, list_count, member_count, longest }
    }

    #[test]
    fn low_bits_are_all_bits_or_leave_some() {
        // Rows 0 to 999 take 10 bits, and 16 in rows of fixed width.
        for (low_width, max_upper) in [(10, 0), (16, 0), (32, 0), (7, 7), (0, 999)] {
            assert_eq!(Coding::new(low_width, 1000), Coding { low_width, max_upper });
        }
        assert_eq!(Coding::new(0, 1), Coding { low_width: 0, max_upper: 0 });
    }

    #[test]
    fn the_coding_with_fewest_bits_is_chosen() {
        // Lists of 8 of 1,024 rows: 7 low bits take as many bits as 6, with fewer upper ones.
        let few = sizes(1024, 100, 800, 8);
        assert_eq!(Coding::choose(10, &few), Coding { low_width: 7, max_upper: 7 });
        assert_eq!(few.member_bits(), 800 * 8 + 100 * 7);
        // 390 bits of 400 save too little; 20 of 30 do not.
        assert_eq!(sizes(1024, 10, 40, 4).low_width(), 10);
        assert_eq!(sizes(6, 2, 10, 6).low_width(), 0);
        // A list of one member is shorter as it is.
        let ones = sizes(1024, 100, 100, 1);
        assert_eq!(Coding::choose(10, &ones), Coding { low_width: 10, max_upper: 0 });
        assert_eq!(ones.member_bits(), 1000);
        // Dense lists have no low bits.
        let dense = sizes(64, 100, 3300, 40);
        assert_eq!(Coding::choose(6, &dense), Coding { low_width: 0, max_upper: 63 });
        assert_eq!(dense.member_bits(), 3300 + 100 * 63);
        // Finding a member in a long list would take long.
        let long = sizes(1 << 20, 10, 700_000, 70_000);
        assert_eq!(Coding::choose(20, &long), Coding { low_width: 20, max_upper: 0 });
    }

    #[test]
    fn the_example_of_the_spec_is_coded_as_it_says() {
        let mut writer = BitWriter::new();
        Coding { low_width: 4, max_upper: 3 }.push_list(&[3, 5, 6, 40], &mut writer);
        assert_eq!(writer.bit_len(), 4 * (4 + 1) + 3);
        assert_eq!(writer.finish_aligned(), [0x53, 0x86, 0x27]);
    }

    #[test]
    fn too_many_bits_are_none() {
        let coding = Coding { low_width: 0, max_upper: u32::MAX };
        assert_eq!(coding.bits(1, 5), Some(5 + u64::from(u32::MAX)));
        assert_eq!(coding.bits(u64::from(u32::MAX), u64::MAX), None);
    }
}
