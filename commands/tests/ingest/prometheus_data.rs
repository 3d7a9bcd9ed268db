//! The command on data folders of Prometheus, and on folders with files that are not captures.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chronoxide_format::view::BlockView;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};
use serde_json::Value;

use crate::canonical::{self, Labels};

pub(crate) fn run(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.env("NO_COLOR", "1").args(arguments).output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/prometheus-data")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// A copy of the committed data folder, and a place for blocks.
pub(crate) struct Data {
    folder: tempfile::TempDir,
}

impl Data {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&capture().join("data"), &folder.path().join("data"));
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Ingests an input with JSON, which is returned.
    pub(crate) fn ingest(&self, input: &str, options: &[&str]) -> (Output, Value) {
        let (input, output) = (self.path(input), self.path("blocks/"));
        let mut arguments = vec![input.as_path(), Path::new("-o"), &output, Path::new("--json")];
        arguments.extend(options.iter().map(Path::new));
        let output = run(&arguments);
        let summary = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output, summary)
    }

    /// Labelsets of all blocks.
    pub(crate) fn series(&self) -> BTreeSet<Labels> {
        let blocks = fs::read_dir(self.path("blocks")).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        blocks.flat_map(|block| canonical::block_series(&block)).collect()
    }

    /// Windows of all blocks that have one, in milliseconds.
    fn windows(&self) -> BTreeSet<(i64, i64)> {
        let blocks = fs::read_dir(self.path("blocks")).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        let window = |block: Vec<u8>| BlockView::open(&block).unwrap().meta().unwrap().window();
        blocks.filter_map(window).map(|window| (window.start / 1_000_000, window.end / 1_000_000)).collect()
    }

    /// Returns `meta.json` of the TSDB blocks.
    fn metas(&self) -> Vec<Value> {
        let entries = fs::read_dir(self.path("data")).unwrap().map(|entry| entry.unwrap().path().join("meta.json"));
        let texts = entries.filter_map(|path| fs::read_to_string(path).ok());
        texts.map(|text| serde_json::from_str(&text).unwrap()).collect()
    }
}

pub(crate) fn listed() -> BTreeSet<Labels> {
    let text = fs::read_to_string(capture().join("series.jsonl")).unwrap();
    let series = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["labels"].take());
    series.map(|labels| serde_json::from_value(labels).unwrap()).collect()
}

#[test]
fn a_data_folder_becomes_blocks_with_series_iter_and_the_windows_of_its_blocks() {
    let data = Data::new();
    // Files that a killed server leaves.
    fs::create_dir(data.path("data/01M81CRP9YTK2EQ9T50WFNBPB8.tmp-for-creation")).unwrap();
    fs::write(data.path("data/01M81CRP9YTK2EQ9T50WFNBPB8.tmp-for-creation/index"), "half").unwrap();
    fs::create_dir(data.path("data/chunk_snapshot.000007.0000000123")).unwrap();
    fs::write(data.path("data/chunk_snapshot.000007.0000000123/00000000"), "snapshot").unwrap();
    let (done, summary) = data.ingest("data", &[]);
    assert_eq!((done.status.code(), stderr(&done).as_str()), (Some(0), ""));
    assert_eq!(data.series(), listed());

    let metas = data.metas();
    assert_eq!(metas.len(), 3);
    let windows = metas.iter().map(|meta| (meta["minTime"].as_i64().unwrap(), meta["maxTime"].as_i64().unwrap()));
    assert_eq!(data.windows(), windows.collect());
    let in_blocks: u64 = metas.iter().map(|meta| meta["stats"]["numSamples"].as_u64().unwrap()).sum();
    let in_log: u64 = fs::read_to_string(capture().join("samples")).unwrap().trim().parse().unwrap();
    assert_eq!(summary["input"]["samples"].as_u64(), Some(in_blocks + in_log));
    assert_eq!(summary["input"]["points"].as_u64(), Some(0), "neither chunks nor series are points");
    assert_eq!(summary["input"]["inputs"].as_u64(), Some(4));
}

#[test]
fn windows_of_the_option_win_over_those_of_blocks() {
    let data = Data::new();
    let (done, _) = data.ingest("data", &["--window", "1h"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(data.series(), listed());
    let windows = data.windows();
    assert!(windows.iter().all(|(start, end)| end - start == 3_600_000 && start % 3_600_000 == 0), "{windows:?}");
    // The listed times reach from 22:00 to 05:00.
    assert_eq!(windows.len(), 8);
}

#[test]
fn a_log_alone_has_the_series_of_the_head() {
    let data = Data::new();
    fs::rename(data.path("data/wal"), data.path("alone")).unwrap();
    let (done, summary) = data.ingest("alone", &[]);
    assert_eq!((done.status.code(), stderr(&done).as_str()), (Some(0), ""));
    let found = data.series();
    assert!(found.is_subset(&listed()) && found.len() > 20, "{}", found.len());
    assert!(summary["input"]["samples"].as_u64() > Some(4_000));
    assert_eq!(data.windows(), BTreeSet::new());
}

#[test]
fn one_file_of_blocks_has_the_union_of_their_windows() {
    let data = Data::new();
    for head in ["wal", "wbl", "chunks_head"] {
        fs::remove_dir_all(data.path("data").join(head)).unwrap();
    }
    let output = data.path("all.cx");
    let done = run(&[&data.path("data"), Path::new("-o"), &output]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let block = fs::read(&output).unwrap();
    let window = BlockView::open(&block).unwrap().meta().unwrap().window().unwrap();
    let metas = data.metas();
    let start = metas.iter().map(|meta| meta["minTime"].as_i64().unwrap()).min().unwrap();
    let end = metas.iter().map(|meta| meta["maxTime"].as_i64().unwrap()).max().unwrap();
    assert_eq!((window.start / 1_000_000, window.end / 1_000_000), (start, end));
}

#[test]
fn a_torn_last_segment_gives_its_whole_records_and_says_so() {
    let data = Data::new();
    let segment = data.path("data/wal/00000006");
    let content = fs::read(&segment).unwrap();
    let len = content.iter().rposition(|&byte| byte != 0).unwrap();
    fs::write(&segment, &content[..len - 2]).unwrap();
    let (done, summary) = data.ingest("data", &[]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert!(stderr(&done).contains("data/wal/00000006: the file ends within the record at byte "), "{}", stderr(&done));
    assert_eq!(summary["input"]["torn_records"].as_u64(), Some(1));
    assert_eq!(data.series(), listed());
}

#[test]
fn samples_of_series_that_the_log_does_not_define_are_counted_and_the_result_is_partial() {
    let data = Data::new();
    // The series are defined in the checkpoint and in the first segments.
    fs::remove_dir_all(data.path("data/wal/checkpoint.00000003")).unwrap();
    for name in ["00000004", "00000005"] {
        fs::remove_file(data.path("data/wal").join(name)).unwrap();
    }
    let (done, summary) = data.ingest("data", &["--allow-truncated"]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert!(summary["input"]["unknown_series_refs"].as_u64().unwrap() > 0, "{summary}");
    assert!(stderr(&done).contains("of series that the log does not define"), "{}", stderr(&done));
    assert!(data.series().is_subset(&listed()));
}

#[test]
fn damage_within_a_log_is_refused_with_file_and_place() {
    let data = Data::new();
    let segment = data.path("data/wal/00000005");
    let mut content = fs::read(&segment).unwrap();
    content[20] ^= 1;
    fs::write(&segment, &content).unwrap();
    let (done, _) = data.ingest("data/wal", &[]);
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    assert!(stderr(&done).contains("data/wal/00000005: checksum mismatch at byte 0: 0x"), "{}", stderr(&done));
    let (done, summary) = data.ingest("data", &["--skip-bad-records"]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert_eq!(summary["input"]["skipped"]["broken_records"].as_u64(), Some(1));
    // A segment that is not the last one may not be torn either.
    fs::write(&segment, &content[..100]).unwrap();
    let (done, _) = data.ingest("data/wal", &[]);
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
}

#[test]
fn a_log_that_does_not_fit_into_memory_is_refused() {
    let data = Data::new();
    // Less than the command accepts, which small logs fit into.
    let assemble = AssembleOptions { max_memory: Some(4 << 10), ..AssembleOptions::default() };
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    let refused = ingest.read_wal(&data.path("data/wal")).unwrap_err();
    let reason = std::error::Error::source(&refused).expect("the log is to blame").to_string();
    assert!(reason.contains("raise --memory-limit"), "{refused}: {reason}");
}

#[test]
fn a_file_of_a_folder_that_is_no_capture_is_passed_over_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, output) = (folder.path().join("captures"), folder.path().join("blocks/"));
    fs::create_dir(&captures).unwrap();
    fs::write(captures.join("README.md"), "# Captures\n\nOf last week.\n").unwrap();
    let done = run(&[&captures, Path::new("-o"), &output]);
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    assert!(stderr(&done).contains("captures: no file in this folder has a recognized format"), "{}", stderr(&done));

    fs::write(captures.join("a.prom"), "up{job=\"api\"} 1\n").unwrap();
    let done = run(&[&captures, Path::new("-o"), &output]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stderr(&done).contains("warning: "), "{}", stderr(&done));
    assert!(stderr(&done).contains("README.md: skipped: "), "{}", stderr(&done));
    assert!(stderr(&done).contains("1 file with an unrecognized format"), "{}", stderr(&done));

    // A file that is named is expected to be a capture.
    let done = run(&[&captures.join("README.md"), Path::new("-o"), &output]);
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
}
