//! Text output of the summary of a block.

use std::io::{self, Write};

use chronoxide_dump::summary::{ColumnSummary, FACTORED, Part, Summary, Times};
use chronoxide_text::escape::Escaped;
use chronoxide_text::human;

use crate::style::Style;

/// Writes a summary.
pub(crate) fn write(summary: &Summary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let count = |n: u64| human::count(n);
    writeln!(out, "{} {}", style.heading("block"), summary.block_id)?;
    let edition = summary
        .edition
        .map_or("features of no edition that this version knows".to_owned(), |name| format!("edition {name}"));
    writeln!(out, "  format     {}, {edition}", summary.format)?;
    let size = human::bytes(summary.bytes);
    match summary.bytes_per_series() {
        Some(per_series) => writeln!(out, "  size       {size}, {} bytes per series", human::per(per_series))?,
        None => writeln!(out, "  size       {size}")?,
    }
    writeln!(out, "  time       {}", times(summary.time.as_ref()))?;
    if summary.window.is_some() {
        writeln!(out, "  window     {}", times(summary.window.as_ref()))?;
    }
    let labels = match summary.series {
        0 => String::new(),
        series => format!(" of {} labels", human::per(summary.labels as f64 / series as f64)),
    };
    writeln!(out, "  series     {}{labels}", count(summary.series))?;
    writeln!(out, "  keysets    {}", count(summary.keysets.into()))?;
    writeln!(out, "  keys       {} with {} values", count(summary.keys.into()), count(summary.values))?;
    let packed = summary.packed_symbol_bytes.map(|bytes| format!(", packed into {}", human::bytes(bytes)));
    let (symbols, bytes) = (count(summary.symbols.into()), human::bytes(summary.symbol_bytes));
    writeln!(out, "  symbols    {symbols} in {bytes}{}", packed.unwrap_or_default())?;
    if summary.inner_tables > 0 || summary.list_pools > 0 {
        let tables = count(summary.inner_tables.into());
        writeln!(out, "  factored   {tables} inner tables, {} list pools", count(summary.list_pools.into()))?;
    }
    if summary.metric_metadata > 0 {
        let rows = human::count_of(summary.metric_metadata.into(), "row");
        writeln!(out, "  metrics    {rows} of type, unit and description")?;
    }
    for ColumnSummary { name, value_type, merge, bytes, bytes_per_series, .. } in &summary.columns {
        let each = bytes_per_series.map(|each| format!(", {} per series", human::per(each))).unwrap_or_default();
        writeln!(out, "  column     {} ({value_type}, {merge}) in {}{each}", Escaped(name), human::bytes(*bytes))?;
    }
    let layout = if summary.layout == FACTORED { "factored, " } else { "" };
    writeln!(out, "  rows       {layout}{}, planner {}", summary.rows, summary.planner_version)?;
    for (what, pairs) in [("label", &summary.external_labels), ("annotation", &summary.annotations)] {
        for (key, value) in pairs {
            writeln!(out, "  {what:10} {}={}", Escaped(key), Escaped(value))?;
        }
    }
    if !summary.parents.is_empty() {
        writeln!(out, "  parents    {} blocks", count(summary.parents.len() as u64))?;
    }
    parts(&summary.parts, summary.bytes, style, out)?;
    if !summary.top_keys.is_empty() {
        writeln!(out, "{}", style.heading("keys with the most values"))?;
        for key in &summary.top_keys {
            writeln!(out, "  {:28} {:>14}", Escaped(&key.name).to_string(), count(key.values.into()))?;
        }
    }
    Ok(())
}

/// Writes the size of each part of a file.
pub(super) fn parts(parts: &[Part], bytes: u64, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", style.heading("size of each part"))?;
    for part in parts {
        let share = 100.0 * part.bytes as f64 / bytes as f64;
        let per_series = part.bytes_per_series.map_or_else(|| "-".to_owned(), human::per);
        writeln!(
            out,
            "  {:28} {:>14} {share:>5.1} % {per_series:>10} per series",
            part.name,
            human::count(part.bytes)
        )?;
    }
    Ok(())
}

pub(super) fn times(range: Option<&Times>) -> String {
    range.map_or_else(|| "unknown".to_owned(), |range| format!("{} to before {}", range.start, range.end))
}
