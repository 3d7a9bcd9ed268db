//! What a run did, in numbers, and what it left out, by reason.

use crate::input::Format;
use crate::otlp::{Level, MetricKind};
use chronoxide_cli::human::count_of;
use serde::Serialize;
use std::fmt;

/// Warnings that are kept; more are only counted.
const KEPT_WARNINGS: usize = 20;

/// The counts of a run.
///
/// Attributes are counted where they stand in the text: one of a resource with a thousand points counts once.
/// Attributes that are shadowed are counted where that shows: once per scope for a resource's attribute that the
/// scope's shadows, once per point for one that the point's or the metric's name shadows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Inputs that were read.
    pub inputs: u64,
    /// Bytes of their content, after decompression.
    pub content_bytes: u64,
    /// Records that were taken.
    pub records: u64,
    /// Data points, those included that were skipped; of series the times that they come with.
    pub points: u64,
    /// Data points by the kind of their metric.
    pub points_by_kind: Kinds,
    /// Points that say that they have no value. They define their series all the same.
    pub points_without_recorded_value: u64,
    /// Points without a time, or with one that does not fit 63 bits. They define their series all the same.
    pub points_without_time: u64,
    /// Samples of blocks and heads of Prometheus's TSDB: those that `meta.json` counts, and those of the write-ahead log.
    /// Samples that are in both count twice.
    pub samples: u64,
    /// Series of a write-ahead log without samples, which are left out: their samples are in blocks.
    pub series_without_samples: u64,
    /// Samples and head chunks whose series the write-ahead log does not define.
    pub unknown_series_refs: u64,
    /// Files of a folder that were passed over because their format is unknown.
    pub unknown_files: u64,
    /// Metrics without a data point.
    pub metrics_without_points: u64,
    /// Metrics with their points, as often as they come.
    pub metrics: u64,
    /// Distinct series; those of each block counted, if the blocks were cut for their size.
    pub series: u64,
    /// Blocks.
    pub blocks: u64,
    /// Times of the points, in nanoseconds since 1970: the first one, and the end, which is after the last one.
    pub time: Option<(i64, i64)>,
    /// Attributes and labels whose value is empty, which are no labels.
    pub empty_values: Levels,
    /// Attributes and labels whose key another one of the same level has: the last one counts. A scope's name and
    /// version come after its attributes.
    pub duplicate_keys: Levels,
    /// Attributes and labels without a key, which are no labels.
    pub empty_keys: u64,
    /// Attributes that a more specific one shadows.
    pub shadowed: Shadowed,
    /// Names of attributes and labels that were cut to the policy's length.
    pub names_cut: u64,
    /// Values that were cut to the policy's length.
    pub values_cut: u64,
    /// What was left out.
    pub skipped: Skipped,
    /// Lines without anything but white space.
    pub blank_lines: u64,
    /// Inputs whose last record was cut off while it was written.
    pub torn_records: u64,
    /// Compressed inputs that end before their end.
    pub truncated_inputs: u64,
    /// What to tell people; the first 20.
    #[serde(serialize_with = "as_text")]
    pub warnings: Vec<Warning>,
    /// Warnings beyond these.
    pub more_warnings: u64,
}

/// A count per level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// Of resources.
    pub resource: u64,
    /// Of scopes.
    pub scope: u64,
    /// Of data points, and labels of series.
    pub point: u64,
}

/// A count per kind of metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub struct Kinds {
    pub gauge: u64,
    pub sum: u64,
    pub histogram: u64,
    pub exponential_histogram: u64,
    pub summary: u64,
}

/// Attributes that are shadowed, by what shadows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// A resource's by its scope's, counted once per scope.
    pub by_scope: u64,
    /// A resource's or a scope's by a point's, counted once per point.
    pub by_point: u64,
    /// Any attribute `__name__` by the metric's name, counted once per point.
    pub by_metric_name: u64,
}

/// What was left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Records that are broken.
    pub broken_records: u64,
    /// Points of metrics without a name.
    pub points_without_name: u64,
    /// Points and series with more labels than a series may have.
    pub too_many_labels: u64,
    /// Series without labels.
    pub series_without_labels: u64,
}

/// Something that did not stop the run and should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The last record of an input was cut off while it was written.
    TornRecord {
        /// The input.
        input: String,
        /// Which record, from 1.
        number: u64,
        /// Where it starts.
        offset: u64,
        /// Bytes of it that are there.
        len: u64,
        /// Bytes that it should have, if its length prefix says so.
        expected: Option<u64>,
    },
    /// A compressed input ends before its end.
    TruncatedInput {
        /// The input.
        input: String,
        /// Bytes of content that were read.
        offset: u64,
    },
    /// A broken record was skipped.
    SkippedRecord {
        /// The input.
        input: String,
        /// Which record, from 1.
        number: u64,
        /// Where it starts.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An input has no records.
    NoRecords {
        /// The input.
        input: String,
        /// What was looked for.
        format: Format,
    },
    /// A block or head of Prometheus has no series.
    NoSeries {
        /// Its folder.
        input: String,
    },
    /// The last file of a write-ahead log, or of head chunks, ends within a record.
    TornSegment {
        /// The file.
        path: String,
        /// Where the record starts.
        offset: u64,
    },
    /// The rest of a damaged file of a write-ahead log, or of head chunks, was skipped.
    SkippedRestOfSegment {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Samples and head chunks belong to series that the write-ahead log does not define.
    UnknownSeriesRefs {
        /// The folder of the log.
        input: String,
        /// Number of samples.
        samples: u64,
        /// Number of head chunks.
        chunks: u64,
    },
    /// Records of a write-ahead log have types that are unknown.
    UnknownRecords {
        /// The folder of the log.
        input: String,
        /// Number of records.
        count: u64,
    },
    /// A file of a folder has an unknown format.
    UnknownFile {
        /// The file.
        path: String,
        /// What it looks like.
        found: String,
    },
    /// Blocks are cut by time, and some series have points without one.
    NoWindow {
        /// Times that a series was seen without a time.
        count: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornRecord { input, number, offset, len, expected: None } => write!(
                f,
                "{input}: record {number}, at byte {offset}, is cut off at the end of the input; its {len} bytes were \
                 left out"
            ),
            Self::TornRecord { input, number, offset, len, expected: Some(expected) } => write!(
                f,
                "{input}: record {number}, at byte {offset}, is cut off at the end of the input: its length prefix \
                 says {expected} bytes, and {len} follow; these were left out, with any records among them"
            ),
            Self::TruncatedInput { input, offset } => write!(
                f,
                "{input}: the compressed stream is cut off after {offset} bytes of content; what follows is missing"
            ),
            Self::SkippedRecord { input, number, offset, reason } => {
                write!(f, "{input}: record {number}, at byte {offset}, is broken, and was left out: {reason}")
            }
            Self::NoSeries { input } => write!(f, "{input}: a block without series"),
            Self::TornSegment { path, offset } => {
                write!(f, "{path}: the file ends within the record at byte {offset}, which was left out")
            }
            Self::SkippedRestOfSegment { path, reason } => {
                write!(f, "{path}: the rest of the file was left out: {reason}")
            }
            Self::UnknownSeriesRefs { input, samples, chunks } => write!(
                f,
                "{input}: skipped {} and {} of series that the log does not define",
                count_of(*samples, "sample"),
                count_of(*chunks, "head chunk")
            ),
            Self::UnknownRecords { input, count } => {
                write!(f, "{input}: skipped {} of unknown types", count_of(*count, "record"))
            }
            Self::UnknownFile { path, found } => write!(f, "{path}: passed over: {found}"),
            Self::NoWindow { count } => write!(
                f,
                "--window has no effect on {count} series and points without a time: they are in a block without a \
                 window; --time sets a time for them"
            ),
            Self::NoRecords { input, format } => write!(f, "{input}: no {} records", format.name()),
        }
    }
}

fn as_text<S: serde::Serializer>(warnings: &[Warning], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(warnings.iter().map(Warning::to_string))
}

impl Report {
    /// Returns true if something that the inputs hold, or should hold, is not in the blocks: broken records, points
    /// without a name, series with too many labels or without any, samples of undefined series; and, unless `allow_truncated`, inputs that end
    /// within a record or a compressed stream.
    #[must_use]
    pub fn is_partial(&self, allow_truncated: bool) -> bool {
        let torn = self.torn_records + self.truncated_inputs;
        let Skipped { broken_records, points_without_name, too_many_labels, series_without_labels } = self.skipped;
        broken_records + points_without_name + too_many_labels + series_without_labels + self.unknown_series_refs > 0
            || !allow_truncated && torn > 0
    }

    /// Widens the times of points by those from `first` to `last`, both included.
    pub(crate) fn add_times(&mut self, (first, last): (i64, i64)) {
        let end = last.saturating_add(1);
        let (start, before) = self.time.unwrap_or((first, end));
        self.time = Some((start.min(first), before.max(end)));
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < KEPT_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more_warnings += 1;
        }
    }
}

impl Levels {
    pub(crate) fn add(&mut self, level: Level) {
        *match level {
            Level::Resource => &mut self.resource,
            Level::Scope => &mut self.scope,
            Level::Point => &mut self.point,
        } += 1;
    }

    /// All levels together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.resource + self.scope + self.point
    }
}

impl Kinds {
    pub(crate) fn add(&mut self, kind: MetricKind) {
        *match kind {
            MetricKind::Gauge => &mut self.gauge,
            MetricKind::Sum => &mut self.sum,
            MetricKind::Histogram => &mut self.histogram,
            MetricKind::ExponentialHistogram => &mut self.exponential_histogram,
            MetricKind::Summary => &mut self.summary,
        } += 1;
    }
}
