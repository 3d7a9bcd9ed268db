//! The command `usage`.

pub(crate) mod arguments;

use chronoxide_inspect::report::{Options, Usage, usage as count_usage};

use chronoxide_usage::Queries;

use self::arguments::{Target, UsageArguments};
use super::counting::Counting;
use crate::inspect::{screen, worse};
use crate::memory::default_limit;
use crate::query_files::{self, tell_unread};
use crate::{Exit, Failure, Quiet, json_line, print, print_styled};

/// Rows of each list in text.
const FIRST: usize = 20;

pub(crate) fn usage(arguments: &UsageArguments, quiet: Quiet) -> Result<Exit, Failure> {
    if arguments.queries.used.is_empty() {
        return Err(Failure::new(Exit::Usage, "name files of queries: --used rules/ dashboards/"));
    }
    if arguments.relabel.is_some() && !arguments.matching.selectors.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "--relabel needs all series: a rule would also drop those that --match leaves out",
        ));
    }
    let queries = query_files::read(&arguments.queries.used)?;
    let inputs = arguments.sources.open(arguments.memory_limit, quiet)?;
    arguments.matching.tell_wide(quiet);
    let unread = tell_unread("chronoxide-inspect", &queries, quiet);
    let input = inputs.reported("");
    if input.blocks.is_empty() {
        // The reasons are reported already.
        return Ok(worse(inputs.exit(), unread));
    }
    let is_text = !arguments.json && arguments.relabel.is_none();
    let first = arguments.first.unwrap_or(if is_text { FIRST } else { 0 });
    let options = Options {
        selectors: &arguments.matching.selectors,
        // A configuration drops everything that is unused.
        first: if first == 0 || arguments.relabel.is_some() { usize::MAX } else { first },
        memory_limit: Some(arguments.memory_limit.unwrap_or_else(default_limit)),
        ..Options::default()
    };
    let counting = Counting::show(quiet);
    let usage = count_usage(&input, &queries, &options)?;
    drop(counting);
    if arguments.relabel.is_some() && usage.used.series == 0 {
        let message = "no query selects a series: everything would be dropped. Do the queries use other names than the block, such as names translated for Prometheus?";
        return Err(Failure::new(Exit::Usage, message));
    }
    match arguments.relabel {
        Some(target) => print(|out| out.write_all(configuration(&usage, &queries, target).as_bytes()))?,
        None if arguments.json => print(|out| json_line(out, &usage))?,
        None => print_styled(|out, style| screen::usage::write(&usage, options.first, style, out))?,
    }
    Ok(worse(inputs.exit(), unread))
}

fn configuration(usage: &Usage, queries: &Queries, target: Target) -> String {
    let unused = usage.unused();
    match target {
        Target::Prometheus => unused.prometheus(),
        Target::Collector => {
            unused.collector(usage.metrics.iter().filter_map(|metric| metric.metric.as_deref()), queries)
        }
    }
}
