//! Metrics of a report.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chronoxide_format::KeyId;
use chronoxide_format::metadata::MetricType;
use chronoxide_select::{Matcher, Operator};
use rayon::prelude::*;

use super::ReportError;
use super::figures::{LabelValues, Metric, OtherMetrics};
use super::labels::counts;
use super::subject::{METRIC, Subject};
use super::usage::Used;
use super::values::{most_series, value_series};

/// Maximum number of listed labels per metric.
const MAX_LABELS: usize = 8;
/// Maximum number of metrics that can be suggested.
const MAX_LARGEST: usize = 4;
/// Maximum number of listed values per metric.
const MAX_VALUES: usize = 12;

/// Metrics of all series.
pub(super) struct Metrics {
    pub(super) listed: Vec<Metric>,
    pub(super) others: OtherMetrics,
    /// Metrics with a name and the most series.
    pub(super) largest: Vec<MetricCount>,
    /// Number of metrics with a name.
    pub(super) count: u64,
    /// Bytes of the names and values of all labels of all series.
    pub(super) text_bytes: u64,
}

/// Numbers of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricCount {
    /// Name; `None` for series without a name.
    pub metric: Option<String>,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
}

impl Metrics {
    /// Lists the metrics that are among the `first` by series or by bytes. Costs a query per listed metric.
    pub(super) fn new(subject: &Subject<'_>, first: usize, used: Option<&Used<'_>>) -> Result<Self, ReportError> {
        let counted = count(subject)?;
        let is_listed = largest(&counted, first);
        let mut metrics = Self {
            listed: Vec::new(),
            others: OtherMetrics::default(),
            largest: candidates(subject, &counted, used)?,
            count: counted.iter().filter(|one| one.metric.is_some()).count() as u64,
            text_bytes: counted.iter().map(|one| one.text_bytes).sum(),
        };
        let mut listed = Vec::new();
        for (place, one) in counted.into_iter().enumerate() {
            if is_listed.contains(&place) {
                listed.push(one);
            } else {
                metrics.others.metrics += 1;
                metrics.others.series += one.series;
                metrics.others.text_bytes += one.text_bytes;
            }
        }
        metrics.listed = listed.into_par_iter().map(|one| describe(subject, one, used)).collect::<Result<_, _>>()?;
        Ok(metrics)
    }
}

/// Counts series and bytes of each metric. Returns the metrics with the most series first.
pub(super) fn count(subject: &Subject<'_>) -> Result<Vec<MetricCount>, ReportError> {
    let key = subject.metric_key()?;
    // No key has this number: then the bytes are those of series without a name.
    let bytes = subject.searcher()?.text_bytes(key.unwrap_or(KeyId(u32::MAX)))?;
    let mut unnamed = subject.series_count();
    let mut counted = Vec::new();
    if let Some(key) = key {
        for (code, series) in subject.tally.values(key) {
            unnamed = unnamed.saturating_sub(series);
            let text_bytes = bytes.by_code().get(code as usize).copied().unwrap_or_default();
            counted.push(MetricCount { metric: Some(subject.value(key, code)?.to_owned()), series, text_bytes });
        }
    }
    if unnamed > 0 {
        counted.push(MetricCount { metric: None, series: unnamed, text_bytes: bytes.absent() });
    }
    counted.sort_by(|a, b| (Reverse(a.series), &a.metric).cmp(&(Reverse(b.series), &b.metric)));
    Ok(counted)
}

/// Returns the places of the first metrics by series and of the first by bytes. `counted` is in the order of series.
fn largest(counted: &[MetricCount], first: usize) -> BTreeSet<usize> {
    let mut by_bytes: Vec<usize> = (0..counted.len()).collect();
    by_bytes.sort_by_key(|&place| (Reverse(counted[place].text_bytes), place));
    (0..counted.len().min(first)).chain(by_bytes.into_iter().take(first)).collect()
}

/// Returns metrics that may be suggested: those with a name and the most series, and unused ones if queries are known.
fn candidates(
    subject: &Subject<'_>,
    counted: &[MetricCount],
    used: Option<&Used<'_>>,
) -> Result<Vec<MetricCount>, ReportError> {
    let mut candidates = Vec::new();
    let mut unused = 0;
    for metric in counted.iter().filter(|one| one.metric.is_some()) {
        let is_largest = candidates.len() - unused < MAX_LARGEST;
        let is_unused = match used {
            Some(used) => used.metric(subject, metric.metric.as_deref())?.queries == 0,
            None => false,
        };
        if is_unused && unused < MAX_LARGEST {
            unused += 1;
        } else if !is_largest {
            continue;
        }
        candidates.push(metric.clone());
    }
    Ok(candidates)
}

/// Adds labels and metadata of a metric.
fn describe(subject: &Subject<'_>, counted: MetricCount, used: Option<&Used<'_>>) -> Result<Metric, ReportError> {
    let MetricCount { metric, series, text_bytes } = counted;
    let tally = subject.searcher()?.tally(&matchers(metric.as_deref()))?;
    let mut labels = counts(subject, &tally)?;
    labels.retain(|(label, _)| label.name != METRIC);
    let (mut values, mut other_values, mut other_series, mut without) = (Vec::new(), 0, 0, 0);
    if let Some(&(_, key)) = labels.first() {
        let mut series_of_values: Vec<(u32, u64)> = tally.values(key).collect();
        without = series.saturating_sub(series_of_values.iter().map(|(_, series)| series).sum::<u64>());
        let rest = most_series(&mut series_of_values, MAX_VALUES);
        other_values = rest.len() as u64;
        other_series = rest.iter().map(|(_, series)| series).sum();
        for (code, series) in series_of_values.into_iter().take(MAX_VALUES) {
            values.push(value_series(subject.value(key, code)?, series));
        }
    }
    let metadata = match &metric {
        Some(name) => subject.view().metric_metadata()?.find(name)?.next().transpose()?,
        None => None,
    };
    let used_by = used.map(|used| used.metric(subject, metric.as_deref())).transpose()?;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(Metric {
        metric_type: metadata
            .map(|row| row.metric_type)
            .filter(|&known| known != MetricType::Unknown)
            .map(MetricType::name),
        unit: metadata.and_then(|row| known(row.unit)),
        help: metadata.and_then(|row| known(row.description)),
        labels: (labels.into_iter().take(MAX_LABELS))
            .map(|(label, _)| LabelValues { name: label.name, values: label.values })
            .collect(),
        metric,
        series,
        text_bytes,
        values,
        other_values,
        other_series,
        without,
        used_by,
    })
}

/// Returns matchers of the series of a metric; `None` stands for series without a name.
pub(super) fn matchers(metric: Option<&str>) -> Vec<Matcher> {
    // An equality has no pattern that could be wrong.
    Matcher::new(METRIC, Operator::Equal, metric.unwrap_or_default()).into_iter().collect()
}
