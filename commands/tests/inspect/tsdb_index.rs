//! `export --format tsdb-index`: the index of a block of Prometheus, written back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chronoxide_ingest::prometheus::tsdb::{parse_tombstones, tombstones_file};

/// Blocks with chunk lists of committed data of Prometheus, in one file.
fn labels(folder: &Path, data: &str) -> (PathBuf, PathBuf) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testdata/captures/{data}/data"));
    let block = folder.join("labels.cx");
    let mut ingest = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    let output = ingest.arg("--chunks").arg(&data).arg("-o").arg(&block).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (data, block)
}

fn export(block: &Path, index: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-inspect"));
    command.env("NO_COLOR", "1").arg("export").arg(block).args(["--format", "tsdb-index"]).args(options);
    command.arg("-o").arg(index).output().unwrap()
}

#[track_caller]
fn assert_fails(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn a_block_of_an_exported_index_is_that_of_the_original_one() {
    let folder = tempfile::tempdir().unwrap();
    let (data, block) = labels(folder.path(), "prometheus-data");
    let copy = folder.path().join("copy");
    let mut count = 0;
    for entry in fs::read_dir(&data).unwrap() {
        let entry = entry.unwrap();
        let Ok(meta) = fs::read(entry.path().join("meta.json")) else { continue };
        // The id is that of the folder.
        let target = copy.join(entry.file_name());
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("meta.json"), meta).unwrap();
        // Deletions of another index.
        let tombstones = target.join("tombstones");
        fs::write(&tombstones, tombstones_file(&[(1, 2, 3)])).unwrap();
        assert_fails(&export(&block, &target.join("index"), &[]), 1, "tombstones: already exists");
        assert!(!target.join("index").exists());
        assert!(export(&block, &target.join("index"), &["--force"]).status.success());
        assert_eq!(fs::read(&tombstones).unwrap(), tombstones_file(&[]));
        fs::remove_file(target.join("index")).unwrap();
        // Without any.
        let output = export(&block, &target.join("index"), &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(&tombstones).unwrap(), tombstones_file(&[]));
        assert_fails(&export(&block, &target.join("index"), &[]), 1, "already exists");
        count += 1;
    }
    assert_eq!(count, 3);
    let again = folder.path().join("again.cx");
    let mut ingest = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    assert!(ingest.arg("--chunks").arg(&copy).arg("-o").arg(&again).status().unwrap().success());
    assert!(fs::read(&again).unwrap() == fs::read(&block).unwrap(), "other bytes");

    assert_fails(&export(&block, &block, &["--force"]), 2, "is the block itself");
    assert_fails(&export(folder.path(), &folder.path().join("index"), &[]), 2, "the file of one block");
    // A folder of another block of Prometheus.
    let wrong = folder.path().join("01M81D9J7RYD9HMB8NS58J452A");
    fs::create_dir(&wrong).unwrap();
    assert_fails(
        &export(&block, &wrong.join("index"), &["--force"]),
        2,
        "no chunk lists of \"01M81D9J7RYD9HMB8NS58J452A",
    );
    let other = folder.path().join("index");
    assert_fails(&export(&block, &other, &[]), 2, "name one of these with --tsdb-block: \"01M81D9J");
    let unknown = ["--tsdb-block", "01M81D9J7RYD9HMB8NS58J452A"];
    assert_fails(&export(&block, &other, &unknown), 2, "no chunk lists of \"01M81D9J7RYD9HMB8NS58J452A");
    assert!(export(&block, &other, &["--tsdb-block", "01M81D9J7RYD9HMB8NS58J452Z"]).status.success());
    let one = fs::read(copy.join("01M81D9J7RYD9HMB8NS58J452Z/index")).unwrap();
    assert!(fs::read(&other).unwrap() == one, "other bytes");
}

#[test]
fn deletions_stand_beside_the_index_with_its_references() {
    let folder = tempfile::tempdir().unwrap();
    let (data, block) = labels(folder.path(), "prometheus-data-deleted");
    let mut deleted = 0;
    for entry in fs::read_dir(&data).unwrap() {
        let target = folder.path().join(entry.unwrap().file_name());
        fs::create_dir_all(&target).unwrap();
        let output = export(&block, &target.join("index"), &[]);
        if output.status.success() && target.join("tombstones").exists() {
            let tombstones = parse_tombstones(&fs::read(target.join("tombstones")).unwrap()).unwrap();
            assert!(!tombstones.is_empty());
            // A file that exists is not replaced, and then no index is written.
            fs::remove_file(target.join("index")).unwrap();
            assert_fails(&export(&block, &target.join("index"), &[]), 1, "tombstones: already exists");
            assert!(!target.join("index").exists());
            deleted += 1;
        }
    }
    assert!(deleted > 0);
}

#[test]
fn an_index_has_all_series() {
    let folder = tempfile::tempdir().unwrap();
    let (_, block) = labels(folder.path(), "prometheus-data");
    let index = folder.path().join("index");
    for options in [&["--match", "up"][..], &["--columns", "job"], &["--map"], &["--min-time", "2025-11-11T09:00:00Z"]]
    {
        assert_fails(&export(&block, &index, options), 2, "tsdb-index has all series");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/plain-bitpacked.cx");
    assert_fails(&export(&golden, &index, &[]), 2, "no chunk lists, which chronoxide-ingest --chunks writes");
    assert!(!index.exists());
}
