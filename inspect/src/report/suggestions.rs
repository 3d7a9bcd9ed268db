//! Suggestions of labels and metrics to drop, with their effect and the command that drops them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chronoxide_select::{Labels as Kept, Matcher, Operator, Selector};
use chronoxide_text::human;
use rayon::prelude::*;

use super::ReportError;
use super::figures::{Action, Label, Looks, Suggestion};
use super::labels::remaining;
use super::metrics::MetricCount;
use super::subject::{METRIC, Subject};
use super::usage::Used;

/// Suggestions of each kind.
const MAX_PER_KIND: usize = 4;
/// Percentage of the series that a set of labels must remove to be suggested.
const MIN_PERCENT_OF_LABELS: u64 = 5;
/// Percentage of the series that a metric must have to be suggested.
const MIN_PERCENT_OF_METRIC: u64 = 10;
/// Labels with the most values that are tried with others that have about as many.
const MAX_SEEDS: usize = 3;
/// Labels in a set.
const MAX_SET: usize = 8;

/// Labels that are part of what a series measures: buckets and quantiles.
pub(super) const KEPT: [&str; 3] = [METRIC, "le", "quantile"];

/// Suggestions on a block.
pub(super) struct Suggestions<'r, 'data> {
    pub(super) subject: &'r Subject<'data>,
    pub(super) labels: &'r [Label],
    /// Metrics with a name and the most series.
    pub(super) metrics: &'r [MetricCount],
    /// Path of the block or folder.
    pub(super) input: &'r str,
    /// True if a command can name exactly the counted blocks, and one compaction takes them all.
    pub(super) has_command: bool,
    /// Number of counted blocks.
    pub(super) block_count: usize,
    /// Selectors of the counted series.
    pub(super) selectors: &'r [Selector],
    /// True if it is a folder.
    pub(super) is_folder: bool,
    /// Use by queries, if queries are known.
    pub(super) used: Option<&'r Used<'r>>,
}

impl Suggestions<'_, '_> {
    /// Returns suggestions: labels whose values all look generated first, then the largest effect.
    pub(super) fn find(&self) -> Result<Vec<Suggestion>, ReportError> {
        let mut sets: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut suggestions = Vec::new();
        let mut add = |label_set: Vec<&str>, remains: u64, reason: String| {
            let mut sorted: Vec<String> = label_set.iter().map(|&label| label.to_owned()).collect();
            sorted.sort_unstable();
            if self.is_worth(remains, MIN_PERCENT_OF_LABELS) && sets.insert(sorted) {
                suggestions.push(self.drop_labels(&label_set, remains, reason));
            }
        };
        for label in self.candidates() {
            if let Some(remains) = label.remains {
                add(vec![&label.name], remains, self.reason_of_one(label, remains));
            }
        }
        let generated: Vec<&Label> = self.candidates().filter(|label| label.looks.is_some()).collect();
        if let Some((set, remains)) = self.smallest(&generated)? {
            let look = |label: &&Label| Some(format!("{} ({})", label.name, plural(label.looks?)));
            let looks: Vec<String> = set.iter().filter_map(look).collect();
            add(names(&set), remains, format!("values look generated: {}", looks.join(", ")));
        }
        for seed in self.candidates().take(MAX_SEEDS).filter(|seed| seed.looks.is_none()) {
            let alike = self.alike(seed)?;
            if let Some((set, remains)) = self.smallest(&alike)? {
                add(
                    names(&set),
                    remains,
                    format!("each follows from {}: dropping one of them alone removes less", seed.name),
                );
            }
        }
        suggestions.sort_by_key(|suggestion| (suggestion.remains, suggestion.labels.len()));
        suggestions.truncate(MAX_PER_KIND);
        for metric in self.metrics {
            let remains = self.subject.series_count().saturating_sub(metric.series);
            if self.is_worth(remains, MIN_PERCENT_OF_METRIC) {
                suggestions.extend(self.drop_metric(metric, remains));
            }
        }
        if let Some(used) = self.used {
            for suggestion in &mut suggestions {
                let labels: Vec<&str> = suggestion.labels.iter().map(String::as_str).collect();
                suggestion.used_by = Some(match &suggestion.metric {
                    Some(metric) => used.metric(self.subject, Some(metric))?,
                    None => used.labels(self.subject, &labels)?,
                });
            }
        }
        let is_generated =
            |label: &String| self.labels.iter().any(|known| known.name == *label && known.looks.is_some());
        suggestions.sort_by_key(|suggestion| {
            let breaks_queries = suggestion.used_by.as_ref().is_some_and(|used| used.queries > 0);
            // Generated values are missed least.
            let are_generated = !suggestion.labels.is_empty() && suggestion.labels.iter().all(is_generated);
            (breaks_queries, !are_generated, Reverse(suggestion.removes))
        });
        Ok(suggestions)
    }

    /// Returns a label, and the labels with about as many values that follow from it. One of them alone removes nothing
    /// when it is dropped.
    fn alike<'l>(&'l self, seed: &'l Label) -> Result<Vec<&'l Label>, ReportError> {
        let mut alike = vec![seed];
        let similar = self.candidates().filter(|label| label.values >= seed.values / 2 && label.name != seed.name);
        for label in similar.take(MAX_SET) {
            let pairs = self.subject.searcher()?.count_groups(Kept::By(&[&seed.name, &label.name]))?;
            // Each value has one pair. Series without the seed have one more at least.
            let without_seed = u64::from(seed.series < self.subject.series_count());
            if pairs <= seed.values + without_seed {
                alike.push(label);
            }
        }
        Ok(alike)
    }

    /// Returns the labels that may be dropped, the most values first.
    fn candidates(&self) -> impl Iterator<Item = &Label> {
        let counted = self.labels.iter().filter(|label| label.remains.is_some());
        counted.filter(|label| !KEPT.contains(&label.name.as_str()))
    }

    /// Returns true if the number of remaining series is worth a suggestion: some are left, and enough are removed.
    fn is_worth(&self, remains: u64, least_percent: u64) -> bool {
        let series = self.subject.series_count();
        (1..series).contains(&remains)
            && series.saturating_sub(remains).saturating_mul(100) >= series.saturating_mul(least_percent)
    }

    /// Returns the labels of a set that are needed to remove as many series as the whole set, and the number of series
    /// that remain; `None` for fewer than two labels, and if the set removes too few.
    fn smallest<'l>(&self, labels: &[&'l Label]) -> Result<Option<(Vec<&'l Label>, u64)>, ReportError> {
        let mut set = labels[..labels.len().min(MAX_SET)].to_vec();
        if set.len() < 2 {
            return Ok(None);
        }
        let remains = remaining(self.subject, &names(&set))?;
        if !self.is_worth(remains, MIN_PERCENT_OF_LABELS) {
            return Ok(None);
        }
        // A label that can be kept follows from the labels that are not in the set. So all such labels can be kept.
        let is_needed = |label: &&Label| {
            let others: Vec<&Label> = set.iter().copied().filter(|other| other.name != label.name).collect();
            Ok::<bool, ReportError>(remaining(self.subject, &names(&others))? != remains)
        };
        let are_needed = set.par_iter().map(is_needed).collect::<Result<Vec<bool>, _>>()?;
        if are_needed.iter().all(|is_needed| *is_needed) {
            return Ok(Some((set, remains)));
        }
        let mut are_needed = are_needed.into_iter();
        set.retain(|_| are_needed.next().unwrap_or(true));
        let remains = remaining(self.subject, &names(&set))?;
        Ok(Some((set, remains)))
    }

    fn reason_of_one(&self, label: &Label, remains: u64) -> String {
        match label.looks {
            Some(looks) => format!("its values look generated ({})", plural(looks)),
            None => {
                let removes = human::count(self.subject.series_count().saturating_sub(remains));
                format!("{removes} fewer: they differ from other series only in this label")
            }
        }
    }

    fn drop_labels(&self, labels: &[&str], remains: u64, reason: String) -> Suggestion {
        let options = labels.iter().map(|&label| ("--drop-label", label.to_owned()));
        Suggestion {
            action: Action::DropLabels,
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            metric: None,
            removes: self.subject.series_count().saturating_sub(remains),
            remains,
            reason,
            command: self.command(options),
            used_by: None,
        }
    }

    fn drop_metric(&self, metric: &MetricCount, remains: u64) -> Option<Suggestion> {
        let name = metric.metric.as_ref()?;
        let matcher = Matcher::new(METRIC, Operator::Equal, name).ok()?;
        let share = (metric.series as f64 / self.subject.series_count() as f64 * 100.0).round();
        Some(Suggestion {
            action: Action::DropMetric,
            labels: Vec::new(),
            metric: Some(name.clone()),
            removes: metric.series,
            remains,
            reason: match self.used {
                Some(_) => format!("this metric has {share}% of the series"),
                None => format!("this metric has {share}% of the series; drop it if no query needs it"),
            },
            command: self.command([("--drop", format!("{{{matcher}}}"))]),
            used_by: None,
        })
    }

    /// Returns a command for a shell; an empty text if one compaction does not take all blocks, or if an argument has a
    /// NUL, which no command can have.
    fn command(&self, options: impl IntoIterator<Item = (&'static str, String)>) -> String {
        let quote = |text: &str| shlex::try_quote(text).map(|text| text.into_owned());
        if !self.has_command {
            return String::new();
        }
        let input = match self.input {
            "-" => "block.cx".to_owned(),
            // Not an option.
            input if input.starts_with('-') => format!("./{input}"),
            input => input.to_owned(),
        };
        let quoted = quote(input.trim_end_matches('/'));
        let mut words = vec![Ok("chronoxide-compact".to_owned())];
        words.push(quoted.map(|input| if self.is_folder { format!("{input}/*.cx") } else { input }));
        words.push(Ok("-o smaller.cx".to_owned()));
        if self.block_count > 1 {
            // Blocks with different annotations are refused otherwise.
            words.push(Ok("--annotations drop".to_owned()));
        }
        let keep = self.selectors.iter().map(|selector| ("--keep", selector.to_string()));
        words.extend(keep.chain(options).map(|(option, value)| {
            // A value that begins like an option belongs to its own.
            let separator = if value.starts_with('-') { '=' } else { ' ' };
            quote(&value).map(|value| format!("{option}{separator}{value}"))
        }));
        words.into_iter().collect::<Result<Vec<_>, _>>().map(|words| words.join(" ")).unwrap_or_default()
    }
}

fn names<'l>(labels: &[&'l Label]) -> Vec<&'l str> {
    labels.iter().map(|label| label.name.as_str()).collect()
}

/// Returns the plural of values.
fn plural(looks: Looks) -> &'static str {
    match looks {
        Looks::Uuid => "UUIDs",
        Looks::Time => "times",
        Looks::Address => "addresses",
        Looks::Pod => "pod names",
        Looks::Hash => "hashes",
        Looks::Number => "numbers",
        Looks::Token => "random tokens",
    }
}
