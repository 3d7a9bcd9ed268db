//! [`each_distinct`]: the series of several blocks, equal ones once.

use std::io;

use chronoxide_format::SeriesRef;
use chronoxide_format::view::Series;

use super::Queried;
use crate::InspectError;

/// A selected series.
#[derive(Debug)]
pub struct Found<'s, 'data, 'view> {
    /// Labels, in the order of their names.
    pub labels: &'s [(&'data str, &'data str)],
    /// The series in its block.
    pub series: &'s Series<'data, 'view>,
}

impl Found<'_, '_, '_> {
    /// Returns the ref of the series in its block.
    #[must_use]
    pub const fn series_ref(&self) -> SeriesRef {
        self.series.series_ref()
    }
}

/// Calls `each` with the selected series of all blocks, block by block in the order of refs, until it returns false. Of
/// series with equal labels, only the one in the first block is passed on.
///
/// Each series is looked up in the blocks before its own, from the last to the first, until one has it: a binary search
/// per label and block. Holds one series in memory.
///
/// # Errors
/// Returns the first error of `each`. Damage of a block ends the series of this block and is kept in it.
pub fn each_distinct<'data>(
    blocks: &[Queried<'data>],
    mut each: impl FnMut(&Found<'_, 'data, '_>) -> io::Result<bool>,
) -> io::Result<()> {
    let mut goes_on = true;
    for number in 0..blocks.len() {
        let read = distinct_of_block(blocks, number, |found| {
            goes_on = each(found)?;
            Ok(goes_on)
        });
        match read {
            Ok(()) => {}
            Err(InspectError::Write(error)) => return Err(error),
            Err(damage) => blocks[number].note(damage),
        }
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// Calls `each` with the selected series of a block that no block before it has, until it returns false.
pub(super) fn distinct_of_block<'data>(
    blocks: &[Queried<'data>],
    number: usize,
    mut each: impl FnMut(&Found<'_, 'data, '_>) -> Result<bool, InspectError>,
) -> Result<(), InspectError> {
    let (earlier, block) = (&blocks[..number], &blocks[number]);
    let text = block.text();
    let mut labels = Vec::new();
    block.each_series(|series| {
        labels.clear();
        for label in text.labels(series) {
            labels.push(label?.into());
        }
        // The last block is most likely to have the series: blocks of a folder are in the order of their times.
        if earlier.iter().rev().any(|other| other.has(&labels)) {
            return Ok(true);
        }
        each(&Found { labels: &labels, series })
    })
}
