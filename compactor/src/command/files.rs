//! Files to a file, or to a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chronoxide_cli::{Exit, Failure, existing};
use chronoxide_compactor::job::JobFolder;
use chronoxide_compactor::{Compaction, SCRATCH_MEMORY};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, recover, remove_files};
use chronoxide_reader::{Block, BlockId};

use crate::arguments::Arguments;
use crate::blocks;
use crate::failure::{Error, usage};
use crate::progress::Bar;
use crate::report::{Report, Written};

pub(crate) fn compact(arguments: &Arguments, bar: &Bar) -> Result<Exit, Failure> {
    if let Some(folder) = arguments.inputs.iter().find(|input| input.is_dir()) {
        return Err(usage(format!(
            "{}: a folder is merged by itself; to merge several, name their blocks",
            folder.display()
        )));
    }
    if arguments.dry_run {
        return Err(usage(
            "--dry-run is for a folder, which is planned; files that are named are merged as they are named",
        ));
    }
    let Some(output) = &arguments.output else {
        return Err(usage("--output is missing: the block to write, or a folder for several"));
    };
    let is_folder = is_folder(output);
    if arguments.delete_inputs && arguments.shard.is_some() {
        return Err(usage("--delete-inputs does not go with --shard: the other shards need them"));
    }
    let existing = if is_folder { None } else { Some(existing(output, arguments.force)?) };

    let opened = (arguments.inputs.iter())
        .map(|path| Ok((path.as_path(), blocks::map(path)?)))
        .collect::<Result<Vec<(&Path, Block)>, Error>>()?;
    let chosen: Vec<(&Path, Block)> = opened.into_iter().filter(|(_, block)| is_between(arguments, block)).collect();
    if chosen.is_empty() {
        return Err(usage("no block lies between --min-time and --max-time"));
    }
    let paths: Vec<&Path> = chosen.iter().map(|(path, _)| *path).collect();
    let views: Vec<BlockView<'_>> = chosen.iter().map(|(_, block)| block.view()).collect();
    let options = arguments.options();
    let compaction = Compaction {
        system: &Disk,
        inputs: &views,
        options: &options,
        scratch_memory: SCRATCH_MEMORY,
        remaps: arguments.remap.as_deref(),
        observer: bar,
    };
    let bytes_in = views.iter().map(|view| view.bytes().len() as u64).sum();
    let named = |error| Error::named(error, &paths);

    let (summary, outputs) = match existing {
        Some(existing) => {
            let (summary, published) = compaction.into_file(output, existing, &blocks::verify).map_err(named)?;
            (summary, vec![Written { path: published.path, bytes: published.byte_len, is_new: true }])
        }
        None => {
            fs::create_dir_all(output).map_err(|error| {
                Failure::new(Exit::Io, format!("{}: cannot make the folder: {error}", output.display()))
            })?;
            let lock = FolderLock::try_lock(output).map_err(Error::from)?;
            recover(&Disk, output)?;
            let folder = JobFolder { system: &Disk, lock: &lock, verify: &blocks::verify, survey: &blocks::map_folder };
            let (summary, done) = compaction.into_folder(&folder, None).map_err(named)?;
            (summary, done.outputs.into_iter().map(Written::from).collect())
        }
    };
    let deleted = if arguments.delete_inputs { delete(&chosen, &outputs)? } else { Vec::new() };
    let report = Report { inputs: paths.len(), bytes_in, summary, outputs, deleted };
    report.show(arguments)?;
    Ok(Exit::Ok)
}

/// Whether a path means a folder: one that ends as folders do, or that is there.
fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
        || path.is_dir()
}

/// Whether a block lies between the times that were given, as a whole; damaged meta are found later.
fn is_between(arguments: &Arguments, block: &Block) -> bool {
    let Arguments { min_time, max_time, .. } = arguments;
    if min_time.is_none() && max_time.is_none() {
        return true;
    }
    let view = block.view();
    let Ok(meta) = view.meta() else { return true };
    let time = meta.window().or(meta.time());
    time.is_some_and(|time| min_time.is_none_or(|min| time.start >= min) && max_time.is_none_or(|max| time.end <= max))
}

/// Deletes the inputs, the oldest first, but those that are outputs.
fn delete(inputs: &[(&Path, Block)], outputs: &[Written]) -> Result<Vec<PathBuf>, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let kept: BTreeSet<PathBuf> = outputs.iter().map(|output| real(&output.path)).collect();
    let mut doomed: Vec<(BlockId, PathBuf)> =
        inputs.iter().map(|(path, block)| (block.view().block_id(), path.to_path_buf())).collect();
    doomed.retain(|(_, path)| !kept.contains(&real(path)));
    doomed.sort();
    let paths: Vec<PathBuf> = doomed.into_iter().map(|(_, path)| path).collect();
    Ok(remove_files(&Disk, &paths).map_err(Error::from)?.removed)
}
