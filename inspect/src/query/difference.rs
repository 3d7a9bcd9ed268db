//! [`Difference`]: series that only one of two sets of blocks has, by metric.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use chronoxide::{Cardinality, Error, Query, Selection};
use serde::Serialize;

use super::explosions::{Explosion, explosions};

/// Labels of a series, in the order of their names.
pub type Labels<'s> = [(&'s str, &'s str)];

/// Series of blocks A that blocks B lack, and the reverse. Series are compared by their labels, byte by byte.
#[derive(Debug)]
pub struct Difference {
    /// Series in both.
    pub same: u64,
    /// Series in A only.
    pub gone: Selection,
    /// Series in B only.
    pub came: Selection,
    /// Metrics with series in one only, the most changes first; equal numbers are in the order of names, and series
    /// without a name, `None`, first.
    pub metrics: Vec<(Option<String>, Changes)>,
    /// Labels whose new values bring many of the series that came.
    pub explosions: Vec<Explosion>,
}

/// Numbers of series in one set of blocks only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Series in A only.
    pub gone: u64,
    /// Series in B only.
    pub came: u64,
}

impl Difference {
    /// Compares the selected series of two sets of blocks. Costs as much as [`Query::difference`] and [`explosions`].
    ///
    /// # Errors
    /// As [`Query::difference`]. If the queries skip damaged blocks, these are missing from their sets.
    pub fn new<'b>(a: &Query<'b>, b: &Query<'b>) -> Result<Self, Error> {
        let difference = a.difference(b)?;
        let explosions = explosions(&difference)?;
        let chronoxide::Difference { same, gone, gone_labels, came, came_labels, .. } = difference;
        let metrics = metrics(&gone_labels, &came_labels);
        Ok(Self { same: same.len(), gone, came, metrics, explosions })
    }

    /// Returns true if each set has the series of the other.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.came.is_empty()
    }
}

/// Returns the changes of each metric.
fn metrics(gone: &Cardinality<'_>, came: &Cardinality<'_>) -> Vec<(Option<String>, Changes)> {
    let mut metrics: BTreeMap<Option<&str>, Changes> = BTreeMap::new();
    by_metric(gone).for_each(|(metric, series)| metrics.entry(metric).or_default().gone = series);
    by_metric(came).for_each(|(metric, series)| metrics.entry(metric).or_default().came = series);
    let mut metrics: Vec<_> = metrics.into_iter().map(|(name, changes)| (name.map(str::to_owned), changes)).collect();
    metrics.sort_by_key(|(_, changes)| Reverse(changes.gone + changes.came));
    metrics
}

/// Returns the number of series of each metric, and of those without a name.
fn by_metric<'b>(labels: &Cardinality<'b>) -> impl Iterator<Item = (Option<&'b str>, u64)> {
    let named = labels.values.get("__name__").into_iter().flatten().map(|(&name, &series)| (Some(name), series));
    let unnamed = labels.series - named.clone().map(|(_, series)| series).sum::<u64>();
    named.chain((unnamed > 0).then_some((None, unnamed)))
}

/// Calls `each` with the labels of the series of a selection.
///
/// # Errors
/// Returns the first error of `each`, or of the blocks.
pub fn each_series(selection: &Selection, mut each: impl FnMut(&Labels<'_>) -> io::Result<()>) -> io::Result<()> {
    let (mut rows, mut pairs) = (selection.series(), Vec::new());
    while let Some(series) = rows.next().map_err(io::Error::other)? {
        pairs.clear();
        pairs.extend(series.labels().iter().map(|&label| <(&str, &str)>::from(label)));
        each(&pairs)?;
    }
    Ok(())
}
