//! [`Explorer`]: counts of metrics, labels and values, asked for one by one.

use std::cmp::Reverse;

use chronoxide_select::Tally;

use super::churn::churn;
use super::figures::{Churn, ValueSeries};
use super::labels::{counts, remaining};
use super::metrics::{MetricCount, count, matchers};
use super::subject::Subject;
use super::times::Times;
use super::usage::Used;
use super::{Input, Options, ReportError};

/// Counts of the selected series of an input, with equal labels once. Lists begin with the largest count; equal counts
/// are in the order of names.
pub struct Explorer<'data> {
    subject: Subject<'data>,
    used: Option<Used<'data>>,
}

/// Series to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'m> {
    /// All series.
    All,
    /// The series of a metric; `None` stands for series without a name.
    Metric(Option<&'m str>),
}

/// Numbers of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelCount {
    /// Name.
    pub name: String,
    /// Number of distinct values.
    pub values: u64,
    /// Number of series with the label.
    pub series: u64,
}

/// Calls `explore` with the counts of an input. Several blocks, and selected series, are merged in memory first.
///
/// # Errors
/// As [`report`](super::report()).
///
/// # Panics
/// If the input has no blocks.
pub fn explore<T>(
    input: &Input,
    options: &Options<'_>,
    explore: impl FnOnce(&Explorer<'_>) -> T,
) -> Result<T, ReportError> {
    let union = input.union(options, false)?;
    let subject = Subject::new(input.counted(union.as_ref()))?;
    let used = options.queries.map(|queries| Used::new(&subject, queries)).transpose()?;
    Ok(explore(&Explorer { subject, used }))
}

impl Explorer<'_> {
    /// Returns the number of series.
    #[must_use]
    pub fn series(&self) -> u64 {
        self.subject.series_count()
    }

    /// Returns all metrics, the most series first. Costs a few nanoseconds per row and list of the block.
    ///
    /// # Errors
    /// The block is damaged in a byte that was read.
    pub fn metrics(&self) -> Result<Vec<MetricCount>, ReportError> {
        count(&self.subject)
    }

    /// Returns the number of queries that use a metric; `None` if no queries are given.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn metric_queries(&self, metric: Option<&str>) -> Result<Option<u64>, ReportError> {
        let Some(used) = &self.used else { return Ok(None) };
        Ok(Some(used.metric(&self.subject, metric)?.queries))
    }

    /// Returns the number of queries that use a label, 0 if none needs it of the metric in `scope`; `None` if no
    /// queries are given.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn label_queries(&self, scope: Scope<'_>, label: &str) -> Result<Option<u64>, ReportError> {
        let Some(used) = &self.used else { return Ok(None) };
        let is_needed = match scope {
            Scope::All => true,
            Scope::Metric(metric) => used.is_needed(&self.subject, metric, label)?,
        };
        Ok(Some(if is_needed { used.label(&self.subject, label)?.queries } else { 0 }))
    }

    /// Returns the labels that the series in `scope` have, the most values first. Costs a query for a metric.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn labels(&self, scope: Scope<'_>) -> Result<Vec<LabelCount>, ReportError> {
        let labels = self.with_tally(scope, |tally| counts(&self.subject, tally))?;
        Ok(labels.into_iter().map(|(label, _)| label).collect())
    }

    /// Returns all values of a label in some series, the most series first; none if they do not have the label. Costs a
    /// query for a metric, and a string per value.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn values(&self, scope: Scope<'_>, label: &str) -> Result<Vec<ValueSeries>, ReportError> {
        let Some(key) = self.subject.view().key(label)? else { return Ok(Vec::new()) };
        self.with_tally(scope, |tally| {
            let value = |(code, series)| Ok(ValueSeries { value: self.subject.value(key, code)?.to_owned(), series });
            let mut values = tally.values(key).map(value).collect::<Result<Vec<_>, ReportError>>()?;
            values.sort_by(|a, b| (Reverse(a.series), &a.value).cmp(&(Reverse(b.series), &b.value)));
            Ok(values)
        })
    }

    /// Counts the series that came and went, by label pair and by label; at most `first` of each. `None` if the times
    /// of series are unknown, or too short.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn churn(&self, first: usize) -> Result<Option<Churn>, ReportError> {
        let times = Times::read(self.subject.view())?;
        Ok(times.map(|times| churn(&self.subject, &times, first)).transpose()?.flatten())
    }

    /// Counts the series that remain when a label is dropped. Costs some 20 ns per row and list of the block.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub fn remaining(&self, label: &str) -> Result<u64, ReportError> {
        remaining(&self.subject, &[label])
    }

    /// Calls `each` with the counts of some series.
    fn with_tally<T>(
        &self,
        scope: Scope<'_>,
        each: impl FnOnce(&Tally) -> Result<T, ReportError>,
    ) -> Result<T, ReportError> {
        match scope {
            Scope::All => each(&self.subject.tally),
            Scope::Metric(metric) => each(&self.subject.searcher()?.tally(&matchers(metric))?),
        }
    }
}
