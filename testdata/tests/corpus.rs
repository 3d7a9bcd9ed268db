//! What fuzzers found, run again: their corpus and every input that once broke a promise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_testdata::fuzzing::TARGETS;
use rayon::prelude::*;

/// Files of each target's corpus; it only grows, and is minimised only together with these numbers.
const FILES: [(&str, usize); 13] = [
    ("block_open", 196),
    ("block_repaired", 637),
    ("extremes", 6),
    ("merge", 534),
    ("otlp_json", 607),
    ("otlp_proto", 5),
    ("prometheus_proto", 25),
    ("prometheus_text", 21),
    ("remap", 105),
    ("remote_write", 24),
    ("series_json", 674),
    ("tsdb_index", 24),
    ("tsdb_wal", 12),
];

/// Larger inputs show nothing that smaller ones do not, and are in every clone for ever.
const MAX_BYTES: u64 = 64 << 10;

/// Bytes of all files together.
const MAX_BYTES_TOGETHER: u64 = 3 << 20;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("a readable folder").path();
    entries.map(|entry| path(entry).file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

#[test]
fn every_target_has_a_corpus_and_a_wrapper() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&corpus()), targets);
    assert_eq!(names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets")), targets);
    assert_eq!(FILES.map(|(name, _)| name), TARGETS.map(|(name, _)| name));
}

#[test]
fn the_corpus_of_every_target_runs_again() {
    let mut together = 0;
    for ((target, run), (_, least)) in TARGETS.into_iter().zip(FILES) {
        let folder = corpus().join(target);
        let files: Vec<PathBuf> = names(&folder).iter().map(|name| folder.join(name)).collect();
        let bytes: u64 = files
            .par_iter()
            .map(|file| {
                let input = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                assert!(input.len() as u64 <= MAX_BYTES, "{} is too large", file.display());
                let result = std::panic::catch_unwind(|| run(&input));
                assert!(result.is_ok(), "{} breaks a promise", file.display());
                input.len() as u64
            })
            .sum();
        println!("{target}: {} files, {bytes} bytes", files.len());
        assert!(files.len() >= least, "{target}: {} files, and there were {least}", files.len());
        together += bytes;
    }
    assert!(together <= MAX_BYTES_TOGETHER, "{together} bytes");
}
