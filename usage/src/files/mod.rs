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
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::ReadError;
use crate::need::{LabelNeeds, Need, Use};
use crate::promql;
use crate::query::{Kind, Queries, Query, Unread};

/// Extensions of the files that are read from folders. Text files there are rather for people.
const EXTENSIONS: [&str; 11] =
    ["json", "jsonl", "ndjson", "log", "yaml", "yml", "rules", "tmpl", "tpl", "gotmpl", "promql"];

/// Endings of compressed files.
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".bz2", ".xz"];

/// Most bytes of a file that is not a query log.
const MAX_FILE_LEN: u64 = 256 << 20;

/// Queries of one place that a query is compared with: dashboards repeat the query of a variable in several fields.
const MAX_REPEATED: usize = 16;

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
        let mut seen = BTreeSet::new();
        for path in paths {
            let path = path.as_ref();
            if path.is_dir() {
                queries.add_folder(path, &mut seen)?;
            } else {
                queries.add_file(path)?;
            }
        }
        queries.add_missing_libraries();
        Ok(queries)
    }

    /// Adds the files of a folder that is not one of those seen before: links can lead to a folder above.
    fn add_folder(&mut self, path: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<(), ReadError> {
        let failed = |source| ReadError { path: path.to_owned(), source };
        if !seen.insert(path.canonicalize().map_err(failed)?) {
            return Ok(());
        }
        let entries = fs::read_dir(path).map_err(failed)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>().map_err(failed)?;
        paths.sort_unstable();
        for path in paths {
            // Kubernetes mounts the files of a ConfigMap as links into a hidden folder.
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                continue;
            }
            let name = path.display().to_string();
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.add_folder(&path, seen)?,
                // A pipe would be waited for.
                Ok(metadata) if metadata.is_file() && EXTENSIONS.contains(&extension(&name)) => self.add_file(&path)?,
                Ok(metadata) if metadata.is_file() && is_compressed(&name) => {
                    let error = "compressed: unpack it first".to_owned();
                    self.unread.push(Unread { place: name, query: None, error });
                }
                Ok(_) => {
                    self.skipped.push(name.clone());
                    self.ignored.push(name);
                }
                Err(error) => self.unread.push(Unread { place: name, query: None, error: error.to_string() }),
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
        let first = log::first_lines(&mut reader).map_err(failed)?;
        if first.iter().any(|line| log::is_entry(line)) {
            // A log may be larger than memory.
            self.files += 1;
            return log::add(self, &name, &first, &mut reader).map_err(failed);
        }
        let mut bytes = first.concat();
        reader.take(MAX_FILE_LEN).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE_LEN {
            self.files += 1;
            self.unread.push(Unread { place: name, query: None, error: "larger than 256 MiB".to_owned() });
            return Ok(());
        }
        match String::from_utf8(bytes) {
            Ok(text) => self.add_text(&name, &text),
            Err(error) => {
                self.files += 1;
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                self.add_unread_file(name, &text, "not UTF-8 text");
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
                        trees.iter().for_each(|tree| tree::add(self, name, tree, 0));
                    }
                    Err(error) if has_tree => self.add_unread_file(name.to_owned(), text, &error),
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

    /// Adds a query with its needs. If it could not be parsed, it is listed, and its words count.
    fn add_parsed(&mut self, kind: Kind, place: String, text: &str, needs: Result<Vec<Need>, String>) {
        let query = Query::new(kind, place, text);
        if self.is_repeated(&query) {
            return;
        }
        match needs {
            Ok(needs) => self.queries.push(Query { needs, ..query }),
            Err(error) => {
                self.add_unread(query.place.clone(), Some(text.to_owned()), &error);
                self.add_words(query, text);
            }
        }
    }

    /// Adds names of labels that are needed of any series.
    fn add_labels(&mut self, kind: Kind, place: String, text: &str, labels: impl IntoIterator<Item = String>) {
        let labels: BTreeSet<String> = labels.into_iter().collect();
        let query = Query { labels, ..Query::new(kind, place, text) };
        if !query.labels.is_empty() && !self.is_repeated(&query) {
            self.queries.push(query);
        }
    }

    /// Adds a variable of a dashboard that needs all labels of all series, and some by name.
    fn add_all_labels(&mut self, place: String, text: &str, names: impl IntoIterator<Item = String>) {
        let labels = names.into_iter().collect();
        let query = Query { labels, needs_all_labels: true, ..Query::new(Kind::Dashboard, place, text) };
        if !self.is_repeated(&query) {
            self.queries.push(query);
        }
    }

    /// Lists a file that could not be read as queries. Its words count, so that nothing that it names looks unused.
    fn add_unread_file(&mut self, name: String, text: &str, error: &str) {
        let query = Query::new(Kind::Query, name.clone(), "");
        self.add_unread(name, None, error);
        self.add_words(query, text);
    }

    /// Adds a query whose text is not PromQL: each of its words may be the name of a metric or of a label.
    fn add_words(&mut self, query: Query, text: &str) {
        let (needs, labels) = (promql::needs_of_words(text), promql::words(text));
        self.queries.push(Query { needs, labels, is_parsed: false, ..query });
    }

    fn is_repeated(&self, query: &Query) -> bool {
        let last = self.queries.iter().rev().take(MAX_REPEATED);
        let is_same = |known: &Query| {
            known.text == query.text && known.labels == query.labels && known.needs_all_labels == query.needs_all_labels
        };
        last.take_while(|known| known.place == query.place).any(is_same)
    }

    fn add_unread(&mut self, place: String, query: Option<String>, error: &str) {
        // Errors of parsers can have several lines, and quote the text.
        let error = error.lines().next().unwrap_or_default();
        let error = error.strip_prefix("error: ").unwrap_or(error).to_owned();
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
    // 100,000 rules have some 700,000 nodes.
    let budget = serde_saphyr::budget! { max_nodes: 1_000_000, max_events: 4_000_000 };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| error.to_string())
}

/// Returns the extension of a file's name, without the number of a log that was rotated: `query.log.1`.
fn extension(name: &str) -> &str {
    let of = |name| Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match name.rsplit_once('.') {
        Some((log, number)) if of(log) == "log" && number.bytes().all(|byte| byte.is_ascii_digit()) => "log",
        _ => of(name),
    }
}

/// Returns true if a file may have queries, but is compressed.
fn is_compressed(name: &str) -> bool {
    let inner = COMPRESSED.iter().find_map(|ending| name.strip_suffix(ending));
    inner.is_some_and(|inner| EXTENSIONS.contains(&extension(inner)))
}

/// Returns the need of one label of selected series; of all labels if its name is a variable.
fn label_needs(label: &str) -> LabelNeeds {
    match is_variable(label) {
        true => LabelNeeds::all_except([], Use::Returned),
        false => LabelNeeds::default().with([label.to_owned()], Use::Returned),
    }
}

/// Returns true if the name of a label has a variable.
fn is_variable(label: &str) -> bool {
    label.contains('$') || label.contains("[[")
}
