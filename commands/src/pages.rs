//! Completions for shells, and man pages.

use std::io::{self, Write};

use clap::builder::EnumValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_complete::Shell;

const COMPLETIONS: &str = "completions";
const MAN: &str = "man";

/// Adds the options that print pages. They need no other argument and exclude all others.
pub(crate) fn with_options(command: Command) -> Command {
    let completions = Arg::new(COMPLETIONS)
        .long(COMPLETIONS)
        .value_name("SHELL")
        .value_parser(EnumValueParser::<Shell>::new())
        .exclusive(true)
        .help("Print completions for a shell");
    let man =
        Arg::new(MAN).long(MAN).action(ArgAction::SetTrue).exclusive(true).help("Print the man page, for `man -l -`");
    command.arg(completions.display_order(998)).arg(man.display_order(999))
}

/// Returns the requested page, if any.
pub(crate) fn requested(command: &Command, matches: &ArgMatches) -> io::Result<Option<Vec<u8>>> {
    let mut page = Vec::new();
    if let Ok(Some(&shell)) = matches.try_get_one::<Shell>(COMPLETIONS) {
        let name = command.get_name().to_owned();
        clap_complete::generate(shell, &mut command.clone(), name, &mut page);
    } else if matches.try_get_one::<bool>(MAN).ok().flatten() == Some(&true) {
        man(command.clone(), &mut page)?;
    } else {
        return Ok(None);
    }
    Ok(Some(page))
}

/// Writes the man page of a command, then those of its subcommands.
fn man(mut command: Command, page: &mut impl Write) -> io::Result<()> {
    // Sets the names of subcommands to `prog-sub`, which are the names of their pages.
    command.build();
    clap_mangen::Man::new(command.clone()).render(page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render(page)?;
    }
    Ok(())
}
