//! Files of queries.
//!
//! | module | contents |
//! | --- | --- |
//! | `tree` | rules and dashboards: each expression in a tree of YAML or JSON |
//! | `variable` | queries of template variables: `label_values(up, job)` |
//! | `template` | names of labels in templates, and queries in templates of alerts |
//! | `log` | query logs, one JSON object per line |

mod log;
mod template;
mod tree;
mod variable;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::ReadError;
use crate::need::{LabelNeeds, Need, Use};
use crate::promql;
use crate::query::{Kind, Queries, Query, Unread};

/// Extensions of the files that are read from folders.
const EXTENSIONS: [&str; 12] =
    ["json", "jsonl", "ndjson", "log", "yaml", "yml", "rules", "tmpl", "tpl", "gotmpl", "promql", "txt"];

impl Queries {
    /// Reads files, and the files of folders and their subfolders. A file may have rules or dashboards (YAML or JSON),
    /// a query log, templates of Alertmanager, or one query per line. `-` is standard input.
    ///
    /// Text that is not understood is listed in [`Queries::unread`].
    ///
    /// # Errors
    /// A file or folder cannot be read.
    pub fn read<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, ReadError> {
        let mut queries = Self::default();
        for path in paths {
            let path = path.as_ref();
            if path.is_dir() {
                queries.add_folder(path)?;
            } else {
                queries.add_file(path)?;
            }
        }
        queries.add_missing_libraries();
        Ok(queries)
    }

    fn add_folder(&mut self, path: &Path) -> Result<(), ReadError> {
        let failed = |source| ReadError { path: path.to_owned(), source };
        let entries = fs::read_dir(path).map_err(failed)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>().map_err(failed)?;
        paths.sort_unstable();
        for path in paths {
            // Kubernetes mounts the files of a ConfigMap as links into a hidden folder.
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                continue;
            }
            if path.is_dir() {
                // A link may lead to a folder above.
                if !path.is_symlink() {
                    self.add_folder(&path)?;
                }
            } else if EXTENSIONS.contains(&extension(&path.to_string_lossy())) {
                self.add_file(&path)?;
            } else {
                self.ignored.push(path.display().to_string());
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<(), ReadError> {
        let failed = |source| ReadError { path: path.to_owned(), source };
        let name = path.display().to_string();
        let reader: Box<dyn Read> =
            if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
        let mut reader = BufReader::new(reader);
        let mut bytes = Vec::new();
        reader.read_until(b'\n', &mut bytes).map_err(failed)?;
        if log::is_entry(&bytes) {
            // A log may be larger than memory.
            self.files += 1;
            return log::add(self, &name, &bytes, &mut reader).map_err(failed);
        }
        reader.read_to_end(&mut bytes).map_err(failed)?;
        match String::from_utf8(bytes) {
            Ok(text) => self.add_text(&name, &text),
            Err(_) => {
                self.files += 1;
                self.add_unread(name, None, "not UTF-8 text".to_owned());
            }
        }
        Ok(())
    }

    /// Adds the queries of a text, which is understood by the extension of its name or by its content.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.files += 1;
        let before = (self.queries.len(), self.unread.len());
        let text = text.trim_start_matches('\u{feff}');
        match extension(name) {
            "promql" | "txt" => self.add_lines(name, text),
            "tmpl" | "tpl" | "gotmpl" => template::add(self, name, text),
            extension => {
                let has_tree = ["json", "yaml", "yml", "rules"].contains(&extension);
                match parse_trees(text, extension) {
                    Ok(trees) if has_tree || trees.iter().any(|tree| tree.is_object() || tree.is_array()) => {
                        trees.iter().for_each(|tree| tree::add(self, name, tree));
                    }
                    Err(error) if has_tree => self.add_unread(name.to_owned(), None, error),
                    _ if text.contains("{{") => template::add(self, name, text),
                    _ => self.add_lines(name, text),
                }
            }
        }
        if before == (self.queries.len(), self.unread.len()) {
            self.ignored.push(name.to_owned());
        }
    }

    /// Adds one query per line. `#` begins a comment.
    fn add_lines(&mut self, name: &str, text: &str) {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.add_query(Kind::Query, format!("{name}: line {number}"), line);
            }
        }
    }

    /// Adds a query in PromQL.
    fn add_query(&mut self, kind: Kind, place: String, text: &str) {
        self.add_parsed(kind, place, text, promql::needs(text));
    }

    /// Adds a query with its needs. If it could not be parsed, it is listed, and each of its words may be the name of a
    /// metric or of a label.
    fn add_parsed(&mut self, kind: Kind, place: String, text: &str, needs: Result<Vec<Need>, String>) {
        let error = match needs {
            Ok(needs) => {
                let (text, labels) = (text.to_owned(), BTreeSet::new());
                return self.push(Query { text, kind, place, count: 1, needs, labels, is_parsed: true });
            }
            Err(error) => error,
        };
        let before = self.queries.len();
        self.push(Query {
            text: text.to_owned(),
            kind,
            place: place.clone(),
            count: 1,
            needs: promql::needs_of_words(text),
            labels: promql::words(text).map(str::to_owned).collect(),
            is_parsed: false,
        });
        if self.queries.len() > before {
            self.add_unread(place, Some(text.to_owned()), error);
        }
    }

    /// Adds names of labels that are needed of any series.
    fn add_labels(&mut self, kind: Kind, place: String, text: &str, labels: impl IntoIterator<Item = String>) {
        let labels: BTreeSet<String> = labels.into_iter().collect();
        if !labels.is_empty() {
            let (text, needs) = (text.to_owned(), Vec::new());
            self.push(Query { text, kind, place, count: 1, needs, labels, is_parsed: true });
        }
    }

    /// Adds a query, unless its place has it already: dashboards repeat the query of a variable in several fields.
    fn push(&mut self, query: Query) {
        let mut of_place = self.queries.iter().rev().take_while(|known| known.place == query.place);
        if !of_place.any(|known| known.text == query.text) {
            self.queries.push(query);
        }
    }

    fn add_unread(&mut self, place: String, query: Option<String>, error: String) {
        // Errors of parsers can have several lines, and quote the text.
        let error = error.lines().next().unwrap_or_default().to_owned();
        self.unread.push(Unread { place, query, error });
    }
}

/// Returns the trees of a text: of JSON, or else of YAML, which can have several documents.
fn parse_trees(text: &str, extension: &str) -> Result<Vec<Value>, String> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    if is_json || extension == "json" {
        let trees = serde_json::Deserializer::from_str(text).into_iter().collect::<Result<Vec<Value>, _>>();
        if trees.is_ok() || extension == "json" {
            return trees.map_err(|error| error.to_string());
        }
    }
    serde_saphyr::from_multiple(text).map_err(|error| error.to_string())
}

/// Returns the extension of a file's name.
fn extension(name: &str) -> &str {
    Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Returns the need of one label of selected series.
fn label_needs(label: &str) -> LabelNeeds {
    LabelNeeds::default().with([label.to_owned()], Use::Returned)
}
