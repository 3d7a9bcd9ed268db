//! The selected series of each keyset.

use std::ops::Range;

use chronoxide_format::view::Keyset;

use crate::{Ranges, Searcher, SelectError, Selection};

/// Returns room for one item per selected series. A block of a few bytes can have billions of series.
pub(crate) fn room_for<T>(selection: &Selection) -> Result<Vec<T>, SelectError> {
    room(selection.count().into())
}

/// Returns room for this number of items, one per series or fewer.
pub(crate) fn room<T>(count: u64) -> Result<Vec<T>, SelectError> {
    let mut items = Vec::new();
    match usize::try_from(count).map(|count| items.try_reserve_exact(count)) {
        Ok(Ok(())) => Ok(items),
        _ => Err(SelectError::OutOfMemory { series: count }),
    }
}

/// Returns the rows of a keyset from the first to the last that has one of some places.
pub(crate) fn rows_of(keyset: &Keyset<'_, '_>, places: &Ranges) -> Result<Range<u32>, SelectError> {
    let (Some(first), Some(last)) = (places.as_slice().first(), places.as_slice().last()) else { return Ok(0..0) };
    let ((first_row, _), (last_row, _)) = (keyset.locate(first.start)?, keyset.locate(last.end - 1)?);
    Ok(first_row..last_row.saturating_add(1))
}

/// Calls `each` with each keyset that has selected series, and the places of these in the keyset.
pub(crate) fn for_each_keyset<'a, 'data>(
    searcher: &Searcher<'a, 'data>,
    selection: &Selection,
    mut each: impl FnMut(&Keyset<'data, 'a>, &Ranges) -> Result<(), SelectError>,
) -> Result<(), SelectError> {
    let mut ranges = selection.refs().as_slice().iter().cloned().peekable();
    let mut number = 0;
    while let Some(range) = ranges.peek() {
        let Some(keyset) = searcher.view.keyset(number)? else { break };
        number += 1;
        let first = keyset.first().0;
        let end = first.saturating_add(keyset.series_count());
        if range.start >= end {
            continue;
        }
        searcher.limits.check()?;
        let mut places = Ranges::default();
        while let Some(range) = ranges.peek_mut() {
            places.push(range.start.max(first) - first..range.end.clamp(first, end) - first);
            if range.end > end {
                range.start = end;
                break;
            }
            ranges.next();
            if ranges.peek().is_none_or(|range| range.start >= end) {
                break;
            }
        }
        each(&keyset, &places)?;
    }
    Ok(())
}
