//! The command `usage`, and `--used` of `report` and `top`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Folder, assert_exit, labelsets, plain_block, run, stdout};

const RULES: &str = r#"groups:
- name: api
  rules:
  - {record: "job:http:rate5m", expr: 'sum by (job) (rate(http_requests_total{code=~"5.."}[5m]))'}
  - {alert: Down, expr: 'up == 0'}
"#;

const DASHBOARD: &str = r#"{"title": "Api", "panels": [
    {"title": "Rate", "targets": [{"expr": "job:http:rate5m{job=~\"$job\"}"}]},
    {"title": "Gone", "targets": [{"expr": "sum(removed_total)"}]},
    {"title": "Logs", "datasource": {"type": "loki"}, "targets": [{"expr": "{app=\"x\"}"}]}]}"#;

/// A block of 13 series, and files of queries.
fn fixture() -> (Folder, String, String) {
    let folder = Folder::new();
    let http: Vec<[(&str, &str); 5]> = ["1", "2", "3", "4"]
        .iter()
        .map(|&pod| {
            [("__name__", "http_requests_total"), ("code", "500"), ("instance", "a"), ("job", "api"), ("pod", pod)]
        })
        .collect();
    let unused: Vec<[(&str, &str); 3]> =
        ["1", "2", "3", "4", "5"].iter().map(|&id| [("__name__", "debug_total"), ("id", id), ("job", "api")]).collect();
    let mut series: Vec<&[(&str, &str)]> = http.iter().map(|labels| &labels[..]).collect();
    series.extend(unused.iter().map(|labels| &labels[..]));
    series.push(&[("__name__", "up"), ("instance", "a"), ("job", "api")]);
    series.push(&[("__name__", "job:http:rate5m"), ("job", "api")]);
    series.push(&[("__name__", "go_bucket"), ("le", "1")]);
    series.push(&[("job", "nameless")]);
    let block = folder.write("a.cx", plain_block(&labelsets(&series)));
    fs::create_dir(folder.path().join("queries")).unwrap();
    folder.write("queries/rules.yaml", RULES);
    folder.write("queries/api.json", DASHBOARD);
    let queries = folder.path().join("queries").display().to_string();
    (folder, block, queries)
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert_exit(&output, 0, "");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names<'v>(list: &'v Value, field: &str) -> Vec<Option<&'v str>> {
    list.as_array().unwrap().iter().map(|row| row[field].as_str()).collect()
}

#[test]
fn figures_are_those_of_the_series() {
    let (_folder, block, queries) = fixture();
    let usage = json(&["usage", &block, "--json", "--used", &queries]);
    assert_eq!((&usage["files"], &usage["queries"], &usage["asked"]), (&2.into(), &4.into(), &4.into()));
    assert_eq!(usage["other_languages"]["loki"], 1);
    assert_eq!((&usage["used"]["series"], &usage["unused"]["series"]), (&6.into(), &7.into()));
    assert_eq!((&usage["used"]["metrics"], &usage["unused"]["metrics"]), (&3.into(), &2.into()));
    assert_eq!(names(&usage["unused_metrics"], "metric"), [Some("debug_total"), None, Some("go_bucket")]);
    assert_eq!(names(&usage["metrics"], "metric"), [Some("http_requests_total"), Some("job:http:rate5m"), Some("up")]);
    let http = &usage["metrics"][0];
    assert_eq!(http["used_by"]["queries"], 1);
    assert!(
        http["used_by"]["places"][0]
            .as_str()
            .unwrap()
            .ends_with("rules.yaml: group api: recording rule job:http:rate5m")
    );
    assert_eq!(http["unneeded_labels"], serde_json::json!(["pod", "instance"]));
    assert_eq!(http["remains"], 1);
    let label = |name: &str| usage["labels"].as_array().unwrap().iter().find(|label| label["name"] == name).unwrap();
    assert_eq!(label("job")["uses"], serde_json::json!(["selected", "grouped", "returned"]));
    assert_eq!((&label("id")["used_by"]["queries"], &label("instance")["used_by"]["queries"]), (&0.into(), &1.into()));
    assert_eq!(usage["droppable_labels"], serde_json::json!([]), "series differ in pod and id");
    assert_eq!(names(&usage["without_series"], "selector"), [Some(r#"{__name__="removed_total"}"#)]);

    let selected = json(&["usage", &block, "--json", "--used", &queries, "--match", "up"]);
    assert_eq!((&selected["used"]["series"], &selected["unused"]["series"]), (&1.into(), &0.into()));
    let first = json(&["usage", &block, "--json", "--first", "1", "--used", &queries]);
    assert_eq!(names(&first["unused_metrics"], "metric"), [Some("debug_total")]);
}

#[test]
fn text_has_the_share_and_the_lists() {
    let (_folder, block, queries) = fixture();
    let output = run(&["usage", &block, "--used", &queries]);
    assert_exit(&output, 0, "note: queries in other languages: loki 1");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "4 queries in 2 files",
        "  unused         53.8% of the series: 7 in 2 metrics,",
        "              5  debug_total",
        "              4  http_requests_total: 1 without pod, instance",
        "              4  pod in 4 series  (series differ in it)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let quiet = run(&["usage", &block, "-q", "--used", &queries]);
    assert_eq!((quiet.stderr.len(), quiet.stdout == text.as_bytes()), (0, true));
}

#[test]
fn configurations_drop_what_is_unused() {
    let (_folder, block, queries) = fixture();
    let text = |target: &str| {
        String::from_utf8(run(&["usage", &block, "--relabel", target, "--used", &queries]).stdout).unwrap()
    };
    let prometheus = text("prometheus");
    assert!(prometheus.contains("regex: 'debug_total|go_bucket'"), "{prometheus}");
    assert!(prometheus.contains("# not dropped: \"pod\": series differ only in it"), "{prometheus}");
    assert!(!prometheus.contains("labeldrop") && !prometheus.contains("http_requests"), "{prometheus}");
    let collector = text("collector");
    assert!(collector.contains("IsMatch(name, \"^(?:debug_total|go|go_bucket)$$\")"), "{collector}");
    // A recording rule whose result no query selects is not for relabelling.
    let rules = format!("{queries}/rules.yaml");
    let kept = run(&["usage", &block, "--relabel", "prometheus", "--used", &rules]).stdout;
    assert!(String::from_utf8(kept).unwrap().contains("# not dropped: \"job:http:rate5m\": remove its rule instead"));
}

#[test]
fn what_is_not_understood_is_listed_and_in_the_exit_code() {
    let (folder, block, queries) = fixture();
    let log = folder.write("q.promql", "sum(debug_total\nup");
    let output = run(&["usage", &block, "--json", "--used", &queries, &log]);
    assert_exit(&output, 6, "q.promql: line 1: ");
    assert!(String::from_utf8_lossy(&output.stderr).contains(": sum(debug_total\n"));
    let usage: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(usage["unread"][0]["query"], "sum(debug_total");
    assert_eq!(usage["unused"]["series"], 2, "a name in the query counts as used");
    for command in [&["top", &block, "--json"][..], &["report", &block, "--json"]] {
        assert_exit(&run(&[command, &["--used", &log]].concat()), 6, "line 1");
    }

    let empty = folder.write("empty.yaml", "replicas: 3\n");
    assert_exit(&run(&["usage", &block, "--used", &empty]), 2, "no query found");
    assert_exit(&run(&["usage", &block, "--used", "absent.yaml"]), 1, "absent.yaml");
    assert_exit(&run(&["usage", &block]), 2, "--used");
    let many = folder.write("many.promql", "(\n".repeat(30));
    let output = run(&["usage", &block, "--used", &many]);
    assert_exit(&output, 6, "20 more not read");
}

#[test]
fn reports_and_top_show_queries() {
    let (_folder, block, queries) = fixture();
    let report = json(&["report", &block, "--json", "--used", &queries]);
    let usage = json(&["usage", &block, "--json", "--used", &queries]);
    assert_eq!(report["usage"], usage);
    let suggestions = report["suggestions"].as_array().unwrap();
    assert_eq!(suggestions[0]["used_by"]["queries"], 0);
    let broken = suggestions.iter().find(|suggestion| suggestion["metric"] == "http_requests_total").unwrap();
    assert_eq!(broken["used_by"]["queries"], 1);
    let is_sorted =
        suggestions.windows(2).all(|pair| pair[0]["used_by"]["queries"] == 0 || pair[1]["used_by"]["queries"] != 0);
    assert!(is_sorted, "{suggestions:?}");
    let without = json(&["report", &block, "--json"]);
    assert_eq!((&without["usage"], &without["metrics"][0]["used_by"]), (&Value::Null, &Value::Null));

    let rows = |arguments: &[&str]| -> Vec<Value> {
        let output = run(&[&["top", &block, "--json", "--used", &queries], arguments].concat());
        assert_exit(&output, 0, "");
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let metrics: Vec<(Value, Value)> =
        rows(&[]).iter().map(|row| (row["metric"].clone(), row["queries"].clone())).collect();
    assert_eq!(metrics[0], ("debug_total".into(), 0.into()));
    assert_eq!(metrics[1], ("http_requests_total".into(), 1.into()));
    let labels: Vec<(Value, Value)> = rows(&["--metric", "http_requests_total"])
        .iter()
        .map(|row| (row["name"].clone(), row["queries"].clone()))
        .collect();
    assert!(labels.contains(&("instance".into(), 0.into())), "used, but not of this metric: {labels:?}");
    assert!(labels.contains(&("code".into(), 1.into())), "{labels:?}");
    assert!(!stdout(&["top", &block]).contains("queries"));
    assert!(String::from_utf8(run(&["top", &block, "--used", &queries]).stdout).unwrap().contains("queries"));
}

/// A variable without a metric needs one that has its label, if no other query does.
#[test]
fn a_variable_keeps_its_values() {
    let folder = Folder::new();
    let series = [[("__name__", "up"), ("job", "a")], [("__name__", "node_info"), ("node", "n")]];
    let block = folder.write("a.cx", plain_block(&labelsets(&[&series[0], &series[1]])));
    let relabel = |variable: &str| {
        let dashboard = format!(
            r#"{{"title": "D", "templating": {{"list": [{{"type": "query", "name": "v", "query": "{variable}"}}]}},
                "panels": [{{"title": "P", "targets": [{{"expr": "sum by (job) (up)"}}]}}]}}"#
        );
        let file = folder.write("d.json", dashboard);
        stdout(&["usage", &block, "--relabel", "prometheus", "--used", &file])
    };
    assert_eq!(relabel("label_values(node)"), "metric_relabel_configs: []\n");
    assert!(relabel("label_values(job)").contains("regex: 'node_info'"));
    let folder = Folder::new();
    folder.write("q.promql", "up");
    folder.write("q.libsonnet", "node_info");
    let output = run(&["usage", &block, "--relabel", "prometheus", "--used", folder.path().to_str().unwrap()]);
    assert_exit(&output, 0, "note: 1 file not read, with other extensions than files of queries, such as ");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("# not read, because of its extension: ") && text.contains("q.libsonnet\n"), "{text}");
}

#[test]
fn metrics_that_a_rule_makes_are_not_missing() {
    let folder = Folder::new();
    let block = folder.write("a.cx", plain_block(&labelsets(&[&[("__name__", "up"), ("job", "a")]])));
    let rules =
        r#"groups: [{name: g, rules: [{record: "job:up:sum", expr: sum(up)}, {alert: A, expr: "job:up:sum > gone"}]}]"#;
    let rules = folder.write("r.yaml", rules);
    let usage = json(&["usage", &block, "--json", "--used", &rules]);
    let [gone, made] = &usage["without_series"].as_array().unwrap()[..] else { panic!("{usage}") };
    assert_eq!((&gone["selector"], &gone["recorded_by"]), (&r#"{__name__="gone"}"#.into(), &Value::Null));
    assert_eq!(made["selector"], r#"{__name__="job:up:sum"}"#);
    assert!(made["recorded_by"].as_str().unwrap().ends_with("group g: recording rule job:up:sum"));
    let text = stdout(&["usage", &block, "--used", &rules]);
    assert!(text.contains("  (made by ") && text.matches("(made by").count() == 1, "{text}");
    let comments = stdout(&["usage", &block, "--relabel", "prometheus", "--used", &rules]);
    assert!(comments.contains("# selects nothing now: {__name__=\"gone\"}"), "{comments}");
    assert!(comments.contains("# selects nothing, before it is made: {__name__=\"job:up:sum\"}"), "{comments}");
}

/// A Collector's own processors ran the configuration (`testdata/captures/tools/processors`). Names have characters
/// that are special in YAML, in regular expressions, and in a Collector's variables and statements.
#[test]
fn a_collector_drops_what_is_unused() {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/processors");
    let file = |name: &str| format!("{captures}/{name}");
    let folder = Folder::new();
    let block = |name: &str| {
        let path = folder.file(name).with_extension("cx");
        let ingest = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"))
            .args(["--quiet", &file(name), "-o", path.to_str().unwrap()])
            .output();
        assert!(ingest.unwrap().status.success());
        path.to_str().unwrap().to_owned()
    };
    let series = |path: &str| -> Vec<BTreeMap<String, String>> {
        stdout(&["series", path, "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (before, after) = (block("request.json"), block("processed.json"));
    let usage = json(&["usage", &before, "--json", "--used", &file("queries.promql")]);
    let names = |list: &Value, field: &str| -> BTreeSet<String> {
        let name = |item: &Value| item.get(field).unwrap_or(item).as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(name).collect()
    };
    let (metrics, labels) = (names(&usage["unused_metrics"], "metric"), names(&usage["droppable_labels"], ""));
    let odd = ["${env:HOME}", "(a|b)*", "# no comment: {}", "a$$b", "größe", "line\nbreak", "queue_size", "say \"hi\""];
    assert!(odd.iter().all(|name| metrics.contains(*name)), "{metrics:?}");
    let odd = ["$x", "größe", "it's", "line\nbreak", "otel_scope_name", "otel_scope_version", "p\"q\\r", "x.y"];
    assert!(odd.iter().all(|name| labels.contains(*name)), "{labels:?}");

    let text = stdout(&["usage", &before, "--relabel", "collector", "--used", &file("queries.promql")]);
    assert_eq!(text, fs::read_to_string(file("config.yaml")).unwrap(), "record the processors' answer anew");
    let mut kept = series(&before);
    kept.retain(|labels| !metrics.contains(&labels["__name__"]));
    kept.iter_mut().for_each(|one| one.retain(|name, _| !labels.contains(name)));
    let left = series(&after);
    assert_eq!(left.len(), kept.len());
    assert_eq!(left.into_iter().collect::<BTreeSet<_>>(), kept.into_iter().collect());
}
