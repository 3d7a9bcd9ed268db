//! Content of the inputs that options name: metrics that no query uses, for `--keep-used`, and labels to hash.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chronoxide_dump::name::Name;
use chronoxide_inspect::InspectError;
use chronoxide_reader::{Block, OpenError};
use chronoxide_select::{IndexedBlock, Limits, Matcher, Operator, Selector};
use chronoxide_text::human;
use chronoxide_usage::{BlockUsage, Queries};

use crate::compact::arguments::Arguments;
use crate::compact::blocks;
use crate::compact::failure::usage;
use crate::query_files::{self, tell_unread};
use crate::{Exit, Failure, HasExit, json_line, print, print_styled};

const METRIC: &str = "__name__";

/// Names in one selector, if few selectors suffice: a regular expression of all names could take too much memory.
const NAMES_PER_SELECTOR: usize = 200;

/// Most selectors: a compaction takes some 60 at most, and the user may give others.
const MAX_SELECTORS: usize = 32;

/// Metrics of all inputs, with their series; an empty name stands for series without one. A series in several inputs
/// counts in each.
#[derive(Debug, Default)]
struct Metrics {
    used: BTreeMap<String, u64>,
    unused: BTreeMap<String, u64>,
}

/// Returns selectors of the series of unused metrics; none without `--keep-used`.
///
/// # Errors
/// A query was not understood, unless the user wants to go on, and if nothing would be kept.
pub(crate) fn unused(arguments: &Arguments, files: &[PathBuf]) -> Result<Vec<Selector>, Failure> {
    if arguments.keep_used.is_empty() {
        return Ok(Vec::new());
    }
    let (queries, exit) = read(arguments)?;
    if exit != Exit::Ok && !arguments.skip_bad_queries {
        let message = "nothing was written: a metric that these queries use would be missing (--skip-bad-queries keeps the metrics that they name)";
        return Err(Failure::new(exit, message));
    }
    let has_words = |place: &String| queries.queries.iter().any(|query| !query.is_parsed && query.place == *place);
    if let Some(unread) = queries.unread.iter().find(|unread| !has_words(&unread.place)) {
        let message = format!("nothing was written: no name in {} is known", unread.place);
        return Err(Failure::new(exit, message));
    }
    let metrics = Metrics::count(files, &queries)?;
    if metrics.used.is_empty() && !metrics.unused.is_empty() {
        return Err(usage("no query of --keep-used selects a series of the inputs: nothing would be kept"));
    }
    metrics.selectors()
}

/// Refuses labels to hash that no input has: a name may be mistyped, and the values would stay.
pub(crate) fn check_hashed(arguments: &Arguments, files: &[PathBuf]) -> Result<(), Failure> {
    for name in &arguments.hash_labels {
        let has_label = |file: &PathBuf| {
            let block = open(file)?;
            let key = block.view().key(name).map_err(|source| OpenError::Block { path: file.clone(), source })?;
            Ok::<bool, Failure>(key.is_some())
        };
        if !files.iter().map(has_label).collect::<Result<Vec<_>, _>>()?.contains(&true) {
            return Err(usage(format!("--hash-label {}: no input has this label", Name(name))));
        }
    }
    Ok(())
}

/// Prints the metrics that would be dropped, the most series first.
pub(crate) fn show(arguments: &Arguments, files: &[PathBuf]) -> Result<Exit, Failure> {
    let (queries, exit) = read(arguments)?;
    let metrics = Metrics::count(files, &queries)?;
    let mut rows: Vec<(&String, &u64)> = metrics.unused.iter().collect();
    rows.sort_by_key(|&(name, series)| (std::cmp::Reverse(series), name));
    let sum = |metrics: &BTreeMap<String, u64>| metrics.values().sum::<u64>();
    let (dropped, kept) = (sum(&metrics.unused), sum(&metrics.used));
    if arguments.json {
        print(|out| {
            for (name, series) in rows {
                let metric = (!name.is_empty()).then_some(name);
                json_line(out, &serde_json::json!({ "type": "metric", "metric": metric, "series": series }))?;
            }
            let total = serde_json::json!({
                "type": "total",
                "dropped_metrics": metrics.unused.len(),
                "dropped_series": dropped,
                "kept_metrics": metrics.used.len(),
                "kept_series": kept,
            });
            json_line(out, &total)
        })?;
        return Ok(exit);
    }
    print_styled(|out, style| {
        writeln!(out, "{}", style.heading("       series  metric to drop"))?;
        for (name, series) in rows {
            let name = if name.is_empty() { "(no __name__)".to_owned() } else { Name(name).to_string() };
            writeln!(out, "{:>13}  {name}", human::count(*series))?;
        }
        let metrics = human::count_of(metrics.unused.len() as u64, "metric");
        let share = human::share(dropped, dropped + kept);
        writeln!(out, "{:>13}  in {metrics}, {share} of the series of the inputs", human::count(dropped))
    })?;
    Ok(exit)
}

fn read(arguments: &Arguments) -> Result<(Queries, Exit), Failure> {
    let queries = query_files::read(&arguments.keep_used)?;
    let exit = tell_unread("chronoxide-compact", &queries, arguments.quiet);
    Ok((queries, exit))
}

impl Metrics {
    fn count(files: &[PathBuf], queries: &Queries) -> Result<Self, Failure> {
        let mut metrics = Self::default();
        let mut used = BTreeSet::new();
        for file in files {
            let damaged = |source: InspectError| Failure::new(source.exit(), Damaged { path: file.clone(), source });
            let block = open(file)?;
            let searcher = block.searcher(Limits::default()).map_err(|error| damaged(error.source.into()))?;
            let found = BlockUsage::new(&searcher, queries).and_then(|usage| usage.metric_names(&searcher));
            used.extend(found.map_err(|error| damaged(error.into()))?);
            for (name, series) in searcher.count_by_value(METRIC, &[]).map_err(|error| damaged(error.into()))? {
                let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
                *metrics.unused.entry(name).or_default() += series;
            }
        }
        // A metric that a query uses in one input is kept in all.
        for name in used {
            if let Some(series) = metrics.unused.remove(&name) {
                metrics.used.insert(name, series);
            }
        }
        Ok(metrics)
    }

    fn selectors(&self) -> Result<Vec<Selector>, Failure> {
        let names: Vec<String> = self.unused.keys().map(|name| regex::escape(name)).collect();
        let selector = |names: &[String]| {
            let matcher = Matcher::new(METRIC, Operator::Matches, names.join("|"));
            matcher.map(|matcher| vec![matcher].into()).map_err(|error| usage(error.to_string()))
        };
        let per_selector = names.len().div_ceil(MAX_SELECTORS).max(NAMES_PER_SELECTOR);
        names.chunks(per_selector).map(selector).collect()
    }
}

/// A block that cannot be queried.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
struct Damaged {
    path: PathBuf,
    source: InspectError,
}

/// Opens a block for queries. Its decoded strings are dropped with it: the merge decodes what it needs itself.
fn open(path: &Path) -> Result<IndexedBlock, Failure> {
    let block: Block = blocks::map(path)?;
    block.unpack().map_err(|source| OpenError::Block { path: path.to_owned(), source })?;
    Ok(block.into())
}
