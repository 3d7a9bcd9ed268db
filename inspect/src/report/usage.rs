//! Metrics and labels that queries use, and those that may go.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chronoxide_format::KeyId;
use chronoxide_select::{Labels as Kept, Operator, Selection, Selector};
use chronoxide_usage::{BlockUsage, Queries, Unused};
use rayon::prelude::*;

use super::figures::{LabelUse, MetricSums, MetricUse, SelectorUse, UnusedMetric, Usage, UsedBy};
use super::labels::counts;
use super::metrics::{MetricCount, count, matchers};
use super::subject::{METRIC, Subject};
use super::suggestions::KEPT;
use super::{Input, Options, ReportError};

/// Places of queries that are named.
const MAX_PLACES: usize = 8;
/// Labels that are tried one by one for whether series differ without them.
const MAX_TRIED: usize = 20;

/// Labels that tell targets apart: those of the next target would be equal to those of another one without them.
const TARGET: [&str; 2] = ["instance", "job"];

/// Metrics that a server makes itself, which relabelling does not see.
const MADE: [&str; 10] = [
    "ALERTS",
    "ALERTS_FOR_STATE",
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "scrape_samples_post_metric_relabeling",
    "scrape_series_added",
    "scrape_body_size_bytes",
    "scrape_sample_limit",
    "scrape_timeout_seconds",
];

/// Queries, and what they use of the counted series.
pub(super) struct Used<'q> {
    pub(super) queries: &'q Queries,
    usage: BlockUsage,
}

/// Counts the metrics and labels of the selected series that queries use. Lists at most `options.first` metrics of each
/// kind.
///
/// Costs a count by labels per distinct selector of the queries, and one per listed metric. Several blocks, and
/// selected series, are merged in memory first.
///
/// # Errors
/// As [`report`](super::report()).
///
/// # Panics
/// If the input has no blocks.
pub fn usage(input: &Input, queries: &Queries, options: &Options<'_>) -> Result<Usage, ReportError> {
    let union = input.union(options, false)?;
    let subject = Subject::new(input.counted(union.as_ref()))?;
    Used::new(&subject, queries)?.figures(&subject, options.first)
}

impl<'q> Used<'q> {
    pub(super) fn new(subject: &Subject<'_>, queries: &'q Queries) -> Result<Self, ReportError> {
        Ok(Self { queries, usage: BlockUsage::new(&subject.searcher()?, queries)? })
    }

    /// Returns the use of a metric; `None` stands for series without a name.
    pub(super) fn metric(&self, subject: &Subject<'_>, name: Option<&str>) -> Result<UsedBy, ReportError> {
        let code = subject.metric_code(name)?;
        Ok(self.by(self.usage.metric(code).map(|metric| &metric.queries)))
    }

    /// Returns the use of a label.
    pub(super) fn label(&self, subject: &Subject<'_>, name: &str) -> Result<UsedBy, ReportError> {
        self.labels(subject, &[name])
    }

    /// Returns the use of any of some labels.
    pub(super) fn labels(&self, subject: &Subject<'_>, names: &[&str]) -> Result<UsedBy, ReportError> {
        let mut queries = BTreeSet::new();
        for name in names {
            let key = subject.view().key(name)?;
            queries.extend(key.and_then(|key| self.usage.label(key)).into_iter().flat_map(|label| &label.queries));
        }
        Ok(self.by(Some(&queries)))
    }

    /// Returns true if a query needs a label of a metric.
    pub(super) fn is_needed(
        &self,
        subject: &Subject<'_>,
        metric: Option<&str>,
        label: &str,
    ) -> Result<bool, ReportError> {
        let code = subject.metric_code(metric)?;
        Ok(subject.view().key(label)?.is_some_and(|key| self.usage.is_needed(code, key)))
    }

    fn by(&self, numbers: Option<&BTreeSet<usize>>) -> UsedBy {
        let mut used = UsedBy::default();
        for query in numbers.into_iter().flatten().filter_map(|&number| self.queries.queries.get(number)) {
            used.queries += 1;
            used.asked += query.count;
            if used.places.len() < MAX_PLACES {
                used.places.push(query.place.clone());
            }
        }
        used
    }

    /// Returns all figures.
    pub(super) fn figures(&self, subject: &Subject<'_>, first: usize) -> Result<Usage, ReportError> {
        let metrics = count(subject)?;
        let (mut used, mut unused) = (Vec::new(), Vec::new());
        for metric in metrics {
            let code = subject.metric_code(metric.metric.as_deref())?;
            if self.usage.metric(code).is_some() { used.push((metric, code)) } else { unused.push(metric) }
        }
        let labels = self.label_uses(subject)?;
        let sums_of_unused = sums(&unused);
        let unused: Vec<UnusedMetric> = unused.into_iter().map(|metric| self.unused_metric(metric)).collect();
        let staying = unused.iter().filter(|metric| metric.reason_to_stay().is_some());
        let staying = staying.map(|metric| metric.metric.as_deref());
        let staying = staying.chain(used.iter().map(|(metric, _)| metric.metric.as_deref()));
        let UnusedLabels { droppable, distinguishing } = UnusedLabels::new(subject, &labels, staying)?;
        let without_series = (self.usage.without_series().iter())
            .map(|(selector, queries)| SelectorUse {
                selector: selector.clone(),
                recorded_by: self.recorded_by(selector),
                used_by: self.by(Some(queries)),
            })
            .collect();
        Ok(Usage {
            files: self.queries.files,
            queries: self.queries.queries.len() as u64,
            asked: self.queries.queries.iter().map(|query| query.count).sum(),
            unread: self.queries.unread.clone(),
            other_languages: self.queries.other_languages.clone(),
            ignored: self.queries.ignored.clone(),
            skipped: self.queries.skipped.clone(),
            other_lines: self.queries.other_lines,
            used: sums(used.iter().map(|(metric, _)| metric)),
            unused: sums_of_unused,
            metrics: (used.par_iter().take(first))
                .map(|(metric, code)| self.describe(subject, metric, *code))
                .collect::<Result<_, _>>()?,
            unused_metrics: unused.into_iter().take(first).collect(),
            labels,
            droppable_labels: droppable,
            distinguishing_labels: distinguishing,
            without_series,
        })
    }

    /// Returns the recording rule that makes the metric of a selector.
    fn recorded_by(&self, selector: &str) -> Option<String> {
        let selector = Selector::parse_any(selector).ok()?;
        let of_name = selector.matchers().iter().find(|matcher| matcher.name() == METRIC)?;
        let place = (of_name.operator() == Operator::Equal).then(|| self.queries.recorded.get(of_name.value()))?;
        place.cloned()
    }

    fn unused_metric(&self, metric: MetricCount) -> UnusedMetric {
        let MetricCount { metric, series, text_bytes } = metric;
        let recorded_by = metric.as_ref().and_then(|name| self.queries.recorded.get(name)).cloned();
        UnusedMetric { metric, series, text_bytes, recorded_by }
    }

    /// Describes a used metric: labels that no query needs of it, and the series that remain without these.
    fn describe(
        &self,
        subject: &Subject<'_>,
        metric: &MetricCount,
        code: Option<u32>,
    ) -> Result<MetricUse, ReportError> {
        let (searcher, matchers) = (subject.searcher()?, matchers(metric.metric.as_deref()));
        let unneeded = |(label, key): &(super::LabelCount, KeyId)| {
            !KEPT.contains(&label.name.as_str()) && !self.usage.is_needed(code, *key)
        };
        let labels = counts(subject, &searcher.tally(&matchers)?)?;
        let unneeded: Vec<String> = labels.into_iter().filter(unneeded).map(|(label, _)| label.name).collect();
        let remains = if unneeded.is_empty() {
            metric.series
        } else {
            let names: Vec<&str> = unneeded.iter().map(String::as_str).collect();
            searcher.count_groups_of(&searcher.select(&matchers)?, Kept::Without(&names))?
        };
        Ok(MetricUse {
            used_by: self.metric(subject, metric.metric.as_deref())?,
            metric: metric.metric.clone(),
            series: metric.series,
            text_bytes: metric.text_bytes,
            unneeded_labels: unneeded,
            remains,
        })
    }

    /// Returns the labels: unused ones first, then those with the most values.
    fn label_uses(&self, subject: &Subject<'_>) -> Result<Vec<LabelUse>, ReportError> {
        let mut labels = Vec::new();
        for (label, key) in counts(subject, &subject.tally)?.into_iter().filter(|(label, _)| label.name != METRIC) {
            let usage = self.usage.label(key);
            labels.push(LabelUse {
                uses: usage.map(|usage| usage.uses.iter().copied().collect()).unwrap_or_default(),
                used_by: self.by(usage.map(|usage| &usage.queries)),
                name: label.name,
                values: label.values,
                series: label.series,
            });
        }
        labels.sort_by_key(|label| (label.used_by.queries > 0, Reverse(label.values)));
        Ok(labels)
    }
}

/// Unused labels of series that stay when unused metrics are dropped.
#[derive(Default)]
struct UnusedLabels {
    /// Labels that can all be dropped: the series still differ.
    droppable: Vec<String>,
    /// Other labels: without one of them, some series are equal.
    distinguishing: Vec<String>,
}

impl UnusedLabels {
    fn new<'l>(
        subject: &Subject<'_>,
        labels: &'l [LabelUse],
        staying: impl Iterator<Item = Option<&'l str>>,
    ) -> Result<Self, ReportError> {
        let searcher = subject.searcher()?;
        let mut series = Selection::default();
        let mut keys = BTreeSet::new();
        for metric in staying {
            let matchers = matchers(metric);
            series = series.union(&searcher.select(&matchers)?);
            keys.extend(searcher.tally(&matchers)?.keys().map(|key| key.0));
        }
        let mut unused = Vec::new();
        for label in labels.iter().filter(|label| label.used_by.queries == 0) {
            let is_there = subject.view().key(&label.name)?.is_some_and(|key| keys.contains(&key.0));
            if is_there && !KEPT.contains(&label.name.as_str()) && !TARGET.contains(&label.name.as_str()) {
                unused.push(label.name.as_str());
            }
        }
        // Functions drop the name of a metric: series that differ by it and another label must still differ then.
        let groups = |names: &[&str]| {
            let names: Vec<&str> = names.iter().copied().chain([METRIC]).collect();
            Ok::<_, ReportError>(searcher.count_groups_of(&series, Kept::Without(&names))?)
        };
        let all = groups(&[])?;
        let differ = |names: &[&str]| Ok::<_, ReportError>(groups(names)? == all);
        // Labels can follow from each other: then each of them may go, but not all. Those with the most values come
        // first.
        let mut chosen = Vec::new();
        if differ(&unused)? {
            chosen.clone_from(&unused);
        } else {
            for &name in unused.iter().take(MAX_TRIED) {
                chosen.push(name);
                if !differ(&chosen)? {
                    chosen.pop();
                }
            }
        }
        let distinguishing: Vec<&str> = unused.into_iter().filter(|name| !chosen.contains(name)).collect();
        Ok(Self { droppable: sorted(&chosen), distinguishing: sorted(&distinguishing) })
    }
}

fn sorted(names: &[&str]) -> Vec<String> {
    names.iter().copied().collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

fn sums<'m>(metrics: impl IntoIterator<Item = &'m MetricCount>) -> MetricSums {
    metrics.into_iter().fold(MetricSums::default(), |sums, metric| MetricSums {
        metrics: sums.metrics + u64::from(metric.metric.is_some()),
        series: sums.series + metric.series,
        text_bytes: sums.text_bytes + metric.text_bytes,
    })
}

impl UnusedMetric {
    /// Returns why relabelling cannot drop the metric; none if it can.
    fn reason_to_stay(&self) -> Option<String> {
        match (&self.metric, &self.recorded_by) {
            (None, _) => Some("it has no name".to_owned()),
            (_, Some(place)) => Some(format!("remove its rule instead: {place}")),
            (Some(name), _) if MADE.contains(&name.as_str()) => {
                Some("made by the server, after relabelling".to_owned())
            }
            _ => None,
        }
    }
}

impl Usage {
    /// Returns what may go at the source. `self` must list all metrics.
    #[must_use]
    pub fn unused(&self) -> Unused {
        let mut unused = Unused { labels: self.droppable_labels.clone(), ..Unused::default() };
        for metric in &self.unused_metrics {
            let name = metric.metric.clone().unwrap_or_default();
            match metric.reason_to_stay() {
                Some(reason) => unused.kept.push((name, reason)),
                None => unused.metrics.push(name),
            }
        }
        unused.metrics.sort_unstable();
        let reason = "series differ only in it: aggregate them instead";
        let read = self.unread.iter().map(|unread| format!("not read: {}: {}", unread.place, unread.error));
        unused.warnings.extend(read);
        let skipped = self.skipped.iter().map(|file| format!("not read, because of its extension: {file}"));
        unused.warnings.extend(skipped);
        let selects = |selector: &SelectorUse| {
            let place = selector.used_by.places.first().map_or("", String::as_str);
            match &selector.recorded_by {
                Some(rule) => format!("selects nothing, before it is made: {} ({place}) by {rule}", selector.selector),
                None => format!("selects nothing now: {} ({place})", selector.selector),
            }
        };
        unused.warnings.extend(self.without_series.iter().map(selects));
        unused.kept.extend(self.distinguishing_labels.iter().map(|label| (label.clone(), reason.to_owned())));
        unused
    }
}
