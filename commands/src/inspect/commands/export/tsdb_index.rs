//! The index of a block of Prometheus's TSDB, from a block with chunk lists.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use chronoxide::{Blocks, Column, OpenOptions, Series, Value};
use chronoxide_ingest::prometheus::chunk_lists::{
    CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES, CHUNKS, ChunkList, ChunkListError, ChunkPlace, DELETIONS,
    decode_deletions,
};
use chronoxide_ingest::prometheus::tsdb::{IndexWriter, TOMBSTONES, is_block_id, tombstones_file};
use chronoxide_inspect::export::ExportError;
use chronoxide_publish::{Disk, recover};
use chronoxide_reader::Checks;
use chronoxide_text::escape::Escaped;

use super::arguments::ExportArguments;
use crate::inspect::commands::output::{OutputError, folder_of, is_same_file, tell_written, to_file};
use crate::{Exit, Failure, Interruption, Quiet, existing};

/// Series between two looks whether the run is interrupted.
const SERIES_PER_CHECK: u64 = 1 << 12;

/// Writes the index, and beside it the deletions if there are any: their references of series are those of this index.
pub(super) fn export(arguments: &ExportArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let interruption = Interruption::watch()?;
    let usage = |message: String| Err(Failure::new(Exit::Usage, message));
    let choices = [
        !arguments.asked.matching.selectors.is_empty(),
        arguments.asked.time()?.is_some(),
        !arguments.columns.is_empty(),
        !arguments.keep_columns.is_empty(),
        !arguments.drop_columns.is_empty(),
        arguments.map,
        arguments.csv_safe,
        arguments.sort,
    ];
    if choices.contains(&true) {
        return usage("tsdb-index has all series of a block of Prometheus: leave out the other options".to_owned());
    }
    let Some(file) = arguments.file().filter(|file| !crate::is_folder(file)) else {
        return usage(
            "tsdb-index needs a file, and not a folder: name it with -o, such as -o data/ID/index".to_owned(),
        );
    };
    let path = arguments.block.as_path();
    if path.is_dir() || path == Path::new("-") {
        return usage(format!("{}: tsdb-index needs the file of one block", path.display()));
    }
    if is_same_file(file, path) {
        return usage(format!("{}: is the block itself", path.display()));
    }
    let existing_index = existing(file, arguments.force)?;
    let blocks = OpenOptions::new().checks(Checks::Eager).open(path)?;
    let id = block_id(&blocks, arguments.tsdb_block.as_deref(), file)?;
    let lists = Lists::open(&blocks, &id)?;
    let tombstones = folder_of(file).join(TOMBSTONES);
    // Tombstones that are there have references of another index. Without deletions, Prometheus writes an empty file.
    let has_others = fs::read(&tombstones).is_ok_and(|content| content != tombstones_file(&[]));
    let existing_tombstones = match lists.deletions.is_some() || has_others {
        true => Some(existing(&tombstones, arguments.force)?),
        false => None,
    };
    // Temporary files of killed runs only take space.
    let _ = recover(&Disk, folder_of(file));
    interruption.begin();
    let (mut failure, mut written) = (None, Written::default());
    let outcome = to_file(file, existing_index, |out| match write(&blocks, &lists, out, &interruption) {
        Ok(done) => {
            written = done;
            // Until the new ones are there, none are better than those of another index, which would delete other
            // samples.
            if has_others {
                fs::remove_file(&tombstones)?;
                crate::tell(|out| {
                    let place = tombstones.display();
                    writeln!(
                        out,
                        "chronoxide-inspect: warning: {place}: replaced: samples that were deleted there, and not when \
                         the block was made, come back"
                    )
                });
            }
            Ok(())
        }
        Err(WriteError::Output(error)) => Err(ExportError::Write(error)),
        Err(other) => {
            failure = Some(other);
            Err(ExportError::Cancelled)
        }
    });
    match (outcome, failure) {
        (Ok(bytes), _) => tell_written(file, written.series, bytes, quiet),
        (Err(OutputError::Output(failure)), _) | (_, Some(WriteError::Block(failure))) => return Err(failure),
        (Err(OutputError::Export(_)), _) => {
            crate::tell(|out| writeln!(out, "chronoxide-inspect: interrupted; nothing was written"));
            return Ok(Exit::Interrupted);
        }
    }
    if let Some(existing) = existing_tombstones {
        let content = tombstones_file(&written.deleted);
        let outcome = to_file(&tombstones, existing, |out| Ok(out.write_all(&content)?));
        if let Err(OutputError::Output(failure)) = outcome {
            return Err(failure);
        }
    }
    Ok(Exit::Ok)
}

/// Returns the id of the block of Prometheus whose index is meant: the one that was named, that of the folder of the
/// output, or the only one.
fn block_id(blocks: &Blocks, named: Option<&str>, file: &Path) -> Result<String, Failure> {
    let columns = blocks.columns()?;
    let ids: Vec<&str> = columns.iter().filter_map(|column| column.name.strip_prefix(CHUNKS)).collect();
    let folder = folder_of(file).canonicalize().unwrap_or_else(|_| folder_of(file).to_owned());
    let folder = folder.file_name().and_then(|name| name.to_str());
    let wanted = named.or(folder.filter(|name| is_block_id(name)));
    let found = match (wanted, &ids[..]) {
        (_, []) => None,
        (Some(wanted), _) => ids.iter().find(|id| **id == wanted),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let message = match (found, &ids[..]) {
        (Some(id), _) => return Ok((*id).to_owned()),
        (None, []) => "no chunk lists, which chronoxide-ingest --chunks writes".to_owned(),
        (None, _) => {
            let wanted = wanted.map_or_else(String::new, |wanted| format!("no chunk lists of {}; ", Escaped(wanted)));
            format!("{wanted}name one of these with --tsdb-block: {}", Escaped(&ids.join(", ")))
        }
    };
    Err(Failure::new(Exit::Usage, message))
}

/// Columns of the chunk lists of a block of Prometheus.
struct Lists<'b> {
    chunks: Column<'b>,
    distances: Column<'b>,
    start: Column<'b>,
    times: Column<'b>,
    deletions: Option<Column<'b>>,
}

impl<'b> Lists<'b> {
    fn open(blocks: &'b Blocks, id: &str) -> Result<Self, Failure> {
        let column = |prefix: &str| {
            let name = format!("{prefix}{id}");
            let missing = || Failure::new(Exit::Corrupt, format!("the column {} is missing", Escaped(&name)));
            blocks.column(&name)?.ok_or_else(missing)
        };
        Ok(Self {
            chunks: column(CHUNKS)?,
            distances: column(CHUNK_DISTANCES)?,
            start: column(CHUNK_START)?,
            times: column(CHUNK_TIMES)?,
            deletions: blocks.column(&format!("{DELETIONS}{id}"))?,
        })
    }

    /// Reads the chunks of a series. Returns false if it has none.
    fn read(&self, series: &Series<'_, 'b>, chunks: &mut Vec<ChunkPlace>) -> Result<bool, WriteError> {
        chunks.clear();
        let values =
            (self.chunks.of(series)?, self.distances.of(series)?, self.start.of(series)?, self.times.of(series)?);
        let read = match values {
            (
                Some(Value::U64(reference)),
                Some(Value::Bytes(distances)),
                Some(Value::I64(start)),
                Some(Value::Bytes(times)),
            ) => ChunkList::decode((reference, distances), (start, times), chunks).map(|()| true),
            (None, None, None, None) => Ok(false),
            _ => Err(ChunkListError::Times),
        };
        read.map_err(|error| damaged(series, error))
    }
}

/// Outcome of a written index.
#[derive(Default)]
struct Written {
    series: u64,
    /// References of series, and first and last deleted time.
    deleted: Vec<(u32, i64, i64)>,
}

/// Reason why an index was not written.
enum WriteError {
    Output(std::io::Error),
    Block(Failure),
    Interrupted,
}

impl From<chronoxide::Error> for WriteError {
    fn from(error: chronoxide::Error) -> Self {
        Self::Block(error.into())
    }
}

/// Returns the error of the values of a series.
fn damaged(series: &Series<'_, '_>, error: ChunkListError) -> WriteError {
    let labels: Vec<String> =
        series.labels().iter().map(|label| format!("{}={}", Escaped(label.name), Escaped(label.value))).collect();
    WriteError::Block(Failure::new(Exit::Corrupt, format!("series {{{}}}: {error}", labels.join(","))))
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes the index of the series with chunks in a block of Prometheus.
fn write(
    blocks: &Blocks,
    lists: &Lists<'_>,
    out: &mut dyn Write,
    interruption: &Interruption,
) -> Result<Written, WriteError> {
    let all = blocks.query("{}")?;
    // Prometheus writes the name and the value of the postings of all series, too.
    let mut symbols = BTreeSet::from([""]);
    for name in all.label_names()? {
        symbols.insert(name);
        symbols.extend(all.label_values(name)?);
    }
    let mut index = IndexWriter::new(out, symbols)?;
    let (mut written, mut labels, mut chunks) = (Written::default(), Vec::new(), Vec::new());
    let mut rows = all.sorted_series()?;
    while let Some(series) = rows.next()? {
        if !lists.read(&series, &mut chunks)? {
            continue;
        }
        labels.clear();
        labels.extend(series.labels().iter().map(|label| (label.name, label.value)));
        let reference = index.series(&labels, &chunks)?;
        if let Some(Value::Bytes(deleted)) =
            lists.deletions.as_ref().map(|column| column.of(&series)).transpose()?.flatten()
        {
            let deleted = decode_deletions(deleted).map_err(|error| damaged(&series, error))?.into_iter();
            written.deleted.extend(deleted.map(|(first, last)| (reference, first, last)));
        }
        written.series += 1;
        if written.series.is_multiple_of(SERIES_PER_CHECK) && interruption.is_set() {
            return Err(WriteError::Interrupted);
        }
    }
    index.finish()?;
    Ok(written)
}
