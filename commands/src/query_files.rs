//! Files of queries: the option `--used` and the messages about them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;
use chronoxide_usage::{Queries, Unread};
use clap::Args;

use crate::style::Style;
use crate::{Exit, Failure, Quiet, tell};

/// Messages of a kind that are printed. JSON has all of them.
const MAX_TOLD: usize = 10;

/// Files of queries.
#[derive(Debug, Args)]
pub(crate) struct QueryFiles {
    /// Files of queries, or folders of them: rules, dashboards, Alertmanager templates, query logs, or one query per
    /// line; `-` is standard input
    ///
    /// Rules are YAML files of Prometheus, Mimir or Kubernetes. Dashboards are JSON files of Grafana. Query logs are
    /// those of Prometheus and of Mimir as JSON lines. Variables of dashboards stand for any text. A query that is not
    /// PromQL is listed, each name in it counts as used, and the exit code is 6.
    #[arg(long = "used", value_name = "FILE|FOLDER", num_args = 1..)]
    pub(crate) used: Vec<PathBuf>,
}

impl QueryFiles {
    /// Reads the files, if any are named, and tells what was not read. Also returns the exit code.
    pub(crate) fn read(&self, quiet: Quiet) -> Result<(Option<Queries>, Exit), Failure> {
        if self.used.is_empty() {
            return Ok((None, Exit::Ok));
        }
        let queries = read(&self.used)?;
        let exit = tell_unread("chronoxide-inspect", &queries, quiet);
        Ok((Some(queries), exit))
    }
}

/// Reads files of queries.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Queries, Failure> {
    let queries = Queries::read(paths).map_err(|error| Failure::new(Exit::Io, error))?;
    if queries.queries.is_empty() && queries.unread.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::new(Exit::Usage, format!("{}: no query found", names.join(", "))));
    }
    Ok(queries)
}

/// Tells what was not read of the files. Returns the exit code.
pub(crate) fn tell_unread(program: &str, queries: &Queries, quiet: Quiet) -> Exit {
    let error = Style::stderr().bad("error:");
    for Unread { place, query, error: reason } in queries.unread.iter().take(MAX_TOLD) {
        let query = query.as_ref().map(|query| format!(": {query}")).unwrap_or_default();
        let message = format!("{place}: {reason}{query}");
        tell(|out| writeln!(out, "{program}: {error} {}", TerminalSafe(&message.replace('\n', " "))));
    }
    if let Some(more @ 1..) = queries.unread.len().checked_sub(MAX_TOLD) {
        let more = human::count(more as u64);
        tell(|out| writeln!(out, "{program}: {error} {more} more not read"));
    }
    if !quiet.is_set() {
        if !queries.other_languages.is_empty() {
            let count = |(language, count): (&String, &u64)| format!("{language} {}", human::count(*count));
            let counts: Vec<String> = queries.other_languages.iter().map(count).collect();
            let counts = counts.join(", ");
            tell(|out| writeln!(out, "{program}: note: queries in other languages: {}", TerminalSafe(&counts)));
        }
        if queries.other_lines > 0 {
            let lines = human::count_of(queries.other_lines, "line");
            tell(|out| writeln!(out, "{program}: note: {lines} of logs without a query"));
        }
        let skipped: BTreeSet<&String> = queries.skipped.iter().collect();
        let read: Vec<&String> = queries.ignored.iter().filter(|file| !skipped.contains(file)).collect();
        if let Some(first) = read.first() {
            let files = human::count_of(read.len() as u64, "file");
            tell(|out| writeln!(out, "{program}: note: {files} without queries, such as {}", TerminalSafe(first)));
        }
        if let Some(first) = queries.skipped.first() {
            let files = human::count_of(queries.skipped.len() as u64, "file");
            let other = "not read, with other extensions than files of queries";
            tell(|out| writeln!(out, "{program}: note: {files} {other}, such as {}", TerminalSafe(first)));
        }
    }
    if queries.unread.is_empty() { Exit::Ok } else { Exit::Partial }
}
