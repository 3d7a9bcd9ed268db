//! [`Cardinality`]: labels and series in numbers, and the largest of them.

use std::cmp::Reverse;

use chronoxide::{Error, Query};
use serde::Serialize;

/// Labels and series of blocks in numbers. Series with equal labels count once, also if several blocks have them. Each
/// list begins with the largest count; equal counts are in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cardinality<'data> {
    /// Number of blocks.
    pub blocks: u64,
    /// Number of series.
    pub series: u64,
    /// Number of label names.
    pub label_names: u64,
    /// Number of distinct pairs of name and value.
    pub label_pairs: u64,
    /// Sum of the number of labels over all series.
    pub labels: u64,
    /// Number of distinct sets of label names.
    pub keysets: u64,
    /// Metrics with the most series.
    pub metrics_by_series: Vec<MetricCount<'data>>,
    /// Label names with the most values.
    pub names_by_values: Vec<NameCount<'data>>,
    /// Label names whose distinct values have the most bytes.
    pub names_by_bytes: Vec<NameCount<'data>>,
    /// Pairs of name and value with the most series.
    pub pairs_by_series: Vec<PairCount<'data>>,
    /// Sets of label names with the most series.
    pub keysets_by_series: Vec<KeysetCount<'data>>,
}

/// Number of series of a metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MetricCount<'data> {
    /// Name of the metric.
    pub metric: &'data str,
    /// Number of series.
    pub series: u64,
}

/// Numbers of a label name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NameCount<'data> {
    /// Name of the label.
    pub name: &'data str,
    /// Number of distinct values.
    pub values: u64,
    /// Sum of the lengths of the distinct values.
    pub bytes: u64,
    /// Number of series with the label.
    pub series: u64,
}

/// Number of series with a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PairCount<'data> {
    /// Name of the label.
    pub name: &'data str,
    /// Value of the label.
    pub value: &'data str,
    /// Number of series.
    pub series: u64,
}

/// Number of series with a set of label names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct KeysetCount<'data> {
    /// Names, in order.
    pub names: Vec<&'data str>,
    /// Number of series.
    pub series: u64,
}

impl<'data> Cardinality<'data> {
    /// Counts the selected series. Lists have at most `first` entries; all entries if there is no limit. Costs as much
    /// as [`Query::cardinality`].
    ///
    /// # Errors
    /// As [`Query::cardinality`].
    pub fn new(query: &Query<'data>, first: Option<usize>) -> Result<Self, Error> {
        let counts = query.cardinality()?;
        let mut cardinality = Self {
            blocks: query.blocks().len() as u64,
            series: counts.series,
            label_names: counts.values.len() as u64,
            labels: counts.labels,
            keysets: counts.keysets.len() as u64,
            ..Self::default()
        };
        let most = first.unwrap_or(usize::MAX);
        let mut metrics = Largest::new(most);
        let (mut by_values, mut by_bytes) = (Largest::new(most), Largest::new(most));
        let mut pairs = Largest::new(most);
        for (&name, series_of_values) in &counts.values {
            let values = series_of_values.len() as u64;
            let bytes = series_of_values.keys().map(|value| value.len() as u64).sum();
            let series = series_of_values.values().sum();
            let count = NameCount { name, values, bytes, series };
            by_values.push(values, count.clone());
            by_bytes.push(bytes, count);
            cardinality.label_pairs += values;
            for (&value, &series) in series_of_values {
                pairs.push(series, PairCount { name, value, series });
                if name == "__name__" {
                    metrics.push(series, MetricCount { metric: value, series });
                }
            }
        }
        let mut keysets = Largest::new(most);
        for (names, series) in counts.keysets {
            keysets.push(series, KeysetCount { names, series });
        }
        cardinality.metrics_by_series = metrics.finish();
        cardinality.names_by_values = by_values.finish();
        cardinality.names_by_bytes = by_bytes.finish();
        cardinality.pairs_by_series = pairs.finish();
        cardinality.keysets_by_series = keysets.finish();
        Ok(cardinality)
    }
}

/// The items with the largest counts.
struct Largest<T> {
    most: usize,
    items: Vec<(Reverse<u64>, T)>,
    /// Items with a smaller count are not among the largest.
    least: u64,
}

impl<T: Ord> Largest<T> {
    fn new(most: usize) -> Self {
        Self { most, items: Vec::new(), least: 0 }
    }

    fn push(&mut self, count: u64, item: T) {
        if count < self.least {
            return;
        }
        self.items.push((Reverse(count), item));
        // Sorting now and then costs less than a heap and holds twice as many items at most.
        if self.items.len() >= self.most.max(1 << 10).saturating_mul(2) {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.items.sort_unstable();
        self.items.truncate(self.most);
        self.least = self.items.last().filter(|_| self.items.len() == self.most).map_or(0, |(least, _)| least.0);
    }

    fn finish(mut self) -> Vec<T> {
        self.shorten();
        self.items.into_iter().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_many_are_kept_in_order() {
        let mut largest = Largest::new(3);
        for number in 0..10_000_u64 {
            largest.push(number * 7_919 % 10_007, number);
        }
        let mut all: Vec<_> = (0..10_000_u64).map(|number| (Reverse(number * 7_919 % 10_007), number)).collect();
        all.sort_unstable();
        let expected: Vec<u64> = all.into_iter().take(3).map(|(_, number)| number).collect();
        assert_eq!(largest.finish(), expected);
        assert!(Largest::<u8>::new(0).finish().is_empty());
    }

    #[test]
    fn equal_counts_are_in_the_order_of_items() {
        let mut largest = Largest::new(usize::MAX);
        for (count, item) in [(1, "c"), (2, "b"), (2, "a"), (3, "d")] {
            largest.push(count, item);
        }
        assert_eq!(largest.finish(), ["d", "a", "b", "c"]);
    }
}
