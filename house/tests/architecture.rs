//! Checks the order in which crates may depend on each other, and that the README and the list of packages match the
//! crates.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate depends only on crates before it.
const ORDER: [&str; 29] = [
    "chronoxide-text",
    "chronoxide-memory",
    "chronoxide-format",
    "chronoxide-planner",
    "chronoxide-labels",
    "chronoxide-publish",
    "chronoxide-reader",
    DUMP,
    "chronoxide-select",
    "chronoxide-usage",
    "chronoxide-locations",
    "chronoxide-arrow",
    "chronoxide-compactor",
    "chronoxide",
    "chronoxide-ingest",
    "chronoxide-inspect",
    "chronoxide-commands",
    "chronoxide-stores",
    WORKLOAD,
    OBJECT_SERVER,
    TESTKIT,
    SELECT_MODEL,
    MERGE_MODEL,
    FUZZ_TARGETS,
    "chronoxide-house",
    // The workspace `engines`.
    "chronoxide-c",
    "chronoxide-datafusion",
    "chronoxide-python",
    "chronoxide-sql",
];

/// Goldens, random blocks and editors: tests of any crate may use them.
const TESTKIT: &str = "chronoxide-testkit";

/// Model of selection: tests of any crate may use it.
const SELECT_MODEL: &str = "chronoxide-select-model";

/// Model of merges: tests of any crate may use it.
const MERGE_MODEL: &str = "chronoxide-merge-model";

/// Functions that fuzzers call: tests of any crate may use them.
const FUZZ_TARGETS: &str = "chronoxide-fuzz-targets";

/// Dumps of blocks: tests of the format, which comes before it, compare them.
const DUMP: &str = "chronoxide-dump";

/// Crates that tests and benches of any crate may depend on.
const FOR_TESTS: [&str; 7] = [DUMP, TESTKIT, SELECT_MODEL, MERGE_MODEL, FUZZ_TARGETS, WORKLOAD, OBJECT_SERVER];

/// Generated workload: tests and benches of any crate may use it.
const WORKLOAD: &str = "chronoxide-workload";

/// S3 servers on loopback: tests of any crate may use them.
const OBJECT_SERVER: &str = "chronoxide-object-server";

/// Crates that may depend on fewer than all earlier ones. Engines that embed the reader get few dependencies, and a
/// workload that depended on the measured crates would change with them.
const NARROW: [(&str, &[&str]); 16] = [
    ("chronoxide-text", &[]),
    ("chronoxide-memory", &[]),
    (DUMP, &["chronoxide-text", "chronoxide-format"]),
    (TESTKIT, &["chronoxide-format", "chronoxide-labels", DUMP]),
    ("chronoxide-house", &[]),
    ("chronoxide-format", &[]),
    ("chronoxide-reader", &["chronoxide-format"]),
    ("chronoxide-select", &["chronoxide-format", "chronoxide-reader"]),
    ("chronoxide-locations", &["chronoxide-format", "chronoxide-publish", "chronoxide-reader", "chronoxide-select"]),
    ("chronoxide-arrow", &["chronoxide-format", "chronoxide-reader", "chronoxide-select"]),
    ("chronoxide-datafusion", &["chronoxide-reader", "chronoxide-select", "chronoxide-arrow", "chronoxide"]),
    ("chronoxide-sql", &["chronoxide", "chronoxide-datafusion"]),
    ("chronoxide-stores", &["chronoxide-format", "chronoxide-labels", "chronoxide-reader"]),
    (WORKLOAD, &[]),
    (OBJECT_SERVER, &[]),
    ("chronoxide-c", &["chronoxide"]),
];

/// Packages that the workspace must use.
const USED: [&str; 8] = ["memmap2", "zerocopy", "crc32fast", "bitvec", "byteview", "rayon", "tempfile", "criterion"];

/// Folders of the workspaces.
const WORKSPACES: [&str; 2] = [".", "engines"];

/// Crates that need a terminal: nothing but the commands, and programs that only this project runs, has them.
const FOR_COMMANDS: [&str; 3] = ["clap", "indicatif", "ratatui"];

/// Crates that may depend on [`FOR_COMMANDS`].
const PROGRAMS: [&str; 3] = ["chronoxide-commands", WORKLOAD, "chronoxide-sql"];

struct Member {
    name: String,
    folder: PathBuf,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    is_for_tests: bool,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folders of a workspace's members, in order of its list. Cargo's own list sorts crates that tests depend
/// on earlier.
fn listed_folders(workspace: &Path) -> Vec<PathBuf> {
    let manifest = read(&workspace.join("Cargo.toml"));
    let (_, list) = manifest.split_once("\nmembers = [").expect("there is such a list");
    let (list, _) = list.split_once(']').expect("it has an end");
    let folder = |folder: &str| workspace.join(folder.trim().trim_matches('"'));
    list.split(',').map(|name| folder(name).canonicalize().expect("a folder of a member")).collect()
}

/// Returns the members of both workspaces in order of their lists.
fn members() -> Vec<Member> {
    WORKSPACES.iter().flat_map(|workspace| members_of(&root().join(workspace))).collect()
}

fn members_of(workspace: &Path) -> Vec<Member> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");

    let list = |value: &Value| value.as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let by_id: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    let mut members: Vec<Member> = list(&metadata["workspace_members"])
        .iter()
        .map(|id| {
            let package = &by_id[&text(id)];
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let dependencies = list(&package["dependencies"]).into_iter().map(|dependency| Dependency {
                name: text(&dependency["name"]),
                is_for_tests: dependency["kind"] == "dev",
            });
            Member {
                name: text(&package["name"]),
                folder: manifest.parent().expect("a manifest is in a folder").canonicalize().expect("it exists"),
                dependencies: dependencies.collect(),
            }
        })
        .collect();
    let folders = listed_folders(workspace);
    assert_eq!(members.len(), folders.len(), "every member is listed");
    members.sort_by_key(|member| folders.iter().position(|folder| *folder == member.folder));
    members
}

fn is_ours(name: &str) -> bool {
    name == "chronoxide" || name.starts_with("chronoxide-")
}

fn place(name: &str) -> usize {
    let place = ORDER.iter().position(|crate_name| *crate_name == name);
    place.unwrap_or_else(|| panic!("{name} has no place in the order of crates"))
}

#[test]
fn crates_depend_on_earlier_crates_only() {
    let mut seen = 0;
    for member in members() {
        for dependency in &member.dependencies {
            let (from, to) = (member.name.as_str(), dependency.name.as_str());
            if !is_ours(to) || (dependency.is_for_tests && (FOR_TESTS.contains(&to) || to == from)) {
                continue;
            }
            assert!(place(to) < place(from), "{from} depends on {to}, which comes after it");
            // Dependencies of tests and benches are not inherited.
            let narrow = NARROW.iter().find(|(name, _)| *name == from && !dependency.is_for_tests);
            if let Some((_, allowed)) = narrow {
                assert!(allowed.contains(&to), "{from} depends on {to}, and only on {allowed:?}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} dependencies were seen");
}

#[test]
fn members_are_listed_in_their_order() {
    let places: Vec<usize> = members().iter().map(|member| place(&member.name)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// Rows like ``| `format/` | chronoxide-format | what it is for |``.
fn crate_rows(readme: &str) -> Vec<(String, String)> {
    let rows = readme.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let [folder, name, ..] = cells.as_slice() else {
            return None;
        };
        let folder = folder.strip_prefix('`')?.strip_suffix("/`")?;
        is_ours(name).then(|| (folder.to_owned(), (*name).to_owned()))
    });
    rows.collect()
}

#[test]
fn the_table_of_the_readme_lists_the_crates() {
    let root = root().canonicalize().expect("the folder of the repository");
    let expected: Vec<(String, String)> = members()
        .into_iter()
        .map(|member| {
            let folder = member.folder.strip_prefix(&root).expect("members are in the workspace");
            (folder.to_str().expect("folders have plain names").to_owned(), member.name)
        })
        .collect();
    assert_eq!(crate_rows(&read(&root.join("README.md"))), expected);
}

/// Returns true if a path like `name::` occurs in the code of a folder, outside of comments.
fn is_mentioned(name: &str, folder: &Path) -> bool {
    let path = format!("{name}::");
    let this_file = Path::new(file!()).file_name();
    fs::read_dir(folder).expect("a member's folder").any(|entry| {
        let entry = entry.expect("a member's folder can be listed");
        let inner = entry.path();
        if entry.file_type().expect("it has a type").is_dir() {
            return inner.file_name() != Some("target".as_ref()) && is_mentioned(name, &inner);
        }
        inner.extension() == Some("rs".as_ref())
            && inner.file_name() != this_file
            && read(&inner).lines().any(|line| line.contains(&path) && !line.trim_start().starts_with("//"))
    })
}

#[test]
fn packages_that_are_there_to_be_used_are_used() {
    let members = members();
    let unused: BTreeSet<&str> = USED
        .into_iter()
        .filter(|name| {
            let is_used = |member: &Member| {
                member.dependencies.iter().any(|dependency| dependency.name == *name)
                    && is_mentioned(name, &member.folder)
            };
            !members.iter().any(is_used)
        })
        .collect();
    assert_eq!(unused, BTreeSet::new());
}

#[test]
fn libraries_have_no_arguments_and_no_terminal() {
    for member in members().iter().filter(|member| !PROGRAMS.contains(&member.name.as_str())) {
        for dependency in &member.dependencies {
            assert!(!FOR_COMMANDS.contains(&&*dependency.name), "{} depends on {}", member.name, dependency.name);
        }
    }
}

/// Returns the lines of `[workspace.dependencies]` by name, with `true` if a comment gives a reason.
fn dependencies(manifest: &str) -> BTreeMap<String, (String, bool)> {
    let (_, section) = manifest.split_once("\n[workspace.dependencies]\n").expect("there is such a section");
    let section = section.split("\n[").next().expect("it has a beginning");
    let mut has_heading = false;
    let mut found = BTreeMap::new();
    for line in section.lines() {
        match line.trim() {
            "" => has_heading = false,
            comment if comment.starts_with('#') => has_heading = true,
            dependency => {
                let name = dependency.split([' ', '=', '.']).next().expect("it has a beginning");
                let has_reason = has_heading || dependency.contains(" # ");
                found.insert(name.to_owned(), (dependency.to_owned(), has_reason));
            }
        }
    }
    found
}

#[test]
fn every_dependency_of_a_workspace_has_a_reason_and_the_same_in_both() {
    let [main, engines] = WORKSPACES.map(|folder| dependencies(&read(&root().join(folder).join("Cargo.toml"))));
    assert!(main.len() >= 80 && engines.len() >= 20, "{} and {}", main.len(), engines.len());
    for (name, (line, has_reason)) in main.iter().chain(&engines).filter(|(name, _)| !is_ours(name)) {
        assert!(has_reason, "{name} has no reason");
        let twin = main.get(name).filter(|_| engines.contains_key(name));
        assert!(twin.is_none_or(|(other, _)| other == line), "{name} differs between the workspaces: {line}");
    }
}

/// Returns the lines of `[profile.dev.package]` by name.
fn optimizations(manifest: &str) -> BTreeMap<String, String> {
    let (_, section) = manifest.split_once("\n[profile.dev.package]\n").expect("there is such a section");
    let section = section.split("\n[").next().expect("it has a beginning");
    let lines = section.lines().filter_map(|line| Some((line.split_once(" = ")?.0.to_owned(), line.to_owned())));
    lines.filter(|(name, _)| !name.starts_with('#')).collect()
}

#[test]
fn what_both_workspaces_build_is_optimized_alike() {
    let [main, engines] = WORKSPACES.map(|folder| optimizations(&read(&root().join(folder).join("Cargo.toml"))));
    let lock = read(&root().join("engines/Cargo.lock"));
    let is_in_engines = |name: &str| name == "\"*\"" || lock.contains(&format!("\nname = \"{name}\"\n"));
    for (name, line) in main.iter().filter(|(name, _)| is_in_engines(name)) {
        assert_eq!(engines.get(name), Some(line), "{name}");
    }
}
