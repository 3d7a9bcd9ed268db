//! [`Difference`]: series that only one of two sets of blocks has.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use chronoxide_format::SeriesRef;
use serde::Serialize;

use super::Queried;
use super::distinct::distinct_of_block;
use crate::InspectError;

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
    /// Refs in each block of A of the series that are gone.
    gone_refs: Vec<Vec<SeriesRef>>,
    /// Refs in each block of B of the series that came.
    came_refs: Vec<Vec<SeriesRef>>,
}

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
    /// series in one set only. Series of a damaged block are missing from its set.
    #[must_use]
    pub fn new(a: &[Queried<'data>], b: &[Queried<'data>]) -> Self {
        let mut difference = Self::default();
        for (number, block) in a.iter().enumerate() {
            let mut refs = Vec::new();
            let read = distinct_of_block(a, number, |found| {
                if b.iter().any(|block| block.has(found.labels)) {
                    difference.same += 1;
                } else {
                    difference.gone += 1;
                    difference.metrics.entry(metric(found.labels)).or_default().gone += 1;
                    refs.push(found.series_ref());
                }
                Ok(true)
            });
            read.unwrap_or_else(|damage| block.note(damage));
            difference.gone_refs.push(refs);
        }
        for (number, block) in b.iter().enumerate() {
            let mut refs = Vec::new();
            let read = distinct_of_block(b, number, |found| {
                if !a.iter().any(|block| block.has(found.labels)) {
                    difference.came += 1;
                    difference.metrics.entry(metric(found.labels)).or_default().came += 1;
                    refs.push(found.series_ref());
                }
                Ok(true)
            });
            read.unwrap_or_else(|damage| block.note(damage));
            difference.came_refs.push(refs);
        }
        difference
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
    /// Returns the first error of `each`. Damage is kept in the blocks.
    pub fn each_gone(&self, a: &[Queried<'data>], each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
        each_of(a, &self.gone_refs, each)
    }

    /// Calls `each` with the labels of the series in B only. `b` are the blocks that were compared.
    ///
    /// # Errors
    /// Returns the first error of `each`. Damage is kept in the blocks.
    pub fn each_came(&self, b: &[Queried<'data>], each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
        each_of(b, &self.came_refs, each)
    }
}

fn metric<'data>(labels: &[(&'data str, &'data str)]) -> Option<&'data str> {
    labels.iter().find(|(name, _)| *name == "__name__").map(|&(_, value)| value)
}

/// Calls `each` with the labels of some series of each block.
fn each_of(
    blocks: &[Queried<'_>],
    refs: &[Vec<SeriesRef>],
    mut each: impl FnMut(&Labels<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut labels = Vec::new();
    for (block, refs) in blocks.iter().zip(refs) {
        for &series in refs {
            match read_labels(block, series, &mut labels) {
                Ok(()) => each(&labels)?,
                Err(damage) => {
                    block.note(damage);
                    break;
                }
            }
        }
    }
    Ok(())
}

fn read_labels<'data>(
    block: &Queried<'data>,
    series: SeriesRef,
    labels: &mut Vec<(&'data str, &'data str)>,
) -> Result<(), InspectError> {
    labels.clear();
    if let Some(series) = block.view().series(series)? {
        for label in block.text().labels(&series) {
            labels.push(label?.into());
        }
    }
    Ok(())
}
