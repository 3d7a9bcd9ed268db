//! Groups of subcommands in help: clap has headings for options only.

use clap::Command;

/// Order of subcommands for developers of the format: they are a group of their own, after the others.
pub(crate) const DEVELOPERS: usize = 900;

/// Puts the subcommands for developers of the format into a group of their own in the help of the command. Completions
/// and man pages, which are made of the command as it was, have them like all others.
pub(crate) fn grouped(command: Command) -> Command {
    let is_for_developers = |subcommand: &&Command| subcommand.get_display_order() == DEVELOPERS;
    let names: Vec<String> =
        command.get_subcommands().filter(is_for_developers).map(|command| command.get_name().to_owned()).collect();
    if names.is_empty() {
        return command;
    }
    let widest = command.get_subcommands().map(|subcommand| subcommand.get_name().len()).max().unwrap_or_default();
    let mut group = String::new();
    for subcommand in command.get_subcommands().filter(is_for_developers) {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        group.push_str(&format!("  {:widest$}  {about}\n", subcommand.get_name()));
    }
    let command =
        names.iter().fold(command, |command, name| command.mut_subcommand(name, |command| command.hide(true)));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{{subcommands}}\n\nCommands for developers of the \
         format:\n{group}\nArguments:\n{{positionals}}\n\nOptions:\n{{options}}{{after-help}}"
    ))
}
