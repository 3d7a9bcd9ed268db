//! Merges the blocks of a folder in place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_compactor::job::{JobFolder, Kept, Leftovers, Proof, Unproven};
use chronoxide_compactor::strategy::{Description, Group, Strategy, choose};
use chronoxide_compactor::{CompactError, Compaction, CompactionError};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, recover};
use chronoxide_reader::lineage::Reason;
use chronoxide_reader::{Block, BlockId, Folder, OpenError};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use crate::compact::arguments::Arguments;
use crate::compact::failure::{self, Error, usage};
use crate::compact::progress::Bar;
use crate::compact::report::{Report, Written};
use crate::compact::{blocks, strategy_text};
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Message, json_line, print, print_styled, tell};

pub(crate) fn compact(arguments: &Arguments, path: &Path, bar: &Bar) -> Result<Exit, Failure> {
    if arguments.output.is_some() {
        return Err(usage("a folder is merged in place; to write elsewhere, name its blocks (DIR/*.cx)"));
    }
    if arguments.shards.is_some() || arguments.shard.is_some() {
        return Err(usage("--shards and --shard need named files (DIR/*.cx): all machines must merge the same blocks"));
    }
    if arguments.force {
        return Err(usage(
            "--force needs a file as output: blocks in a folder are named after their ids and never replaced",
        ));
    }
    let merge_options = arguments.options();
    if merge_options.leaves_out() {
        return Err(usage(
            "--keep, --drop, --drop-label, --rename-label and --lift-external-labels need named files (DIR/*.cx): in a folder only blocks that are due for a merge would change",
        ));
    }
    let lock = if arguments.dry_run { None } else { Some(FolderLock::try_lock(path).map_err(Error::from)?) };
    if lock.is_some() {
        recover(&Disk, path)?;
        arguments.make_remaps_folder()?;
    }
    let folder = blocks::map_folder(path).map_err(Error::from)?;
    if folder.lineages().is_empty() && folder.unreadable().is_empty() {
        let name = path.display().to_string();
        tell(|out| {
            writeln!(out, "chronoxide-compact: warning: {}: no blocks (*.cx) in this folder", TerminalSafe(&name))
        });
    }
    let mut told = BTreeSet::new();
    let mut exit = warn_of_unreadable(folder.unreadable(), &mut told).or(warn_of_disputed(&folder));
    if !arguments.quiet.is_set() {
        note_read_only(&folder);
    }
    if !arguments.delete_inputs && !arguments.json && !arguments.quiet.is_set() {
        let remedy = " (--delete-inputs verifies this and deletes them)";
        note_merged(folder.hidden().iter().map(|hidden| hidden.reason), remedy);
    }
    let disputed: Vec<[u8; 16]> =
        folder.incomplete().iter().filter(|job| job.disputed.is_some()).map(|job| job.id).collect();
    let is_believed = |id: BlockId| {
        let lineage = folder.lineages().iter().find(|(_, block)| block.id == id);
        !lineage.is_some_and(|(_, block)| block.job.is_some_and(|job| disputed.contains(&job.id)))
    };
    let described = (folder.live().iter())
        // A merged block would inherit the claim.
        .filter(|entry| disputed.is_empty() || is_believed(entry.id()))
        .map(|entry| {
            let described = Description::from_block(entry.path().to_owned(), &entry.block().view())
                .map_err(|source| Error::Input { path: entry.path().to_owned(), source })?;
            Ok(described.with_external_labels(&merge_options.external_labels))
        })
        .collect::<Result<Vec<Description>, Error>>()?;
    drop(folder);
    let options = arguments.strategy_options();
    let strategy = choose(&described, &options);
    let Some(lock) = lock else {
        show_strategy(&strategy, arguments.json)?;
        return Ok(exit);
    };
    let jobs = JobFolder { system: &Disk, lock: &lock, verify: &blocks::verify, survey: &blocks::map_folder };
    // Inputs of a killed run may have no remaps yet, so they are kept if remaps are requested.
    if arguments.delete_inputs && arguments.remaps.is_none() {
        // Inputs that a killed run merged already.
        let proof =
            Proof { system: &Disk, open: &blocks::map, memory_limit: merge_options.memory_limit, observer: bar };
        let leftovers = jobs.delete_merged(&proof).map_err(|error| Error::Compaction(error.into()))?;
        if bar.is_interrupted() {
            return Err(Error::Compaction(CompactError::Cancelled.into()).into());
        }
        exit = exit.or(tell_leftovers(&leftovers, arguments));
        exit = exit.or(warn_of_unreadable(&leftovers.unreadable, &mut told));
    }
    for group in &strategy.groups {
        match merge(arguments, group, &jobs, bar, &mut told) {
            Ok(merged) => exit = exit.or(merged),
            Err(failure) if bar.is_interrupted() => return Err(failure),
            Err(failure) => {
                // An error in one group does not stop the others.
                bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
                exit = exit.or(failure.exit());
            }
        }
    }
    if strategy.groups.is_empty() && !arguments.json && !arguments.quiet.is_set() {
        tell(|out| strategy_text::write(&strategy, Style::stderr(), out));
    }
    Ok(exit)
}

/// Prints which blocks are to be merged, and why.
pub(crate) fn show_strategy(strategy: &Strategy<'_>, is_json: bool) -> Result<(), Failure> {
    if is_json {
        print(|out| json_line(out, strategy))?;
    } else {
        print_styled(|out, style| strategy_text::write(strategy, style, out))?;
    }
    Ok(())
}

/// Prints the inputs of earlier runs that were deleted, and those that were kept without proof. Returns the exit code
/// for the latter.
fn tell_leftovers(leftovers: &Leftovers, arguments: &Arguments) -> Exit {
    for path in leftovers.deleted.iter().filter(|_| !arguments.quiet.is_set()) {
        let path = path.display().to_string();
        tell(|out| writeln!(out, "{}: deleted; an earlier run merged it", TerminalSafe(&path)));
    }
    let mut exit = Exit::Ok;
    for Kept { blocks, outputs, reason, .. } in &leftovers.kept {
        let output = outputs.first().map_or_else(String::new, |path| path.display().to_string());
        for path in blocks {
            let path = path.display().to_string();
            tell(|out| {
                let path = TerminalSafe(&path);
                if let Unproven::StillNeeded = reason {
                    return writeln!(out, "chronoxide-compact: warning: {path}: kept; {}", Message(reason));
                }
                let output = TerminalSafe(&output);
                let why = Message(reason);
                writeln!(
                    out,
                    "chronoxide-compact: warning: {path}: kept; not proved that {output} holds its series: {why}"
                )
            });
        }
        exit = exit.or(failure::exit_of_unproven(reason));
    }
    exit
}

/// Prints the blocks that cannot be opened, each once: `told` has those printed before. Returns the exit code for the
/// others.
fn warn_of_unreadable(unreadable: &[(PathBuf, OpenError)], told: &mut BTreeSet<PathBuf>) -> Exit {
    let mut exit = Exit::Ok;
    for (path, error) in unreadable {
        if told.insert(path.clone()) {
            tell(|out| writeln!(out, "chronoxide-compact: warning: {}", Message(error)));
            exit = exit.or(error.exit());
        }
    }
    exit
}

/// Prints how many of the hidden blocks are hidden because other blocks claim to hold their series.
pub(crate) fn note_merged(hidden: impl Iterator<Item = Reason>, remedy: &str) {
    let count = hidden.filter(|reason| matches!(reason, Reason::Merged { .. })).count() as u64;
    if count > 0 {
        let blocks = human::count_of(count, "block");
        tell(|out| writeln!(out, "{blocks} hidden: other blocks claim to hold their series{remedy}"));
    }
}

/// Prints the read-only blocks, which only a newer version may merge. They are not errors.
fn note_read_only(folder: &Folder) {
    for (path, _) in folder.lineages().iter().filter(|(_, block)| block.is_read_only) {
        let path = path.display().to_string();
        tell(|out| {
            let why = "read-only: unknown ro_compat bits; not merged, hidden or deleted";
            writeln!(out, "chronoxide-compact: warning: {}: {why}", TerminalSafe(&path))
        });
    }
}

/// Prints the blocks whose claims cannot be true. Returns the exit code for them.
fn warn_of_disputed(folder: &Folder) -> Exit {
    let mut exit = Exit::Ok;
    for job in folder.incomplete() {
        let Some(disputed) = job.disputed else {
            if job.present >= job.output_count {
                tell(|out| {
                    let number = u128::from_be_bytes(job.id);
                    let why = "its outputs name different inputs, so they hide nothing";
                    writeln!(out, "chronoxide-compact: warning: job {number:032x}: {why}")
                });
                exit = Exit::Findings;
            }
            continue;
        };
        for (path, _) in folder.lineages().iter().filter(|(_, block)| block.job.is_some_and(|it| it.id == job.id)) {
            let path = path.display().to_string();
            tell(|out| {
                writeln!(
                    out,
                    "chronoxide-compact: warning: {}: claims to hold block {disputed}, which has more series; the claim is ignored, and the block is not merged",
                    TerminalSafe(&path)
                )
            });
        }
        exit = Exit::Findings;
    }
    exit
}

/// Maps the blocks of a group and merges them. They are unmapped afterwards, so that deleted blocks free their space.
fn merge(
    arguments: &Arguments,
    group: &Group<'_>,
    jobs: &JobFolder<'_, chronoxide_reader::OpenError>,
    bar: &Bar,
    told: &mut BTreeSet<PathBuf>,
) -> Result<Exit, Failure> {
    let opened = (group.blocks.iter())
        .map(|block| Ok((block.file.as_path(), blocks::map(&block.file)?)))
        .collect::<Result<Vec<(&Path, Block)>, Error>>()?;
    let options = arguments.options();
    let remaps = arguments.remaps.as_deref();
    blocks::unpack(&opened, &options, remaps)?;
    let paths: Vec<&Path> = opened.iter().map(|(path, _)| *path).collect();
    let views: Vec<BlockView<'_>> = opened.iter().map(|(_, block)| *block.view()).collect();
    let compaction = Compaction { remaps, observer: bar, ..Compaction::new(&views, &options) };
    let ids: Vec<BlockId> = views.iter().map(BlockView::block_id).collect();
    let delete = arguments.delete_inputs.then_some(&ids[..]);
    let done = compaction.merge_to_folder(jobs, delete);
    let (summary, done) = done.map_err(|error: CompactionError<_>| Error::named(error, &paths))?;
    let report = Report {
        inputs: paths.len(),
        bytes_in: group.bytes(),
        summary,
        outputs: done.outputs.into_iter().map(Written::from).collect(),
        deleted: done.deleted,
    };
    bar.pause(|| report.show(arguments))?;
    Ok(bar.pause(|| tell_absent(group, &done.absent).or(warn_of_unreadable(&done.unreadable, told))))
}

/// Prints the merged inputs that were not found before deletion. Returns the exit code for them.
fn tell_absent(group: &Group<'_>, absent: &[BlockId]) -> Exit {
    let mut exit = Exit::Ok;
    for block in group.blocks.iter().filter(|block| absent.contains(&block.id) && block.file.symlink_metadata().is_ok())
    {
        let path = block.file.display().to_string();
        tell(|out| {
            let why = "merged, but cannot be opened again; not deleted";
            writeln!(out, "chronoxide-compact: warning: {}: {why}", TerminalSafe(&path))
        });
        exit = Exit::Io;
    }
    exit
}
