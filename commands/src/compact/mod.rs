//! `chronoxide-compact`: merges blocks.
//!
//! | module | content |
//! | --- | --- |
//! | `arguments` | arguments |
//! | `blocks` | memory maps of blocks |
//! | `files` | merging named blocks |
//! | `in_place` | merging a folder or bucket in place |
//! | `kept` | blocks that were not deleted |
//! | `failure` | errors and exit codes |
//! | `schedules` | subcommands for schedules |
//! | `progress` | progress on a terminal |
//! | `report` | summary as text and JSON |
//! | `strategy_text` | strategy as text |
//! | `used` | metrics that no query uses, and labels to hash |

mod arguments;
mod blocks;
mod failure;
mod files;
mod in_place;
mod kept;
mod progress;
mod report;
mod schedules;
mod strategy_text;
mod used;

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arguments::Arguments;
use failure::Error;
use progress::Bar;

use crate::{Exit, Failure, Interruption, json_line, location_url, print, run, tell};

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    run(compact)
}

const INTERRUPTED: &str =
    "chronoxide-compact: interrupted; published outputs are kept, and the same command finishes the job";

/// Time that work has to end after an interruption: it may wait for a store, or plan a large merge.
const END_AFTER: Duration = Duration::from_secs(5);

/// Returns the time in seconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// Prints that the run was interrupted. Completed merges were reported before.
fn tell_interrupted(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        print(|out| json_line(out, &serde_json::json!({ "interrupted": true })))?;
    }
    tell(|out| writeln!(out, "{INTERRUPTED}"));
    Ok(())
}

fn compact(arguments: Arguments) -> Result<Exit, Failure> {
    let threads = arguments.threads.map_or(0, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|source| Error::Threads { threads, source })?;
    let interruption = Interruption::watch()?;
    let is_quiet = arguments.json || arguments.quiet.is_set();
    let bar = Bar::new(std::io::stderr().is_terminal() && !is_quiet, interruption.clone());
    interruption.begin();
    interruption.end_within(END_AFTER, INTERRUPTED);
    if let Some(command) = &arguments.command {
        return schedules::dispatch(command, &interruption);
    }
    arguments.check()?;
    let done = pool.install(|| match &arguments.inputs[..] {
        [path] if location_url(path).is_some() || path.is_dir() => in_place::compact(&arguments, path, &bar),
        _ => files::compact(&arguments, &bar),
    });
    match done {
        Err(_) | Ok(Exit::Interrupted) if interruption.is_set() => {
            tell_interrupted(&arguments)?;
            Ok(Exit::Interrupted)
        }
        done => done,
    }
}
