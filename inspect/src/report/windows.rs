//! Windows of a folder: how many series come and go with time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use chronoxide_dump::summary;
use chronoxide_format::view::TimeRange;
use chronoxide_select::Selection;

use super::ReportError;
use super::figures::{BlockFigures, Growth, Window};
use super::subject::{MetricCounts, Subject};

/// Metrics whose growth is listed.
const MAX_GROWTH: usize = 20;

/// Windows, and the growth of metrics over them.
#[derive(Default)]
pub(super) struct Windows {
    pub(super) windows: Vec<Window>,
    pub(super) growth: Vec<Growth>,
}

/// Series in the first window, the last one and the largest.
#[derive(Clone, Copy, Default)]
struct Sizes {
    first: u64,
    last: u64,
    largest: u64,
}

impl Windows {
    /// Compares the windows of blocks: blocks whose times overlap are one window. `presence` has the series of the
    /// subject that each block has. All are in the order of time.
    pub(super) fn new(
        subject: &Subject<'_>,
        blocks: &[BlockFigures],
        times: &[Option<TimeRange>],
        presence: &[Selection],
    ) -> Result<Self, ReportError> {
        let mut windows = Self::default();
        let mut before = Selection::default();
        let mut sizes: BTreeMap<Option<u32>, Sizes> = BTreeMap::new();
        for (places, time) in overlapping(times) {
            let series = presence[places.clone()].iter().fold(Selection::default(), |all, one| all.union(one));
            let time = time.map(summary::times);
            windows.windows.push(Window {
                start: time.as_ref().map(|time| time.start.clone()),
                end: time.map(|time| time.end),
                blocks: places.len() as u64,
                bytes: blocks[places].iter().map(|block| block.bytes).sum(),
                series: series.count().into(),
                new: series.difference(&before).count().into(),
                gone: before.difference(&series).count().into(),
            });
            // Blocks without a time are before all others only in the list.
            if windows.windows.last().is_some_and(|window| window.start.is_some()) {
                add_sizes(subject, &subject.metrics_of(&series)?, sizes.is_empty(), &mut sizes)?;
            }
            before = series;
        }
        windows.growth = growth(subject, sizes)?;
        Ok(windows)
    }
}

/// Returns the places of blocks whose times overlap, and the time of all of them. Times are in the order of their
/// starts; blocks without a time come first, and are together.
pub(super) fn overlapping(times: &[Option<TimeRange>]) -> Vec<(Range<usize>, Option<TimeRange>)> {
    let mut groups: Vec<(Range<usize>, Option<TimeRange>)> = Vec::new();
    for (place, &time) in times.iter().enumerate() {
        match (groups.last_mut(), time) {
            (Some((places, None)), None) => places.end = place + 1,
            (Some((places, Some(all))), Some(time)) if time.start < all.end => {
                places.end = place + 1;
                all.end = all.end.max(time.end);
            }
            _ => groups.push((place..place + 1, time)),
        }
    }
    groups
}

fn add_sizes(
    subject: &Subject<'_>,
    counts: &MetricCounts,
    is_first: bool,
    sizes: &mut BTreeMap<Option<u32>, Sizes>,
) -> Result<(), ReportError> {
    for metric in subject.metric_codes()? {
        let series = counts.get(metric);
        let sizes = sizes.entry(metric).or_default();
        if is_first {
            sizes.first = series;
        }
        sizes.last = series;
        sizes.largest = sizes.largest.max(series);
    }
    Ok(())
}

/// Returns the metrics that have more series in the last window than in the first.
fn growth(subject: &Subject<'_>, sizes: BTreeMap<Option<u32>, Sizes>) -> Result<Vec<Growth>, ReportError> {
    let mut growing: Vec<_> = sizes.into_iter().filter(|(_, sizes)| sizes.last > sizes.first).collect();
    growing.sort_by_key(|&(metric, sizes)| (Reverse(sizes.last - sizes.first), metric));
    growing.truncate(MAX_GROWTH);
    let describe = |(metric, Sizes { first, last, largest })| {
        Ok(Growth { metric: subject.metric_name(metric)?, first, last, largest })
    };
    growing.into_iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_whose_times_overlap_are_together() {
        let time = |start, end| Some(TimeRange { start, end });
        let times = [None, None, time(0, 10), time(0, 5), time(9, 12), time(12, 20), time(30, 31)];
        let expected = vec![(0..2, None), (2..5, time(0, 12)), (5..6, time(12, 20)), (6..7, time(30, 31))];
        assert_eq!(overlapping(&times), expected);
        assert_eq!(overlapping(&[]), []);
    }
}
