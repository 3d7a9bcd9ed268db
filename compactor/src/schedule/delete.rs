//! Deletion of blocks of a location, with proof of their content.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_locations::{Listed, Listing, LocationError};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::Reason;

use super::{Schedule, ScheduleError, StoredBlock};
use crate::engine::{Deleted, Workplace};

/// Deletes the inputs of a schedule whose outputs are published, after it was proved that live blocks hold their
/// series: the outputs, under any name, or blocks that these were merged into since. Each of these blocks is read whole
/// before.
///
/// After each deletion the same blocks are live.
pub(super) fn delete_inputs(
    schedule: &Schedule,
    place: &Workplace<'_>,
    outputs: &[StoredBlock],
) -> Result<Deleted, ScheduleError> {
    let location = place.location;
    let listing = Listing::read_expecting(location, outputs.iter().map(|output| output.key.as_str()))?;
    let by_id: BTreeMap<BlockId, &Listed> = listing.all().into_iter().map(|block| (block.facts.id, block)).collect();
    let own: BTreeSet<BlockId> = outputs.iter().map(|output| output.id).collect();
    let inputs: BTreeSet<BlockId> =
        schedule.input_blocks().map(|input| input.id).filter(|id| !own.contains(id)).collect();
    if !inputs.iter().any(|id| by_id.contains_key(id)) {
        return Ok(Deleted::default());
    }
    let mut of_merges = outputs.iter();
    for merge in &schedule.merges {
        let job = schedule.lineage_job(merge)?;
        for output in of_merges.by_ref().take(merge.outputs.get() as usize) {
            if by_id.get(&output.id).is_some_and(|block| !merge.is_replaced_by(&block.facts, job)) {
                let reason = "it does not replace the inputs of the schedule".to_owned();
                return Err(ScheduleError::Stale { object: location.name(&output.key), reason });
            }
        }
    }
    if let Some(live) = listing.live.iter().find(|block| inputs.contains(&block.facts.id)) {
        if let Some(output) = outputs.iter().find(|output| !by_id.contains_key(&output.id)) {
            return Err(LocationError::Missing { object: location.name(&output.key) }.into());
        }
        let reason = "it is not hidden by the outputs of the schedule".to_owned();
        return Err(ScheduleError::Stale { object: location.name(&live.object.key), reason });
    }
    let mut sound = BTreeSet::new();
    for output in outputs.iter().filter_map(|output| by_id.get(&output.id)) {
        place.cache.prove(location, &output.wanted())?;
        sound.insert(output.facts.id);
    }
    delete_hidden_inputs(schedule, place, &listing, sound)
}

/// Deletes the inputs of a schedule that other blocks claim to hold, after it was proved that live blocks hold their
/// series. `sound` has blocks that were read whole before.
pub(super) fn delete_hidden_inputs(
    schedule: &Schedule,
    place: &Workplace<'_>,
    listing: &Listing,
    sound: BTreeSet<BlockId>,
) -> Result<Deleted, ScheduleError> {
    let inputs: BTreeSet<BlockId> = schedule.input_blocks().map(|input| input.id).collect();
    let hidden = listing.hidden.iter().map(|hidden| &hidden.block).filter(|block| inputs.contains(&block.facts.id));
    let keys: BTreeSet<&str> = hidden.map(|block| block.object.key.as_str()).collect();
    let is_due = |key: &str, reason| matches!(reason, Reason::Merged { .. }) && keys.contains(key);
    Ok(place.delete_hidden(listing, &schedule.options.external_labels, &is_due, sound)?)
}
