//! Groups of blocks by time range.

use std::collections::BTreeMap;

use chronoxide_format::view::TimeRange;

use super::ranges::range_of;
use super::{Description, StrategyOptions};

/// A group of blocks, with its range and the length of the range.
pub(super) struct InRange<'a> {
    pub(super) blocks: Vec<&'a Description>,
    pub(super) range: TimeRange,
    pub(super) length: i64,
}

/// Returns groups of these blocks, which have equal external labels and label policy. `newest` is the start of the
/// newest block.
pub(super) fn groups<'a>(blocks: &[&'a Description], newest: i64, options: &StrategyOptions) -> Vec<InRange<'a>> {
    within(blocks, options.ranges.lengths(), newest, options)
}

/// Groups blocks by ranges of the last of these lengths. Uses the shorter lengths where a range is not complete or has
/// too many series.
fn within<'a>(blocks: &[&'a Description], lengths: &[i64], newest: i64, options: &StrategyOptions) -> Vec<InRange<'a>> {
    let Some((&length, shorter)) = lengths.split_last() else { return Vec::new() };
    let mut groups = Vec::new();
    for (range, blocks) in by_range(blocks, length) {
        if blocks.len() < 2 || Description::are_siblings(&blocks) {
            continue;
        }
        let is_complete = range.end <= newest;
        if is_complete && options.fits(&blocks) {
            groups.push(InRange { blocks, range, length });
            continue;
        }
        let inner = within(&blocks, shorter, newest, options);
        // Merging a shorter range removes duplicate series: only then is it known what fits.
        if is_complete && inner.is_empty() {
            let mut rest = &blocks[..];
            while !rest.is_empty() {
                let (run, after) = rest.split_at(options.run(rest));
                if run.len() > 1 && !Description::are_siblings(run) {
                    groups.push(InRange { blocks: run.to_vec(), range, length });
                }
                rest = after;
            }
        }
        groups.extend(inner);
    }
    groups
}

/// Returns the blocks of each range, in their order. Blocks that lie in no range are left out.
pub(super) fn by_range<'a>(blocks: &[&'a Description], length: i64) -> BTreeMap<TimeRange, Vec<&'a Description>> {
    let mut ranges: BTreeMap<TimeRange, Vec<&Description>> = BTreeMap::new();
    for &block in blocks {
        if let Some(range) = block.extent().and_then(|extent| range_of(extent, length)) {
            ranges.entry(range).or_default().push(block);
        }
    }
    for blocks in ranges.values_mut() {
        blocks.sort_by(|a, b| a.order().cmp(&b.order()));
    }
    ranges
}
