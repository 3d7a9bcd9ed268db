//! Groups of blocks that lie in one range.

use std::collections::BTreeMap;

use chronoxide_format::view::TimeRange;

use super::ranges::range_of;
use super::{Description, StrategyOptions};

/// Blocks that become one, and the range in which they lie, with its length.
pub(super) struct InRange<'a> {
    pub(super) blocks: Vec<&'a Description>,
    pub(super) range: TimeRange,
    pub(super) length: i64,
}

/// Groups of these blocks, which go together by everything but time. `newest` is when the newest block begins.
pub(super) fn groups<'a>(blocks: &[&'a Description], newest: i64, options: &StrategyOptions) -> Vec<InRange<'a>> {
    within(blocks, options.ranges.lengths(), newest, options)
}

/// By the ranges of the last of these lengths, and of the shorter ones where one is not complete or does not fit.
fn within<'a>(blocks: &[&'a Description], lengths: &[i64], newest: i64, options: &StrategyOptions) -> Vec<InRange<'a>> {
    let Some((&length, shorter)) = lengths.split_last() else { return Vec::new() };
    let mut groups = Vec::new();
    for (range, blocks) in by_range(blocks, length) {
        if blocks.len() < 2 {
            continue;
        }
        let is_complete = range.end <= newest;
        if is_complete && options.fits(&blocks) {
            groups.push(InRange { blocks, range, length });
            continue;
        }
        let inner = within(&blocks, shorter, newest, options);
        // Series that are in several blocks of a shorter range count once when it is merged: only then is it known what fits.
        if is_complete && inner.is_empty() {
            let mut rest = &blocks[..];
            while !rest.is_empty() {
                let (run, after) = rest.split_at(options.run(rest));
                if run.len() > 1 {
                    groups.push(InRange { blocks: run.to_vec(), range, length });
                }
                rest = after;
            }
        }
        groups.extend(inner);
    }
    groups
}

/// The blocks that lie in one range, by range, each in their order; without those that lie in none.
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
