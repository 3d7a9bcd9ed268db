//! Text output of the cardinality of labels.

use std::fmt::Display;
use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::query::Cardinality;
use chronoxide_text::escape::Escaped;
use chronoxide_text::human;

use super::List;
use crate::style::Style;

/// Writes the counts. Lists in a line have at most `most` items.
pub(crate) fn write(counts: &Cardinality<'_>, style: Style, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let labels = match counts.series {
        0 => String::new(),
        series => format!(", {} per series", human::per(counts.labels as f64 / series as f64)),
    };
    writeln!(out, "{}", style.heading(human::count_of(counts.blocks, "block")))?;
    writeln!(out, "  series         {}", human::count(counts.series))?;
    writeln!(out, "  label names    {}", human::count(counts.label_names))?;
    writeln!(out, "  label pairs    {} distinct", human::count(counts.label_pairs))?;
    writeln!(out, "  labels         {} in all series{labels}", human::count(counts.labels))?;
    writeln!(out, "  keysets        {}", human::count(counts.keysets))?;
    let mut lists = Lists { style, out };
    let metrics = counts.metrics_by_series.iter();
    lists.write("metrics with the most series", metrics.map(|row| (row.series, Name(row.metric).to_string())))?;
    let names = counts.names_by_values.iter();
    let values = names.map(|row| (row.values, format!("{} in {}", Name(row.name), series(row.series))));
    lists.write("label names with the most values", values)?;
    let names = counts.names_by_bytes.iter();
    let bytes = names.map(|row| (row.bytes, format!("{} in {}", Name(row.name), human::count_of(row.values, "value"))));
    lists.write("label names with the most bytes of distinct values", bytes)?;
    let pairs = counts.pairs_by_series.iter();
    let pairs = pairs.map(|row| (row.series, format!("{}={}", Name(row.name), Escaped(row.value))));
    lists.write("label pairs with the most series", pairs)?;
    let keysets = counts.keysets_by_series.iter().map(|row| {
        let names: Vec<_> = row.names.iter().map(|&name| Name(name)).collect();
        (row.series, List { what: "name", items: &names, most }.to_string())
    });
    lists.write("keysets with the most series", keysets)
}

fn series(count: u64) -> String {
    format!("{} series", human::count(count))
}

/// Lists of counts with headings.
struct Lists<'a> {
    style: Style,
    out: &'a mut dyn Write,
}

impl Lists<'_> {
    fn write(&mut self, heading: &str, rows: impl Iterator<Item = (u64, impl Display)>) -> io::Result<()> {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        writeln!(self.out, "{}", self.style.heading(heading))?;
        for (count, what) in rows {
            writeln!(self.out, "  {:>13}  {what}", human::count(count))?;
        }
        Ok(())
    }
}
