//! Programs in C, and packages in Go, that use the installed library.
//!
//! They are compiled against what `install.sh` installs, with the flags of the pkg-config file. Needs `cc` with
//! AddressSanitizer, `pkg-config` and `go`; see `requirement`.
#![cfg(target_os = "linux")]

mod examples;
mod go;
mod installed;
mod programs;
mod readme;

use std::path::PathBuf;

/// Returns a path below the root of the repository.
fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().expect("a file of the repository")
}

/// Returns the golden blocks, by name.
fn goldens() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository("testdata/golden")).expect("the goldens");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the goldens").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cx"));
    paths.sort();
    assert!(paths.len() >= 20, "only {} goldens", paths.len());
    paths
}
