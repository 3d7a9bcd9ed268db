//! Table and JSON for pipes and files.

use std::io::{self, Write};

use chronoxide_text::human;
use serde::Serialize;

use super::level::Level;
use super::list::{LabelRow, List, MetricRow};
use crate::json_line;
use crate::style::Style;

/// Writes at most `first` rows as a table. Names are last, since their width varies.
pub(super) fn write(level: &Level, first: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let columns = level.list.columns();
    let mut headings: String =
        columns.iter().map(|column| format!("{:>width$}  ", column.heading, width = column.width)).collect();
    headings.push_str(level.view.noun());
    writeln!(out, "{}", style.heading(headings))?;
    for row in 0..level.list.len().min(first) {
        for (number, column) in level.list.numbers(row, level.total).iter().zip(columns) {
            write!(out, "{number:>width$}  ", width = column.width)?;
        }
        writeln!(out, "{}", level.list.name_text(row))?;
    }
    match level.list.len().checked_sub(first) {
        Some(more @ 1..) => {
            writeln!(out, "... {}", human::count_of(more as u64, &format!("more {}", level.view.noun())))
        }
        _ => Ok(()),
    }
}

/// Row as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Metric {
        metric: Option<&'a str>,
        series: u64,
        text_bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        queries: Option<u64>,
    },
    Label {
        name: &'a str,
        values: u64,
        series: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        queries: Option<u64>,
    },
    Value {
        value: &'a str,
        series: u64,
    },
}

/// Writes at most `first` rows as JSON, one object per line.
pub(super) fn write_json(level: &Level, first: usize, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..level.list.len().min(first) {
        let row = match &level.list {
            List::Metrics(rows) => {
                let MetricRow { count, queries } = &rows[row];
                Row::Metric {
                    metric: count.metric.as_deref(),
                    series: count.series,
                    text_bytes: count.text_bytes,
                    queries: *queries,
                }
            }
            List::Labels(rows) => {
                let LabelRow { count, queries, .. } = &rows[row];
                Row::Label { name: &count.name, values: count.values, series: count.series, queries: *queries }
            }
            List::Values(rows) => Row::Value { value: &rows[row].value, series: rows[row].series },
        };
        json_line(out, &row)?;
    }
    Ok(())
}
