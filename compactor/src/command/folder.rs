//! The blocks of a folder, merged in place.

use std::path::{Path, PathBuf};

use chronoxide_cli::escape::Harmless;
use chronoxide_cli::style::Style;
use chronoxide_cli::{Exit, Failure, Message, print, tell};
use chronoxide_compactor::job::JobFolder;
use chronoxide_compactor::planning::{self, Description, Group, plan};
use chronoxide_compactor::{Compaction, CompactionError};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, recover};
use chronoxide_reader::{Block, BlockId, Folder};

use crate::arguments::Arguments;
use crate::blocks;
use crate::failure::{Error, usage};
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
    let options = arguments.options();
    if !(options.keep.is_empty() && options.drop.is_empty() && options.rewrite.is_empty()) {
        return Err(usage(
            "series are left out and labels rewritten in files that are named: of a folder, only those blocks would change that happen to be merged",
        ));
    }
    let lock = if arguments.dry_run { None } else { Some(FolderLock::try_lock(path).map_err(Error::from)?) };
    if lock.is_some() {
        recover(&Disk, path)?;
    }
    let folder = blocks::map_folder(path).map_err(Error::from)?;
    warn_of_unreadable(&folder);
    let exit = if folder.unreadable().is_empty() { Exit::Ok } else { Exit::Corrupt };
    let described = (folder.live().iter())
        .map(|entry| {
            let described = Description::of(entry.path().to_owned(), &entry.block().view());
            described.map_err(|source| Error::Input { path: entry.path().to_owned(), source })
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
        let deleted = jobs.delete_merged().map_err(|error| Error::Compaction(error.into()))?;
        tell_deleted(&deleted);
    }
    let mut exit = exit;
    for group in &plan.groups {
        if let Err(failure) = merge(arguments, group, &jobs, bar) {
            if bar.is_interrupted() {
                return Err(failure);
            }
            // What is wrong with one group is no reason to leave the others.
            bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
            exit = if exit == Exit::Ok { failure.exit() } else { exit };
        }
    }
    if plan.groups.is_empty() && !arguments.json {
        tell(|out| planning::write(&plan, Style::stderr(), out));
    }
    Ok(exit)
}

/// Says what a run before has merged already, and this one has deleted.
fn tell_deleted(deleted: &[PathBuf]) {
    for path in deleted {
        let path = path.display().to_string();
        tell(|out| writeln!(out, "{}: deleted, as it was merged before", Harmless(&path)));
    }
}

fn warn_of_unreadable(folder: &Folder) {
    for (_, error) in folder.unreadable() {
        tell(|out| writeln!(out, "chronoxide-compact: warning: {}", Message(error)));
    }
}

/// Maps the blocks of a group, and merges them; they are unmapped afterwards, so that those that were deleted free their space.
fn merge(
    arguments: &Arguments,
    group: &Group<'_>,
    jobs: &JobFolder<'_, chronoxide_reader::OpenError>,
    bar: &Bar,
) -> Result<(), Failure> {
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
    Ok(())
}
