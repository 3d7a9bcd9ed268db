//! Deletion of inputs that a committed plan replaced.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::Lineage;
use chronoxide_store::{Cache, Listing, Location, StoreError, Wanted};

use super::{Plan, PlanError, StoredBlock};
use crate::job::{StillNeeded, in_order};

/// Deletes the inputs of a plan whose outputs are published. Each output, or each block that it was merged into since,
/// is read whole and verified before.
///
/// After each deletion the same blocks are live. An input that is changed, or that other blocks still need, is kept
/// with an error.
pub(super) fn delete_inputs(
    plan: &Plan,
    location: &Location,
    cache: &Cache,
    outputs: &[StoredBlock],
) -> Result<Vec<String>, PlanError> {
    let listing = Listing::read_expecting(location, outputs.iter().map(|output| output.key.as_str()))?;
    let blocks: Vec<(PathBuf, Lineage)> =
        listing.all().into_iter().map(|block| (PathBuf::from(&block.object.key), block.facts.lineage())).collect();
    let own: BTreeSet<BlockId> = outputs.iter().map(|output| output.id).collect();
    let there: BTreeSet<BlockId> = blocks.iter().map(|(_, lineage)| lineage.id).collect();
    let delete: BTreeSet<BlockId> = plan.input_blocks().map(|input| input.id).filter(|id| !own.contains(id)).collect();
    if delete.is_disjoint(&there) {
        return Ok(Vec::new());
    }
    let mut outputs = outputs.iter();
    for merge in &plan.merges {
        let job = plan.lineage_job(merge)?;
        for output in outputs.by_ref().take(merge.outputs.get() as usize) {
            if listing.find(&output.key).is_some_and(|block| !merge.is_replaced_by(&block.facts, job)) {
                let reason = "it does not replace the inputs of the plan".to_owned();
                return Err(PlanError::Stale { object: location.name(&output.key), reason });
            }
            let heirs = heirs(&listing, output);
            if heirs.is_empty() {
                return Err(StoreError::Missing { object: location.name(&output.key) }.into());
            }
            for block in heirs {
                cache.prove(location, &block)?;
            }
        }
    }
    let order = in_order(&blocks, &delete).map_err(|StillNeeded { path, .. }| PlanError::Stale {
        object: location.name(&path.display().to_string()),
        reason: "it cannot be deleted: other blocks would become live again".to_owned(),
    })?;
    let keys: Vec<String> = order.into_iter().map(|path| path.display().to_string()).collect();
    let mut deleted = Vec::with_capacity(keys.len());
    location.delete(&keys, &mut |key| deleted.push(key.to_owned()))?;
    Ok(deleted)
}

/// Returns the blocks that hold the series of an output: itself, or the live blocks that name it if it was merged since
/// and deleted.
pub(super) fn heirs<'a>(listing: &'a Listing, output: &'a StoredBlock) -> Vec<Wanted<'a>> {
    if listing.find(&output.key).is_some() {
        return vec![output.wanted()];
    }
    let names_it = |lineage: &Lineage| lineage.parents.contains(&output.id) || lineage.ancestors.contains(&output.id);
    let live = listing.live.iter().filter(|block| names_it(&block.facts.lineage()));
    live.map(chronoxide_store::Listed::wanted).collect()
}
