//! [`Selection`]: series of a block, by ref.

use std::ops::Range;

use chronoxide_format::SeriesRef;

use crate::Ranges;
use crate::ranges::Numbers;

/// Series of one block, in the order of their refs.
///
/// Holds ranges of refs: 8 bytes per range, so that a metric with 100,000 series takes a few bytes. Selections of the
/// same block can be combined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    refs: Ranges,
}

impl Selection {
    pub(crate) fn from_ranges(refs: Ranges) -> Self {
        Self { refs }
    }

    /// Selects the series of a range.
    #[must_use]
    pub fn from_range(series: Range<SeriesRef>) -> Self {
        Self { refs: Ranges::from_range(series.start.0..series.end.0) }
    }

    /// Returns the number of series. Costs O(ranges).
    #[must_use]
    pub fn count(&self) -> u32 {
        self.refs.count()
    }

    /// Returns true if no series is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// Returns true if a series is selected. Costs a binary search.
    #[must_use]
    pub fn contains(&self, series: SeriesRef) -> bool {
        self.refs.contains(series.0)
    }

    /// Returns the ranges of refs, in order, with gaps between them.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<SeriesRef>> + DoubleEndedIterator + use<'_> {
        self.refs.as_slice().iter().map(|range| SeriesRef(range.start)..SeriesRef(range.end))
    }

    /// Returns the ranges as numbers.
    pub(crate) fn refs(&self) -> &Ranges {
        &self.refs
    }

    /// Returns the refs, in order. `for_each`, `fold` and `sum` are faster than a loop.
    #[must_use]
    pub fn iter(&self) -> Refs<'_> {
        Refs { numbers: self.refs.iter() }
    }

    /// Returns the first `count` series, and the others.
    #[must_use]
    pub fn split_at(&self, count: u32) -> (Self, Self) {
        let mut left = count;
        let first = self.refs.as_slice().iter().map_while(|range| {
            let taken = left.min(range.end - range.start);
            left -= taken;
            (taken > 0).then(|| range.start..range.start + taken)
        });
        let first = Self { refs: first.collect() };
        let rest = self.difference(&first);
        (first, rest)
    }

    /// Returns the series of both selections.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { refs: self.refs.union(&other.refs) }
    }

    /// Returns the series that are in both selections.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self { refs: self.refs.intersection(&other.refs) }
    }

    /// Returns the series of this selection that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self { refs: self.refs.difference(&other.refs) }
    }
}

impl FromIterator<SeriesRef> for Selection {
    /// Collects refs in any order.
    fn from_iter<T: IntoIterator<Item = SeriesRef>>(refs: T) -> Self {
        let mut refs: Vec<u32> = refs.into_iter().map(|series| series.0).filter(|&series| series < u32::MAX).collect();
        refs.sort_unstable();
        Self { refs: refs.into_iter().map(|series| series..series + 1).collect() }
    }
}

impl<'a> IntoIterator for &'a Selection {
    type Item = SeriesRef;
    type IntoIter = Refs<'a>;

    fn into_iter(self) -> Refs<'a> {
        self.iter()
    }
}

/// Iterator over the refs of a selection, in order.
#[derive(Clone, Debug)]
pub struct Refs<'a> {
    numbers: Numbers<'a>,
}

impl Iterator for Refs<'_> {
    type Item = SeriesRef;

    #[inline]
    fn next(&mut self) -> Option<SeriesRef> {
        self.numbers.next().map(SeriesRef)
    }

    fn fold<B, F: FnMut(B, SeriesRef) -> B>(self, init: B, mut each: F) -> B {
        self.numbers.fold(init, |folded, number| each(folded, SeriesRef(number)))
    }
}

impl std::iter::FusedIterator for Refs<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_split_within_and_between_ranges() {
        let numbers = [2, 3, 4, 9, 10, 20];
        let selection: Selection = numbers.map(SeriesRef).into_iter().collect();
        for count in 0..=7 {
            let (first, rest) = selection.split_at(count);
            let (expected_first, expected_rest) = numbers.split_at((count as usize).min(numbers.len()));
            let refs = |selection: &Selection| selection.iter().map(|series| series.0).collect::<Vec<_>>();
            assert_eq!((refs(&first), refs(&rest)), (expected_first.to_vec(), expected_rest.to_vec()));
        }
    }
}
