//! Arguments of the command `top`.

use clap::Args;

use super::start::Start;
use crate::argument::{count, size};
use crate::inspect::commands::arguments::{Matching, Sources};
use crate::query_files::QueryFiles;

pub(crate) const TOP: &str = "\
Examples:
  chronoxide-inspect top week.cx
  chronoxide-inspect top blocks --match '{namespace=\"prod\"}'
  chronoxide-inspect top week.cx --metric http_requests_total
  chronoxide-inspect top blocks --used rules/ dashboards/
  chronoxide-inspect top blocks --churn
  chronoxide-inspect top week.cx --label pod --first 0 | less
  chronoxide-inspect top week.cx --labels --json | jq 'select(.values > 1000).name'

Press ? on the screen for its keys.";

#[derive(Args)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) matching: Matching,
    #[command(flatten)]
    pub(crate) queries: QueryFiles,
    /// Begin with the labels of all series instead of the metrics
    #[arg(long, conflicts_with_all = ["metric", "label"])]
    pub(crate) labels: bool,
    /// Begin with the labels of this metric; '' stands for series without a name
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Begin with the values of this label, in all series or in those of --metric
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Print the label pairs and labels whose series come and go most, by their first and last times
    #[arg(long, conflicts_with_all = ["labels", "metric", "label", "used"])]
    pub(crate) churn: bool,
    /// Rows of the plain table and of --json; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count::<usize>)]
    pub(crate) first: usize,
    /// Refuse a merge of blocks that could need more memory than this, such as 512MiB [default: half of the memory
    /// that the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,
    /// Print JSON: one object per row
    #[arg(long)]
    pub(crate) json: bool,
}

impl TopArguments {
    /// Returns the list to begin with.
    pub(super) fn start(&self) -> Start<'_> {
        match (&self.metric, &self.label) {
            (Some(metric), label) => Start::Metric { name: metric, label: label.as_deref() },
            (None, Some(label)) => Start::Labels { label: Some(label) },
            (None, None) if self.labels => Start::Labels { label: None },
            (None, None) => Start::Metrics,
        }
    }
}
