//! [`commit`]: checks a finished schedule, and publishes its outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use chronoxide_locations::{BLOCK_SUFFIX, Cache, Facts, Listed, Listing, Location, LocationError, read_document};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::{HiddenBlocks, Lineage, Reason, ancestors, newly_hidden};
use serde::{Deserialize, Serialize};

use super::delete::{delete_hidden_inputs, delete_inputs};
use super::record::{Record, balance};
use super::run::{is_there, stated_facts};
use super::staging::{ABORT, COMMIT, COMMITTED, document};
use super::{Merge, Schedule, ScheduleError, ScheduledJob, StoredBlock, Totals};
use crate::engine::{Deleted, Kept, Workplace};

/// Looks at a published output before it counts as another block.
const PUBLISHED_CHECKS: usize = 5;

/// Options of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitOptions {
    /// Delete the inputs: at once if the grace period is 0, otherwise [`clean`](super::clean) does it later.
    pub delete_inputs: bool,
    /// Seconds between the commit and the deletion of inputs, for readers that opened them.
    pub grace_seconds: u64,
}

/// Result of a commit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Committed {
    /// Outputs in the location.
    pub outputs: Vec<StoredBlock>,
    /// Series of all inputs.
    pub read: Totals,
    /// Series of all outputs.
    pub written: Totals,
    /// Series that were equal to others.
    pub duplicates: Totals,
    /// Optional sections of the inputs that the compactor does not know and did not copy.
    pub optional_sections_left_out: usize,
    /// Keys of deleted inputs.
    pub deleted: Vec<String>,
    /// Inputs that were to be deleted and were kept, since it is not proved that the outputs hold their series.
    pub kept: Vec<Kept>,
    /// True if the schedule had been committed before.
    pub was_committed: bool,
}

/// Record of a committed schedule: its outputs and options, for [`clean`](super::clean).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommittedRecord {
    pub(super) schedule: String,
    pub(super) delete_inputs: bool,
    pub(super) grace_seconds: u64,
    pub(super) read: Totals,
    pub(super) duplicates: Totals,
    #[serde(default)]
    pub(super) optional_sections_left_out: usize,
    pub(super) outputs: Vec<StoredBlock>,
}

/// Checks that every job is done, that series and fingerprints balance over the whole schedule, and that its inputs are
/// still live; then publishes the outputs, deletes what the jobs left behind, and deletes inputs, if asked.
///
/// The outputs of one merge become visible together. Those of several merges become visible one after the other. May
/// be called again after an error, and by several machines at once.
///
/// # Errors
/// See [`ScheduleError`]. Up to the first publication nothing is changed.
pub fn commit(schedule: &Schedule, place: &Workplace<'_>, options: CommitOptions) -> Result<Committed, ScheduleError> {
    let location = place.location;
    let published = match CommittedRecord::read(schedule, location)? {
        Some(record) => Ok((record, true)),
        None => publish_all(schedule, place, options).map(|record| (record, false)),
    };
    let (mut record, was_committed) = match published {
        Ok(published) => published,
        // Another machine may have been faster, with other options, and deleted what this one looked for.
        Err(error) => (CommittedRecord::read(schedule, location)?.ok_or(error)?, true),
    };
    if options.delete_inputs && !record.delete_inputs {
        (record.delete_inputs, record.grace_seconds) = (true, options.grace_seconds);
        location.replace(&schedule.key(COMMITTED), &document(&record))?;
    }
    finish(schedule, place, record, was_committed)
}

/// Finishes a commit that was stopped, with its options. Returns `None` if it cannot be finished: the blocks have
/// changed since, or jobs are no longer done.
pub(super) fn resume(schedule: &Schedule, place: &Workplace<'_>) -> Result<Option<Committed>, ScheduleError> {
    match commit(schedule, place, marked_options(schedule, place.location)?) {
        Ok(committed) => Ok(Some(committed)),
        Err(
            ScheduleError::Stale { .. }
            | ScheduleError::NotDone { .. }
            | ScheduleError::OutputLost { .. }
            | ScheduleError::Aborted,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the options of a commit that has begun.
fn marked_options(schedule: &Schedule, location: &Location) -> Result<CommitOptions, ScheduleError> {
    match read_document(location, &schedule.key(COMMIT)) {
        // Damaged: the inputs are kept.
        Err(LocationError::Json { .. }) => Ok(CommitOptions::default()),
        read => Ok(read?),
    }
}

/// Deletes the inputs of the merges that a stopped commit published, if it was to delete inputs. The other merges of
/// the schedule are given up.
pub(super) fn finish_published(schedule: &Schedule, place: &Workplace<'_>) -> Result<Deleted, ScheduleError> {
    if !marked_options(schedule, place.location)?.delete_inputs {
        return Ok(Deleted::default());
    }
    delete_hidden_inputs(schedule, place, &Listing::read_blocks(place.location)?, BTreeSet::new())
}

/// Checks the schedule, and publishes its outputs.
fn publish_all(
    schedule: &Schedule,
    place: &Workplace<'_>,
    options: CommitOptions,
) -> Result<CommittedRecord, ScheduleError> {
    let location = place.location;
    let (records, lineages) = records(schedule, location)?;
    let [read, duplicates] = check_balance(schedule, &records)?;
    let listing = check_inputs(schedule, location)?;
    check_claims(location, &listing, &lineages)?;
    // `clean` reads it. A schedule without jobs has none yet.
    location.create_bytes(&schedule.document_key(), schedule.to_json().as_bytes())?;
    prove_outputs(schedule, location, place.cache, &records)?;
    // A commit and an abort both write their mark before they look for the other's: at least one of them stops. The
    // mark has the options, so that `clean` can finish the commit.
    location.replace(&schedule.key(COMMIT), &document(&options))?;
    if location.find(&schedule.key(ABORT))?.is_some() {
        return Err(ScheduleError::Aborted);
    }
    let mut outputs = Vec::new();
    for merge in &schedule.merges {
        for output in
            schedule.last_jobs(merge).filter_map(|job| records.get(&job.id)).flat_map(|record| &record.outputs)
        {
            outputs.push(publish(location, output)?);
        }
    }
    let CommitOptions { delete_inputs, grace_seconds } = options;
    let record = CommittedRecord {
        schedule: schedule.id.clone(),
        delete_inputs,
        grace_seconds,
        read,
        duplicates,
        // Each block of the location is an input of one job.
        optional_sections_left_out: records.values().map(|record| record.optional_sections_left_out).sum(),
        outputs,
    };
    location.create_bytes(&schedule.key(COMMITTED), &document(&record))?;
    Ok(record)
}

impl CommittedRecord {
    pub(super) fn read(schedule: &Schedule, location: &Location) -> Result<Option<Self>, ScheduleError> {
        match read_document(location, &schedule.key(COMMITTED)) {
            Ok(record) => Self::check(record, schedule, location).map(Some),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a record that does not belong to the schedule, or does not balance with it.
    fn check(self, schedule: &Schedule, location: &Location) -> Result<Self, ScheduleError> {
        let outputs: usize = schedule.merges.iter().map(|merge| merge.outputs.get() as usize).sum();
        let read: Totals = schedule.merges.iter().map(|merge| merge.totals).sum();
        let is_own = self.schedule == schedule.id
            && self.outputs.len() == outputs
            && self.outputs.iter().all(|output| *output == published(output))
            && self.read == read
            && read == self.written().and(self.duplicates);
        if is_own {
            return Ok(self);
        }
        let (object, reason) =
            (location.name(&schedule.key(COMMITTED)), "it is not the record of this schedule".to_owned());
        Err(LocationError::Json { object, reason }.into())
    }

    fn written(&self) -> Totals {
        self.outputs.iter().map(|output| output.totals).sum()
    }
}

/// Deletes the objects of jobs, and the inputs if that is due at once.
fn finish(
    schedule: &Schedule,
    place: &Workplace<'_>,
    record: CommittedRecord,
    was_committed: bool,
) -> Result<Committed, ScheduleError> {
    let location = place.location;
    let Deleted { keys: deleted, kept, .. } = match record.delete_inputs && record.grace_seconds == 0 {
        true => delete_inputs(schedule, place, &record.outputs)?,
        false => Deleted::default(),
    };
    let jobs = location.list(&schedule.key("jobs/"), true)?;
    let keys: Vec<String> = jobs.into_iter().map(|object| object.key).collect();
    location.delete(&keys, &mut |_| {})?;
    let written = record.written();
    let CommittedRecord { read, duplicates, optional_sections_left_out, outputs, .. } = record;
    Ok(Committed { outputs, read, written, duplicates, optional_sections_left_out, deleted, kept, was_committed })
}

/// Reads the records of all jobs, and checks that their outputs exist. Returns the lineage of the outputs to publish as
/// well.
fn records(
    schedule: &Schedule,
    location: &Location,
) -> Result<(BTreeMap<String, Record>, Vec<Lineage>), ScheduleError> {
    let (mut records, mut lineages) = (BTreeMap::new(), Vec::new());
    for job in &schedule.jobs {
        let not_done = || ScheduleError::NotDone { job: job.id.clone() };
        let record = Record::read(location, schedule, job)?.ok_or_else(not_done)?;
        if let Some(merge) =
            schedule.merge_of(job).filter(|merge| schedule.last_jobs(merge).any(|last| last.id == job.id))
        {
            let lineage_job = schedule.lineage_job(merge)?;
            for output in &record.outputs {
                let object = || location.name(&output.key);
                let lost = || ScheduleError::OutputLost { job: job.id.clone(), object: object() };
                let facts = stated_facts(location, output)?.ok_or_else(lost)?;
                if !merge.is_replaced_by(&facts, lineage_job) {
                    discard(schedule, location, job, output)?;
                    let reason = "it does not replace the inputs".to_owned();
                    return Err(ScheduleError::Record { object: object(), reason });
                }
                lineages.push(facts.lineage());
            }
        }
        records.insert(job.id.clone(), record);
    }
    Ok((records, lineages))
}

/// Checks that readers will see the outputs, and what they see now but for the inputs: blocks can claim to hold an
/// output before it is there, and outputs inherit the claims of their inputs.
fn check_claims(location: &Location, listing: &Listing, outputs: &[Lineage]) -> Result<(), ScheduleError> {
    let all = listing.all();
    let before: Vec<Lineage> = all.iter().map(|block| block.facts.lineage()).collect();
    let added: Vec<&Lineage> = outputs.iter().collect();
    let name = |place: &usize| match all.get(*place) {
        Some(block) => location.name(&block.object.key),
        None => outputs[*place - all.len()].id.to_string(),
    };
    match newly_hidden(&before.iter().collect::<Vec<_>>(), &added).first() {
        None => Ok(()),
        Some(HiddenBlocks { blocks, holders, .. }) => {
            let first = |places: &[usize]| places.first().map_or_else(String::new, name);
            Err(ScheduleError::Claimed { object: first(blocks), holder: first(holders) })
        }
    }
}

/// Checks the balance of each merge and of the schedule. Returns the series of all inputs, and the duplicates.
fn check_balance(schedule: &Schedule, records: &BTreeMap<String, Record>) -> Result<[Totals; 2], ScheduleError> {
    let (mut read, mut duplicates, mut written) = (Totals::ZERO, Totals::ZERO, Totals::ZERO);
    for merge in &schedule.merges {
        let of_merge = || schedule.jobs.iter().filter(|job| job.merge == merge.id);
        let equal = of_merge().filter_map(|job| records.get(&job.id)).map(|record| record.duplicates);
        let equal: Totals = equal.sum();
        let last = schedule.last_jobs(merge).filter_map(|job| records.get(&job.id)).map(Record::written);
        let last: Totals = last.sum();
        balance(&format!("merge {}", merge.id), merge.totals, last, equal)?;
        read = read.and(merge.totals);
        duplicates = duplicates.and(equal);
        written = written.and(last);
    }
    balance("the schedule", read, written, duplicates)?;
    Ok([read, duplicates])
}

/// Checks that all inputs are live, or hidden by this schedule's outputs if an earlier commit was stopped.
fn check_inputs(schedule: &Schedule, location: &Location) -> Result<Listing, ScheduleError> {
    let listing = Listing::read_expecting(location, schedule.input_blocks().map(|input| input.key.as_str()))?;
    let found: BTreeMap<(&str, BlockId), &Listed> =
        listing.all().into_iter().map(|block| ((block.object.key.as_str(), block.facts.id), block)).collect();
    let hidden: BTreeMap<&str, Reason> =
        listing.hidden.iter().map(|hidden| (hidden.block.object.key.as_str(), hidden.reason)).collect();
    let own: Vec<[u8; 16]> =
        schedule.merges.iter().map(|merge| schedule.lineage_job(merge)).collect::<Result<_, _>>()?;
    let mut lineages: BTreeMap<BlockId, Lineage> = BTreeMap::new();
    for input in schedule.input_blocks() {
        let stale =
            |reason: &str| ScheduleError::Stale { object: location.name(&input.key), reason: reason.to_owned() };
        let block = found.get(&(input.key.as_str(), input.id)).ok_or_else(|| stale("it is gone, or was replaced"))?;
        if block.object.byte_len != input.bytes || block.facts.header_checksum != input.header_checksum {
            return Err(stale("it was changed"));
        }
        match hidden.get(input.key.as_str()) {
            None => {}
            Some(Reason::Merged { job }) if own.contains(job) => {}
            Some(reason) => return Err(stale(&format!("it is hidden: {reason}"))),
        }
        lineages.insert(input.id, block.facts.lineage());
    }
    for merge in &schedule.merges {
        let parents: Vec<Lineage> = merge.parents.iter().filter_map(|id| lineages.get(id).cloned()).collect();
        if !ancestors(&parents).into_iter().eq(merge.ancestors.iter().copied()) {
            let reason = format!("the ancestors of merge {} are not those of its inputs", merge.id);
            return Err(ScheduleError::Document { reason });
        }
    }
    Ok(listing)
}

/// Reads the outputs whole and verifies them. A damaged output is deleted with the record of its job.
fn prove_outputs(
    schedule: &Schedule,
    location: &Location,
    cache: &Cache,
    records: &BTreeMap<String, Record>,
) -> Result<(), ScheduleError> {
    for job in schedule.merges.iter().flat_map(|merge| schedule.last_jobs(merge)) {
        for output in records.get(&job.id).into_iter().flat_map(|record| &record.outputs) {
            match cache.prove(location, &output.wanted()) {
                Err(error @ (LocationError::Block { .. } | LocationError::Changed { .. })) => {
                    discard(schedule, location, job, output)?;
                    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                    return Err(ScheduleError::Record { object: location.name(&output.key), reason });
                }
                proved => proved?,
            }
        }
    }
    Ok(())
}

/// Deletes an output and the record of its job, so that the job can run again.
fn discard(
    schedule: &Schedule,
    location: &Location,
    job: &ScheduledJob,
    output: &StoredBlock,
) -> Result<(), ScheduleError> {
    Ok(location.delete(&[output.key.clone(), schedule.record_key(job)], &mut |_| {})?)
}

/// Returns an output of a job as the block of the location that it becomes.
fn published(output: &StoredBlock) -> StoredBlock {
    StoredBlock { key: format!("{}{BLOCK_SUFFIX}", output.id), ..output.clone() }
}

/// Copies an output into the location, under its id, and looks at the copy.
fn publish(location: &Location, output: &StoredBlock) -> Result<StoredBlock, ScheduleError> {
    let published = published(output);
    if location.find(&published.key)?.is_none() {
        location.copy(&output.key, &published.key)?;
    }
    for number in 0..PUBLISHED_CHECKS {
        if number > 0 {
            // Some stores show the copy of another machine before it is whole.
            std::thread::sleep(Duration::from_millis(200));
        }
        if is_there(location, &published)? {
            return Ok(published);
        }
    }
    Err(LocationError::Occupied { object: location.name(&published.key) }.into())
}

impl Merge {
    /// Returns true if a block says that it is an output of the merge, whose outputs name this job.
    pub(super) fn is_replaced_by(&self, block: &Facts, job: [u8; 16]) -> bool {
        block.parents == self.parents && block.job.is_some_and(|named| named.id == job)
    }
}

impl Schedule {
    /// Returns the id of the job that the outputs of a merge name.
    pub(super) fn lineage_job(&self, merge: &Merge) -> Result<[u8; 16], ScheduleError> {
        let job = self.last_jobs(merge).next().ok_or_else(|| ScheduleError::NoJob { job: merge.id.clone() })?;
        let options = self.compact_options(job)?;
        Ok(match options.origin {
            Some(origin) => origin.job.id,
            None => chronoxide_format::identity::job_id(&merge.parents, &options.describe()),
        })
    }
}
