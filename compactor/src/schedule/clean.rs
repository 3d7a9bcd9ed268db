//! [`abort`] and [`clean`]: removes what schedules left behind.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_locations::{Listing, Location, Object};
use chronoxide_reader::lineage::Reason;

use super::commit::{CommittedRecord, finish_published, resume};
use super::delete::delete_inputs;
use super::staging::{ABORT, COMMIT, COMMITTED, DOCUMENT, SCHEDULES_PREFIX};
use super::{Schedule, ScheduleError};
use crate::engine::{Deleted, Kept, Workplace};

/// Result of [`clean`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Cleaned {
    /// Keys of inputs that committed schedules replaced.
    pub inputs: Vec<String>,
    /// Keys of outputs of jobs that were never finished.
    pub outputs: Vec<String>,
    /// Hidden blocks that were due and were kept, since it is not proved that live blocks hold their series.
    pub unproved: Vec<Kept>,
    /// Keys of the objects of schedules.
    pub objects: Vec<String>,
    /// Prefixes of schedules that are too young.
    pub kept: Vec<String>,
    /// Prefixes of schedules that could not be cleaned, with the reason.
    pub failed: Vec<(String, ScheduleError)>,
}

/// Gives up a schedule: deletes the outputs and records of its jobs. Its mark stays until [`clean`], so that jobs that
/// still run stop.
///
/// # Errors
/// [`ScheduleError::CommitBegun`] or [`ScheduleError::Committed`] if a commit has begun or ended, and errors of the
/// location.
pub fn abort(schedule: &Schedule, location: &Location) -> Result<Vec<String>, ScheduleError> {
    location.create_bytes(&schedule.key(ABORT), format!("{{\"schedule\":\"{}\"}}\n", schedule.id).as_bytes())?;
    for mark in [COMMITTED, COMMIT] {
        if location.find(&schedule.key(mark))?.is_some() {
            location.delete(&[schedule.key(ABORT)], &mut |_| {})?;
            return Err(if mark == COMMITTED { ScheduleError::Committed } else { ScheduleError::CommitBegun });
        }
    }
    let objects = location.list(&schedule.prefix(), true)?;
    let keys: Vec<String> =
        objects.into_iter().map(|object| object.key).filter(|key| *key != schedule.key(ABORT)).collect();
    let mut deleted = Vec::new();
    location.delete(&keys, &mut |key| deleted.push(key.to_owned()))?;
    Ok(deleted)
}

/// Takes back the abort of a schedule that was made again: equal blocks and options make an equal schedule. A commit
/// that the abort stopped is not resumed.
///
/// # Errors
/// Errors of the location.
pub fn revive(schedule: &Schedule, location: &Location) -> Result<(), ScheduleError> {
    let mark = schedule.key(ABORT);
    if location.find(&mark)?.is_some() {
        location.delete(&[schedule.key(COMMIT), mark], &mut |_| {})?;
    }
    Ok(())
}

/// Sorts the keys of a schedule's objects so that a deletion that is stopped leaves a schedule that [`clean`]
/// understands: the objects of jobs, then the marks, and the document last. A document alone is an abandoned schedule.
fn in_order_of_deletion(keys: impl Iterator<Item = String>) -> Vec<String> {
    let ends_with = |key: &String, names: &[&str]| names.iter().any(|name| key.ends_with(&format!("/{name}")));
    let mut keys: Vec<String> = keys.collect();
    keys.sort_by_cached_key(|key| {
        (ends_with(key, &[DOCUMENT]), ends_with(key, &[COMMIT, COMMITTED, ABORT]), key.clone())
    });
    keys
}

/// Removes what is older than the grace period: objects of schedules that were aborted or abandoned, and outputs of
/// unfinished jobs in the location itself. Inputs that a committed schedule is to delete go after the grace period of
/// its commit. A commit that was stopped is finished, or given up if that is not possible. `now` is in seconds since
/// 1970.
///
/// A block goes only after its content was read, and live blocks were found to hold all its series. It is kept
/// otherwise; see [`Cleaned::unproved`].
///
/// # Errors
/// Errors of listing. An error of one schedule does not stop the others: see [`Cleaned::failed`].
pub fn clean(place: &Workplace<'_>, now: i64, grace_seconds: u64) -> Result<Cleaned, ScheduleError> {
    let schedules = schedules(place.location)?;
    let mut cleaning = Cleaning { place, location: place.location, now, grace_seconds, cleaned: Cleaned::default() };
    let mut has_open_schedules = false;
    for (prefix, objects) in schedules {
        match cleaning.clean_schedule(&prefix, &objects) {
            Ok(state) => {
                has_open_schedules |= state == After::Open;
                if state != After::Deleted {
                    cleaning.cleaned.kept.push(prefix);
                }
            }
            Err(error) => {
                has_open_schedules = true;
                cleaning.cleaned.failed.push((prefix, error));
            }
        }
    }
    // The outputs of a commit that goes on are pending, too.
    if !has_open_schedules {
        cleaning.clean_outputs()?;
    }
    Ok(cleaning.cleaned)
}

/// Returns the objects of each schedule of a location, by prefix.
fn schedules(location: &Location) -> Result<BTreeMap<String, Vec<Object>>, ScheduleError> {
    let mut schedules: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for object in location.list(SCHEDULES_PREFIX, true)? {
        let below = object.key.strip_prefix(SCHEDULES_PREFIX).unwrap_or_default();
        let schedule = below.split('/').next().unwrap_or_default();
        // Other objects were not written by a schedule.
        if is_schedule_id(schedule) {
            schedules.entry(format!("{SCHEDULES_PREFIX}{schedule}/")).or_default().push(object);
        }
    }
    Ok(schedules)
}

/// Reads the document of a schedule.
fn read_schedule(location: &Location, prefix: &str) -> Result<Schedule, ScheduleError> {
    Schedule::parse(&location.read(&format!("{prefix}{DOCUMENT}"))?)
}

/// Returns true for 32 lower-case hexadecimal digits.
fn is_schedule_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

struct Cleaning<'a> {
    place: &'a Workplace<'a>,
    location: &'a Location,
    now: i64,
    grace_seconds: u64,
    cleaned: Cleaned,
}

/// State of a schedule after it was cleaned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Its objects are deleted.
    Deleted,
    /// Committed; the inputs are kept for the grace period.
    Committed,
    /// Too young.
    Open,
}

impl Cleaning<'_> {
    fn is_old(&self, object: &Object, grace: u64) -> bool {
        self.now.saturating_sub(object.modified) >= i64::try_from(grace).unwrap_or(i64::MAX)
    }

    fn clean_schedule(&mut self, prefix: &str, objects: &[Object]) -> Result<After, ScheduleError> {
        let find = |name: &str| objects.iter().find(|object| object.key == format!("{prefix}{name}"));
        let has_document = find(DOCUMENT).is_some();
        let mut committed = find(COMMITTED).cloned().filter(|_| has_document);
        if committed.is_none() {
            if !objects.iter().all(|object| self.is_old(object, self.grace_seconds)) {
                return Ok(After::Open);
            }
            let is_stopped = has_document && find(COMMIT).is_some() && find(ABORT).is_none();
            if is_stopped {
                let schedule = read_schedule(self.location, prefix)?;
                match resume(&schedule, self.place)? {
                    Some(_) => committed = self.location.find(&schedule.key(COMMITTED))?,
                    None if !self.add(finish_published(&schedule, self.place)?) => return Ok(After::Committed),
                    None => {}
                }
            }
        }
        if let Some(committed) = committed {
            let schedule = read_schedule(self.location, prefix)?;
            if let Some(record) = CommittedRecord::read(&schedule, self.location)? {
                let grace = if record.delete_inputs { record.grace_seconds } else { self.grace_seconds };
                if !self.is_old(&committed, grace) {
                    return Ok(After::Committed);
                }
                if record.delete_inputs && !self.add(delete_inputs(&schedule, self.place, &record.outputs)?) {
                    return Ok(After::Committed);
                }
            }
        }
        // A commit that was just finished has added objects.
        let objects = self.location.list(prefix, true)?;
        let keys = in_order_of_deletion(objects.into_iter().map(|object| object.key));
        self.location.delete(&keys, &mut |key| self.cleaned.objects.push(key.to_owned()))?;
        Ok(After::Deleted)
    }

    /// Adds inputs to the result. Returns false if a later attempt can delete more of them.
    fn add(&mut self, Deleted { keys, kept, .. }: Deleted) -> bool {
        let is_final = kept.iter().all(|kept| kept.reason.is_final());
        self.cleaned.inputs.extend(keys);
        self.cleaned.unproved.extend(kept);
        is_final
    }

    /// Deletes old outputs of jobs that lack others.
    fn clean_outputs(&mut self) -> Result<(), ScheduleError> {
        let old_keys = |listing: &Listing| -> BTreeSet<String> {
            let hidden = listing.hidden.iter().filter(|hidden| matches!(hidden.reason, Reason::Pending { .. }));
            let old = hidden.filter(|hidden| self.is_old(&hidden.block.object, self.grace_seconds));
            old.map(|hidden| hidden.block.object.key.clone()).collect()
        };
        // Most locations have none, as their manifest says. What is deleted follows from the blocks themselves.
        if old_keys(&Listing::read(self.location)?).is_empty() {
            return Ok(());
        }
        let listing = Listing::read_blocks(self.location)?;
        let old = old_keys(&listing);
        let is_due = |key: &str, reason| matches!(reason, Reason::Pending { .. }) && old.contains(key);
        let Deleted { keys, kept, .. } = self.place.delete_hidden(&listing, &[], &is_due, BTreeSet::new())?;
        self.cleaned.outputs.extend(keys);
        self.cleaned.unproved.extend(kept);
        Ok(())
    }
}
