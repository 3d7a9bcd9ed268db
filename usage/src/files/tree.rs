//! Rules and dashboards: each expression in a tree of YAML or JSON.
//!
//! Rule files of Prometheus, Mimir and Kubernetes, dashboards of all versions of Grafana, its alerting rules and
//! library panels have their expressions in fields named `expr`, at different places. So the whole tree is searched,
//! and names and titles on the way say where an expression stands.

use serde_json::{Map, Value};

use super::{template, variable};
use crate::query::{Kind, Queries, Query};

type Object = Map<String, Value>;

/// Data sources that are asked in PromQL, or in languages that contain it.
const PROMQL: [&str; 5] = ["prometheus", "mimir", "thanos", "cortex", "victoriametrics"];

/// Bytes of a title that are shown.
const MAX_TITLE_LEN: usize = 120;

/// Files in files, as in a ConfigMap.
const MAX_NESTING: usize = 4;

/// Adds the queries of a tree, with the number of files around it.
pub(super) fn add(queries: &mut Queries, name: &str, tree: &Value, nesting: usize) {
    // An AlertmanagerConfig of Kubernetes has a specification.
    let is_configuration = |tree: &Value| {
        let is_routing = tree.get("route").is_some_and(|route| route.get("receiver").is_some());
        is_routing || tree.get("inhibit_rules").is_some() || tree.get("inhibitRules").is_some()
    };
    if is_configuration(tree) || tree.get("spec").is_some_and(is_configuration) {
        template::add_configuration(queries, name, tree);
    }
    let place = Place { names: vec![name.to_owned()], kind: Kind::Dashboard, language: None };
    Walk { queries, file: name, nesting }.value(tree, &place);
}

/// Place in a tree.
#[derive(Clone)]
struct Place<'t> {
    /// File, and titles on the way.
    names: Vec<String>,
    kind: Kind,
    /// Type of the data source, if it is asked in another language than PromQL.
    language: Option<&'t str>,
}

struct Walk<'q> {
    queries: &'q mut Queries,
    file: &'q str,
    /// Number of files around this one.
    nesting: usize,
}

impl Walk<'_> {
    fn value<'t>(&mut self, value: &'t Value, place: &Place<'t>) {
        match value {
            Value::Object(object) => self.object(object, place),
            Value::Array(values) => values.iter().for_each(|value| self.value(value, place)),
            _ => {}
        }
    }

    fn object<'t>(&mut self, object: &'t Object, place: &Place<'t>) {
        let mut place = place.clone();
        if let Some((kind, title)) = title(object) {
            place.kind = kind.unwrap_or(place.kind);
            place.names.push(title[..title.floor_char_boundary(MAX_TITLE_LEN)].to_owned());
        }
        if let Some(language) = language(object) {
            place.language = language;
        }
        let at = place.names.join(": ");
        if let Some(expression) = object.get("expr") {
            self.expression(expression, &place, &at);
        }
        match text(object, "type").or(text(object, "kind")) {
            Some("query" | "QueryVariable") => match place.language.or(query_language(object)) {
                Some(language) => *self.queries.other_languages.entry(language.to_owned()).or_default() += 1,
                None => self.variable(object, &at),
            },
            Some(kind) if is_filter(kind) => self.filters(object, &at),
            _ => {}
        }
        if let Some(record) = text(object, "record") {
            self.queries.recorded.insert(record.to_owned(), at.clone());
        }
        if object.contains_key("alert") {
            for templates in ["labels", "annotations"].iter().filter_map(|&field| object.get(field)) {
                template::add_queries(self.queries, &at, templates);
            }
        }
        self.library(object);
        for (key, value) in object {
            match value {
                Value::String(text) if is_file(text) => self.file(&at, key, text),
                _ => self.value(value, &place),
            }
        }
    }

    /// Adds the queries of a file in a file: of a ConfigMap, of a value of Helm, of a GrafanaDashboard.
    fn file(&mut self, at: &str, key: &str, text: &str) {
        let place = &format!("{at}: {key}");
        match super::parse_trees(text, "") {
            Ok(trees) if self.nesting < MAX_NESTING => {
                for tree in trees.iter().filter(|tree| tree.is_object() || tree.is_array()) {
                    add(self.queries, place, tree, self.nesting + 1);
                }
            }
            Ok(_) => self.queries.add_unread_file(place.to_owned(), text, "files in files in files"),
            Err(error) if key.contains('.') => self.queries.add_unread_file(place.to_owned(), text, &error),
            // Rather an explanation with an example.
            Err(_) => self.queries.add_words(Query::new(Kind::Dashboard, place.to_owned(), ""), text),
        }
    }

    fn expression(&mut self, expression: &Value, place: &Place<'_>, at: &str) {
        match (place.language, expression) {
            (Some(language), _) => *self.queries.other_languages.entry(language.to_owned()).or_default() += 1,
            // Grafana keeps empty queries.
            (None, Value::String(text)) if !text.trim().is_empty() => {
                self.queries.add_query(place.kind, at.to_owned(), text);
            }
            // `expr: 1` in YAML.
            (None, Value::Number(number)) => self.queries.add_query(place.kind, at.to_owned(), &number.to_string()),
            _ => {}
        }
    }

    /// Adds the query of a variable. Versions of Grafana keep it in different fields, some in two.
    fn variable(&mut self, object: &Object, at: &str) {
        for (key, value) in object {
            match (key.as_str(), value) {
                ("query" | "definition" | "expr" | "__legacyStringValue", Value::String(text))
                    if !text.trim().is_empty() =>
                {
                    variable::add(self.queries, at, text);
                }
                ("query" | "spec", Value::Object(object)) => self.variable(object, at),
                _ => {}
            }
        }
    }

    /// Adds the labels of a variable by which readers filter or group: they may choose any.
    fn filters(&mut self, object: &Object, at: &str) {
        let of_field = |field: &str| object.get(field).or_else(|| object.get("spec")?.get(field));
        let filters = ["filters", "baseFilters"].into_iter().filter_map(of_field).filter_map(Value::as_array);
        let keys = filters.flatten().filter_map(|filter| filter.get("key"));
        let labels = keys.filter_map(Value::as_str).map(str::to_owned);
        self.queries.add_all_labels(at.to_owned(), "", labels);
    }

    /// Notes library panels that are used and defined. A dashboard has only the uid of those that it uses.
    fn library(&mut self, object: &Object) {
        if let Some(panel) = object.get("libraryPanel").and_then(Value::as_object)
            && let Some(uid) = text(panel, "uid")
            && object.get("targets").and_then(Value::as_array).is_none_or(Vec::is_empty)
        {
            let name = text(panel, "name").unwrap_or(uid);
            self.queries.use_library(uid, format!("{}: library panel {name}", self.file));
        }
        if object.contains_key("model")
            && let Some(uid) = text(object, "uid")
        {
            self.queries.define_library(uid);
        }
        for uid in object.get("__elements").and_then(Value::as_object).into_iter().flatten().map(|(uid, _)| uid) {
            self.queries.define_library(uid);
        }
    }
}

/// Returns the title of an object that is a place of its own, and the kind of its queries if it decides that.
fn title(object: &Object) -> Option<(Option<Kind>, String)> {
    let has = |field: &str| object.contains_key(field);
    let named = |kind: &str, name: &str| (None, format!("{kind} {name}"));
    if let Some(alert) = text(object, "alert") {
        return Some((Some(Kind::Alert), format!("alert {alert}")));
    }
    if let Some(record) = text(object, "record") {
        return Some((Some(Kind::Recording), format!("recording rule {record}")));
    }
    let kind = text(object, "type").or(text(object, "kind"));
    let name = text(object, "name").or(object.get("spec").and_then(|spec| spec.get("name")?.as_str()));
    match name {
        Some(name) if has("rules") => return Some(named("group", name)),
        Some(name) if matches!(kind, Some("query" | "QueryVariable")) || kind.is_some_and(is_filter) => {
            return Some(named("variable", name));
        }
        Some(name) if has("model") => return Some(named("library panel", name)),
        Some(name) if has("expr") && has("enable") => return Some(named("annotation", name)),
        _ => {}
    }
    let title = text(object, "title").filter(|title| !title.is_empty());
    match title {
        // A rule of Grafana's alerting.
        Some(title) if has("data") && has("condition") => Some((Some(Kind::Alert), format!("alert {title}"))),
        Some(title) if has("panels") && has("collapsed") => Some(named("row", title)),
        Some(title) if has("panels") || has("elements") || has("templating") => Some(named("dashboard", title)),
        Some(title) if has("targets") || has("data") => Some(named("panel", title)),
        None if has("targets") => object.get("id").map(|id| named("panel", &id.to_string())),
        _ => None,
    }
}

/// Returns the language of the query of a variable of version 2 of the schema, if it is not PromQL.
fn query_language(object: &Object) -> Option<&str> {
    let query = object.get("spec").and_then(|spec| spec.get("query")).or(object.get("query"))?;
    language(query.as_object()?)?
}

/// Returns true if a variable lets the reader of a dashboard filter or group by any label.
fn is_filter(kind: &str) -> bool {
    ["adhoc", "AdhocVariable", "groupby", "GroupByVariable"].contains(&kind)
}

/// Returns true if a text may be a file with queries.
fn is_file(text: &str) -> bool {
    let has_lines = text.contains('\n') || text.trim_start().starts_with('{');
    has_lines
        && (["expr:", "\"expr\"", "label_values(", "group_by:", "inhibit_rules:"]
            .iter()
            .any(|sign| text.contains(sign)))
}

/// Returns the language of an object's data source, if it has one: `Some(None)` is PromQL, or unknown.
fn language(object: &Object) -> Option<Option<&str>> {
    let source = match object.get("datasource") {
        // Version 2 of the schema.
        None if text(object, "kind") == Some("DataQuery") => text(object, "group")?,
        None | Some(Value::Null) => return None,
        Some(Value::Object(source)) => match text(source, "type") {
            Some(source) => source,
            None => return Some(None),
        },
        // A name, which does not tell the type.
        Some(_) => return Some(None),
    };
    let is_unknown = source.is_empty() || source.starts_with("--") || source.contains('$');
    let is_internal = ["datasource", "grafana", "mixed", "__expr__"].contains(&source);
    let is_promql = PROMQL.iter().any(|known| source.to_ascii_lowercase().contains(known));
    Some((!is_unknown && !is_internal && !is_promql).then_some(source))
}

fn text<'o>(object: &'o Object, field: &str) -> Option<&'o str> {
    object.get(field)?.as_str()
}
