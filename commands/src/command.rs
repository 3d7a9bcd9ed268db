//! Runs a command: arguments to exit code.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use chronoxide_text::escape::Escaped;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Message;
use crate::pages;
use crate::style::Style;

/// Parses the arguments of the process, runs the command, and reports its failure.
///
/// Help and version are printed on standard output and end with [`Exit::Ok`]. Usage errors end with [`Exit::Usage`].
/// A failure is one line on standard error with its causes: `chronoxide-inspect: error: ...`. If standard output is a
/// pipe and its reader closed it, the command ends silently with [`Exit::Ok`].
pub fn run<A: Parser>(main: impl FnOnce(A) -> Result<Exit, Failure>) -> ExitCode {
    let mut stdout = Stream { out: io::stdout(), style: Style::stdout() };
    let mut stderr = Stream { out: io::stderr(), style: Style::stderr() };
    match parse::<A>(std::env::args_os(), &mut stdout, &mut stderr) {
        Ok(arguments) => report(&name::<A>(), main(arguments), &mut stderr).into(),
        Err(exit) => exit.into(),
    }
}

/// Output of messages, and their style.
struct Stream<W> {
    out: W,
    style: Style,
}

impl<W: Write> Stream<W> {
    /// Writes a message. Errors are ignored: there is no other place to report them.
    fn say(&mut self, text: impl Display) {
        let _ = write!(self.out, "{text}").and_then(|()| self.out.flush());
    }
}

fn name<A: Parser>() -> String {
    A::command().get_name().to_owned()
}

/// Returns the arguments, or the exit code if the command must not run.
fn parse<A: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    stdout: &mut Stream<impl Write>,
    stderr: &mut Stream<impl Write>,
) -> Result<A, Exit> {
    let command = pages::with_options(A::command());
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let first = arguments.get(1).cloned().unwrap_or_default();
    let matches = command.clone().try_get_matches_from(arguments);
    let parsed = matches.and_then(|matches| match pages::requested(&command, &matches) {
        Ok(None) => A::from_arg_matches(&matches).map(Ok),
        Ok(Some(page)) => Ok(Err(String::from_utf8_lossy(&page).into_owned())),
        Err(error) => Err(clap::Error::raw(ErrorKind::Io, error)),
    });
    match parsed {
        Ok(Ok(arguments)) => Ok(arguments),
        Ok(Err(page)) => {
            stdout.say(page);
            Err(Exit::Ok)
        }
        // clap sees the options of an unknown subcommand first.
        Err(error) if error.kind() == ErrorKind::UnknownArgument => match mistyped_subcommand::<A>(first.as_ref()) {
            Some(failure) => Err(report(&name::<A>(), Err(failure), stderr)),
            None => Err(refuse::<A>(&error, stdout, stderr)),
        },
        Err(error) => Err(refuse::<A>(&error, stdout, stderr)),
    }
}

/// Returns the error of a first argument that is neither a file nor a URL, but similar to a subcommand: as similar as
/// clap requires for a suggestion.
#[must_use]
pub fn mistyped_subcommand<A: CommandFactory>(first: &Path) -> Option<Failure> {
    let shown = first.display().to_string();
    if shown.starts_with('-') || shown.contains(['.', '/', '\\']) || first.symlink_metadata().is_ok() {
        return None;
    }
    let names = A::command().get_subcommands().map(|command| command.get_name().to_owned()).collect::<Vec<_>>();
    if names.contains(&shown) {
        return None;
    }
    let near = names.into_iter().map(|name| (strsim::jaro(&shown, &name), name));
    let near = near.filter(|(nearness, _)| *nearness > 0.7).max_by(|left, right| left.0.total_cmp(&right.0));
    let message = |name| format!("unrecognized subcommand {}; did you mean `{name}`?", Escaped(&shown));
    near.map(|(_, name)| Failure::new(Exit::Usage, message(name)))
}

/// Prints a usage error, help or version.
fn refuse<A: Parser>(error: &clap::Error, stdout: &mut Stream<impl Write>, stderr: &mut Stream<impl Write>) -> Exit {
    let rendered = error.render();
    let text = |style: Style| style.choose(rendered.ansi().to_string(), rendered.to_string());
    if !error.use_stderr() {
        stdout.say(text(stdout.style));
        return Exit::Ok;
    }
    // Without arguments some commands show their help instead of an error.
    if error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        stderr.say(format_args!("{}: ", name::<A>()));
    }
    stderr.say(text(stderr.style));
    Exit::Usage
}

fn report(name: &str, outcome: Result<Exit, Failure>, stderr: &mut Stream<impl Write>) -> Exit {
    match outcome {
        Ok(exit) => exit,
        Err(failure) if failure.is_broken_pipe() => Exit::Ok,
        Err(failure) => {
            let error = stderr.style.bad("error:");
            stderr.say(format_args!("{name}: {error} {}\n", Message(failure.error())));
            failure.exit()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts things
    #[derive(Debug, Parser)]
    #[command(name = "chronoxide-count", version)]
    struct Arguments {
        #[arg(long)]
        limit: Option<u64>,
    }

    fn stream() -> Stream<Vec<u8>> {
        Stream { out: Vec::new(), style: Style::plain() }
    }

    fn text(stream: Stream<Vec<u8>>) -> String {
        String::from_utf8(stream.out).expect("messages are text")
    }

    fn parsed(arguments: &[&str]) -> (Result<Arguments, Exit>, String, String) {
        let (mut stdout, mut stderr) = (stream(), stream());
        let arguments = arguments.iter().map(OsString::from);
        let result = parse(arguments, &mut stdout, &mut stderr);
        (result, text(stdout), text(stderr))
    }

    fn reported(outcome: Result<Exit, Failure>) -> (Exit, String) {
        let mut stderr = stream();
        let exit = report("chronoxide-count", outcome, &mut stderr);
        (exit, text(stderr))
    }

    #[test]
    fn good_arguments_print_nothing() {
        let (result, stdout, stderr) = parsed(&["x", "--limit", "7"]);
        assert_eq!(result.expect("valid arguments").limit, Some(7));
        assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
    }

    #[test]
    fn help_and_version_are_not_errors() {
        let (result, stdout, stderr) = parsed(&["x", "--help"]);
        assert_eq!(result.unwrap_err(), Exit::Ok);
        assert!(stdout.starts_with("Counts things\n"), "{stdout}");
        assert_eq!(stderr, "");
        let (result, stdout, _) = parsed(&["x", "--version"]);
        assert_eq!(result.unwrap_err(), Exit::Ok);
        assert_eq!(stdout, concat!("chronoxide-count ", env!("CARGO_PKG_VERSION"), "\n"));
    }

    #[test]
    fn completions_and_man_pages_need_no_other_argument() {
        for (arguments, part) in [
            (&["x", "--completions", "bash"][..], "_chronoxide__count()"),
            (&["x", "--completions", "zsh"], "#compdef chronoxide-count"),
            (&["x", "--completions", "fish"], "complete -c chronoxide-count"),
            (&["x", "--man"], ".TH chronoxide-count 1"),
        ] {
            let (result, stdout, stderr) = parsed(arguments);
            assert_eq!(result.unwrap_err(), Exit::Ok);
            assert!(stdout.contains(part) && stdout.contains("limit"), "{stdout}");
            assert_eq!(stderr, "");
        }
        let (result, stdout, _) = parsed(&["x", "--man", "--limit", "7"]);
        assert_eq!((result.unwrap_err(), stdout.as_str()), (Exit::Usage, ""));
    }

    #[test]
    fn usage_errors_name_the_command() {
        for arguments in [&["x", "--limit"][..], &["x", "--limit", "seven"], &["x", "file"]] {
            let (result, stdout, stderr) = parsed(arguments);
            assert_eq!(result.unwrap_err(), Exit::Usage);
            assert_eq!(stdout, "");
            assert!(stderr.starts_with("chronoxide-count: error: "), "{stderr}");
        }
    }

    #[test]
    fn a_mistyped_subcommand_is_suggested() {
        #[derive(Debug, Parser)]
        #[command(name = "chronoxide-count")]
        struct Arguments {
            #[command(subcommand)]
            command: Option<Command>,
            file: Option<String>,
        }
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            Status {
                #[arg(long)]
                limit: u64,
            },
        }
        let parsed = |arguments: &[&str]| {
            let (mut stdout, mut stderr) = (stream(), stream());
            let result = parse::<Arguments>(arguments.iter().map(OsString::from), &mut stdout, &mut stderr);
            (result.map(|_| ()), text(stderr))
        };
        let (result, stderr) = parsed(&["x", "statsu", "--limit", "7"]);
        assert_eq!(result, Err(Exit::Usage));
        assert_eq!(stderr, "chronoxide-count: error: unrecognized subcommand \"statsu\"; did you mean `status`?\n");
        let (result, stderr) = parsed(&["x", "week.cx", "--limit", "7"]);
        assert!(result.is_err() && stderr.contains("--limit"), "{stderr}");
        assert!(parsed(&["x", "week.cx"]).0.is_ok());
        let (result, stderr) = parsed(&["x", "status", "--limit", "7", "--unknown"]);
        assert!(result.is_err() && stderr.contains("--unknown"), "{stderr}");
    }

    #[test]
    fn a_failure_is_one_line() {
        let (exit, stderr) = reported(Err(Failure::new(Exit::Corrupt, "week.cx: no block")));
        assert_eq!(exit, Exit::Corrupt);
        assert_eq!(stderr, "chronoxide-count: error: week.cx: no block\n");
    }

    #[test]
    fn success_and_findings_are_silent() {
        assert_eq!(reported(Ok(Exit::Ok)), (Exit::Ok, String::new()));
        assert_eq!(reported(Ok(Exit::Findings)), (Exit::Findings, String::new()));
    }

    #[test]
    fn a_closed_pipe_is_not_an_error() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(reported(Err(broken.into())), (Exit::Ok, String::new()));
    }
}
