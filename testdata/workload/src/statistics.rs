//! Statistics of a workload, measured on its labelsets.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::labelset::visit_labelsets;
use crate::workload::Workload;

/// Measures of the labelsets of a workload.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Points of the first scrape of each window.
    pub points: u64,
    /// Distinct labelsets. They are told apart by 64-bit hashes: of ten million, some two in a million times.
    pub series: u64,
    /// Sources: pods, or batches of adversaries. Of several windows, each window counts its own.
    pub requests: u64,
    /// Distinct values of `k8s.pod.name`.
    pub pods: u64,
    /// Labels of all points.
    pub labels: u64,
    /// The most labels of a point.
    pub most_labels: u64,
    /// Bytes of names and values of all points.
    pub label_bytes: u64,
    /// Distinct sets of label names.
    pub keysets: u64,
    /// Distinct label names.
    pub keys: u64,
    /// Distinct strings, of names and values together.
    pub strings: u64,
    /// Bytes of the distinct strings.
    pub string_bytes: u64,
    /// Number of distinct strings, by length.
    pub string_lengths: BTreeMap<usize, u64>,
}

impl Statistics {
    /// Measures a workload. It keeps all distinct strings, and eight bytes for each series.
    #[must_use]
    pub fn from_workload(workload: &Workload) -> Self {
        let mut statistics = Self::default();
        let (mut series, mut keysets) = (HashSet::new(), HashSet::new());
        let (mut keys, mut pods) = (HashSet::new(), HashSet::new());
        let mut strings: HashSet<String> = HashSet::new();
        for request in workload.first_scrapes() {
            statistics.requests += 1;
            visit_labelsets(&request, |labels| {
                statistics.points += 1;
                statistics.labels += labels.len() as u64;
                statistics.most_labels = statistics.most_labels.max(labels.len() as u64);
                let (mut keyset, mut labelset) = (DefaultHasher::new(), DefaultHasher::new());
                for (name, value) in labels {
                    statistics.label_bytes += (name.len() + value.len()) as u64;
                    name.hash(&mut keyset);
                    (name, value).hash(&mut labelset);
                    for text in [*name, &**value] {
                        if !strings.contains(text) {
                            strings.insert(text.to_owned());
                        }
                    }
                    if !keys.contains(*name) {
                        keys.insert((*name).to_owned());
                    }
                    if *name == "k8s.pod.name" && !pods.contains(&**value) {
                        pods.insert((**value).to_owned());
                    }
                }
                keysets.insert(keyset.finish());
                series.insert(labelset.finish());
            });
        }
        for text in &strings {
            statistics.string_bytes += text.len() as u64;
            *statistics.string_lengths.entry(text.len()).or_default() += 1;
        }
        statistics.series = series.len() as u64;
        statistics.pods = pods.len() as u64;
        statistics.keysets = keysets.len() as u64;
        statistics.keys = keys.len() as u64;
        statistics.strings = strings.len() as u64;
        statistics
    }

    /// Returns the average number of labels per series.
    #[must_use]
    pub fn labels_per_series(&self) -> f64 {
        ratio(self.labels, self.points)
    }

    /// Bytes of names and values a series on average.
    #[must_use]
    pub fn label_bytes_per_series(&self) -> f64 {
        ratio(self.label_bytes, self.points)
    }

    /// Series for each distinct string.
    #[must_use]
    pub fn series_per_string(&self) -> f64 {
        ratio(self.series, self.strings)
    }

    /// Returns a percentile of the lengths of distinct strings.
    #[must_use]
    pub fn string_length(&self, percent: u64) -> usize {
        let rank = (self.strings * percent).div_ceil(100);
        let mut seen = 0;
        for (&length, &count) in &self.string_lengths {
            seen += count;
            if seen >= rank {
                return length;
            }
        }
        0
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A table, in Markdown.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "| {name} | {value} |");
        row("measure", "value".to_owned())?;
        row("---", "---:".to_owned())?;
        row("series", grouped(self.series))?;
        row("pods", grouped(self.pods))?;
        row("requests", grouped(self.requests))?;
        row("labels per series", format!("{:.2}", self.labels_per_series()))?;
        row("labels per series, at most", grouped(self.most_labels))?;
        row("label bytes per series", format!("{:.1}", self.label_bytes_per_series()))?;
        row("bytes per name or value, by use", format!("{:.1}", ratio(self.label_bytes, 2 * self.labels)))?;
        row("keysets", grouped(self.keysets))?;
        row("keys", grouped(self.keys))?;
        row("distinct strings", grouped(self.strings))?;
        row("series per distinct string", format!("{:.1}", self.series_per_string()))?;
        row("bytes per distinct string", format!("{:.1}", ratio(self.string_bytes, self.strings)))?;
        let lengths = [10, 50, 90, 99, 100].map(|percent| self.string_length(percent).to_string());
        row("their 10th, 50th, 90th, 99th, 100th percentile", lengths.join(", "))
    }
}

/// A comma before every three digits.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
