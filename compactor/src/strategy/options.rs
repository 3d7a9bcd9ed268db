//! What can be chosen.

use super::{Description, Ranges};

/// What to merge and what not. The default chooses all blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyOptions {
    /// The lengths of ranges.
    pub ranges: Ranges,
    /// Only blocks that begin at this time or later, in nanoseconds since 1970.
    pub min_time: Option<i64>,
    /// Only blocks that end at this time or before; a block does not hold its end.
    pub max_time: Option<i64>,
    /// The most series of a block that is made.
    pub max_series: Option<u64>,
    /// How many blocks of like size are merged at least.
    pub min_alike: usize,
    /// How many times as large as the smallest the largest block of like size is at most.
    pub size_factor: u64,
    /// Blocks of fewer bytes count as having so many.
    pub small_bytes: u64,
}

impl Default for StrategyOptions {
    fn default() -> Self {
        Self {
            ranges: Ranges::default(),
            min_time: None,
            max_time: None,
            max_series: None,
            min_alike: 4,
            size_factor: 2,
            small_bytes: 1 << 20,
        }
    }
}

impl StrategyOptions {
    /// Whether these blocks may become one.
    pub(super) fn fits(&self, blocks: &[&Description]) -> bool {
        self.max_series.is_none_or(|most| series(blocks) <= most)
    }

    /// How many of these blocks, from the first on, may become one; at least one, which may be too large.
    pub(super) fn run(&self, blocks: &[&Description]) -> usize {
        let mut sum = 0_u64;
        let fitting = blocks.iter().take_while(|block| {
            sum = sum.saturating_add(block.series);
            self.max_series.is_none_or(|most| sum <= most)
        });
        fitting.count().max(1).min(blocks.len())
    }
}

/// The series of all blocks together, as if none were in two.
pub(super) fn series(blocks: &[&Description]) -> u64 {
    blocks.iter().fold(0, |sum, block| sum.saturating_add(block.series))
}
