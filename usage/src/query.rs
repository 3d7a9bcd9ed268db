//! [`Query`]: a query, where it stands, and what it needs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::need::Need;
use crate::promql::METRIC;

/// A query of a file.
#[derive(Clone, Debug)]
pub struct Query {
    /// Text as it stands in the file.
    pub text: String,
    /// Kind of its place.
    pub kind: Kind,
    /// File, and place in it: `rules.yaml: group api: alert HighErrors`.
    pub place: String,
    /// Number of times it was asked, by a query log; otherwise 1.
    pub count: u64,
    /// Series and labels that it needs.
    pub needs: Vec<Need>,
    /// Labels that it needs of any series.
    pub labels: BTreeSet<String>,
    /// True if it needs all labels of all series: the name of the label is a variable.
    pub needs_all_labels: bool,
    /// False if it is not PromQL, so that its words stand for names.
    pub is_parsed: bool,
}

/// Kind of the place of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An alerting rule.
    Alert,
    /// A recording rule.
    Recording,
    /// A panel, variable or annotation of a dashboard.
    Dashboard,
    /// A template or route of Alertmanager, which has names of labels only.
    Template,
    /// A line of a file of queries, or of a query log.
    Query,
}

/// Text or file that could not be read as queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// File, and place in it.
    pub place: String,
    /// Text of the query; none if a whole file could not be read.
    pub query: Option<String>,
    /// Reason.
    pub error: String,
}

/// Queries of files.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// Queries, in the order of files. Queries of a log with equal texts are one.
    pub queries: Vec<Query>,
    /// Queries and files that could not be read. The names in such a query count as used.
    pub unread: Vec<Unread>,
    /// Metrics that recording rules make, with the place of the rule.
    pub recorded: BTreeMap<String, String>,
    /// Number of queries in other languages than PromQL, by the type of their data source.
    pub other_languages: BTreeMap<String, u64>,
    /// Number of files.
    pub files: u64,
    /// Files without queries.
    pub ignored: Vec<String>,
    /// Files among them that were not read: files of folders whose extension is not one of files of queries.
    pub skipped: Vec<String>,
    /// Number of lines of query logs that have no query.
    pub other_lines: u64,
    /// Library panels that dashboards use, by uid, with the place of one use.
    used_libraries: BTreeMap<String, String>,
    defined_libraries: BTreeSet<String>,
}

impl Query {
    /// Creates a query without needs.
    pub(crate) fn new(kind: Kind, place: String, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            kind,
            place,
            count: 1,
            needs: Vec::new(),
            labels: BTreeSet::new(),
            needs_all_labels: false,
            is_parsed: true,
        }
    }
}

impl Queries {
    /// Returns true if a selector names this metric, in a matcher or a regular expression.
    pub(crate) fn select_name(&self, metric: &str) -> bool {
        let needs = self.queries.iter().flat_map(|query| &query.needs);
        needs.map(|need| need.selector.matchers()).any(|matchers| {
            let mut of_name = matchers.iter().filter(|matcher| matcher.name() == METRIC).peekable();
            of_name.peek().is_some() && of_name.all(|matcher| matcher.matches(metric))
        })
    }

    /// Notes that a dashboard uses a library panel.
    pub(crate) fn use_library(&mut self, uid: &str, place: String) {
        self.used_libraries.entry(uid.to_owned()).or_insert(place);
    }

    /// Notes that the queries of a library panel are known.
    pub(crate) fn define_library(&mut self, uid: &str) {
        self.defined_libraries.insert(uid.to_owned());
    }

    /// Lists the library panels whose queries are unknown.
    pub(crate) fn add_missing_libraries(&mut self) {
        let used = std::mem::take(&mut self.used_libraries);
        for (uid, place) in used.into_iter().filter(|(uid, _)| !self.defined_libraries.contains(uid)) {
            let error = format!("the files do not have this library panel (uid {uid})");
            self.unread.push(Unread { place, query: None, error });
        }
    }
}
