//! The command `report`.

pub(crate) mod arguments;
mod page;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use chronoxide_inspect::export::ExportError;
use chronoxide_inspect::report::{self, Options, Report};
use chronoxide_publish::{Disk, recover};

use self::arguments::ReportArguments;
use self::page::Page;
use super::counting::Counting;
use super::inputs::Inputs;
use super::output::{OutputError, folder_of, is_same_file, tell_written, to_file, to_stdout};
use crate::inspect::worse;
use crate::memory::default_limit;
use crate::{Exit, Failure, Quiet, existing, json_line, warn_of_extension};

pub(crate) fn report(arguments: &ReportArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let is_terminal = io::stdout().is_terminal();
    arguments.check(is_terminal)?;
    let file = arguments.file();
    if let Some(file) = file {
        warn_of_extension(
            "chronoxide-inspect",
            file,
            if arguments.json { "JSON" } else { "a page" },
            if arguments.json { &["json"] } else { &["html", "htm"] },
        );
    }
    let existing = file.map(|file| existing(file, arguments.force)).transpose()?;
    Inputs::check(arguments.inputs())?;
    let mut inputs: Vec<Inputs> = arguments.inputs().map(|path| Inputs::open_packed([path], quiet)).collect();
    Inputs::unpack(&mut inputs, arguments.memory_limit)?;
    let inputs: Vec<(&Path, Inputs)> = arguments.inputs().zip(inputs).collect();
    if let Some(file) = file
        && let Some(input) = inputs.iter().flat_map(|(_, inputs)| inputs.paths()).find(|path| is_same_file(file, path))
    {
        let message = format!("{}: is an input, {}", file.display(), input.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    arguments.matching.tell_wide(quiet);
    let (queries, unread) = arguments.queries.read(quiet)?;
    let exit = inputs.iter().fold(Exit::Ok, |exit, (_, inputs)| worse(exit, inputs.exit()));
    let exit = worse(exit, unread);
    let reported: Vec<_> = inputs.iter().map(|(path, inputs)| inputs.reported(path.display().to_string())).collect();
    if let Some(empty) = reported.iter().find(|input| input.blocks.is_empty()) {
        // The errors of its blocks are reported already.
        return if exit == Exit::Ok { Err(no_block(&empty.name)) } else { Ok(exit) };
    }
    let options = Options {
        selectors: &arguments.matching.selectors,
        first: arguments.first.into(),
        memory_limit: Some(arguments.memory_limit.unwrap_or_else(default_limit)),
        queries: queries.as_ref(),
    };
    let counting = Counting::show(quiet);
    let report = match &reported[..] {
        [before, after] => report::compare(before, after, &options)?,
        _ => report::report(&reported[0], &options)?,
    };
    drop(counting);
    write(&report, arguments.json, file.zip(existing), quiet)?;
    Ok(exit)
}

/// Writes JSON or a page to a file or to standard output.
fn write(
    report: &Report,
    is_json: bool,
    file: Option<(&Path, chronoxide_publish::Existing)>,
    quiet: Quiet,
) -> Result<(), Failure> {
    let write = |out: &mut dyn Write| match is_json {
        true => Ok(json_line(out, report)?),
        false => Ok(write!(out, "{}", Page(report))?),
    };
    let written = match file {
        Some((file, existing)) => {
            // Temporary files of killed runs only take space.
            let _ = recover(&Disk, folder_of(file));
            let series = report.totals.series;
            to_file(file, existing, write).map(|bytes| tell_written(file, series, bytes, quiet))
        }
        None => to_stdout(write),
    };
    match written {
        Ok(()) => Ok(()),
        Err(OutputError::Export(ExportError::Write(error))) => Err(error.into()),
        Err(OutputError::Export(error)) => Err(Failure::new(Exit::Io, error)),
        Err(OutputError::Output(failure)) => Err(failure),
    }
}

fn no_block(name: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{name}: nothing to report"))
}
