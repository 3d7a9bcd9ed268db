//! Subcommands for schedules: compactions as jobs for many machines.
//!
//! | module | content |
//! | --- | --- |
//! | `arguments` | arguments |
//! | `source` | reads schedules, and opens the location and the cache |
//! | `schedule` | `schedule` and `schedule --abort` |
//! | `run` | `run`: one job, or all of them |
//! | `publish` | `commit` and `status` |
//! | `tidy` | `clean` and `index` |

mod arguments;
mod publish;
mod run;
mod schedule;
mod source;
mod tidy;

use crate::{Exit, Failure, Interruption};
pub(crate) use arguments::Command;
pub(crate) use source::warn_of_manifest;

/// Runs a subcommand.
pub(crate) fn dispatch(command: &Command, interruption: &Interruption) -> Result<Exit, Failure> {
    match command {
        Command::Schedule(arguments) => schedule::schedule(arguments),
        Command::Run(arguments) => run::run(arguments, interruption),
        Command::Commit(arguments) => publish::commit(arguments, interruption),
        Command::Status(arguments) => publish::status(arguments),
        Command::Clean(arguments) => tidy::clean(arguments, interruption),
        Command::Index(arguments) => tidy::index(arguments),
    }
}
