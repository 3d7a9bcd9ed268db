//! Counts of series and labels, beside counts of plain labelsets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::Labelset;
use serde_json::{Value, json};

use crate::support::{self, Folder, assert_exit, broken, labelsets, plain_block, random_block, run, stdout};

/// Sorts counts as the command does: the largest first, then by name.
fn sorted<T: Ord>(counts: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    counts
}

fn count<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// Returns the JSON for plain labelsets.
fn model(blocks: u64, series: &BTreeSet<Labelset>, first: usize) -> Value {
    let pairs = count(series.iter().flatten());
    let keysets = count(series.iter().map(|labels| labels.keys().collect::<Vec<_>>()));
    let metrics = count(series.iter().filter_map(|labels| labels.get("__name__")));
    let mut names: BTreeMap<&String, [u64; 3]> = BTreeMap::new();
    for ((name, value), series) in &pairs {
        let [values, bytes, sum] = names.entry(name).or_default();
        *values += 1;
        *bytes += value.len() as u64;
        *sum += series;
    }
    let by = |column: usize| -> Vec<Value> {
        let rows = sorted(names.iter().map(|(name, numbers)| (*name, numbers[column])));
        let row = |(name, _): (&String, u64)| {
            let [values, bytes, series] = names[name];
            json!({ "name": name, "values": values, "bytes": bytes, "series": series })
        };
        rows.into_iter().take(first).map(row).collect()
    };
    let metric = |(metric, series)| json!({ "metric": metric, "series": series });
    let pair =
        |((name, value), series): ((&String, &String), u64)| json!({ "name": name, "value": value, "series": series });
    let keyset = |(names, series)| json!({ "names": names, "series": series });
    json!({
        "blocks": blocks,
        "series": series.len(),
        "label_names": names.len(),
        "label_pairs": pairs.len(),
        "labels": series.iter().map(BTreeMap::len).sum::<usize>(),
        "keysets": keysets.len(),
        "metrics_by_series": sorted(metrics).into_iter().take(first).map(metric).collect::<Vec<_>>(),
        "names_by_values": by(0),
        "names_by_bytes": by(1),
        "pairs_by_series": sorted(pairs).into_iter().take(first).map(pair).collect::<Vec<_>>(),
        "keysets_by_series": sorted(keysets).into_iter().take(first).map(keyset).collect::<Vec<_>>(),
    })
}

#[track_caller]
fn check(paths: &[&str], blocks: u64, series: &BTreeSet<Labelset>) {
    let ask = |more: &[&str]| -> Value {
        serde_json::from_str(&stdout(&[&["cardinality", "--json", "--quiet"], paths, more].concat())).unwrap()
    };
    assert_eq!(ask(&["--first", "0"]), model(blocks, series, usize::MAX));
    assert_eq!(ask(&[]), model(blocks, series, 10));
    let matching =
        |filter: &dyn Fn(&Labelset) -> bool| series.iter().filter(|labels| filter(labels)).cloned().collect();
    let is = |labels: &Labelset, name: &str, value: &str| labels.get(name).is_some_and(|found| found == value);
    let up = matching(&|labels| is(labels, "__name__", "up"));
    assert_eq!(ask(&["--match", "up", "--first", "3"]), model(blocks, &up, 3));
    // A union: series that both select count once.
    let either = matching(&|labels| is(labels, "__name__", "up") || is(labels, "job", "api"));
    assert_eq!(ask(&["--match", "up", "--match", r#"{job="api"}"#]), model(blocks, &either, 10));
}

#[test]
fn counts_of_one_block_are_those_of_its_labelsets() {
    for golden in goldens().iter().filter(|golden| golden.series.len() < 300) {
        check(&[&support::golden(&format!("{}.cx", golden.name))], 1, &golden.series);
    }
}

#[test]
fn series_of_several_blocks_count_once() {
    let folder = Folder::new();
    let mut union = BTreeSet::new();
    for seed in 0..3 {
        let (series, block) = random_block(seed);
        folder.write(&format!("{seed}.cx"), block);
        union.extend(series);
    }
    let half: BTreeSet<Labelset> = union.iter().step_by(2).cloned().collect();
    let path = folder.write("half.cx", plain_block(&half));
    let here = folder.path().to_str().unwrap();
    check(&[here], 4, &union);
    // A block that is named twice is one.
    check(&[here, &path], 4, &union);
    check(&[&path, &path], 1, &half);
}

#[test]
fn text_shows_each_list_under_a_heading() {
    let folder = Folder::new();
    let block = plain_block(&labelsets(&[
        &[("__name__", "up"), ("pod", "a")],
        &[("__name__", "up"), ("pod", "bb")],
        &[("__name__", "load"), ("pod", "a"), ("größe", "x\u{202e}")],
    ]));
    let path = folder.write("a.cx", block);
    let expected = r#"1 block
  series         3
  label names    3
  label pairs    5 distinct
  labels         7 in all series, 2.33 per series
  keysets        2
metrics with the most series
              2  up
              1  load
label names with the most values
              2  __name__ in 3 series
              2  pod in 3 series
              1  "größe" in 1 series
label names with the most bytes of distinct values
              6  __name__ in 2 values
              4  "größe" in 1 value
              3  pod in 2 values
label pairs with the most series
              2  __name__="up"
              2  pod="a"
              1  __name__="load"
              1  "größe"="x\u202e"
              1  pod="bb"
keysets with the most series
              2  2 names: __name__, pod
              1  3 names: __name__, "größe", pod
"#;
    assert_eq!(stdout(&["cardinality", &path]), expected);
    let none = stdout(&["cardinality", &path, "--match", "absent"]);
    assert!(none.starts_with("1 block\n  series         0\n") && none.lines().count() == 6, "{none}");
}

#[test]
fn damaged_blocks_of_a_folder_do_not_count() {
    let (folder, sound) = Folder::with_damage();
    let output = run(&["cardinality", folder.path().to_str().unwrap(), "--json"]);
    assert_exit(&output, 3, "b.cx: corrupt block");
    assert_exit(&output, 3, "c.cx: unsupported block format version");
    assert_eq!(output.stdout, stdout(&["cardinality", &sound, "--json"]).as_bytes());
    // Without any block, zeros would hide the error.
    assert_eq!(run(&["cardinality", &broken("magic")]).stdout, b"");
}
