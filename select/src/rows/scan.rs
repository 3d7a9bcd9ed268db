//! Codes of columns, read in batches, and binary searches that may fail.

use std::ops::Range;

use chronoxide_format::view::{Column, Table};

use crate::{Limits, Ranges, SelectError};

/// Rows that are read at once.
const BATCH: u32 = 256;
/// Codes between two checks of the limits.
const CODES_PER_CHECK: usize = 1 << 14;

/// Calls `each` with the codes of a column in some rows, in batches and in order, each with its first row.
#[inline]
pub(crate) fn each_batch(
    table: &Table<'_, '_>,
    column: &Column,
    rows: Range<u32>,
    mut each: impl FnMut(u32, &[u32]) -> Result<(), SelectError>,
) -> Result<(), SelectError> {
    let mut codes = [0; BATCH as usize];
    let mut first = rows.start;
    while first < rows.end {
        let end = rows.end.min(first.saturating_add(BATCH));
        let codes = &mut codes[..(end - first) as usize];
        table.read_column(first..end, column, codes)?;
        each(first, codes)?;
        first = end;
    }
    Ok(())
}

/// Calls `each` with the code of a column in each of some rows, in order.
pub(crate) fn each_code(
    table: &Table<'_, '_>,
    column: &Column,
    rows: &Ranges,
    limits: &Limits<'_>,
    mut each: impl FnMut(u32) -> Result<(), SelectError>,
) -> Result<(), SelectError> {
    let mut read = 0;
    for rows in rows.as_slice() {
        each_batch(table, column, rows.clone(), |_, codes| {
            for &code in codes {
                each(code)?;
            }
            read += codes.len();
            if read > CODES_PER_CHECK {
                read = 0;
                limits.check()?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the first number of a range that is not before what is searched, or the end of the range.
#[inline]
pub(crate) fn first_not_before(
    range: Range<u32>,
    mut is_before: impl FnMut(u32) -> Result<bool, SelectError>,
) -> Result<u32, SelectError> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}
