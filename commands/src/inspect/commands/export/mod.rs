//! The command `export`.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | arguments of the command |
//! | `columns` | columns of the output |
//! | `progress` | progress bar |
//! | `tsdb_index` | the index of a block of Prometheus's TSDB |

pub(crate) mod arguments;
mod columns;
mod progress;
mod tsdb_index;

use std::io::{self, IsTerminal};
use std::path::Path;

use chronoxide_arrow::{BlockTable, Column, TableError};
use chronoxide_format::view::TimeRange;
use chronoxide_inspect::InspectError;
use chronoxide_inspect::export::{ExportError, Format};
use chronoxide_publish::{Disk, recover};
use chronoxide_reader::Checks;
use chronoxide_select::{Limits, Pages, Selector};
use chronoxide_text::escape::Escaped;

use self::arguments::ExportArguments;
use self::columns::{Columns, series_column};
use self::progress::Bar;
use super::arguments::tell_untimed;
use super::output::{OutputError, folder_of, is_same_file, tell_written, to_file, to_stdout};
use crate::inspect::choices::ExportFormat;
use crate::inspect::in_file;
use crate::inspect::opened::open_block;
use crate::mistake::did_you_mean;
use crate::{Exit, Failure, Interruption, Quiet, existing, tell};

pub(crate) fn export(arguments: &ExportArguments, quiet: Quiet) -> Result<Exit, Failure> {
    if arguments.format == Some(ExportFormat::TsdbIndex) {
        return tsdb_index::export(arguments, quiet);
    }
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
    let time = arguments.asked.time()?.map(|(start, end)| TimeRange { start, end });
    arguments.warn_of_extension(format);
    let existing = file.map(|file| existing(file, arguments.force)).transpose()?;

    // The checksums are right, so that the output has what was written.
    let block = open_block(path, Checks::Eager)?;
    let damaged = |error| in_table(path, error);
    let table = BlockTable::new(block).map_err(damaged)?;
    arguments.asked.matching.tell_wide(quiet);
    let columns = Columns::new(arguments, &table).map_err(damaged)?;
    if !quiet.is_set() {
        tell_unknown(arguments, &table, &columns, format).map_err(in_file(path))?;
    }
    let scan = table.scan().with_columns(columns.chosen(arguments, format));
    let scan = if arguments.sort { scan.in_label_order() } else { scan };
    let pages = pages(arguments, &table, time).map_err(damaged)?;
    let scan = match &pages {
        Some(pages) => scan.with_pages(pages.clone(), time),
        None => scan,
    };
    if time.is_some() && !quiet.is_set() {
        tell_untimed(untimed_count(&table, time).map_err(damaged)?);
    }

    let is_bar_wanted = !quiet.is_set() && io::stderr().is_terminal() && !(file.is_none() && is_terminal);
    let series_count = if is_bar_wanted { series_count(&table, pages, time).map_err(damaged)? } else { 0 };
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

/// Returns the series that match at least one selector, or `None` for all series if neither selectors nor times are
/// asked for.
fn pages(
    arguments: &ExportArguments,
    table: &BlockTable,
    time: Option<TimeRange>,
) -> Result<Option<Pages>, TableError> {
    let selectors = &arguments.asked.matching.selectors;
    if let Some(time) = time
        && !meets(table, time)?
    {
        return table.pages([]).map(Some);
    }
    match &selectors[..] {
        [] => time.map(|_| table.pages([&[][..]])).transpose(),
        selectors => table.pages(selectors.iter().map(Selector::matchers)).map(Some),
    }
}

/// Returns true if a block may have data in a time range.
fn meets(table: &BlockTable, time: TimeRange) -> Result<bool, TableError> {
    let meta = table.block().view().meta().map_err(|error| table.block().locate(error.into()))?;
    Ok(meta.time().is_none_or(|data| data.start < time.end && time.start < data.end))
}

/// Returns the number of blocks, 0 or 1, whose series may be there although they had no data in a time range.
fn untimed_count(table: &BlockTable, time: Option<TimeRange>) -> Result<u64, TableError> {
    let Some(time) = time else { return Ok(0) };
    let is_untimed = table.indexed().search(Limits::default(), |searcher| searcher.within(time).is_untimed())?;
    Ok((is_untimed && meets(table, time)?).into())
}

/// Counts the series of the export: they are found a second time, but not held.
fn series_count(table: &BlockTable, pages: Option<Pages>, time: Option<TimeRange>) -> Result<u64, TableError> {
    let Some(mut pages) = pages else { return Ok(table.series_count().into()) };
    Ok(table.indexed().search(Limits::default(), |searcher| {
        let searcher = time.map_or(*searcher, |time| searcher.within(time));
        let mut count = 0;
        while let Some(page) = pages.next_page(&searcher)? {
            count += u64::from(page.count());
        }
        Ok(count)
    })?)
}

/// Tells which labels of selectors and columns, and which series columns, the block does not have.
fn tell_unknown(
    arguments: &ExportArguments,
    table: &BlockTable,
    columns: &Columns,
    format: Format,
) -> Result<(), InspectError> {
    let (view, policy) = (table.block().view(), table.block().view().meta()?.policy());
    let has_label = |name: &str| view.key(policy.name(name).as_bytes()).map_or(true, |key| key.is_some());
    let mut names = arguments.asked.matching.narrow_names();
    names.extend(arguments.columns.iter().map(String::as_str).filter(|name| !columns.has_own(name)));
    for name in names.into_iter().filter(|name| !has_label(name)) {
        let known = view.label_names().filter_map(|name| str::from_utf8(name.ok()?).ok());
        let near = did_you_mean(name, known.chain(columns.values().map(Column::name)));
        tell(|out| writeln!(out, "chronoxide-inspect: note: the block has no label {}{near}", Escaped(name)));
    }
    let names: Vec<&str> = columns.values().map(series_column).collect();
    for pattern in arguments.kept_columns(format).iter().flat_map(|kept| kept.unmatched(&names)) {
        tell(|out| writeln!(out, "chronoxide-inspect: note: the block has no such series column: {pattern}"));
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
