//! Options of the strategy.

use super::{Description, Ranges};

/// Options of the strategy. The default considers all blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyOptions {
    /// Lengths of ranges.
    pub ranges: Ranges,
    /// Consider only blocks that begin at this time or later, in nanoseconds since 1970.
    pub min_time: Option<i64>,
    /// Consider only blocks that end at this time or earlier. The end of a block is exclusive.
    pub max_time: Option<i64>,
    /// Maximum number of series of a merged block.
    pub max_series: Option<u64>,
    /// Minimum number of blocks of similar size to merge.
    pub min_alike: usize,
    /// Maximum ratio of the largest to the smallest block of similar size.
    pub size_factor: u64,
    /// Smaller blocks count as having this number of bytes.
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
    /// Returns true if these blocks may be merged into one.
    pub(super) fn fits(&self, blocks: &[&Description]) -> bool {
        self.max_series.is_none_or(|most| series(blocks) <= most)
    }

    /// Returns the number of leading blocks that may be merged into one; at least one, even if it is too large.
    pub(super) fn run(&self, blocks: &[&Description]) -> usize {
        let mut sum = 0_u64;
        let fitting = blocks.iter().take_while(|block| {
            sum = sum.saturating_add(block.series);
            self.max_series.is_none_or(|most| sum <= most)
        });
        fitting.count().max(1).min(blocks.len())
    }
}

/// Returns the sum of the blocks' series.
pub(super) fn series(blocks: &[&Description]) -> u64 {
    blocks.iter().fold(0, |sum, block| sum.saturating_add(block.series))
}
