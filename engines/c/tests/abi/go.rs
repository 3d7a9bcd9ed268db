//! The package in Go: its tests, and its example.

use std::process::Command;

use crate::installed::{installed, run, stdout};
use crate::repository;

#[test]
fn the_go_package_passes_its_tests() {
    let mut command = Command::new("go");
    command.args(["test", "-count=1", "./..."]).current_dir(repository("engines/c/go")).env("CGO_ENABLED", "1");
    let Some(output) = run(installed().for_command(&mut command)) else { return };
    let text = String::from_utf8(stdout(&command, output)).expect("text");
    assert!(text.starts_with("ok"), "{text}");
}
