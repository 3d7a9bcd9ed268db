//! The public API of the crate `chronoxide`, as rustdoc sees it, is that of a committed list: no release breaks it
//! unnoticed. It names no type of the physical layer.
//!
//! `CHRONOXIDE_WRITE_API=1 cargo test -p chronoxide-house --test api` writes the list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose types the crate passes on, after the crate itself.
const CRATES: [&str; 5] =
    ["chronoxide", "chronoxide-format", "chronoxide-planner", "chronoxide-reader", "chronoxide-select"];

/// Types of other crates that the crate passes on, with the names that it gives them.
const PASSED_ON: [(&str, &str); 8] = [
    ("chronoxide_format::identity::BlockId", "BlockId"),
    ("chronoxide_reader::Checks", "Checks"),
    ("chronoxide_format::column::ColumnMerge", "ColumnMerge"),
    ("chronoxide_format::view::TextLabel", "Label"),
    ("chronoxide_planner::Layout", "Layout"),
    ("chronoxide_select::Operator", "Operator"),
    ("chronoxide_format::column::Value", "Value"),
    ("chronoxide_format::column::ValueType", "ValueType"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Writes the documentation of the crates as JSON, and returns its folder.
fn documentation() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("tests are in the folder `deps` of a profile").to_owned();
    let mut command = Command::new(env!("CARGO"));
    command.args(["doc", "--quiet", "--locked", "--no-deps", "--lib", "--all-features", "--target-dir"]).arg(&target);
    command.args(CRATES.iter().flat_map(|name| ["-p", name]));
    command.env("RUSTDOC", root().join("house/tests/rustdoc.sh"));
    command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    // Tests get it for their times. With it, cargo would build what others use again, in another way.
    command.env_remove("RUSTC_BOOTSTRAP");
    let done = command.current_dir(root()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    target.join("doc")
}

/// Returns the items of a crate with their paths in it, a line each.
fn items(folder: &Path, name: &str) -> Vec<String> {
    let json = folder.join(name.replace('-', "_")).with_extension("json");
    let api = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).build();
    api.unwrap_or_else(|error| panic!("{name}: {error}")).items().map(ToString::to_string).collect()
}

/// Returns true if an item is a type, or is in it, or implements a trait for it.
fn is_about(item: &str, path: &str) -> bool {
    // Lifetimes of an `impl`, and the trait that is implemented, come before the type.
    let subject = item.rsplit_once(" for ").map_or(item, |(_, implementor)| implementor);
    let words = subject.split(' ').find(|word| word.contains("::"));
    let rest = words.and_then(|word| word.strip_prefix(path));
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

fn public_api() -> Vec<String> {
    let folder = documentation();
    let [mut own, format, planner, reader, select] = CRATES.map(|name| items(&folder, name));
    let names: Vec<_> = own.iter().filter_map(|item| item.strip_prefix("pub use chronoxide::")).collect();
    assert_eq!(names, PASSED_ON.map(|(_, name)| name), "types that the crate passes on");
    for (path, name) in PASSED_ON {
        let all = [&format, &planner, &reader, &select].into_iter().flatten();
        let passed: Vec<String> = all.filter(|item| is_about(item, path)).cloned().collect();
        assert!(!passed.is_empty(), "{path} ({name}) was not found");
        own.extend(passed);
    }
    own
}

#[test]
fn the_public_api_is_that_of_the_list() {
    let found = public_api();
    let path = root().join("chronoxide/api.txt");
    if std::env::var_os("CHRONOXIDE_WRITE_API").is_some() {
        fs::write(&path, found.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let list = fs::read_to_string(&path).unwrap();
    let listed: Vec<&str> = list.lines().collect();
    let new: Vec<_> = found.iter().filter(|item| !listed.contains(&item.as_str())).collect();
    let gone: Vec<_> = listed.iter().filter(|item| !found.iter().any(|found| found == *item)).collect();
    assert!(new.is_empty() && gone.is_empty(), "chronoxide/api.txt lacks {new:#?} and has {gone:#?}");
    assert!(found.len() >= 300, "only {} items were found", found.len());
    let physical = ["BlockView", "Searcher", "Index", "Keyset", "Table", "SymbolId", "KeyId", "SeriesRef", "BlockSet"];
    // Conversions from types of the crate's parts are for the commands, and not promised.
    let is_own = |item: &&String| item.contains("chronoxide::") && !item.contains("From<") && !item.contains("::from(");
    for item in found.iter().filter(is_own) {
        let words: Vec<&str> = item.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        assert!(!words.iter().any(|word| physical.contains(word)), "{item}");
    }
}
