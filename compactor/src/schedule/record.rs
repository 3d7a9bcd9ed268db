//! [`Record`]: inputs, outputs and balance of a finished job.

use chronoxide_locations::{Location, read_document, text};
use chronoxide_reader::BlockId;
use serde::{Deserialize, Serialize};

use super::{JobInput, Schedule, ScheduleError, ScheduledJob, StoredBlock, Totals};

/// Inputs, outputs and balance of a finished job. Follows from the schedule alone, so that two runs of a job write
/// equal records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Id of the schedule.
    pub schedule: String,
    /// Name of the job.
    pub job: String,
    /// Ids of the inputs, in the order of the schedule.
    #[serde(with = "text::list")]
    pub inputs: Vec<BlockId>,
    /// Series of all inputs.
    pub read: Totals,
    /// Series that are equal to another one.
    pub duplicates: Totals,
    /// Optional sections of the inputs that the compactor does not know and did not copy.
    #[serde(default)]
    pub optional_sections_left_out: usize,
    /// Outputs, in order.
    pub outputs: Vec<StoredBlock>,
}

impl Record {
    /// Reads the record of a job. Returns `None` if the job is not done.
    ///
    /// # Errors
    /// The record cannot be read, belongs to another job, or does not balance.
    pub fn read(location: &Location, schedule: &Schedule, job: &ScheduledJob) -> Result<Option<Self>, ScheduleError> {
        let key = schedule.record_key(job);
        let refused = |reason: String| ScheduleError::Record { object: location.name(&key), reason };
        let record: Self = match read_document(location, &key) {
            Ok(record) => record,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if record.schedule != schedule.id || record.job != job.id || record.outputs.len() != job.outputs.len() {
            return Err(refused("it is the record of another job".to_owned()));
        }
        let is_output = |(output, scheduled): (&StoredBlock, &String)| output.key == schedule.key(scheduled);
        if !record.outputs.iter().zip(&job.outputs).all(is_output) {
            return Err(refused("it names outputs of another job".to_owned()));
        }
        let is_input = |(&id, input): (&BlockId, &JobInput)| input.block().is_none_or(|block| block.id == id);
        if record.inputs.len() != job.inputs.len() || !record.inputs.iter().zip(&job.inputs).all(is_input) {
            return Err(refused("the job read other inputs".to_owned()));
        }
        record.balance()?;
        Ok(Some(record))
    }

    /// Returns the series of all outputs.
    #[must_use]
    pub fn written(&self) -> Totals {
        self.outputs.iter().map(|output| output.totals).sum()
    }

    /// Checks that series and fingerprints of the inputs equal those of outputs and duplicates together.
    ///
    /// # Errors
    /// [`ScheduleError::Unbalanced`].
    pub fn balance(&self) -> Result<(), ScheduleError> {
        balance(&format!("job {}", self.job), self.read, self.written(), self.duplicates)
    }
}

/// Checks that what was read equals what was written and what was equal.
pub(super) fn balance(what: &str, read: Totals, written: Totals, duplicates: Totals) -> Result<(), ScheduleError> {
    if read == written.and(duplicates) {
        return Ok(());
    }
    Err(ScheduleError::Unbalanced {
        what: what.to_owned(),
        series_in: read.series,
        series_out: written.series,
        duplicates: duplicates.series,
        is_balanced: read.fingerprint == written.and(duplicates).fingerprint,
    })
}
