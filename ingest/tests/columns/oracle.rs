//! Files that pyarrow writes, an implementation of its own.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use chronoxide_ingest::IngestOptions;
use chronoxide_testkit::random::Random;
use chronoxide_testkit::requirement::skip_or_fail;

use crate::canonical::Labels;
use crate::tables::{self, distinct, read_file, whole};

/// Writes the series of a JSON file in many ways, and prints the names of the files.
const SCRIPT: &str = include_str!("write_tables.py");

#[test]
fn files_of_pyarrow_have_the_same_series() {
    let python = std::env::var("CHRONOXIDE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import pyarrow.parquet"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        return skip_or_fail("pyarrow", "not in python3; see bench/requirements.txt");
    }
    let rows = tables::rows(&mut Random::new(31), 3_000);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("series.json"), serde_json::to_vec(&rows).unwrap()).unwrap();
    let output = Command::new(&python).args(["-c", SCRIPT]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    let expected: BTreeSet<Labels> = distinct(&rows);
    for name in names.lines() {
        let content = fs::read(folder.path().join(name)).unwrap();
        let (found, report) =
            read_file(&content, IngestOptions::default()).unwrap_or_else(|error| panic!("{name}: {}", whole(&error)));
        assert!(found == expected, "{name}: {} series instead of {}", found.len(), expected.len());
        assert_eq!(report.rows, 3_000, "{name}");
    }
    println!("{} files", names.lines().count());
    assert!(names.lines().count() >= 140);
}
