//! Mistakes in arguments: right words in the wrong place, and words that are nearly right.

use std::ffi::OsString;
use std::path::Path;

use chronoxide_text::escape::Escaped;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory};

use crate::exit::Exit;
use crate::failure::Failure;

/// Subcommands of other programs, and those of these commands that do the same.
const SYNONYMS: [(&str, &str); 20] = [
    ("analyze", "report"),
    ("cat", "series"),
    ("check", "verify"),
    ("compare", "diff"),
    ("convert", "export"),
    ("count", "cardinality"),
    ("delete", "clean"),
    ("describe", "summary"),
    ("info", "summary"),
    ("list", "series"),
    ("ls", "series"),
    ("names", "labels"),
    ("print", "series"),
    ("query", "series"),
    ("search", "series"),
    ("select", "series"),
    ("show", "summary"),
    ("stat", "summary"),
    ("stats", "cardinality"),
    ("validate", "verify"),
];

/// Longest text that is compared with names: no longer one is a typing error.
const MAX_TYPED_LEN: usize = 64;

/// Returns the name that was probably meant: it differs in at most a third of its characters, or it begins with the
/// typed text. Costs time in proportion to the lengths of the names.
pub(crate) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.is_empty() || typed.len() > MAX_TYPED_LEN {
        return None;
    }
    let lower = typed.to_lowercase();
    let most = (typed.chars().count() / 3).max(1);
    let is_short = |name: &&str| name.len() <= 4 * MAX_TYPED_LEN;
    let distance = |name: &str| {
        let name = name.to_lowercase();
        // Every letter is one edit away from every other: that is not similar.
        let is_beginning = lower.len() >= 3 && name.starts_with(&lower);
        let edits = strsim::damerau_levenshtein(&lower, &name);
        ((edits <= most && edits < lower.chars().count()) || is_beginning).then_some(edits)
    };
    let names = names.into_iter().filter(is_short).filter_map(|name| Some((distance(name)?, name)));
    names.min().map(|(_, name)| name)
}

/// Returns the end of a message about an unknown name, `; did you mean "..."?`. It is empty if no known name is near.
pub(crate) fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, names).map_or_else(String::new, |name| format!("; did you mean {}?", Escaped(name)))
}

/// Returns the exit code of a command whose list of an unknown name is empty. A name that may appear later is no
/// error, as in a query; a name that is nearly a known one is a mistake, and a script must not take it for a list
/// without entries.
pub(crate) fn unknown_exit(end_of_message: &str) -> Exit {
    if end_of_message.is_empty() { Exit::Ok } else { Exit::Findings }
}

/// Returns the error of a first argument that is neither a file nor a URL, but similar to a subcommand.
#[must_use]
pub fn mistyped_subcommand<A: CommandFactory>(first: &Path) -> Option<Failure> {
    let shown = first.display().to_string();
    if !is_word(&shown) || first.symlink_metadata().is_ok() {
        return None;
    }
    let command = A::command();
    let names = || command.get_subcommands().map(Command::get_name);
    if names().any(|name| name == shown) {
        return None;
    }
    let synonym = SYNONYMS.iter().find(|(other, name)| *other == shown && names().any(|known| known == *name));
    let near = synonym.map(|&(_, name)| name).or_else(|| nearest(&shown, names()));
    let message = |name| format!("unrecognized subcommand {}; did you mean `{name}`?", Escaped(&shown));
    near.map(|name| Failure::new(Exit::Usage, message(name)))
}

/// Returns true if a text may be the name of a subcommand rather than an option, a path or a URL.
pub(crate) fn is_word(text: &str) -> bool {
    !text.starts_with('-') && !text.contains(['.', '/', '\\', ':'])
}

/// Returns the error of a subcommand after a file, as in `chronoxide-inspect week.cx summary`. `arguments` are those
/// after the name of the program, and `unknown` is the position of the unknown option among them.
pub(crate) fn misplaced_subcommand(
    command: &Command,
    arguments: &[OsString],
    unknown: Option<usize>,
) -> Option<Failure> {
    let is_subcommand = |argument: &OsString| {
        command.get_subcommands().any(|subcommand| argument == subcommand.get_name())
            && Path::new(argument).symlink_metadata().is_err()
    };
    let (first, _) = arguments.split_first()?;
    let found = arguments.iter().position(is_subcommand)?;
    // Options that all subcommands have may come first: `-q series`.
    if is_subcommand(first) || (first.as_encoded_bytes().starts_with(b"-") && unknown.is_none_or(|at| at >= found)) {
        return None;
    }
    // Words that follow the subcommand stay before the files: `values week.cx` would be the label week.cx.
    let (before, from_subcommand) = arguments.split_at(found);
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let options = from_subcommand.iter().position(is_option).unwrap_or(from_subcommand.len());
    let (named, options) = from_subcommand.split_at(options);
    let words: Vec<&str> =
        named.iter().chain(before).chain(options).map(|word| word.to_str()).collect::<Option<_>>()?;
    // Text that a shell would split or expand is not shown: it could not be pasted.
    let is_plain = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "._-/=:".contains(c));
    let mut shown = words.iter().copied().take_while(is_plain).collect::<Vec<_>>().join(" ");
    if !words.iter().all(is_plain) {
        shown.push_str(" ...");
    }
    let name = command.get_name();
    Some(Failure::new(Exit::Usage, format!("put files and options after the subcommand: {name} {shown}")))
}

/// Replaces the tip of an unknown option unless it is very near: `--max-memory` is not `--max-windows`, but
/// `--memory-limit`, with which it shares the rarest word.
pub(crate) fn correct_tip(error: &mut clap::Error, command: &Command, arguments: &[OsString]) {
    // No argument of these commands begins with a hyphen: clap's `to pass it as a value` leads astray.
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(typed) = typed.strip_prefix("--").map(str::to_owned) else { return };
    let of_subcommand = arguments.iter().find_map(|argument| command.find_subcommand(argument));
    let options = || of_subcommand.unwrap_or(command).get_arguments().filter_map(|option| option.get_long());
    if options().any(|option| strsim::damerau_levenshtein(option, &typed) <= 1) {
        return;
    }
    // An option of a subcommand, before it or without it, has no near one here.
    let is_of_other = |other: &Command| other.get_arguments().any(|option| option.get_long() == Some(typed.as_str()));
    if of_subcommand.is_none() && command.get_subcommands().any(is_of_other) {
        error.remove(ContextKind::SuggestedArg);
        // clap shows the usage of its suggestion.
        error.remove(ContextKind::Usage);
        return;
    }
    let frequency = |word: &str| options().filter(|option| option.split('-').any(|other| other == word)).count();
    let rarity = |option: &str| -> f64 {
        let shared = typed.split('-').filter(|word| option.split('-').any(|other| other == *word));
        shared.map(|word| 1.0 / frequency(word) as f64).sum()
    };
    let best = options().map(|option| (rarity(option), option)).max_by(|left, right| left.0.total_cmp(&right.0));
    if let Some((rarity, option)) = best
        && rarity > 0.0
    {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{option}")));
        error.remove(ContextKind::Usage);
    }
}

/// Adds to each option with a value that the value may be a negative number, so that the parser of the value answers
/// it. Otherwise clap takes `-1` in `--first -1` for an option, and its tip leads astray.
pub(crate) fn with_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let is_option = argument.get_long().is_some() && argument.get_action().takes_values();
            if is_option { argument.allow_negative_numbers(true) } else { argument }
        })
        .mut_subcommands(with_negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_if_few_letters_differ_or_it_goes_on() {
        for (typed, expected) in [
            ("jobb", Some("job")),
            ("jbo", Some("job")),
            ("Job", Some("job")),
            ("name", Some("namespace")),
            ("namspace", Some("namespace")),
            ("query", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, ["a", "job", "namespace", "series", "verify"]), expected, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(65), [&*"x".repeat(66)]), None);
    }
}
