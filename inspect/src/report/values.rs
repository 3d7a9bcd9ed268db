//! Values with the most series.

use std::cmp::Reverse;

use super::figures::ValueSeries;

/// Maximum number of bytes of a shown value.
const MAX_VALUE_LEN: usize = 256;

/// Returns a value and its number of series. A long value is cut, so that a page stays small.
pub(super) fn value_series(value: &str, series: u64) -> ValueSeries {
    let mut shown = value[..value.floor_char_boundary(MAX_VALUE_LEN)].to_owned();
    if shown.len() < value.len() {
        shown.push('…');
    }
    ValueSeries { value: shown, series }
}

/// Sorts counts so that the first `most` have the most series; equal counts are in the order of codes. Returns the
/// others.
pub(super) fn most_series(counts: &mut [(u32, u64)], most: usize) -> &[(u32, u64)] {
    let rank = |&(code, series): &(u32, u64)| (Reverse(series), code);
    let most = most.min(counts.len());
    if most < counts.len() {
        counts.select_nth_unstable_by_key(most, rank);
    }
    let (first, others) = counts.split_at_mut(most);
    first.sort_unstable_by_key(rank);
    others
}
