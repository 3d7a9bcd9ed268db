//! Chooses groups of blocks to merge, with a reason for each group and for each block that is not merged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::{ReadOnly, TimeRange};

use super::options::series;
use super::ranges::{Length, range_of};
use super::{Description, StrategyOptions, by_size, by_time};

/// Groups of blocks to merge. Each block is in one group or in `unmerged`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy<'a> {
    /// Groups, each to be merged into one block.
    pub groups: Vec<Group<'a>>,
    /// Blocks that are not merged.
    pub unmerged: Vec<Unmerged<'a>>,
}

/// Blocks to merge into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// At least two blocks with equal external labels and label policy, sorted by time, or by size if the time is
    /// unknown.
    pub blocks: Vec<&'a Description>,
    /// Reason for merging these blocks.
    pub reason: GroupReason,
}

impl Group<'_> {
    /// Returns the maximum number of series of the merged block. It has fewer if some are in several blocks.
    #[must_use]
    pub fn series(&self) -> u64 {
        series(&self.blocks)
    }

    /// Returns the bytes of all blocks.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.bytes))
    }
}

/// Reason for merging a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum GroupReason {
    /// The blocks lie in one complete range, whose length is one of the [`Ranges`](super::Ranges).
    Range { range: TimeRange, length: Length },
    /// The blocks lie in one range of the shortest length, which is not complete, and have similar sizes.
    Filling { range: TimeRange, length: Length },
    /// The times of the blocks are unknown, and they have similar sizes.
    LikeSize,
}

/// A block that is not merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged<'a> {
    /// The block.
    pub block: &'a Description,
    /// Reason for not merging it.
    pub reason: UnmergedReason<'a>,
}

/// Reason for not merging a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum UnmergedReason<'a> {
    /// Another file holds the same block.
    Copy { of: &'a Path },
    /// The block is read-only (LIFECYCLE.md, section 4): it has a feature or section that this version does not know.
    ReadOnly { reason: ReadOnly },
    /// The block lies outside the selected time range.
    OutsideTimes,
    /// A time range was selected, and the times of the block are unknown.
    NoTimes,
    /// No other block with equal external labels and label policy lies in the same range.
    Only,
    /// The other blocks in its range are outputs of the same job.
    Siblings,
    /// Other blocks lie in the same range, but no newer block shows that it is complete. The shortest such range.
    Open { range: TimeRange, length: Length },
    /// Other blocks lie in the same complete range, but together they have too many series. The shortest such range.
    TooManySeries { range: TimeRange, length: Length },
    /// The block crosses a boundary of every range.
    OverBoundary,
    /// The times of the block are unknown, and too few blocks have a similar size.
    FewAlike,
}

/// Chooses the blocks to merge; see the [module](super).
///
/// Costs a sort of the blocks per length of ranges.
#[must_use]
pub fn choose<'a>(blocks: &'a [Description], options: &StrategyOptions) -> Strategy<'a> {
    let mut sorted: Vec<&Description> = blocks.iter().collect();
    sorted.sort_by(|a, b| a.order().cmp(&b.order()));

    let mut newest: BTreeMap<&[(String, String)], i64> = BTreeMap::new();
    for block in &sorted {
        if let Some(extent) = block.extent() {
            let newest = newest.entry(&block.external_labels).or_insert(extent.start);
            *newest = extent.start.max(*newest);
        }
    }
    let mut strategy = Strategy { groups: Vec::new(), unmerged: Vec::new() };
    let mut first_of: BTreeMap<BlockId, &Description> = BTreeMap::new();
    let mut sets: BTreeMap<_, Vec<&Description>> = BTreeMap::new();
    for block in sorted {
        let first = *first_of.entry(block.id).or_insert(block);
        let reason = if std::ptr::eq(first, block) {
            unchosen(block, options)
        } else {
            Some(UnmergedReason::Copy { of: &first.file })
        };
        match reason {
            Some(reason) => strategy.unmerged.push(Unmerged { block, reason }),
            None => {
                let policy = (block.policy.max_name_len(), block.policy.max_value_len());
                sets.entry((&block.external_labels[..], policy)).or_default().push(block);
            }
        }
    }
    for ((labels, _), set) in &sets {
        strategy.add(set, newest.get(labels).copied(), options);
    }
    strategy.unmerged.sort_by(|a, b| a.block.order().cmp(&b.block.order()));
    strategy
}

/// Returns the reason if its features or the options exclude a block.
fn unchosen<'a>(block: &Description, options: &StrategyOptions) -> Option<UnmergedReason<'a>> {
    if let Some(reason) = block.read_only {
        return Some(UnmergedReason::ReadOnly { reason });
    }
    if options.min_time.is_none() && options.max_time.is_none() {
        return None;
    }
    let Some(extent) = block.extent() else { return Some(UnmergedReason::NoTimes) };
    let is_inside =
        options.min_time.is_none_or(|min| min <= extent.start) && options.max_time.is_none_or(|max| extent.end <= max);
    (!is_inside).then_some(UnmergedReason::OutsideTimes)
}

impl<'a> Strategy<'a> {
    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.unmerged.len() + self.groups.iter().map(|group| group.blocks.len()).sum::<usize>()
    }

    /// Returns the number of blocks after all groups are merged.
    #[must_use]
    pub fn blocks_after(&self) -> usize {
        self.unmerged.len() + self.groups.len()
    }

    /// Adds blocks with equal external labels and label policy. `newest` is the start of the newest block with these
    /// external labels, if known.
    fn add(&mut self, set: &[&'a Description], newest: Option<i64>, options: &StrategyOptions) {
        let (timed, timeless): (Vec<_>, Vec<_>) = set.iter().copied().partition(|block| block.extent().is_some());
        let newest = newest.unwrap_or(i64::MIN);
        let mut grouped = BTreeSet::new();
        let mut add = |blocks: Vec<&'a Description>, reason| {
            grouped.extend(blocks.iter().map(|block| block.id));
            self.groups.push(Group { blocks, reason });
        };
        for by_time::InRange { blocks, range, length } in by_time::groups(&timed, newest, options) {
            add(blocks, GroupReason::Range { range, length: Length(length) });
        }
        let shortest = options.ranges.lengths()[0];
        for (range, filling) in by_time::by_range(&timed, shortest) {
            if range.end > newest {
                for blocks in by_size::groups(&filling, options) {
                    add(blocks, GroupReason::Filling { range, length: Length(shortest) });
                }
            }
        }
        for blocks in by_size::groups(&timeless, options) {
            add(blocks, GroupReason::LikeSize);
        }
        let left = set.iter().copied().filter(|block| !grouped.contains(&block.id));
        let ranges = Neighbours::from_blocks(&timed, options);
        self.unmerged.extend(left.map(|block| Unmerged { block, reason: ranges.reason(block, newest) }));
    }
}

/// Blocks in each range, by length.
struct Neighbours<'a> {
    ranges: Vec<(i64, BTreeMap<TimeRange, Vec<&'a Description>>)>,
}

impl<'a> Neighbours<'a> {
    fn from_blocks(timed: &[&'a Description], options: &StrategyOptions) -> Self {
        let lengths = options.ranges.lengths().iter();
        Self { ranges: lengths.map(|&length| (length, by_time::by_range(timed, length))).collect() }
    }

    /// Returns the reason why a block is in no group.
    fn reason<'b>(&self, block: &Description, newest: i64) -> UnmergedReason<'b> {
        let Some(extent) = block.extent() else { return UnmergedReason::FewAlike };
        let mut reason = UnmergedReason::OverBoundary;
        for (length, blocks) in &self.ranges {
            let Some(range) = range_of(extent, *length) else { continue };
            let blocks = blocks.get(&range).map_or(&[][..], Vec::as_slice);
            let has_others = blocks.len() > 1;
            if has_others && !Description::are_siblings(blocks) {
                let length = Length(*length);
                return if range.end > newest {
                    UnmergedReason::Open { range, length }
                } else {
                    UnmergedReason::TooManySeries { range, length }
                };
            }
            reason = if has_others { UnmergedReason::Siblings } else { UnmergedReason::Only };
        }
        reason
    }
}
