//! Table and JSON for pipes and files.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::report::{Churn, LabelChurn, PairChurn};
use chronoxide_text::escape::Escaped;
use chronoxide_text::human;
use serde::Serialize;

use super::level::Level;
use super::list::{LabelRow, List, MetricRow};
use crate::style::Style;
use crate::{Failure, Quiet, json_line, print_styled, tell};

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

/// Prints the label pairs and labels whose series come and go, or a note if their times are unknown.
pub(super) fn print_churn(churn: Option<&Churn>, is_json: bool, quiet: Quiet) -> Result<(), Failure> {
    let Some(churn) = churn else {
        if !quiet.is_set() {
            let note = "no block knows the times of its series, or all of these are in one minute";
            tell(|out| writeln!(out, "chronoxide-inspect: note: {note}"));
        }
        return Ok(());
    };
    print_styled(|out, style| match is_json {
        true => json_line(out, churn),
        false => write_churn(churn, style, out),
    })?;
    Ok(())
}

fn write_churn(churn: &Churn, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let [new, gone] = [churn.new, churn.gone].map(human::count);
    writeln!(out, "{new} series came and {gone} went within {} hours", human::per(churn.hours))?;
    writeln!(out, "{}", style.heading("         came           went      per hour  label pair"))?;
    for PairChurn { name, value, new, gone, changes_per_hour, .. } in &churn.pairs {
        let [new, gone] = [*new, *gone].map(human::count);
        let per_hour = human::per(*changes_per_hour);
        writeln!(out, "{new:>13}  {gone:>13}  {per_hour:>12}  {}={}", Name(name), Escaped(value))?;
    }
    writeln!(out, "{}", style.heading("  values came    values went  series each  label"))?;
    for LabelChurn { name, new_values, gone_values, series_of_new_values, .. } in &churn.labels {
        let each = match new_values {
            0 => "-".to_owned(),
            values => human::per(*series_of_new_values as f64 / *values as f64),
        };
        let [new, gone] = [*new_values, *gone_values].map(human::count);
        writeln!(out, "{new:>13}  {gone:>13}  {each:>11}  {}", Name(name))?;
    }
    Ok(())
}
