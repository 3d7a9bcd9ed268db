//! Arguments of the commands that query labels.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_select::{Matcher, Selector};
use chronoxide_text::escape::{Escaped, TerminalSafe};
use clap::Args;

use super::inputs::{Inputs, Queries, is_absent};
use crate::argument::{count, instant};
use crate::inspect::choices::SeriesFormat;
use crate::mistake::{did_you_mean, unknown_exit};
use crate::{Exit, Failure, Quiet, tell};

pub(crate) const SERIES: &str = "\
Examples:
  chronoxide-inspect series week.cx --format prometheus
  chronoxide-inspect series week.cx --match '{job=\"api\",pod=~\"web-.*\"}'
  chronoxide-inspect series blocks --match up --match '{__name__=~\"node_.*\"}' --json | jq -r .instance";

pub(crate) const LABELS: &str = "\
Examples:
  chronoxide-inspect labels week.cx
  chronoxide-inspect labels blocks --match '{job=\"api\"}'";

pub(crate) const VALUES: &str = "\
Examples:
  chronoxide-inspect values job week.cx
  chronoxide-inspect values pod blocks --match '{job=\"api\"}' --prefix web- --limit 20
  chronoxide-inspect values pod blocks --min-time 2025-11-11T09:00:00Z --max-time 2025-11-11T10:00:00Z
  chronoxide-inspect values __name__ monday.cx tuesday.cx --json | jq -r .";

pub(crate) const CARDINALITY: &str = "\
Examples:
  chronoxide-inspect cardinality week.cx
  chronoxide-inspect cardinality blocks --match '{namespace=\"prod\"}' --first 20
  chronoxide-inspect cardinality week.cx --json | jq '.names_by_values[0]'";

pub(crate) const SHARES: &str = "\
Examples:
  chronoxide-inspect shares team week.cx
  chronoxide-inspect shares namespace blocks --first 0
  chronoxide-inspect shares job week.cx --json | jq 'select(.type == \"share\" and .bytes > 1e6).value'";

pub(crate) const DIFF: &str = "\
Examples:
  chronoxide-inspect diff monday.cx tuesday.cx
  chronoxide-inspect diff old-blocks new-blocks --match '{job=\"api\"}' --series | grep '^+'
  chronoxide-inspect diff week.cx blocks --quiet > /dev/null && echo equal

Exit codes: 0 the series are equal; 5 they differ; others as for all commands. If a block cannot be read, its series \
are missing from the comparison, and the exit code is that of the damage.";

/// Blocks whose labels are queried.
#[derive(Args)]
pub(crate) struct Sources {
    /// Blocks, and folders, which stand for their live blocks; `-` is standard input. May be URLs (s3://, gs://, az://)
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
}

impl Sources {
    /// Checks that the name of a label before the paths is not rather the file.
    ///
    /// # Errors
    /// A file with this name, and a path that is none.
    pub(super) fn check_name(&self, name: &str) -> Result<(), Failure> {
        match self.paths.iter().find(|path| is_absent(path)) {
            Some(absent) if Path::new(name).is_file() => {
                let (absent, name) = (absent.display(), Escaped(name));
                let message =
                    format!("cannot read {absent}: No such file or directory; {name} is a file: name the label first");
                Err(Failure::new(Exit::Io, message))
            }
            _ => Ok(()),
        }
    }

    /// Opens the blocks, and the live blocks of the folders; see [`Inputs::open`].
    pub(super) fn open(&self, memory_limit: Option<usize>, quiet: Quiet) -> Result<Inputs, Failure> {
        let paths = || self.paths.iter().map(PathBuf::as_path);
        Inputs::check(paths())?;
        Inputs::open(paths(), memory_limit, quiet)
    }
}

/// Selectors of series.
#[derive(Args, Default)]
pub(crate) struct Matching {
    /// Select series that match this PromQL selector, such as '{job="api",pod=~"web-.*"}', or another --match
    ///
    /// Without --match, all series are selected. A selector that matches every series, such as '{}', is allowed.
    /// Selectors see the labels of series, and not the external labels of blocks.
    #[arg(long = "match", value_name = "SELECTOR", value_parser = crate::selectors::any)]
    pub(crate) selectors: Vec<Selector>,
}

impl Matching {
    /// Tells which selectors match more series than the caller may expect.
    pub(crate) fn tell_wide(&self, quiet: Quiet) {
        if quiet.is_set() {
            return;
        }
        for selector in self.selectors.iter().filter(|selector| selector.matches_empty()) {
            let shown = selector.to_string();
            let matched = match selector.matchers() {
                [] => "every series",
                _ => "series without these labels, too",
            };
            tell(|out| writeln!(out, "chronoxide-inspect: note: {} matches {matched}", TerminalSafe(&shown)));
        }
    }

    /// Tells which labels of the selectors no block has: the name may be a typing error. Selectors that match series
    /// without their labels are left to [`Matching::tell_wide`].
    pub(super) fn tell_unknown(&self, queries: &[&Queries<'_>], quiet: Quiet) -> Result<(), Failure> {
        self.narrow_names().into_iter().try_for_each(|name| tell_unknown_label(name, queries, quiet).map(drop))
    }

    /// Returns the names of labels of the selectors that match only series with a label.
    pub(super) fn narrow_names(&self) -> BTreeSet<&str> {
        let narrow = self.selectors.iter().filter(|selector| !selector.matches_empty());
        narrow.flat_map(Selector::matchers).map(Matcher::name).collect()
    }
}

/// Selectors of series, and a time range in which these have data.
#[derive(Args, Default)]
pub(crate) struct Asked {
    #[command(flatten)]
    pub(crate) matching: Matching,
    /// Select series with data at this time or later, such as 2025-11-11T09:00:00Z
    ///
    /// Blocks know the first and the last time of each series if `chronoxide-ingest` wrote them. Of other blocks, all
    /// series count if the block has data in the time range; a note tells how many blocks these are.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) min_time: Option<i64>,
    /// Select series with data before this time
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) max_time: Option<i64>,
}

impl Asked {
    /// Returns the time range from its start to before its end, or `None` if all times are asked for.
    ///
    /// # Errors
    /// A range that ends before it begins.
    pub(super) fn time(&self) -> Result<Option<(i64, i64)>, Failure> {
        match (self.min_time, self.max_time) {
            (None, None) => Ok(None),
            (Some(min), Some(max)) if min >= max => {
                Err(Failure::new(Exit::Usage, "--min-time must be before --max-time"))
            }
            (min, max) => Ok(Some((min.unwrap_or(i64::MIN), max.unwrap_or(i64::MAX)))),
        }
    }

    /// Tells what of the arguments the caller may not expect to select that much, or nothing: wide selectors, labels
    /// that no block has, and blocks that do not know the times of their series.
    pub(super) fn tell(&self, queries: &[&Queries<'_>], quiet: Quiet) -> Result<(), Failure> {
        self.matching.tell_wide(quiet);
        self.matching.tell_unknown(queries, quiet)?;
        if self.time()?.is_none() || quiet.is_set() {
            return Ok(());
        }
        tell_untimed(queries.iter().map(|queries| queries.query.untimed_blocks()).sum::<Result<u64, _>>()?);
        Ok(())
    }
}

/// Tells how many blocks do not know the times of their series, unless all do.
pub(super) fn tell_untimed(block_count: u64) {
    if block_count > 0 {
        let of = if block_count == 1 {
            "block does not know the times of its series"
        } else {
            "blocks do not know the times of their series"
        };
        tell(|out| writeln!(out, "chronoxide-inspect: note: {block_count} {of}: all count that match"));
    }
}

/// Tells if no block has a label, unless blocks are missing. Returns the exit code of a list of its values then.
pub(super) fn tell_unknown_label(name: &str, queries: &[&Queries<'_>], quiet: Quiet) -> Result<Option<Exit>, Failure> {
    for queries in queries {
        if queries.query.blocks().is_empty() || queries.has_failed() || queries.has_label(name)? {
            return Ok(None);
        }
    }
    let names = queries.iter().map(|queries| queries.all_names()).collect::<Result<Vec<_>, _>>()?;
    let near = did_you_mean(name, names.into_iter().flatten());
    if !quiet.is_set() {
        tell(|out| writeln!(out, "chronoxide-inspect: note: no block has a label {}{near}", Escaped(name)));
    }
    Ok(Some(unknown_exit(&near)))
}

#[derive(Args)]
pub(crate) struct SeriesArguments {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Format of a series; --json is short for series-json
    #[arg(long, value_enum, default_value_t = SeriesFormat::Table)]
    pub(crate) format: SeriesFormat,
    /// Series to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<usize>)]
    pub(crate) first: usize,
    /// Print JSON: one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct LabelsArguments {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Print JSON: one string per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ValuesArguments {
    /// Name of the label
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) labels: LabelsArguments,
    /// Show only values that begin with this text
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
    /// Values to show; 0 for all
    #[arg(long, visible_alias = "first", value_name = "N", default_value_t = 0, value_parser = count::<usize>)]
    pub(crate) limit: usize,
}

#[derive(Args)]
pub(crate) struct SharesArguments {
    /// Name of the label
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Values to show, those with the most bytes; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<usize>)]
    pub(crate) first: usize,
    /// Print JSON: the totals and each value as an object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CardinalityArguments {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Entries of each list to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<usize>)]
    pub(crate) first: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// Block or folder before; `-` is standard input
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Block or folder after
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Metrics to show; 0 for all. Does not limit --series
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<usize>)]
    pub(crate) first: usize,
    /// Show each series after the metrics: `-` and a series of A only, `+` and a series of B only
    #[arg(long)]
    pub(crate) series: bool,
    /// Print JSON: the totals, each label that exploded, each metric and each series as an object per line
    #[arg(long)]
    pub(crate) json: bool,
}
