//! Deletion of blocks of a location, with proof of their content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chronoxide_reader::lineage::{Lineage, Reason};
use chronoxide_reader::{Block, BlockId};
use chronoxide_store::{Listed, Listing, StoreError};

use super::run::{Workplace, open};
use super::{Plan, PlanError, StoredBlock};
use crate::CompactError;
use crate::job::{Examined, Kept, Proof, Unproven, examine};

/// Blocks that were deleted, by key, and blocks that were kept.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    pub(super) keys: Vec<String>,
    pub(super) kept: Vec<Kept>,
}

impl Deleted {
    /// Adds the result of another deletion.
    pub(super) fn extend(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.kept.extend(other.kept);
    }
}

/// Deletes the inputs of a plan whose outputs are published, after it was proved that live blocks hold their series:
/// the outputs, under any name, or blocks that these were merged into since. Each of these blocks is read whole before.
///
/// After each deletion the same blocks are live.
pub(super) fn delete_inputs(plan: &Plan, place: &Workplace<'_>, outputs: &[StoredBlock]) -> Result<Deleted, PlanError> {
    let location = place.location;
    let listing = Listing::read_expecting(location, outputs.iter().map(|output| output.key.as_str()))?;
    let by_id: BTreeMap<BlockId, &Listed> = listing.all().into_iter().map(|block| (block.facts.id, block)).collect();
    let own: BTreeSet<BlockId> = outputs.iter().map(|output| output.id).collect();
    let inputs: BTreeSet<BlockId> = plan.input_blocks().map(|input| input.id).filter(|id| !own.contains(id)).collect();
    if !inputs.iter().any(|id| by_id.contains_key(id)) {
        return Ok(Deleted::default());
    }
    let mut of_merges = outputs.iter();
    for merge in &plan.merges {
        let job = plan.lineage_job(merge)?;
        for output in of_merges.by_ref().take(merge.outputs.get() as usize) {
            if by_id.get(&output.id).is_some_and(|block| !merge.is_replaced_by(&block.facts, job)) {
                let reason = "it does not replace the inputs of the plan".to_owned();
                return Err(PlanError::Stale { object: location.name(&output.key), reason });
            }
        }
    }
    if let Some(live) = listing.live.iter().find(|block| inputs.contains(&block.facts.id)) {
        if let Some(output) = outputs.iter().find(|output| !by_id.contains_key(&output.id)) {
            return Err(StoreError::Missing { object: location.name(&output.key) }.into());
        }
        let reason = "it is not hidden by the outputs of the plan".to_owned();
        return Err(PlanError::Stale { object: location.name(&live.object.key), reason });
    }
    let keys: BTreeSet<&str> =
        inputs.iter().filter_map(|id| by_id.get(id)).map(|block| block.object.key.as_str()).collect();
    let is_due = |path: &Path, reason| {
        matches!(reason, Reason::Merged { .. }) && path.to_str().is_some_and(|key| keys.contains(key))
    };
    delete_hidden(place, &listing, &plan.options.external_labels, &is_due)
}

/// Deletes the hidden blocks of a listing that are due, after it was proved that live blocks hold their series.
pub(super) fn delete_hidden(
    place: &Workplace<'_>,
    listing: &Listing,
    external_labels: &[(String, String)],
    is_due: &dyn Fn(&Path, Reason) -> bool,
) -> Result<Deleted, PlanError> {
    let all = listing.all();
    let blocks: Vec<(PathBuf, Lineage)> =
        all.iter().map(|block| (PathBuf::from(&block.object.key), block.facts.lineage())).collect();
    let by_key: BTreeMap<&Path, &Listed> = all.into_iter().map(|block| (Path::new(&block.object.key), block)).collect();
    let Workplace { location, cache, map, memory_limit, observer } = *place;
    let proof = Proof { system: &chronoxide_publish::Disk, open: map, memory_limit, external_labels, observer };
    let mut verified = BTreeSet::new();
    let mut prove = |holders: &[PathBuf], hidden: &[PathBuf]| -> Result<Result<(), Unproven>, PlanError> {
        for holder in holders.iter().filter_map(|path| by_key.get(path.as_path())) {
            // The object itself, not a copy in the cache, is what stays.
            if verified.insert(holder.facts.id) {
                cache.prove(location, &holder.wanted())?;
            }
        }
        let open = |paths: &[PathBuf]| -> Result<Vec<Block>, PlanError> {
            let listed = paths.iter().filter_map(|path| by_key.get(path.as_path()));
            listed.map(|block| open(place, &block.wanted())).collect()
        };
        match proof.prove_blocks(cache.folder(), (holders, &open(holders)?), (hidden, &open(hidden)?)) {
            Err(Unproven::Compact(error @ CompactError::Cancelled)) => Err(error.into()),
            result => Ok(result),
        }
    };
    let Examined { order, kept } = examine(&blocks, is_due, &mut prove)?;
    let keys: Vec<String> = order.into_iter().map(|path| path.display().to_string()).collect();
    let mut deleted = Vec::with_capacity(keys.len());
    location.delete(&keys, &mut |key| deleted.push(key.to_owned()))?;
    Ok(Deleted { keys: deleted, kept })
}
