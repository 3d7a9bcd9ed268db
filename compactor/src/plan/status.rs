//! [`status`]: the state of a plan and its jobs.

use std::collections::BTreeSet;

use chronoxide_locations::Location;

use super::record::Record;
use super::staging::{ABORT, COMMIT, COMMITTED};
use super::{JobInput, Plan, PlanError};

/// State of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanState {
    /// Some jobs are not done.
    Open,
    /// All jobs are done.
    Ready,
    /// The commit has begun and not ended.
    Committing,
    /// The outputs are published.
    Committed,
    /// The plan was given up.
    Aborted,
}

impl PlanState {
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

/// State of a plan, and of its jobs in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// State of the plan.
    pub plan: PlanState,
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

/// Returns the state of a plan: a listing of its objects, and a read per job that is done.
///
/// # Errors
/// The objects cannot be listed or read.
pub fn status(plan: &Plan, location: &Location) -> Result<Status, PlanError> {
    let keys: BTreeSet<String> = location.list(&plan.prefix(), true)?.into_iter().map(|object| object.key).collect();
    let has = |name: &str| keys.contains(&plan.key(name));
    let is_done = |job: &str| plan.job(job).is_some_and(|job| keys.contains(&plan.record_key(job)));
    let mut jobs = Vec::with_capacity(plan.jobs.len());
    for job in &plan.jobs {
        let record = if is_done(&job.id) { Record::read(location, plan, job)? } else { None };
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
    let plan = match () {
        () if has(COMMITTED) => PlanState::Committed,
        () if has(ABORT) => PlanState::Aborted,
        () if has(COMMIT) => PlanState::Committing,
        () if all_done => PlanState::Ready,
        () => PlanState::Open,
    };
    Ok(Status { plan, jobs })
}
