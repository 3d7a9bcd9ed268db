//! The series of a block, one line each, in the order of their refs.

use std::io::Write;

use chronoxide_cli::escape::{Escaped, TerminalSafe};
use chronoxide_format::view::{BlockView, Series, Text, TextLabel};
use serde::ser::{SerializeMap, Serializer};

use crate::InspectError;
use crate::name::Name;

/// How series are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The ref, then `name="value"` for each label
    Table,
    /// One JSON object of labels per line, as `chronoxide-ingest` reads it (series-json)
    SeriesJson,
    /// Prometheus's notation: `name{label="value"}`
    Prometheus,
}

/// Writes the first series of a block, or all of them. Holds one line in memory. For a terminal, control characters
/// are written as `\u` and four hexadecimal digits, in every format.
///
/// # Errors
/// Returns an error if the block is damaged or writing fails.
pub fn write_series(
    view: &BlockView<'_>,
    format: Format,
    first: Option<usize>,
    terminal: bool,
    out: &mut dyn Write,
) -> Result<(), InspectError> {
    let text = view.text()?;
    let mut line = Vec::new();
    for series in view.series_iter().take(first.unwrap_or(usize::MAX)) {
        let series = series?;
        line.clear();
        match format {
            Format::Table => table(&text, &series, &mut line)?,
            Format::SeriesJson => series_json(&text, &series, &mut line)?,
            Format::Prometheus => prometheus(&text, &series, &mut line)?,
        }
        match std::str::from_utf8(&line) {
            Ok(line) if terminal => write!(out, "{}", TerminalSafe(line))?,
            _ => out.write_all(&line)?,
        }
        writeln!(out)?;
    }
    Ok(())
}

fn table(text: &Text<'_, '_>, series: &Series<'_, '_>, out: &mut dyn Write) -> Result<(), InspectError> {
    write!(out, "{}", series.series_ref())?;
    for label in text.labels(series) {
        let TextLabel { name, value } = label?;
        write!(out, " {}={}", Name(name), Escaped(value))?;
    }
    Ok(())
}

fn series_json(text: &Text<'_, '_>, series: &Series<'_, '_>, out: &mut dyn Write) -> Result<(), InspectError> {
    let mut object = serde_json::Serializer::new(&mut *out);
    let mut map = object.serialize_map(None).map_err(std::io::Error::from)?;
    for label in text.labels(series) {
        let TextLabel { name, value } = label?;
        map.serialize_entry(name, value).map_err(std::io::Error::from)?;
    }
    map.end().map_err(std::io::Error::from)?;
    Ok(())
}

/// Writes a series in the notation of Prometheus's text format and of PromQL. Names that are not identifiers are
/// quoted, as both allow since they accept UTF-8 names. In values, only the backslash, the quote and the line feed are
/// escaped.
fn prometheus(text: &Text<'_, '_>, series: &Series<'_, '_>, out: &mut dyn Write) -> Result<(), InspectError> {
    let labels = text.labels(series).collect::<Result<Vec<_>, _>>()?;
    let metric = labels.iter().find(|label| label.name == "__name__").map(|label| label.value);
    let bare = metric.filter(|metric| is_identifier(metric, true));
    write!(out, "{}{{", bare.unwrap_or_default())?;
    let mut separator = "";
    if let (Some(metric), None) = (metric, bare) {
        write!(out, "{}", Quoted(metric))?;
        separator = ",";
    }
    for TextLabel { name, value } in labels.into_iter().filter(|label| label.name != "__name__") {
        write!(out, "{separator}")?;
        if is_identifier(name, false) {
            write!(out, "{name}")?
        } else {
            write!(out, "{}", Quoted(name))?
        }
        write!(out, "={}", Quoted(value))?;
        separator = ",";
    }
    write!(out, "}}")?;
    Ok(())
}

/// Returns true if a name needs no quotes; colons are for metric names only.
fn is_identifier(name: &str, colons: bool) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || (colons && c == ':');
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}
