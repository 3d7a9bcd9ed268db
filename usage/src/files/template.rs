//! Templates: names of labels in those of Alertmanager, and queries in those of alerting rules.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::promql;
use crate::query::{Kind, Queries, Query};
use crate::text::VARIABLE;

/// `.Labels.job`, `.CommonLabels.job`, `$labels.job`, `index .Labels "job"`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"[.$](?:Common|Group)?[Ll]abels(?:\.([A-Za-z_][A-Za-z0-9_]*)|\s+"([^"]+)")"#;
    Regex::new(pattern).expect("a valid pattern")
});

/// An action of a template.
static ACTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)\{\{.*?\}\}").expect("a valid pattern"));

/// The function that runs a query.
static QUERY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[^.$\w])query\b").expect("a valid pattern"));

/// A string in an action.
static STRING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)"|`([^`]*)`"#).expect("a valid pattern"));

/// A value in a format: `%s`, `%q`, `%.2f`.
static FORMAT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"%[-+#0-9.]*[a-zA-Z]").expect("a valid pattern"));

/// Methods of sets of labels.
const METHODS: [&str; 4] = ["SortedPairs", "Names", "Values", "Remove"];

/// Adds the names of labels in a template of Alertmanager.
pub(super) fn add(queries: &mut Queries, name: &str, text: &str) {
    queries.add_labels(Kind::Template, name.to_owned(), "", labels(text));
}

/// Adds the queries in templates of an alerting rule: `{{ query "up" }}`.
pub(super) fn add_queries(queries: &mut Queries, place: &str, value: &Value) {
    match value {
        Value::String(text) => {
            let actions = ACTION.find_iter(text).map(|action| action.as_str());
            actions.filter(|action| QUERY.is_match(action)).for_each(|action| add_query(queries, place, action));
        }
        Value::Object(object) => object.values().for_each(|value| add_queries(queries, place, value)),
        _ => {}
    }
}

/// Adds the query of an action: one of its strings, perhaps a format.
fn add_query(queries: &mut Queries, place: &str, action: &str) {
    let mut is_found = false;
    for string in STRING.captures_iter(action) {
        let Some(text) = string.get(1).or(string.get(2)) else { continue };
        let unescaped = text.as_str().replace("\\\"", "\"").replace("\\\\", "\\");
        let text = FORMAT.replace_all(&unescaped, |found: &Captures<'_>| match &found[0] {
            "%q" => format!("\"{VARIABLE}\""),
            _ => VARIABLE.to_owned(),
        });
        if promql::needs(&text).is_ok_and(|needs| !needs.is_empty()) {
            queries.add_query(Kind::Alert, format!("{place}: template"), &text);
            is_found = true;
        }
    }
    if !is_found {
        let query = Query::new(Kind::Alert, format!("{place}: template"), action);
        queries.add_unread(query.place.clone(), Some(action.to_owned()), "no query in this action");
        queries.add_words(query, action);
    }
}

/// Adds the names of labels in a configuration of Alertmanager: routes and inhibitions.
pub(super) fn add_configuration(queries: &mut Queries, name: &str, value: &Value) {
    let mut labels = BTreeSet::new();
    collect(value, &mut labels);
    // Names of alerts are not labels of series.
    labels.remove("alertname");
    labels.remove("");
    queries.add_labels(Kind::Template, name.to_owned(), "", labels);
}

fn collect(value: &Value, labels_found: &mut BTreeSet<String>) {
    let names = |value: &Value| -> Vec<String> {
        // Matchers of Kubernetes are objects.
        let name = |item: &Value| item.as_str().or_else(|| item.get("name")?.as_str()).map(str::to_owned);
        value.as_array().into_iter().flatten().filter_map(name).collect()
    };
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match key.as_str() {
                    // `...` groups by all labels.
                    "group_by" | "groupBy" | "equal" => {
                        labels_found.extend(names(value).into_iter().filter(|name| name != "..."))
                    }
                    "match" | "match_re" | "source_match" | "source_match_re" | "target_match" | "target_match_re" => {
                        labels_found.extend(value.as_object().into_iter().flatten().map(|(name, _)| name.clone()));
                    }
                    "matchers" | "source_matchers" | "target_matchers" | "sourceMatch" | "targetMatch" => {
                        let all = names(value);
                        for matcher in all.iter().flat_map(|all| all.split(',')) {
                            let name = matcher.split(['=', '!', '~']).next().unwrap_or_default();
                            labels_found.insert(name.trim_matches(['{', '}', '"', '\'', ' ']).to_owned());
                        }
                    }
                    _ => collect(value, labels_found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, labels_found)),
        Value::String(text) => labels_found.extend(labels(text)),
        _ => {}
    }
}

fn labels(text: &str) -> impl Iterator<Item = String> + '_ {
    let names = LABEL.captures_iter(text).filter_map(|found| found.get(1).or(found.get(2)));
    names.map(|name| name.as_str().to_owned()).filter(|name| !METHODS.contains(&name.as_str()) && name != "alertname")
}
