//! Deletes named inputs after their outputs are published.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chronoxide_publish::{Disk, FolderLock, remove_files};
use chronoxide_reader::lineage::{Lineage, Standing, judge};
use chronoxide_reader::{Block, BlockId};

use crate::Failure;
use crate::compact::blocks;
use crate::compact::failure::{Error, usage};

/// Refuses inputs that are links, before anything is done.
pub(crate) fn check(inputs: &[PathBuf]) -> Result<(), Failure> {
    match inputs.iter().find(|path| path.is_symlink()) {
        Some(link) => {
            Err(usage(format!("{}: is a symbolic link, which --delete-inputs does not delete", link.display())))
        }
        None => Ok(()),
    }
}

/// Deletes inputs that are not outputs, the oldest first. In each folder, the same other blocks must count before and
/// after. `locked` is the folder that this job has locked already.
pub(crate) fn delete(
    inputs: &[(&Path, Block)],
    outputs: &[&Path],
    locked: Option<&Path>,
) -> Result<Vec<PathBuf>, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let kept: BTreeSet<PathBuf> = outputs.iter().map(|path| real(path)).collect();
    let mut of_folders: BTreeMap<PathBuf, BTreeMap<PathBuf, BlockId>> = BTreeMap::new();
    for (path, block) in inputs {
        let path = real(path);
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        if !kept.contains(&path) {
            of_folders.entry(folder).or_default().insert(path, block.view().block_id());
        }
    }
    let locked = locked.map(real);
    let mut locks = Vec::new();
    for (folder, doomed) in &of_folders {
        if Some(folder) != locked.as_ref() {
            locks.push(FolderLock::try_lock(folder).map_err(Error::from)?);
        }
        check_folder(folder, doomed)?;
    }
    let mut order: Vec<(BlockId, PathBuf)> = of_folders.into_values().flatten().map(|(path, id)| (id, path)).collect();
    order.sort();
    let paths: Vec<PathBuf> = order.into_iter().map(|(_, path)| path).collect();
    Ok(remove_files(&Disk, &paths).map_err(Error::from)?.removed)
}

/// Refuses to delete an input that changed since it was merged, or without which other blocks of its folder would
/// count.
fn check_folder(folder: &Path, doomed: &BTreeMap<PathBuf, BlockId>) -> Result<(), Failure> {
    for (path, id) in doomed {
        if blocks::map(path).map_err(Error::from)?.view().block_id() != *id {
            return Err(usage(format!("{}: replaced since it was merged; no input was deleted", path.display())));
        }
    }
    let survey = blocks::map_folder(folder).map_err(Error::from)?;
    let live = |keep: &dyn Fn(&Path) -> bool| -> BTreeSet<BlockId> {
        let lineages =
            survey.lineages().iter().filter(|(path, _)| keep(&path.canonicalize().unwrap_or_else(|_| path.clone())));
        let lineages: Vec<Lineage> = lineages.map(|(_, lineage)| lineage.clone()).collect();
        let standings = judge(&lineages).standings;
        let live = lineages.into_iter().zip(standings).filter(|(_, standing)| *standing == Standing::Live);
        live.map(|(lineage, _)| lineage.id).collect()
    };
    let ids: BTreeSet<BlockId> = doomed.values().copied().collect();
    let before: BTreeSet<BlockId> = live(&|_| true).difference(&ids).copied().collect();
    let after = live(&|path| !doomed.contains_key(path));
    let refused = |id: &BlockId, what| {
        let folder = folder.display();
        Err(usage(format!("{folder}: deleting these inputs would make block {id} {what}; no input was deleted")))
    };
    if let Some(id) = after.difference(&before).next() {
        return refused(id, "live again, which holds a part of their series");
    }
    // The inputs contradict a false claim about it.
    if let Some(id) = before.difference(&after).next() {
        return refused(id, "hidden, which another block claims to hold");
    }
    Ok(())
}
