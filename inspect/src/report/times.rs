//! Series over time, from the first and last time of each: [`Times`].

use chronoxide_dump::summary;
use chronoxide_format::SeriesRef;
use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value};
use chronoxide_format::view::{BlockView, SeriesColumn, TimeRange};
use chronoxide_select::Selection;

use super::figures::{SeriesTimes, Slot};

/// Most slots.
const MAX_SLOTS: i128 = 200;

/// Slots for each slot of an edge.
const SLOTS_PER_EDGE: i128 = 20;

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

/// First and last times of the series of a block, and slots of equal length that have them all.
pub(super) struct Times<'v> {
    columns: [SeriesColumn<'v>; 2],
    series_count: u32,
    /// Number of series whose times are unknown.
    unknown: u64,
    slots: Option<Slots>,
}

/// Slots of time.
#[derive(Clone, Copy)]
struct Slots {
    /// Length in nanoseconds.
    length: i128,
    /// Number of the first slot since 1970.
    first: i128,
    count: i128,
}

impl Slots {
    /// Chooses slots for times from `start` to `end`.
    fn new(start: i64, end: i64) -> Self {
        let (start, end) = (i128::from(start), i128::from(end));
        let number = |time: i128, length: i128| time.div_euclid(length);
        let count = |length: i128| number(end, length) - number(start, length) + 1;
        let length = LENGTHS.into_iter().find(|&length| count(length) <= MAX_SLOTS);
        let length = length.unwrap_or((end - start) / (MAX_SLOTS - 1) + 1);
        Self { length, first: number(start, length), count: count(length) }
    }

    fn slot(&self, time: i64) -> usize {
        usize::try_from(i128::from(time).div_euclid(self.length) - self.first).unwrap_or_default()
    }

    /// Returns the number of slots at both ends in which data may begin and end: a source that is asked every few
    /// minutes has data in not all of the first ones.
    fn edge(&self) -> usize {
        usize::try_from(self.count / SLOTS_PER_EDGE).unwrap_or_default()
    }

    fn last(&self) -> usize {
        usize::try_from(self.count - 1).unwrap_or_default()
    }
}

/// Series that came and went within the time of a block.
pub(super) struct Changes {
    /// Series whose data begins after the first slots.
    pub(super) new: Selection,
    /// Series whose data ends before the last slots.
    pub(super) gone: Selection,
    /// Time from the first slots to the end, in hours: series can come in it, and go in as much.
    pub(super) hours: f64,
}

impl<'v> Times<'v> {
    /// Reads the times of a block; `None` if it does not know them.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub(super) fn read(view: &BlockView<'v>) -> chronoxide_format::Result<Option<Self>> {
        let (Some(first), Some(last)) = (view.series_column(FIRST_TIME)?, view.series_column(LAST_TIME)?) else {
            return Ok(None);
        };
        let (columns, series_count) = ([first, last], view.series_count()?);
        let mut span: Option<(i64, i64)> = None;
        let mut unknown = 0;
        each_times(&columns, series_count, |_, times| match (times, &mut span) {
            (None, _) => unknown += 1,
            (Some((first, last)), Some(span)) => *span = (span.0.min(first), span.1.max(last)),
            (Some(times), None) => span = Some(times),
        })?;
        let slots = span.map(|(start, end)| Slots::new(start, end));
        Ok(Some(Self { columns, series_count, unknown, slots }))
    }

    /// Counts the series that had data in each slot.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub(super) fn series_times(&self) -> chronoxide_format::Result<SeriesTimes> {
        let Some(slots) = self.slots else {
            return Ok(SeriesTimes { unknown: self.unknown, slots: Vec::new() });
        };
        // Series whose data begins in a slot, and of those whose data ended in the slot before.
        let mut came = vec![0_u64; slots.last() + 1];
        let mut gone = came.clone();
        each_times(&self.columns, self.series_count, |_, times| {
            let Some((first, last)) = times else { return };
            if let Some(came) = came.get_mut(slots.slot(first)) {
                *came += 1;
            }
            if let Some(gone) = gone.get_mut(slots.slot(last) + 1) {
                *gone += 1;
            }
        })?;
        let (mut listed, mut series) = (Vec::with_capacity(came.len()), 0);
        for ((place, new), gone) in (0..).zip(came).zip(gone) {
            series = series + new - gone;
            let start = (slots.first + place) * slots.length;
            let time = |time: i128| i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX });
            let shown = summary::times(TimeRange { start: time(start), end: time(start + slots.length) });
            listed.push(Slot { start: shown.start, end: shown.end, series, new, gone });
        }
        Ok(SeriesTimes { unknown: self.unknown, slots: listed })
    }

    /// Selects the series that came and went; `None` if all times are in one slot.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub(super) fn changes(&self) -> chronoxide_format::Result<Option<Changes>> {
        let Some(slots) = self.slots.filter(|slots| slots.count > 1) else { return Ok(None) };
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        each_times(&self.columns, self.series_count, |series, times| {
            let Some((first, last)) = times else { return };
            if slots.slot(first) > slots.edge() {
                new.push(SeriesRef(series));
            }
            if slots.slot(last) + slots.edge() < slots.last() {
                gone.push(SeriesRef(series));
            }
        })?;
        let hours = (slots.last() - slots.edge()) as f64 * slots.length as f64 / (3_600 * SECOND) as f64;
        Ok(Some(Changes { new: new.into_iter().collect(), gone: gone.into_iter().collect(), hours }))
    }
}

/// Calls `each` with the ref of each series, and its first and last time if both are known and in order.
fn each_times(
    [first, last]: &[SeriesColumn<'_>; 2],
    series: u32,
    mut each: impl FnMut(u32, Option<(i64, i64)>),
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
        last.read(range, |series, last| {
            let times = match (firsts.next(), last) {
                (Some(Some(Value::I64(first))), Some(Value::I64(last))) if *first <= last => Some((*first, last)),
                _ => None,
            };
            each(series.0, times);
            Ok::<(), chronoxide_format::Error>(())
        })?;
    }
    Ok(())
}
