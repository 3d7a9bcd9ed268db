//! The blocks of a folder, merged in place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_cli::escape::TerminalSafe;
use chronoxide_cli::style::Style;
use chronoxide_cli::{Exit, Failure, HasExit, Message, human, print, tell};
use chronoxide_compactor::job::{JobFolder, Kept, Leftovers, Proof};
use chronoxide_compactor::planning::{self, Description, Group, plan};
use chronoxide_compactor::{CompactError, Compaction, CompactionError};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, recover};
use chronoxide_reader::lineage::Reason;
use chronoxide_reader::{Block, BlockId, Folder, OpenError};

use crate::arguments::Arguments;
use crate::blocks;
use crate::failure::{self, Error, usage};
use crate::progress::Bar;
use crate::report::{Report, Written};

pub(crate) fn compact(arguments: &Arguments, path: &Path, bar: &Bar) -> Result<Exit, Failure> {
    if arguments.output.is_some() {
        return Err(usage("a folder is merged in place; to write elsewhere, name its blocks"));
    }
    if arguments.shards.is_some() || arguments.shard.is_some() {
        return Err(usage(
            "shards are made of files that are named: which of them go together must not change on the way",
        ));
    }
    if arguments.force {
        return Err(usage("--force is for a file: blocks in a folder are named after their ids, and never replaced"));
    }
    let merge_options = arguments.options();
    if merge_options.leaves_out() {
        return Err(usage(
            "series are left out and labels rewritten in files that are named (--keep, --drop, --drop-label, --rename-label, --lift-external-labels): in a folder only the blocks that are due for a merge would change",
        ));
    }
    let lock = if arguments.dry_run { None } else { Some(FolderLock::try_lock(path).map_err(Error::from)?) };
    if lock.is_some() {
        recover(&Disk, path)?;
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
    if !arguments.delete_inputs && !arguments.json && !arguments.quiet.is_set() {
        note_merged(&folder);
    }
    let disputed: Vec<[u8; 16]> =
        folder.incomplete().iter().filter(|job| job.disputed.is_some()).map(|job| job.id).collect();
    let is_believed = |id: BlockId| {
        let lineage = folder.lineages().iter().find(|(_, block)| block.id == id);
        !lineage.is_some_and(|(_, block)| block.job.is_some_and(|job| disputed.contains(&job.id)))
    };
    let described = (folder.live().iter())
        // What it claims to hold would become the claim of the merged block.
        .filter(|entry| disputed.is_empty() || is_believed(entry.id()))
        .map(|entry| {
            let described = Description::of(entry.path().to_owned(), &entry.block().view())
                .map_err(|source| Error::Input { path: entry.path().to_owned(), source })?;
            Ok(described.with_external_labels(&merge_options.external_labels))
        })
        .collect::<Result<Vec<Description>, Error>>()?;
    drop(folder);
    let options = arguments.plan_options();
    let plan = plan(&described, &options);
    let Some(lock) = lock else {
        if arguments.json {
            print(|out| writeln!(out, "{}", serde_json::json!(plan)))?;
        } else {
            print(|out| planning::write(&plan, Style::stdout(), out))?;
        }
        return Ok(exit);
    };
    let jobs = JobFolder { system: &Disk, lock: &lock, verify: &blocks::verify, survey: &blocks::map_folder };
    // Inputs of a run that was killed may have no remaps yet: whoever wants these keeps them.
    if arguments.delete_inputs && arguments.remap.is_none() {
        // What a run that was killed has merged already.
        let proof =
            Proof { system: &Disk, open: &blocks::map, memory_limit: merge_options.memory_limit, observer: bar };
        let leftovers = jobs.delete_merged(&proof).map_err(|error| Error::Compaction(error.into()))?;
        if bar.is_interrupted() {
            return Err(Error::Compaction(CompactError::Cancelled.into()).into());
        }
        exit = exit.or(tell_leftovers(&leftovers, arguments));
        exit = exit.or(warn_of_unreadable(&leftovers.unreadable, &mut told));
    }
    for group in &plan.groups {
        match merge(arguments, group, &jobs, bar, &mut told) {
            Ok(merged) => exit = exit.or(merged),
            Err(failure) if bar.is_interrupted() => return Err(failure),
            Err(failure) => {
                // What is wrong with one group is no reason to leave the others.
                bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
                exit = exit.or(failure.exit());
            }
        }
    }
    if plan.groups.is_empty() && !arguments.json && !arguments.quiet.is_set() {
        tell(|out| planning::write(&plan, Style::stderr(), out));
    }
    Ok(exit)
}

/// Names the inputs of earlier runs that were deleted, and those that were kept for lack of proof. Returns the exit code for the latter.
fn tell_leftovers(leftovers: &Leftovers, arguments: &Arguments) -> Exit {
    for path in leftovers.deleted.iter().filter(|_| !arguments.quiet.is_set()) {
        let path = path.display().to_string();
        tell(|out| writeln!(out, "{}: deleted, as it was merged before", TerminalSafe(&path)));
    }
    let mut exit = Exit::Ok;
    for Kept { blocks, outputs, reason, .. } in &leftovers.kept {
        let output = outputs.first().map_or_else(String::new, |path| path.display().to_string());
        for path in blocks {
            let path = path.display().to_string();
            tell(|out| {
                writeln!(
                    out,
                    "chronoxide-compact: warning: {}: kept: {} claims to hold its series, which is not proved: {}",
                    TerminalSafe(&path),
                    TerminalSafe(&output),
                    Message(reason)
                )
            });
        }
        exit = exit.or(failure::exit_of_unproven(reason));
    }
    exit
}

/// Names the blocks that cannot be opened, each once: `told` has those that were named before. Returns the exit code for the others.
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

/// Prints the number of blocks that are hidden because other blocks claim to hold their series: they are neither shown nor merged.
fn note_merged(folder: &Folder) {
    let count = folder.hidden().iter().filter(|hidden| matches!(hidden.reason, Reason::Merged { .. })).count() as u64;
    if count > 0 {
        let blocks = human::count_of(count, "block");
        tell(|out| {
            writeln!(
                out,
                "{blocks} hidden: other blocks claim to hold the same series; --delete-inputs proves this and deletes what was merged"
            )
        });
    }
}

/// Names the blocks that claim to hold more than they can.
fn warn_of_disputed(folder: &Folder) -> Exit {
    let mut exit = Exit::Ok;
    for job in folder.incomplete() {
        let Some(disputed) = job.disputed else {
            if job.present >= job.output_count {
                tell(|out| {
                    let number = u128::from_be_bytes(job.id);
                    let why = "blocks disagree about its outputs or its inputs, so that it hides nothing";
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
                    "chronoxide-compact: warning: {}: claims to hold block {disputed}, which has more series; it hides nothing and is not merged",
                    TerminalSafe(&path)
                )
            });
        }
        exit = Exit::Findings;
    }
    exit
}

/// Maps the blocks of a group, and merges them; they are unmapped afterwards, so that those that were deleted free their space.
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
    let paths: Vec<&Path> = opened.iter().map(|(path, _)| *path).collect();
    let views: Vec<BlockView<'_>> = opened.iter().map(|(_, block)| block.view()).collect();
    let options = arguments.options();
    let remaps = arguments.remap.as_deref();
    let compaction = Compaction { remaps, observer: bar, ..Compaction::new(&views, &options) };
    let ids: Vec<BlockId> = views.iter().map(BlockView::block_id).collect();
    let delete = arguments.delete_inputs.then_some(&ids[..]);
    let done = compaction.into_folder(jobs, delete);
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

/// Names the merged inputs that were not found when they were to be deleted. Returns the exit code for them.
fn tell_absent(group: &Group<'_>, absent: &[BlockId]) -> Exit {
    let mut exit = Exit::Ok;
    for block in group.blocks.iter().filter(|block| absent.contains(&block.id) && block.file.symlink_metadata().is_ok())
    {
        let path = block.file.display().to_string();
        tell(|out| {
            let why = "was merged, but could not be opened again and is not deleted";
            writeln!(out, "chronoxide-compact: warning: {}: {why}", TerminalSafe(&path))
        });
        exit = Exit::Io;
    }
    exit
}
