//! Deletes inputs: those that this process merged, those that lineage says were merged, and those that a user named.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_locations::{Listed, Listing, Location, LocationError, SparseBlock};
use chronoxide_reader::lineage::{DeletionOrder, Lineage, Reason, Standing, deletion_order, judge};
use chronoxide_reader::{Block, BlockId};

use super::examination::{Examined, Kept, examine};
use super::outputs::Check;
use super::place::key_of;
use super::{CompactionError, PublishedOutput, Refused, Unproven, Workplace};
use crate::CompactError;

/// A merge that this process ran.
#[derive(Clone, Copy, Debug)]
pub struct Merged<'a> {
    /// All its outputs.
    pub outputs: &'a [PublishedOutput],
    /// Blocks that it merged and that are to be deleted.
    pub inputs: &'a [BlockId],
}

/// Result of [`Workplace::delete_inputs`].
#[derive(Debug)]
#[non_exhaustive]
pub struct InputsDeleted {
    /// Deleted keys of each merge, in the order of deletion.
    pub deleted: Vec<Vec<String>>,
    /// Ids of inputs that are not in the location: deleted before, damaged since, or in another one.
    pub absent: Vec<BlockId>,
    /// Blocks of the location that could not be opened. An input among them is also in `absent`, and was not deleted.
    pub unreadable: Vec<(String, LocationError)>,
    /// Merges whose inputs were kept, with the reason.
    pub failed: Vec<(usize, CompactionError)>,
}

/// Blocks that were deleted, by key, and blocks that were kept.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Deleted {
    /// Deleted keys, in the order of deletion.
    pub keys: Vec<String>,
    /// Blocks that were due and were kept.
    pub kept: Vec<Kept>,
    /// Blocks of the location that could not be opened. They may be inputs of earlier runs.
    pub unreadable: Vec<(String, LocationError)>,
    /// Number of blocks that are not due yet.
    pub waiting: usize,
}

impl Workplace<'_> {
    /// Deletes the inputs of merges that this process ran, the oldest first, after their outputs were verified again
    /// under their own names. Lists the location once for all of them. An error of one merge keeps its inputs, but not
    /// those of the others. An input that is also an output is never deleted.
    ///
    /// # Errors
    /// The location cannot be listed, or a block cannot be deleted.
    pub fn delete_inputs(&self, verify: &Check<'_>, merges: &[Merged<'_>]) -> Result<InputsDeleted, CompactionError> {
        let location = self.location;
        let mut failed = Vec::new();
        let mut doomed: BTreeMap<BlockId, usize> = BTreeMap::new();
        for (number, merge) in merges.iter().enumerate() {
            match self.verify_again(verify, merge.outputs) {
                Err(error) => failed.push((number, error)),
                Ok(()) => doomed.extend(merge.inputs.iter().map(|id| (*id, number))),
            }
        }
        let outputs = || merges.iter().flat_map(|merge| merge.outputs);
        outputs().for_each(|output| _ = doomed.remove(&output.id));
        let listing = Listing::read_expecting(location, outputs().map(|output| output.key.as_str()))?;
        let blocks = listing.all();
        for (number, merge) in merges.iter().enumerate() {
            let is_there = |output: &&PublishedOutput| blocks.iter().any(|block| block.facts.id == output.id);
            if let Some(lost) = merge.outputs.iter().find(|output| !is_there(output)) {
                doomed.retain(|_, of| *of != number);
                failed.push((number, LocationError::Missing { object: location.name(&lost.key) }.into()));
            }
        }
        let lineages: Vec<Lineage> = blocks.iter().map(|block| block.facts.lineage()).collect();
        let lineages: Vec<&Lineage> = lineages.iter().collect();
        let order = loop {
            let DeletionOrder { order, needed, .. } = deletion_order(&lineages, &doomed.keys().copied().collect());
            // A merge whose inputs cannot all go keeps all of them.
            let kept: BTreeMap<usize, BlockId> =
                needed.iter().rev().filter_map(|id| Some((*doomed.get(id)?, *id))).collect();
            if kept.is_empty() {
                break order;
            }
            for (&number, &id) in &kept {
                let block = blocks.iter().find(|block| block.facts.id == id);
                let object = location.name(&block.map_or_else(|| key_of(id), |block| block.object.key.clone()));
                failed.push((number, CompactionError::StillNeeded { object, id }));
            }
            doomed.retain(|_, number| !kept.contains_key(number));
        };
        let of_merge = order.iter().map(|place| blocks[*place]);
        let of_merge: BTreeMap<&str, Option<&usize>> =
            of_merge.map(|block| (block.object.key.as_str(), doomed.get(&block.facts.id))).collect();
        let keys: Vec<String> = order.iter().map(|place| blocks[*place].object.key.clone()).collect();
        let present: BTreeSet<BlockId> = blocks.iter().map(|block| block.facts.id).collect();
        let absent = doomed.keys().copied().filter(|id| !present.contains(id)).collect();
        let mut deleted = vec![Vec::new(); merges.len()];
        location.delete(&keys, &mut |key| {
            if let Some(&&number) = of_merge.get(key).and_then(Option::as_ref) {
                deleted[number].push(key.to_owned());
            }
        })?;
        Ok(InputsDeleted { deleted, absent, unreadable: listing.unreadable, failed })
    }

    /// Verifies outputs under their own names. Those of object stores were read again when they were created.
    fn verify_again(&self, verify: &Check<'_>, outputs: &[PublishedOutput]) -> Result<(), CompactionError> {
        for output in outputs {
            let Some(path) = self.location.path(&output.key) else { continue };
            let unverified = |source| CompactionError::Unverified { object: self.location.name(&output.key), source };
            let found = verify(&path).map_err(unverified)?.id;
            if found != output.id {
                return Err(unverified(Refused::OtherBlock { expected: output.id, found }));
            }
        }
        Ok(())
    }

    /// Deletes blocks that other blocks claim to hold, the oldest first, if live blocks are proved to have all their
    /// series: inputs of an earlier run, as after a kill. Without proof, all inputs of a merge are kept. A merge that
    /// dropped series cannot be proved: run it again to delete its inputs.
    ///
    /// Only inputs are due whose merge was published at this time or earlier, in seconds since 1970. Blocks that
    /// `known` has read are not read again.
    ///
    /// # Errors
    /// The location cannot be listed, a proof was cancelled, or a block cannot be deleted.
    pub fn delete_merged(
        &self,
        known: &Listing,
        external_labels: &[(String, String)],
        published_by: i64,
    ) -> Result<Deleted, CompactionError> {
        let mut listing = known.again(self.location)?;
        let recent = listing.all().into_iter().filter(|block| block.object.modified > published_by);
        let recent: BTreeSet<[u8; 16]> = recent.filter_map(|block| Some(block.facts.job?.id)).collect();
        let is_due = |_: &str, reason| matches!(reason, Reason::Merged { job } if !recent.contains(&job));
        let is_waiting = |reason| matches!(reason, Reason::Merged { job } if recent.contains(&job));
        let waiting = listing.hidden.iter().filter(|hidden| is_waiting(hidden.reason)).count();
        let deleted = self.delete_hidden(&listing, external_labels, &is_due, BTreeSet::new())?;
        Ok(Deleted { unreadable: std::mem::take(&mut listing.unreadable), waiting, ..deleted })
    }

    /// Deletes the hidden blocks of a listing that are due, after it was proved that live blocks hold their series.
    /// `sound` has the blocks that were read whole before.
    pub(crate) fn delete_hidden(
        &self,
        listing: &Listing,
        external_labels: &[(String, String)],
        is_due: &dyn Fn(&str, Reason) -> bool,
        mut sound: BTreeSet<BlockId>,
    ) -> Result<Deleted, CompactionError> {
        let Self { location, cache, .. } = *self;
        let blocks = listing.all();
        let proof = self.proof(external_labels);
        let mut prove = |holders: &[usize], hidden: &[usize]| -> Result<Result<(), Unproven>, CompactionError> {
            let [holders, hidden] =
                [holders, hidden].map(|places| places.iter().map(|place| blocks[*place]).collect::<Vec<_>>());
            // The object itself, not a copy in the cache, is what stays. A proof reads files of this machine whole.
            for holder in holders.iter().filter(|_| location.is_remote()) {
                if sound.contains(&holder.facts.id) {
                    continue;
                }
                match cache.prove(location, &holder.wanted()) {
                    Err(error @ (LocationError::Block { .. } | LocationError::Changed { .. })) => {
                        return Ok(Err(Unproven::Store(error)));
                    }
                    proved => proved?,
                }
                sound.insert(holder.facts.id);
            }
            let name = |block: &&Listed| location.name(&block.object.key).into();
            let names = |blocks: &[&Listed]| blocks.iter().map(name).collect::<Vec<_>>();
            let open = |blocks: &[&Listed]| -> Result<Vec<Block>, CompactionError> {
                blocks.iter().map(|block| self.open(&block.wanted())).collect()
            };
            let opened = open(&holders).and_then(|held| Ok((held, open(&hidden)?)));
            let proved = match opened {
                Ok((held, waiting)) => {
                    let folder = self.scratch_folder()?;
                    proof.prove_blocks(&folder, (&names(&holders), &held), (&names(&hidden), &waiting))
                }
                // A file that cannot be read costs this proof.
                Err(error) if !location.is_remote() => Err(error.into()),
                Err(error) => return Err(error),
            };
            match proved {
                Err(Unproven::Compact(error @ CompactError::Cancelled)) => Err(error.into()),
                result => Ok(result),
            }
        };
        let lineages: Vec<(String, Lineage)> =
            blocks.iter().map(|block| (block.object.key.clone(), block.facts.lineage())).collect();
        let Examined { order, kept } = examine(&lineages, is_due, &mut prove)?;
        let mut keys = Vec::with_capacity(order.len());
        if !order.is_empty() {
            location.delete(&order, &mut |key| keys.push(key.to_owned()))?;
        }
        Ok(Deleted { keys, kept, ..Deleted::default() })
    }
}

/// Returns the order, the oldest first, in which blocks can be deleted that a user named and this process merged.
///
/// # Errors
/// The location cannot be listed, one of the blocks was replaced since, or another block would be live or hidden that
/// is not now.
pub fn order_of_deletion(
    location: &Location,
    doomed: &BTreeMap<String, BlockId>,
) -> Result<Vec<String>, CompactionError> {
    // Names that no listing has, such as those that begin with a dot, are looked at as well.
    for (key, id) in doomed {
        if let Some(object) = location.find(key)?
            && SparseBlock::open(location, &object)?.facts()?.id != *id
        {
            return Err(CompactionError::Replaced { object: location.name(key) });
        }
    }
    let listing = Listing::read_blocks(location)?;
    let all = listing.all();
    let live = |keep: &dyn Fn(&Listed) -> bool| -> BTreeSet<BlockId> {
        let kept = all.iter().filter(|block| keep(block));
        let lineages: Vec<Lineage> = kept.map(|block| block.facts.lineage()).collect();
        let standings = judge(&lineages).standings;
        let live = lineages.into_iter().zip(standings).filter(|(_, standing)| *standing == Standing::Live);
        live.map(|(lineage, _)| lineage.id).collect()
    };
    let ids: BTreeSet<BlockId> = doomed.values().copied().collect();
    let before: BTreeSet<BlockId> = live(&|_| true).difference(&ids).copied().collect();
    let after = live(&|block| !doomed.contains_key(&block.object.key));
    let location = location.text().to_owned();
    if let Some(&id) = after.difference(&before).next() {
        return Err(CompactionError::OtherLive {
            location,
            id,
            what: "live again, which holds a part of their series",
        });
    }
    // The inputs contradict a false claim about it.
    if let Some(&id) = before.difference(&after).next() {
        return Err(CompactionError::OtherLive { location, id, what: "hidden, which another block claims to hold" });
    }
    let mut order: Vec<(&BlockId, &String)> = doomed.iter().map(|(key, id)| (id, key)).collect();
    order.sort();
    Ok(order.into_iter().map(|(_, key)| key.clone()).collect())
}
