//! Tests that share a program: see CONTRIBUTING.md.

mod agreement;
mod columns;
mod columns_forged;
mod decoder;
mod editions;
mod extremes;
mod frozen;
mod goldens;
mod metrics;
mod misuse;
mod paths;
mod plans;
mod remap;
mod remap_files;
mod remap_targets;
mod resolve_many;
mod rule_classes;
mod spec;
mod split_lists;
mod trace;

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads a text of the project.
fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns an empty folder for the files of a test.
fn empty_folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("format").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
