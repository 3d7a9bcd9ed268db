//! [`Times`]: first and last times of series, and the range that is asked for.

use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::view::{BlockView, SeriesColumn, TimeRange};
use chronoxide_format::{Error, SeriesRef};

/// A time range, and the columns of a block that say which series have data in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'data> {
    range: TimeRange,
    first: Option<SeriesColumn<'data>>,
    last: Option<SeriesColumn<'data>>,
}

impl<'data> Times<'data> {
    /// Opens the columns, or returns `None` if all series of the block count: all its data is in the range, or it has
    /// no times of series.
    pub(crate) fn open(view: &BlockView<'data>, range: TimeRange) -> Result<Option<Self>, Error> {
        if has_all_data_in(view, range)? {
            return Ok(None);
        }
        let column = |name| -> Result<Option<SeriesColumn<'data>>, Error> {
            Ok(view.series_column(name)?.filter(|column| column.value_type() == ValueType::I64))
        };
        let (first, last) = (column(FIRST_TIME)?, column(LAST_TIME)?);
        Ok((first.is_some() || last.is_some()).then_some(Self { range, first, last }))
    }

    /// Returns the columns, each with the values of series that have data in the range.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = (SeriesColumn<'data>, std::ops::RangeInclusive<i128>)> {
        let Self { range, first, last } = *self;
        let last = last.map(|last| (last, i128::from(range.start)..=i128::MAX));
        let first = first.map(|first| (first, i128::MIN..=i128::from(range.end) - 1));
        last.into_iter().chain(first)
    }

    /// Returns true if a series has data in the range, or its times are unknown.
    pub(crate) fn has(&self, series: SeriesRef) -> Result<bool, Error> {
        for (column, values) in self.conditions() {
            if let Some(Value::I64(time)) = column.get(series)?
                && !values.contains(&time.into())
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns true if a block has data in a range only.
pub(crate) fn has_all_data_in(view: &BlockView<'_>, range: TimeRange) -> Result<bool, Error> {
    let data = view.meta()?.time();
    Ok(data.is_some_and(|data| range.start <= data.start && data.end <= range.end))
}
