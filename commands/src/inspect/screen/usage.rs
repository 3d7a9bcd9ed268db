//! Text output of the use of metrics and labels by queries.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::report::{LabelUse, MetricSums, MetricUse, SelectorUse, UnusedMetric, Usage, UsedBy};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use crate::style::Style;

/// Writes the figures. Lists have at most `first` rows.
pub(crate) fn write(usage: &Usage, first: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (queries, files) = (human::count_of(usage.queries, "query"), human::count_of(usage.files, "file"));
    writeln!(out, "{}", style.heading(format!("{queries} in {files}")))?;
    if usage.asked != usage.queries {
        writeln!(out, "  asked          {} times", human::count(usage.asked))?;
    }
    if !usage.unread.is_empty() {
        writeln!(out, "  not read       {}", human::count(usage.unread.len() as u64))?;
    }
    let all = usage.used.series + usage.unused.series;
    for (name, sums) in [("used", usage.used), ("unused", usage.unused)] {
        let MetricSums { metrics, series, text_bytes } = sums;
        writeln!(
            out,
            "  {name:<13}  {} of the series: {} in {}, {} of labels",
            human::share(series, all),
            human::count(series),
            human::count_of(metrics, "metric"),
            human::bytes(text_bytes)
        )?;
    }
    let mut lists = Lists { first, style, out };
    lists.write("unused metrics, by series", &usage.unused_metrics, usage.unused.metrics, |metric| {
        let UnusedMetric { metric, series, recorded_by, .. } = metric;
        let rule = recorded_by.as_ref().map(|place| format!("  (made by {})", TerminalSafe(place))).unwrap_or_default();
        (*series, format!("{}{rule}", metric_name(metric.as_deref())))
    })?;
    let unused: Vec<&LabelUse> = usage.labels.iter().filter(|label| label.used_by.queries == 0).collect();
    lists.write("unused labels, by values", &unused, unused.len() as u64, |label| {
        let note = if usage.distinguishing_labels.contains(&label.name) { "  (series differ in it)" } else { "" };
        (label.values, format!("{} in {} series{note}", Name(&label.name), human::count(label.series)))
    })?;
    let reducible: Vec<&MetricUse> = usage.metrics.iter().filter(|metric| metric.remains < metric.series).collect();
    lists.write(
        "used metrics with labels that no query needs, by series",
        &reducible,
        reducible.len() as u64,
        |metric| {
            let labels: Vec<String> = metric.unneeded_labels.iter().map(|label| Name(label).to_string()).collect();
            let name = metric_name(metric.metric.as_deref());
            (metric.series, format!("{name}: {} without {}", human::count(metric.remains), labels.join(", ")))
        },
    )?;
    let most: Vec<&MetricUse> = usage.metrics.iter().collect();
    lists.write("used metrics, by series", &most, usage.used.metrics, |metric| {
        (metric.series, format!("{}  {}", metric_name(metric.metric.as_deref()), used_by(&metric.used_by)))
    })?;
    let without = &usage.without_series;
    lists.write("selectors of queries without any series, by queries", without, without.len() as u64, |selector| {
        let SelectorUse { selector, recorded_by, used_by } = selector;
        let rule = recorded_by.as_ref().map(|place| format!("  (made by {})", TerminalSafe(place))).unwrap_or_default();
        (used_by.queries, format!("{}  {}{rule}", TerminalSafe(selector), used_by_first(used_by)))
    })
}

fn metric_name(name: Option<&str>) -> String {
    name.map_or_else(|| "(no __name__)".to_owned(), |name| Name(name).to_string())
}

fn used_by(used: &UsedBy) -> String {
    let queries = human::count_of(used.queries, "query");
    format!("({queries}: {})", used_by_first(used))
}

fn used_by_first(used: &UsedBy) -> String {
    let more = if used.queries > 1 { ", ..." } else { "" };
    used.places.first().map(|place| format!("{}{more}", TerminalSafe(place))).unwrap_or_default()
}

/// Lists of counts with headings.
struct Lists<'a> {
    first: usize,
    style: Style,
    out: &'a mut dyn Write,
}

impl Lists<'_> {
    fn write<T>(&mut self, heading: &str, rows: &[T], count: u64, row: impl Fn(&T) -> (u64, String)) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "{}", self.style.heading(heading))?;
        for (number, text) in rows.iter().take(self.first).map(row) {
            writeln!(self.out, "  {:>13}  {text}", human::count(number))?;
        }
        match count.checked_sub(self.first as u64) {
            Some(more @ 1..) => writeln!(self.out, "  ... {} more", human::count(more)),
            _ => Ok(()),
        }
    }
}
