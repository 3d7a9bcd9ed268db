//! Merges the blocks of a folder in place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_compactor::job::{JobFolder, Kept, Leftovers, Merged, PublishedOutput, Unproven};
use chronoxide_compactor::strategy::{Description, Group, Strategy, choose};
use chronoxide_compactor::{CompactError, Compaction, CompactionError};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, recover};
use chronoxide_reader::lineage::{Lineage, Reason};
use chronoxide_reader::{Block, BlockId, Folder, OpenError};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use crate::compact::arguments::Arguments;
use crate::compact::claims::{Claims, Unfit};
use crate::compact::failure::{self, Error, usage};
use crate::compact::progress::Bar;
use crate::compact::report::{Report, Written};
use crate::compact::{blocks, strategy_text};
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Message, json_line, print, print_styled, tell};

/// Deletions of inputs in a run, at most, but for one.
const BATCHES: u64 = 8;

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
    if merge_options.is_rewriting() {
        return Err(usage(
            "--keep, --drop, --drop-label, --rename-label, --keep-column, --drop-column and --lift-external-labels need named files (DIR/*.cx): in a folder only blocks that are due for a merge would change",
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
    let disputed: BTreeSet<[u8; 16]> =
        folder.incomplete().iter().filter(|job| job.disputed.is_some()).map(|job| job.id).collect();
    let is_disputed = |block: &Lineage| block.job.is_some_and(|job| disputed.contains(&job.id));
    let unbelieved: BTreeSet<BlockId> = folder
        .lineages()
        .iter()
        .map(|(_, block)| block)
        .filter(|block| is_disputed(block))
        .map(|block| block.id)
        .collect();
    let described = (folder.live().iter())
        // A merged block would inherit the claim.
        .filter(|entry| !unbelieved.contains(&entry.id()))
        .map(|entry| {
            let described = Description::from_block(entry.path().to_owned(), &entry.block().view())
                .map_err(|source| Error::Input { path: entry.path().to_owned(), source })?;
            Ok(described.with_external_labels(&merge_options.external_labels))
        })
        .collect::<Result<Vec<Description>, Error>>()?;
    let proof = blocks::proof(&merge_options, bar);
    let claims = Claims::new(Some(&folder), proof);
    drop(folder);
    let options = arguments.strategy_options();
    let strategy = choose(&described, &options);
    let Some(lock) = lock else {
        show_strategy(&strategy, arguments.json)?;
        return Ok(exit);
    };
    let verify = |path: &Path| claims.verify(path);
    let jobs = JobFolder { system: &Disk, lock: &lock, verify: &verify, survey: &blocks::map_folder };
    // Inputs of a killed run may have no remaps yet, so they are kept if remaps are requested.
    if arguments.delete_inputs && arguments.remaps.is_none() {
        // Inputs that a killed run merged already.
        let leftovers = jobs.delete_merged(&proof).map_err(|error| Error::Compaction(error.into()))?;
        if bar.is_interrupted() {
            return Err(Error::Compaction(CompactError::Cancelled.into()).into());
        }
        exit = exit.or(tell_leftovers(&leftovers, arguments));
        exit = exit.or(warn_of_unreadable(&leftovers.unreadable, &mut told));
    }
    // Inputs go in batches: each deletion opens all blocks of the folder, and should not follow each merge, nor should
    // all inputs wait for the end and double the folder.
    let batch_len = strategy.groups.iter().map(Group::bytes).sum::<u64>() / BATCHES;
    let mut merged = Vec::new();
    for group in &strategy.groups {
        match merge(arguments, group, &jobs, bar) {
            Ok(done) if arguments.delete_inputs => merged.push(done),
            Ok(done) => bar.pause(|| done.report.show(arguments))?,
            Err(failure) if bar.is_interrupted() => {
                delete_merged(arguments, &mut merged, &jobs, bar, &mut told)?;
                return Err(failure);
            }
            Err(failure) => {
                // An error in one group does not stop the others.
                bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
                exit = exit.or(failure.exit());
            }
        }
        if merged.iter().map(|done| done.report.bytes_in).sum::<u64>() > batch_len {
            exit = exit.or(delete_merged(arguments, &mut merged, &jobs, bar, &mut told)?);
        }
    }
    exit = exit.or(delete_merged(arguments, &mut merged, &jobs, bar, &mut told)?);
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
    tell_kept(&leftovers.kept, &|path| path.display().to_string())
}

/// Prints the hidden blocks that were kept without proof, by the names that `name` gives them. Returns the exit code.
pub(crate) fn tell_kept(kept: &[Kept], name: &dyn Fn(&Path) -> String) -> Exit {
    let mut exit = Exit::Ok;
    for Kept { blocks, holders, reason, .. } in kept {
        let holder = holders.first().map_or_else(String::new, |path| name(path));
        for path in blocks {
            let path = name(path);
            tell(|out| {
                let path = TerminalSafe(&path);
                if let Unproven::StillNeeded = reason {
                    return writeln!(out, "chronoxide-compact: warning: {path}: kept; {}", Message(reason));
                }
                let holder = TerminalSafe(&holder);
                let why = Message(reason);
                writeln!(
                    out,
                    "chronoxide-compact: warning: {path}: kept; not proved that {holder} holds its series: {why}"
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
            let why =
                "read-only, with features or sections that this version does not know; not merged, hidden or deleted";
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

/// A group that was merged, and whose inputs may have to be deleted.
struct MergedGroup<'a> {
    group: &'a Group<'a>,
    ids: Vec<BlockId>,
    outputs: Vec<PublishedOutput>,
    report: Report,
}

/// Maps the blocks of a group and merges them. They are unmapped afterwards, so that deleted blocks free their space.
fn merge<'a>(
    arguments: &Arguments,
    group: &'a Group<'a>,
    jobs: &JobFolder<'_, Unfit>,
    bar: &Bar,
) -> Result<MergedGroup<'a>, Failure> {
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
    let done = compaction.merge_to_folder(jobs, None);
    let (summary, done) = done.map_err(|error: CompactionError<_>| Error::named(error, &paths))?;
    let report = Report {
        inputs: paths.len(),
        bytes_in: group.bytes(),
        summary,
        outputs: done.outputs.iter().cloned().map(Written::from).collect(),
        deleted: Vec::new(),
    };
    Ok(MergedGroup { group, ids, outputs: done.outputs, report })
}

/// Deletes the inputs of merged groups, and prints their reports.
fn delete_merged(
    arguments: &Arguments,
    merged: &mut Vec<MergedGroup<'_>>,
    jobs: &JobFolder<'_, Unfit>,
    bar: &Bar,
    told: &mut BTreeSet<PathBuf>,
) -> Result<Exit, Failure> {
    let mut merged = std::mem::take(merged);
    if merged.is_empty() {
        return Ok(Exit::Ok);
    }
    let done: Vec<Merged<'_>> =
        merged.iter().map(|done| Merged { outputs: &done.outputs, inputs: &done.ids }).collect();
    let deletion = jobs.delete_inputs(&done).map_err(|error| Error::Compaction(error.into()))?;
    for (done, deleted) in merged.iter_mut().zip(deletion.deleted) {
        done.report.deleted = deleted;
    }
    let mut exit = Exit::Ok;
    for (_, error) in deletion.failed {
        let failure = Failure::from(Error::Compaction(error.into()));
        bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
        exit = exit.or(failure.exit());
    }
    for done in &merged {
        bar.pause(|| done.report.show(arguments))?;
        exit = exit.or(bar.pause(|| tell_absent(done.group, &deletion.absent)));
    }
    Ok(exit.or(bar.pause(|| warn_of_unreadable(&deletion.unreadable, told))))
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
