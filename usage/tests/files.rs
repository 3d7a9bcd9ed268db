//! Queries are found in the files that people have, at the places where they have them, and what is not read is listed.

use std::fs;

use chronoxide_usage::{Kind, Queries, Query};

fn read(name: &str, text: &str) -> Queries {
    let mut queries = Queries::default();
    queries.add_text(name, text);
    queries
}

/// Returns the kind, the place and the selectors of each query.
fn shown(queries: &Queries) -> Vec<String> {
    let selectors = |query: &Query| {
        let mut all: Vec<String> = query.needs.iter().map(|need| need.selector.to_string()).collect();
        all.extend(query.labels.iter().cloned());
        all.join(" ")
    };
    queries.queries.iter().map(|query| format!("{:?} {}: {}", query.kind, query.place, selectors(query))).collect()
}

#[test]
fn rules_of_prometheus_mimir_and_kubernetes() {
    let groups = r#"
groups:
- name: api
  interval: 1m
  rules:
  - record: job:load:sum
    expr: |
      # load
      sum by (job) (load)
  - alert: Down
    expr: up == 0
    for: 5m
    labels: {severity: page}
    annotations:
      summary: '{{ $labels.job }}: {{ with query "count(up)" }}{{ . | first | value }}{{ end }}'
      runbook: '{{ with printf "errors{job=''%s''}" $labels.job | query }}x{{ end }}'
"#;
    let expected = [
        r#"Recording r.yml: group api: recording rule job:load:sum: {__name__="load"}"#,
        r#"Alert r.yml: group api: alert Down: {__name__="up"}"#,
        r#"Alert r.yml: group api: alert Down: template: {__name__="up"}"#,
        r#"Alert r.yml: group api: alert Down: template: {__name__="errors",job=~".*"}"#,
    ];
    let prometheus = read("r.yml", groups);
    let mut found = shown(&prometheus);
    found.sort();
    let mut sorted = expected.map(str::to_owned);
    sorted.sort();
    assert_eq!(found, sorted);
    assert_eq!(prometheus.recorded.keys().collect::<Vec<_>>(), ["job:load:sum"]);
    assert_eq!((prometheus.files, prometheus.unread.len(), prometheus.ignored.len()), (1, 0, 0));

    let indented = groups.replace('\n', "\n  ");
    let kubernetes = format!("apiVersion: v1\nkind: List\n---\nkind: PrometheusRule\nspec:{indented}\n");
    let mut found = shown(&read("r.yml", &kubernetes));
    found.sort();
    assert_eq!(found, sorted);
    let map = format!("kind: ConfigMap\ndata:\n  api.rules: |{}\n", groups.replace('\n', "\n    "));
    assert_eq!(shown(&read("m.yaml", &map))[0], expected[0].replace("r.yml", "m.yaml: api.rules"));
    assert_eq!(read("m.yaml", &map).files, 1);
}

#[test]
fn dashboards_with_rows_variables_annotations_and_library_panels() {
    let dashboard = r#"{
        "title": "Api",
        "annotations": {"list": [{"name": "deploys", "enable": true, "datasource": {"type": "prometheus"}, "expr": "changes(build[5m])"}]},
        "templating": {"list": [
            {"type": "datasource", "name": "ds", "query": "prometheus"},
            {"type": "query", "name": "job", "definition": "label_values(up{env=\"prod\"}, job)", "query": {"query": "label_values(up{env=\"prod\"}, job)", "refId": "A"}},
            {"type": "query", "name": "pod", "query": "label_values(pod)"},
            {"type": "query", "name": "names", "query": "label_names()"},
            {"type": "query", "name": "metric", "query": "metrics(go_)"},
            {"type": "query", "name": "top", "query": "query_result(topk(3, sum by (job) (load)))"},
            {"type": "query", "name": "logs", "datasource": {"type": "loki"}, "query": "label_values(app)"},
            {"type": "custom", "name": "n", "query": "1,2,3"},
            {"type": "adhoc", "name": "filters", "filters": [{"key": "zone", "operator": "=", "value": "a"}]}
        ]},
        "panels": [
            {"title": "Load", "type": "timeseries", "datasource": {"type": "prometheus", "uid": "${ds}"},
             "targets": [{"expr": "sum by (job) (rate(load{job=~\"$job\"}[$__rate_interval]))", "legendFormat": "{{job}}"}, {"expr": ""}]},
            {"title": "More", "type": "row", "collapsed": true, "panels": [
                {"id": 7, "type": "stat", "datasource": "Mimir", "targets": [{"expr": "count(up)"}]}]},
            {"title": "Logs", "datasource": {"type": "loki"}, "targets": [{"expr": "{app=\"a\"} |= \"x\""}]},
            {"title": "Mixed", "datasource": {"type": "datasource", "uid": "-- Mixed --"}, "targets": [
                {"datasource": {"type": "tempo"}, "expr": "x"}, {"datasource": {"type": "grafana-amazonprometheus-datasource"}, "expr": "mixed"},
                {"datasource": {"type": "__expr__"}, "expression": "$A > 5"}]},
            {"title": "", "libraryPanel": {"uid": "abc", "name": "Shared"}},
            {"title": "", "libraryPanel": {"uid": "xyz", "name": "Absent"}}
        ],
        "__elements": {"abc": {"name": "Shared", "kind": 1, "model": {"title": "Shared", "targets": [{"expr": "shared"}]}}}
    }"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.json");
    fs::write(&path, dashboard).unwrap();
    let queries = Queries::read([&path]).unwrap();
    let name = path.display().to_string();
    let mut found: Vec<String> = shown(&queries).iter().map(|line| line.replace(&name, "d")).collect();
    found.sort();
    let mut expected = [
        r#"Dashboard d: dashboard Api: annotation deploys: {__name__="build"}"#,
        r#"Dashboard d: dashboard Api: variable job: {__name__="up",env="prod"}"#,
        r#"Dashboard d: dashboard Api: variable pod: pod"#,
        r#"Dashboard d: dashboard Api: variable metric: {__name__=~".*(?:go_).*"}"#,
        r#"Dashboard d: dashboard Api: variable top: {__name__="load"}"#,
        r#"Dashboard d: dashboard Api: variable filters: zone"#,
        r#"Dashboard d: dashboard Api: panel Load: {__name__="load",job=~".*"}"#,
        r#"Dashboard d: dashboard Api: row More: panel 7: {__name__="up"}"#,
        r#"Dashboard d: dashboard Api: panel Mixed: {__name__="mixed"}"#,
        r#"Dashboard d: dashboard Api: library panel Shared: panel Shared: {__name__="shared"}"#,
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
    let others: Vec<(&str, u64)> =
        queries.other_languages.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(others, [("loki", 2), ("tempo", 1)]);
    let [absent] = &queries.unread[..] else { panic!("{:?}", queries.unread) };
    assert_eq!(absent.place.replace(&name, "d"), "d: library panel Absent");
    let job = queries.queries.iter().find(|query| query.place.ends_with("variable job")).unwrap();
    assert!(!job.needs[0].labels.uses("job").is_empty() && !job.needs[0].labels.uses("env").is_empty());
    assert!(job.needs[0].labels.uses("pod").is_empty());
}

#[test]
fn dashboards_of_the_second_schema_and_alerts_of_grafana() {
    let dashboard = r#"{"apiVersion": "dashboard.grafana.app/v2beta1", "kind": "Dashboard", "spec": {"title": "New",
        "elements": {"panel-1": {"kind": "Panel", "spec": {"id": 1, "title": "Load", "data": {"kind": "QueryGroup", "spec": {"queries": [
            {"kind": "PanelQuery", "spec": {"query": {"kind": "DataQuery", "group": "prometheus", "spec": {"expr": "sum(load)"}}}},
            {"kind": "PanelQuery", "spec": {"query": {"kind": "DataQuery", "group": "loki", "spec": {"expr": "{a=\"b\"} |= \"c\""}}}}]}}}}},
        "variables": [{"kind": "QueryVariable", "spec": {"name": "job", "query": {"kind": "DataQuery", "group": "prometheus",
            "spec": {"__legacyStringValue": "label_values(up, job)"}}}}]}}"#;
    let queries = read("n.json", dashboard);
    let mut found = shown(&queries);
    found.sort();
    let expected = [
        r#"Dashboard n.json: dashboard New: panel Load: {__name__="load"}"#,
        r#"Dashboard n.json: dashboard New: variable job: {__name__="up"}"#,
    ];
    assert_eq!((found, queries.unread), (expected.map(str::to_owned).to_vec(), vec![]));
    let alerts = "groups:\n- name: g\n  rules:\n  - uid: a\n    title: High\n    condition: C\n    data:\n    - refId: A\n      model: {expr: sum(errors), refId: A}\n    - refId: C\n      datasourceUid: __expr__\n      model: {type: threshold, expression: A}\n";
    assert_eq!(shown(&read("a.yaml", alerts)), [r#"Alert a.yaml: group g: alert High: {__name__="errors"}"#]);
}

#[test]
fn labels_of_alertmanager() {
    let configuration = r#"
route:
  group_by: [alertname, cluster]
  routes:
  - matchers: ['team="db"', "severity=~page|mail"]
  - match: {tier: front}
inhibit_rules:
- equal: [node]
  source_matchers: ["{\"zone\"=\"a\"}"]
receivers:
- name: chat
  slack_configs: [{title: '{{ .CommonLabels.service }} {{ .GroupLabels.SortedPairs }}'}]
"#;
    assert_eq!(
        shown(&read("alertmanager.yml", configuration)),
        ["Template alertmanager.yml: cluster node service severity team tier zone"]
    );
    let template = r#"{{ define "t" }}{{ range .Alerts }}{{ .Labels.pod }} {{ index .Labels "host.name" }}{{ .Labels.Names }}{{ end }}{{ end }}"#;
    assert_eq!(shown(&read("a.tmpl", template)), ["Template a.tmpl: host.name pod"]);
    assert_eq!(shown(&read("a", template)), ["Template a: host.name pod"]);
}

#[test]
fn logs_and_lists_of_queries() {
    let log = concat!(
        r#"{"params":{"end":"2026-11-30T00:00:00Z","query":"up","step":0},"ts":"2026-11-30T00:00:00Z"}"#,
        "\n",
        r#"{"msg":"query stats","ts":"2026-11-30T00:00:01Z","param_query":"sum(load)"}"#,
        "\n",
        r#"{"msg":"started","ts":"2026-11-30T00:00:02Z"}"#,
        "\n\n",
        r#"{"time":"2026-11-30T00:00:03Z","msg":"promql query logged","params":{"query":"up"}}"#,
        "\n",
        r#"{"params":{"query":"u"#,
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries");
    fs::write(&path, log).unwrap();
    let queries = Queries::read([&path]).unwrap();
    let parsed = queries.queries.iter().filter(|query| query.is_parsed);
    let counts: Vec<(&str, u64)> = parsed.map(|query| (query.text.as_str(), query.count)).collect();
    assert_eq!((counts, queries.other_lines), (vec![("up", 2), ("sum(load)", 1)], 1));
    let [torn] = &queries.unread[..] else { panic!("{:?}", queries.unread) };
    assert!(torn.place.ends_with("queries: line 6"), "{torn:?}");

    for name in ["q.promql", "q"] {
        let queries = read(name, "# ours\nup\n\n{job=\"a\"}\nsum(\n");
        assert_eq!(
            shown(&queries),
            [
                format!(r#"Query {name}: line 2: {{__name__="up"}}"#),
                format!(r#"Query {name}: line 4: {{job="a"}}"#),
                format!(r#"Query {name}: line 5: {{__name__="sum"}} sum"#),
            ]
        );
        assert_eq!(queries.unread.len(), 1);
        assert_eq!(queries.unread[0].query.as_deref(), Some("sum("));
    }
}

#[test]
fn folders_are_searched_and_what_is_left_out_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("rules/..data")).unwrap();
    fs::write(at("rules/a.yaml"), "groups: [{name: g, rules: [{record: r, expr: up}]}]").unwrap();
    fs::write(at("rules/..data/b.yaml"), "groups: [{name: g, rules: [{record: r, expr: down}]}]").unwrap();
    fs::write(at("rules/values.yaml"), "replicas: 3\n").unwrap();
    fs::write(at("rules/broken.yaml"), "a: [\n").unwrap();
    fs::write(at("rules/binary.promql"), b"\xff\xfe").unwrap();
    fs::write(at("rules/notes.txt"), "not a query").unwrap();
    fs::write(at("readme.md"), "up").unwrap();
    let queries = Queries::read([folder.path()]).unwrap();
    let parsed = queries.queries.iter().filter(|query| query.is_parsed);
    assert_eq!(parsed.map(|query| query.text.as_str()).collect::<Vec<_>>(), ["up"]);
    let names =
        |paths: Vec<&str>| paths.iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(queries.ignored.iter().map(String::as_str).collect()), ["readme.md", "notes.txt", "values.yaml"]);
    assert_eq!(names(queries.unread.iter().map(|one| one.place.as_str()).collect()), ["binary.promql", "broken.yaml"]);
    assert_eq!(queries.files, 4);
    assert_eq!(names(queries.skipped.iter().map(String::as_str).collect()), ["readme.md", "notes.txt"]);

    // Logs that were rotated, and compressed files.
    let entry = r#"{"params":{"query":"rotated"},"ts":"2026-11-30T00:00:00Z"}"#;
    fs::write(at("rules/query.log.1"), entry).unwrap();
    fs::write(at("rules/query.log.2.gz"), entry).unwrap();
    fs::write(at("rules/rules.libsonnet"), entry).unwrap();
    fs::write(at("rules/photo.png.gz"), entry).unwrap();
    let queries = Queries::read([folder.path()]).unwrap();
    assert!(queries.queries.iter().any(|query| query.text == "rotated"));
    let skipped = names(queries.skipped.iter().map(String::as_str).collect());
    assert_eq!(skipped, ["readme.md", "notes.txt", "photo.png.gz", "rules.libsonnet"]);
    let unread = names(queries.unread.iter().map(|one| one.place.as_str()).collect());
    assert_eq!(unread, ["binary.promql", "broken.yaml", "query.log.2.gz"]);

    let error = Queries::read([at("absent.yaml")]).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read {}", at("absent.yaml").display()));
}

#[test]
fn hostile_files_are_listed() {
    let bomb = format!("a: &a [{}]\n", "x,".repeat(100))
        + &('b'..='i')
            .map(|to| format!("{to}: &{to} [{}]\n", format!("*{},", (to as u8 - 1) as char).repeat(100)))
            .collect::<String>();
    let deep_json = "[".repeat(100_000);
    let deep_yaml = "- ".repeat(100_000);
    for (name, text) in [("bomb.yaml", &bomb), ("deep.json", &deep_json), ("deep.yaml", &deep_yaml)] {
        let queries = read(name, text);
        assert!(queries.queries.iter().all(|query| !query.is_parsed), "{name}");
        assert_eq!(queries.unread.len(), 1, "{name}");
    }
    let kinds = [Kind::Alert, Kind::Recording, Kind::Dashboard, Kind::Template, Kind::Query];
    assert_eq!(serde_json::to_string(&kinds).unwrap(), r#"["alert","recording","dashboard","template","query"]"#);
}

#[test]
fn logs_are_known_by_any_of_their_first_lines() {
    let entry = r#"{"params":{"query":"up"},"ts":"2026-11-30T00:00:00Z"}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries.log");
    for before in ["", "\n\n", "\u{feff}", "ery\":\"torn\"}}\n", "{\"level\":\"info\",\"t\":\"2026\"}\n"] {
        fs::write(&path, format!("{before}{entry}\n{entry}\n")).unwrap();
        let queries = Queries::read([&path]).unwrap();
        let parsed: Vec<_> = queries.queries.iter().filter(|query| query.is_parsed).map(|query| query.count).collect();
        assert_eq!(parsed, [2], "{before:?}");
    }
    fs::write(&path, r#"{"param_match[]":"{job=\"a\"}"}"#).unwrap();
    assert_eq!(Queries::read([&path]).unwrap().queries[0].needs[0].selector.to_string(), "{job=\"a\"}");
}

#[test]
fn links_are_followed_once_and_pipes_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("rules/sub")).unwrap();
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/q.promql"), "up").unwrap();
    for (link, target) in [("rules/link", "../other"), ("rules/sub/up", ".."), ("rules/dangling.yaml", "absent")] {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(at("rules/pipe.yaml")).status().unwrap().success());
    let queries = Queries::read([at("rules")]).unwrap();
    assert_eq!(queries.queries.iter().map(|query| query.text.as_str()).collect::<Vec<_>>(), ["up"]);
    assert_eq!((queries.ignored.len(), queries.unread.len()), (1, 1));
    assert!(queries.ignored[0].ends_with("pipe.yaml") && queries.unread[0].place.ends_with("dangling.yaml"));
}

#[test]
fn files_in_files_are_read_whatever_their_name() {
    let rules = "groups:\n- name: g\n  rules:\n  - {alert: A, expr: sum(x)}\n";
    let indented = rules.replace('\n', "\n    ");
    let map = format!(
        "kind: ConfigMap\ndata:\n  alerts: |\n    {indented}\n---\nroute: {{main: web}}\nmy.json: '{{\"panels\": [{{\"targets\": [{{\"expr\": \"sum(y)\"}}]}}]}}'\n"
    );
    let selectors: Vec<String> = read("m.yaml", &map)
        .queries
        .iter()
        .flat_map(|query| &query.needs)
        .map(|need| need.selector.to_string())
        .collect();
    assert_eq!(selectors, [r#"{__name__="x"}"#, r#"{__name__="y"}"#]);
    let explained =
        "groups: [{name: g, rules: [{alert: A, expr: sum(x), annotations: {runbook: \"see\\n  - expr: [y\"}}]}]";
    let queries = read("e.yaml", explained);
    assert_eq!((queries.unread.len(), queries.queries.len(), queries.queries[0].is_parsed), (0, 2, true));
    let settings = "kind: ConfigMap\ndata:\n  app.json: '{broken'\n  config.yaml: |\n    a: {{ b }}\n";
    assert_eq!(read("s.yaml", settings).unread, []);
    let template =
        "{{- if .Values.on }}\ngroups: [{name: g, rules: [{alert: A, expr: sum(http_errors)}]}]\n{{- end }}\n";
    let queries = read("t.yaml", template);
    let has_word =
        queries.queries[0].needs.iter().any(|need| need.selector.to_string() == r#"{__name__="http_errors"}"#);
    assert_eq!((queries.unread.len(), queries.queries[0].is_parsed, has_word), (1, false, true));
}

#[test]
fn variables_of_labels_and_data_sources_without_a_type() {
    let dashboard = r#"{"panels": [{"datasource": {"type": "loki"}, "targets": [{"datasource": {"uid": "p"}, "expr": "sum(y)"}]}],
        "templating": {"list": [{"type": "query", "name": "l", "query": "label_values($label)"},
            {"type": "query", "name": "m", "query": "label_values(x, $label)"},
            {"type": "adhoc", "name": "a", "baseFilters": [{"key": "b"}]}]}}"#;
    let queries = read("d.json", dashboard);
    let find = |text: &str| queries.queries.iter().find(|query| query.text == text).unwrap();
    assert_eq!(find("sum(y)").needs[0].selector.to_string(), r#"{__name__="y"}"#);
    assert!(find("label_values($label)").needs_all_labels);
    assert!(!find("label_values(x, $label)").needs[0].labels.uses("any").is_empty());
    assert!(queries.queries.iter().any(|query| query.labels.contains("b") && query.needs_all_labels));
    for kind in ["groupby", "GroupByVariable", "AdhocVariable"] {
        let queries = read("d.json", &format!(r#"{{"templating": {{"list": [{{"type": "{kind}", "name": "g"}}]}}}}"#));
        assert!(queries.queries[0].needs_all_labels, "{kind}");
        assert_eq!(queries.queries[0].place, "d.json: dashboard : variable g".replace("dashboard : ", ""));
    }
}

/// Texts of one file each, with what is found in it: selectors, names of labels, `*` for all labels, and errors.
#[test]
fn texts_that_people_have_are_understood() {
    let all = |queries: &Queries| -> Vec<String> {
        let of_query = |query: &Query| {
            let selectors = query.needs.iter().map(|need| need.selector.to_string());
            let labels = query.labels.iter().cloned().chain(query.needs_all_labels.then(|| "*".to_owned()));
            let all = selectors.chain(labels).collect::<Vec<_>>();
            if query.is_parsed { all } else { vec![format!("not read: {}", query.place)] }
        };
        let languages = queries.other_languages.iter().map(|(language, count)| format!("{language} {count}"));
        let mut all: Vec<String> = queries.queries.iter().flat_map(of_query).chain(languages).collect();
        all.sort();
        all
    };
    let nested = "data:\n  values.yaml: |\n    rules: |\n      groups:\n      - name: g\n        rules:\n        - {alert: A, expr: sum(deep)}\n";
    let variable = |query: &str| {
        format!(r#"{{"templating": {{"list": [{{"type": "query", "name": "v", "query": "{query}"}}]}}}}"#)
    };
    let rule = |field: &str| format!("groups: [{{name: g, rules: [{{alert: A, expr: up, {field}}}]}}]");
    for (name, text, expected) in [
        ("q.promql", "sum by (a) (rate(x[[[interval]]]))".to_owned(), &["{__name__=\"x\"}"][..]),
        ("q.promql", "sum by (a) (${app}${unit})".to_owned(), &["{__name__=~\".*.*\"}"]),
        ("q.promql", "sum(x_{{ .Values.unit }}_total)".to_owned(), &["{__name__=~\"x_.*_total\"}"]),
        ("d.json", variable("label_values([[label]])"), &["*"]),
        ("d.json", variable("label_values(__name__)"), &[]),
        ("d.json", variable(r#"label_names(up{env=\"prod\"})"#), &["{__name__=\"up\",env=\"prod\"}"]),
        ("r.yaml", "{groups: [{name: g, rules: [{alert: A, expr: sum(x)}]}]}".to_owned(), &["{__name__=\"x\"}"]),
        ("a.tmpl", "{{ .Labels.alertname }} {{ .Labels.pod }}".to_owned(), &["pod"]),
        (
            "r.yaml",
            rule(r#"annotations: {a: '{{ query "count(errors{job=\"a\"})" }}'}"#),
            &["{__name__=\"errors\",job=\"a\"}", "{__name__=\"up\"}"],
        ),
        (
            "r.yaml",
            rule(r#"annotations: {a: '{{ printf "errors{job=%q}" $labels.job | query }}'}"#),
            &["{__name__=\"errors\",job=~\".*\"}", "{__name__=\"up\"}"],
        ),
        (
            "r.yaml",
            rule(r#"annotations: {a: '{{ with query (print "http_errors{job=" $j) }}{{ end }}'}"#),
            &["not read: r.yaml: group g: alert A: template", "{__name__=\"up\"}"],
        ),
        (
            "r.yaml",
            rule(r#"labels: {severity: '{{ with query "sum(load)" }}x{{ end }}'}"#),
            &["{__name__=\"load\"}", "{__name__=\"up\"}"],
        ),
        ("m.yaml", "route: {receiver: r, routes: [{match_re: {tier: \"a|b\"}}]}".to_owned(), &["tier"]),
        ("m.yaml", "route: {receiver: r, group_by: [cluster]}".to_owned(), &["cluster"]),
        (
            "m.yaml",
            "inhibit_rules: [{source_match: {a: b}, target_match_re: {c: d}, source_matchers: ['e = f'], equal: [g]}]"
                .to_owned(),
            &["a", "c", "e", "g"],
        ),
        (
            "m.yaml",
            "route: {receiver: r, group_by: [cluster]}\n---\nroute: {receiver: s, group_by: [zone]}\n".to_owned(),
            &["cluster", "zone"],
        ),
        (
            "c.yaml",
            "kind: ConfigMap\ndata:\n  alertmanager.yml: |\n    route: {receiver: r}\n    inhibit_rules: []\n    x: {group_by: [cluster]}\n"
                .to_owned(),
            &["cluster"],
        ),
        (
            "k.yaml",
            "kind: AlertmanagerConfig\nspec:\n  route: {receiver: r, groupBy: [team], matchers: [{name: zone, value: a}]}\n"
                .to_owned(),
            &["team", "zone"],
        ),
        ("c.yaml", nested.to_owned(), &["{__name__=\"deep\"}"]),
        (
            "c.yaml",
            "data:\n  alerts.yaml: |\n    groups: [\n    - expr: sum(x)\n".to_owned(),
            &["not read: c.yaml: alerts.yaml"],
        ),
        (
            "d.json",
            r#"{"kind": "QueryVariable", "spec": {"name": "v", "query": {"kind": "DataQuery", "group": "loki", "spec": {"query": "label_values(app)"}}}}"#
                .to_owned(),
            &["loki 1"],
        ),
        (
            "d.json",
            r#"{"kind": "AdhocVariable", "spec": {"name": "a", "filters": [{"key": "zone"}]}}"#.to_owned(),
            &["*", "zone"],
        ),
        (
            "d.json",
            r#"{"panels": [{"datasource": {"type": "loki"}, "targets": [{"datasource": "Mimir", "expr": "sum(y)"}]}]}"#
                .to_owned(),
            &["{__name__=\"y\"}"],
        ),
        (
            "d.json",
            r#"{"panels": [{"datasource": {"type": "${dstype}"}, "targets": [{"expr": "sum(y)"}]}]}"#.to_owned(),
            &["{__name__=\"y\"}"],
        ),
    ] {
        assert_eq!(all(&read(name, &text)), expected, "{text}");
    }
    let twice = r#"{"templating": {"list": [{"type": "query", "name": "v", "definition": "label_values(pod)",
        "query": {"query": "label_values(pod)"}}]}}"#;
    assert_eq!(read("d.json", twice).queries.len(), 1);
}

#[test]
fn library_panels_are_known_by_their_targets_or_definition() {
    let folder = tempfile::tempdir().unwrap();
    let panel = |targets: &str| format!(r#"{{"panels": [{{"libraryPanel": {{"uid": "u", "name": "n"}}{targets}}}]}}"#);
    let unread = |files: &[(&str, String)]| {
        let folder = folder.path().join(files.iter().map(|(name, _)| *name).collect::<String>());
        fs::create_dir(&folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        Queries::read([&folder]).unwrap().unread.len()
    };
    assert_eq!(unread(&[("a.json", panel(""))]), 1);
    assert_eq!(unread(&[("b.json", panel(r#", "targets": [{"expr": "sum(x)"}]"#))]), 0);
    let definition = r#"{"uid": "u", "name": "n", "model": {"targets": [{"expr": "sum(x)"}]}}"#.to_owned();
    assert_eq!(unread(&[("c.json", panel("")), ("l.json", definition)]), 0);
}
