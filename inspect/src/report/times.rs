//! Series over time, from the first and last time of each: [`SeriesTimes`].

use chronoxide_dump::summary;
use chronoxide_format::SeriesRef;
use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value};
use chronoxide_format::view::{BlockView, SeriesColumn, TimeRange};

use super::figures::{SeriesTimes, Slot};

/// Most slots.
const MAX_SLOTS: i128 = 200;

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// Lengths of slots. Times that need more are divided into as many slots as there may be.
const LENGTHS: [i128; 9] = [
    60 * SECOND,
    300 * SECOND,
    900 * SECOND,
    3_600 * SECOND,
    21_600 * SECOND,
    86_400 * SECOND,
    7 * 86_400 * SECOND,
    28 * 86_400 * SECOND,
    364 * 86_400 * SECOND,
];

/// Counts the series that had data in each of some slots of time; `None` if the block does not know their times.
///
/// # Errors
/// `Corrupt` if a byte that was read is damaged.
pub(super) fn series_times(view: &BlockView<'_>) -> chronoxide_format::Result<Option<SeriesTimes>> {
    let (Some(first), Some(last)) = (view.series_column(FIRST_TIME)?, view.series_column(LAST_TIME)?) else {
        return Ok(None);
    };
    let (columns, series_count) = ([first, last], view.series_count()?);
    let mut span: Option<(i64, i64)> = None;
    let mut unknown = 0;
    each_times(&columns, series_count, |times| match (times, &mut span) {
        (None, _) => unknown += 1,
        (Some((first, last)), Some(span)) => *span = (span.0.min(first), span.1.max(last)),
        (Some(times), None) => span = Some(times),
    })?;
    let Some((start, end)) = span.map(|(start, end)| (i128::from(start), i128::from(end))) else {
        return Ok(Some(SeriesTimes { unknown, slots: Vec::new() }));
    };
    let number = |time: i128, length: i128| time.div_euclid(length);
    let count = |length: i128| number(end, length) - number(start, length) + 1;
    let length = LENGTHS.into_iter().find(|&length| count(length) <= MAX_SLOTS);
    let length = length.unwrap_or((end - start) / (MAX_SLOTS - 1) + 1);
    let first_slot = number(start, length);
    let slot = |time: i64| usize::try_from(number(time.into(), length) - first_slot).unwrap_or_default();
    // Series whose data begins in a slot, and of those whose data ended in the slot before.
    let mut came = vec![0_u64; usize::try_from(count(length)).unwrap_or_default()];
    let mut gone = came.clone();
    each_times(&columns, series_count, |times| {
        let Some((first, last)) = times else { return };
        if let Some(came) = came.get_mut(slot(first)) {
            *came += 1;
        }
        if let Some(gone) = gone.get_mut(slot(last) + 1) {
            *gone += 1;
        }
    })?;
    let (mut slots, mut series) = (Vec::with_capacity(came.len()), 0);
    for ((place, new), gone) in (0..).zip(came).zip(gone) {
        series = series + new - gone;
        let start = (first_slot + place) * length;
        let time = |time: i128| i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX });
        let shown = summary::times(TimeRange { start: time(start), end: time(start + length) });
        slots.push(Slot { start: shown.start, end: shown.end, series, new, gone });
    }
    Ok(Some(SeriesTimes { unknown, slots }))
}

/// Calls `each` with the first and last time of each series, if both are known and in order.
fn each_times(
    [first, last]: &[SeriesColumn<'_>; 2],
    series: u32,
    mut each: impl FnMut(Option<(i64, i64)>),
) -> chronoxide_format::Result<()> {
    /// Series whose times are read at once.
    const STEP: u32 = 1 << 12;
    let mut firsts = Vec::new();
    for start in (0..series).step_by(STEP as usize) {
        let range = SeriesRef(start)..SeriesRef(series.min(start.saturating_add(STEP)));
        firsts.clear();
        first.read(range.clone(), |_, time| {
            firsts.push(time);
            Ok::<(), chronoxide_format::Error>(())
        })?;
        let mut firsts = firsts.iter();
        last.read(range, |_, last| {
            each(match (firsts.next(), last) {
                (Some(Some(Value::I64(first))), Some(Value::I64(last))) if *first <= last => Some((*first, last)),
                _ => None,
            });
            Ok::<(), chronoxide_format::Error>(())
        })?;
    }
    Ok(())
}
