//! Holds comments and documents to plain technical English: the list of phrases that CONTRIBUTING.md bans.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Beginnings of doc comments that name no thing, or hide a verb.
const BANNED_BEGINNINGS: &str =
    r"^(The same|Those|Of|What|Whether|How many|How much|So many|So much|As|Where|It|They|And|But|By)\b";

/// Phrases that a reader has to translate.
const BANNED_PHRASES: &str = r"(?i)\b(who wants|whoever|somebody|nobody|so many|that which|of which|what was said|is no [a-z]+ (of|that)\b|passed over|left alone|(bytes|labels|pairs|numbers|nanoseconds|ns) a series|have it so|so it is|be it there)\b";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace")
}

/// Adds the Rust and Markdown files of a folder, without build output.
fn find_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                find_files(&path, files);
            }
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            files.push(path);
        }
    }
}

/// Returns the prose of a file with line numbers: comments of Rust, and text of Markdown without code.
fn prose(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let line = match is_rust {
            true => {
                match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).or_else(|| line.strip_prefix("//"))
                {
                    Some(comment) => comment.trim_start(),
                    None => {
                        is_code = false;
                        continue;
                    }
                }
            }
            false => line,
        };
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push((number, line.to_owned()));
        }
    }
    found
}

#[test]
fn comments_and_documents_have_no_banned_phrase() {
    let (beginnings, phrases) = (Regex::new(BANNED_BEGINNINGS).unwrap(), Regex::new(BANNED_PHRASES).unwrap());
    let mut files = Vec::new();
    find_files(root(), &mut files);
    files.sort();
    assert!(files.len() > 300, "{} files", files.len());
    let mut found = Vec::new();
    for path in &files {
        // These files name the phrases.
        if path.ends_with("cli/tests/prose.rs") || path.ends_with("CONTRIBUTING.md") {
            continue;
        }
        let mut before = 0;
        for (number, line) in prose(path) {
            // A doc comment begins where no comment is above it.
            let is_first = path.extension().is_some_and(|extension| extension == "rs") && number != before + 1;
            before = number;
            let is_banned = phrases.is_match(&line) || is_first && beginnings.is_match(&line);
            if is_banned {
                found.push(format!("{}:{number}: {line}", path.strip_prefix(root()).unwrap_or(path).display()));
            }
        }
    }
    assert!(found.is_empty(), "{} lines need plainer words (CONTRIBUTING.md):\n{}", found.len(), found.join("\n"));
}
