//! Queries of template variables of Grafana.
//!
//! | query | needs |
//! | --- | --- |
//! | `label_values(job)`, `label_values($label)` | the label, of any series; all labels |
//! | `label_values(up{env="prod"}, job)` | these series, and the label |
//! | `label_names()`, `label_names(up)` | nothing; these series |
//! | `metrics(regex)` | the metrics |
//! | `query_result(expression)` | as the expression |
//! | a selector | its series |

use std::sync::LazyLock;

use regex::Regex;

use super::{is_variable, label_needs};
use crate::need::{LabelNeeds, Need};
use crate::promql::{self, METRIC};
use crate::query::{Kind, Queries};

static LABEL_VALUES: LazyLock<Regex> = LazyLock::new(|| pattern(r#"label_values\((?:(.+),\s*)?"?([^\s,"]+)"?\s*\)"#));
static LABEL_NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"label_names\((.*)\)"));
static METRICS: LazyLock<Regex> = LazyLock::new(|| pattern(r"metrics\((.+)\)"));
static QUERY_RESULT: LazyLock<Regex> = LazyLock::new(|| pattern(r"query_result\((.+)\)"));

fn pattern(text: &str) -> Regex {
    // A pattern of this file.
    Regex::new(&format!(r"(?s)^\s*{text}\s*$")).expect("a valid pattern")
}

/// Adds the query of a variable.
pub(super) fn add(queries: &mut Queries, place: &str, text: &str) {
    let needs = if let Some(found) = LABEL_VALUES.captures(text) {
        let label = found.get(2).map_or("", |label| label.as_str());
        match found.get(1) {
            None if is_variable(label) => return queries.add_all_labels(place.to_owned(), text, []),
            None => {
                let labels = (label != METRIC).then(|| label.to_owned());
                return queries.add_labels(Kind::Dashboard, place.to_owned(), text, labels);
            }
            Some(selector) => promql::needs_with(selector.as_str(), &label_needs(label)),
        }
    } else if let Some(found) = LABEL_NAMES.captures(text) {
        match found.get(1).map_or("", |selector| selector.as_str().trim()) {
            "" => return,
            selector => promql::needs_with(selector, &LabelNeeds::default()),
        }
    } else if let Some(found) = METRICS.captures(text) {
        metrics(found.get(1).map_or("", |regex| regex.as_str().trim()))
    } else if let Some(found) = QUERY_RESULT.captures(text) {
        promql::needs(found.get(1).map_or("", |expression| expression.as_str()))
    } else {
        promql::needs(text)
    };
    queries.add_parsed(Kind::Dashboard, place.to_owned(), text, needs);
}

/// Returns the need of the metrics whose names match: Grafana matches any part of a name.
fn metrics(regex: &str) -> Result<Vec<Need>, String> {
    promql::needs_with(
        &format!("{{{METRIC}=~{}}}", serde_json::json!(format!(".*(?:{regex}).*"))),
        &LabelNeeds::default(),
    )
}
