//! The command `chronoxide-ingest`: captures to blocks.
//!
//! | module | contents |
//! | --- | --- |
//! | `arguments` | arguments and help |
//! | `archive` | tar archives, unpacked |
//! | `bucket` | blocks of Prometheus's TSDB in object stores |
//! | `external_labels` | check of the external labels of blocks before a run |
//! | `inputs` | files, folders, patterns, standard input |
//! | `memory` | shares of the memory limit |
//! | `output` | published blocks |
//! | `path_labels` | labels from paths of inputs |
//! | `pieces` | blocks that are merged into one file |
//! | `progress` | progress on a terminal |
//! | `report` | report of a run as Markdown |
//! | `summary` | summary of a run as text and as JSON |

mod archive;
mod arguments;
mod bucket;
mod external_labels;
mod inputs;
mod memory;
mod output;
mod path_labels;
mod pieces;
mod progress;
mod report;
mod summary;

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use archive::Loss;
use arguments::{Arguments, FormatChoice};
use chronoxide_compactor::CompactOptions;
use chronoxide_ingest::columns::{ArrowFileError, ParquetError, silence_guarded_panics};
use chronoxide_ingest::prometheus::tsdb::TsdbBlockError;
use chronoxide_ingest::prometheus::wal::{WalError, WalFileError, is_wal};
use chronoxide_ingest::publish::publish_text;
use chronoxide_ingest::{
    AssembleError, AssembleOptions, BrokenRecord, DecodeError, Ingest, IngestError, IngestOptions,
};
use chronoxide_labels::SealError;
use chronoxide_locations::LocationError;
use chronoxide_text::human;
use inputs::{Input, Inputs};
use memory::Memory;
use output::{Interrupted, Output, WrittenBlocks};
use path_labels::PathLabels;
use pieces::{LEAST_LIMIT, PieceError};
use progress::Bar;
use report::Statistics;
use summary::Summary;

use crate::{
    Exit, Failure, HasExit, Interruption, existing, is_folder_or_location, run, tell, warn_of_block_extension,
};

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    silence_guarded_panics();
    run(ingest)
}

fn ingest(arguments: Arguments) -> Result<Exit, Failure> {
    let memory = memory(&arguments)?;
    // A file whose series do not fit into memory is merged from pieces.
    let merge_options =
        CompactOptions { layout: arguments.layout.into(), archive: arguments.archive, ..CompactOptions::default() };
    let Memory { zstd_window, whole: memory_limit, .. } = memory;
    let options = options(&arguments, memory)?;
    let interruption = Interruption::watch()?;
    let mut found = inputs::expand(&arguments.inputs, &interruption)?;
    if arguments.chunks {
        found.keep_tsdb_blocks(arguments.quiet)?;
    }
    let inputs = &found.all;
    refuse_same_files(&arguments, inputs)?;
    let labels = path_labels::input_labels(&arguments, &found)?;
    path_labels::tell_folders(&arguments, &found);
    if !options.assemble.separate_input_windows {
        let labels = &options.assemble.external_labels;
        let refused = external_labels::refuse_different(inputs, labels, arguments.ignore_deletions);
        refused.map_err(|failure| found.with_archive_names_in(failure))?;
    }
    warn_of_block_extension("chronoxide-ingest", &arguments.output);
    let statistics = arguments.report.is_some().then(Statistics::default);
    let report_exists = arguments.report.as_deref().map(|path| existing(path, arguments.force)).transpose()?;
    let output = Output::new(&arguments.output, arguments.force, memory_limit, statistics, interruption.clone())?;

    let mut bar = Bar::new(std::io::stderr().is_terminal() && !arguments.json && !arguments.quiet.is_set());
    let signal = interruption.clone();
    let written = output.written.clone();
    let mut ingest = Ingest::new(options, output).on_progress(move |progress| {
        signal.begin();
        bar.show(progress);
        if signal.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if arguments.report.is_some() {
        ingest = ingest.timed();
    }
    for (place, what) in &found.unread {
        ingest.skip_unknown_file(place, what);
    }
    for (path, source) in found.broken_links.drain(..) {
        ingest.skip_failed_input(&IngestError::Open { input: path.display().to_string(), source });
    }
    let read = read_archives(&mut ingest, &found, arguments.skip_bad_records);
    let read = read.and_then(|()| read_inputs(&mut ingest, inputs.iter().zip(&labels), arguments.format, zstd_window));
    let timings = ingest.timings().cloned();
    let counted = ingest.report().clone();
    let done = match read {
        // Ctrl-C is how a stream ends: with several blocks, the data so far is kept.
        Err(IngestError::Interrupted) if is_folder_or_location(&arguments.output) => ingest.finish(),
        read => read.and_then(|()| ingest.finish()),
    };
    let is_refused = matches!(&done, Err(error) if is_refused(error));
    let done = done.map_err(|error| found.with_archive_names_in(failure(error))).and_then(|(report, mut output)| {
        output.finish(&merge_options)?;
        Ok((report, output))
    });
    let (report, output) = match done {
        Ok(done) => done,
        Err(_) if interruption.is_set() && !is_refused => {
            tell_interrupted(written.lock().map_or(0, |written| written.len()), &arguments);
            if arguments.json {
                let written = written.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default();
                Summary::new(&arguments, written, counted).interrupted().print_json()?;
            }
            return Ok(Exit::Interrupted);
        }
        Err(error) => {
            tell_written(&written, &arguments);
            return Err(error);
        }
    };
    let written = output.take_written();
    let mut report = report;
    if !found.archives.is_empty() {
        report.map_warnings(|text| found.with_archive_names(text));
    }

    if let (Some(path), Some(existing), Some(statistics), Some(timings)) =
        (&arguments.report, report_exists, &output.statistics, timings)
    {
        let mut text = Vec::new();
        report::write(&mut text, &arguments, &report, statistics, &timings, &written)?;
        publish_text(path, existing, &text)?;
    }
    let exit = match () {
        () if interruption.is_set() => Exit::Interrupted,
        () if report.is_partial(arguments.allow_truncated) => Exit::Partial,
        () => Exit::Ok,
    };
    let mut summary = Summary::new(&arguments, written, report);
    if exit == Exit::Interrupted {
        tell_interrupted(summary.block_count(), &arguments);
        summary = summary.interrupted();
    }
    if arguments.json {
        summary.print_json()?;
    } else if !arguments.quiet.is_set() {
        summary.tell();
    }
    summary.warn();
    Ok(exit)
}

/// Reads the inputs. One input of a folder that fails does not end the run, but at least one in each folder must be
/// readable.
fn read_inputs<'i>(
    ingest: &mut Ingest<Output>,
    inputs: impl Iterator<Item = (&'i Input, &'i PathLabels)> + Clone,
    format: FormatChoice,
    zstd_window: usize,
) -> Result<(), IngestError> {
    let (mut read_folders, mut failures) = (HashSet::new(), HashMap::new());
    for (input, labels) in inputs.clone() {
        let Input { path, folder, .. } = input;
        ingest.set_input_labels(labels)?;
        match (read_input(ingest, input, format, zstd_window), folder) {
            (Ok(()), folder) => read_folders.extend(folder),
            (Err(IngestError::UnknownFormat { found, .. }), Some(_)) => ingest.skip_unknown_file(path, found),
            (Err(error), Some(folder)) if error.is_of_input() => {
                ingest.skip_failed_input(&error);
                failures.entry(folder).or_insert(error);
            }
            (Err(error), _) => return Err(error),
        }
    }
    match inputs.filter_map(|(input, _)| input.folder.as_ref()).find(|folder| !read_folders.contains(folder)) {
        Some(folder) => Err(failures.remove(folder).unwrap_or_else(|| IngestError::UnknownFormat {
            input: folder.display().to_string(),
            found: "no file in this folder has a recognized format",
        })),
        None => Ok(()),
    }
}

/// Reads one input, which may have been found in a folder.
fn read_input(
    ingest: &mut Ingest<Output>,
    input: &Input,
    format: FormatChoice,
    zstd_window: usize,
) -> Result<(), IngestError> {
    let path = &input.path;
    let is_folder =
        format == FormatChoice::TsdbBlock || format == FormatChoice::Auto && (path.is_dir() || is_wal(path));
    match &input.bucket_block {
        Some(block) => block.read(ingest, &path.display().to_string()),
        None if is_folder && is_wal(path) => ingest.read_wal(path),
        None if is_folder => ingest.read_tsdb_block(path),
        None => {
            let source = ingest.open(path, zstd_window)?;
            if input.folder.is_some() { ingest.read_found(source) } else { ingest.read(source) }
        }
    }
}

/// Counts members of archives that are missing or skipped. A named archive that is damaged is an error.
fn read_archives(ingest: &mut Ingest<Output>, inputs: &Inputs, skips_damage: bool) -> Result<(), IngestError> {
    for archive in &inputs.archives {
        let input = archive.path.display().to_string();
        match &archive.loss {
            Some(Loss::Damaged(reason)) if archive.is_named && !skips_damage => {
                return Err(IngestError::Archive { input, reason: reason.clone() });
            }
            Some(Loss::Damaged(reason)) => ingest.skip_rest_of_archive(input, reason),
            Some(Loss::Truncated(offset)) => ingest.note_truncated_archive(input, *offset),
            None => {}
        }
        for member in &archive.skipped {
            let found = "a link out of the archive, a device, or a path out of it";
            ingest.skip_unknown_file(Path::new(&format!("{}: {member}", archive.path.display())), found);
        }
        if archive.more_skipped > 0 {
            let found = format!("{} more members that are not files", archive.more_skipped);
            ingest.skip_unknown_file(&archive.path, &found);
        }
    }
    Ok(())
}

/// Returns the shares of the memory limit.
fn memory(arguments: &Arguments) -> Result<Memory, Failure> {
    Memory::new(arguments.memory_limit, arguments.max_record_size, is_folder_or_location(&arguments.output))
}

/// Returns the options of the run.
fn options(arguments: &Arguments, memory: Memory) -> Result<IngestOptions, Failure> {
    let is_folder = is_folder_or_location(&arguments.output);
    let many = [
        ("--window", arguments.window.is_some()),
        ("--max-series-per-block", arguments.max_series_per_block.is_some()),
    ];
    if let Some((option, _)) = many.iter().find(|(_, is_given)| *is_given && !is_folder) {
        let message = format!(
            "{option} makes several blocks; the output must be a folder: --output {}/",
            arguments.output.display()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(IngestOptions {
        format: arguments.format.format(),
        max_record_len: memory.max_record_len,
        skip_broken_records: arguments.skip_bad_records,
        threads: arguments.threads,
        keep_float_labels: arguments.keep_float_labels,
        ignore_deletions: arguments.ignore_deletions,
        keep_columns: !arguments.no_columns,
        chunk_lists: arguments.chunks,
        assemble: AssembleOptions {
            layout: arguments.layout.into(),
            archive: arguments.archive,
            external_labels: arguments::sorted("--external-label", arguments.external_labels.clone())?,
            annotations: arguments::sorted("--annotation", arguments.annotations.clone())?,
            window: arguments.window,
            separate_input_windows: is_folder,
            time: arguments.time,
            time_step: (arguments.times || arguments.chunks).then_some(arguments.time_step),
            max_series: arguments.max_series_per_block.map_or(u32::MAX, u32::from),
            max_windows: arguments.max_windows,
            // Several blocks become one file.
            max_blocks: if is_folder { arguments.max_blocks } else { u64::MAX },
            max_memory: Some(memory.assembling),
            // The report describes series as they are in memory, and pieces need memory to be merged.
            one_block: !is_folder && (arguments.report.is_some() || memory.whole < LEAST_LIMIT),
            classic_histograms: arguments.classic_histograms,
            prometheus_names: arguments.prometheus_names,
            promote_resource_attributes: arguments.promote_resource_attributes.clone(),
            type_and_unit_labels: arguments.type_and_unit_labels,
            keep_metadata: !arguments.no_metadata,
            compare_layouts: arguments.report.is_some(),
            ..AssembleOptions::default()
        },
    })
}

/// Refuses outputs that are inputs or other outputs: --force would replace them.
fn refuse_same_files(arguments: &Arguments, inputs: &[Input]) -> Result<(), Failure> {
    let same =
        |path: &Path, other: &Path| matches!((path.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let outputs = [Some(&arguments.output), arguments.report.as_ref()];
    for output in outputs.into_iter().flatten() {
        if let Some(input) = inputs.iter().find(|input| same(&input.path, output)) {
            let message = format!("{} is an input and would be replaced", input.path.display());
            return Err(Failure::new(Exit::Usage, message));
        }
    }
    if let [Some(output), Some(report)] = outputs
        && (output == report || same(output, report))
    {
        let message = format!("{} cannot be both the block and the report", report.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(())
}

/// Reports that the run was interrupted, and the number of blocks written.
fn tell_interrupted(count: usize, arguments: &Arguments) {
    let output = summary::shown(&arguments.output.display().to_string());
    let written = match count {
        0 => "nothing was written".to_owned(),
        1 => format!("1 block was written to {output}"),
        count => format!("{} blocks were written to {output}", human::count(count as u64)),
    };
    tell(|out| writeln!(out, "chronoxide-ingest: interrupted; {written}"));
}

/// Reports the number of blocks written before an error.
fn tell_written(written: &WrittenBlocks, arguments: &Arguments) {
    let count = written.lock().map_or(0, |written| written.len()) as u64;
    if count > 0 {
        let (blocks, output) =
            (human::count_of(count, "block"), summary::shown(&arguments.output.display().to_string()));
        let were = if count == 1 { "was" } else { "were" };
        tell(|out| writeln!(out, "chronoxide-ingest: {blocks} {were} written to {output} before the error"));
    }
}

/// Returns true for an error of a block, which an interruption must not hide: its series are lost.
fn is_refused(error: &IngestError) -> bool {
    match error {
        IngestError::Assemble(AssembleError::Output(error)) => error.downcast_ref::<Interrupted>().is_none(),
        IngestError::Assemble(AssembleError::Seal(_) | AssembleError::SealingStopped) => true,
        _ => false,
    }
}

/// Adds the exit code to an error.
fn failure(error: IngestError) -> Failure {
    use chronoxide_format::write::BuildError::{EmptyExternalLabel, MetaLen, MetaOrder};
    let exit = match &error {
        IngestError::Open { .. } | IngestError::Read { .. } | IngestError::ReaderStopped => Exit::Io,
        IngestError::TsdbBlock { source: TsdbBlockError::Open { .. } | TsdbBlockError::Read { .. }, .. } => Exit::Io,
        IngestError::TsdbBlock {
            source: TsdbBlockError::Version { .. } | TsdbBlockError::MetaVersion { .. } | TsdbBlockError::Downsampled,
            ..
        } => Exit::Unsupported,
        IngestError::Wal { source, .. } => match source {
            WalError::Open { .. } | WalError::File { source: WalFileError::Read { .. }, .. } => Exit::Io,
            WalError::Memory { .. } => Exit::Usage,
            WalError::File { source: WalFileError::Version { .. }, .. } => Exit::Unsupported,
            _ => Exit::Corrupt,
        },
        IngestError::ArrowFile { source: ArrowFileError::Copy(_) | ArrowFileError::Read(_), .. } => Exit::Io,
        IngestError::ArrowFile { source: ArrowFileError::Footer(error), .. } if error.is_unsupported() => {
            Exit::Unsupported
        }
        IngestError::Parquet { source: ParquetError::Copy(_) | ParquetError::Read { .. }, .. } => Exit::Io,
        IngestError::Parquet { source: ParquetError::Encrypted | ParquetError::Schema(_), .. } => Exit::Unsupported,
        IngestError::Record { source: BrokenRecord::Decode(DecodeError::Columns(error)), .. }
            if error.is_unsupported() =>
        {
            Exit::Unsupported
        }
        IngestError::UnknownFormat { .. } => Exit::Unsupported,
        IngestError::Assemble(error) => match error {
            AssembleError::Output(error) if matches!(error.downcast_ref(), Some(PieceError::Memory { .. })) => {
                Exit::Usage
            }
            AssembleError::SealingStopped => Exit::Io,
            AssembleError::Output(error) => error.downcast_ref().map_or(Exit::Io, LocationError::exit),
            // The builder checks external labels and annotations. Its other errors are counts.
            AssembleError::Seal(SealError::Build(MetaOrder { .. } | MetaLen { .. } | EmptyExternalLabel { .. })) => {
                Exit::Usage
            }
            AssembleError::TooManyWindows { .. }
            | AssembleError::ExternalLabels
            | AssembleError::TooManyBlocks { .. }
            | AssembleError::ColumnsDiffer { .. }
            | AssembleError::TooManyColumns { .. }
            | AssembleError::MemoryLimit { .. } => Exit::Usage,
            _ => Exit::Unsupported,
        },
        _ => Exit::Corrupt,
    };
    Failure::new(exit, error)
}
