//! `chronoxide-compact`: many blocks to few.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`arguments`] | what the command understands |
//! | [`blocks`] | blocks mapped |
//! | [`deletion`] | inputs that were named deleted, once what was made of them stands |
//! | [`files`] | files to a file, or to a folder |
//! | [`folder`] | the blocks of a folder, merged in place |
//! | [`failure`] | how errors end the command |
//! | [`progress`] | how far a compaction is, on a terminal |
//! | [`report`] | what was done, for people and for programs |

mod arguments;
mod blocks;
mod deletion;
mod failure;
mod files;
mod folder;
mod progress;
mod report;

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use arguments::Arguments;
use chronoxide_cli::{Exit, Failure, Interruption, run};
use failure::Error;
use progress::Bar;

fn main() -> ExitCode {
    run(compact)
}

fn compact(arguments: Arguments) -> Result<Exit, Failure> {
    let threads = arguments.threads.map_or(0, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|source| Error::Threads { threads, source })?;
    let interruption = Interruption::watch()?;
    let bar = Bar::new(std::io::stderr().is_terminal() && !arguments.json, interruption.clone());
    interruption.begin();
    arguments.check()?;
    if let Some(folder) = arguments.remap.as_ref().filter(|_| !arguments.dry_run) {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::new(Exit::Io, format!("{}: cannot make the folder: {error}", folder.display()))
        })?;
    }
    let done = pool.install(|| match &arguments.inputs[..] {
        [folder] if folder.is_dir() => folder::compact(&arguments, folder, &bar),
        _ => files::compact(&arguments, &bar),
    });
    match done {
        Err(_) if interruption.is_there() => Ok(Exit::Interrupted),
        done => done,
    }
}
