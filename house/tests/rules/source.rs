//! Holds sources to one width, and imports to one order. Stable rustfmt wraps code, but neither comments nor documents,
//! and leaves groups of imports as they are; nightly's `group_imports = "StdExternalCrate"` makes this order.

use crate::files::{File, files};

/// Columns of a line, as in rustfmt.toml.
const MAX_WIDTH: usize = 120;

/// Returns the lines outside of code blocks of a document that are not rows of tables.
fn text_lines(document: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(document.lines()).filter(move |(_, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        !is_code && !line.starts_with('|') && !line.starts_with("    ")
    })
}

/// Returns the comments of a Rust file that are neither rows of tables nor examples and figures.
fn comments(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(source.lines()).filter(move |(_, line)| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            return false;
        };
        let comment = comment.trim_start_matches(['/', '!', ' ']);
        if comment.starts_with("```") {
            is_code = !is_code;
        }
        !is_code && !comment.starts_with('|')
    })
}

#[test]
fn comments_and_documents_have_at_most_120_columns() {
    let mut found = Vec::new();
    let mut check = |file: &File, (number, line): (usize, &str)| {
        let width = line.chars().count();
        // A link that is alone on its line cannot be wrapped.
        if width > MAX_WIDTH && line.split_whitespace().count() > 1 {
            found.push(format!("{}:{number}: {width} columns", file.path.display()));
        }
    };
    for file in &files() {
        if file.has_ending("md") {
            text_lines(&file.text).for_each(|line| check(file, line));
        } else if file.has_ending("rs") {
            comments(&file.text).for_each(|line| check(file, line));
        }
    }
    assert!(found.is_empty(), "{} lines are too wide:\n{}", found.len(), found.join("\n"));
}

/// Group of an import: the standard library, other crates, this crate.
fn group(import: &str) -> u8 {
    let path = import.trim_start_matches("pub ").trim_start_matches("use ");
    let root = path.split([':', ';', ' ']).next().unwrap_or_default();
    match root {
        "std" | "core" | "alloc" => 0,
        "crate" | "self" | "super" => 2,
        _ => 1,
    }
}

/// Returns the first import of a file that comes after one of a later group, in one run of imports.
fn misplaced_import(source: &str) -> Option<(usize, &str)> {
    let mut last = 0;
    let mut is_open = false;
    for (number, line) in (1..).zip(source.lines()) {
        if is_open || line.trim().is_empty() {
            // Inside an import of several lines, or between two groups.
            is_open &= !line.trim_end().ends_with(';');
        } else if line.trim_start().starts_with("use ") {
            let found = group(line.trim_start());
            if found < last {
                return Some((number, line));
            }
            last = found;
            is_open = !line.trim_end().ends_with(';');
        } else {
            last = 0;
        }
    }
    None
}

#[test]
fn imports_come_in_three_groups() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.has_ending("rs")) {
        if let Some((number, line)) = misplaced_import(&file.text) {
            found.push(format!("{}:{number}: {}", file.path.display(), line.trim()));
        }
    }
    assert!(found.is_empty(), "{} imports are in the wrong group:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_misplaced_import_is_found() {
    assert_eq!(misplaced_import("use std::fs;\n\nuse rayon::{\n    a,\n};\n\nuse super::b;\n"), None);
    assert_eq!(misplaced_import("use rayon::a;\nuse std::fs;\n"), Some((2, "use std::fs;")));
    assert_eq!(misplaced_import("use super::b;\n\nuse rayon::a;\n"), Some((3, "use rayon::a;")));
}
