//! Messages of commands about the files that they wrote.

use std::fs;
use std::process::{Command, Output};

use crate::support::Folder;

fn run(folder: &Folder, program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).current_dir(folder.path()).env("NO_COLOR", "1").output().unwrap()
}

const INGEST: &str = env!("CARGO_BIN_EXE_chronoxide-ingest");
const COMPACT: &str = env!("CARGO_BIN_EXE_chronoxide-compact");
const INSPECT: &str = env!("CARGO_BIN_EXE_chronoxide-inspect");

fn stderr(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"");
    String::from_utf8(output.stderr).unwrap()
}

fn with_block() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"job\":\"a\"}\n{\"job\":\"b\"}\n");
    assert_eq!(stderr(run(&folder, INGEST, &["-q", "a.jsonl", "-o", "a.cx"])), "");
    folder
}

#[test]
fn report_and_export_say_path_series_and_bytes_unless_quiet() {
    let folder = with_block();
    for (words, file, series) in [
        (&["report", "a.cx"][..], "a.html", 2),
        (&["report", "a.cx", "--json"], "a.json", 2),
        (&["report", "a.cx", "--match", "{job=\"a\"}"], "m.html", 1),
        (&["export", "a.cx"], "a.parquet", 2),
        (&["export", "a.cx"], "a.csv", 2),
        (&["export", "a.cx", "--match", "{job=\"a\"}"], "a.arrow", 1),
    ] {
        let said = stderr(run(&folder, INSPECT, &[words, &["-o", file]].concat()));
        let bytes = fs::metadata(folder.file(file)).unwrap().len();
        assert!(said.starts_with(&format!("{file}: {series} series in ")), "{said}");
        let exact = bytes.to_string().len() > 3;
        assert!(!exact || said.contains(&grouped(bytes)), "{bytes} bytes: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(stderr(run(&folder, INSPECT, &[words, &["-o", file, "--force", "-q"]].concat())), "");
    }
}

/// Groups the digits of a number of less than a million.
fn grouped(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03} bytes", number / 1_000, number % 1_000) }
}

#[test]
fn a_file_under_the_extension_of_another_format_gets_a_warning() {
    let folder = with_block();
    for (program, words, warning) in [
        (
            INGEST,
            &["a.jsonl", "-o", "x.parquet"][..],
            "chronoxide-ingest: warning: x.parquet: the file is a block, whose name usually ends with .cx; \
             `chronoxide-inspect export` makes tables of blocks\n",
        ),
        (
            COMPACT,
            &["a.cx", "-o", "y.CSV"],
            "chronoxide-compact: warning: y.CSV: the file is a block, whose name usually ends with .cx; \
             `chronoxide-inspect export` makes tables of blocks\n",
        ),
        (
            COMPACT,
            &["a.cx", "-o", "y.html"],
            "chronoxide-compact: warning: y.html: the file is a block, whose name usually ends with .cx; \
             `chronoxide-inspect report` makes pages of blocks\n",
        ),
        (
            INSPECT,
            &["export", "a.cx", "--format", "csv", "-o", "z.parquet"],
            "chronoxide-inspect: warning: z.parquet: the file is a CSV file, whose name usually ends with .csv\n",
        ),
        (
            INSPECT,
            &["report", "a.cx", "-o", "r.cx"],
            "chronoxide-inspect: warning: r.cx: the file is a page, whose name usually ends with .html\n",
        ),
        (INGEST, &["a.jsonl", "-o", "plain.cx"], ""),
        (INGEST, &["a.jsonl", "-o", "block.v2"], ""),
        (INGEST, &["a.jsonl", "-o", "folder.parquet/"], ""),
        (INSPECT, &["export", "a.cx", "--format", "jsonl", "-o", "z.ndjson"], ""),
    ] {
        assert_eq!(stderr(run(&folder, program, &[words, &["-q"]].concat())), warning, "{words:?}");
    }
}

#[test]
fn an_empty_capture_gets_a_warning_that_names_the_empty_block() {
    let folder = with_block();
    folder.write("empty.jsonl", "");
    for output in ["empty.cx", "empty/"] {
        let said = stderr(run(&folder, INGEST, &["-q", "empty.jsonl", "-o", output]));
        let warning = said.lines().last().unwrap();
        assert!(
            warning.starts_with(&format!(
                "chronoxide-ingest: warning: the captures have no series: {}",
                output.trim_end_matches(".cx")
            )) && warning.ends_with(".cx is an empty block"),
            "{said}"
        );
    }
}

#[test]
fn the_summary_names_the_block_that_ingest_writes_into_a_folder() {
    let folder = with_block();
    let said = stderr(run(&folder, INGEST, &["a.jsonl", "-o", "blocks/"]));
    let name = fs::read_dir(folder.file("blocks")).unwrap().next().unwrap().unwrap().file_name();
    assert!(said.starts_with(&format!("blocks/{}: 2 series in ", name.to_str().unwrap())), "{said}");
}
