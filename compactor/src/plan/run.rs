//! [`run`]: one job of a plan.

use std::cell::Cell;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, Existing, Output, PublishError, Spool, publish};
use chronoxide_reader::{Block, BlockId, OpenError};
use chronoxide_store::{Cache, Created, Facts, Location, SparseBlock, StoreError, Wanted};

use super::record::Record;
use super::staging::{ABORT, COMMITTED, document};
use super::{JobInput, Plan, PlanError, PlannedJob, StoredBlock, Totals};
use crate::{CompactError, Compaction, Draft, Observer, SCRATCH_MEMORY, verify};

/// Fetches of an input whose file another job deletes before it is mapped.
const MAX_FETCHES: usize = 5;

/// Location, cache and limits of a job, or of a proof before a deletion.
#[derive(Clone, Copy)]
pub struct Workplace<'a> {
    /// The plan's location.
    pub location: &'a Location,
    /// Folder for fetched inputs and for outputs until they are uploaded.
    pub cache: &'a Cache,
    /// Maps a block whose checksums need not be checked.
    pub map: &'a (dyn Fn(&Path) -> Result<Block, OpenError> + Sync),
    /// Limit of memory in bytes.
    pub memory_limit: Option<usize>,
    /// Receives progress, and can cancel.
    pub observer: &'a dyn Observer,
}

impl fmt::Debug for Workplace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workplace")
            .field("location", &self.location)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    /// Inputs, outputs and balance of the job. `None` if the plan is committed, which deletes records.
    pub record: Option<Record>,
    /// True if it had been done before, so that nothing was merged.
    pub was_done: bool,
}

/// An input that is open on this machine.
struct Fetched {
    block: Block,
    id: BlockId,
    totals: Totals,
    name: String,
}

/// Runs one job, unless its record and outputs exist. May be called again, and by several machines at once.
///
/// # Errors
/// See [`PlanError`]. After an error the job can be run again.
pub fn run(plan: &Plan, job: &PlannedJob, place: &Workplace<'_>) -> Result<JobRun, PlanError> {
    let location = place.location;
    if location.find(&plan.key(ABORT))?.is_some() {
        return Err(PlanError::Aborted);
    }
    if location.find(&plan.key(COMMITTED))?.is_some() {
        return Ok(JobRun { record: None, was_done: true });
    }
    match Record::read(location, plan, job) {
        Ok(None) => {}
        Ok(Some(record)) if are_there(location, &record)? => {
            return Ok(JobRun { record: Some(record), was_done: true });
        }
        // Damaged: made again.
        Ok(Some(_))
        | Err(PlanError::Record { .. } | PlanError::Unbalanced { .. } | PlanError::Store(StoreError::Json { .. })) => {
            let outputs = job.outputs.iter().map(|output| plan.key(output));
            let keys: Vec<String> = std::iter::once(plan.record_key(job)).chain(outputs).collect();
            location.delete(&keys, &mut |_| {})?;
        }
        Err(error) => return Err(error),
    }
    let inputs = fetch(plan, job, place)?;
    // So that the objects of a plan are explained, also when its document is lost.
    location.create_bytes(&plan.document_key(), plan.to_json().as_bytes())?;
    let record = merge(plan, job, place, &inputs)?;
    location.create_bytes(&plan.record_key(job), &document(&record))?;
    Ok(JobRun { record: Some(record), was_done: false })
}

/// Returns true if the outputs of a record exist, as far as their header and meta section say.
pub(super) fn are_there(location: &Location, record: &Record) -> Result<bool, PlanError> {
    for output in &record.outputs {
        if !is_there(location, output)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if a block exists under its key: two ranged reads.
pub(super) fn is_there(location: &Location, block: &StoredBlock) -> Result<bool, PlanError> {
    Ok(stated_facts(location, block)?.is_some())
}

/// Returns what a block states, if it exists under its key: two ranged reads.
pub(super) fn stated_facts(location: &Location, block: &StoredBlock) -> Result<Option<Facts>, PlanError> {
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
        Err(StoreError::Block { .. } | StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Brings all inputs to this machine.
fn fetch(plan: &Plan, job: &PlannedJob, place: &Workplace<'_>) -> Result<Vec<Fetched>, PlanError> {
    let mut fetched = Vec::with_capacity(job.inputs.len());
    for input in &job.inputs {
        let of_job;
        let (wanted, totals) = match input {
            JobInput::Block(block) => (block.wanted(), block.totals),
            JobInput::Output { job, output } => {
                let other = plan.job(job).ok_or_else(|| PlanError::NoJob { job: job.clone() })?;
                let record = Record::read(place.location, plan, other)?;
                let record = record.ok_or_else(|| PlanError::NotDone { job: job.clone() })?;
                let missing = || PlanError::NoJob { job: format!("{job}, output {output}") };
                of_job = record.outputs.into_iter().nth(*output as usize).ok_or_else(missing)?;
                (of_job.wanted(), of_job.totals)
            }
        };
        let block = open(place, &wanted).map_err(|error| match (error, input) {
            (PlanError::Store(StoreError::Missing { object }), JobInput::Block(_)) => {
                PlanError::Stale { object, reason: "it is gone".to_owned() }
            }
            (error, _) => error,
        })?;
        fetched.push(Fetched { block, id: wanted.id, totals, name: place.location.name(wanted.key) });
    }
    Ok(fetched)
}

/// Fetches a block and maps it. Another job may need the cache's room in between: the block is fetched again then.
pub(super) fn open(place: &Workplace<'_>, wanted: &Wanted<'_>) -> Result<Block, PlanError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let path = place.cache.fetch_sound(place.location, wanted)?;
        match (place.map)(&path) {
            Err(OpenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound && attempts < MAX_FETCHES => {}
            opened => return Ok(opened?),
        }
    }
}

fn merge(plan: &Plan, job: &PlannedJob, place: &Workplace<'_>, inputs: &[Fetched]) -> Result<Record, PlanError> {
    let options = crate::CompactOptions { memory_limit: place.memory_limit, ..plan.compact_options(job)? };
    let located = |source| located(inputs, source);
    {
        let packed: Vec<BlockView<'_>> = inputs.iter().map(|input| *input.block.view()).collect();
        Compaction::new(&packed, &options).check_memory().map_err(located)?;
    }
    for (input, Fetched { block, .. }) in inputs.iter().enumerate() {
        block.unpack().map_err(|source| located(CompactError::Input { input, source }))?;
    }
    let views: Vec<BlockView<'_>> = inputs.iter().map(|input| *input.block.view()).collect();
    for (view, input) in views.iter().zip(inputs) {
        expect_totals(view, input)?;
    }
    let compaction = Compaction { observer: place.observer, ..Compaction::new(&views, &options) };
    let mut outputs = Vec::with_capacity(job.outputs.len());
    let mut spool = Spool::new(&Disk, place.cache.folder(), SCRATCH_MEMORY);
    let merged = compaction.merge_to_drafts(&mut spool, |number, draft| {
        let missing = || PlanError::Document { reason: format!("job {} has too few outputs", job.id) };
        let key = plan.key(job.outputs.get(number as usize).ok_or_else(missing)?);
        let output = write(place, key, draft)?;
        let id = output.id;
        outputs.push(output);
        Ok::<BlockId, PlanError>(id)
    });
    let closed = spool.close();
    let summary = merged.map_err(|error| match error {
        PlanError::Compact { error, .. } => located(error),
        error => error,
    })?;
    closed.map_err(|error| located(error.into()))?;
    let record = Record {
        plan: plan.id.clone(),
        job: job.id.clone(),
        inputs: inputs.iter().map(|input| input.id).collect(),
        read: inputs.iter().map(|input| input.totals).sum(),
        duplicates: Totals { series: summary.duplicates, fingerprint: summary.duplicates_sum },
        optional_sections_left_out: summary.optional_sections_left_out,
        outputs,
    };
    record.balance()?;
    Ok(record)
}

/// Names the input in an error of a merge.
fn located(inputs: &[Fetched], source: CompactError) -> PlanError {
    let input = source.input().and_then(|input| inputs.get(input));
    PlanError::Compact { input: input.map(|input| input.name.clone()), error: source }
}

/// Refuses an input whose meta section states another number of series or another fingerprint than the plan.
fn expect_totals(view: &BlockView<'_>, input: &Fetched) -> Result<(), PlanError> {
    let stated = view.meta().ok().and_then(|meta| {
        Some(Totals { series: meta.series_count(), fingerprint: Fingerprint::from_parts(meta.fingerprint())? })
    });
    if stated == Some(input.totals) {
        return Ok(());
    }
    let reason = "its series are not those that the plan states".to_owned();
    Err(PlanError::Stale { object: input.name.clone(), reason })
}

/// Writes an output to a file of this machine, verifies it, and creates the object.
fn write(place: &Workplace<'_>, key: String, draft: Draft<'_>) -> Result<StoredBlock, PlanError> {
    let totals = Totals { series: draft.series_count(), fingerprint: draft.fingerprint() };
    let bytes = draft.byte_len();
    // The location itself, if it is a folder: the file need not be copied then.
    let own = place.location.path(&key);
    let scratch = place.cache.scratch("output")?;
    let path = own.as_deref().unwrap_or(&scratch);
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| PlanError::Write {
        path: path.display().to_string(),
        source,
    };
    if let Some(folder) = path.parent() {
        chronoxide_publish::make_folder(&Disk, folder).map_err(|error| failed(error.into()))?;
    }
    let existing = if own.is_some() { Existing::Refuse } else { Existing::Replace };
    let mut header_checksum = None;
    let mut check = |path: &Path, id: BlockId| -> Result<(), Unfit> {
        let block = (place.map)(path)?;
        block.unpack().map_err(|source| Unfit::Damaged { source })?;
        verify(&block.view()).map_err(|source| Unfit::Damaged { source })?;
        if block.view().block_id() != id || block.bytes().len() as u64 != bytes {
            return Err(Unfit::Other);
        }
        header_checksum = Some(chronoxide_store::header_checksum(block.bytes()));
        Ok(())
    };
    let (mut draft, written) = (Some(draft), Cell::new(None));
    let write = |mut out: &mut dyn Output| {
        let id = draft.take().map(|draft| draft.write_to(&mut out)).transpose()?;
        written.set(id);
        Ok(())
    };
    let published =
        publish(&Disk, path, existing, write, |candidate| check(candidate.path(), written.get().unwrap_or_default()));
    match published {
        Ok(_) => {}
        Err(PublishError::Exists { .. }) => {
            // The id covers all bytes: it is known after they were written, if only to nowhere.
            let id = match draft.take() {
                Some(draft) => draft.write_to(&mut io::empty()).map_err(|error| failed(error.into()))?,
                None => written.get().unwrap_or_default(),
            };
            written.set(Some(id));
            match check(path, id) {
                Ok(()) => {}
                Err(Unfit::Open(error)) => return Err(error.into()),
                Err(_) => return Err(StoreError::Occupied { object: place.location.name(&key) }.into()),
            }
        }
        Err(error) => return Err(failed(error.into())),
    }
    let id = written.get().unwrap_or_default();
    let header_checksum = header_checksum.ok_or_else(|| failed("the output was not verified".into()))?;
    let output = StoredBlock { key, id, bytes, header_checksum, totals };
    if own.is_none() {
        let created = place.location.create(&output.key, &scratch);
        // Jobs of the next stage may run on this machine.
        let adopted = place.cache.adopt(&scratch, &output.wanted());
        let _: Created = created?;
        adopted?;
    }
    Ok(output)
}

/// Reason why a written output is refused.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the written block is damaged")]
    Damaged { source: chronoxide_format::Error },
    #[error("the file is another block")]
    Other,
}
