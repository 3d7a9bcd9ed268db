//! The whole strategy: which blocks go together at all, groups of them, and why the others stay alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::TimeRange;

use super::options::series;
use super::ranges::{Length, range_of};
use super::{Description, StrategyOptions, by_size, by_time};

/// Which blocks are merged, and why the others are not. Each block is in one group or in `alone`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy<'a> {
    /// What becomes one block each.
    pub groups: Vec<Group<'a>>,
    /// What stays as it is.
    pub unmerged: Vec<Unmerged<'a>>,
}

/// Blocks that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// At least two, with equal external labels and an equal label policy, by time, or where it is not known by size.
    pub blocks: Vec<&'a Description>,
    /// Why these.
    pub reason: GroupReason,
}

impl Group<'_> {
    /// The series of the block that they become, at most: fewer if some are in several blocks.
    pub fn series(&self) -> u64 {
        series(&self.blocks)
    }

    /// The bytes of all its blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.bytes))
    }
}

/// Why blocks are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupReason {
    /// They lie in one range that is complete.
    Range {
        /// The range.
        range: TimeRange,
        /// Its length, one of the [`Ranges`](super::Ranges).
        length: Length,
    },
    /// They lie in one range of the shortest length, which is not complete, and are of like size.
    Filling {
        /// The range.
        range: TimeRange,
        /// Its length.
        length: Length,
    },
    /// Their times are not known, and they are of like size.
    LikeSize,
}

/// A block that is not merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged<'a> {
    /// Which.
    pub block: &'a Description,
    /// Why not.
    pub reason: UnmergedReason<'a>,
}

/// Why a block is not merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmergedReason<'a> {
    /// Another file has the same block.
    Copy {
        /// The first of them.
        of: &'a Path,
    },
    /// It does not lie between the times that were chosen.
    OutsideTimes,
    /// Times were chosen, and its own are not known.
    NoTimes,
    /// No other block with its external labels and label policy lies in a range with it.
    Only,
    /// Others lie in a range with it, but nothing newer says that the range is complete.
    Open {
        /// The shortest range with others.
        range: TimeRange,
        /// Its length.
        length: Length,
    },
    /// Others lie in a complete range with it, but with its neighbours it would have too many series.
    TooManySeries {
        /// The shortest range with others.
        range: TimeRange,
        /// Its length.
        length: Length,
    },
    /// It lies in no range, not even of the longest.
    OverBoundary,
    /// Its times are not known, and there are not enough blocks of its size that fit one.
    FewAlike,
}

/// Plans which blocks are merged; see the [module](super).
///
/// Time is that of sorting the blocks once per length of ranges.
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

/// Why a block is not among those that the options choose, if it is not.
fn unchosen<'a>(block: &Description, options: &StrategyOptions) -> Option<UnmergedReason<'a>> {
    if options.min_time.is_none() && options.max_time.is_none() {
        return None;
    }
    let Some(extent) = block.extent() else { return Some(UnmergedReason::NoTimes) };
    let is_inside =
        options.min_time.is_none_or(|min| min <= extent.start) && options.max_time.is_none_or(|max| extent.end <= max);
    (!is_inside).then_some(UnmergedReason::OutsideTimes)
}

impl<'a> Strategy<'a> {
    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.unmerged.len() + self.groups.iter().map(|group| group.blocks.len()).sum::<usize>()
    }

    /// How many there are when all groups are merged.
    pub fn blocks_after(&self) -> usize {
        self.unmerged.len() + self.groups.len()
    }

    /// Adds blocks that go together by everything but time and size. `newest` is when the newest block with their external labels begins, if any is known to.
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

/// How many blocks lie in each range, by length.
struct Neighbours {
    counts: Vec<(i64, BTreeMap<TimeRange, usize>)>,
}

impl Neighbours {
    fn from_blocks(timed: &[&Description], options: &StrategyOptions) -> Self {
        let counts = options.ranges.lengths().iter().map(|&length| {
            let blocks = by_time::by_range(timed, length);
            (length, blocks.into_iter().map(|(range, blocks)| (range, blocks.len())).collect())
        });
        Self { counts: counts.collect() }
    }

    /// Why a block is in no group.
    fn reason<'a>(&self, block: &Description, newest: i64) -> UnmergedReason<'a> {
        let Some(extent) = block.extent() else { return UnmergedReason::FewAlike };
        let mut reason = UnmergedReason::OverBoundary;
        for (length, counts) in &self.counts {
            let Some(range) = range_of(extent, *length) else { continue };
            if counts.get(&range).is_some_and(|count| *count > 1) {
                let length = Length(*length);
                return if range.end > newest {
                    UnmergedReason::Open { range, length }
                } else {
                    UnmergedReason::TooManySeries { range, length }
                };
            }
            reason = UnmergedReason::Only;
        }
        reason
    }
}
