//! Runs the built command, and makes files for it.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod model;
pub mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::golden::goldens;
pub use chronoxide_testkit::plan::labelsets;
use chronoxide_testkit::plan::{Labelset, Plan, build};
pub use chronoxide_testkit::random::random_block;
use serde_json::Value;

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-inspect"));
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

/// Returns the output of a command that must succeed without messages.
#[track_caller]
pub fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_exit(&output, 0, "");
    assert_eq!(output.stderr, b"", "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
pub fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// Returns the file of a golden block.
pub fn golden(name: &str) -> String {
    format!("{}/../testdata/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

pub fn broken(rule: &str) -> String {
    format!("{}/../testdata/broken/{rule}.cx", env!("CARGO_MANIFEST_DIR"))
}

pub fn golden_names() -> Vec<&'static str> {
    goldens().into_iter().map(|golden| golden.name).collect()
}

/// Returns the lines of a command's output as JSON.
#[track_caller]
pub fn json_lines(arguments: &[&str]) -> Vec<Value> {
    stdout(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns a block of these series without shared tables.
pub fn plain_block(series: &BTreeSet<Labelset>) -> Vec<u8> {
    block_of(series, &Plan::default(), RowForm::BitPacked)
}

/// Returns the series that a command prints as JSON, which must all differ.
#[track_caller]
pub fn series_of(lines: &str) -> BTreeSet<Labelset> {
    let series: Vec<Labelset> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let distinct: BTreeSet<Labelset> = series.iter().cloned().collect();
    assert_eq!(distinct.len(), series.len(), "each series is printed once");
    distinct
}

/// Returns a block made after a plan.
pub fn block_of(series: &BTreeSet<Labelset>, plan: &Plan, form: RowForm) -> Vec<u8> {
    build(series, plan, form, &BlockMeta::default()).unwrap()
}

pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Returns a folder of a sound block, a damaged `b.cx` and a `c.cx` of an unsupported version, and the path of the
    /// golden block that the sound one is a copy of.
    pub fn with_damage() -> (Self, String) {
        let (folder, sound) = (Self::new(), golden("plain-bitpacked.cx"));
        folder.write("a.cx", fs::read(&sound).unwrap());
        folder.write("b.cx", fs::read(broken("chunk-checksum")).unwrap());
        folder.write("c.cx", fs::read(broken("version")).unwrap());
        (folder, sound)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.file(name), content).unwrap();
        self.file(name).to_str().unwrap().to_owned()
    }
}
