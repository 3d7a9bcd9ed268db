//! Inputs of earlier jobs that are still in the folder, as after a run that was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chronoxide_publish::remove_files;
use chronoxide_reader::lineage::{Lineage, Reason};
use chronoxide_reader::{BlockId, OpenError};

use super::proof::{Proof, Unproven};
use super::{JobError, JobFolder, inputs};

/// Result of [`JobFolder::delete_merged`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Leftovers {
    /// Deleted files, in the order of deletion.
    pub deleted: Vec<PathBuf>,
    /// Files that were kept, by job.
    pub kept: Vec<Kept>,
    /// Blocks of the folder that could not be opened. They may be inputs of earlier runs.
    pub unreadable: Vec<(PathBuf, OpenError)>,
}

/// Blocks that a job claims to have merged, without proof.
#[derive(Debug)]
#[non_exhaustive]
pub struct Kept {
    /// The blocks.
    pub blocks: Vec<PathBuf>,
    /// Outputs of the job.
    pub outputs: Vec<PathBuf>,
    /// Reason why the claim is not proved.
    pub reason: Unproven,
}

impl<E> JobFolder<'_, E> {
    /// Deletes the inputs of complete jobs, the oldest first, if `proof` finds all their series in the outputs.
    ///
    /// Without proof, all inputs of a job are kept. A job that dropped series cannot be proved: run it again to delete
    /// its inputs.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn delete_merged(&self, proof: &Proof<'_>) -> Result<Leftovers, JobError<E>> {
        let folder = self.lock.folder();
        let survey = (self.survey)(folder)?;
        let mut merged: BTreeMap<[u8; 16], BTreeSet<BlockId>> = BTreeMap::new();
        let mut unfinished = BTreeSet::new();
        for hidden in survey.hidden() {
            match hidden.reason {
                Reason::Merged { job } => drop(merged.entry(job).or_default().insert(hidden.id)),
                // A hidden output proves nothing: it counts only once its inputs, which may be deleted here, are gone.
                Reason::Unfinished { .. } => drop(unfinished.insert(hidden.id)),
                _ => {}
            }
        }
        // Blocks that hold the series of each proved block.
        let mut proved: BTreeMap<BlockId, BTreeSet<BlockId>> = BTreeMap::new();
        let mut kept = Vec::new();
        for (job, ids) in merged {
            let hides = |block: &Lineage| {
                let claimed = || block.parents.iter().chain(&block.ancestors);
                block.job.is_some_and(|it| it.id == job) && claimed().any(|id| ids.contains(id))
            };
            // A block proves nothing about itself, nor one about which this job makes a claim.
            let is_output =
                |block: &Lineage| hides(block) && !ids.contains(&block.id) && !unfinished.contains(&block.id);
            let outputs: BTreeMap<BlockId, PathBuf> = (survey.lineages().iter().rev())
                .filter(|(_, block)| is_output(block))
                .map(|(path, block)| (block.id, path.clone()))
                .collect();
            // Includes copies: each file that is deleted is examined.
            let inputs = survey.lineages().iter().filter(|(_, block)| ids.contains(&block.id));
            let blocks: Vec<PathBuf> = inputs.map(|(path, _)| path.clone()).collect();
            let holders: BTreeSet<BlockId> = outputs.keys().copied().collect();
            let read_only =
                |path: &&PathBuf| survey.lineages().iter().any(|(other, block)| other == *path && block.is_read_only);
            if let Some(path) = outputs.values().find(read_only).cloned() {
                kept.push(Kept { blocks, outputs: vec![path.clone()], reason: Unproven::ReadOnly { path } });
                continue;
            }
            let outputs: Vec<PathBuf> = outputs.into_values().collect();
            match proof.prove(folder, &outputs, &blocks) {
                Ok(()) => proved.extend(ids.into_iter().map(|id| (id, holders.clone()))),
                Err(reason) => kept.push(Kept { blocks, outputs, reason }),
            }
        }
        let mut proved = grounded(&proved);
        // One block that is still needed does not keep the others, nor stop the merges after this.
        let order = loop {
            match inputs::in_order(survey.lineages(), &proved) {
                Ok(order) => break order,
                Err(inputs::StillNeeded { path, id }) => {
                    proved.remove(&id);
                    kept.push(Kept { blocks: vec![path], outputs: Vec::new(), reason: Unproven::StillNeeded });
                }
            }
        };
        // An open file keeps its space on the disk after it is deleted.
        let unreadable = survey.into_unreadable();
        let deleted = if order.is_empty() { Vec::new() } else { remove_files(self.system, &order)?.removed };
        Ok(Leftovers { deleted, kept, unreadable })
    }
}

/// Returns the blocks whose series are in blocks that stay, directly or through other proved blocks. Blocks that prove
/// each other in a cycle are not included.
fn grounded(proved: &BTreeMap<BlockId, BTreeSet<BlockId>>) -> BTreeSet<BlockId> {
    let mut grounded = BTreeSet::new();
    loop {
        let is_held = |holder: &BlockId| !proved.contains_key(holder) || grounded.contains(holder);
        let more: Vec<BlockId> = (proved.iter())
            .filter(|(id, holders)| !grounded.contains(*id) && holders.iter().all(is_held))
            .map(|(id, _)| *id)
            .collect();
        if more.is_empty() {
            return grounded;
        }
        grounded.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_prove_each_other_are_kept() {
        let id = |number: u8| BlockId([number; 16]);
        let held = |pairs: &[(u8, &[u8])]| -> BTreeMap<BlockId, BTreeSet<BlockId>> {
            let holders = |numbers: &[u8]| numbers.iter().copied().map(id).collect();
            pairs.iter().map(|&(block, by)| (id(block), holders(by))).collect()
        };
        // A chain that ends in a block that stays.
        assert_eq!(grounded(&held(&[(1, &[2]), (2, &[3, 4])])), [id(1), id(2)].into());
        // Two blocks that prove each other, one that proves itself, and one that depends on them.
        assert_eq!(grounded(&held(&[(1, &[2]), (2, &[1]), (3, &[3]), (4, &[2, 9])])), BTreeSet::new());
    }
}
