//! Labels from paths of inputs: folders called `name=value`, and templates of `--path-label`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use percent_encoding::percent_decode_str;
use regex::Regex;

use crate::ingest::arguments::Arguments;
use crate::ingest::inputs::{Input, Inputs};
use crate::ingest::summary::shown;
use crate::{Exit, Failure, tell};

/// Labels of an input. The last of equal names wins.
pub(crate) type PathLabels = Vec<(String, String)>;

/// Value of a partition whose column is NULL, in Hive and the programs that follow it.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Label whose value has parts of the path of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathLabel {
    name: String,
    template: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// Number of a wildcard, from 1.
    Wildcard(usize),
}

impl PathLabel {
    /// Parses `NAME=TEMPLATE`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected NAME=TEMPLATE, such as instance={1}:9100";
        let (name, mut rest) = text.split_once('=').ok_or(EXPECTED)?;
        if name.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        let mut template = Vec::new();
        while let Some((text, after)) = rest.split_once('{') {
            let (number, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            let number: usize = number.parse().ok().filter(|&number| number > 0).ok_or_else(|| {
                format!("{{{number}}} is not the number of a wildcard: {{1}} is the text of the first `*`")
            })?;
            template.extend([Part::Text(text.to_owned()), Part::Wildcard(number)]);
            rest = after;
        }
        template.push(Part::Text(rest.to_owned()));
        Ok(Self { name: name.to_owned(), template })
    }

    /// Returns the value of the label, or the number of the wildcard that the input lacks.
    fn value(&self, wildcards: &[String]) -> Result<String, usize> {
        let mut value = String::new();
        for part in &self.template {
            value += match part {
                Part::Text(text) => text,
                Part::Wildcard(number) => number.checked_sub(1).and_then(|at| wildcards.get(at)).ok_or(*number)?,
            };
        }
        Ok(value)
    }
}

/// Returns the labels of each input: those of its folders, the deepest last, then those of `--path-label`.
///
/// # Errors
///
/// A template names a wildcard that the pattern of an input does not have.
pub(crate) fn input_labels(arguments: &Arguments, inputs: &Inputs) -> Result<Vec<PathLabels>, Failure> {
    let of_input = |input: &Input| {
        let mut labels =
            if arguments.no_folder_labels { Vec::new() } else { folder_labels(&inputs.path_without_archive(input)) };
        for label in &arguments.path_labels {
            let value = label.value(&input.wildcards).map_err(|number| {
                let (name, count) = (&label.name, input.wildcards.len());
                let message = format!(
                    "--path-label {name}: {} was found by a pattern with {count} `*`, and {{{number}}} needs {number}; \
                     give captures as a pattern, in quotes",
                    input.path.display()
                );
                Failure::new(Exit::Usage, message)
            })?;
            labels.push((label.name.clone(), value));
        }
        Ok(labels)
    };
    inputs.all.iter().map(of_input).collect()
}

/// Tells which labels come from folders: a folder may have such a name for another reason.
pub(crate) fn tell_folders(arguments: &Arguments, inputs: &Inputs) {
    if arguments.no_folder_labels || arguments.quiet.is_set() {
        return;
    }
    let names: BTreeSet<String> = inputs
        .all
        .iter()
        .flat_map(|input| folder_labels(&inputs.path_without_archive(input)))
        .map(|(name, _)| name)
        .collect();
    if !names.is_empty() {
        let names = shown(&names.into_iter().collect::<Vec<_>>().join(", "));
        tell(|out| {
            let how = "(--no-folder-labels turns this off)";
            writeln!(out, "chronoxide-ingest: note: labels from folders: {names} {how}")
        });
    }
}

/// Returns the labels of the folders in a path that are called `name=value`.
fn folder_labels(path: &Path) -> PathLabels {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let folders = folders.filter_map(|component| match component {
        Component::Normal(name) => name.to_str()?.split_once('='),
        _ => None,
    });
    let decoded = |text: &str| match percent_decode_str(text).decode_utf8() {
        Ok(text) => text.into_owned(),
        // Not the escape of a text.
        Err(_) => text.to_owned(),
    };
    let mut labels = BTreeMap::new();
    for (name, value) in folders.filter(|(name, _)| !name.is_empty()) {
        let value = if value == NULL_PARTITION { String::new() } else { decoded(value) };
        labels.insert(decoded(name), value);
    }
    labels.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// Returns the texts that the wildcards `*` and `**` of a pattern stand for in a path that it matches.
pub(crate) fn wildcards(pattern: &str, path: &Path) -> Vec<String> {
    let captures = || {
        let expression = Regex::new(&expression(pattern)).ok()?;
        let captures = expression.captures(path.to_str()?)?;
        let texts = captures.iter().skip(1).map(|text| text.map_or("", |text| text.as_str()).to_owned());
        Some(texts.collect())
    };
    captures().unwrap_or_default()
}

/// Returns the regular expression of a pattern of file names, with a group for each wildcard.
fn expression(pattern: &str) -> String {
    let is_separator = |char: char| std::path::is_separator(char);
    let mut expression = "(?s)^(?:\\./)*".to_owned();
    let mut rest = pattern.trim_start_matches("./").trim_end_matches(is_separator);
    while let Some(char) = rest.chars().next() {
        let (translated, len) = match char {
            // The folders may be none.
            '*' if rest.starts_with("**/") => ("(?:(.*)/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => ("(.*)".to_owned(), 2),
            '*' => ("([^/]*)".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            // A bracket that is the first character of a class belongs to it.
            '[' => match rest.get(2..).and_then(|after| after.find(']')) {
                Some(end) => ("[^/]".to_owned(), end + 3),
                None => ("\\[".to_owned(), 1),
            },
            char if is_separator(char) => {
                let len = rest.len() - rest.trim_start_matches(is_separator).len();
                (if cfg!(windows) { "[/\\\\]+" } else { "/+" }.to_owned(), len)
            }
            char => (regex::escape(&char.to_string()), char.len_utf8()),
        };
        expression += &translated;
        rest = rest.get(len..).unwrap_or_default();
    }
    expression + "/*$"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(path: &str) -> String {
        folder_labels(Path::new(path)).iter().map(|(name, value)| format!("{name}={value};")).collect()
    }

    #[test]
    fn folders_are_labels() {
        for (path, expected) in [
            ("series/job=a/zone=eu/data_0.parquet", "job=a;zone=eu;"),
            ("job=a/job=b/x", "job=b;"),
            ("series/job=b%2F%C3%A4%20%3Dc/x", "job=b/ä =c;"),
            ("series/k%C3%A4se=1=2/x", "käse=1=2;"),
            ("job=__HIVE_DEFAULT_PARTITION__/x", ""),
            ("job=a/job=__HIVE_DEFAULT_PARTITION__/x", ""),
            ("job=/x", ""),
            ("=a/x", ""),
            ("a/b=c.parquet", ""),
            ("job=%FF%/x", "job=%FF%;"),
            ("-", ""),
            ("/data/env=prod/../x", "env=prod;"),
        ] {
            assert_eq!(folders(path), expected, "{path}");
        }
    }

    #[test]
    fn wildcards_are_what_they_match() {
        for (pattern, path, expected) in [
            ("scrapes/*.prom", "scrapes/node-1.prom", "node-1"),
            ("./scrapes/*/*.prom", "scrapes/a/b.prom", "a|b"),
            ("scrapes//*/*-[0-9].prom", "scrapes/a/b-1.prom", "a|b"),
            ("scrapes/[]x]?*", "scrapes/xyz", "z"),
            ("**/*.prom", "a/b/c.prom", "a/b|c"),
            ("**/*.prom", "c.prom", "|c"),
            ("a.b/*+(1)", "a.b/x+(1)", "x"),
            ("a/*/", "a/b", "b"),
            ("ä*", "äü", "ü"),
            ("/tmp/*", "/tmp/x", "x"),
        ] {
            assert_eq!(wildcards(pattern, Path::new(path)).join("|"), expected, "{pattern}");
        }
        assert_eq!(wildcards("a/*", Path::new("b/c")), [] as [String; 0]);
    }

    #[test]
    fn templates_have_numbers_of_wildcards() {
        let value = |text: &str, wildcards: &[&str]| {
            let label = PathLabel::parse(text).unwrap();
            label.value(&wildcards.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(value("instance={1}:9100", &["a"]), Ok("a:9100".to_owned()));
        assert_eq!(value("x={2}-{1}}", &["a", "b"]), Ok("b-a}".to_owned()));
        assert_eq!(value("env=prod=1", &[]), Ok("prod=1".to_owned()));
        assert_eq!(value("x={3}", &["a", "b"]), Err(3));
        for text in ["instance", "=x", "a={", "a={0}", "a={x}", "a={}", "a={1"] {
            assert!(PathLabel::parse(text).is_err(), "{text}");
        }
    }
}
