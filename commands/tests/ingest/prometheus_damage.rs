//! The command on damaged, deleted and labelled blocks and logs of Prometheus.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chronoxide_format::view::BlockView;
use serde_json::Value;

use crate::canonical::Labels;
use crate::prometheus_data::{Data, capture, copy, listed, run, stderr};

/// A block of the committed data folder.
const BLOCK: &str = "data/01M81D9J7RYD9HMB8NS58J452Z";

/// Another one.
const OTHER: &str = "data/01M81D9JF2DRBSNPRC4YW1H7VT";

/// Series of a block of the data folder.
fn series_of(name: &str) -> BTreeSet<Labels> {
    let data = Data::new();
    let (done, _) = data.ingest(name, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    data.series()
}

fn count(summary: &Value, name: &str) -> u64 {
    summary["input"][name].as_u64().unwrap()
}

#[test]
fn a_block_that_is_not_whole_is_an_error_if_it_is_named_and_skipped_in_a_folder() {
    let meta = r#"{"ulid":"01M81D9J7RYD9HMB8NS58J452Z","minTime":0,"maxTime":1,"version":1}"#;
    let cases: [(&str, Option<&str>, &str); 5] = [
        ("index", None, "damaged block: it has no index"),
        ("index", Some(""), "too short for an index"),
        ("meta.json", None, "damaged block: it has no meta.json"),
        ("meta.json", Some(""), "damaged block: meta.json is not valid"),
        ("tombstones", Some("x"), "of the tombstones: the file does not start as version 1"),
    ];
    for (name, content, reason) in cases {
        let data = Data::new();
        let path = data.path(&format!("{BLOCK}/{name}"));
        match content {
            None => fs::remove_file(&path).unwrap(),
            Some(content) => fs::write(&path, content).unwrap(),
        }
        let (done, _) = data.ingest(BLOCK, &[]);
        assert_eq!(done.status.code(), Some(3), "{name} {content:?}: {}", stderr(&done));
        assert!(stderr(&done).contains(&format!("{BLOCK}: ")) && stderr(&done).contains(reason), "{}", stderr(&done));

        let (done, summary) = data.ingest("data", &["--quiet"]);
        assert_eq!(done.status.code(), Some(6), "{name} {content:?}: {}", stderr(&done));
        assert!(stderr(&done).contains(&format!("{BLOCK}: ")) && stderr(&done).contains(reason), "{}", stderr(&done));
        assert_eq!((count(&summary, "failed_inputs"), count(&summary, "inputs")), (1, 3));
        assert!(data.series().is_superset(&series_of("data/wal")), "{name} {content:?}");
        assert!(data.series().is_superset(&series_of(OTHER)), "{name} {content:?}");
    }
    // Only chunks are left, under any name.
    let data = Data::new();
    fs::create_dir_all(data.path("data/copy/chunks")).unwrap();
    fs::write(data.path("data/copy/chunks/000001"), b"\x85\xbd\x40\xdd\x01\0\0\0").unwrap();
    fs::create_dir_all(data.path("data/empty")).unwrap();
    fs::write(data.path("data/empty/meta.json"), meta).unwrap();
    let (done, summary) = data.ingest("data", &[]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert!(stderr(&done).contains("data/copy: damaged block: it has no meta.json"), "{}", stderr(&done));
    assert!(stderr(&done).contains("data/empty: damaged block: it has no index"), "{}", stderr(&done));
    assert_eq!((data.series(), count(&summary, "failed_inputs")), (listed(), 2));
}

#[test]
fn a_damaged_log_of_a_folder_costs_no_block() {
    let data = Data::new();
    fs::remove_file(data.path("data/wal/00000005")).unwrap();
    let (done, _) = data.ingest("data/wal", &[]);
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    assert!(stderr(&done).contains("segment 00000005 is missing before 00000006"), "{}", stderr(&done));
    let (done, summary) = data.ingest("data", &[]);
    assert_eq!((done.status.code(), count(&summary, "failed_inputs")), (Some(6), 1), "{}", stderr(&done));
    assert!(data.series().is_superset(&series_of(BLOCK)) && data.series().is_superset(&series_of(OTHER)));

    let (done, summary) = data.ingest("data", &["--skip-bad-records", "-q"]);
    assert_eq!((done.status.code(), count(&summary, "failed_inputs")), (Some(6), 0), "{}", stderr(&done));
    assert_eq!(summary["input"]["tsdb"]["missing_segments"].as_u64(), Some(1));
    assert!(stderr(&done).contains("wal: segment 00000005 is missing\n"), "{}", stderr(&done));
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_and_a_folder_of_blocks_end_no_run_of_a_folder() {
    let data = Data::new();
    std::os::unix::fs::symlink("/nothing/there", data.path("data/link")).unwrap();
    fs::create_dir(data.path("data/old")).unwrap();
    fs::write(data.path("data/old/week.cx"), "x").unwrap();
    let (done, summary) = data.ingest("data", &[]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert!(stderr(&done).contains("data/link: cannot open: No such file"), "{}", stderr(&done));
    assert_eq!((data.series(), count(&summary, "failed_inputs")), (listed(), 1));
}

#[test]
fn head_chunks_without_a_log_are_counted() {
    for remains in [false, true] {
        let data = Data::new();
        fs::remove_dir_all(data.path("data/wal")).unwrap();
        fs::remove_dir_all(data.path("data/wbl")).unwrap();
        if remains {
            fs::create_dir(data.path("data/wal")).unwrap();
        }
        let (done, summary) = data.ingest("data", &[]);
        assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
        assert!(count(&summary, "unknown_series_refs") > 0, "{summary}");
        assert!(stderr(&done).contains("head chunks of series that the log does not define"), "{}", stderr(&done));
        assert!(data.series().is_superset(&series_of(BLOCK)));
    }
}

#[test]
fn deleted_blocks_are_skipped_with_a_note_unless_deletions_are_ignored() {
    let data = Data::new();
    fs::write(data.path(&format!("{BLOCK}/deletion-mark.json")), r#"{"id":"x","deletion_time":1}"#).unwrap();
    fs::write(data.path(&format!("{OTHER}/no-compact-mark.json")), r#"{"id":"x"}"#).unwrap();
    let (done, summary) = data.ingest("data", &[]);
    let note = format!("{BLOCK}: skipped: the block is marked as deleted (--ignore-deletions reads it)");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stderr(&done).contains(&note), "{}", stderr(&done));
    assert_eq!((count(&summary, "inputs"), summary["input"]["tsdb"]["deleted_blocks"].as_u64()), (3, Some(1)));
    let (done, summary) = data.ingest("data", &["--ignore-deletions"]);
    assert_eq!((done.status.code(), stderr(&done).as_str()), (Some(0), ""));
    assert_eq!((data.series(), count(&summary, "inputs")), (listed(), 4));
}

#[test]
fn deletions_leave_the_series_that_prometheus_leaves() {
    let deleted = capture().with_file_name("prometheus-data-deleted");
    let list = fs::read_to_string(deleted.join("series.jsonl")).unwrap();
    let labels = |line: &str| serde_json::from_str::<Value>(line).unwrap()["labels"].take();
    let left: BTreeSet<Labels> = list.lines().map(|line| serde_json::from_value(labels(line)).unwrap()).collect();
    assert!(left.is_subset(&listed()));
    assert_eq!(listed().len() - left.len(), 10);
    for options in [&[][..], &["--window", "1h"]] {
        let data = Data::new();
        copy(&deleted.join("data"), &data.path("deleted"));
        let (done, summary) = data.ingest("deleted", options);
        assert_eq!((done.status.code(), stderr(&done).as_str()), (Some(0), ""));
        assert_eq!(data.series(), left, "{options:?}");
        // A series counts in each block from which it is deleted.
        assert_eq!(summary["input"]["tsdb"]["deleted_series"].as_u64(), Some(24));
    }
    let data = Data::new();
    copy(&deleted.join("data"), &data.path("deleted"));
    let (done, _) = data.ingest("deleted", &["--ignore-deletions"]);
    assert_eq!((done.status.code(), data.series()), (Some(0), listed()));
}

/// Gives a block these external labels.
fn set_labels(data: &Data, block: &str, labels: Value) {
    let path = data.path(&format!("{block}/meta.json"));
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["thanos"]["labels"] = labels;
    fs::write(path, meta.to_string()).unwrap();
}

#[test]
fn one_file_refuses_blocks_of_two_clusters_before_it_reads_them() {
    let data = Data::new();
    set_labels(&data, BLOCK, serde_json::json!({ "cluster": "eu" }));
    set_labels(&data, OTHER, serde_json::json!({ "cluster": "us" }));
    let output = data.path("all.cx");
    let inputs = [data.path(BLOCK), data.path(OTHER)];
    let arguments = |more: &'static [&'static str]| {
        let mut arguments = vec![inputs[0].as_path(), &inputs[1], Path::new("-o"), &output];
        arguments.extend(more.iter().map(Path::new));
        arguments
    };
    let done = run(&arguments(&[]));
    assert_eq!((done.status.code(), output.exists()), (Some(2), false));
    for expected in ["external labels {cluster=\"eu\"}, and", "has {cluster=\"us\"}: one block cannot have both"] {
        assert!(stderr(&done).contains(expected), "{}", stderr(&done));
    }
    let done = run(&arguments(&["--external-label", "cluster=all"]));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let block = fs::read(&output).unwrap();
    let labels = |block: &[u8]| {
        let meta = BlockView::open(block).unwrap().meta().unwrap();
        let pairs = meta.external_labels().unwrap().map(Result::unwrap);
        pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(labels(&block), ["cluster=all"]);

    // In a folder, each cluster has its own blocks, also with one window for all.
    let (done, _) = data.ingest("data", &["--window", "10000h"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let blocks = fs::read_dir(data.path("blocks")).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    let mut all: Vec<Vec<String>> = blocks.map(|block| labels(&block)).collect();
    all.sort();
    let expected = [vec![], vec![], vec!["cluster=eu".to_owned()], vec!["cluster=us".to_owned()]];
    assert!(all == expected || all == expected[1..], "{all:?}");
    assert_eq!(data.series(), listed());
}
