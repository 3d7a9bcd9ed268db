//! [`status`]: the state of a schedule and its jobs.

use std::collections::BTreeSet;

use chronoxide_locations::Location;

use super::record::Record;
use super::staging::{ABORT, COMMIT, COMMITTED};
use super::{JobInput, Schedule, ScheduleError};

/// State of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleState {
    /// Some jobs are not done.
    Open,
    /// All jobs are done.
    Ready,
    /// The commit has begun and not ended.
    Committing,
    /// The outputs are published.
    Committed,
    /// The schedule was given up.
    Aborted,
}

impl ScheduleState {
    /// Returns the state as one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ready => "ready",
            Self::Committing => "committing",
            Self::Committed => "committed",
            Self::Aborted => "aborted",
        }
    }
}

/// State of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The job is done.
    Done(Record),
    /// The job can run.
    Ready,
    /// Jobs whose outputs it reads are not done.
    Waiting,
}

/// State of a schedule, and of its jobs in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// State of the schedule.
    pub schedule: ScheduleState,
    /// State of each job.
    pub jobs: Vec<JobState>,
}

impl Status {
    /// Returns the number of jobs that are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.jobs.iter().filter(|job| matches!(job, JobState::Done(_))).count()
    }
}

/// Returns the state of a schedule: a listing of its objects, and a read per job that is done.
///
/// # Errors
/// The objects cannot be listed or read.
pub fn status(schedule: &Schedule, location: &Location) -> Result<Status, ScheduleError> {
    let keys: BTreeSet<String> =
        location.list(&schedule.prefix(), true)?.into_iter().map(|object| object.key).collect();
    let has = |name: &str| keys.contains(&schedule.key(name));
    let is_done = |job: &str| schedule.job(job).is_some_and(|job| keys.contains(&schedule.record_key(job)));
    let mut jobs = Vec::with_capacity(schedule.jobs.len());
    for job in &schedule.jobs {
        let record = if is_done(&job.id) { Record::read(location, schedule, job)? } else { None };
        let is_waiting = |input: &JobInput| match input {
            JobInput::Output { job, .. } => !is_done(job),
            JobInput::Block(_) => false,
        };
        jobs.push(match record {
            Some(record) => JobState::Done(record),
            None if job.inputs.iter().any(is_waiting) => JobState::Waiting,
            None => JobState::Ready,
        });
    }
    let all_done = jobs.iter().all(|job| matches!(job, JobState::Done(_)));
    let schedule = match () {
        () if has(COMMITTED) => ScheduleState::Committed,
        () if has(ABORT) => ScheduleState::Aborted,
        () if has(COMMIT) => ScheduleState::Committing,
        () if all_done => ScheduleState::Ready,
        () => ScheduleState::Open,
    };
    Ok(Status { schedule, jobs })
}
