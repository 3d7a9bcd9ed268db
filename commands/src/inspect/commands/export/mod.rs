//! The command `export`.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | arguments of the command |
//! | `progress` | progress bar |

pub(crate) mod arguments;
mod progress;

use std::io::{self, IsTerminal};
use std::path::Path;

use chronoxide_arrow::{BlockTable, Column, Scan, TableError};
use chronoxide_inspect::InspectError;
use chronoxide_inspect::export::ExportError;
use chronoxide_publish::{Disk, recover};
use chronoxide_reader::Checks;
use chronoxide_select::{Limits, Pages, Selector};
use chronoxide_text::escape::Escaped;

use self::arguments::ExportArguments;
use self::progress::Bar;
use super::output::{OutputError, folder_of, is_same_file, tell_written, to_file, to_stdout};
use crate::inspect::in_file;
use crate::inspect::opened::open_block;
use crate::mistake::did_you_mean;
use crate::{Exit, Failure, Interruption, Quiet, existing, tell};

pub(crate) fn export(arguments: &ExportArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let interruption = Interruption::watch()?;
    let path = arguments.block.as_path();
    let is_terminal = io::stdout().is_terminal();
    let format = arguments.checked_format(is_terminal)?;
    let file = arguments.file();
    if path.is_dir() {
        let message = format!("{}: is a folder; name one block", path.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    if file.is_some_and(|file| is_same_file(file, path)) {
        return Err(Failure::new(Exit::Usage, format!("{}: is the block itself", path.display())));
    }
    arguments.warn_of_extension(format);
    let existing = file.map(|file| existing(file, arguments.force)).transpose()?;

    // The checksums are right, so that the output has what was written.
    let block = open_block(path, Checks::Eager)?;
    let damaged = |error| in_table(path, error);
    let table = BlockTable::new(block).map_err(damaged)?;
    arguments.matching.tell_wide(quiet);
    let series_ref = series_ref(&table).map_err(damaged)?;
    tell_unknown(arguments, &table, &series_ref, quiet).map_err(in_file(path))?;
    let scan = scan(arguments, &table, &series_ref).map_err(damaged)?;
    let scan = match pages(arguments, &table).map_err(damaged)? {
        Some(pages) => scan.with_pages(pages),
        None => scan,
    };

    let is_bar_wanted = !quiet.is_set() && io::stderr().is_terminal() && !(file.is_none() && is_terminal);
    let series_count = if is_bar_wanted { series_count(arguments, &table).map_err(damaged)? } else { 0 };
    let bar = Bar::new(is_bar_wanted, series_count);
    let mut progress = |series| {
        bar.show(series);
        !interruption.is_set()
    };
    let mut written = 0;
    let write = |out: &mut dyn io::Write| {
        written = chronoxide_inspect::export::export(&scan, format, out, &mut progress)?;
        Ok(())
    };
    let outcome = match (file, existing) {
        (Some(file), Some(existing)) => {
            // Temporary files of killed runs only take space.
            let _ = recover(&Disk, folder_of(file));
            interruption.begin();
            to_file(file, existing, write).map(|bytes| tell_written(file, written, bytes, quiet))
        }
        // There is nothing to remove: a signal ends the process at once.
        _ => to_stdout(write),
    };
    drop(bar);
    match outcome {
        Ok(()) => Ok(Exit::Ok),
        Err(OutputError::Export(ExportError::Cancelled)) => {
            tell(|out| writeln!(out, "chronoxide-inspect: interrupted; nothing was written"));
            Ok(Exit::Interrupted)
        }
        Err(OutputError::Export(ExportError::Table(error))) => Err(in_table(path, error)),
        Err(OutputError::Export(error)) => Err(Failure::new(Exit::Io, error)),
        Err(OutputError::Output(failure)) => Err(failure),
    }
}

/// Returns the column of refs, whose name differs from those of all labels.
fn series_ref(table: &BlockTable) -> Result<Column, TableError> {
    let labels = table.label_names()?;
    Ok(Column::series_ref().beside(labels.iter().map(String::as_str)))
}

/// Returns the columns and the order of the export.
fn scan(arguments: &ExportArguments, table: &BlockTable, series_ref: &Column) -> Result<Scan, TableError> {
    let scan = if arguments.sort { table.scan().in_label_order() } else { table.scan() };
    if arguments.map {
        return Ok(scan.with_columns([Column::series_ref(), Column::labels()]));
    }
    if arguments.columns.is_empty() {
        return Ok(scan);
    }
    let view = table.block().view();
    let meta = view.meta().map_err(|error| table.block().locate(error.into()))?;
    let policy = meta.policy();
    let columns = arguments.columns.iter().map(|name| {
        if name == series_ref.name() { series_ref.clone() } else { Column::label(policy.name(name)).with_name(name) }
    });
    Ok(scan.with_columns(columns))
}

/// Returns the series that match at least one selector, or `None` for all series if there are no selectors.
fn pages(arguments: &ExportArguments, table: &BlockTable) -> Result<Option<Pages>, TableError> {
    let selectors = &arguments.matching.selectors;
    (!selectors.is_empty()).then(|| table.pages(selectors.iter().map(Selector::matchers))).transpose()
}

/// Counts the series of the export: they are found a second time, but not held.
fn series_count(arguments: &ExportArguments, table: &BlockTable) -> Result<u64, TableError> {
    let Some(mut pages) = pages(arguments, table)? else { return Ok(table.series_count().into()) };
    Ok(table.indexed().search(Limits::default(), |searcher| {
        let mut count = 0;
        while let Some(page) = pages.next_page(searcher)? {
            count += u64::from(page.count());
        }
        Ok(count)
    })?)
}

/// Tells which labels of selectors and columns the block does not have.
fn tell_unknown(
    arguments: &ExportArguments,
    table: &BlockTable,
    series_ref: &Column,
    quiet: Quiet,
) -> Result<(), InspectError> {
    if quiet.is_set() {
        return Ok(());
    }
    let (view, policy) = (table.block().view(), table.block().view().meta()?.policy());
    let has_label = |name: &str| view.key(policy.name(name).as_bytes()).map_or(true, |key| key.is_some());
    let mut names = arguments.matching.narrow_names();
    names.extend(arguments.columns.iter().map(String::as_str).filter(|name| *name != series_ref.name()));
    for name in names.into_iter().filter(|name| !has_label(name)) {
        let known = table.block().view();
        let near = did_you_mean(name, known.label_names().filter_map(|name| str::from_utf8(name.ok()?).ok()));
        tell(|out| writeln!(out, "chronoxide-inspect: note: the block has no label {}{near}", Escaped(name)));
    }
    Ok(())
}

/// Names the file in an error of its table. A block of standard input has no path of its own.
fn in_table(path: &Path, error: TableError) -> Failure {
    match error {
        TableError::Select(error) => in_file(path)(error.source.into()),
        // The block has more text of one label than an Arrow array can hold.
        other => Failure::new(Exit::Unsupported, format!("{}: {other}", path.display())),
    }
}
