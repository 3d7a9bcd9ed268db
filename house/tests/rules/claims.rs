//! Documents and the code say the same where a person would not notice that they differ.

use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the text between two texts, which must both be there.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before:?} is missing"));
    rest.split_once(after).unwrap_or_else(|| panic!("{after:?} is missing")).0
}

#[test]
fn the_changelog_names_the_version_of_the_planner() {
    let (changelog, planner) = (read("CHANGELOG.md"), read("planner/src/lib.rs"));
    assert_eq!(between(&changelog, "(planner version ", ")"), between(&planner, "pub const VERSION: u32 = ", ";"));
}

/// A run with another limit than the default is named with it.
#[test]
fn the_merges_of_a_thousand_million_series_have_the_default_limit_and_the_memory_that_the_readme_names() {
    let (readme, scale) = (read("README.md"), read("docs/scale.md"));
    let run = between(&scale, "\n## A thousand million series\n", "\n## ");
    let options = between(run, "chronoxide-compact w0/*.cx w1/*.cx w2/*.cx w3/*.cx -o 0.cx", "#");
    assert_eq!(options.trim(), "");
    let figure = between(&readme, "A thousand million series", "[docs/scale.md]");
    assert!(run.contains(" on 4 GiB of memory") && figure.contains(" 4 GiB of memory"), "{figure}");
}
