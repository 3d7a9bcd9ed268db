//! Limits of the system: sizes of files, and links that lead nowhere.

use std::fs;
use std::process::{Command, Output};

use crate::support::{Folder, assert_exit, golden};

const INGEST: &str = env!("CARGO_BIN_EXE_chronoxide-ingest");
const COMPACT: &str = env!("CARGO_BIN_EXE_chronoxide-compact");
const INSPECT: &str = env!("CARGO_BIN_EXE_chronoxide-inspect");

fn run(folder: &Folder, program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).current_dir(folder.path()).env("NO_COLOR", "1").output().unwrap()
}

#[test]
fn a_file_limit_is_an_error_that_leaves_no_file() {
    let folder = Folder::new();
    let capture: String = (0..200).map(|n| format!("{{\"__name__\":\"m{n}\",\"x\":\"{}\"}}\n", n * 7_919)).collect();
    folder.write("a.jsonl", capture);
    assert_exit(&run(&folder, INGEST, &["-q", "a.jsonl", "-o", "a.cx"]), 0, "");
    let before = names(&folder);
    for (program, words) in [
        (INGEST, "a.jsonl -o out.cx"),
        (INGEST, "a.jsonl -o ./"),
        (COMPACT, "a.cx -o out.cx"),
        (INSPECT, "report a.cx -o out.html"),
        (INSPECT, "export a.cx -o out.csv"),
        (INSPECT, "export a.cx -o out.parquet"),
    ] {
        // The unit of the limit is 512 or 1,024 bytes. Pipes have none.
        let shell = format!("ulimit -f 1 && exec '{program}' -q {words}");
        let output = Command::new("sh").args(["-c", &shell]).current_dir(folder.path()).output().unwrap();
        assert_exit(&output, 1, "File too large");
        assert_eq!(names(&folder), before, "{words}");
    }
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Folders of blocks, as paths and as locations.
#[test]
fn a_link_that_leads_nowhere_costs_itself_and_is_in_the_exit_code() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let here = folder.path().to_str().unwrap().to_owned();
    folder.write("a.cx", fs::read(golden("one-series.cx")).unwrap());
    symlink("nothing.cx", folder.file("dangling.cx")).unwrap();
    symlink("loop.cx", folder.file("loop.cx")).unwrap();
    let url = format!("file://{here}");
    for place in [here.as_str(), url.as_str()] {
        for words in [&["summary"][..], &["series"], &["values", "__name__"], &["cardinality"], &["top"], &["verify"]] {
            let output = run(&folder, INSPECT, &[words, &[place]].concat());
            assert_exit(&output, 1, "dangling.cx");
            assert_exit(&output, 1, "loop.cx");
            assert!(!output.stdout.is_empty(), "{words:?} {place}");
        }
    }
    for words in
        [&["--dry-run", here.as_str()][..], &["--dry-run", &url], &[&here], &["plan", &url], &["index", &url], &[&url]]
    {
        let output = run(&folder, COMPACT, words);
        assert_exit(&output, 1, "dangling.cx");
        assert_exit(&output, 1, "loop.cx");
    }
    assert_exit(&run(&folder, COMPACT, &["clean", &url]), 0, "");
    assert!(folder.file("loop.cx").is_symlink() && folder.file("dangling.cx").is_symlink());
}

#[test]
fn links_of_folders_to_each_other_are_read_once_and_patterns_skip_broken_links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    for (name, other) in [("f", "g"), ("g", "f")] {
        fs::create_dir(folder.file(name)).unwrap();
        folder.write(&format!("{name}/{name}.jsonl"), format!("{{\"__name__\":\"{name}\"}}\n"));
        for number in 0..6 {
            symlink(format!("../{other}"), folder.file(&format!("{name}/link{number}"))).unwrap();
        }
    }
    let output = run(&folder, INGEST, &["-q", "f", "-o", "a.cx"]);
    assert_exit(&output, 0, "skipped: a link to a folder around it");
    // Each of the 6 links in f leads to g, and each of the 6 links there leads back.
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 36);
    symlink("nothing", folder.file("f/broken.jsonl")).unwrap();
    symlink("loop.jsonl", folder.file("f/loop.jsonl")).unwrap();
    for words in [&["-q", "f", "-o", "b.cx"][..], &["-q", "f/*.jsonl", "-o", "c.cx"]] {
        let output = run(&folder, INGEST, words);
        assert_exit(&output, 6, "f/broken.jsonl: cannot open");
        assert_exit(&output, 6, "f/loop.jsonl: cannot open");
    }
    // A file that is named must be there.
    assert_exit(&run(&folder, INGEST, &["f/f.jsonl", "f/loop.jsonl", "-o", "d.cx"]), 1, "f/loop.jsonl: cannot open");
    assert_exit(&run(&folder, INGEST, &["f/loop*.jsonl", "-o", "d.cx"]), 1, "f/loop.jsonl: cannot open");
}

#[test]
fn cells_of_csv_that_spreadsheets_would_compute_are_text_on_request() {
    let folder = Folder::new();
    let values = ["=1+1", "+Inf", "-1", "@a", "\\tb", "\\rc", "'=q", "a=b", ""];
    let capture: String = values.iter().map(|value| format!("{{\"__name__\":\"m\",\"=x\":\"{value}\"}}\n")).collect();
    folder.write("a.jsonl", capture);
    assert_exit(&run(&folder, INGEST, &["-q", "a.jsonl", "-o", "a.cx"]), 0, "");
    let column = |options: &[&str]| {
        let words = ["export", "a.cx", "--format", "csv", "--columns", "=x", "--sort"];
        let output = run(&folder, INSPECT, &[&words[..], options].concat());
        assert_exit(&output, 0, "");
        let mut lines: Vec<String> = String::from_utf8(output.stdout)
            .unwrap()
            .split('\n')
            .map(str::to_owned)
            .filter(|l| !l.is_empty())
            .collect();
        lines[1..].sort();
        lines
    };
    // Written by hand; fields with a carriage return, or empty ones alone in a row, are quoted.
    let plain = ["=x", "\tb", "\"\rc\"", "\"\"", "'=q", "+Inf", "-1", "=1+1", "@a", "a=b"];
    let safe = ["'=x", "\"\"", "\"'\rc\"", "'\tb", "'+Inf", "'-1", "'=1+1", "'=q", "'@a", "a=b"];
    assert_eq!(column(&[]), plain);
    assert_eq!(column(&["--csv-safe"]), safe);
    let output = run(&folder, INSPECT, &["export", "a.cx", "--format", "jsonl", "--csv-safe"]);
    assert_exit(&output, 2, "--csv-safe is for csv");
    let output = run(&folder, INSPECT, &["export", "a.cx", "-o", "safe.csv", "--csv-safe", "-q"]);
    assert_exit(&output, 0, "");
    assert!(fs::read_to_string(folder.file("safe.csv")).unwrap().starts_with("series_ref,'=x,__name__\n"));
}
