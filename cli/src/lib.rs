//! What the commands share: exit codes, messages, escaping, numbers for people.
//!
//! `chronoxide-ingest`, `chronoxide-compact` and `chronoxide-inspect` answer in one voice. A command is a clap
//! parser and a function from its arguments to an [`Exit`] or a [`Failure`]; [`run`] does the rest: usage errors,
//! help, messages on standard error with their causes, and the quiet end when the reader of a pipe has seen
//! enough.
//!
//! | module | holds |
//! | --- | --- |
//! | `exit` | [`Exit`], the exit codes, and [`HasExit`], which errors choose them by |
//! | `failure` | [`Failure`], an error with its exit code |
//! | `layout` | [`Layout`], the argument `--layout` |
//! | `target` | [`existing`] and [`is_folder`], checks of output paths |
//! | `command` | [`run`], from the arguments to the exit code |
//! | `pages` | completions and man pages |
//! | `quiet` | [`Quiet`], the option `--quiet` |
//! | `message` | [`Message`], an error and its causes as one line |
//! | `output` | [`print()`], buffered standard output that reports its errors; [`tell`] for standard error |
//! | [`escape`] | untrusted text on a terminal |
//! | [`human`] | counts, sizes and ratios for people |
//! | [`memory`] | memory that the process may use, and the default of `--memory-limit` |
//! | `thread` | [`can_start_thread`], for threads that a command can do without |
//! | [`style`] | colours, when they are wanted |
//!
//! ```
//! use chronoxide_cli::{Exit, Failure, escape::Escaped, human, print, run};
//!
//! /// Says how long each name is
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
pub mod escape;
mod exit;
mod failure;
pub mod human;
mod interruption;
mod layout;
pub mod memory;
mod message;
mod output;
mod pages;
mod quiet;
pub mod style;
mod target;
mod thread;

pub use command::run;
pub use exit::{Exit, HasExit};
pub use failure::{Failure, OrExit};
pub use interruption::Interruption;
pub use layout::Layout;
pub use message::Message;
pub use output::{print, tell};
pub use quiet::Quiet;
pub use target::{existing, is_folder};
pub use thread::can_start_thread;
