//! The package in Go: its tests, and its example.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use crate::installed::{installed, run, stdout};
use crate::repository;

#[test]
fn the_go_package_passes_its_tests() {
    let mut command = Command::new("go");
    command.args(["test", "-count=1", "./..."]).current_dir(repository("engines/c/go")).env("CGO_ENABLED", "1");
    // Go's cache does not see that an installed header changed; it does see other flags.
    let mut hasher = DefaultHasher::new();
    fs::read(repository("engines/c/include/chronoxide.h")).expect("the header").hash(&mut hasher);
    command.env("CGO_CFLAGS", format!("-O2 -g -DHEADER={:x}", hasher.finish()));
    let Some(output) = run(installed().for_command(&mut command)) else { return };
    let text = String::from_utf8(stdout(&command, output)).expect("text");
    assert!(text.starts_with("ok"), "{text}");
}
