//! Counts and warnings of a run.

mod tsdb;

use std::fmt;

use chronoxide_text::human::{count_of, size};
use serde::Serialize;
pub use tsdb::{TsdbCounts, TsdbWarning};

use crate::columns::found;
use crate::input::Format;
use crate::otlp::{Level, MetricKind};

/// Maximum number of warnings that are kept. Further warnings are counted.
const MAX_WARNINGS: usize = 20;

/// Counts and warnings of a run.
///
/// Attributes are counted as often as they are written: an attribute of a resource with a thousand points counts once.
/// Shadowed attributes are counted where they are shadowed: once per scope if an attribute of the scope shadows them,
/// and once per point if an attribute of the point or the metric's name does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Inputs that were read.
    pub inputs: u64,
    /// Bytes of their content after decompression.
    pub content_bytes: u64,
    /// Records that were decoded.
    pub records: u64,
    /// Rows of Parquet and Arrow inputs. Their records are row groups and messages.
    pub rows: u64,
    /// Data points, including skipped ones; for series, their timestamps.
    pub points: u64,
    /// Data points by the kind of their metric.
    pub points_by_kind: Kinds,
    /// Points that are marked as having no value. Their series are kept.
    pub points_without_recorded_value: u64,
    /// Points without a time, or with a time that does not fit into 63 bits. Their series are kept.
    pub points_without_time: u64,
    /// Samples of blocks (by `meta.json`) and write-ahead logs of Prometheus's TSDB. Samples in both count twice.
    pub samples: u64,
    /// Series of a write-ahead log without samples. They are skipped, because their samples are in blocks.
    pub series_without_samples: u64,
    /// Samples and head chunks whose series the write-ahead log does not define.
    pub unknown_series_refs: u64,
    /// Deletions and gaps of Prometheus's TSDB.
    pub tsdb: TsdbCounts,
    /// Files of a folder that were skipped because their format is not recognized.
    pub unknown_files: u64,
    /// Inputs of a folder that could not be read, or not to their end.
    pub failed_inputs: u64,
    /// Metrics without a data point.
    pub metrics_without_points: u64,
    /// Occurrences of metrics.
    pub metrics: u64,
    /// Distinct series. If blocks were cut because of their size, a series counts once per cut.
    pub series: u64,
    /// Blocks that were sealed, or are being sealed.
    pub blocks: u64,
    /// Half-open time range of the points, in nanoseconds since 1970.
    pub time: Option<(i64, i64)>,
    /// Attributes and labels with an empty value. They are dropped.
    pub empty_values: Levels,
    /// Attributes and labels whose key occurred before at the same level: the last one wins. A scope's name and version
    /// count as written after its attributes.
    pub duplicate_keys: Levels,
    /// Attributes and labels without a key. They are dropped.
    pub empty_keys: u64,
    /// Attributes that a more specific attribute shadows.
    pub shadowed: Shadowed,
    /// Names that were truncated by the label policy.
    pub names_cut: u64,
    /// Values that were truncated by the label policy.
    pub values_cut: u64,
    /// Skipped records, points and series.
    pub skipped: Skipped,
    /// Lines with only white space.
    pub blank_lines: u64,
    /// Inputs that end within a record.
    pub torn_records: u64,
    /// Inputs that begin with bytes that are not a record.
    pub cut_starts: u64,
    /// Compressed inputs that end within the stream.
    pub truncated_inputs: u64,
    /// Inputs in OpenMetrics that do not end with `# EOF`, and Arrow files with a damaged footer.
    pub inputs_without_end: u64,
    /// Responses of an API that state that series are missing.
    pub incomplete_responses: u64,
    /// First 20 warnings.
    #[serde(serialize_with = "as_text")]
    pub warnings: Vec<Warning>,
    /// Number of further warnings.
    pub more_warnings: u64,
}

/// Counts per level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// Resources.
    pub resource: u64,
    /// Scopes.
    pub scope: u64,
    /// Data points, and labels of series.
    pub point: u64,
}

/// Counts per kind of metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub struct Kinds {
    pub gauge: u64,
    pub sum: u64,
    pub histogram: u64,
    pub exponential_histogram: u64,
    pub summary: u64,
}

/// Shadowed attributes, by the kind of attribute that shadows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Resource attributes shadowed by scope attributes, once per scope.
    pub by_scope: u64,
    /// Resource and scope attributes shadowed by point attributes, once per point.
    pub by_point: u64,
    /// Attributes `__name__` shadowed by the metric's name, once per point.
    pub by_metric_name: u64,
}

/// Skipped records, points and series, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Malformed records.
    pub broken_records: u64,
    /// Rows of tables with a bad value.
    pub broken_rows: u64,
    /// Points of metrics without a name.
    pub points_without_name: u64,
    /// Points and series with too many labels.
    pub too_many_labels: u64,
    /// Series without labels.
    pub series_without_labels: u64,
    /// Texts that are not UTF-8.
    pub invalid_texts: u64,
    /// Points and series of these texts.
    pub invalid_series: u64,
    /// Attributes and labels whose name begins with U+0000, which the format reserves. Their series are kept without
    /// them.
    pub reserved_names: u64,
    /// Times of series columns before 1677 or after 2262, which 64-bit nanoseconds cannot hold. Their series are kept
    /// without them.
    pub values_out_of_range: u64,
}

/// Problem that does not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// An input ends within its last record.
    TornRecord {
        /// Name of the input.
        input: String,
        /// Number of the record, from 1.
        number: u64,
        /// Start of the record.
        offset: u64,
        /// Bytes of the record that are there.
        len: u64,
        /// Length of the record, if its length prefix was read.
        expected: Option<u64>,
    },
    /// An input begins with bytes that are not a record.
    CutStart {
        /// Name of the input.
        input: String,
        /// Number of the bytes.
        len: u64,
    },
    /// A compressed input ends within the stream.
    TruncatedInput {
        /// Name of the input.
        input: String,
        /// Bytes of content that were read.
        offset: u64,
    },
    /// A response of an API states that series are missing.
    StatedLoss {
        /// Name of the input.
        input: String,
        /// Warning of the response.
        reason: String,
    },
    /// An input in OpenMetrics does not end with `# EOF`.
    NoEnd {
        /// Name of the input.
        input: String,
    },
    /// The footer of an Arrow file is damaged. The messages before it were read.
    DamagedFooter {
        /// Name of the input.
        input: String,
        /// Reason.
        reason: String,
    },
    /// A malformed record was skipped.
    SkippedRecord {
        /// Name of the input.
        input: String,
        /// Number of the record, from 1.
        number: u64,
        /// Start of the record.
        offset: u64,
        /// Reason.
        reason: String,
    },
    /// A frame or a member of a compressed stream is damaged or cut off, and others may follow it.
    SkippedFrame {
        /// Name of the input.
        input: String,
        /// Bytes of content before the damage.
        offset: u64,
        /// Reason.
        reason: String,
    },
    /// Texts that are not UTF-8 were skipped, with the points and series to which they belong.
    InvalidTexts {
        /// Name of the input.
        input: String,
        /// Number of texts.
        texts: u64,
        /// Number of points and series.
        series: u64,
    },
    /// Times of series columns do not fit into 64-bit nanoseconds.
    ValuesOutOfRange {
        /// Name of the input.
        input: String,
        /// Number of times.
        values: u64,
    },
    /// An input has no records.
    NoRecords {
        /// Name of the input.
        input: String,
        /// Format of the input.
        format: Format,
    },
    /// A block or head of Prometheus, or a table, has no series.
    NoSeries {
        /// Folder of the block or the write-ahead log, or the table.
        input: String,
    },
    /// The last file of a write-ahead log, or of head chunks, ends within a record.
    TornSegment {
        /// Path of the file.
        path: String,
        /// Start of the record.
        offset: u64,
    },
    /// A problem of a block or a head of Prometheus.
    Tsdb(TsdbWarning),
    /// A tar archive ends early.
    TruncatedArchive {
        /// Path of the archive.
        input: String,
        /// Bytes of its members that were read.
        offset: u64,
    },
    /// Members of a damaged tar archive are missing.
    DamagedArchive {
        /// Path of the archive.
        input: String,
        /// Reason.
        reason: String,
    },
    /// A warning whose text the caller changed.
    Text(String),
    /// Samples and head chunks belong to series that the write-ahead log does not define.
    UnknownSeriesRefs {
        /// Folder of the log.
        input: String,
        /// Number of samples.
        samples: u64,
        /// Number of head chunks.
        chunks: u64,
    },
    /// Records of a write-ahead log have types that are unknown.
    UnknownRecords {
        /// Folder of the log.
        input: String,
        /// Number of records.
        count: u64,
    },
    /// The format of a file in a folder is not recognized.
    UnknownFile {
        /// Path of the file.
        path: String,
        /// Description of the content.
        found: String,
    },
    /// An input of a folder could not be read, or not to its end.
    FailedInput {
        /// Error, with the name of the input.
        reason: String,
    },
    /// Columns of a table are not text, and therefore not labels.
    IgnoredColumns {
        /// Name of the input.
        input: String,
        /// Columns with their types.
        columns: Vec<String>,
    },
    /// A row of a table with a bad value was skipped.
    SkippedRow {
        /// Name of the input.
        input: String,
        /// Record with the row, such as `row group 1`.
        record: String,
        /// Reason, which begins with the number of the row.
        reason: String,
    },
    /// The rest of a damaged row group of a Parquet file was skipped.
    SkippedRowGroup {
        /// Name of the input.
        input: String,
        /// Number of the row group, from 1.
        number: u64,
        /// Rows before the damage.
        rows: u64,
        /// Reason.
        reason: String,
    },
    /// Blocks are cut by time, and some series have points without one.
    NoWindow {
        /// Times that a series was seen without a time.
        count: u64,
    },
}

impl Warning {
    /// Returns true if no series are missing because of this.
    fn is_note(&self) -> bool {
        matches!(
            self,
            Self::UnknownFile { .. }
                | Self::NoRecords { .. }
                | Self::NoSeries { .. }
                | Self::IgnoredColumns { .. }
                | Self::NoWindow { .. }
        )
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornRecord { input, number, offset, len, expected: None } => write!(
                f,
                "{input}: record {number} at byte {offset} is cut off at the end of the input; skipped its {}",
                size(*len)
            ),
            Self::TornRecord { input, number, offset, len, expected: Some(expected) } => write!(
                f,
                "{input}: record {number} at byte {offset} is cut off at the end of the input: its length prefix is \
                 {expected}, but {len} bytes follow; skipped these bytes, with any records among them"
            ),
            Self::CutStart { input, len } => write!(
                f,
                "{input}: the start is cut off or damaged: skipped {} before the first whole record",
                size(*len)
            ),
            Self::TruncatedInput { input, offset } => write!(
                f,
                "{input}: the compressed stream is cut off after {offset} bytes of content; the rest is missing"
            ),
            Self::StatedLoss { input, reason } => write!(f, "{input}: the response is not complete: {reason}"),
            Self::NoEnd { input } => {
                write!(f, "{input}: the text is cut off: OpenMetrics ends with \"# EOF\", and this does not")
            }
            Self::DamagedFooter { input, reason } => {
                write!(f, "{input}: the footer is damaged: {reason}; read the messages before it")
            }
            Self::SkippedRecord { input, number, offset, reason } => {
                write!(f, "{input}: skipped malformed record {number} at byte {offset}: {reason}")
            }
            Self::SkippedFrame { input, offset, reason } => write!(
                f,
                "{input}: the compressed stream is damaged after {offset} bytes of content: {reason}; skipped the rest of \
                 that frame"
            ),
            Self::InvalidTexts { input, texts, series } => write!(
                f,
                "{input}: skipped {} that {} not valid UTF-8, with the {series} points and series of {}",
                count_of(*texts, "text"),
                if *texts == 1 { "is" } else { "are" },
                if *texts == 1 { "it" } else { "them" },
            ),
            Self::ValuesOutOfRange { input, values } => {
                write!(f, "{input}: left out {} of series columns before 1677 or after 2262", count_of(*values, "time"))
            }
            Self::NoSeries { input } => write!(f, "{input}: no series"),
            Self::TornSegment { path, offset } => {
                write!(f, "{path}: the file ends within the record at byte {offset}; skipped that record")
            }
            Self::Tsdb(warning) => warning.fmt(f),
            Self::TruncatedArchive { input, offset } => {
                write!(f, "{input}: the archive is cut off after {offset} bytes of its members; the rest is missing")
            }
            Self::DamagedArchive { input, reason } => {
                write!(f, "{input}: damaged archive: {reason}; skipped the members after the damage")
            }
            Self::Text(text) => f.write_str(text),
            Self::UnknownSeriesRefs { input, samples, chunks } => write!(
                f,
                "{input}: skipped {} and {} of series that the log does not define",
                count_of(*samples, "sample"),
                count_of(*chunks, "head chunk")
            ),
            Self::UnknownRecords { input, count } => {
                write!(f, "{input}: skipped {} of unknown types", count_of(*count, "record"))
            }
            Self::UnknownFile { path, found } => write!(f, "{path}: skipped: {found}"),
            Self::FailedInput { reason } => write!(f, "{reason}; the rest of this input is missing"),
            Self::IgnoredColumns { input, columns } => {
                write!(f, "{input}: ignored columns that are not labels: {}", found(columns))
            }
            Self::SkippedRow { input, record, reason } => write!(f, "{input}: {record}: skipped {reason}"),
            Self::SkippedRowGroup { input, number, rows, reason } => write!(
                f,
                "{input}: row group {number} cannot be read: {reason}; skipped all of it after {}",
                count_of(*rows, "row")
            ),
            Self::NoWindow { count } => write!(
                f,
                "--window has no effect on {count} series and points without a time: they are in a block without a \
                 window (use --time to set a time for them)"
            ),
            Self::NoRecords { input, format } => write!(f, "{input}: no {} records", format.name()),
        }
    }
}

fn as_text<S: serde::Serializer>(warnings: &[Warning], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(warnings.iter().map(Warning::to_string))
}

impl Report {
    /// Returns true if data is missing in the blocks: an input of a folder failed, or a response states that it is not
    /// complete; malformed records, points without a name, series with too many or no labels, labels with reserved
    /// names, values out of range, or samples of undefined series were skipped, or, unless `allow_truncated`, an input
    /// begins or ends within a record, or ends within a compressed stream or before the mark of its end.
    #[must_use]
    pub fn is_partial(&self, allow_truncated: bool) -> bool {
        let torn = self.torn_records + self.cut_starts + self.truncated_inputs + self.inputs_without_end;
        let Skipped { broken_records, broken_rows, points_without_name, too_many_labels, .. } = self.skipped;
        let Skipped { series_without_labels, invalid_texts, invalid_series, .. } = self.skipped;
        let skipped = broken_records + broken_rows + points_without_name + too_many_labels + series_without_labels;
        let skipped =
            skipped + invalid_texts + invalid_series + self.skipped.reserved_names + self.skipped.values_out_of_range;
        let failed = self.failed_inputs + self.incomplete_responses + self.unknown_series_refs;
        let failed = failed + self.tsdb.missing_segments;
        skipped + failed > 0 || !allow_truncated && torn > 0
    }

    /// Extends the time range to include `first` and `last`.
    pub(crate) fn add_times(&mut self, (first, last): (i64, i64)) {
        let end = last.saturating_add(1);
        let (start, before) = self.time.unwrap_or((first, end));
        self.time = Some((start.min(first), before.max(end)));
    }

    /// Changes the texts of warnings, such as paths of temporary files to names that the user knows.
    pub fn map_warnings(&mut self, change: impl Fn(&str) -> String) {
        for warning in &mut self.warnings {
            let text = warning.to_string();
            let changed = change(&text);
            if changed != text {
                *warning = Warning::Text(changed);
            }
        }
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
            return;
        }
        self.more_warnings += 1;
        // The reason of an exit code is not left out for a file of another kind.
        let place = self.warnings.iter_mut().rev().find(|kept| kept.is_note());
        if let Some(place) = place.filter(|_| !warning.is_note()) {
            *place = warning;
        }
    }
}

impl From<TsdbWarning> for Warning {
    fn from(warning: TsdbWarning) -> Self {
        Self::Tsdb(warning)
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

    /// Returns the sum of all levels.
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
