//! The series of a block, one line each, in the order of their refs.

use std::io::{self, Write};

use chronoxide_format::SeriesRef;
use chronoxide_format::view::BlockView;
use chronoxide_text::escape::Escaped;
use serde::ser::{SerializeMap, Serializer};

use crate::DumpError;
use crate::name::Name;

/// How series are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `name="value"` for each label, after the ref if the only argument is a file
    Table,
    /// One JSON object of labels per line, as `chronoxide-ingest` reads it (series-json)
    SeriesJson,
    /// Prometheus's notation: `name{label="value"}`
    Prometheus,
}

/// Writes the first series of a block, or all of them. Holds one line in memory. JSON and Prometheus's notation have
/// control characters as they are: a terminal needs them escaped.
///
/// # Errors
/// Returns an error if the block is damaged or writing fails.
pub fn write_series(
    view: &BlockView<'_>,
    format: Format,
    first: Option<usize>,
    out: &mut dyn Write,
) -> Result<(), DumpError> {
    let text = view.text()?;
    let mut writer = SeriesWriter::new(format);
    let mut labels = Vec::new();
    for series in view.series_iter().take(first.unwrap_or(usize::MAX)) {
        let series = series?;
        labels.clear();
        for label in text.labels(&series) {
            labels.push(label?.into());
        }
        writer.write("", Some(series.series_ref()), &labels, out)?;
    }
    Ok(())
}

/// Writes series as lines, given their labels in the order of names.
#[derive(Debug)]
pub struct SeriesWriter {
    format: Format,
    line: Vec<u8>,
}

impl SeriesWriter {
    /// Creates a writer.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, line: Vec::new() }
    }

    /// Writes `before`, the labels, and the end of the line. [`Format::Table`] begins with the ref, if it is given.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn write(
        &mut self,
        before: &str,
        series: Option<SeriesRef>,
        labels: &[(&str, &str)],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.line.clear();
        self.line.extend_from_slice(before.as_bytes());
        match self.format {
            Format::Table => table(series, labels, &mut self.line)?,
            Format::SeriesJson => series_json(labels, &mut self.line)?,
            Format::Prometheus => prometheus(labels, &mut self.line)?,
        }
        self.line.push(b'\n');
        out.write_all(&self.line)
    }
}

fn table(series: Option<SeriesRef>, labels: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    let mut separator = "";
    if let Some(series) = series {
        write!(out, "{series}")?;
        separator = " ";
    }
    for &(name, value) in labels {
        write!(out, "{separator}{}={}", Name(name), Escaped(value))?;
        separator = " ";
    }
    Ok(())
}

fn series_json(labels: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    let mut object = serde_json::Serializer::new(&mut *out);
    let mut map = object.serialize_map(None)?;
    for (name, value) in labels {
        map.serialize_entry(name, value)?;
    }
    map.end()?;
    Ok(())
}

/// Writes a series in the notation of Prometheus's text format and of PromQL. Names that are not identifiers are
/// quoted, as both allow since they accept UTF-8 names. In values, only the backslash, the quote and the line feed are
/// escaped.
fn prometheus(labels: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    let metric = labels.iter().find(|(name, _)| *name == "__name__").map(|&(_, value)| value);
    let bare = metric.filter(|metric| is_identifier(metric, true));
    write!(out, "{}{{", bare.unwrap_or_default())?;
    let mut separator = "";
    if let (Some(metric), None) = (metric, bare) {
        write!(out, "{}", Quoted(metric))?;
        separator = ",";
    }
    for &(name, value) in labels.iter().filter(|(name, _)| *name != "__name__") {
        write!(out, "{separator}")?;
        if is_identifier(name, false) {
            write!(out, "{name}")?
        } else {
            write!(out, "{}", Quoted(name))?
        }
        write!(out, "={}", Quoted(value))?;
        separator = ",";
    }
    write!(out, "}}")
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
