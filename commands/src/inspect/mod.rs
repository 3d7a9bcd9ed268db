//! `chronoxide-inspect`: shows the content of a block or a remap.

mod arguments;
mod choices;
mod commands;
mod opened;
mod remaps;
mod remote;
mod screen;
mod verify;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Command, MetricsArguments, One, PlanArguments, Show, Subject, TablesArguments};
use chronoxide_dump::columns::write_columns;
use chronoxide_dump::metrics::write_metrics;
use chronoxide_dump::plan::{Plan, plan_entries};
use chronoxide_dump::summary::Summary;
use chronoxide_dump::tables::{Selection, table_entries};
use chronoxide_dump::{dump, dump_entries, section_name};
use chronoxide_format::view::BlockView;
use chronoxide_inspect::InspectError;
use chronoxide_reader::{Checks, OpenError};
use chronoxide_text::escape::Escaped;
use clap::CommandFactory;
use opened::{Opened, open_block};

use crate::command::missing;
use crate::mistake::did_you_mean;
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Quiet, json_line, print, print_styled, run, tell};

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    run(inspect)
}

fn inspect(arguments: Arguments) -> Result<Exit, Failure> {
    arguments.check()?;
    let quiet = arguments.quiet;
    match (arguments.command, arguments.file) {
        (Some(Command::Summary(subject)), _) => summary(&subject, quiet),
        (Some(Command::Dump(show)), _) => dump_file(&show),
        (Some(Command::Follow(follow)), _) => remaps::follow(&follow),
        (Some(Command::Sections(one)), _) => sections(&one),
        (Some(Command::Series(series)), _) => commands::series(&series, quiet),
        (Some(Command::Labels(labels)), _) => commands::labels(&labels, quiet),
        (Some(Command::Values(values)), _) => commands::values(&values, quiet),
        (Some(Command::Cardinality(cardinality)), _) => commands::cardinality(&cardinality, quiet),
        (Some(Command::Shares(shares)), _) => commands::shares(&shares, quiet),
        (Some(Command::Top(top)), _) => commands::top(&top, quiet),
        (Some(Command::Report(report)), _) => commands::report(&report, quiet),
        (Some(Command::Usage(usage)), _) => commands::usage(&usage, quiet),
        (Some(Command::Diff(diff)), _) => commands::diff(&diff, quiet),
        (Some(Command::Export(export)), _) => commands::export(&export, quiet),
        (Some(Command::Columns(one)), _) => show(&one.block, |view, out| Ok(write_columns(view, one.json, out)?)),
        (Some(Command::Metrics(metrics)), _) => print_metrics(&metrics, quiet),
        (Some(Command::Tables(tables)), _) => print_tables(&tables),
        (Some(Command::Plan(plan)), _) => print_plan(&plan),
        (Some(Command::Verify(many)), _) => verify::verify(&many, quiet),
        (None, Some(subject)) => summary(&Subject { subject, json: arguments.json }, quiet),
        (None, None) => Err(Failure::new(Exit::Usage, missing(&Arguments::command()))),
    }
}

/// Names the file in an error about its content.
fn in_file(path: &Path) -> impl Fn(InspectError) -> Failure + '_ {
    move |error| match error {
        InspectError::Block(source) => OpenError::Block { path: path.to_owned(), source }.into(),
        InspectError::Remap(source) => OpenError::Remap { path: path.to_owned(), source }.into(),
        InspectError::Select(source) => {
            let message = format!("{}: {source}", path.display());
            Failure::new(InspectError::Select(source).exit(), message)
        }
        other => other.into(),
    }
}

/// Writes output that needs an open block.
fn show(
    path: &Path,
    write: impl FnOnce(&BlockView<'_>, &mut dyn Write) -> Result<(), InspectError>,
) -> Result<Exit, Failure> {
    // The checksums are right, so that the output shows what was written.
    let block = open_block(path, Checks::Eager)?;
    write_out(path, |out| write(&block.view(), out))
}

/// Writes the content of a file to standard output.
fn write_out(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), InspectError>) -> Result<Exit, Failure> {
    let mut result = Ok(());
    print(|out| into_io(write(out), &mut result))?;
    result.map(|()| Exit::Ok).map_err(in_file(path))
}

/// Writes the content of a file with colours to standard output.
fn write_styled(
    path: &Path,
    write: impl FnOnce(&mut dyn Write, Style) -> Result<(), InspectError>,
) -> Result<Exit, Failure> {
    let mut result = Ok(());
    print_styled(|out, style| into_io(write(out, style), &mut result))?;
    result.map(|()| Exit::Ok).map_err(in_file(path))
}

/// Returns errors of the output, and keeps others in `result`.
fn into_io(outcome: Result<(), InspectError>, result: &mut Result<(), InspectError>) -> io::Result<()> {
    match outcome {
        Err(InspectError::Write(error)) => Err(error),
        outcome => {
            *result = outcome;
            Ok(())
        }
    }
}

fn summary(arguments: &Subject, quiet: Quiet) -> Result<Exit, Failure> {
    let path = &arguments.subject;
    if crate::location_url(path).is_some() || path.is_dir() {
        return commands::summarize_folder(path, arguments.json, quiet);
    }
    let show = |summary: &Summary| {
        write_styled(path, |out, style| match arguments.json {
            true => Ok(json_line(out, summary)?),
            false => Ok(screen::summary::write(summary, style, out)?),
        })
    };
    if let Some(url) = crate::url(path) {
        return show(&remote::summary(url, Summary::from_view)?);
    }
    match Opened::open(path, Checks::Eager)? {
        Opened::Block(block) => {
            show(&Summary::from_view(&block.view()).map_err(InspectError::from).map_err(in_file(path))?)
        }
        Opened::Remap(remap) => remaps::summary(path, &remap, arguments.json),
    }
}

/// 0 means all.
fn limit(first: u32) -> Option<u32> {
    (first > 0).then_some(first)
}

fn dump_file(arguments: &Show) -> Result<Exit, Failure> {
    let (path, first) = (&arguments.either.file, limit(arguments.first));
    match Opened::open(path, Checks::Eager)? {
        Opened::Block(block) => write_out(path, |out| {
            let view = block.view();
            if !arguments.either.json {
                return Ok(dump(&view, first, out)?);
            }
            Ok(dump_entries(&view, first, &mut |entry| Ok(json_line(out, &entry)?))?)
        }),
        Opened::Remap(remap) => remaps::dump_remap(path, &remap, first, arguments.either.json),
    }
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
        // Not in the directory, and the rest of the file.
        let (offset, length) = (view.frame().grid().end, view.checks_len());
        if one.json {
            json_line(out, &serde_json::json!({ "name": "checks", "offset": offset, "length": length }))?;
        } else {
            writeln!(out, "{:12} {:>10} {offset:>14} {length:>14}", "checks", "-")?;
        }
        Ok(())
    })
}

fn print_metrics(arguments: &MetricsArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref();
    show(&arguments.one.block, |view, out| {
        if let Some(name) = name
            && !quiet.is_set()
            && view.metric_metadata()?.find(name)?.next().is_none()
        {
            tell_no_metric(view, name)?;
        }
        Ok(write_metrics(view, name, arguments.one.json, out)?)
    })
}

fn tell_no_metric(view: &BlockView<'_>, name: &str) -> Result<(), InspectError> {
    let metadata = view.metric_metadata()?;
    let known: Vec<&str> = metadata.iter().map(|row| Ok(row?.name)).collect::<Result<_, chronoxide_format::Error>>()?;
    let near = did_you_mean(name, known);
    tell(|out| writeln!(out, "chronoxide-inspect: note: no metric has the name {}{near}", Escaped(name)));
    Ok(())
}

fn print_tables(arguments: &TablesArguments) -> Result<Exit, Failure> {
    let terminal = std::io::stdout().is_terminal();
    let selection = Selection { kind: arguments.kind.map(Into::into), first: limit(arguments.first) };
    show(&arguments.one.block, |view, out| {
        Ok(table_entries(view, selection, &mut |entry| match arguments.one.json {
            true => Ok(json_line(out, &entry)?),
            false => Ok(screen::tables::write(&entry, screen::most(terminal), out)?),
        })?)
    })
}

fn print_plan(arguments: &PlanArguments) -> Result<Exit, Failure> {
    let terminal = std::io::stdout().is_terminal();
    let first = limit(arguments.first);
    let path = &arguments.one.block;
    let block = open_block(path, Checks::Eager)?;
    let view = &block.view();
    write_styled(path, |out, style| {
        let plan = Plan::from_view(view)?;
        if arguments.one.json {
            return Ok(plan_entries(view, &plan, first, &mut |entry| Ok(json_line(out, &entry)?))?);
        }
        let mut screen = screen::plan::Screen::new(style, screen::most(terminal), out);
        Ok(plan_entries(view, &plan, first, &mut |entry| Ok(screen.write(&entry)?))?)
    })
}

/// Returns the worse of two exit codes: damage, then an unsupported version, then a file that cannot be read, then a
/// URL that cannot be opened.
fn worse(a: Exit, b: Exit) -> Exit {
    let ranks = [Exit::Ok, Exit::Findings, Exit::Partial, Exit::Usage, Exit::Io, Exit::Unsupported, Exit::Corrupt];
    let rank = |exit| ranks.iter().position(|&other| other == exit);
    if rank(b) > rank(a) { b } else { a }
}
