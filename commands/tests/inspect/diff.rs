//! Differences of blocks and folders, with expected lines by hand.

use std::collections::BTreeSet;
use std::fs;

use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use serde_json::{Value, json};

use crate::support::{Folder, assert_exit, broken, golden, labelsets, plain_block, random_block, run, stdout};

fn monday() -> BTreeSet<Labelset> {
    labelsets(&[
        &[("__name__", "up"), ("pod", "a")],
        &[("__name__", "up"), ("pod", "b")],
        &[("__name__", "up"), ("pod", "c")],
        &[("__name__", "load"), ("pod", "a")],
        &[("pod", "a")],
    ])
}

fn tuesday() -> BTreeSet<Labelset> {
    labelsets(&[
        &[("__name__", "up"), ("pod", "b")],
        &[("__name__", "up"), ("pod", "d"), ("zone", "z")],
        &[("__name__", "load"), ("pod", "a")],
        &[("__name__", "memory"), ("pod", "a")],
        &[("__name__", "memory"), ("pod", "e")],
    ])
}

#[test]
fn changes_are_counted_by_metric_and_listed_as_series() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.cx", plain_block(&monday())), folder.write("b.cx", plain_block(&tuesday())));
    let summary = "\
series: 2 in both, 3 gone, 3 came
             -2            +1  up
             -0            +2  memory
             -1            +0  (no __name__)
";
    let output = run(&["diff", &a, &b]);
    assert_exit(&output, 5, "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), summary);
    assert_eq!(output.stderr, b"");
    let listed = String::from_utf8(run(&["diff", &a, &b, "--series"]).stdout).unwrap();
    let lines: BTreeSet<&str> = listed.strip_prefix(summary).unwrap().lines().collect();
    let expected = [
        r#"- up{pod="a"}"#,
        r#"- up{pod="c"}"#,
        r#"- {pod="a"}"#,
        r#"+ up{pod="d",zone="z"}"#,
        r#"+ memory{pod="a"}"#,
        r#"+ memory{pod="e"}"#,
    ];
    assert_eq!(lines, BTreeSet::from(expected));
    let first = String::from_utf8(run(&["diff", &a, &b, "--first", "1"]).stdout).unwrap();
    assert_eq!(first.lines().last(), Some("  ... 2 more metrics"));
    let matched = run(&["diff", &a, &b, "--match", r#"up{pod=~"a|b"}"#]);
    assert_exit(&matched, 5, "");
    let expected = "series: 1 in both, 1 gone, 0 came\n             -1            +0  up\n";
    assert_eq!(String::from_utf8(matched.stdout).unwrap(), expected);
    let equal = stdout(&["diff", &a, &b, "--match", "load", "--match", r#"up{pod="b"}"#]);
    assert_eq!(equal, "series: 2 in both, 0 gone, 0 came\n");
}

#[test]
fn changes_as_json_are_lines_with_types() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.cx", plain_block(&monday())), folder.write("b.cx", plain_block(&tuesday())));
    let output = run(&["diff", &b, &a, "--series", "--json", "--first", "2"]);
    assert_exit(&output, 5, "");
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "type": "total", "same": 2, "gone": 3, "came": 3 }));
    assert_eq!(lines[1], json!({ "type": "metric", "metric": "up", "gone": 1, "came": 2 }));
    assert_eq!(lines[2], json!({ "type": "metric", "metric": "memory", "gone": 2, "came": 0 }));
    assert_eq!(lines.len(), 3 + 6);
    assert!(lines.contains(&json!({ "type": "came", "labels": { "pod": "a" } })));
    assert!(lines.contains(&json!({ "type": "gone", "labels": { "__name__": "up", "pod": "d", "zone": "z" } })));
    let all = run(&["diff", &b, &a, "--json", "--first", "0"]);
    let all = String::from_utf8(all.stdout).unwrap();
    assert_eq!(all.lines().last(), Some(r#"{"came":1,"gone":0,"metric":null,"type":"metric"}"#));
}

#[test]
fn a_label_that_exploded_comes_first() {
    let folder = Folder::new();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let requests = |job: &str, traces: std::ops::Range<u32>| -> Vec<Labelset> {
        let labels =
            |trace: u32| [("__name__", "requests"), ("job", job), ("trace id", &format!("t{trace}"))].map(owned).into();
        traces.map(labels).collect()
    };
    let (mut before, mut after) = (monday(), tuesday());
    before.extend(requests("api", 0..12));
    after.extend(requests("api", 8..1208));
    let (a, b) = (folder.write("a.cx", plain_block(&before)), folder.write("b.cx", plain_block(&after)));
    let output = run(&["diff", &a, &b, "--first", "1"]);
    assert_exit(&output, 5, "");
    let expected = "\
\"trace id\" of job api: 12 to 1,200 values, 99.7% of the series that came
series: 6 in both, 11 gone, 1,199 came
             -8        +1,196  requests
  ... 3 more metrics
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let lines = String::from_utf8(run(&["diff", &a, &b, "--json"]).stdout).unwrap();
    let explosions: Vec<Value> = (lines.lines().map(|line| serde_json::from_str(line).unwrap()))
        .filter(|line: &Value| line["type"] == "explosion")
        .collect();
    let expected = json!({
        "type": "explosion", "label": "trace id", "also": [], "owner": ["job", "api"], "values_before": 12, "values_after": 1200,
        "series": 1196,
    });
    assert_eq!(explosions, [expected]);
    // The other way, values went.
    let back = String::from_utf8(run(&["diff", &b, &a]).stdout).unwrap();
    assert!(back.starts_with("series: 6 in both, 1,199 gone, 11 came\n"), "{back}");
}

#[test]
fn blocks_with_equal_series_in_another_form_are_equal() {
    for (a, b) in [("plain-bitpacked", "plain-fixedwidth"), ("lists-bitpacked", "lists-fixedwidth"), ("empty", "empty")]
    {
        let shown = stdout(&["diff", &golden(&format!("{a}.cx")), &golden(&format!("{b}.cx"))]);
        assert!(shown.ends_with(" in both, 0 gone, 0 came\n"), "{shown}");
    }
}

#[test]
fn folders_are_compared_by_their_distinct_series() {
    let folder = Folder::new();
    for side in ["a", "b"] {
        fs::create_dir(folder.file(side)).unwrap();
    }
    let mut sides = [BTreeSet::new(), BTreeSet::new()];
    for (seed, name, side) in [(1, "a/1.cx", 0), (2, "a/2.cx", 0), (2, "b/2.cx", 1), (3, "b/3.cx", 1)] {
        let (series, block) = random_block(seed);
        folder.write(name, block);
        sides[side].extend(series);
    }
    // Blocks of one series each, which the other side has too.
    for (name, labels) in [("a/4.cx", sides[1].first()), ("b/4.cx", sides[0].last())] {
        folder.write(name, plain_block(&[labels.unwrap().clone()].into()));
    }
    let (first, last) = (sides[1].first().unwrap().clone(), sides[0].last().unwrap().clone());
    sides[0].insert(first);
    sides[1].insert(last);
    let [a, b] = ["a", "b"].map(|side| folder.file(side).to_str().unwrap().to_owned());
    let output = run(&["diff", &a, &b, "--json", "--first", "1"]);
    assert_exit(&output, 5, "");
    let total: Value = serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let [only_a, only_b] = [sides[0].difference(&sides[1]).count(), sides[1].difference(&sides[0]).count()];
    let same = sides[0].intersection(&sides[1]).count();
    assert_eq!(total, json!({ "type": "total", "same": same, "gone": only_a, "came": only_b }));
    assert!(only_a > 0 && only_b > 0 && same > 0);
    assert!(stdout(&["diff", &a, &a]).ends_with(" in both, 0 gone, 0 came\n"));
}

/// A lookup in a block cuts long values as the block does, so that it would find the cut value.
#[test]
fn a_value_and_its_cut_form_differ() {
    let folder = Folder::new();
    let (long, policy) = ("x".repeat(100), LabelPolicy::new(64, 64).unwrap());
    let meta = BlockMeta { policy, ..BlockMeta::default() };
    let cut = labelsets(&[&[("job", &policy.value(&long))]]);
    let a = folder.write("a.cx", plain_block(&labelsets(&[&[("job", &long)]])));
    let b = folder.write("b.cx", build(&cut, &Plan::default(), RowForm::BitPacked, &meta).unwrap());
    for (a, b) in [(&a, &b), (&b, &a)] {
        let output = run(&["diff", a, b]);
        assert_exit(&output, 5, "");
        assert!(output.stdout.starts_with(b"series: 0 in both, 1 gone, 1 came\n"));
    }
}

#[test]
fn a_side_that_cannot_be_read_is_not_compared() {
    let (sound, damaged) = (golden("one-series.cx"), broken("chunk-checksum"));
    for (a, b, code) in [(&sound, &damaged, 3), (&damaged, &sound, 3), (&sound, &"absent.cx".to_owned(), 1)] {
        let output = run(&["diff", a, b]);
        assert_exit(&output, code, "error: ");
        assert_eq!(output.stdout, b"");
    }
    let folder = Folder::new();
    folder.write("a.cx", fs::read(&sound).unwrap());
    folder.write("b.cx", fs::read(&damaged).unwrap());
    let output = run(&["diff", &sound, folder.path().to_str().unwrap()]);
    assert_exit(&output, 3, "b.cx: corrupt block");
    assert_eq!(output.stdout, b"series: 1 in both, 0 gone, 0 came\n");
}
