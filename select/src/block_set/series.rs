//! Series of equal labelsets, joined over the blocks of a set.

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::BlockView;
use hashbrown::HashMap;

use super::{Partial, SetQuery, SetSelection};
use crate::SelectError;
use crate::results::project::Labels;

/// Series between two checks of the limits.
const SERIES_PER_CHECK: usize = 1 << 14;

/// Series of several blocks, each with the blocks that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedSeries {
    /// For each series, the number of occurrences up to its last one.
    ends: Vec<usize>,
    occurrences: Vec<Occurrence>,
}

/// Ref of a series in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence {
    /// Position of the block in [`BlockSet::blocks`](super::BlockSet::blocks).
    pub block: usize,
    /// Ref of the series in this block.
    pub series: SeriesRef,
}

impl JoinedSeries {
    /// Returns the number of distinct series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no series.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the refs of a series, in the order of blocks, at least one; none if it is out of range.
    #[must_use]
    pub fn get(&self, number: usize) -> &[Occurrence] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or_default());
        let end = self.ends.get(number).copied().unwrap_or_default();
        self.occurrences.get(start..end).unwrap_or_default()
    }

    /// Returns the refs of each series, in the order of the first of them.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Occurrence]> {
        (0..self.len()).map(|number| self.get(number))
    }
}

/// Distinct series that were found so far.
#[derive(Default)]
struct Distinct {
    /// Number of the last series with a fingerprint.
    known: HashMap<Fingerprint, u32>,
    series: Vec<Found>,
    /// Each occurrence: the number of the series, the position of the block, and the ref.
    occurrences: Vec<(u32, u32, SeriesRef)>,
}

/// A distinct series.
struct Found {
    first: Occurrence,
    /// Number of another one with the same fingerprint.
    other: Option<u32>,
    /// Number of occurrences.
    count: usize,
}

impl Distinct {
    /// Adds an occurrence. `is_equal` compares the series with another one that has the same fingerprint.
    fn add(
        &mut self,
        fingerprint: Fingerprint,
        occurrence: Occurrence,
        is_equal: impl Fn(Occurrence) -> Result<bool, SelectError>,
    ) -> Result<(), SelectError> {
        let last = self.known.get(&fingerprint).copied();
        let mut candidate = last;
        while let Some(number) = candidate {
            let Some(found) = self.series.get_mut(number as usize) else { break };
            // A block has each labelset once.
            if found.first.block != occurrence.block && is_equal(found.first)? {
                found.count += 1;
                self.occurrences.push((number, occurrence.block as u32, occurrence.series));
                return Ok(());
            }
            candidate = found.other;
        }
        let number = self.series.len() as u32;
        self.known.insert(fingerprint, number);
        self.series.push(Found { first: occurrence, other: last, count: 1 });
        self.occurrences.push((number, occurrence.block as u32, occurrence.series));
        Ok(())
    }

    /// Returns the occurrences by series.
    fn joined(self) -> JoinedSeries {
        drop(self.known);
        let mut next: Vec<usize> = Vec::with_capacity(self.series.len());
        let mut end = 0;
        for found in &self.series {
            next.push(end);
            end += found.count;
        }
        drop(self.series);
        let mut occurrences = vec![Occurrence { block: 0, series: SeriesRef(0) }; end];
        for (number, block, series) in self.occurrences {
            if let Some(next) = next.get_mut(number as usize)
                && let Some(place) = occurrences.get_mut(*next)
            {
                *place = Occurrence { block: block as usize, series };
                *next += 1;
            }
        }
        JoinedSeries { ends: next, occurrences }
    }
}

impl SetQuery<'_> {
    /// Joins the series of a selection that have equal labels. They come in the order of their first occurrence.
    ///
    /// Series are joined by fingerprint, and then compared label by label. Takes some 100 bytes of memory per distinct
    /// series, and 28 per occurrence. The series of a damaged block are missing.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`](crate::Limits).
    pub fn join(&self, selection: &SetSelection) -> Result<Partial<JoinedSeries>, SelectError> {
        let mut distinct = Distinct::default();
        let failed = self.each_selected(selection, |searcher, block| {
            let view = searcher.view();
            let fingerprints = searcher.fingerprints(&block.series, Labels::All)?;
            for (number, (series, fingerprint)) in block.series.iter().zip(fingerprints).enumerate() {
                if number % SERIES_PER_CHECK == 0 {
                    self.limits.check()?;
                }
                distinct.add(fingerprint, Occurrence { block: block.block, series }, |first| {
                    let Some(other) = self.set.blocks().get(first.block) else { return Ok(false) };
                    have_equal_labels(view, series, &other.block().view(), first.series)
                })?;
            }
            Ok(())
        })?;
        Ok(Partial { found: distinct.joined(), failed })
    }
}

/// Returns true if two series have equal labels.
fn have_equal_labels(
    view: &BlockView<'_>,
    series: SeriesRef,
    other: &BlockView<'_>,
    other_series: SeriesRef,
) -> Result<bool, SelectError> {
    let (Some(left), Some(right)) = (view.series(series)?, other.series(other_series)?) else { return Ok(false) };
    if left.label_count() != right.label_count() {
        return Ok(false);
    }
    for (left, right) in left.labels().zip(right.labels()) {
        if left? != right? {
            return Ok(false);
        }
    }
    Ok(true)
}
