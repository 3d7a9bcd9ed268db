//! [`Difference`]: series that only one of two sets of blocks has.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use chronoxide::{BlockId, Blocks, Error, ErrorKind, Label, Query, SeriesId};
use serde::Serialize;

/// Labels of a series, in the order of their names.
pub type Labels<'s> = [(&'s str, &'s str)];

/// Series of blocks A that blocks B lack, and the reverse. Series are compared by their labels, byte by byte.
#[derive(Debug, Default)]
pub struct Difference<'data> {
    /// Series in both.
    pub same: u64,
    /// Series in A only.
    pub gone: u64,
    /// Series in B only.
    pub came: u64,
    /// Metrics with series in one only; `None` for series without `__name__`.
    metrics: BTreeMap<Option<&'data str>, Changes>,
    /// Series of A that are gone.
    gone_ids: Ids,
    /// Series of B that came.
    came_ids: Ids,
}

/// Series by their blocks.
type Ids = Vec<(BlockId, Vec<u32>)>;

/// Numbers of series in one set of blocks only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Series in A only.
    pub gone: u64,
    /// Series in B only.
    pub came: u64,
}

impl<'data> Difference<'data> {
    /// Compares the selected series of two sets of blocks.
    ///
    /// Each series is looked up in the other set: a binary search per label and block. Takes 4 bytes of memory per
    /// series in one set only.
    ///
    /// # Errors
    /// As [`Query::distinct_series`]. If the queries skip damaged blocks, these are missing from their sets.
    pub fn new(a: &Query<'data>, b: &Query<'data>) -> Result<Self, Error> {
        let mut difference = Self::default();
        difference.same = compare(a, b, &mut difference.gone_ids, |metric| {
            difference.gone += 1;
            difference.metrics.entry(metric).or_default().gone += 1;
        })?;
        compare(b, a, &mut difference.came_ids, |metric| {
            difference.came += 1;
            difference.metrics.entry(metric).or_default().came += 1;
        })?;
        Ok(difference)
    }

    /// Returns true if each set has the series of the other.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.gone == 0 && self.came == 0
    }

    /// Returns the metrics with changes, the most changes first; equal numbers are in the order of names, and series
    /// without a name first.
    #[must_use]
    pub fn metrics(&self) -> Vec<(Option<&'data str>, Changes)> {
        let mut metrics: Vec<_> = self.metrics.iter().map(|(metric, changes)| (*metric, *changes)).collect();
        metrics.sort_by_key(|(_, changes)| Reverse(changes.gone + changes.came));
        metrics
    }

    /// Calls `each` with the labels of the series in A only. `a` are the blocks that were compared.
    ///
    /// # Errors
    /// Returns the first error of `each`, or of the blocks.
    pub fn each_gone(&self, a: &Blocks, each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
        each_of(a, &self.gone_ids, each)
    }

    /// Calls `each` with the labels of the series in B only. `b` are the blocks that were compared.
    ///
    /// # Errors
    /// As [`Difference::each_gone`].
    pub fn each_came(&self, b: &Blocks, each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
        each_of(b, &self.came_ids, each)
    }
}

/// Calls `each` with the metric of each series that the other blocks lack, and adds its id. Returns the number of
/// series that they have.
fn compare<'data>(
    query: &Query<'data>,
    other: &Query<'_>,
    ids: &mut Ids,
    mut each: impl FnMut(Option<&'data str>),
) -> Result<u64, Error> {
    let (mut rows, mut same) = (query.distinct_series()?, 0);
    while let Some(series) = rows.next()? {
        let is_in_both = match other.has(series.labels()) {
            // Only a damaged block has two labels of one name.
            Err(error) if error.kind() == ErrorKind::Usage => false,
            found => found?,
        };
        if is_in_both {
            same += 1;
            continue;
        }
        each(series.get("__name__"));
        for SeriesId { block, series } in series.ids() {
            match ids.last_mut().filter(|(last, _)| *last == block) {
                Some((_, of_block)) => of_block.push(series),
                None => ids.push((block, vec![series])),
            }
        }
    }
    Ok(same)
}

/// Calls `each` with the labels of some series.
fn each_of(blocks: &Blocks, ids: &Ids, mut each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
    let (mut reader, mut pairs) = (blocks.reader(), Vec::new());
    let ids = ids.iter().flat_map(|(block, series)| series.iter().map(|&series| SeriesId { block: *block, series }));
    for id in ids {
        let labels: &[Label<'_>] = reader.labels(id).map_err(io::Error::other)?.unwrap_or_default();
        pairs.clear();
        pairs.extend(labels.iter().map(|&label| <(&str, &str)>::from(label)));
        each(&pairs)?;
    }
    Ok(())
}
