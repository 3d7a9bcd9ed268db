//! Times of records and points: [`Timings`].

use std::time::Duration;

use hdrhistogram::Histogram;

/// Maximum duration: one minute in nanoseconds. Longer durations are counted as this.
const MAX_NANOSECONDS: u64 = 60_000_000_000;

/// Times of decoding and storing records and points, in nanoseconds with three digits. Reading and decompressing, which
/// happens on another thread, is not included. Waiting for the sealing of a block is included, if
/// one was cut within a record.
#[derive(Debug, Clone)]
pub struct Timings {
    records: Histogram<u64>,
    points: Histogram<u64>,
}

/// Percentiles of durations, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// Number of durations.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// 50th, 90th, 99th and 100th percentile.
    pub percentiles: [u64; 4],
}

impl Default for Timings {
    fn default() -> Self {
        // Valid bounds and digits, so this cannot fail.
        let empty = || Histogram::new_with_bounds(1, MAX_NANOSECONDS, 3).expect("bounds that are allowed");
        Self { records: empty(), points: empty() }
    }
}

impl Timings {
    /// Adds the duration of a record, and its number of points or series.
    pub(crate) fn add(&mut self, took: Duration, points: u64) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.records.saturating_record(nanoseconds);
        // Points of a record have no durations of their own.
        if let Some(each) = nanoseconds.checked_div(points) {
            self.points.saturating_record_n(each, points);
        }
    }

    /// Returns the percentiles of records.
    #[must_use]
    pub fn records(&self) -> Percentiles {
        percentiles(&self.records)
    }

    /// Returns the percentiles of points. The time of a record is divided evenly among its points.
    #[must_use]
    pub fn points(&self) -> Percentiles {
        percentiles(&self.points)
    }
}

fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    Percentiles {
        count: histogram.len(),
        mean: histogram.mean(),
        deviation: histogram.stdev(),
        percentiles: [0.5, 0.9, 0.99, 1.0].map(|quantile| histogram.value_at_quantile(quantile)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_share_the_time_of_their_record() {
        let mut timings = Timings::default();
        timings.add(Duration::from_nanos(1_000), 10);
        timings.add(Duration::from_nanos(3_000), 0);
        timings.add(Duration::from_secs(3_600), 1);
        let (records, points) = (timings.records(), timings.points());
        assert_eq!((records.count, points.count), (3, 11));
        assert_eq!(points.percentiles[..2], [100, 100]);
        let longest = records.percentiles[3] as f64;
        assert!((longest / 60e9 - 1.0).abs() < 0.01, "a minute at most: {longest}");
    }
}
