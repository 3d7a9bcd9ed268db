//! `commit` and `status`.

use chronoxide_compactor::schedule::{self, CommitOptions, Committed, JobState, Schedule, ScheduleState};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::arguments::{CommitArguments, StatusArguments};
use super::source::{self, Watch};
use crate::compact::blocks;
use crate::compact::failure::Error;
use crate::compact::kept::{kept_json, tell_kept};
use crate::compact::report::write_unknown_sections;
use crate::{Exit, Failure, Interruption, Quiet, json_line, print, print_styled, tell};

pub(super) fn commit(arguments: &CommitArguments, interruption: &Interruption) -> Result<Exit, Failure> {
    let schedule = source::read_schedule(&arguments.schedule)?;
    let location = source::location_of(&schedule)?;
    let cache = arguments.cache.open()?;
    let options = CommitOptions { delete_inputs: arguments.delete_inputs, grace_seconds: arguments.grace.as_secs() };
    let _lock = source::lock(&location)?;
    let watch = Watch(interruption);
    let place = blocks::workplace(&location, &cache, &watch, arguments.proofs.memory_limit, 1)?;
    let committed = schedule::commit(&schedule, &place, options).map_err(Error::from)?;
    show(&schedule, &committed, arguments.json, arguments.quiet)?;
    Ok(tell_kept(&location, &committed.kept))
}

/// Prints the result of a commit.
fn show(schedule: &Schedule, committed: &Committed, is_json: bool, quiet: Quiet) -> Result<(), Failure> {
    let [read, written, duplicates] =
        [committed.read, committed.written, committed.duplicates].map(|totals| totals.series);
    if is_json {
        let json = serde_json::json!({
            "schedule": schedule.id,
            "was_committed": committed.was_committed,
            "series_in": read,
            "duplicates": duplicates,
            "series_out": written,
            "optional_sections_left_out": committed.optional_sections_left_out,
            "outputs": committed.outputs,
            "deleted": committed.deleted,
            "kept": kept_json(&committed.kept),
        });
        print(|out| json_line(out, &json))?;
    } else if !quiet.is_set() {
        let how = if committed.was_committed { "was committed before" } else { "committed" };
        let outputs = human::count_of(committed.outputs.len() as u64, "block");
        let bytes = human::bytes(committed.outputs.iter().map(|output| output.bytes).sum());
        let [read, duplicates, written] = [read, duplicates, written].map(human::count);
        tell(|out| {
            writeln!(out, "schedule {}: {how}", schedule.id)?;
            writeln!(out, "  series in    {read}")?;
            writeln!(out, "  duplicates   {duplicates}")?;
            writeln!(out, "  series out   {written}")?;
            writeln!(out, "  published    {outputs}, {bytes}")?;
            match committed.deleted.len() as u64 {
                0 => {}
                deleted => writeln!(out, "  deleted      {}", human::count_of(deleted, "input"))?,
            }
            write_unknown_sections(out, "not copied", committed.optional_sections_left_out)
        });
    }
    Ok(())
}

pub(super) fn status(arguments: &StatusArguments) -> Result<Exit, Failure> {
    let schedule = source::read_schedule(&arguments.schedule)?;
    let location = source::location_of(&schedule)?;
    let status = schedule::status(&schedule, &location).map_err(Error::from)?;
    let is_published = status.schedule == ScheduleState::Committed;
    let word = |state: &JobState| match state {
        JobState::Done(_) => "done",
        // The records of a committed schedule are deleted.
        _ if is_published => "done",
        JobState::Ready => "ready",
        JobState::Waiting => "waiting",
    };
    if arguments.json {
        let jobs = schedule.jobs.iter().zip(&status.jobs).map(|(job, state)| {
            serde_json::json!({
                "id": job.id,
                "index": job.index,
                "stage": job.stage,
                "state": word(state),
                "inputs": job.inputs.len(),
                "outputs": job.outputs.len(),
                "memory": job.memory,
            })
        });
        let jobs: Vec<_> = jobs.collect();
        let json = serde_json::json!({ "schedule": schedule.id, "state": status.schedule.name(), "jobs": jobs });
        print(|out| json_line(out, &json))?;
        return Ok(Exit::Ok);
    }
    let widest = schedule.jobs.iter().map(|job| job.id.len()).max().unwrap_or(0).max(3);
    print_styled(|out, style| {
        let location = TerminalSafe(&schedule.location);
        let done = if is_published { schedule.jobs.len() } else { status.done() };
        writeln!(
            out,
            "schedule {} of {location}: {}, {done} of {} jobs done",
            schedule.id,
            status.schedule.name(),
            schedule.jobs.len()
        )?;
        if !schedule.jobs.is_empty() {
            writeln!(
                out,
                "{:<widest$}  {:>6} {:>8} {:>12} {:>8} {:>10}  state",
                "job", "inputs", "outputs", "series", "bytes", "memory"
            )?;
        }
        for (job, state) in schedule.jobs.iter().zip(&status.jobs) {
            let (series, bytes) = match state {
                JobState::Done(record) => {
                    let bytes = record.outputs.iter().map(|output| output.bytes).sum();
                    (human::count(record.written().series), human::size(bytes))
                }
                _ => ("-".to_owned(), "-".to_owned()),
            };
            let (inputs, outputs, memory) = (job.inputs.len(), job.outputs.len(), human::size(job.memory));
            let word = match word(state) {
                "done" => style.good("done").to_string(),
                other => other.to_owned(),
            };
            writeln!(
                out,
                "{:<widest$}  {inputs:>6} {outputs:>8} {series:>12} {bytes:>8} {memory:>10}  {word}",
                job.id
            )?;
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}
