//! `chronoxide-compact`: merges blocks into one.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use chronoxide_cli::escape::Harmless;
use chronoxide_cli::{Exit, Failure, HasExit, Layout, existing, human, print, publish_block, run, tell};
use chronoxide_compactor::{CompactError, CompactOptions, Compacted, compact};
use chronoxide_format::view::BlockView;
use chronoxide_reader::{Block, Checks, OpenError};
use clap::Parser;

/// Merges blocks into one that has each of their series once
///
/// Inputs are verified in full and never changed, unless --force makes one of them the output. The output appears whole or not at all, after it was read again and
/// verified; its bytes depend neither on the order of the inputs nor on the number of threads.
#[derive(Parser)]
#[command(name = "chronoxide-compact", version, after_help = EXAMPLES)]
struct Arguments {
    /// Blocks to merge
    #[arg(required = true, value_name = "BLOCK")]
    inputs: Vec<PathBuf>,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the output is laid out
    #[arg(long, value_enum, default_value_t = Layout::Factored)]
    layout: Layout,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Threads to use, at most; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  chronoxide-compact monday.cx tuesday.cx -o week.cx
  chronoxide-compact hours/*.cx -o day.cx --json | jq .series_out

Exit codes: 0 done, 1 a file cannot be read or written, 2 usage, or inputs that do not go
together, 3 an input is damaged, 4 an input is of a version or has features that are not known.";

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}: {source}", path.display())]
    Input { path: PathBuf, source: chronoxide_format::Error },
    #[error("{}: {}", path.display(), error.reason())]
    Inputs { path: PathBuf, error: CompactError },
    #[error(transparent)]
    Compact(CompactError),
    #[error("cannot start {threads} threads")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

impl HasExit for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Open(source) => source.exit(),
            Self::Input { source, .. } => source.exit(),
            Self::Threads { .. } => Exit::Io,
            Self::Inputs { error: CompactError::UnknownFeatures { .. }, .. } => Exit::Unsupported,
            Self::Inputs { .. } | Self::Compact(CompactError::Build(_)) => Exit::Usage,
            Self::Compact(_) => Exit::Corrupt,
        }
    }
}

fn main() -> ExitCode {
    run(main_with)
}

fn main_with(arguments: Arguments) -> Result<Exit, Failure> {
    let threads = arguments.threads.map_or(0, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|source| Error::Threads { threads, source })?;
    pool.install(|| merge(&arguments))
}

fn merge(arguments: &Arguments) -> Result<Exit, Failure> {
    let existing = existing(&arguments.output, arguments.force)?;
    let blocks = (arguments.inputs.iter())
        .map(|path| Block::read(path, Checks::Never))
        .collect::<Result<Vec<Block>, OpenError>>()
        .map_err(Error::Open)?;
    let views: Vec<BlockView<'_>> = blocks.iter().map(Block::view).collect();
    let options = CompactOptions { layout: arguments.layout.into(), ..CompactOptions::default() };
    let compacted = compact(&views, &options).map_err(|error| named(error, &arguments.inputs))?;
    publish_block(&arguments.output, existing, &compacted.block)?;
    let bytes_in = views.iter().map(|view| view.bytes().len() as u64).sum();
    report(arguments, &compacted, bytes_in)?;
    Ok(Exit::Ok)
}

/// The error with the name of the file that it is about.
fn named(error: CompactError, inputs: &[PathBuf]) -> Error {
    match error {
        CompactError::Input { input, source } if input < inputs.len() => {
            Error::Input { path: inputs[input].clone(), source }
        }
        CompactError::UnknownFeatures { input, .. } | CompactError::Differs { input, .. } => {
            Error::Inputs { path: inputs[input].clone(), error }
        }
        other => Error::Compact(other),
    }
}

fn report(arguments: &Arguments, compacted: &Compacted, bytes_in: u64) -> std::io::Result<()> {
    let bytes_out = compacted.block.len() as u64;
    let per_series = (compacted.summary.series_out > 0).then(|| bytes_out as f64 / compacted.summary.series_out as f64);
    if arguments.json {
        let summary = serde_json::json!({
            "output": arguments.output.display().to_string(),
            "inputs": arguments.inputs.len(),
            "series_in": compacted.summary.series_in,
            "duplicates": compacted.summary.duplicates,
            "series_out": compacted.summary.series_out,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
            "bytes_per_series_out": per_series,
            "optional_sections_left_out": compacted.summary.optional_sections_left_out,
        });
        return print(|out| writeln!(out, "{summary}"));
    }
    let output = arguments.output.display().to_string();
    tell(|out| {
        let blocks = human::count_of(arguments.inputs.len() as u64, "block");
        writeln!(out, "{}: {blocks} merged", Harmless(&output))?;
        writeln!(out, "  series in    {}", human::count(compacted.summary.series_in))?;
        writeln!(out, "  duplicates   {}", human::count(compacted.summary.duplicates))?;
        writeln!(out, "  series out   {}", human::count(compacted.summary.series_out))?;
        writeln!(out, "  bytes in     {}", human::bytes(bytes_in))?;
        match per_series.map(human::per) {
            Some(per) => writeln!(out, "  bytes out    {}, {per} a series", human::bytes(bytes_out))?,
            None => writeln!(out, "  bytes out    {}", human::bytes(bytes_out))?,
        }
        match compacted.summary.optional_sections_left_out {
            0 => Ok(()),
            sections => {
                let sections = human::count_of(sections as u64, "optional section");
                writeln!(out, "  left out     {sections} of unknown kind")
            }
        }
    });
    Ok(())
}
