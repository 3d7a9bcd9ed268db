//! Runs the corpora of all fuzz targets again, with every input that once broke a promise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chronoxide_format::view::BlockView;
use chronoxide_fuzz_targets::TARGETS;
use chronoxide_testkit::corpus::{corpus_folder, read_corpus};
use chronoxide_testkit::fuzzing::mutated_block;
use rayon::prelude::*;

/// Minimum number of inputs of each target. A corpus only grows; lower the number only when a corpus is minimized.
const FILES: [(&str, usize); 16] = [
    ("arrow", 86),
    ("block_open", 340),
    ("block_repaired", 673),
    ("extremes", 6),
    ("merge", 534),
    ("otlp_json", 607),
    ("otlp_proto", 5),
    ("parquet", 161),
    ("prometheus_proto", 25),
    ("prometheus_text", 21),
    ("remap", 105),
    ("remote_write", 24),
    ("select", 200),
    ("series_json", 675),
    ("tsdb_index", 24),
    ("tsdb_wal", 12),
];

/// Maximum bytes of an input.
const MAX_BYTES: usize = 64 << 10;

/// Maximum bytes of all inputs together.
const MAX_BYTES_TOGETHER: usize = 3 << 20;

/// File names up to the first dot.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("a readable folder").path();
    let name = |entry| path(entry).file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|entry| name(entry).split('.').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_target_has_a_corpus_and_a_wrapper() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&corpus_folder()), targets);
    assert_eq!(names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets")), targets);
    assert_eq!(FILES.map(|(name, _)| name), TARGETS.map(|(name, _)| name));
}

#[test]
fn the_corpus_of_every_target_runs_again() {
    let mut together = 0;
    for ((target, run), (_, least)) in TARGETS.into_iter().zip(FILES) {
        let inputs = read_corpus(target).unwrap_or_else(|error| panic!("{target}: {error}"));
        let bytes: usize = inputs
            .par_iter()
            .map(|input| {
                assert!(input.bytes.len() <= MAX_BYTES, "{target}: {} is too large", input.name);
                let result = std::panic::catch_unwind(|| run(&input.bytes));
                assert!(result.is_ok(), "{target}: {} breaks a promise", input.name);
                input.bytes.len()
            })
            .sum();
        println!("{target}: {} files, {bytes} bytes", inputs.len());
        assert!(inputs.len() >= least, "{target}: {} files, and there were {least}", inputs.len());
        together += bytes;
    }
    assert!(together <= MAX_BYTES_TOGETHER, "{together} bytes");
}

#[test]
fn programs_of_the_corpus_make_sound_blocks_and_break_many_rules() {
    let (mut sound, mut broken) = (0, BTreeMap::<&str, u32>::new());
    for input in read_corpus("block_repaired").expect("the corpus is part of the project") {
        let block = mutated_block(&input.bytes);
        match BlockView::open(&block).and_then(|view| view.verify()) {
            Ok(_) => sound += 1,
            Err(error) => *broken.entry(error.rule().id()).or_default() += 1,
        }
    }
    println!("{sound} sound blocks, {} rules broken: {broken:?}", broken.len());
    assert!(sound >= 130 && broken.len() >= 67, "{sound} sound blocks, {} rules", broken.len());
}

/// Inputs that fuzzing found where an oracle was wrong.
#[test]
fn oracles_know_empty_metric_names_and_reserved_labels() {
    let inputs: [(&str, &[u8]); 2] = [
        ("prometheus_text", b"\0{\ta  = \"\" , __name__= \"\" , sngraTe=\"b\",} 15.0"),
        ("series_json", b"\x04{\"__name__\":\"up\",\"\\u0000pod\":\"a\"}\n"),
    ];
    for (name, bytes) in inputs {
        let (_, run) = TARGETS.into_iter().find(|(target, _)| *target == name).expect("a target");
        run(bytes);
    }
}
