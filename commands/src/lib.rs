//! The commands `chronoxide-ingest`, `chronoxide-compact` and `chronoxide-inspect`, and what only commands need:
//! arguments, exit codes, messages, progress, terminals, URLs as inputs and outputs.
//!
//! A command is a clap parser and a function from its arguments to an [`Exit`] or a [`Failure`]. [`run`] does the rest:
//! help, usage errors, and errors with their causes on standard error. It ends silently if the reader of standard
//! output closes the pipe. The programs in `src/bin` call `main` of their module.
//!
//! | module | contents |
//! | --- | --- |
//! | [`ingest`] | the command `chronoxide-ingest` |
//! | [`compact`] | the command `chronoxide-compact` |
//! | [`inspect`] | the command `chronoxide-inspect` |
//! | `exit` | [`Exit`], the exit codes, and [`HasExit`], errors with an exit code |
//! | `failure` | [`Failure`], an error with its exit code |
//! | `layout` | [`Layout`], the argument `--layout`, and the argument `--format-version` |
//! | `target` | [`url`] of a path; [`existing`], [`is_folder`] and others, checks of output paths |
//! | `upload` | [`Upload`] and [`remote_target`], outputs that go to an object store |
//! | `command` | [`run`], arguments to exit code |
//! | `mistake` | mistakes in arguments, and what was probably meant; [`mistyped_subcommand`] |
//! | `pages` | completions and man pages |
//! | `quiet` | [`Quiet`], the option `--quiet` |
//! | `message` | [`Message`], an error and its causes as one line |
//! | `file_limit` | SIGXFSZ: a file that exceeds the limit of the process is an error |
//! | `help` | groups of subcommands in help |
//! | `interruption` | [`Interruption`], SIGINT and SIGTERM |
//! | `output` | [`print()`] and [`print_styled`] for standard output, with errors; [`tell`] for standard error |
//! | `safe` | a writer that escapes what a terminal could interpret |
//! | [`argument`] | parsers of arguments: sizes, times, durations |
//! | `download` | [`fetch_url`], and progress of downloads ([`show_downloads`]) |
//! | [`memory`] | memory that the process may use, and the default of `--memory-limit` |
//! | `thread` | [`can_start_thread`], for optional threads |
//! | [`style`] | colours |
//!
//! ```
//! use chronoxide_commands::{Exit, Failure, print, run};
//! use chronoxide_text::{escape::Escaped, human};
//!
//! /// Prints the length of each name
//! #[derive(clap::Parser)]
//! #[command(name = "chronoxide-names")]
//! struct Arguments {
//!     names: Vec<String>,
//! }
//!
//! fn names(arguments: Arguments) -> Result<Exit, Failure> {
//!     print(|out| {
//!         for name in &arguments.names {
//!             writeln!(out, "{}: {}", Escaped(name), human::bytes(name.len() as u64))?;
//!         }
//!         Ok(())
//!     })?;
//!     Ok(Exit::Ok)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     run(names)
//! }
//! ```

pub mod argument;
mod command;
pub mod compact;
mod download;
mod exit;
mod failure;
mod file_limit;
mod help;
pub mod ingest;
pub mod inspect;
mod interruption;
mod layout;
pub mod memory;
mod message;
mod mistake;
mod output;
mod pages;
mod query_files;
mod quiet;
mod safe;
mod selectors;
pub mod style;
mod target;
mod thread;
mod upload;

pub use command::run;
pub use download::{fetch_url, show_downloads};
pub use exit::{Exit, HasExit};
pub use failure::{Failure, OrExit};
pub use interruption::Interruption;
pub(crate) use layout::FormatVersion;
pub use layout::Layout;
pub use message::Message;
pub use mistake::mistyped_subcommand;
pub(crate) use output::{is_screen_shared, json_line};
pub use output::{print, print_styled, tell};
pub use quiet::Quiet;
pub use target::{
    existing, is_folder, is_folder_or_location, location_url, url, warn_of_block_extension, warn_of_extension,
};
pub use thread::can_start_thread;
pub use upload::{Upload, remote_target};
