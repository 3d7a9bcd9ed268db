//! [`Unused`]: configurations that drop what is not used, where it is collected.

use std::fmt::Write;

use crate::query::Queries;

/// Names in one regular expression.
const NAMES_PER_RULE: usize = 50;

/// Suffixes of the series of a classic histogram or summary, which a Collector has as one metric.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Metrics and labels that may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// Names of metrics whose series no query selects, in order.
    pub metrics: Vec<String>,
    /// Names of labels that no query needs, and without which all series differ still, in order.
    pub labels: Vec<String>,
    /// Names of metrics and labels that no query needs, but that these configurations cannot drop, and why.
    pub kept: Vec<(String, String)>,
    /// Other remarks: queries that were not read, or that select nothing.
    pub warnings: Vec<String>,
}

impl Unused {
    /// Returns `metric_relabel_configs` of Prometheus. The rules also work as `write_relabel_configs`.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = self.comments();
        text.push_str("metric_relabel_configs:");
        if self.metrics.is_empty() && self.labels.is_empty() {
            text.push_str(" []");
        }
        text.push('\n');
        for names in self.metrics.chunks(NAMES_PER_RULE) {
            let regex = quoted(&alternatives(names));
            let _ = write!(text, "  - action: drop\n    source_labels: [__name__]\n    regex: {regex}\n");
        }
        for names in self.labels.chunks(NAMES_PER_RULE) {
            let _ = write!(text, "  - action: labeldrop\n    regex: {}\n", quoted(&alternatives(names)));
        }
        text
    }

    /// Returns the processors `filter` and `transform` of the OpenTelemetry Collector. `all_metrics` are the names of
    /// all metrics: a histogram is dropped if all of its series are unused, and no query selects its own name.
    #[must_use]
    pub fn collector<'m>(&self, all_metrics: impl IntoIterator<Item = &'m str>, queries: &Queries) -> String {
        let mut text = self.comments();
        text.push_str("processors:");
        let metrics = self.collector_metrics(all_metrics, queries);
        if metrics.is_empty() && self.labels.is_empty() {
            text.push_str(" {}");
        }
        text.push('\n');
        if !metrics.is_empty() {
            text.push_str("  filter/unused:\n    error_mode: ignore\n    metrics:\n      metric:\n");
            for names in metrics.chunks(NAMES_PER_RULE) {
                let condition = format!("IsMatch(name, {})", literal(&format!("^(?:{})$", alternatives(names))));
                let _ = writeln!(text, "        - {}", quoted(&escaped_for_collector(&condition)));
            }
        }
        if !self.labels.is_empty() {
            text.push_str("  transform/unused:\n    error_mode: ignore\n    metric_statements:\n");
            // A label of a block may be an attribute of a data point, or of its scope or resource.
            for context in ["datapoint", "scope", "resource"] {
                let _ = write!(text, "      - context: {context}\n        statements:\n");
                for name in &self.labels {
                    let statement = match (context, name.as_str()) {
                        ("scope", "otel_scope_name") => "set(name, \"\")".to_owned(),
                        ("scope", "otel_scope_version") => "set(version, \"\")".to_owned(),
                        _ => format!("delete_key(attributes, {})", literal(name)),
                    };
                    let _ = writeln!(text, "          - {}", quoted(&escaped_for_collector(&statement)));
                }
            }
        }
        text
    }

    /// Returns the unused metrics, and the histograms and summaries whose parts are all unused.
    fn collector_metrics<'m>(&self, all_metrics: impl IntoIterator<Item = &'m str>, queries: &Queries) -> Vec<String> {
        let is_unused = |name: &str| self.metrics.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
        let base = |name: &str| PARTS.iter().find_map(|part| name.strip_suffix(part)).map(str::to_owned);
        let mut bases: Vec<String> = self.metrics.iter().filter_map(|name| base(name)).collect();
        bases.sort_unstable();
        bases.dedup();
        let used: Vec<&str> = all_metrics.into_iter().filter(|name| !is_unused(name)).collect();
        let has_used_part =
            |name: &String| used.iter().any(|used| *used == name || base(used).as_deref() == Some(name));
        bases.retain(|name| !has_used_part(name) && !queries.select_name(name));
        let mut metrics = self.metrics.clone();
        metrics.extend(bases);
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    fn comments(&self) -> String {
        let mut text = String::new();
        for (name, reason) in &self.kept {
            let _ = writeln!(text, "# not dropped: {}: {}", literal(name), escaped(reason));
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "# {}", escaped(warning));
        }
        text
    }
}

/// Returns a regular expression of names.
fn alternatives(names: &[String]) -> String {
    names.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|")
}

/// Returns a text for a comment: characters that could end it are escaped.
fn escaped(text: &str) -> String {
    let literal = literal(text);
    literal[1..literal.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Returns a string in double quotes, for YAML and the Collector's statements. Both know these escapes. Other
/// characters than those of ASCII may be line breaks for a reader of YAML, or refused.
fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for char in text.chars() {
        let _ = match char {
            '"' | '\\' => write!(literal, "\\{char}"),
            ' '..='~' => write!(literal, "{char}"),
            '\0'..='\u{ffff}' => write!(literal, "\\u{:04x}", u32::from(char)),
            _ => write!(literal, "\\U{:08x}", u32::from(char)),
        };
    }
    literal + "\""
}

/// Returns a string for YAML.
fn quoted(text: &str) -> String {
    match text.chars().all(|char| matches!(char, ' '..='~')) {
        true => format!("'{}'", text.replace('\'', "''")),
        false => literal(text),
    }
}

/// Escapes the variables of a Collector's configuration.
fn escaped_for_collector(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused(metrics: &[&str], labels: &[&str]) -> Unused {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Unused {
            metrics: owned(metrics),
            labels: owned(labels),
            kept: vec![("up".to_owned(), "it is\n- made".to_owned())],
            warnings: vec!["a \u{2028}b".to_owned()],
        }
    }

    #[test]
    fn rules_of_prometheus_are_yaml_with_whole_names() {
        let text = unused(&["a.b", "it's", "x\ny"], &["pod"]).prometheus();
        let tree: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let rules = tree["metric_relabel_configs"].as_array().unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[0]["action"], "drop");
        assert_eq!(rules[0]["regex"], "a\\.b|it's|x\ny");
        assert_eq!(rules[1]["regex"], "pod");
        assert!(text.starts_with("# not dropped: \"up\": it is\\u000a- made\n# a \\u2028b\nmetric"), "{text}");
        let odd = Unused { metrics: vec!["nel\u{85}\u{7f}\u{1f600} x".to_owned()], ..Unused::default() }.prometheus();
        let tree: serde_json::Value = serde_saphyr::from_str(&odd).unwrap();
        assert_eq!(tree["metric_relabel_configs"][0]["regex"], "nel\u{85}\u{7f}\u{1f600} x");
        assert!(odd.is_ascii(), "{odd}");
        let names: Vec<String> = (0..NAMES_PER_RULE + 1).map(|number| format!("m{number}")).collect();
        let many = Unused { metrics: names, ..Unused::default() };
        assert_eq!(many.prometheus().matches("action: drop").count(), 2);
    }

    #[test]
    fn a_histogram_of_a_collector_goes_only_as_a_whole() {
        let text = unused(&["a_bucket", "a_count", "a_sum", "b_bucket", "c$d"], &["p\"q"])
            .collector(["b_count", "b_sum", "a_sum"], &Queries::default());
        let tree: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let conditions = &tree["processors"]["filter/unused"]["metrics"]["metric"];
        assert_eq!(conditions[0], "IsMatch(name, \"^(?:a|a_bucket|a_count|a_sum|b_bucket|c\\\\$$d)$$\")");
        let statements = &tree["processors"]["transform/unused"]["metric_statements"];
        assert_eq!(statements[0]["statements"][0], "delete_key(attributes, \"p\\\"q\")");
        assert_eq!(statements.as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_used_part_keeps_the_whole() {
        let collector =
            |names: &[&str], all: &[&str]| unused(names, &[]).collector(all.iter().copied(), &Queries::default());
        assert!(collector(&["a_count"], &["a_count", "a"]).contains("^(?:a_count)$$"));
        for part in PARTS {
            let names = PARTS.map(|part| format!("a{part}"));
            let mut others: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.ends_with(part)).collect();
            others.sort_unstable();
            let text = collector(&others, &names.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(text.contains(&format!("^(?:{})$$", others.join("|"))), "{part}: {text}");
        }
        let text = collector(&["a"], &[]);
        assert!(!text.contains("{}") && text.contains("filter/unused"), "{text}");
    }

    #[test]
    fn a_histogram_that_a_query_names_stays() {
        for query in ["rate(h[5m])", r#"absent({__name__=~"h|i"})"#, "sum(h"] {
            let mut queries = Queries::default();
            queries.add_text("q.promql", query);
            let text = unused(&["g_count", "g_sum", "h_count", "h_sum"], &[]).collector([], &queries);
            assert!(text.contains("^(?:g|g_count|g_sum|h_count|h_sum)$$"), "{query}: {text}");
        }
        let mut queries = Queries::default();
        queries.add_text("q.promql", r#"{job="h"}"#);
        assert!(unused(&["h_count"], &[]).collector([], &queries).contains("(?:h|h_count)"));
    }

    #[test]
    fn nothing_unused_is_a_valid_configuration_too() {
        let (prometheus, collector) =
            (Unused::default().prometheus(), Unused::default().collector([], &Queries::default()));
        assert_eq!((prometheus.as_str(), collector.as_str()), ("metric_relabel_configs: []\n", "processors: {}\n"));
    }
}
