//! Subcommands for plans: compactions as jobs for many machines.
//!
//! | module | content |
//! | --- | --- |
//! | `arguments` | arguments |
//! | `source` | reads plans, and opens the location and the cache |
//! | `plan` | `plan` and `plan --abort` |
//! | `run` | `run`: one job, or all of them |
//! | `in_place` | a location that is compacted at once |
//! | `publish` | `commit` and `status` |
//! | `tidy` | `clean` and `index` |

mod arguments;
mod in_place;
mod plan;
mod publish;
mod run;
mod source;
mod tidy;

use std::time::Duration;

pub(crate) use arguments::Command;
use chronoxide_cli::{Exit, Failure, Interruption};

use crate::arguments::Arguments;

/// Time that work on a location has to end after an interruption: it may wait for a store.
const END_AFTER: Duration = Duration::from_secs(5);

/// Runs a subcommand.
pub(crate) fn dispatch(command: &Command, interruption: &Interruption) -> Result<Exit, Failure> {
    interruption.end_within(END_AFTER);
    match command {
        Command::Plan(arguments) => plan::plan(arguments),
        Command::Run(arguments) => run::run(arguments, interruption),
        Command::Commit(arguments) => publish::commit(arguments),
        Command::Status(arguments) => publish::status(arguments),
        Command::Clean(arguments) => tidy::clean(arguments),
        Command::Index(arguments) => tidy::index(arguments),
    }
}

/// Compacts a location at once, as a folder.
pub(crate) fn compact(arguments: &Arguments, url: &str, interruption: &Interruption) -> Result<Exit, Failure> {
    interruption.end_within(END_AFTER);
    in_place::compact(arguments, url, interruption)
}
