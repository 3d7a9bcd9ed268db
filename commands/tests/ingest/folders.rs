//! Folders in which not all files are captures, or not all captures are whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chronoxide_format::view::BlockView;

use crate::canonical;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.env("NO_COLOR", "1").current_dir(folder).stdin(Stdio::null());
    command.args(["data", "-o", "out.cx", "--force"]).args(arguments).output().unwrap()
}

/// Names of the series of the block, joined.
fn names(folder: &Path) -> String {
    let bytes = fs::read(folder.join("out.cx")).unwrap();
    BlockView::open(&bytes).unwrap();
    let series = canonical::block_series(&bytes);
    let mut names: Vec<String> = series
        .into_iter()
        .flat_map(|labels| labels.into_iter().filter(|(key, _)| key == "__name__"))
        .map(|(_, name)| name)
        .collect();
    names.sort();
    names.join(" ")
}

/// A folder with a capture, this file, and another capture.
fn with(name: &str, content: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    for (name, content) in [("a.prom", &b"a 1\n"[..]), (name, content), ("z.prom", b"z 1\n")] {
        fs::write(folder.path().join("data").join(name), content).unwrap();
    }
    folder
}

const QUERY: &str =
    r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"q"},"value":[1,"1"]}]}}"#;

#[test]
fn files_that_are_no_captures_are_skipped_with_the_reason() {
    for (name, content, reason) in [
        ("my.cnf", "[mysqld]\nport = 3306\n", "unrecognized format"),
        ("settings.yml", "port: 9090\nworkers: 4\n", "settings or a script, not samples"),
        ("run.sh", "#!/bin/sh\nsleep 10\n", "settings or a script, not samples"),
        ("rules.yml", "groups:\n- name: node\n  rules:\n  - alert: Down\n    expr: up == 0\n", "unrecognized format"),
        ("log.json", "{\"message\":\"started\"}\n{\"message\":\"ready\"}\n", "JSON objects without a metric name"),
        ("log.jsonl", "{\"level\":\"info\",\"ts\":1.5}\n", "JSON, but neither OTLP metrics nor series"),
        ("package.json", "{\n  \"name\": \"page\",\n  \"license\": \"MIT\"\n}\n", "JSON objects without a metric name"),
        ("list.json", "[{\"id\":\"1\"},{\"id\":\"2\"}]", "JSON objects without a metric name"),
        ("numbers.json", "[1,2,3]", "JSON, but neither OTLP metrics nor series"),
        ("labels.json", r#"{"status":"success","data":["__name__x","job"]}"#, "JSON objects without a metric name"),
        ("query.json", QUERY, "the result of a query"),
        ("spans.jsonl", "{\"resourceSpans\":[]}\n", "OTLP data, but not metrics"),
        ("image.png", "\u{7f}PNG\r\n\u{1a}\n\0\0", "unrecognized format"),
    ] {
        let folder = with(name, content.as_bytes());
        let done = run(folder.path(), &[]);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{name}: {stderr}");
        assert_eq!(names(folder.path()), "a z", "{name}");
        assert!(stderr.contains(&format!("data/{name}: skipped: {reason}")), "{name}: {stderr}");
    }
}

#[test]
fn files_that_are_named_or_of_a_named_format_are_read() {
    for (content, expected) in [("{\"message\":\"started\"}\n", ""), (QUERY, "q")] {
        let folder = with("b.json", content.as_bytes());
        fs::remove_file(folder.path().join("data/a.prom")).unwrap();
        fs::remove_file(folder.path().join("data/z.prom")).unwrap();
        let done = run(folder.path(), &[]);
        assert_eq!(done.status.code(), Some(4), "no file of the folder is a capture");
        let done = run(folder.path(), &["--format", "series-json"]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(names(folder.path()), expected);
        let done = run(folder.path(), &["data/b.json"]);
        assert_eq!(done.status.code(), Some(4), "the folder has no capture still");
    }
    let array = r#"[{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"b","gauge":{"dataPoints":[{}]}}]}]}]}]"#;
    let folder = with("requests.json", array.as_bytes());
    let done = run(folder.path(), &[]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(names(folder.path()), "a b z");
}

#[test]
fn one_damaged_file_costs_its_rest_only() {
    let lines = "{\"__name__\":\"b\"}\n{\"__name__\":\"c\"\"}\n{\"__name__\":\"d\"}\n";
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff];
    let refused = r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#;
    for (name, content, kept, reason) in [
        ("b.jsonl", lines.as_bytes(), "a b z", "data/b.jsonl: record 2 at byte 17 is malformed"),
        ("b.prom", b"b 1\nc 1\nd 1\ne 1\nf{ 1\ng 1\n", "a b c d e z", "data/b.prom: record 5 at byte 16 is malformed"),
        ("b.gz", &gzip, "a z", "data/b.gz: damaged gzip stream"),
        ("b.parquet", b"PAR1 is not a table", "a z", "data/b.parquet"),
        ("b.arrow", b"ARROW1\0\0\x04\0\0\0is no message", "a z", "data/b.arrow"),
        ("b.json", refused.as_bytes(), "a z", "query timed out"),
    ] {
        let folder = with(name, content);
        let done = run(folder.path(), &["-q"]);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(6), "{name}: {stderr}");
        assert_eq!(names(folder.path()), kept, "{name}: {stderr}");
        assert!(stderr.contains(reason) && stderr.contains("the rest of this input is missing"), "{name}: {stderr}");
        let json = run(folder.path(), &["--json"]);
        let summary: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(summary["input"]["failed_inputs"], 1, "{name}: {summary}");
        // A file that is named must be readable.
        let done = run(folder.path(), &[&format!("data/{name}")]);
        assert!(matches!(done.status.code(), Some(3 | 4)), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        // So must one file of a folder.
        for other in ["a.prom", "z.prom"] {
            fs::remove_file(folder.path().join("data").join(other)).unwrap();
        }
        let done = run(folder.path(), &[]);
        assert!(matches!(done.status.code(), Some(3 | 4)), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn a_file_that_cannot_be_opened_costs_itself_only() {
    use std::os::unix::fs::symlink;
    let folder = with("b.prom", b"b 1\n");
    symlink("missing", folder.path().join("data/c.prom")).unwrap();
    let done = run(folder.path(), &[]);
    let stderr = String::from_utf8_lossy(&done.stderr);
    // A link without a target is seen before anything is read.
    assert!(matches!(done.status.code(), Some(1 | 6)), "{stderr}");
    assert!(stderr.contains("data/c.prom"), "{stderr}");
}

#[test]
fn the_reason_of_the_exit_code_is_told_behind_many_warnings() {
    let folder = with("z.jsonl", b"{\"__name__\":\"b\"}\n{\"__name__\":\"c");
    for number in 0..30 {
        fs::write(folder.path().join(format!("data/f{number}.yml")), "a: b\n").unwrap();
    }
    let done = run(folder.path(), &["-q"]);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("data/z.jsonl: record 2") && stderr.contains("11 more warnings"), "{stderr}");
}

#[test]
fn a_link_to_a_folder_around_it_is_skipped() {
    let folder = with("b.prom", b"b 1\n");
    for name in ["l1", "l2"] {
        std::os::unix::fs::symlink(".", folder.path().join("data").join(name)).unwrap();
    }
    let done = run(folder.path(), &[]);
    assert_eq!((done.status.code(), names(folder.path()).as_str()), (Some(0), "a b z"));
    assert!(String::from_utf8_lossy(&done.stderr).contains("a link to a folder around it"));
}

#[test]
fn a_capture_beside_a_block_of_prometheus_has_neither_its_window_nor_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/cases/thanos-external-labels/bucket");
    let block = fs::read_dir(case).unwrap().next().unwrap().unwrap().path();
    let to = data.join(block.file_name().unwrap());
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(block).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    fs::write(data.join("zzz.prom"), "zzz 1\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    let done = command.current_dir(folder.path()).args(["data", "-o", "blocks/"]).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path().join("blocks")).unwrap().map(Result::unwrap) {
        let bytes = fs::read(entry.path()).unwrap();
        if entry.path().extension().is_some_and(|end| end == "cx") {
            let meta = BlockView::open(&bytes).unwrap().meta().unwrap();
            found.push((meta.series_count(), meta.time().is_some()));
        }
    }
    found.sort();
    assert_eq!(found, [(1, false), (2, true)]);
}
