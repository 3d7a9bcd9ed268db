//! Selected series by their values: those that have data in a time range, and those with some numbers.

use std::ops::RangeInclusive;

use chronoxide_format::SeriesRef;
use chronoxide_format::view::{SeriesColumn, TimeRange};

use crate::conditions::collector::Collector;
use crate::rows::times::{Times, has_all_data_in};
use crate::{Ranges, Searcher, SelectError, Selection};

/// Series between two checks of the limits.
const SERIES_PER_CHECK: u32 = 1 << 16;

impl<'data> Searcher<'_, 'data> {
    /// Selects only series that have data from `range.start` to before `range.end` (ns since 1970): the first and the
    /// last time of the series, in the columns `chronoxide.first_time` and `chronoxide.last_time`, meet the range. A
    /// series whose times are unknown is selected; [`Searcher::is_untimed`] tells whether a block lacks these columns.
    ///
    /// Queries then cost some 30 ns per 256 series more where all or none have data, and a few nanoseconds per series
    /// elsewhere; names, values and tallies as much as those of a [`Selection`](crate::Selection). Nothing is compared
    /// if the range has all data of the block.
    #[must_use]
    pub fn within(self, range: TimeRange) -> Self {
        Self { time: Some(range), ..self }
    }

    /// Returns true if series without data in the time range may be selected: the block has data outside of it, and no
    /// first and last times of its series.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read.
    pub fn is_untimed(&self) -> Result<bool, SelectError> {
        match self.time {
            Some(range) => Ok(!has_all_data_in(self.view, range)? && self.times()?.is_none()),
            None => Ok(false),
        }
    }

    /// Returns the times that series are selected by, or `None` if all are.
    pub(crate) fn times(&self) -> Result<Option<Times<'data>>, SelectError> {
        match self.time {
            Some(range) => Ok(Times::open(self.view, range)?),
            None => Ok(None),
        }
    }

    /// Returns those of some series whose value of a series column is in one of some ranges; none if the block does not
    /// have the column. Costs as much as the comparisons of [`Searcher::within`], per range.
    ///
    /// # Errors
    /// As [`Searcher::select`], except that the number of series is not limited.
    pub fn with_values(
        &self,
        series: &Selection,
        column: &str,
        ranges: &[RangeInclusive<i128>],
    ) -> Result<Selection, SelectError> {
        let Some(column) = self.view.series_column(column)? else { return Ok(Selection::default()) };
        let mut found = Selection::default();
        for values in ranges {
            let within = self.collect(&column, (values, false), series.refs(), usize::MAX)?;
            found = found.union(&Selection::from_ranges(within.into_refs()));
        }
        Ok(found)
    }

    /// Returns those of some series that have data in the time range, in at most `max_ranges` ranges, and the first ref
    /// that was not looked at, or `None` if all were.
    pub(crate) fn in_time(
        &self,
        series: Ranges,
        max_ranges: usize,
    ) -> Result<(Ranges, Option<SeriesRef>), SelectError> {
        let (mut kept, mut next) = (series, None);
        for (column, values) in self.times()?.iter().flat_map(Times::conditions) {
            let within = self.collect(&column, (&values, true), &kept, max_ranges)?;
            if within.is_full() {
                next = Some(SeriesRef(within.end()));
            }
            kept = within.into_refs();
        }
        Ok((kept, next))
    }

    /// Collects those of some series whose value is in a range, or that have none if that is accepted, too.
    fn collect(
        &self,
        column: &SeriesColumn<'_>,
        (values, has_absent): (&RangeInclusive<i128>, bool),
        series: &Ranges,
        max_ranges: usize,
    ) -> Result<Collector<'_>, SelectError> {
        let mut within = Collector::new(0, max_ranges, self.limits);
        let mut filter = column.filter(values, has_absent);
        for range in series.in_steps(SERIES_PER_CHECK) {
            self.limits.check()?;
            if within.is_full() {
                break;
            }
            let range = SeriesRef(range.start)..SeriesRef(range.end);
            filter.ranges(range, |range| within.push(range))?;
        }
        Ok(within)
    }
}
