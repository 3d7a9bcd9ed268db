//! Arguments of the command `usage`.

use clap::{Args, ValueEnum};

use crate::argument::{count, size};
use crate::inspect::commands::arguments::{Matching, Sources};
use crate::query_files::QueryFiles;

pub(crate) const USAGE: &str = "\
Examples:
  chronoxide-inspect usage blocks --used rules/ dashboards/
  chronoxide-inspect usage week.cx --used queries.log --json | jq -r '.unused_metrics[].metric'
  chronoxide-inspect usage blocks --used rules/ dashboards/ --relabel prometheus > unused.yaml

Exit codes: 0 all queries were read; 6 some queries or files were not understood, and are listed; others as for all \
commands.";

#[derive(Args)]
pub(crate) struct UsageArguments {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) queries: QueryFiles,
    #[command(flatten)]
    pub(crate) matching: Matching,
    /// Print a configuration that drops unused metrics and labels where they are collected
    ///
    /// `prometheus` prints metric_relabel_configs, which also work as write_relabel_configs. `collector` prints the
    /// processors `filter` and `transform` of the OpenTelemetry Collector. A label is dropped only if no two series
    /// become equal.
    #[arg(long, value_enum, value_name = "TARGET", conflicts_with = "json")]
    pub(crate) relabel: Option<Target>,
    /// Rows of each list; 0 for all. JSON has all rows by default
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub(crate) first: Option<usize>,
    /// Refuse a merge of blocks that could need more memory than this, such as 512MiB [default: half of the memory
    /// that the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,
    /// Print all figures as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reader of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// metric_relabel_configs of Prometheus
    Prometheus,
    /// Processors of the OpenTelemetry Collector
    Collector,
}
