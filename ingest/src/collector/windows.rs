//! Which series are in which window.

use bitvec::vec::BitVec;
use chronoxide_format::view::TimeRange;
use chronoxide_labels::StoreRef;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Windows that one series may be in at a time.
const MAX_SPAN: i128 = 100_000;

/// First and last time, both included, in nanoseconds since 1970.
pub(super) type Times = (i64, i64);

/// Why times cannot be cut into windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyWindows {
    pub(super) count: i128,
}

/// The windows that have points.
#[derive(Debug, Default)]
pub(super) struct Windows {
    length: Option<NonZeroU64>,
    /// By their starts; without one for points without a time, and for all points where nothing is cut by time.
    windows: BTreeMap<Option<i64>, Window>,
    /// Starts of windows with points of the current metric.
    touched: Vec<Option<i64>>,
    /// Metadata that do not belong to points.
    everywhere: BitVec,
}

/// A window and its series.
#[derive(Debug)]
pub(super) struct Window {
    start: Option<i64>,
    /// The times of its points.
    times: Option<Times>,
    /// Its series, by their number in the store.
    pub(super) series: BitVec,
    /// Metadata of its metrics, by their number.
    pub(super) metrics: BitVec,
}

impl Windows {
    pub(super) fn new(length: Option<NonZeroU64>) -> Self {
        Self { length, ..Self::default() }
    }

    /// Puts a series into the windows in which it has points.
    #[inline]
    pub(super) fn add(&mut self, series: StoreRef, times: Option<Times>) -> Result<(), TooManyWindows> {
        let (Some(length), Some((first, last))) = (self.length, times) else {
            self.add_to(None, series, times);
            return Ok(());
        };
        let length = i128::from(length.get());
        let (first_window, last_window) = (i128::from(first).div_euclid(length), i128::from(last).div_euclid(length));
        let count = last_window - first_window + 1;
        if count > MAX_SPAN {
            return Err(TooManyWindows { count });
        }
        for number in first_window..=last_window {
            let start = number * length;
            let end = start + length - 1;
            let clamp = |time: i128| i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX });
            let inside = (first.max(clamp(start)), last.min(clamp(end)));
            self.add_to(Some(clamp(start)), series, Some(inside));
        }
        Ok(())
    }

    #[inline]
    fn add_to(&mut self, start: Option<i64>, series: StoreRef, times: Option<Times>) {
        self.windows.entry(start).or_insert_with(|| Window::new(start)).add(series, times);
        if self.touched.last() != Some(&start) {
            self.touched.push(start);
        }
    }

    /// A metric begins: its points are those that come from now on.
    pub(super) fn metric_begins(&mut self) {
        self.touched.clear();
    }

    /// The metadata of the metric become part of all windows in which it had points; of all windows, if these were taken
    /// meanwhile.
    pub(super) fn metric_ends(&mut self, metric: usize) {
        if self.touched.is_empty() {
            self.everywhere(metric);
        }
        for start in &self.touched {
            if let Some(window) = self.windows.get_mut(start) {
                set(&mut window.metrics, metric);
            }
        }
    }

    /// The metadata become part of all windows.
    pub(super) fn everywhere(&mut self, metric: usize) {
        set(&mut self.everywhere, metric);
    }

    /// How many windows there are.
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// The windows in the order of their starts. They are gone then.
    pub(super) fn take(&mut self) -> Vec<Window> {
        self.touched.clear();
        let everywhere = std::mem::take(&mut self.everywhere);
        let mut windows: Vec<Window> = std::mem::take(&mut self.windows).into_values().collect();
        for window in &mut windows {
            everywhere.iter_ones().for_each(|metric| set(&mut window.metrics, metric));
        }
        windows
    }

    pub(super) fn memory_used(&self) -> usize {
        let windows = self.windows.values();
        let bits = windows.map(|window| window.series.capacity() + window.metrics.capacity()).sum::<usize>();
        bits / 8 + self.windows.len() * size_of::<(Option<i64>, Window)>()
    }

    pub(super) fn length(&self) -> Option<NonZeroU64> {
        self.length
    }
}

impl Window {
    fn new(start: Option<i64>) -> Self {
        Self { start, times: None, series: BitVec::new(), metrics: BitVec::new() }
    }

    #[inline]
    fn add(&mut self, series: StoreRef, times: Option<Times>) {
        set(&mut self.series, series.index());
        if let Some((first, last)) = times {
            let (least, most) = self.times.unwrap_or((first, last));
            self.times = Some((least.min(first), most.max(last)));
        }
    }

    /// The times of its points; the last one is in the range, and its end is not.
    pub(super) fn time_range(&self) -> Option<TimeRange> {
        self.times.map(|(first, last)| TimeRange { start: first, end: last.saturating_add(1) })
    }

    /// The window itself.
    pub(super) fn window_range(&self, length: Option<NonZeroU64>) -> Option<TimeRange> {
        let (start, length) = (self.start?, i64::try_from(length?.get()).unwrap_or(i64::MAX));
        Some(TimeRange { start, end: start.saturating_add(length) })
    }
}

#[inline]
fn set(bits: &mut BitVec, position: usize) {
    if bits.len() <= position {
        bits.resize(position + 1, false);
    }
    bits.set(position, true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Start, times, series and metadata of a window.
    type Content = (Option<i64>, Option<Times>, Vec<usize>, Vec<usize>);

    fn contents(windows: &mut Windows) -> Vec<Content> {
        let taken = windows.take();
        let ones = |bits: &BitVec| bits.iter_ones().collect();
        taken.iter().map(|window| (window.start, window.times, ones(&window.series), ones(&window.metrics))).collect()
    }

    #[test]
    fn a_series_is_in_each_window_in_which_it_has_a_point() {
        let mut windows = Windows::new(NonZeroU64::new(10));
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
        let mut windows = Windows::new(NonZeroU64::new(10));
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
        assert_eq!(windows.add(StoreRef(0), all), Err(TooManyWindows { count: 1_844_674_407_370_955_162 }));
    }

    #[test]
    fn metadata_are_in_the_windows_of_their_points() {
        let mut windows = Windows::new(NonZeroU64::new(10));
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
        let mut windows = Windows::new(NonZeroU64::new(u64::MAX));
        windows.add(StoreRef(0), Some((i64::MIN, i64::MIN))).unwrap();
        windows.add(StoreRef(0), Some((i64::MAX, i64::MAX))).unwrap();
        let length = windows.length();
        for window in windows.take() {
            let (time, range) = (window.time_range().unwrap(), window.window_range(length).unwrap());
            assert!(range.start <= time.start && time.end <= range.end, "{range:?} {time:?}");
        }
    }
}
