//! Tables that Polars, DuckDB, and Arrow's libraries for JavaScript and Go wrote (`testdata/captures/tools/tables`).
//! Each has the same series.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chronoxide_ingest::IngestOptions;

use crate::canonical::Labels;
use crate::tables::{read, read_file, whole};

#[test]
fn tables_of_other_programs_have_the_same_series() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/tables");
    let list = fs::read_to_string(folder.join("series.jsonl")).unwrap();
    let expected: BTreeSet<Labels> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() || name == "series.jsonl" {
            continue;
        }
        let content = fs::read(&path).unwrap();
        for result in [read_file(&content, IngestOptions::default()), read(&content)] {
            let (found, report) = result.unwrap_or_else(|error| panic!("{name}: {}", whole(&error)));
            assert_eq!((found, report.warnings), (expected.clone(), vec![]), "{name}");
        }
        count += 1;
    }
    println!("{count} tables");
    assert!(count >= 25);
}
