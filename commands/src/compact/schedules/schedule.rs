//! `schedule`: makes a schedule, or gives one up.

use std::io::IsTerminal;
use std::path::Path;

use chronoxide_compactor::schedule::{Schedule, ScheduleOptions, Sizing, abort, make_checked, revive};
use chronoxide_locations::{Listing, Location, LocationError, Manifest};
use chronoxide_publish::{Candidate, Disk, PublishError, publish};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::arguments::ScheduleArguments;
use super::source;
use crate::compact::failure::Error;
use crate::{Exit, Failure, existing, print, tell, url};

pub(super) fn schedule(arguments: &ScheduleArguments) -> Result<Exit, Failure> {
    if arguments.abort {
        return give_up(arguments);
    }
    let output = arguments.output.as_deref().filter(|output| *output != Path::new("-"));
    let is_remote = output.and_then(url).is_some();
    let existing = output.filter(|_| !is_remote).map(|output| existing(output, arguments.force)).transpose()?;
    let location = source::open(&arguments.location)?;
    let is_shown = std::io::stderr().is_terminal() && !arguments.quiet.is_set();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    let mut listing = Listing::read_with(&location, &Manifest::read(&location)?, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    let exit = source::warn_of_unreadable(&listing, "not scheduled: ");
    arguments.outputs.check()?;
    let options = arguments.outputs.options();
    let schedule_options = ScheduleOptions::new(&options, &arguments.shard_by);
    let strategy = arguments.blocks.strategy(arguments.max_series.map(Into::into));
    let made = make_checked(&location, &mut listing, &schedule_options, &strategy, &arguments.sizing());
    let (schedule, contradicted) = made.map_err(Error::from)?;
    source::warn_of_manifest(&location, &contradicted, "run `index` to correct it");
    revive(&schedule, &location).map_err(Error::from)?;
    let json = schedule.to_json();
    match (output, existing) {
        (Some(output), Some(existing)) => {
            let check = |_: &Candidate<'_>| Ok::<(), std::io::Error>(());
            publish(&Disk, output, existing, |out| out.write_all(json.as_bytes()), check)?;
        }
        (Some(url), None) => {
            let (location, key) = Location::open_object(&url.display().to_string())?;
            if arguments.force {
                location.replace(&key, json.as_bytes())?;
            } else {
                location.create_bytes(&key, json.as_bytes()).map_err(|error| occupied(error, url))?;
            }
        }
        (None, _) => print(|out| out.write_all(json.as_bytes()))?,
    }
    if !arguments.quiet.is_set() {
        summarize(&schedule, &listing, output);
    }
    Ok(exit)
}

/// Names the remedy if another schedule is in the way.
fn occupied(error: LocationError, output: &Path) -> Failure {
    match error {
        LocationError::Occupied { .. } => PublishError::<std::io::Error>::Exists { path: output.to_owned() }.into(),
        error => error.into(),
    }
}

fn summarize(schedule: &Schedule, listing: &Listing, output: Option<&Path>) {
    let (merges, jobs) =
        (human::count_of(schedule.merges.len() as u64, "merge"), human::count_of(schedule.jobs.len() as u64, "job"));
    let (blocks, memory) = (schedule.input_blocks().count() as u64, schedule.jobs.iter().map(|job| job.memory).max());
    let mut live = human::count_of(listing.live.len() as u64, "live block");
    if !listing.hidden.is_empty() {
        live.push_str(&format!(" ({} hidden)", human::count(listing.hidden.len() as u64)));
    }
    let is_empty = listing.all().is_empty();
    tell(|out| {
        if let Some(output) = output {
            let output = output.display().to_string();
            write!(out, "{}: ", TerminalSafe(&output))?;
        }
        match memory {
            None if is_empty => {
                writeln!(out, "nothing to do: {} has no blocks (*.cx)", TerminalSafe(&schedule.location))
            }
            None => writeln!(out, "nothing to do: none of {live} is due for a merge"),
            Some(memory) => {
                let memory = human::bytes(memory);
                writeln!(out, "{merges} of {blocks} of {live}, {jobs}, at most {memory} of memory per job")
            }
        }
    });
}

fn give_up(arguments: &ScheduleArguments) -> Result<Exit, Failure> {
    let schedule = source::read_schedule(&arguments.location)?;
    let location = source::location_of(&schedule)?;
    let deleted = abort(&schedule, &location).map_err(Error::from)?;
    if !arguments.quiet.is_set() {
        let objects = human::count_of(deleted.len() as u64, "object");
        tell(|out| writeln!(out, "schedule {}: aborted, {objects} deleted", schedule.id));
    }
    Ok(Exit::Ok)
}

impl ScheduleArguments {
    fn sizing(&self) -> Sizing {
        Sizing {
            job_memory: self.job_memory.map(|bytes| bytes as u64),
            job_series: self.job_series.map(Into::into),
            shards: self.shards,
        }
    }
}
