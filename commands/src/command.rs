//! Runs a command: arguments to exit code.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use chronoxide_text::escape::{TerminalSafe, is_unsafe};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Parser};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_limit::make_error_of_file_limit;
use crate::help::grouped;
use crate::message::Message;
use crate::mistake::{correct_tip, misplaced_subcommand, mistyped_subcommand, with_negative_numbers};
use crate::pages;
use crate::style::Style;

/// Parses the arguments of the process, runs the command, and reports its failure.
///
/// Help and version are printed on standard output and end with [`Exit::Ok`]. Usage errors end with [`Exit::Usage`].
/// A failure is one line on standard error with its causes: `chronoxide-inspect: error: ...`. If standard output is a
/// pipe and its reader closed it, the command ends silently with [`Exit::Ok`].
pub fn run<A: Parser>(main: impl FnOnce(A) -> Result<Exit, Failure>) -> ExitCode {
    make_error_of_file_limit();
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
    let command = with_negative_numbers(pages::with_options(A::command()));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = grouped(command.clone()).try_get_matches_from(&arguments);
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
        Err(error) => Err(answer::<A>(error, &command, arguments.get(1..).unwrap_or_default(), stdout, stderr)),
    }
}

/// Answers arguments that clap refuses, or a request for help. clap does not see that a subcommand is mistyped or comes
/// after its files: it reports what is missing or too much then.
fn answer<A: Parser>(
    mut error: clap::Error,
    command: &Command,
    arguments: &[OsString],
    stdout: &mut Stream<impl Write>,
    stderr: &mut Stream<impl Write>,
) -> Exit {
    let failure = match (error.kind(), arguments.first()) {
        (ErrorKind::MissingRequiredArgument, None) => Some(Failure::new(Exit::Usage, missing(command))),
        (ErrorKind::MissingRequiredArgument, Some(_)) => misplaced_subcommand(command, arguments, None),
        (ErrorKind::UnknownArgument, Some(first)) => {
            correct_tip(&mut error, command, arguments);
            let unknown = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(unknown)) => {
                    arguments.iter().position(|argument| argument == unknown.as_str())
                }
                _ => None,
            };
            mistyped_subcommand::<A>(first.as_ref()).or_else(|| misplaced_subcommand(command, arguments, unknown))
        }
        _ => None,
    };
    match failure {
        Some(failure) => report(command.get_name(), Err(failure), stderr),
        None => refuse::<A>(&error, stdout, stderr),
    }
}

/// Returns the message for a command without arguments, with the first of the examples in its help on a line of its
/// own.
pub(crate) fn missing(command: &Command) -> String {
    let help = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let example = help.split_once("Examples:").and_then(|(_, examples)| examples.trim_start().lines().next());
    format!("arguments are required; --help shows all of them, for example\n{}", example.unwrap_or_default())
}

/// Prints a usage error, help or version.
fn refuse<A: Parser>(error: &clap::Error, stdout: &mut Stream<impl Write>, stderr: &mut Stream<impl Write>) -> Exit {
    let rendered = error.render();
    let plain = rendered.to_string();
    // Colours are left out if the text quotes an argument that a terminal could interpret.
    let has_unsafe = plain.chars().any(|char| char != '\n' && is_unsafe(char));
    let text = |style: Style| match has_unsafe {
        true => plain.split('\n').map(|line| TerminalSafe(line).to_string()).collect::<Vec<_>>().join("\n"),
        false => style.choose(rendered.ansi().to_string(), plain.clone()),
    };
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
