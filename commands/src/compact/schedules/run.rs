//! `run`: one job of a schedule, or all of them.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chronoxide_compactor::engine::Workplace;
use chronoxide_compactor::schedule::{JobRun, Schedule, ScheduleError, ScheduledJob, run as run_job};
use chronoxide_text::human;

use super::arguments::RunArguments;
use super::source::{self, Watch};
use crate::compact::blocks;
use crate::compact::failure::Error;
use crate::{Exit, Failure, HasExit, Interruption, Message, json_line, print, tell};

/// State that all jobs of a run share.
pub(super) struct Runner<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) place: Workplace<'a>,
    pub(super) is_quiet: bool,
    pub(super) is_json: bool,
    pub(super) interruption: &'a Interruption,
    /// Threads per job.
    pub(super) threads: usize,
}

pub(super) fn run(arguments: &RunArguments, interruption: &Interruption) -> Result<Exit, Failure> {
    let schedule = source::read_schedule(&arguments.schedule)?;
    let jobs = chosen(&schedule, arguments)?;
    let parallel = arguments.parallel.map_or(1, NonZeroUsize::get).min(jobs.len().max(1));
    let cores = arguments.threads.map(NonZeroUsize::get);
    let cores = cores.or_else(|| std::thread::available_parallelism().ok().map(NonZeroUsize::get));
    let (location, cache, watch) = (source::location_of(&schedule)?, arguments.cache.open()?, Watch(interruption));
    let runner = Runner {
        schedule: &schedule,
        place: blocks::workplace(&location, &cache, &watch, arguments.memory_limit, parallel)?,
        is_quiet: arguments.quiet.is_set(),
        is_json: arguments.json,
        interruption,
        threads: (cores.unwrap_or(1) / parallel).max(1),
    };
    let exit = runner.run_all(&jobs, parallel);
    if interruption.is_set() {
        tell(|out| {
            writeln!(
                out,
                "chronoxide-compact: interrupted; jobs that are done are kept, and the same command runs the others"
            )
        });
        return Ok(Exit::Interrupted);
    }
    if arguments.all && jobs.is_empty() && !arguments.quiet.is_set() {
        tell(|out| writeln!(out, "schedule {}: no jobs", schedule.id));
    }
    Ok(exit)
}

/// Returns the jobs that the arguments name.
fn chosen<'a>(schedule: &'a Schedule, arguments: &RunArguments) -> Result<Vec<&'a ScheduledJob>, Failure> {
    let of_stage = |job: &&ScheduledJob| arguments.stage.is_none_or(|stage| stage == job.stage);
    let stage: Vec<&ScheduledJob> = schedule.jobs.iter().filter(of_stage).collect();
    if arguments.all {
        return Ok(stage);
    }
    let (job, name) = match (&arguments.job, arguments.index) {
        (Some(id), _) => (schedule.job(id), id.clone()),
        (None, index) => {
            let index = index.unwrap_or_default();
            let jobs = human::count_of(stage.len() as u64, "job");
            let of = arguments.stage.map_or_else(String::new, |stage| format!(" in stage {stage}"));
            (stage.get(index as usize).copied(), format!("number {index}: there are {jobs}{of}, numbered from 0"))
        }
    };
    let missing = || Error::Schedule(ScheduleError::NoJob { job: name });
    Ok(vec![job.ok_or_else(missing)?])
}

impl Runner<'_> {
    /// Runs jobs in order of their stages, some at a time. An error in one does not stop the others of its stage.
    /// Returns the exit code of the first error.
    pub(super) fn run_all(&self, jobs: &[&ScheduledJob], parallel: usize) -> Exit {
        let mut exit = Exit::Ok;
        for stage in [1, 2] {
            let of_stage: Vec<&ScheduledJob> = jobs.iter().copied().filter(|job| job.stage == stage).collect();
            exit = exit.or(self.run_stage(&of_stage, parallel));
            // Jobs of the next stage read what these wrote.
            if exit != Exit::Ok {
                break;
            }
        }
        exit
    }

    fn run_stage(&self, jobs: &[&ScheduledJob], parallel: usize) -> Exit {
        let (next, exit) = (AtomicUsize::new(0), Mutex::new(Exit::Ok));
        let work = || {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.interruption.is_set() {
                    break;
                }
                let done = self.run_one(job);
                if let Ok(mut exit) = exit.lock() {
                    *exit = exit.or(done);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..parallel.min(jobs.len()) {
                // Without another thread, this one does all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        exit.into_inner().unwrap_or(Exit::Io)
    }

    /// Runs one job and reports it.
    fn run_one(&self, job: &ScheduledJob) -> Exit {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let done = match pool {
            Ok(pool) => pool.install(|| run_job(self.schedule, job, &self.place)).map_err(Error::from),
            Err(source) => Err(Error::Threads { threads: self.threads, source }),
        };
        match done {
            Ok(done) => self.report(job, &done),
            Err(_) if self.interruption.is_set() => Exit::Interrupted,
            Err(error) => {
                tell(|out| writeln!(out, "chronoxide-compact: error: job {}: {}", job.id, Message(&error)));
                error.exit()
            }
        }
    }

    fn report(&self, job: &ScheduledJob, done: &JobRun) -> Exit {
        let JobRun { record, was_done } = done;
        let Some(record) = record else {
            if !self.is_quiet {
                tell(|out| writeln!(out, "{}: done before; the schedule is committed", job.id));
            }
            return Exit::Ok;
        };
        let bytes: u64 = record.outputs.iter().map(|output| output.bytes).sum();
        if self.is_json {
            let json = serde_json::json!({
                "job": job.id,
                "was_done": was_done,
                "series_in": record.read.series,
                "duplicates": record.duplicates.series,
                "series_out": record.written().series,
                "optional_sections_left_out": record.optional_sections_left_out,
                "bytes_out": bytes,
                "outputs": record.outputs,
            });
            return match print(|out| json_line(out, &json)) {
                Ok(()) => Exit::Ok,
                Err(error) => {
                    tell(|out| writeln!(out, "chronoxide-compact: error: standard output: {}", Message(&error)));
                    Exit::Io
                }
            };
        }
        if !self.is_quiet {
            let (read, written) = (human::count(record.read.series), human::count(record.written().series));
            let outputs = human::count_of(record.outputs.len() as u64, "block");
            let how = if *was_done { "done before" } else { "done" };
            let bytes = human::bytes(bytes);
            tell(|out| writeln!(out, "{}: {how}: {read} series in, {written} out, {outputs} of {bytes}", job.id));
        }
        Exit::Ok
    }
}
