//! Arguments of the command `report`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::argument::size;
use crate::inspect::commands::arguments::Matching;
use crate::query_files::QueryFiles;
use crate::{Exit, Failure};

pub(crate) const REPORT: &str = "\
Examples:
  chronoxide-inspect report week.cx -o week.html
  chronoxide-inspect report blocks -o blocks.html
  chronoxide-inspect report monday.cx tuesday.cx -o changes.html
  chronoxide-inspect report week.cx --match '{namespace=\"prod\"}' -o prod.html
  chronoxide-inspect report blocks -o used.html --used rules/ dashboards/
  chronoxide-inspect report week.cx --json | jq '.suggestions[0].command'";

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Block, or folder, which stands for its live blocks; `-` is standard input
    #[arg(value_name = "BLOCK|FOLDER")]
    pub(crate) input: PathBuf,
    /// Block or folder to compare with the first
    #[arg(value_name = "AFTER")]
    pub(crate) after: Option<PathBuf>,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) matching: Matching,
    #[command(flatten)]
    pub(crate) queries: QueryFiles,
    /// Metrics to list, 1,000 at most: the first by series and the first by bytes of labels
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) first: u16,
    /// Refuse a merge of blocks that could need more memory than this, such as 512MiB; counting takes more [default:
    /// half of the memory that the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,
    /// Write all figures as one JSON object instead of a page
    #[arg(long)]
    pub(crate) json: bool,
    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

impl ReportArguments {
    /// Returns the file to write, or `None` for standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Returns the inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        [&self.input].into_iter().chain(&self.after).map(PathBuf::as_path)
    }

    /// Refuses outputs that cannot be meant.
    pub(super) fn check(&self, is_terminal: bool) -> Result<(), Failure> {
        let refused = |message: String| Err(Failure::new(Exit::Usage, message));
        match self.file() {
            Some(file) if crate::is_folder(file) => {
                refused(format!("{}: the output must be a file, not a folder", file.display()))
            }
            None if !self.json && self.output.is_none() && is_terminal => {
                refused("name a file for the page (-o page.html), or print the figures (--json)".to_owned())
            }
            _ => Ok(()),
        }
    }
}
