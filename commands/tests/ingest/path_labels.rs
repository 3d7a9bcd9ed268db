//! Labels from paths: folders called `name=value`, and `--path-label`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::canonical::{self, Labels};

fn ingest(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command.args(arguments).args(["-o", "out.cx", "--force"]).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ingests with these arguments. Returns the series, and what the command printed.
#[track_caller]
fn series(folder: &Path, arguments: &[&str]) -> (BTreeSet<Labels>, String) {
    let output = ingest(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let block = fs::read(folder.join("out.cx")).unwrap();
    (canonical::block_series(&block).into_iter().collect(), stderr(&output))
}

fn all<const N: usize>(texts: [&str; N]) -> BTreeSet<Labels> {
    let pair =
        |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.replace('~', " "))).unwrap();
    texts.map(|text| text.split_whitespace().map(pair).collect()).into()
}

/// Folder of files with these contents.
fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/tables")
}

#[test]
fn partitions_of_duckdb_and_polars_keep_their_column() {
    let folder = tempfile::tempdir().unwrap();
    let expected = all([
        "__name__=up pod=x job=api",
        "__name__=up pod=x job=b/ä~=c",
        "__name__=down pod=y",
        "__name__=down pod=z",
    ]);
    for form in ["parquet", "csv", "json"] {
        let path = tables().join(format!("duckdb-{form}-partitions"));
        let (found, printed) = series(folder.path(), &[path.to_str().unwrap()]);
        assert_eq!(found, expected, "{form}");
        assert!(printed.contains("note: labels from folders: job"), "{printed}");
        // The files named, as a shell expands a pattern.
        let named: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().path().join(format!("data_0.{form}")).to_str().unwrap().to_owned())
            .collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        assert_eq!(series(folder.path(), &named).0, expected, "{form}");
        let (found, printed) = series(folder.path(), &[path.to_str().unwrap(), "--no-folder-labels"]);
        assert!(found.iter().all(|labels| !labels.contains_key("job")), "{found:?}");
        assert!(!printed.contains("note:"), "{printed}");
    }
    let list = fs::read_to_string(tables().join("series.jsonl")).unwrap();
    let expected: BTreeSet<Labels> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (writer, skipped) in [("polars", 0), ("pyarrow", 1)] {
        let path = tables().join(format!("{writer}-partitions"));
        let (found, printed) = series(folder.path(), &[path.to_str().unwrap()]);
        assert_eq!(found, expected, "{writer}");
        // The summary of the row groups of all files.
        assert_eq!(printed.matches("_metadata: skipped").count(), skipped, "{printed}");
    }
}

#[test]
fn folders_are_labels_of_series_that_lack_them_in_each_format() {
    let folder = files(&[
        ("in/env=prod/zone=a/text", "up 1\nup{zone=\"own\"} 1\n"),
        ("in/env=prod/zone=a/zone=b/lines.json", "{\"__name__\":\"down\"}\n"),
        (
            "in/env=prod/otlp",
            r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}}]}]}]}"#,
        ),
        ("in/plain.prom", "up 1\n"),
    ]);
    let (found, printed) = series(folder.path(), &["in"]);
    let expected = all([
        "__name__=up env=prod zone=a",
        "__name__=up env=prod zone=own",
        "__name__=down env=prod zone=b",
        "__name__=m env=prod",
        "__name__=up",
    ]);
    assert_eq!(found, expected);
    assert!(printed.contains("note: labels from folders: env, zone (--no-folder-labels turns this off)"), "{printed}");
    let (_, printed) = series(folder.path(), &["in", "-q"]);
    assert_eq!(printed, "");
}

#[test]
fn path_labels_are_what_wildcards_stand_for() {
    let folder = files(&[
        ("scrapes/node/a.prom", "up 1\n"),
        ("scrapes/node/b.prom", "up 1\nup{instance=\"own\"} 1\n"),
        ("scrapes/env=x/c.prom", "up 1\n"),
    ]);
    let options = ["--path-label", "instance={2}:9100", "--path-label", "job={1}", "--path-label", "env=test"];
    let (found, _) = series(folder.path(), &[&["scrapes/*/*.prom"], &options[..]].concat());
    let expected = all([
        "__name__=up instance=a:9100 job=node env=test",
        "__name__=up instance=b:9100 job=node env=test",
        "__name__=up instance=own job=node env=test",
        "__name__=up instance=c:9100 job=env=x env=test",
    ]);
    assert_eq!(found, expected);
    // A pattern that matches folders.
    let (found, _) = series(folder.path(), &["scrapes/*", "--path-label", "job={1}"]);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|labels| ["node", "env=x"].contains(&labels["job"].as_str())), "{found:?}");
    for (arguments, message) in [
        (&["scrapes/*/*.prom", "--path-label", "a={3}"][..], "was found by a pattern with 2 `*`, and {3} needs 3"),
        (
            &["scrapes", "--path-label", "a={1}"],
            "was found by a pattern with 0 `*`, and {1} needs 1; give captures as a pattern",
        ),
        (&["scrapes/*/*.prom", "--path-label", "a"], "expected NAME=TEMPLATE, such as instance={1}:9100"),
        (&["scrapes/*/*.prom", "--path-label", "a={x}"], "{x} is not the number of a wildcard"),
    ] {
        let output = ingest(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let text = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(message), "{text}");
    }
}
