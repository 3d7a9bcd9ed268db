//! `chronoxide-inspect`: shows what is inside a block.

mod screen;

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chronoxide_cli::escape::Harmless;
use chronoxide_cli::style::Style;
use chronoxide_cli::{Exit, Failure, HasExit, Message, print, run, tell};
use chronoxide_format::view::BlockView;
use chronoxide_inspect::dump::{dump, dump_entries};
use chronoxide_inspect::metrics::write_metrics;
use chronoxide_inspect::series::{Format, write_series};
use chronoxide_inspect::summary::Summary;
use chronoxide_inspect::{InspectError, section_name};
use chronoxide_reader::{Block, Checks, OpenError};
use clap::{Args, Parser, Subcommand};

/// Shows what is inside a block
///
/// Without a subcommand it prints a summary and the first entries of each list of the dump.
#[derive(Parser)]
#[command(name = "chronoxide-inspect", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The block; `-` is standard input
    #[arg(value_name = "BLOCK")]
    block: Option<PathBuf>,
    /// Entries of each list to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    first: u32,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  chronoxide-inspect week.cx
  chronoxide-inspect summary week.cx --json | jq .series
  chronoxide-inspect series week.cx --format prometheus | grep 'job=\"api\"'
  chronoxide-inspect metrics week.cx --name http.server.request.duration
  chronoxide-inspect verify *.cx

Exit codes: 0 done, 1 a file cannot be read, 2 usage, 3 a block is damaged, 4 a block is of a version
that is not known. `verify` looks at all files and ends with the code of the worst.";

#[derive(Subcommand)]
enum Command {
    /// What the block is: counts, times, and where its bytes go
    Summary(One),
    /// Symbols, keys, tables with their rows, lists, keysets, series
    Dump(Show),
    /// The sections of the file
    Sections(One),
    /// The series, one line each
    Series(SeriesArguments),
    /// Type, unit and description of the metrics, one line each
    Metrics(MetricsArguments),
    /// Check every rule of the format
    Verify(Many),
}

#[derive(Args)]
struct One {
    /// The block; `-` is standard input
    #[arg(value_name = "BLOCK")]
    block: PathBuf,
    /// Print JSON: one object, or one a line where there are many
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Show {
    #[command(flatten)]
    one: One,
    /// Entries of each list to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    first: u32,
}

#[derive(Args)]
struct SeriesArguments {
    #[command(flatten)]
    one: One,
    /// How to write a series; --json is short for series-json
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Series to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: usize,
}

#[derive(Args)]
struct MetricsArguments {
    #[command(flatten)]
    one: One,
    /// Only the metric with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Args)]
struct Many {
    /// The blocks; `-` is standard input
    #[arg(required = true, value_name = "BLOCK")]
    blocks: Vec<PathBuf>,
    /// Print one JSON object a block
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    run(inspect)
}

fn inspect(arguments: Arguments) -> Result<Exit, Failure> {
    match (arguments.command, arguments.block) {
        (Some(Command::Summary(one)), _) => summary(&one),
        (Some(Command::Dump(show)), _) => dump_block(&show),
        (Some(Command::Sections(one)), _) => sections(&one),
        (Some(Command::Series(series)), _) => print_series(&series),
        (Some(Command::Metrics(metrics)), _) => print_metrics(&metrics),
        (Some(Command::Verify(many)), _) => verify(&many),
        (None, Some(block)) if arguments.json => summary(&One { block, json: true }),
        (None, Some(block)) => overview(&block, arguments.first),
        (None, None) => Err(Failure::new(Exit::Usage, "no block was named; see --help")),
    }
}

/// Opens a block whose checksums are right: what is shown can be trusted as far as they can tell.
fn open(path: &Path) -> Result<Block, OpenError> {
    read(path, Checks::Eager)
}

/// Reads a block from a file or, as `-`, from standard input.
fn read(path: &Path, checks: Checks) -> Result<Block, OpenError> {
    if path != Path::new("-") {
        return Block::read(path, checks);
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    Block::from_vec(bytes, checks).map_err(|source| OpenError::Block { path: path.to_owned(), source })
}

/// Names the file in an error about its content.
fn in_file(path: &Path) -> impl Fn(InspectError) -> Failure + '_ {
    move |error| match error {
        InspectError::Block(source) => OpenError::Block { path: path.to_owned(), source }.into(),
        other => other.into(),
    }
}

/// Writes to standard output what needs the block.
fn show(
    path: &Path,
    write: impl FnOnce(&BlockView<'_>, &mut dyn Write) -> Result<(), InspectError>,
) -> Result<Exit, Failure> {
    let block = open(path)?;
    let mut result = Ok(());
    print(|out| {
        result = write(&block.view(), out);
        match &mut result {
            Err(InspectError::Write(error)) => Err(std::mem::replace(error, std::io::ErrorKind::Other.into())),
            _ => Ok(()),
        }
    })?;
    result.map_err(in_file(path))?;
    Ok(Exit::Ok)
}

fn json_line(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), InspectError> {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn summary(one: &One) -> Result<Exit, Failure> {
    show(&one.block, |view, out| {
        let summary = Summary::of(view)?;
        if one.json { json_line(out, &summary) } else { Ok(screen::summary(&summary, Style::stdout(), out)?) }
    })
}

/// The summary, and the beginning of the dump.
fn overview(block: &Path, first: u32) -> Result<Exit, Failure> {
    show(block, |view, out| {
        screen::summary(&Summary::of(view)?, Style::stdout(), out)?;
        writeln!(out)?;
        dump(view, limit(first), out)
    })
}

/// 0 stands for all.
fn limit(first: u32) -> Option<u32> {
    (first > 0).then_some(first)
}

fn dump_block(arguments: &Show) -> Result<Exit, Failure> {
    show(&arguments.one.block, |view, out| {
        if !arguments.one.json {
            return dump(view, limit(arguments.first), out);
        }
        dump_entries(view, limit(arguments.first), &mut |entry| json_line(out, &entry))
    })
}

fn sections(one: &One) -> Result<Exit, Failure> {
    show(&one.block, |view, out| {
        for section in view.sections() {
            let name = section_name(&section);
            if one.json {
                let (kind, id, offset, length) = (section.kind, section.id, section.offset, section.length);
                let json =
                    serde_json::json!({ "name": name, "kind": kind, "id": id, "offset": offset, "length": length });
                json_line(out, &json)?;
            } else {
                writeln!(out, "{name:12} {:>10} {:>14} {:>14}", section.id, section.offset, section.length)?;
            }
        }
        Ok(())
    })
}

fn print_series(arguments: &SeriesArguments) -> Result<Exit, Failure> {
    let format = if arguments.one.json { Format::SeriesJson } else { arguments.format };
    let first = (arguments.first > 0).then_some(arguments.first);
    let terminal = std::io::stdout().is_terminal();
    show(&arguments.one.block, |view, out| write_series(view, format, first, terminal, out))
}

fn print_metrics(arguments: &MetricsArguments) -> Result<Exit, Failure> {
    let terminal = std::io::stdout().is_terminal();
    let name = arguments.name.as_deref();
    show(&arguments.one.block, |view, out| write_metrics(view, name, arguments.one.json, terminal, out))
}

/// Verifies all blocks, and ends with the code of the worst.
fn verify(many: &Many) -> Result<Exit, Failure> {
    let mut worst = Exit::Ok;
    let style = Style::stdout();
    for path in &many.blocks {
        let found = read(path, Checks::Never)
            .and_then(|block| block.verify().map_err(|source| OpenError::Block { path: path.clone(), source }));
        let shown = path.display().to_string();
        let harmless = Harmless(&shown);
        print(|out| match (&found, many.json) {
            (Ok(content), false) => {
                let series = chronoxide_cli::human::count(content.series_count);
                writeln!(out, "{harmless}: {}, {series} series", style.good("sound"))
            }
            (Ok(content), true) => {
                writeln!(
                    out,
                    "{}",
                    serde_json::json!({ "block": shown, "sound": true, "series": content.series_count })
                )
            }
            (Err(error), true) => {
                let rule = if let OpenError::Block { source, .. } = error { Some(source.rule().id()) } else { None };
                let json = serde_json::json!({ "block": shown, "sound": false, "rule": rule, "error": Message(error).to_string() });
                writeln!(out, "{json}")
            }
            (Err(_), false) => Ok(()),
        })?;
        if let Err(error) = found {
            if !many.json {
                let prefix = Style::stderr().bad("error:");
                tell(|out| writeln!(out, "chronoxide-inspect: {prefix} {}", Message(&error)));
            }
            worst = worse(worst, error.exit());
        }
    }
    Ok(worst)
}

/// Damage is worse than a version that is not known, and that than a file that cannot be read.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit| [Exit::Ok, Exit::Io, Exit::Unsupported, Exit::Corrupt].iter().position(|&other| other == exit);
    if rank(b) > rank(a) { b } else { a }
}
