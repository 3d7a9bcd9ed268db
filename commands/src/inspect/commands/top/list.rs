//! Rows of a view.

use std::cmp::Reverse;

use chronoxide_dump::name::Name;
use chronoxide_inspect::report::{Explorer, LabelCount, MetricCount, ReportError, ValueSeries};
use chronoxide_text::escape::Escaped;
use chronoxide_text::human;

use super::view::{NO_NAME, View};

/// Rows of a view, in the order of [`Explorer`]: the largest count first.
#[derive(Debug)]
pub(super) enum List {
    Metrics(Vec<MetricRow>),
    Labels(Vec<LabelRow>),
    Values(Vec<ValueSeries>),
}

/// A metric.
#[derive(Debug)]
pub(super) struct MetricRow {
    pub(super) count: MetricCount,
    /// Number of queries that use it, if queries are given.
    pub(super) queries: Option<u64>,
}

/// A label.
#[derive(Debug)]
pub(super) struct LabelRow {
    pub(super) count: LabelCount,
    /// Number of series that remain when the label is dropped, once it was counted.
    pub(super) remains: Option<u64>,
    /// Number of queries that use it, if queries are given.
    pub(super) queries: Option<u64>,
}

/// Order of rows. Equal rows keep the order of [`List`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// The largest first number first.
    Count,
    /// Names in the order of their bytes.
    Name,
    /// The largest second number first.
    Second,
}

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) heading: &'static str,
    /// Columns of the screen.
    pub(super) width: usize,
}

const SERIES: Column = Column { heading: "series", width: 13 };
const SHARE: Column = Column { heading: "share", width: 6 };
const BYTES: Column = Column { heading: "label bytes", width: 15 };
const VALUES: Column = Column { heading: "values", width: 13 };
const QUERIES: Column = Column { heading: "queries", width: 7 };

impl List {
    /// Lists the rows of a view.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub(super) fn load(view: &View, explorer: &Explorer<'_>) -> Result<Self, ReportError> {
        Ok(match view {
            View::Metrics => {
                let row = |count: MetricCount| {
                    Ok(MetricRow { queries: explorer.metric_queries(count.metric.as_deref())?, count })
                };
                Self::Metrics(explorer.metrics()?.into_iter().map(row).collect::<Result<_, ReportError>>()?)
            }
            View::Labels(subset) => {
                let row = |count: LabelCount| {
                    let queries = explorer.label_queries(subset.scope(), &count.name)?;
                    Ok(LabelRow { count, remains: None, queries })
                };
                Self::Labels(explorer.labels(subset.scope())?.into_iter().map(row).collect::<Result<_, ReportError>>()?)
            }
            View::Values(subset, label) => Self::Values(explorer.values(subset.scope(), label)?),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Metrics(rows) => rows.len(),
            Self::Labels(rows) => rows.len(),
            Self::Values(rows) => rows.len(),
        }
    }

    /// Returns the name of a row; `None` for series without a name of a metric.
    pub(super) fn name(&self, row: usize) -> Option<&str> {
        match self {
            Self::Metrics(rows) => rows[row].count.metric.as_deref(),
            Self::Labels(rows) => Some(&rows[row].count.name),
            Self::Values(rows) => Some(&rows[row].value),
        }
    }

    /// Returns the name of a row as text without characters that control a terminal.
    pub(super) fn name_text(&self, row: usize) -> String {
        match (self, self.name(row)) {
            (_, None) => NO_NAME.to_owned(),
            (Self::Values(_), Some(value)) => Escaped(value).to_string(),
            (_, Some(name)) => Name(name).to_string(),
        }
    }

    /// Returns the first number of a row: its series, or the distinct values of a label.
    pub(super) fn count(&self, row: usize) -> u64 {
        match self {
            Self::Metrics(rows) => rows[row].count.series,
            Self::Labels(rows) => rows[row].count.values,
            Self::Values(rows) => rows[row].series,
        }
    }

    /// Returns the number of series of a row.
    pub(super) fn series(&self, row: usize) -> u64 {
        match self {
            Self::Labels(rows) => rows[row].count.series,
            _ => self.count(row),
        }
    }

    /// Returns the number of queries that use a row, if queries are given.
    pub(super) fn queries(&self, row: usize) -> Option<u64> {
        match self {
            Self::Metrics(rows) => rows.get(row)?.queries,
            Self::Labels(rows) => rows.get(row)?.queries,
            Self::Values(_) => None,
        }
    }

    /// Returns the columns of numbers.
    pub(super) fn columns(&self) -> &'static [Column] {
        match self {
            Self::Metrics(_) if self.queries(0).is_some() => &[SERIES, SHARE, BYTES, QUERIES],
            Self::Metrics(_) => &[SERIES, SHARE, BYTES],
            Self::Labels(_) if self.queries(0).is_some() => &[VALUES, SERIES, SHARE, QUERIES],
            Self::Labels(_) => &[VALUES, SERIES, SHARE],
            Self::Values(_) => &[SERIES, SHARE],
        }
    }

    /// Returns the numbers of a row as text, one per column. `total` is the number of series of the view.
    pub(super) fn numbers(&self, row: usize, total: u64) -> Vec<String> {
        let (count, share) = (human::count(self.count(row)), human::share(self.series(row), total));
        let mut numbers = match self {
            Self::Metrics(rows) => vec![count, share, human::count(rows[row].count.text_bytes)],
            Self::Labels(rows) => vec![count, human::count(rows[row].count.series), share],
            Self::Values(_) => vec![count, share],
        };
        numbers.extend(self.queries(row).map(human::count));
        numbers
    }

    /// Returns the rows in an order. Costs a comparison sort, but nothing for [`Sort::Count`].
    pub(super) fn sorted(&self, sort: Sort) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).collect();
        match sort {
            Sort::Count => {}
            Sort::Name => rows.sort_by_key(|&row| self.name(row as usize)),
            Sort::Second => rows.sort_by_key(|&row| match self {
                Self::Metrics(metrics) => Reverse(metrics[row as usize].count.text_bytes),
                _ => Reverse(self.series(row as usize)),
            }),
        }
        rows
    }

    /// Returns the order after another, and wraps around.
    pub(super) fn next_sort(&self, sort: Sort) -> Sort {
        match (sort, self) {
            (Sort::Count, _) => Sort::Name,
            (Sort::Name, Self::Values(_)) | (Sort::Second, _) => Sort::Count,
            (Sort::Name, _) => Sort::Second,
        }
    }

    /// Returns the heading of the column that an order compares.
    pub(super) fn sort_text(&self, sort: Sort) -> &'static str {
        match (sort, self) {
            (Sort::Name, Self::Values(_)) => "value",
            (Sort::Name, _) => "name",
            (Sort::Count, _) => self.columns()[0].heading,
            (Sort::Second, Self::Metrics(_)) => "label bytes",
            (Sort::Second, _) => "series",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_none_and_all_read_as_such() {
        for (part, total, text) in [
            (0, 0, "-"),
            (0, 7, "0%"),
            (7, 7, "100%"),
            (1, 3, "33.3%"),
            (1, 75_000_000, "<0.1%"),
            (74_999_999, 75_000_000, ">99.9%"),
            (1, 2_000, "0.1%"),
            (1_998, 2_000, "99.9%"),
        ] {
            assert_eq!(human::share(part, total), text, "{part} of {total}");
            assert!(human::share(part, total).len() <= SHARE.width, "{part} of {total}");
        }
    }

    fn metrics() -> List {
        let metric = |name: Option<&str>, series, text_bytes| MetricRow {
            count: MetricCount { metric: name.map(str::to_owned), series, text_bytes },
            queries: None,
        };
        List::Metrics(vec![metric(Some("b"), 5, 10), metric(None, 3, 99), metric(Some("a"), 3, 99)])
    }

    #[test]
    fn orders_are_by_count_by_name_and_by_the_second_number() {
        let list = metrics();
        assert_eq!(list.sorted(Sort::Count), [0, 1, 2]);
        assert_eq!(list.sorted(Sort::Name), [1, 2, 0], "series without a name are first");
        assert_eq!(list.sorted(Sort::Second), [1, 2, 0], "equal numbers keep their order");
        let orders = [Sort::Count, Sort::Name, Sort::Second];
        assert_eq!(orders.map(|sort| list.next_sort(sort)), [Sort::Name, Sort::Second, Sort::Count]);
        assert_eq!(orders.map(|sort| list.sort_text(sort)), ["series", "name", "label bytes"]);
        assert_eq!(List::Values(Vec::new()).next_sort(Sort::Name), Sort::Count, "values have one number");
    }

    #[test]
    fn numbers_have_a_column_each() {
        let list = metrics();
        assert_eq!(list.numbers(0, 11), ["5", "45.5%", "10"]);
        assert_eq!(list.name_text(1), "(no __name__)");
        let label = LabelCount { name: "pod".to_owned(), values: 1_234, series: 2_468 };
        let labels = List::Labels(vec![LabelRow { count: label, remains: None, queries: None }]);
        assert_eq!(labels.numbers(0, 4_936), ["1,234", "2,468", "50.0%"]);
        let label = LabelCount { name: "pod".to_owned(), values: 1, series: 2 };
        let used = List::Labels(vec![LabelRow { count: label, remains: None, queries: Some(3) }]);
        assert_eq!(used.numbers(0, 2), ["1", "2", "100%", "3"]);
        for list in [&list, &labels, &used] {
            assert_eq!(list.numbers(0, 1).len(), list.columns().len());
        }
    }
}
