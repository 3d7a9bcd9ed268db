//! Bans phrases from comments, messages and documents: the list that CONTRIBUTING.md describes.

use regex::Regex;

use crate::files::{File, files};

/// Beginnings of comments that name no thing, or hide a verb.
const BANNED_BEGINNINGS: &str =
    r"^(The same|Those|Of|What|Whether|How many|How much|So many|So much|As|Where|It|They|And|But|By)\b";

/// Phrases that a reader has to translate, in comments, documents and text of programs.
const BANNED_PHRASES: &str = r#"(?ix)\b(
    who\ (wants|reads|writes|has|keeps|asks) | whoever | somebody | nobody | so\ many | that\ which | of\ which
    | what\ was\ said | what\ is\ no | passed\ over | left\ alone | have\ it\ so | so\ it\ is | be\ it\ there
    | (bytes|labels|pairs|numbers|nanoseconds|ns)\ a\ series
)\b"#;

/// "is no block": write "is not a block".
const BANNED_NEGATIONS: &str = r"(?i)\b(\w+) is no (\w+)\b";

fn is_banned_negation(negations: &Regex, line: &str) -> bool {
    negations.captures_iter(line).any(|found| {
        let (subject, noun) = (&found[1].to_ascii_lowercase(), &found[2].to_ascii_lowercase());
        subject != "there" && !matches!(noun.as_str(), "longer" | "more")
    })
}

/// Returns the comments of a Rust file, or the text of a document without code, with line numbers.
fn prose(file: &File) -> Vec<(usize, &str)> {
    let is_rust = file.has_ending("rs");
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let mut line = line.trim_start();
        if is_rust {
            let comment =
                line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).or_else(|| line.strip_prefix("//"));
            let Some(comment) = comment else {
                is_code = false;
                continue;
            };
            line = comment.trim_start();
        }
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push((number, line));
        }
    }
    found
}

/// Files that name the banned phrases.
fn names_phrases(file: &File) -> bool {
    file.path.ends_with("house/tests/rules/prose.rs") || file.path.ends_with("CONTRIBUTING.md")
}

#[test]
fn no_line_has_a_banned_phrase() {
    let (phrases, negations) = (Regex::new(BANNED_PHRASES).unwrap(), Regex::new(BANNED_NEGATIONS).unwrap());
    let mut found = Vec::new();
    for file in files().iter().filter(|file| !names_phrases(file)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if phrases.is_match(line) || is_banned_negation(&negations, line) {
                found.push(format!("{}:{number}: {}", file.path.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{} lines need plainer words (CONTRIBUTING.md):\n{}", found.len(), found.join("\n"));
}

#[test]
fn comments_begin_with_a_noun_or_a_verb() {
    let beginnings = Regex::new(BANNED_BEGINNINGS).unwrap();
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.has_ending("rs") && !names_phrases(file)) {
        let banned = first_lines(prose(file)).filter(|(_, line)| beginnings.is_match(line));
        found.extend(banned.map(|(number, line)| format!("{}:{number}: {line}", file.path.display())));
    }
    assert!(found.is_empty(), "{} comments name no thing (CONTRIBUTING.md):\n{}", found.len(), found.join("\n"));
}

/// Returns the first line of each comment: no comment is in the line above it.
fn first_lines<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> impl Iterator<Item = (usize, &'a str)> {
    let mut before = None;
    lines.into_iter().filter(move |&(number, _)| before.replace(number).is_none_or(|before| before + 1 != number))
}

#[test]
fn the_checks_find_what_they_ban() {
    let comments = [(1, "What it is."), (2, "Of what."), (4, "Those."), (9, "Whether."), (10, "What.")];
    assert_eq!(first_lines(comments).map(|(number, _)| number).collect::<Vec<_>>(), [1, 4, 9]);
    let phrases = Regex::new(BANNED_PHRASES).unwrap();
    for line in ["Who reads many series", "2.5 bytes a series", "there are so many", "nobody has it"] {
        assert!(phrases.is_match(line), "{line}");
    }
    assert!(!phrases.is_match("2.5 bytes per series, so the many pods"));
    let negations = Regex::new(BANNED_NEGATIONS).unwrap();
    assert!(is_banned_negation(&negations, "this is no block"));
    assert!(!is_banned_negation(&negations, "if there is no block, it is no longer open"));
}
