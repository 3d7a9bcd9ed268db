//! New numbers of what is used: [`Ranks`].

use bitvec::slice::BitSlice;

/// Maps old numbers to new ones, which have the same order.
#[derive(Debug)]
pub(crate) enum Ranks {
    /// All numbers are used and unchanged; their count.
    Same(u32),
    /// New number of each old number, and their count. An unused number has the new number of the next used one.
    Of(Vec<u32>, u32),
}

impl Ranks {
    /// Numbers what is used.
    pub(crate) fn new(used: &BitSlice) -> Self {
        if used.all() {
            return Self::Same(used.len() as u32);
        }
        let mut next = 0;
        let ranks = used.iter().by_vals().map(|is_used| {
            next += u32::from(is_used);
            next - u32::from(is_used)
        });
        let ranks = ranks.collect();
        Self::Of(ranks, next)
    }

    /// Returns the new number of an old one.
    pub(crate) fn get(&self, number: u32) -> u32 {
        match self {
            Self::Same(_) => number,
            Self::Of(ranks, _) => ranks[number as usize],
        }
    }

    /// Returns the count of new numbers.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Self::Same(count) | Self::Of(_, count) => *count,
        }
    }
}
