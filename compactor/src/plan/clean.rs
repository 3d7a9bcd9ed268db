//! [`abort`] and [`clean`]: removes what plans left behind.

use std::collections::BTreeMap;

use chronoxide_reader::lineage::Reason;
use chronoxide_store::{Cache, Listing, Location, Object};

use super::commit::CommittedRecord;
use super::delete::delete_inputs;
use super::staging::{ABORT, COMMIT, COMMITTED, DOCUMENT, PLANS_PREFIX};
use super::{Plan, PlanError};

/// Result of [`clean`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleaned {
    /// Keys of inputs that committed plans replaced.
    pub inputs: Vec<String>,
    /// Keys of outputs of jobs that were never finished.
    pub outputs: Vec<String>,
    /// Keys of the objects of plans.
    pub objects: Vec<String>,
    /// Prefixes of plans that are too young, or whose commit has begun and not ended.
    pub kept: Vec<String>,
}

/// Gives up a plan: deletes the outputs and records of its jobs. Its mark stays until [`clean`], so that jobs that
/// still run stop.
///
/// # Errors
/// [`PlanError::CommitBegun`] if a commit has begun, and errors of the location.
pub fn abort(plan: &Plan, location: &Location) -> Result<Vec<String>, PlanError> {
    location.create_bytes(&plan.key(ABORT), format!("{{\"plan\":\"{}\"}}\n", plan.id).as_bytes())?;
    for mark in [COMMIT, COMMITTED] {
        if location.find(&plan.key(mark))?.is_some() {
            location.delete(&[plan.key(ABORT)], &mut |_| {})?;
            return Err(PlanError::CommitBegun);
        }
    }
    let objects = location.list(&plan.prefix(), true)?;
    let keys: Vec<String> =
        objects.into_iter().map(|object| object.key).filter(|key| *key != plan.key(ABORT)).collect();
    let mut deleted = Vec::new();
    location.delete(&keys, &mut |key| deleted.push(key.to_owned()))?;
    Ok(deleted)
}

/// Takes back the abort of a plan that was made again: equal blocks and options make an equal plan.
///
/// # Errors
/// Errors of the location.
pub fn revive(plan: &Plan, location: &Location) -> Result<(), PlanError> {
    let mark = plan.key(ABORT);
    if location.find(&mark)?.is_some() {
        location.delete(&[mark], &mut |_| {})?;
    }
    Ok(())
}

/// Deletes all objects of a committed plan whose inputs are not to be deleted later.
///
/// # Errors
/// Errors of the location.
pub fn forget(plan: &Plan, location: &Location) -> Result<(), PlanError> {
    let objects = location.list(&plan.prefix(), true)?;
    let mut keys: Vec<String> = objects.into_iter().map(|object| object.key).collect();
    // Without its mark, a plan that is forgotten in part would look abandoned, which is the same.
    keys.sort_by_key(|key| key.ends_with(COMMITTED));
    Ok(location.delete(&keys, &mut |_| {})?)
}

/// Removes what is older than the grace period: objects of plans that were aborted or abandoned, and outputs of
/// unfinished jobs in the location itself, whose series their parents hold. Inputs that a committed plan is to delete
/// go after the grace period of its commit. `now` is in seconds since 1970.
///
/// A plan whose commit has begun is kept: the same commit finishes it.
///
/// # Errors
/// See [`PlanError`]. What was removed before stays removed.
pub fn clean(location: &Location, cache: &Cache, now: i64, grace_seconds: u64) -> Result<Cleaned, PlanError> {
    let is_old =
        |object: &Object, grace: u64| now.saturating_sub(object.modified) >= i64::try_from(grace).unwrap_or(i64::MAX);
    let mut plans: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for object in location.list(PLANS_PREFIX, true)? {
        let below = object.key.strip_prefix(PLANS_PREFIX).unwrap_or_default();
        let plan = below.split('/').next().unwrap_or_default().to_owned();
        plans.entry(plan).or_default().push(object);
    }
    let mut cleaned = Cleaned::default();
    for (id, objects) in plans {
        let prefix = format!("{PLANS_PREFIX}{id}/");
        let find = |name: &str| objects.iter().find(|object| object.key == format!("{prefix}{name}"));
        if let Some(committed) = find(COMMITTED) {
            let plan = Plan::parse(&location.read(&format!("{prefix}{DOCUMENT}"))?)?;
            let Some(record) = CommittedRecord::read(&plan, location)? else { continue };
            let grace = if record.delete_inputs { record.grace_seconds } else { grace_seconds };
            if !is_old(committed, grace) {
                cleaned.kept.push(prefix);
                continue;
            }
            if record.delete_inputs {
                cleaned.inputs.extend(delete_inputs(&plan, location, cache, &record.outputs)?);
            }
        } else if find(COMMIT).is_some() || !objects.iter().all(|object| is_old(object, grace_seconds)) {
            cleaned.kept.push(prefix);
            continue;
        }
        let mut keys: Vec<String> = objects.iter().map(|object| object.key.clone()).collect();
        // The marks go last: a run that is stopped here goes on with the next one.
        let rank = |key: &String| [COMMITTED, ABORT, DOCUMENT].iter().any(|name| key.ends_with(name));
        keys.sort_by_key(|key| (rank(key), key.ends_with(COMMITTED) || key.ends_with(ABORT)));
        location.delete(&keys, &mut |key| cleaned.objects.push(key.to_owned()))?;
    }
    let is_unfinished = |reason| matches!(reason, Reason::Unfinished { .. });
    let hidden = Listing::read(location)?.hidden.into_iter().filter(|hidden| is_unfinished(hidden.reason));
    let old = hidden.filter(|hidden| is_old(&hidden.block.object, grace_seconds) && cleaned.kept.is_empty());
    let keys: Vec<String> = old.map(|hidden| hidden.block.object.key).collect();
    location.delete(&keys, &mut |key| cleaned.outputs.push(key.to_owned()))?;
    Ok(cleaned)
}
