//! [`Collector`]: refs of selected series while they are found, in bounded memory.

use std::ops::Range;

use crate::{Limits, Ranges, SelectError};

/// Bytes of a range of refs.
const RANGE_LEN: u64 = size_of::<Range<u32>>() as u64;
/// Ranges that the first reservation has room for.
const FIRST_RANGES: u64 = 4;

/// Refs of selected series, from a ref on, up to a number of ranges.
///
/// Memory is reserved before it is used, within the limit of the query: a list that many rows end in stands for many
/// more ranges than its block has bytes, so that neither the block's length nor its number of rows is a bound.
#[derive(Debug)]
pub(crate) struct Collector<'l> {
    refs: Ranges,
    /// Refs before this one were collected earlier.
    from: u32,
    max_ranges: usize,
    limits: Limits<'l>,
}

impl<'l> Collector<'l> {
    pub(crate) fn new(from: u32, max_ranges: usize, limits: Limits<'l>) -> Self {
        Self { refs: Ranges::default(), from, max_ranges, limits }
    }

    /// Returns true if no more ranges are accepted. The first ref that was not looked at is [`Self::end`].
    pub(crate) fn is_full(&self) -> bool {
        self.refs.as_slice().len() >= self.max_ranges
    }

    /// Returns the end of the last range.
    pub(crate) fn end(&self) -> u32 {
        self.refs.as_slice().last().map_or(self.from, |last| last.end)
    }

    /// Appends the refs of a range that are not before the first one; see [`Ranges::push`]. Does nothing if the
    /// collector is full.
    #[inline]
    pub(crate) fn push(&mut self, range: Range<u32>) -> Result<(), SelectError> {
        let range = range.start.max(self.from)..range.end;
        if range.is_empty() || self.is_full() {
            return Ok(());
        }
        if self.refs.is_at_capacity() {
            self.grow()?;
        }
        self.refs.push(range);
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> Result<(), SelectError> {
        let len = self.refs.as_slice().len() as u64;
        let most = (self.max_ranges as u64).saturating_sub(len).max(1);
        // Twice as many, as a vector does, so that few copies are made.
        let wanted = len.max(FIRST_RANGES).min(most);
        let granted = self.limits.reserve(len * RANGE_LEN, wanted * RANGE_LEN, RANGE_LEN)? / RANGE_LEN;
        let reserved = self.refs.try_reserve(granted as usize);
        reserved.map_err(|_| SelectError::OutOfMemory { series: self.refs.count().into() })
    }

    pub(crate) fn into_refs(self) -> Ranges {
        self.refs
    }
}
