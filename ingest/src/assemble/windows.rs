//! Series of each window: [`Windows`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use bitvec::vec::BitVec;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::{BuildError, SeriesValues};
use chronoxide_labels::StoreRef;

use super::error::AssembleError;
use super::series_times::{PLACE_BITS, SeriesTimes, sealing_bytes};
use super::series_values::{InputColumns, OwnedValue, WindowValues};

/// Overhead per window in bytes: nodes of the tree and the allocator.
const WINDOW_OVERHEAD: usize = 96;

/// Memory per start of a window in bytes, with nodes of the tree.
const SEEN_LEN: usize = 24;

/// Bits by which a set grows.
const BITS_PER_GROWTH: usize = 512;

/// First and last time, both inclusive, in nanoseconds since 1970.
pub(super) type Times = (i64, i64);

/// Error of exceeding the maximum number of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyWindows {
    /// Starts of the first and the last window.
    pub(super) starts: Times,
}

/// Windows that have points.
#[derive(Debug, Default)]
pub(super) struct Windows {
    length: Option<NonZeroU64>,
    /// Maximum number of windows of a run.
    max_count: usize,
    /// Step of the times of series in nanoseconds. If `None`, windows do not keep them.
    step: Option<NonZeroU64>,
    /// Starts of all windows so far, including those already taken.
    seen: BTreeSet<i64>,
    /// Number of series without a time that were added although windows are cut.
    untimed_count: u64,
    /// Memory of the sets of series and metadata, and of the times of series, in bytes.
    set_bytes: usize,
    /// First and last time of all windows that were not taken yet.
    times: Option<Times>,
    /// Upper bound of the numbers of series with times in these windows.
    timed_count: usize,
    /// Memory per series in bytes of the columns of a window while it is sealed.
    sealing_bytes: usize,
    /// Windows in order of arrival.
    windows: Vec<Window>,
    /// Windows by their starts. `None` holds points without a time, or all points if blocks are not cut by time.
    by_start: BTreeMap<Option<i64>, usize>,
    /// Window of the last point, which usually is that of the next.
    last: usize,
    /// Windows with points of the current metric.
    touched: Vec<usize>,
    /// Metadata that belongs to all windows.
    everywhere: BitVec,
}

/// Window and its series.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: Option<i64>,
    /// Times of its points.
    times: Option<Times>,
    series_times: SeriesTimes,
    pub(super) values: WindowValues,
    /// Series, by their number in the store.
    pub(super) series: BitVec,
    /// Metadata of its metrics, by number.
    pub(super) metrics: BitVec,
}

impl Windows {
    /// Creates a set without windows. With a `step`, it keeps the times of each series.
    pub(super) fn new(length: Option<NonZeroU64>, max_count: usize, step: Option<NonZeroU64>) -> Self {
        Self { length, max_count, step, ..Self::default() }
    }

    /// Returns the number of windows that these times touch.
    pub(super) fn span(&self, times: Option<Times>) -> u64 {
        let (Some(length), Some((first, last))) = (self.length, times) else { return 1 };
        let number = |time| i128::from(time).div_euclid(i128::from(length.get()));
        u64::try_from(number(last) - number(first) + 1).unwrap_or(u64::MAX)
    }

    /// Adds a series to the windows in which it has points.
    #[inline]
    pub(super) fn add(&mut self, series: StoreRef, times: Option<Times>) -> Result<(), TooManyWindows> {
        let (Some(length), Some((first, last))) = (self.length, times) else {
            self.untimed_count += u64::from(self.length.is_some());
            return self.add_to(None, series, times);
        };
        let length = i128::from(length.get());
        let (first_window, last_window) = (i128::from(first).div_euclid(length), i128::from(last).div_euclid(length));
        let clamp = |time: i128| i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX });
        if last_window - first_window >= self.max_count as i128 {
            return Err(TooManyWindows { starts: (clamp(first_window * length), clamp(last_window * length)) });
        }
        for number in first_window..=last_window {
            let start = number * length;
            let end = start + length - 1;
            let inside = (first.max(clamp(start)), last.min(clamp(end)));
            self.add_to(Some(clamp(start)), series, Some(inside))?;
        }
        Ok(())
    }

    /// Adds values of a series to the windows to which it was added with these times.
    pub(super) fn add_values(
        &mut self,
        series: StoreRef,
        times: Option<Times>,
        values: &[(usize, OwnedValue)],
        columns: &mut InputColumns,
    ) -> Result<(), AssembleError> {
        if values.is_empty() {
            return Ok(());
        }
        let starts = match (self.length, times) {
            (Some(length), Some((first, last))) => {
                // Windows lie between the ends of time, although their starts may not.
                let length = i128::from(length.get());
                let start = i128::from(first).div_euclid(length) * length;
                let start = i64::try_from(start).unwrap_or(i64::MIN);
                (std::ops::Bound::Included(Some(start)), std::ops::Bound::Included(Some(last)))
            }
            _ => (std::ops::Bound::Included(None), std::ops::Bound::Included(None)),
        };
        for (_, &window) in self.by_start.range(starts) {
            for (column, value) in values {
                self.set_bytes += self.windows[window].values.add(series.index(), (*column, value), columns)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn add_to(&mut self, start: Option<i64>, series: StoreRef, times: Option<Times>) -> Result<(), TooManyWindows> {
        if self.windows.get(self.last).is_none_or(|window| window.start != start) {
            self.last = self.window(start)?;
        }
        let window = &mut self.windows[self.last];
        self.set_bytes += window.add(series, times);
        if let Some(step) = self.step
            && let Some(times) = times
        {
            self.set_bytes += window.series_times.add(series.index(), times);
            self.note_times(series, times, step);
        }
        if self.touched.last() != Some(&self.last) {
            self.touched.push(self.last);
        }
        Ok(())
    }

    /// Returns the window with this start, and adds it if it is new.
    fn window(&mut self, start: Option<i64>) -> Result<usize, TooManyWindows> {
        let place = match self.by_start.entry(start) {
            Entry::Occupied(window) => return Ok(*window.get()),
            Entry::Vacant(place) => place,
        };
        if let Some(start) = start
            && self.seen.insert(start)
            && self.seen.len() > self.max_count
        {
            let ends = self.seen.first().zip(self.seen.last()).unwrap_or((&start, &start));
            return Err(TooManyWindows { starts: (*ends.0, *ends.1) });
        }
        self.windows.push(Window::new(start));
        Ok(*place.insert(self.windows.len() - 1))
    }

    /// Notes what the memory of sealing depends on.
    #[inline]
    fn note_times(&mut self, series: StoreRef, (first, last): Times, step: NonZeroU64) {
        if series.index() >= self.timed_count {
            self.timed_count = (series.index() + 1).next_multiple_of(BITS_PER_GROWTH);
        }
        if self.times.is_none_or(|times| first < times.0 || times.1 < last) {
            let (least, most) = self.times.unwrap_or((first, last));
            let (least, most) = (least.min(first), most.max(last));
            let range = most.abs_diff(least).min(self.length.map_or(u64::MAX, NonZeroU64::get));
            self.times = Some((least, most));
            self.sealing_bytes = sealing_bytes(range, step);
        }
    }

    /// Returns the memory of a series with some values in each of its windows in bytes.
    pub(super) fn bytes_per_window(&self, series: StoreRef, value_count: usize) -> usize {
        let places = if self.step.is_some() { PLACE_BITS } else { 0 };
        series.index() * (1 + places + value_count * PLACE_BITS) / 8
    }

    /// Begins a metric: the points that follow belong to it.
    pub(super) fn metric_begins(&mut self) {
        self.touched.clear();
    }

    /// Adds the metadata of the metric to all windows in which it had points, or to all windows if these were taken in
    /// the meantime.
    pub(super) fn metric_ends(&mut self, metric: usize) {
        if self.touched.is_empty() {
            self.everywhere(metric);
        }
        for &window in &self.touched {
            self.set_bytes += set(&mut self.windows[window].metrics, metric);
        }
    }

    /// Adds the metadata to all windows.
    pub(super) fn everywhere(&mut self, metric: usize) {
        self.set_bytes += set(&mut self.everywhere, metric);
    }

    /// Returns the number of series added without a time, if windows are cut.
    pub(super) fn untimed_count(&self) -> u64 {
        self.untimed_count
    }

    /// Returns the number of windows that were not taken yet.
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// Takes the windows in order of their starts, and the metadata that belongs to all of them.
    pub(super) fn take(&mut self) -> (Vec<Window>, BitVec) {
        self.touched.clear();
        (self.set_bytes, self.times, self.timed_count) = (0, None, 0);
        self.by_start.clear();
        let mut windows = std::mem::take(&mut self.windows);
        windows.sort_unstable_by_key(|window| window.start);
        (windows, std::mem::take(&mut self.everywhere))
    }

    /// Returns the memory in bytes, with the columns of a window while it is sealed. Costs no pass over the windows.
    pub(super) fn estimated_bytes(&self) -> usize {
        // The list of windows is up to half empty.
        let per_window = WINDOW_OVERHEAD + 2 * size_of::<Window>();
        self.set_bytes
            + self.timed_count * self.sealing_bytes
            + self.windows.len() * per_window
            + self.seen.len() * SEEN_LEN
            + self.touched.capacity() * size_of::<usize>()
    }
}

impl Window {
    fn new(start: Option<i64>) -> Self {
        Self { start, ..Self::default() }
    }

    /// Adds a series. Returns the growth of memory in bytes.
    #[inline]
    fn add(&mut self, series: StoreRef, times: Option<Times>) -> usize {
        let grown = set(&mut self.series, series.index());
        if let Some((first, last)) = times {
            let (least, most) = self.times.unwrap_or((first, last));
            self.times = Some((least.min(first), most.max(last)));
        }
        grown
    }

    /// Returns the columns of the times of its series, in steps of `step` nanoseconds, and forgets these times.
    ///
    /// # Errors
    /// `SeriesColumn` for a step that is not an `i64`.
    pub(super) fn take_columns(&mut self, step: Option<NonZeroU64>) -> Result<Vec<SeriesValues>, BuildError> {
        let times = std::mem::take(&mut self.series_times);
        step.map_or(Ok(Vec::new()), |step| times.columns(step))
    }

    /// Returns the metadata of its metrics and the metadata of all windows.
    pub(super) fn all_metrics(&self, everywhere: &BitVec) -> BitVec {
        let mut all = everywhere.clone();
        for metric in self.metrics.iter_ones() {
            set(&mut all, metric);
        }
        all
    }

    /// Returns the half-open range of the times of its points.
    pub(super) fn time_range(&self) -> Option<TimeRange> {
        self.times.map(|(first, last)| TimeRange { start: first, end: last.saturating_add(1) })
    }

    /// Returns the range of the window.
    pub(super) fn window_range(&self, length: Option<NonZeroU64>) -> Option<TimeRange> {
        let (start, length) = (self.start?, i64::try_from(length?.get()).unwrap_or(i64::MAX));
        Some(TimeRange { start, end: start.saturating_add(length) })
    }
}

/// Sets a bit. Returns the growth of memory in bytes.
#[inline]
fn set(bits: &mut BitVec, position: usize) -> usize {
    let mut grown = 0;
    if bits.len() <= position {
        let before = bits.capacity();
        // Series arrive in the order of their numbers: growing for each of them would cost more than setting its bit.
        bits.resize((position + 1).next_multiple_of(BITS_PER_GROWTH), false);
        grown = (bits.capacity() - before) / 8;
    }
    bits.set(position, true);
    grown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chronoxide_format::column::Value;
    use chronoxide_testkit::random::Random;

    use super::*;

    /// Start, times, series and metadata of a window.
    type Content = (Option<i64>, Option<Times>, Vec<usize>, Vec<usize>);

    fn contents(windows: &mut Windows) -> Vec<Content> {
        let (taken, everywhere) = windows.take();
        let ones = |bits: &BitVec| bits.iter_ones().collect();
        let content =
            |window: Window| (window.start, window.times, ones(&window.series), ones(&window.all_metrics(&everywhere)));
        taken.into_iter().map(content).collect()
    }

    #[test]
    fn a_series_is_in_each_window_in_which_it_has_a_point() {
        let mut windows = Windows::new(NonZeroU64::new(10), 1_000, None);
        let mut model: BTreeMap<Option<i64>, BTreeSet<usize>> = BTreeMap::new();
        for (series, time) in [(0, 25), (1, 7), (0, 29), (2, 30), (1, -1), (0, 7), (3, 0), (3, -10), (2, -11)] {
            windows.add(StoreRef(series), Some((time, time))).unwrap();
            model.entry(Some(time.div_euclid(10) * 10)).or_default().insert(series as usize);
        }
        windows.add(StoreRef(5), None).unwrap();
        model.entry(None).or_default().insert(5);
        let found = contents(&mut windows);
        let sets: BTreeMap<Option<i64>, BTreeSet<usize>> =
            found.iter().map(|(start, _, series, _)| (*start, series.iter().copied().collect())).collect();
        assert_eq!(sets, model);
        assert!(found.is_sorted_by_key(|window| window.0), "{found:?}");
        assert_eq!(found.last().unwrap().1, Some((30, 30)));
        assert_eq!(contents(&mut windows), []);
    }

    #[test]
    fn points_over_a_time_are_in_all_windows_that_it_touches() {
        let mut windows = Windows::new(NonZeroU64::new(10), 1_000, None);
        windows.add(StoreRef(0), Some((5, 30))).unwrap();
        let found = contents(&mut windows);
        assert_eq!(
            found,
            [
                (Some(0), Some((5, 9)), vec![0], vec![]),
                (Some(10), Some((10, 19)), vec![0], vec![]),
                (Some(20), Some((20, 29)), vec![0], vec![]),
                (Some(30), Some((30, 30)), vec![0], vec![])
            ]
        );
        let all = Some((i64::MIN, i64::MAX));
        assert_eq!(windows.span(all), 1_844_674_407_370_955_162);
        let starts = (i64::MIN, i64::MAX / 10 * 10);
        assert_eq!(windows.add(StoreRef(0), all), Err(TooManyWindows { starts }));
    }

    #[test]
    fn windows_of_a_run_are_bounded_also_when_they_are_taken() {
        let mut windows = Windows::new(NonZeroU64::new(10), 3, None);
        let mut add = |time| windows.add(StoreRef(0), Some((time, time)));
        for time in [5, 15, 9, 25] {
            assert_eq!(add(time), Ok(()), "{time}");
        }
        assert_eq!(add(-1), Err(TooManyWindows { starts: (-10, 20) }));

        let mut windows = Windows::new(NonZeroU64::new(10), 3, None);
        for time in [5, 15, 25] {
            windows.add(StoreRef(0), Some((time, time))).unwrap();
            assert_eq!(contents(&mut windows).len(), 1);
        }
        windows.add(StoreRef(0), Some((7, 7))).expect("it was seen before");
        assert_eq!(windows.add(StoreRef(0), Some((35, 35))), Err(TooManyWindows { starts: (0, 30) }));
    }

    #[test]
    fn memory_grows_with_the_sets_and_is_gone_with_the_windows() {
        let mut windows = Windows::new(NonZeroU64::new(10), 1_000, None);
        for window in 0..100 {
            windows.add(StoreRef(80_000), Some((window * 10, window * 10))).unwrap();
        }
        assert!(windows.estimated_bytes() >= 100 * 80_000 / 8, "{}", windows.estimated_bytes());
        drop(windows.take());
        assert!(windows.estimated_bytes() < 10_000, "{}", windows.estimated_bytes());
    }

    /// Times of each series of the windows, in steps of 1, by the start of the window.
    fn times_of(windows: &mut Windows) -> BTreeMap<Option<i64>, BTreeMap<usize, Times>> {
        let (taken, _) = windows.take();
        let one = |mut window: Window| {
            let columns = window.take_columns(NonZeroU64::new(1)).unwrap();
            let time = |column: usize, series: usize| match columns.get(column)?.get(series as u32)? {
                Value::I64(time) => Some(time),
                other => panic!("{other:?} is no time"),
            };
            let times = |series| Some((series, (time(0, series)?, time(1, series)?)));
            (window.start, window.series.iter_ones().filter_map(times).collect())
        };
        taken.into_iter().map(one).collect()
    }

    #[test]
    fn random_points_give_the_times_of_a_plain_model() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let length = NonZeroU64::new([7, 100, 1_000][seed as usize % 3]).filter(|_| !seed.is_multiple_of(4));
            let mut windows = Windows::new(length, 100_000, NonZeroU64::new(1));
            // A cut in between: the store and its numbers begin again.
            for _ in 0..2 {
                let mut model: BTreeMap<Option<i64>, BTreeMap<usize, Times>> = BTreeMap::new();
                for _ in 0..random.below(500) {
                    let series = random.below(300);
                    let first = random.below(2_000) as i64 - 1_000;
                    let last = first + [0, random.below(30) as i64][random.below(2)];
                    let times = (random.below(10) > 0).then_some((first, last));
                    windows.add(StoreRef(series as u32), times).unwrap();
                    let start = |time: i64| length.map(|length| time - time.rem_euclid(length.get() as i64));
                    let Some((first, last)) = times else {
                        model.entry(None).or_default();
                        continue;
                    };
                    // One time after the other.
                    for time in first..=last {
                        let known = model.entry(start(time)).or_default().entry(series).or_insert((time, time));
                        *known = (known.0.min(time), known.1.max(time));
                    }
                }
                assert_eq!(times_of(&mut windows), model, "seed {seed}");
            }
        }
    }

    #[test]
    fn windows_without_a_step_have_no_columns() {
        let mut windows = Windows::new(None, 1_000, None);
        windows.add(StoreRef(0), Some((5, 6))).unwrap();
        for mut window in windows.take().0 {
            assert_eq!(window.take_columns(None).unwrap().len(), 0);
        }
    }

    #[test]
    fn memory_counts_the_times_of_series_and_their_columns() {
        let bytes = |step, count: u32, end: i64| {
            let mut windows = Windows::new(None, 1_000, step);
            for series in 0..count {
                windows.add(StoreRef(series), Some((0, end))).unwrap();
            }
            let bytes = windows.estimated_bytes();
            drop(windows.take());
            assert!(windows.estimated_bytes() < 10_000, "{}", windows.estimated_bytes());
            bytes
        };
        let (hour, minute) = (3_600_000_000_000, NonZeroU64::new(60_000_000_000));
        let [without, with, long] =
            [bytes(None, 100_000, hour), bytes(minute, 100_000, hour), bytes(minute, 100_000, 1_000 * hour)];
        // 16 bytes of times, two numbers of 8 bytes, and their packed form.
        assert!(with - without >= 100_000 * (16 + 2 * 8 + 2), "{without} {with}");
        assert!(long > with, "{with} {long}");
        assert!(bytes(minute, 50_000, hour) < with * 2 / 3);
    }

    #[test]
    fn metadata_are_in_the_windows_of_their_points() {
        let mut windows = Windows::new(NonZeroU64::new(10), 1_000, None);
        windows.metric_begins();
        windows.add(StoreRef(0), Some((15, 15))).unwrap();
        windows.add(StoreRef(1), Some((5, 5))).unwrap();
        windows.metric_ends(0);
        windows.metric_begins();
        windows.add(StoreRef(2), Some((16, 16))).unwrap();
        windows.metric_ends(1);
        let found = contents(&mut windows);
        assert_eq!(found.into_iter().map(|window| window.3).collect::<Vec<_>>(), [vec![0], vec![0, 1]]);
    }

    #[test]
    fn windows_at_the_ends_of_time_stay_in_it() {
        let length = NonZeroU64::new(u64::MAX);
        let mut windows = Windows::new(length, 1_000, None);
        windows.add(StoreRef(0), Some((i64::MIN, i64::MIN))).unwrap();
        windows.add(StoreRef(0), Some((i64::MAX, i64::MAX))).unwrap();
        for window in windows.take().0 {
            let (time, range) = (window.time_range().unwrap(), window.window_range(length).unwrap());
            assert!(range.start <= time.start && time.end <= range.end, "{range:?} {time:?}");
        }
    }
}
