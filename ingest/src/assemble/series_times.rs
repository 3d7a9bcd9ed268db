//! First and last time of each series of a window: [`SeriesTimes`].

use std::num::NonZeroU64;

use chronoxide_format::column::{ColumnMerge, FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::write::{BuildError, ColumnWriter, SeriesValues};

use super::windows::Times;

/// Series of a page. A late point of a series with a high number costs one page, and a window of all series no more
/// than a dense list.
const PAGE_LEN: usize = 32;

/// Pages by which the list of pages grows.
const PAGES_PER_GROWTH: usize = 16;

/// Bits per series that a window may use for the places of pages.
pub(super) const PLACE_BITS: usize = size_of::<Option<Box<Page>>>() * 8 / PAGE_LEN;

/// Overhead of an allocated page in bytes.
const PAGE_OVERHEAD: usize = 16;

/// Times of a series without a point: any time is less than the first and greater than the last.
const ABSENT: Times = (i64::MAX, i64::MIN);

type Page = [Times; PAGE_LEN];

/// First and last time of series, by their number in the store.
#[derive(Debug, Default)]
pub(super) struct SeriesTimes {
    pages: Vec<Option<Box<Page>>>,
}

impl SeriesTimes {
    /// Extends the times of a series. Returns the growth of memory in bytes.
    #[inline]
    pub(super) fn add(&mut self, series: usize, (first, last): Times) -> usize {
        let (number, place) = (series / PAGE_LEN, series % PAGE_LEN);
        if let Some(Some(page)) = self.pages.get_mut(number)
            && let Some(times) = page.get_mut(place)
        {
            *times = (times.0.min(first), times.1.max(last));
            return 0;
        }
        self.add_page(number, place, (first, last))
    }

    /// Adds a page with the times of one series. Returns the growth of memory in bytes.
    #[cold]
    fn add_page(&mut self, number: usize, place: usize, times: Times) -> usize {
        let before = self.pages.capacity();
        if self.pages.len() <= number {
            self.pages.resize((number + 1).next_multiple_of(PAGES_PER_GROWTH), None);
        }
        let mut page = Box::new([ABSENT; PAGE_LEN]);
        page[place] = times;
        self.pages[number] = Some(page);
        let places = (self.pages.capacity() - before) * size_of::<Option<Box<Page>>>();
        places + size_of::<Page>() + PAGE_OVERHEAD
    }

    /// Returns each series with a time, in the order of their numbers.
    fn iter(&self) -> impl Iterator<Item = (u32, Times)> {
        let pages = (0..).step_by(PAGE_LEN).zip(&self.pages);
        let all = pages.flat_map(|(first, page)| (first..).zip(page.iter().flat_map(|page| page.iter().copied())));
        all.filter(|(_, times)| *times != ABSENT)
    }

    /// Returns the columns of first and last times, rounded outwards to multiples of `step` nanoseconds. A column
    /// without values is left out.
    ///
    /// # Errors
    /// `SeriesColumn` for a step that is not an `i64`.
    pub(super) fn columns(&self, step: NonZeroU64) -> Result<Vec<SeriesValues>, BuildError> {
        let column = |name, merge| ColumnWriter::with_unit(name, ValueType::I64, merge, step.get());
        let mut first_times = SeriesValues::new(column(FIRST_TIME, ColumnMerge::Min)?);
        let mut last_times = SeriesValues::new(column(LAST_TIME, ColumnMerge::Max)?);
        let step = step.get().cast_signed();
        let mut counts = [0_u32; 2];
        for (series, (first, last)) in self.iter() {
            if let Some(first) = round_down(first, step) {
                first_times.set(series, Value::I64(first))?;
                counts[0] += 1;
            }
            if let Some(last) = round_up(last, step) {
                last_times.set(series, Value::I64(last))?;
                counts[1] += 1;
            }
        }
        let columns = [first_times, last_times].into_iter().zip(counts);
        Ok(columns.filter(|(_, count)| *count > 0).map(|(column, _)| column).collect())
    }
}

/// Returns the greatest multiple of `step` that is at most `time`, or `None` if it is not an `i64`.
fn round_down(time: i64, step: i64) -> Option<i64> {
    time.div_euclid(step).checked_mul(step)
}

/// Returns the least multiple of `step` that is at least `time`, or `None` if it is not an `i64`, or if the time may be
/// greater than `time`.
fn round_up(time: i64, step: i64) -> Option<i64> {
    // Readers of captures give the last time of all as the one before it, since the range of a block is half-open.
    if time >= i64::MAX - 1 {
        return None;
    }
    let rest = time.rem_euclid(step);
    if rest == 0 { Some(time) } else { time.checked_add(step - rest) }
}

/// Returns the memory per series in bytes of the columns and of packing them, if the times of a window lie within
/// `range` nanoseconds.
pub(super) fn sealing_bytes(range: u64, step: NonZeroU64) -> usize {
    /// The two columns have 8 bytes and a bit per series, in lists that have grown to twice their content. Their order
    /// in the block takes another 8 bytes.
    const PER_SERIES: usize = 2 * 2 * 9 + 8;
    /// Packed bytes are in a list that has grown to twice its content, in two sections, in a block that has grown in
    /// the same way, and in the block as it is read back.
    const COPIES: usize = 7;
    /// Bits of a number's share of the record of its group.
    const GROUP_BITS: usize = 3;

    // A shift instead of a division gives at most one bit more. Another bit is for an absent time.
    let bits = 2 + (u64::BITS - (range >> step.ilog2()).leading_zeros()) as usize;
    PER_SERIES + 2 * COPIES * (bits.min(u64::BITS as usize) + GROUP_BITS).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chronoxide_testkit::random::Random;

    use super::*;

    fn step(nanoseconds: u64) -> NonZeroU64 {
        NonZeroU64::new(nanoseconds).unwrap()
    }

    #[test]
    fn random_times_give_the_columns_of_a_plain_model() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let unit = [1, 7, 60, 1_000][seed as usize % 4];
            let (mut times, mut model) = (SeriesTimes::default(), BTreeMap::new());
            let mut bytes = 0;
            for _ in 0..random.below(400) {
                let series = random.below([20, 200, 20_000][seed as usize % 3]) as u32;
                let time = random.below(10_000) as i64 - 5_000;
                let last = time + random.below(50) as i64;
                bytes += times.add(series as usize, (time, last));
                let known = model.entry(series).or_insert((time, last));
                *known = (known.0.min(time), known.1.max(last));
            }
            assert_eq!(times.iter().collect::<Vec<_>>(), model.clone().into_iter().collect::<Vec<_>>(), "{seed}");
            let used = times.pages.capacity() * 8 + times.pages.iter().flatten().count() * (size_of::<Page>() + 16);
            assert_eq!(bytes, used, "seed {seed}");

            let columns = times.columns(step(unit)).unwrap();
            if model.is_empty() {
                assert_eq!(columns.len(), 0, "seed {seed}");
                continue;
            }
            let unit = unit as i64;
            assert_eq!(columns.iter().map(SeriesValues::name).collect::<Vec<_>>(), [FIRST_TIME, LAST_TIME]);
            for series in 0..20_100 {
                let found = columns.iter().map(|column| column.get(series)).collect::<Vec<_>>();
                let expected = model.get(&series).map(|&(first, last)| {
                    // The nearest multiples, found by trial.
                    let down = (0..unit).map(|less| first - less).find(|time| time % unit == 0).unwrap();
                    let up = (0..unit).map(|more| last + more).find(|time| time % unit == 0).unwrap();
                    [down, up].map(Value::I64)
                });
                assert_eq!(found, expected.map_or(vec![None; 2], |values| values.map(Some).to_vec()), "seed {seed}");
            }
        }
    }

    #[test]
    fn times_are_rounded_outwards() {
        for (time, unit, down, up) in [
            (0, 60, Some(0), Some(0)),
            (1, 60, Some(0), Some(60)),
            (59, 60, Some(0), Some(60)),
            (60, 60, Some(60), Some(60)),
            (-1, 60, Some(-60), Some(0)),
            (-60, 60, Some(-60), Some(-60)),
            (-61, 60, Some(-120), Some(-60)),
            (i64::MIN, 1, Some(i64::MIN), Some(i64::MIN)),
            // -2^63 is 8 less than a multiple of 10.
            (i64::MIN, 10, None, Some(i64::MIN + 8)),
            (i64::MIN, 1 << 62, Some(i64::MIN), Some(i64::MIN)),
            (i64::MIN, i64::MAX, None, Some(-i64::MAX)),
            (i64::MAX, 10, Some(i64::MAX - 7), None),
            (i64::MAX - 2, 10, Some(i64::MAX - 7), None),
            (i64::MAX - 7, 10, Some(i64::MAX - 7), Some(i64::MAX - 7)),
            // The time of all is given as the one before it.
            (i64::MAX - 1, 1, Some(i64::MAX - 1), None),
            (i64::MAX - 2, 1, Some(i64::MAX - 2), Some(i64::MAX - 2)),
            (5, i64::MAX, Some(0), Some(i64::MAX)),
        ] {
            assert_eq!((round_down(time, unit), round_up(time, unit)), (down, up), "{time} by {unit}");
        }
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let mut times = SeriesTimes::default();
        times.add(3, (i64::MIN, i64::MIN));
        let names = |times: &SeriesTimes| {
            times.columns(step(10)).unwrap().iter().map(|column| column.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&times), [LAST_TIME]);
        assert_eq!(names(&SeriesTimes::default()), [""; 0]);
        times.add(4, (i64::MAX - 1, i64::MAX - 1));
        assert_eq!(names(&times), [FIRST_TIME, LAST_TIME]);
        assert!(
            matches!(times.columns(step(u64::MAX)), Err(BuildError::SeriesColumn { name, .. }) if name == FIRST_TIME)
        );
    }

    #[test]
    fn packing_takes_more_memory_for_more_steps() {
        let minute = step(60_000_000_000);
        let hour = 3_600_000_000_000;
        // 6 bits of 60 minutes, one of the shift and one for absent times, in whole bytes.
        assert_eq!(sealing_bytes(hour, minute), 44 + 14 * 2);
        assert_eq!(sealing_bytes(0, minute), 44 + 14);
        assert_eq!(sealing_bytes(u64::MAX, step(1)), 44 + 14 * 9);
    }
}
