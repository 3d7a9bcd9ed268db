//! The arguments of the command.

use std::path::{Path, PathBuf};

use chronoxide_text::escape::Escaped;
use clap::{Args, Parser, Subcommand};

use crate::argument::count;
use crate::help::DEVELOPERS;
use crate::inspect::choices::Kind;
use crate::inspect::commands::arguments::{
    CARDINALITY, CardinalityArguments, DIFF, DiffArguments, LABELS, LabelsArguments, SERIES, SHARES, SeriesArguments,
    SharesArguments, VALUES, ValuesArguments,
};
use crate::inspect::commands::export::arguments::{EXPORT, ExportArguments};
use crate::inspect::commands::report::arguments::{REPORT, ReportArguments};
use crate::inspect::commands::top::arguments::{TOP, TopArguments};
use crate::inspect::commands::usage::arguments::{USAGE, UsageArguments};
use crate::mistake::is_word;
use crate::{Exit, Failure, Quiet, mistyped_subcommand};

/// Shows the content of a block or a remap
///
/// Without a subcommand, prints the summary. A remap, which `chronoxide-compact --remaps` writes, maps the series of a
/// block to those of the outputs. `summary`, `dump` and `verify` take a block or a remap, `follow` takes a remap (with
/// `--remaps` also a block or its id), and all others take a block. `series`, `labels`, `values`, `cardinality`,
/// `shares`, `top`, `report`, `usage`, `diff` and `verify` also take several blocks, folders, and locations such as
/// s3://bucket/prefix/: these stand for their live blocks, for `verify` for all their blocks. `summary` takes one
/// folder or location. A block may be a URL that ends in .cx (s3, gs, az, file).
#[derive(Parser)]
#[command(name = "chronoxide-inspect", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The block or remap, or a folder of blocks; `-` is standard input
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) file: Option<PathBuf>,
    /// Arguments after a mistyped subcommand
    #[arg(hide = true)]
    pub(crate) rest: Vec<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

impl Arguments {
    /// Refuses a first argument that is a mistyped subcommand, more files than one, and options before a subcommand
    /// other than `--quiet`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.command.is_some() {
            let is_plain = self.file.is_none() && !self.json;
            let message = "put files and options after the subcommand";
            return if is_plain { Ok(()) } else { Err(Failure::new(Exit::Usage, message)) };
        }
        let Some(file) = &self.file else { return Ok(()) };
        if self.rest.is_empty() && (file == Path::new("-") || file.symlink_metadata().is_ok()) {
            return Ok(());
        }
        match mistyped_subcommand::<Self>(file) {
            Some(failure) => Err(failure),
            None if self.rest.is_empty() => Ok(()),
            None if is_word(&file.display().to_string()) && file.symlink_metadata().is_err() => {
                let message =
                    format!("unrecognized subcommand {}; --help lists them", Escaped(&file.display().to_string()));
                Err(Failure::new(Exit::Usage, message))
            }
            None => {
                let message = format!("without a subcommand, one file is shown, not {}", 1 + self.rest.len());
                Err(Failure::new(Exit::Usage, message))
            }
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  chronoxide-inspect week.cx
  chronoxide-inspect summary week.cx --json | jq .series
  chronoxide-inspect series week.cx --format prometheus --match '{job=\"api\",pod=~\"web-.*\"}'
  chronoxide-inspect values pod blocks --match '{job=\"api\"}'
  chronoxide-inspect cardinality blocks
  chronoxide-inspect shares team blocks
  chronoxide-inspect top week.cx
  chronoxide-inspect report week.cx -o week.html
  chronoxide-inspect usage blocks --used rules/ dashboards/
  chronoxide-inspect diff monday.cx tuesday.cx --series
  chronoxide-inspect export week.cx -o week.parquet --match '{job=\"api\"}'
  chronoxide-inspect metrics week.cx --name http.server.request.duration
  chronoxide-inspect columns week.cx
  chronoxide-inspect tables week.cx --kind shared
  chronoxide-inspect plan week.cx --first 20
  chronoxide-inspect verify *.cx remaps/*.cxr
  chronoxide-inspect verify s3://metrics/blocks/
  chronoxide-inspect follow remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr 17 4711
  chronoxide-inspect follow --remaps remaps --blocks blocks 01ARZ3NDEKTSV4RRFFQ69G5FAV 17

Exit codes: 0 success; 1 a file cannot be read; 2 invalid arguments; 3 a file is damaged; 4 a file has an unsupported \
version or feature; 5 `follow` found a series in a block that is not in --blocks, `diff` found differences, or no block has the \
label of `values` or `shares`, but one with a similar name; 6 queries of --used were not understood; 130 \
interrupted. `verify` and the commands that take folders read all files and exit with the worst of their codes: 3, \
then 4, then 1.";

const TABLES: &str = "\
Examples:
  chronoxide-inspect tables week.cx
  chronoxide-inspect tables week.cx --kind shared
  chronoxide-inspect tables week.cx --json | jq 'select(.type == \"total\")'";

const PLAN: &str = "\
Examples:
  chronoxide-inspect plan week.cx --first 20
  chronoxide-inspect plan week.cx --json | jq 'select(.type == \"balance\").saved_bytes'
  chronoxide-inspect plan week.cx --json | jq 'select(.type == \"keyset\" and .saved_bytes < 0)'";

const FOLLOW: &str = "\
Examples:
  chronoxide-inspect follow remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr 17 4711
  chronoxide-inspect follow --remaps remaps --blocks blocks 01ARZ3NDEKTSV4RRFFQ69G5FAV 17
  chronoxide-inspect follow remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr 17 --json | jq .block_id";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show counts, times or outputs, and the size of each part; of a folder, its live blocks
    Summary(Subject),
    /// Show symbols, keys, tables with their rows, lists, keysets and series; of a remap, outputs and series
    #[command(display_order = DEVELOPERS)]
    Dump(Show),
    /// Map refs of series through a compaction: the block and ref of each, or `gone`
    #[command(after_help = FOLLOW)]
    Follow(FollowArguments),
    /// List the sections of the file
    #[command(display_order = DEVELOPERS)]
    Sections(One),
    /// List the series of blocks, one per line; --match selects some
    ///
    /// Of several blocks or a folder, series with equal labels are printed once. Each series is then looked up in the
    /// blocks before its own until one has it. A lookup takes microseconds, and no memory per series. The format
    /// `table` begins with the ref of the series if the only argument is a file: a ref means nothing outside of its
    /// block.
    #[command(after_help = SERIES)]
    Series(SeriesArguments),
    /// List the names of labels, one per line
    ///
    /// A name that begins with a double quote or has control characters is printed as a JSON string, others unchanged.
    #[command(after_help = LABELS)]
    Labels(LabelsArguments),
    /// List the values of a label, one per line
    ///
    /// A value that begins with a double quote or has control characters is printed as a JSON string, others unchanged.
    #[command(after_help = VALUES)]
    Values(ValuesArguments),
    /// Count series, label names and label pairs, and list the largest of them
    ///
    /// Series with equal labels count once, also if several blocks have them. Counts are exact. Takes about 50
    /// bytes of memory per distinct label pair; for several blocks, or selectors, also some 40 per distinct series, up
    /// to 1 GiB.
    #[command(after_help = CARDINALITY)]
    Cardinality(CardinalityArguments),
    /// Show the series and bytes that each value of a label has, such as those of a team
    ///
    /// All series of the blocks are counted, each once. The bytes of a file are split among its series: what several
    /// use, as a string or a row of a table, evenly among them, the metadata of a metric among its series, and what is
    /// of the whole file, as its columns, among all. A series that several blocks have has bytes in each. JSON is an
    /// object with the totals (`values`, `series`, `bytes`), and one per `value`. Takes some 40 bytes of memory per
    /// distinct series of several blocks, up to 1 GiB, and 24 per row of a table and per string. Exits with 5 if no
    /// block has the label, but one with a similar name.
    #[command(after_help = SHARES)]
    Shares(SharesArguments),
    /// Browse metrics, labels and values by their number of series
    ///
    /// On a terminal, fills the screen until `q` is pressed. Elsewhere, and with --json, prints one list: the metrics,
    /// or the list that --labels, --metric or --label chooses. Series with equal labels count once, also if several
    /// blocks have them. The figures are those of `report` and `cardinality`.
    ///
    /// Several blocks, and series that --match selects, are merged in memory first: that takes as much time and memory
    /// as a compaction.
    #[command(after_help = TOP)]
    Top(TopArguments),
    /// Write a page, or JSON, that shows what multiplies series and what to drop
    ///
    /// A file is one HTML page without links to anything: it can be opened from disk, sent, and printed. It shows
    /// metrics, labels with the number of series that remain without them, suggestions with the commands that carry
    /// them out, and where the bytes of the file go. Of a folder it also shows the series that come and go with time.
    /// With AFTER, it shows AFTER, and what changed since BLOCK.
    ///
    /// Several blocks, and series that --match selects, are merged in memory first: that takes as much time and memory
    /// as a compaction. docs/report.md documents the JSON.
    #[command(after_help = REPORT)]
    Report(ReportArguments),
    /// Show which metrics and labels the queries of rules, dashboards and query logs use, and which may go
    ///
    /// A metric is used if a query names it, whatever its other matchers. A label is used if a query selects, groups or
    /// joins by it, or returns it. Variables of dashboards, and queries that are not PromQL, count as using more rather
    /// than less. Several blocks, and series that --match selects, are merged in memory first: that takes as much time
    /// and memory as a compaction. docs/usage.md documents the JSON.
    #[command(after_help = USAGE)]
    Usage(UsageArguments),
    /// Show the series that came and went between two blocks or folders, by metric
    ///
    /// Series are compared by their labels, byte by byte: those of A that B lacks are gone, those of B that A lacks
    /// came. At most 3 labels that exploded are named first: those with twice as many values as before or more, and ten
    /// or more new values, which bring at least 10% of the series that came; with others that explode in the same
    /// series, and the job or service that most of these have, and its numbers. Not if blocks of A cannot be read.
    /// Takes some 40 bytes of memory per distinct series, up to 1 GiB, 32 per series of the blocks that are read at a
    /// time, and 100 per distinct value of a label.
    #[command(after_help = DIFF)]
    Diff(DiffArguments),
    /// Write the series of a block to a Parquet, Arrow, CSV or JSON lines file, with a column per label
    ///
    /// Parquet and Arrow have the series columns too. The file appears complete or not at all. Use `series --json`
    /// instead for the labelsets alone, in the form that `chronoxide-ingest` reads, or for several blocks and folders:
    /// objects of `jsonl` begin with the ref of the series, which is not a label. Memory grows with the distinct values
    /// of labels, not with series.
    #[command(after_help = EXPORT)]
    Export(ExportArguments),
    /// List type, unit and description of the metrics, one per line
    Metrics(MetricsArguments),
    /// List the series columns with their sizes and the ends of their values, one per line
    Columns(One),
    /// List tables and list pools: keys, rows, bytes, columns and references
    #[command(after_help = TABLES, display_order = DEVELOPERS)]
    Tables(TablesArguments),
    /// Show the bytes that the planner saved, by keyset and in all
    ///
    /// The plain bytes of a keyset are those of its series as rows of value codes, in the row form of the block. Its
    /// factored bytes are those of its table's rows and anchors. Keysets are ordered by the bytes saved. Reads every
    /// label of every series.
    #[command(after_help = PLAN, display_order = DEVELOPERS)]
    Plan(PlanArguments),
    /// Check every rule of the format
    Verify(Many),
}

#[derive(Args)]
pub(crate) struct One {
    /// The block; `-` is standard input
    #[arg(value_name = "BLOCK")]
    pub(crate) block: PathBuf,
    /// Print JSON: one object, or one per line for lists
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Subject {
    /// The block or remap, or a folder or location, which stands for its live blocks; `-` is standard input
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) subject: PathBuf,
    /// Print JSON: one object; for a folder, one per block, and their totals last
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Either {
    /// The block or remap; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON: one object, or one per line for lists
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) either: Either,
    /// Entries of each list to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>)]
    pub(crate) first: u32,
}

#[derive(Args)]
pub(crate) struct MetricsArguments {
    #[command(flatten)]
    pub(crate) one: One,
    /// Show only the metric with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Args)]
pub(crate) struct TablesArguments {
    #[command(flatten)]
    pub(crate) one: One,
    /// Show only tables of this kind, and no list pools
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    /// Number of dictionaries, inner tables, keyset tables and list pools to show, each; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<u32>)]
    pub(crate) first: u32,
}

#[derive(Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) one: One,
    /// Number of keysets, inner tables and list pools to show, each; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<u32>)]
    pub(crate) first: u32,
}

#[derive(Args)]
pub(crate) struct FollowArguments {
    /// Remap, `-` for standard input; with --remaps also a block or its id
    #[arg(value_name = "REMAP|BLOCK")]
    pub(crate) remap: PathBuf,
    /// Folder of remaps: follow series through all of them
    #[arg(long, value_name = "DIR")]
    pub(crate) remaps: Option<PathBuf>,
    /// Folder of blocks: stop at the first block that is in it, instead of the first block without a remap
    #[arg(long, value_name = "DIR", requires = "remaps")]
    pub(crate) blocks: Option<PathBuf>,
    /// Refs of series in the block
    #[arg(required = true, value_name = "REF")]
    pub(crate) series: Vec<u32>,
    /// Print one JSON object per series
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Many {
    /// The blocks and remaps, or folders of them, or locations of blocks (s3://BUCKET/PREFIX/); `-` is standard input
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}
