//! [`run`]: one job of a schedule.

use std::path::Path;

use chronoxide_format::identity::Fingerprint;
use chronoxide_locations::{Facts, Location, LocationError, SparseBlock};
use chronoxide_reader::BlockId;

use super::record::Record;
use super::staging::{ABORT, COMMITTED, document};
use super::{JobInput, Schedule, ScheduleError, ScheduledJob, StoredBlock, Totals};
use crate::CompactionError;
use crate::engine::{Inputs, Publisher, Workplace};

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    /// Inputs, outputs and balance of the job. `None` if the schedule is committed, which deletes records.
    pub record: Option<Record>,
    /// True if it had been done before, so that nothing was merged.
    pub was_done: bool,
}

/// Runs one job, unless its record and outputs exist. May be called again, and by several machines at once.
///
/// # Errors
/// See [`ScheduleError`]. After an error the job can be run again.
pub fn run(schedule: &Schedule, job: &ScheduledJob, place: &Workplace<'_>) -> Result<JobRun, ScheduleError> {
    let location = place.location;
    if location.find(&schedule.key(ABORT))?.is_some() {
        return Err(ScheduleError::Aborted);
    }
    if location.find(&schedule.key(COMMITTED))?.is_some() {
        return Ok(JobRun { record: None, was_done: true });
    }
    match Record::read(location, schedule, job) {
        Ok(None) => {}
        Ok(Some(record)) if are_there(location, &record)? => {
            return Ok(JobRun { record: Some(record), was_done: true });
        }
        // Damaged: made again.
        Ok(Some(_))
        | Err(
            ScheduleError::Record { .. }
            | ScheduleError::Unbalanced { .. }
            | ScheduleError::Store(LocationError::Json { .. }),
        ) => {
            let outputs = job.outputs.iter().map(|output| schedule.key(output));
            let keys: Vec<String> = std::iter::once(schedule.record_key(job)).chain(outputs).collect();
            location.delete(&keys, &mut |_| {})?;
        }
        Err(error) => return Err(error),
    }
    let inputs = open(schedule, job, place)?;
    // So that the objects of a schedule are explained, also when its document is lost.
    location.create_bytes(&schedule.document_key(), schedule.to_json().as_bytes())?;
    let record = merge(schedule, job, place, &inputs)?;
    location.create_bytes(&schedule.record_key(job), &document(&record))?;
    Ok(JobRun { record: Some(record), was_done: false })
}

/// Returns true if the outputs of a record exist, as far as their header and meta section say.
pub(super) fn are_there(location: &Location, record: &Record) -> Result<bool, ScheduleError> {
    for output in &record.outputs {
        if !is_there(location, output)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if a block exists under its key: two ranged reads.
pub(super) fn is_there(location: &Location, block: &StoredBlock) -> Result<bool, ScheduleError> {
    Ok(stated_facts(location, block)?.is_some())
}

/// Returns what a block states, if it exists under its key: two ranged reads.
pub(super) fn stated_facts(location: &Location, block: &StoredBlock) -> Result<Option<Facts>, ScheduleError> {
    let Some(object) = location.find(&block.key)? else { return Ok(None) };
    if object.byte_len != block.bytes {
        return Ok(None);
    }
    match SparseBlock::open(location, &object).and_then(|mut opened| opened.facts()) {
        Ok(facts) => {
            let is_same = facts.id == block.id
                && facts.header_checksum == block.header_checksum
                && block.totals == Totals { series: facts.series, fingerprint: facts.fingerprint };
            Ok(is_same.then_some(facts))
        }
        Err(LocationError::Block { .. } | LocationError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Blocks that a job reads.
struct JobInputs {
    inputs: Inputs,
    ids: Vec<BlockId>,
    totals: Vec<Totals>,
}

/// Brings all inputs to this machine.
fn open(schedule: &Schedule, job: &ScheduledJob, place: &Workplace<'_>) -> Result<JobInputs, ScheduleError> {
    let mut blocks = Vec::with_capacity(job.inputs.len());
    for input in &job.inputs {
        blocks.push(match input {
            JobInput::Block(block) => block.clone(),
            JobInput::Output { job, output } => {
                let other = schedule.job(job).ok_or_else(|| ScheduleError::NoJob { job: job.clone() })?;
                let record = Record::read(place.location, schedule, other)?;
                let record = record.ok_or_else(|| ScheduleError::NotDone { job: job.clone() })?;
                let missing = || ScheduleError::NoJob { job: format!("{job}, output {output}") };
                record.outputs.into_iter().nth(*output as usize).ok_or_else(missing)?
            }
        });
    }
    let inputs = Inputs::open(place, blocks.iter().map(StoredBlock::wanted)).map_err(|error| match error {
        CompactionError::Store(LocationError::Missing { object }) if job.stage == 1 => {
            ScheduleError::Stale { object, reason: "it is gone".to_owned() }
        }
        error => error.into(),
    })?;
    for (opened, block) in inputs.blocks().iter().zip(&blocks) {
        let stated = opened.view().meta().ok().and_then(|meta| {
            Some(Totals { series: meta.series_count(), fingerprint: Fingerprint::from_parts(meta.fingerprint())? })
        });
        if stated != Some(block.totals) {
            let reason = "its series are not those that the schedule states".to_owned();
            return Err(ScheduleError::Stale { object: place.location.name(&block.key), reason });
        }
    }
    let (ids, totals) = blocks.iter().map(|block| (block.id, block.totals)).unzip();
    Ok(JobInputs { inputs, ids, totals })
}

fn merge(
    schedule: &Schedule,
    job: &ScheduledJob,
    place: &Workplace<'_>,
    opened: &JobInputs,
) -> Result<Record, ScheduleError> {
    let options = schedule.compact_options(job)?;
    let JobInputs { inputs, ids, totals } = opened;
    let keys: Vec<String> = job.outputs.iter().map(|output| schedule.key(output)).collect();
    let verify = |path: &Path| place.verify(path);
    let output = options.origin.as_ref().map(|origin| origin.job.output);
    let mut publisher = Publisher::new(place, &verify).under(&keys).only(output);
    let mut written = Vec::with_capacity(keys.len());
    let folder = place.scratch_folder()?;
    let summary = inputs.merge_to(&options, place, None, |compaction| {
        compaction.publish_in(&folder, |_, draft| {
            written.push(Totals { series: draft.series_count(), fingerprint: draft.fingerprint() });
            publisher.publish(draft.into())
        })
    })?;
    let outputs = publisher.finish()?.into_iter().zip(written).map(|(output, totals)| StoredBlock {
        key: output.key,
        id: output.id,
        bytes: output.byte_len,
        header_checksum: output.header_checksum,
        totals,
    });
    let record = Record {
        schedule: schedule.id.clone(),
        job: job.id.clone(),
        inputs: ids.clone(),
        read: totals.iter().copied().sum(),
        duplicates: Totals { series: summary.duplicates, fingerprint: summary.duplicates_sum },
        optional_sections_left_out: summary.optional_sections_left_out,
        outputs: outputs.collect(),
    };
    record.balance()?;
    Ok(record)
}
