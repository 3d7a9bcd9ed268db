//! Summary of a run, as text and as JSON.

use std::fmt::{self, Display};

use chronoxide_ingest::Report;
use chronoxide_text::escape::Escaped;
use chronoxide_text::human;
use serde::Serialize;

use crate::ingest::arguments::Arguments;
use crate::ingest::output::Written;
use crate::style::Style;
use crate::{Failure, print, tell};

/// Summary of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    output: String,
    /// True if the run was interrupted, so that later data is missing.
    interrupted: bool,
    layout: &'static str,
    bytes: u64,
    series: u64,
    /// Bytes of the files per series, or `None` without series.
    bytes_per_series: Option<f64>,
    blocks: Vec<Written>,
    #[serde(rename = "input")]
    report: Report,
    #[serde(skip)]
    has_chunk_lists: bool,
}

impl Summary {
    /// Creates the summary of the blocks and the report of a run.
    pub(crate) fn new(arguments: &Arguments, blocks: Vec<Written>, report: Report) -> Self {
        let bytes = blocks.iter().map(|block| block.bytes).sum();
        let series = blocks.iter().map(|block| block.series).sum();
        Self {
            output: arguments.output.display().to_string(),
            interrupted: false,
            layout: chronoxide_labels::Layout::from(arguments.layout).name(),
            bytes,
            series,
            bytes_per_series: (series > 0).then(|| bytes as f64 / series as f64),
            blocks,
            report,
            has_chunk_lists: arguments.chunks,
        }
    }

    /// Returns the summary of a run that was interrupted.
    pub(crate) fn interrupted(self) -> Self {
        Self { interrupted: true, ..self }
    }

    /// Returns the number of blocks that were written.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Prints the summary as one JSON object on standard output.
    pub(crate) fn print_json(&self) -> Result<(), Failure> {
        print(|out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            writeln!(out)
        })?;
        Ok(())
    }

    /// Prints the summary as text on standard error. Errors are ignored.
    pub(crate) fn tell(&self) {
        tell(|out| write!(out, "{}", TextSummary { summary: self, style: Style::stderr() }));
    }

    /// Prints the warnings on standard error.
    pub(crate) fn warn(&self) {
        for warning in &self.report.warnings {
            tell(|out| writeln!(out, "chronoxide-ingest: warning: {}", shown(&warning.to_string())));
        }
        // A typing error in the path of a folder, or an exporter that wrote nothing.
        if self.series == 0 {
            let written = match &*self.blocks {
                [] => "no block was written".to_owned(),
                [block] => format!("{} is an empty block", shown(&block.path)),
                _ => "the blocks are empty".to_owned(),
            };
            tell(|out| writeln!(out, "chronoxide-ingest: warning: the captures have no series: {written}"));
        }
        // These have no warning of their own, and are in no summary if that is quiet.
        let skipped = &self.report.skipped;
        let skipped = list([
            (skipped.points_without_name, "point of a metric without a name", "points of metrics without a name"),
            (skipped.too_many_labels, "series with too many labels", "series with too many labels"),
            (skipped.series_without_labels, "series without labels", "series without labels"),
            (skipped.reserved_names, "label with a reserved name", "labels with reserved names"),
        ]);
        if !skipped.is_empty() {
            tell(|out| writeln!(out, "chronoxide-ingest: warning: skipped {skipped}"));
        }
        if self.report.more_warnings > 0 {
            let more = human::count(self.report.more_warnings);
            tell(|out| writeln!(out, "chronoxide-ingest: warning: {more} more warnings"));
        }
    }
}

struct TextSummary<'a> {
    summary: &'a Summary,
    style: Style,
}

impl Display for TextSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { report, .. } = self.summary;
        let summary = self.summary;
        // In a folder the block is named after its id, which only this line tells.
        let output = match &*summary.blocks {
            [block] => &block.path,
            _ => &summary.output,
        };
        let mut heading = format!("{}: {}", shown(output), counted(summary.series, "series", "series"));
        let blocks = match &*summary.blocks {
            [block] => [
                (block.keysets, "keyset", "keysets"),
                (block.keys, "key", "keys"),
                (block.symbols, "symbol", "symbols"),
            ],
            blocks => {
                heading += &format!(" in {}", counted(blocks.len() as u64, "block", "blocks"));
                [(0, "", ""); 3]
            }
        };
        let labels = summary.blocks.iter().map(|block| block.labels).sum();
        let per_series = summary.bytes_per_series.map(|bytes| format!(", {} per series", human::per(bytes)));
        let size = human::bytes(summary.bytes) + per_series.as_deref().unwrap_or_default();
        writeln!(f, "{} in {size}", self.style.heading(heading))?;
        let line = |f: &mut fmt::Formatter<'_>, name: &str, text: String| {
            if text.is_empty() { Ok(()) } else { writeln!(f, "  {} {text}", self.style.faint(format!("{name:<9}"))) }
        };
        line(
            f,
            "read",
            [
                list([
                    (report.records, "record", "records"),
                    (report.rows, "row", "rows"),
                    (report.points, "data point", "data points"),
                    (report.samples, "sample", "samples"),
                    (report.blank_lines, "blank line", "blank lines"),
                ]),
                human::bytes(report.content_bytes),
            ]
            .iter()
            .filter(|text| !text.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        )?;
        // The index of Prometheus is all that is read for them.
        if summary.has_chunk_lists && summary.bytes > 0 {
            let times = report.content_bytes as f64 / summary.bytes as f64;
            let index = human::bytes(report.content_bytes);
            line(f, "index", format!("{index} of Prometheus, {} times the bytes of the blocks", human::per(times)))?;
        }
        line(f, "time", report.time.map_or(String::new(), |(start, end)| human::times(start, end)))?;
        line(f, "kept", list([blocks[0], blocks[1], blocks[2], (labels, "label", "labels")]))?;
        let shadowed = report.shadowed;
        line(
            f,
            "shadowed",
            list([
                (shadowed.by_scope, "by a scope attribute", "by scope attributes"),
                (shadowed.by_point, "by a point attribute", "by point attributes"),
                (shadowed.by_metric_name, "by a metric name", "by metric names"),
                (report.duplicate_keys.total(), "by a duplicate key", "by duplicate keys"),
            ]),
        )?;
        line(
            f,
            "dropped",
            list([
                (report.empty_values.total(), "empty value", "empty values"),
                (report.empty_keys, "attribute without a key", "attributes without a key"),
            ]),
        )?;
        line(f, "cut", list([(report.names_cut, "name", "names"), (report.values_cut, "value", "values")]))?;
        line(
            f,
            "noticed",
            list([
                (report.points_without_recorded_value, "point without a value", "points without a value"),
                (report.points_without_time, "point without a time", "points without a time"),
                (report.metrics_without_points, "metric without points", "metrics without points"),
                (report.series_without_samples, "series without samples", "series without samples"),
                (report.unknown_series_refs, "sample of an unknown series", "samples of unknown series"),
                (report.tsdb.deleted_series, "deleted series", "deleted series"),
                (report.tsdb.deleted_blocks, "deleted block", "deleted blocks"),
                (report.unknown_files, "file with an unrecognized format", "files with unrecognized formats"),
            ]),
        )?;
        let skipped = report.skipped;
        line(
            f,
            "skipped",
            list([
                (skipped.broken_records, "malformed record", "malformed records"),
                (skipped.broken_rows, "row with a bad value", "rows with a bad value"),
                (report.torn_records, "record cut off at the end", "records cut off at the end"),
                (report.tsdb.missing_segments, "missing segment of a log", "missing segments of logs"),
                (report.cut_starts, "start of an input", "starts of inputs"),
                (report.failed_inputs, "input that failed", "inputs that failed"),
                (skipped.points_without_name, "point of a metric without a name", "points of metrics without a name"),
                (skipped.too_many_labels, "series with too many labels", "series with too many labels"),
                (skipped.series_without_labels, "series without labels", "series without labels"),
                (skipped.invalid_series, "point or series with invalid text", "points and series with invalid text"),
                (skipped.reserved_names, "label with a reserved name", "labels with reserved names"),
                (skipped.values_out_of_range, "time of a column out of range", "times of columns out of range"),
            ]),
        )
    }
}

/// Escapes characters that a terminal could interpret. Other characters, quotes included, are unchanged.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        let escaped = Escaped(char.encode_utf8(&mut [0; 4])).to_string();
        match escaped.strip_prefix('"').and_then(|escaped| escaped.strip_suffix('"')) {
            Some(escaped) if escaped.starts_with("\\u") => shown.push_str(escaped),
            _ => shown.push(char),
        }
    }
    shown
}

/// Formats a count with its noun.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", human::count(count), if count == 1 { one } else { many })
}

/// Formats the counts that are not zero.
fn list<const N: usize>(counts: [(u64, &str, &str); N]) -> String {
    let counts = counts.iter().filter(|count| count.0 > 0);
    counts.map(|&(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ")
}
