//! The tables of a report.

use std::fmt::Display;
use std::io::{self, Write};

use chronoxide_ingest::timings::Percentiles;
use chronoxide_ingest::{Report, Timings};
use chronoxide_labels::Layout;
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::distribution::Distribution;
use super::statistics::Statistics;
use crate::ingest::arguments::Arguments;
use crate::ingest::output::Written;

/// Number of label names that are listed, by number of values.
const TOP_KEYS: usize = 20;

/// Writes the report.
pub(crate) fn write(
    out: &mut dyn Write,
    arguments: &Arguments,
    report: &Report,
    statistics: &Statistics,
    timings: &Timings,
    blocks: &[Written],
) -> io::Result<()> {
    writeln!(out, "# Report of `chronoxide-ingest`\n")?;
    let inputs: Vec<String> = arguments.inputs.iter().map(|input| code(&input.display().to_string())).collect();
    writeln!(out, "Inputs: {}. Output: {}.\n", inputs.join(", "), code(&arguments.output.display().to_string()))?;
    read(out, report)?;
    labels(out, statistics)?;
    cardinalities(out, statistics)?;
    sizes(out, statistics, blocks)?;
    times(out, timings)?;
    skipped(out, report)
}

fn read(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let kinds = report.points_by_kind;
    let time = report.time.map_or_else(|| "unknown".to_owned(), |(start, end)| human::times(start, end));
    table(
        out,
        "Input",
        &["item", "count"],
        [
            row("inputs", report.inputs),
            row("bytes after decompression", report.content_bytes),
            row("records (requests, lines, series, row groups, messages)", report.records),
            row("rows of Parquet and Arrow inputs", report.rows),
            row("occurrences of metrics", report.metrics),
            row("points", report.points),
            row("points of gauges", kinds.gauge),
            row("points of sums", kinds.sum),
            row("points of histograms", kinds.histogram),
            row("points of exponential histograms", kinds.exponential_histogram),
            row("points of summaries", kinds.summary),
            row("distinct series", report.series),
            vec!["time range of points".to_owned(), time],
        ],
    )
}

fn labels(out: &mut dyn Write, statistics: &Statistics) -> io::Result<()> {
    let header = ["", "count", "mean", "deviation", "50%", "90%", "99%", "100%"];
    table(
        out,
        "Labels",
        &header,
        [
            distribution("labels per series", &statistics.labels_per_series),
            distribution("bytes per label name", &statistics.name_lens),
            distribution("bytes per value", &statistics.value_lens),
        ],
    )?;
    writeln!(out, "Each block counts a name once, and a value once per name.\n")
}

fn cardinalities(out: &mut dyn Write, statistics: &Statistics) -> io::Result<()> {
    let mut keys: Vec<(&String, &u64)> = statistics.cardinalities.iter().collect();
    keys.sort_by_key(|&(name, &values)| (std::cmp::Reverse(values), name));
    let top = keys.iter().take(TOP_KEYS).map(|&(name, &values)| vec![code(name), human::count(values)]);
    table(out, "Values by label name", &["label name", "distinct values"], top)?;
    let rest = keys.iter().skip(TOP_KEYS);
    writeln!(
        out,
        "{} further names have {} values. The block with the most values has {} of them; the block with the most distinct \
         strings, names included, has {}.\n",
        human::count(rest.len() as u64),
        human::count(rest.map(|(_, values)| **values).sum()),
        human::count(statistics.most_values),
        human::count(statistics.most_symbols),
    )
}

fn sizes(out: &mut dyn Write, statistics: &Statistics, blocks: &[Written]) -> io::Result<()> {
    let series: u64 = blocks.iter().map(|block| block.series).sum();
    let per_series = |bytes: u64| if series == 0 { String::new() } else { human::per(bytes as f64 / series as f64) };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut totals = [0; 3];
    let cells = |name: &str, bytes: &[u64; 3]| {
        let layouts = bytes.iter().flat_map(|&bytes| [human::count(bytes), per_series(bytes)]);
        std::iter::once(name.to_owned()).chain(layouts).collect::<Vec<String>>()
    };
    for (name, bytes) in &statistics.sections {
        totals.iter_mut().zip(bytes).for_each(|(total, bytes)| *total += bytes);
        rows.push(cells(name, bytes));
    }
    rows.push(cells("total", &totals));
    let names = Layout::ALL.map(|layout| format!("bytes, {}", layout.name()));
    let [factored, bitpacked, fixed] = names.each_ref().map(String::as_str);
    let header = ["section", factored, "per series", bitpacked, "per series", fixed, "per series"];
    table(out, "Blocks", &header, rows)?;
    let memory = statistics.most_store_memory;
    writeln!(
        out,
        "{} of {} series. The store used at most {} of memory, {} bytes per series.\n",
        human::count_of(blocks.len() as u64, "block"),
        human::count(series),
        human::bytes(memory),
        human::per(memory as f64 / statistics.most_store_series.max(1) as f64),
    )
}

fn times(out: &mut dyn Write, timings: &Timings) -> io::Result<()> {
    let one = |name: &str, found: &Percentiles| {
        let mut row = vec![name.to_owned(), human::count(found.count), microseconds(found.mean)];
        row.push(microseconds(found.deviation));
        row.extend(found.percentiles.map(|nanoseconds| microseconds(nanoseconds as f64)));
        row
    };
    let header = ["microseconds", "count", "mean", "deviation", "50%", "90%", "99%", "100%"];
    let (records, points) = (timings.records(), timings.points());
    table(out, "Time to decode and store", &header, [one("per record", &records), one("per point", &points)])?;
    writeln!(
        out,
        "The time of a record is divided evenly among its points. Reading and decompressing are not included.\n"
    )
}

fn skipped(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let Report { skipped, shadowed, .. } = report;
    let collapsed = report.points.saturating_sub(report.series);
    table(
        out,
        "Skipped and dropped",
        &["item", "count"],
        [
            row("deleted series, skipped", report.tsdb.deleted_series),
            row("deleted blocks, skipped", report.tsdb.deleted_blocks),
            row("missing segments of logs", report.tsdb.missing_segments),
            row("malformed records, skipped", skipped.broken_records),
            row("rows with a bad value, skipped", skipped.broken_rows),
            row("truncated records, skipped", report.torn_records),
            row("inputs with a cut start", report.cut_starts),
            row("truncated compressed inputs", report.truncated_inputs),
            row("OpenMetrics without its end", report.inputs_without_end),
            row("inputs that failed", report.failed_inputs),
            row("incomplete responses", report.incomplete_responses),
            row("blank lines", report.blank_lines),
            row("points of metrics without a name, skipped", skipped.points_without_name),
            row("series with too many labels, skipped", skipped.too_many_labels),
            row("series without labels, skipped", skipped.series_without_labels),
            row("texts that are not UTF-8", skipped.invalid_texts),
            row("their points and series, skipped", skipped.invalid_series),
            row("labels with reserved names, dropped", skipped.reserved_names),
            row("times of columns out of range, dropped", skipped.values_out_of_range),
            row("metrics without points", report.metrics_without_points),
            row("points without a value, kept", report.points_without_recorded_value),
            row("points without a time, kept", report.points_without_time),
            row("points of known series", collapsed),
            row("attributes shadowed by scope attributes", shadowed.by_scope),
            row("attributes shadowed by point attributes", shadowed.by_point),
            row("attributes shadowed by metric names", shadowed.by_metric_name),
            row("attributes shadowed by duplicate keys", report.duplicate_keys.total()),
            row("empty values, dropped", report.empty_values.total()),
            row("attributes without a key, dropped", report.empty_keys),
            row("names truncated", report.names_cut),
            row("values truncated", report.values_cut),
        ],
    )?;
    for warning in &report.warnings {
        writeln!(out, "- {}", code(&warning.to_string()))?;
    }
    Ok(())
}

fn row(name: &str, count: u64) -> Vec<String> {
    vec![name.to_owned(), human::count(count)]
}

fn distribution(name: &str, found: &Distribution) -> Vec<String> {
    let mut row = vec![name.to_owned(), human::count(found.count()), human::per(found.mean())];
    row.push(human::per(found.deviation()));
    row.extend([50, 90, 99, 100].map(|percent| human::count(found.percentile(percent))));
    row
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.3}", nanoseconds / 1_000.0)
}

/// Writes a table under a heading. All columns but the first are right-aligned.
fn table(
    out: &mut dyn Write,
    heading: &str,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    writeln!(out, "## {heading}\n")?;
    line(out, header)?;
    let columns: Vec<&str> = (0..header.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect();
    line(out, &columns)?;
    rows.into_iter().try_for_each(|row| line(out, &row))?;
    writeln!(out)
}

fn line<T: Display>(out: &mut dyn Write, cells: &[T]) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(T::to_string).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

/// Formats text of a capture as Markdown code. Characters that would end the code or the cell become U+FFFD. Control
/// and directional characters, which a terminal or a browser might interpret, are escaped.
fn code(text: &str) -> String {
    let safe = TerminalSafe(text).to_string();
    let text: String = safe.chars().map(|char| if matches!(char, '`' | '|') { '\u{fffd}' } else { char }).collect();
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_markdown_and_terminals() {
        for (text, expected) in [
            ("pod", "`pod`"),
            ("a\u{202e}b\u{2066}c\u{200f}", "`a\\u202eb\\u2066c\\u200f`"),
            ("a`b|c", "`a\u{fffd}b\u{fffd}c`"),
            ("a\n# b\u{1b}[2J", "`a\\u000a# b\\u001b[2J`"),
            ("[a](b) <img>", "`[a](b) <img>`"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }
}
