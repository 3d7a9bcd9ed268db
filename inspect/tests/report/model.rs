//! The figures of a report, counted over plain labelsets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chronoxide_testkit::plan::Labelset;
use serde_json::{Value, json};

pub type Series = BTreeSet<Labelset>;

/// Counts items. Returns the largest counts first, and equal ones in the order of items.
fn counts<T: Ord>(items: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

fn text_bytes<'s>(series: impl Iterator<Item = &'s Labelset>) -> u64 {
    series.flatten().map(|(name, value)| (name.len() + value.len()) as u64).sum()
}

fn of_metric<'s>(series: &'s Series, metric: Option<&String>) -> Vec<&'s Labelset> {
    series.iter().filter(|labels| labels.get("__name__") == metric).collect()
}

/// Returns the distinct values of a label.
pub fn values<'s>(series: impl Iterator<Item = &'s Labelset>, label: &str) -> BTreeSet<&'s String> {
    series.filter_map(|labels| labels.get(label)).collect()
}

/// Returns the distinct names of labels.
pub fn names(series: &Series) -> BTreeSet<&String> {
    series.iter().flat_map(Labelset::keys).collect()
}

/// Returns the labelsets without some labels.
pub fn kept(series: &Series, ignored: &[&str]) -> BTreeSet<Labelset> {
    let kept = |series: &Labelset| -> Labelset {
        let kept = series.iter().filter(|(name, _)| !ignored.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    series.iter().map(kept).collect()
}

/// Returns the series without some labels. A series without other labels is dropped.
pub fn without(series: &Series, dropped: &[&str]) -> Series {
    kept(series, dropped).into_iter().filter(|labels| !labels.is_empty()).collect()
}

fn value_rows(counts: &[(&String, u64)]) -> Vec<Value> {
    counts.iter().map(|(value, series)| json!({ "value": value, "series": series })).collect()
}

fn metric_row(series: &Series, metric: Option<&String>) -> Value {
    let of_metric = of_metric(series, metric);
    let names: BTreeSet<&String> = of_metric.iter().flat_map(|labels| labels.keys()).collect();
    let mut labels: Vec<(&String, u64)> = names
        .into_iter()
        .filter(|name| *name != "__name__")
        .map(|name| (name, values(of_metric.iter().copied(), name).len() as u64))
        .collect();
    labels.sort_by_key(|(_, values)| Reverse(*values));
    let first = labels.first().map(|(name, _)| name.as_str()).unwrap_or_default();
    let with = counts(of_metric.iter().filter_map(|labels| labels.get(first)));
    let (listed, others) = with.split_at(with.len().min(12));
    let without = of_metric.iter().filter(|labels| !labels.contains_key(first)).count();
    json!({
        "metric": metric,
        "type": null,
        "unit": null,
        "help": null,
        "series": of_metric.len(),
        "text_bytes": text_bytes(of_metric.iter().copied()),
        "labels": labels.iter().take(8).map(|(name, values)| json!({ "name": name, "values": values })).collect::<Vec<_>>(),
        "values": value_rows(listed),
        "other_values": others.len(),
        "other_series": others.iter().map(|(_, series)| series).sum::<u64>(),
        "used_by": null, "without": if labels.is_empty() { 0 } else { without },
    })
}

/// Returns the fields `metrics` and `other_metrics`.
pub fn metrics(series: &Series, first: usize) -> (Vec<Value>, Value) {
    let all = counts(series.iter().map(|labels| labels.get("__name__")));
    let bytes = |metric: Option<&String>| text_bytes(of_metric(series, metric).into_iter());
    let mut by_bytes: Vec<_> = all.iter().map(|(metric, _)| *metric).collect();
    by_bytes.sort_by_key(|metric| Reverse(bytes(*metric)));
    let by_series = all.iter().map(|(metric, _)| *metric).take(first);
    let listed: BTreeSet<Option<&String>> = by_series.chain(by_bytes.into_iter().take(first)).collect();
    let (mut rows, mut others) = (Vec::new(), (0, 0, 0));
    for (metric, series_count) in all {
        if listed.contains(&metric) {
            rows.push(metric_row(series, metric));
        } else {
            others = (others.0 + 1, others.1 + series_count, others.2 + bytes(metric));
        }
    }
    (rows, json!({ "metrics": others.0, "series": others.1, "text_bytes": others.2 }))
}

/// Returns the field `labels`, without how values look.
pub fn labels(series: &Series) -> Vec<Value> {
    let mut all: Vec<(&String, BTreeSet<&String>)> =
        names(series).into_iter().map(|name| (name, values(series.iter(), name))).collect();
    all.sort_by_key(|(_, values)| Reverse(values.len()));
    let row = |(name, values): &(&String, BTreeSet<&String>)| {
        let is_counted = *name != "__name__";
        let top = counts(series.iter().filter_map(|labels| labels.get(*name)));
        json!({
            "name": name,
            "values": values.len(),
            "value_bytes": values.iter().map(|value| value.len()).sum::<usize>(),
            "series": top.iter().map(|(_, series)| series).sum::<u64>(),
            "remains": is_counted.then(|| without(series, &[name]).len()),
            "used_by": null, "top": value_rows(&top[..top.len().min(5)]),
        })
    };
    all.iter().map(row).collect()
}

/// Returns the sums of the field `totals` that follow from the series.
pub fn totals(series: &Series) -> Value {
    let names = names(series);
    let all_values: Vec<BTreeSet<&String>> = names.iter().map(|name| values(series.iter(), name)).collect();
    json!({
        "series": series.len(),
        "metrics": values(series.iter(), "__name__").len(),
        "label_names": names.len(),
        "label_pairs": all_values.iter().map(BTreeSet::len).sum::<usize>(),
        "value_bytes": all_values.iter().flatten().map(|value| value.len()).sum::<usize>(),
        "labels": series.iter().map(Labelset::len).sum::<usize>(),
        "text_bytes": text_bytes(series.iter()),
        "keysets": series.iter().map(|labels| labels.keys().collect::<Vec<_>>()).collect::<BTreeSet<_>>().len(),
    })
}
