//! [`Ranges`]: a set of numbers as sorted ranges.

use std::cmp::Ordering;
use std::collections::TryReserveError;
use std::iter::FusedIterator;
use std::ops::Range;

/// A set of numbers below `u32::MAX`, as ascending half-open ranges with gaps between them.
///
/// Codes, rows and refs that satisfy a matcher lie next to each other, because everything in a block is sorted. Takes 8
/// bytes per range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranges {
    ranges: Vec<Range<u32>>,
}

impl Ranges {
    /// Returns the numbers from 0 to `count` - 1.
    #[must_use]
    pub fn up_to(count: u32) -> Self {
        Self::from_range(0..count)
    }

    /// Returns the numbers of a range.
    pub(crate) fn from_range(range: Range<u32>) -> Self {
        let mut set = Self::default();
        set.push(range);
        set
    }

    /// Appends a range that does not start before the end of the last one. One that does, which only a damaged block
    /// gives, is joined with the last one.
    #[inline]
    pub(crate) fn push(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }

    /// Reserves room for this many more ranges, and no more.
    pub(crate) fn try_reserve(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.ranges.try_reserve_exact(count)
    }

    /// Returns true if the next range may need an allocation.
    #[inline]
    pub(crate) fn is_at_capacity(&self) -> bool {
        self.ranges.len() == self.ranges.capacity()
    }

    /// Returns the ranges, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Range<u32>] {
        &self.ranges
    }

    /// Returns the ranges, in order, in steps of at most `step` numbers, which is not 0.
    pub(crate) fn in_steps(&self, step: u32) -> impl Iterator<Item = Range<u32>> {
        self.ranges.iter().flat_map(move |range| {
            let starts = range.clone().step_by(step as usize);
            starts.map(move |start| start..range.end.min(start.saturating_add(step)))
        })
    }

    /// Returns true if the set has no numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of numbers. Costs O(ranges).
    #[must_use]
    pub fn count(&self) -> u32 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns true if the set has all numbers below `count`.
    #[must_use]
    pub fn has_all(&self, count: u32) -> bool {
        match &*self.ranges {
            [only] => only.start == 0 && only.end >= count,
            _ => count == 0,
        }
    }

    /// Returns true if the set has `number`. Costs a binary search.
    #[inline]
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= number);
        after.checked_sub(1).and_then(|place| self.ranges.get(place)).is_some_and(|range| number < range.end)
    }

    /// Returns the numbers, in order.
    #[must_use]
    pub fn iter(&self) -> Numbers<'_> {
        Numbers { current: 0..0, rest: self.ranges.iter() }
    }

    /// Returns the numbers of both sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.merge(other, |left, right| left || right)
    }

    /// Returns the numbers that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::common(self.ranges.iter().cloned(), other.ranges.iter().cloned())
    }

    /// Returns the numbers that are in ranges of both iterators, each in order. One pass over both, without the ends
    /// that [`Self::merge`] walks over for the other operations.
    pub(crate) fn common(
        mut left: impl Iterator<Item = Range<u32>>,
        mut right: impl Iterator<Item = Range<u32>>,
    ) -> Self {
        let mut common = Self::default();
        let (mut next_left, mut next_right) = (left.next(), right.next());
        while let (Some(a), Some(b)) = (&next_left, &next_right) {
            common.push(a.start.max(b.start)..a.end.min(b.end));
            if a.end <= b.end { next_left = left.next() } else { next_right = right.next() }
        }
        common
    }

    /// Returns the numbers of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.merge(other, |left, right| left && !right)
    }

    /// Returns the numbers below `count` that are not in the set.
    #[must_use]
    pub fn complement(&self, count: u32) -> Self {
        Self::up_to(count).difference(self)
    }

    /// Walks over the ends of both sets in order and keeps what `keep` says, from the membership in each. Costs
    /// O(ranges).
    fn merge(&self, other: &Self, keep: impl Fn(bool, bool) -> bool) -> Self {
        let (mut left, mut right) = (Edges::new(self), Edges::new(other));
        let mut merged = Self::default();
        let mut start = None;
        loop {
            let at = match (left.at, right.at) {
                (None, None) => return merged,
                (Some(at), None) | (None, Some(at)) => at,
                (Some(a), Some(b)) => a.min(b),
            };
            left.pass(at);
            right.pass(at);
            match (start, keep(left.inside, right.inside)) {
                (None, true) => start = Some(at),
                (Some(from), false) => {
                    merged.push(from..at);
                    start = None;
                }
                _ => {}
            }
        }
    }
}

impl FromIterator<Range<u32>> for Ranges {
    /// Collects ascending, disjoint ranges. Empty ranges are skipped, and adjacent ones joined.
    fn from_iter<T: IntoIterator<Item = Range<u32>>>(ranges: T) -> Self {
        let mut collected = Self::default();
        ranges.into_iter().for_each(|range| collected.push(range));
        collected
    }
}

impl<'a> IntoIterator for &'a Ranges {
    type Item = u32;
    type IntoIter = Numbers<'a>;

    fn into_iter(self) -> Numbers<'a> {
        self.iter()
    }
}

/// The starts and ends of a set, in order.
struct Edges<'a> {
    ranges: std::slice::Iter<'a, Range<u32>>,
    end: u32,
    /// Next start or end; `None` after the last.
    at: Option<u32>,
    /// True between a start and its end.
    inside: bool,
}

impl<'a> Edges<'a> {
    fn new(set: &'a Ranges) -> Self {
        let mut edges = Self { ranges: set.ranges.iter(), end: 0, at: None, inside: false };
        edges.enter();
        edges
    }

    /// Moves to the start of the next range.
    fn enter(&mut self) {
        self.at = self.ranges.next().map(|range| {
            self.end = range.end;
            range.start
        });
    }

    /// Moves past an edge at `at`, if there is one.
    fn pass(&mut self, at: u32) {
        if self.at.map(|own| own.cmp(&at)) != Some(Ordering::Equal) {
            return;
        }
        self.inside = !self.inside;
        if self.inside { self.at = Some(self.end) } else { self.enter() }
    }
}

/// Iterator over the numbers of a set, in order.
#[derive(Clone, Debug)]
pub struct Numbers<'a> {
    current: Range<u32>,
    rest: std::slice::Iter<'a, Range<u32>>,
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(number) = self.current.next() {
                return Some(number);
            }
            self.current = self.rest.next()?.clone();
        }
    }

    /// Range by range, which is several times faster than number by number.
    fn fold<B, F: FnMut(B, u32) -> B>(self, init: B, mut each: F) -> B {
        let first = self.current.fold(init, &mut each);
        self.rest.fold(first, |folded, range| range.clone().fold(folded, &mut each))
    }
}

impl FusedIterator for Numbers<'_> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn from_numbers(numbers: &BTreeSet<u32>) -> Ranges {
        numbers.iter().map(|&number| number..number + 1).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sets_agree_with_sets_of_the_standard_library(
            left in prop::collection::btree_set(0_u32..80, 0..60),
            right in prop::collection::btree_set(0_u32..80, 0..60),
        ) {
            let (a, b) = (from_numbers(&left), from_numbers(&right));
            prop_assert_eq!(a.union(&b), from_numbers(&(&left | &right)));
            prop_assert_eq!(a.intersection(&b), from_numbers(&(&left & &right)));
            prop_assert_eq!(a.difference(&b), from_numbers(&(&left - &right)));
            prop_assert_eq!(a.complement(70), from_numbers(&(0..70).filter(|n| !left.contains(n)).collect()));
            prop_assert_eq!(a.count() as usize, left.len());
            let steps: Vec<_> = a.in_steps(3).collect();
            prop_assert!(steps.iter().all(|step| (1..=3).contains(&step.len())));
            prop_assert!(steps.into_iter().flatten().eq(left.iter().copied()));
            prop_assert_eq!(a.is_empty(), left.is_empty());
            prop_assert_eq!(a.iter().collect::<Vec<_>>(), left.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(a.iter().sum::<u32>(), left.iter().sum::<u32>());
            prop_assert_eq!((0..90).filter(|&n| a.contains(n)).collect::<BTreeSet<_>>(), left);
            prop_assert!(a.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start), "gaps are kept");
        }
    }

    #[test]
    fn all_numbers_are_one_range() {
        assert!(Ranges::up_to(5).has_all(5));
        assert!(!Ranges::up_to(5).has_all(6));
        assert!(!Ranges::from_iter([0..2, 3..5]).has_all(5));
        assert!(Ranges::default().has_all(0));
    }
}
