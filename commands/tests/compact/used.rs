//! `--keep-used`: metrics that no query selects are left out, and nothing is written if that is not certain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::{Labelset, Plan, build, labelsets};

use crate::support::{assert_exit, content};

fn compact(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

fn write(path: &Path, series: &BTreeSet<Labelset>) {
    fs::write(path, build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()).unwrap();
}

fn fixture() -> (tempfile::TempDir, [BTreeSet<Labelset>; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let first = labelsets(&[
        &[("__name__", "up"), ("job", "a")],
        &[("__name__", "a.b"), ("job", "a")],
        &[("__name__", "axb"), ("job", "a")],
        &[("__name__", "late"), ("job", "a")],
        &[("job", "nameless")],
    ]);
    let second = labelsets(&[&[("__name__", "up"), ("job", "b")], &[("__name__", "late"), ("job", "b")]]);
    write(&folder.path().join("1.cx"), &first);
    write(&folder.path().join("2.cx"), &second);
    fs::write(folder.path().join("q.promql"), "up{job=\"a\"}\nlate{job=\"b\"}\n{\"a.b\"}\n").unwrap();
    (folder, [first, second])
}

#[test]
fn unused_metrics_are_left_out_and_used_ones_are_whole() {
    let (folder, [first, second]) = fixture();
    let output = compact(folder.path(), &["1.cx", "2.cx", "-o", "out.cx", "--keep-used", "q.promql"]);
    assert_exit(&output, 0);
    let is_kept = |labels: &&Labelset| {
        ["up", "a.b", "late"].iter().any(|name| labels.get("__name__").is_some_and(|known| known == name))
    };
    let expected: BTreeSet<Labelset> = first.iter().chain(&second).filter(is_kept).cloned().collect();
    assert_eq!(content(&fs::read(folder.path().join("out.cx")).unwrap()), expected);

    // Other options narrow it further.
    let arguments = ["1.cx", "2.cx", "-o", "narrow.cx", "--keep", "{job=\"b\"}", "--keep-used", "q.promql"];
    assert_exit(&compact(folder.path(), &arguments), 0);
    let expected: BTreeSet<Labelset> = second.iter().cloned().collect();
    assert_eq!(content(&fs::read(folder.path().join("narrow.cx")).unwrap()), expected);
}

#[test]
fn a_dry_run_prints_what_goes_and_writes_nothing() {
    let (folder, _) = fixture();
    let arguments = ["1.cx", "2.cx", "--dry-run", "--keep-used", "q.promql"];
    let output = compact(folder.path(), &arguments);
    assert_exit(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        "       series  metric to drop\n            1  (no __name__)\n            1  axb\n            2  in 2 metrics, 28.6% of the series of the inputs\n"
    );
    let output = compact(folder.path(), &[&arguments[..], &["--json"]].concat());
    let rows: Vec<serde_json::Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.last().unwrap()["kept_series"], 5);
    assert_eq!(rows[1], serde_json::json!({"type": "metric", "metric": "axb", "series": 1}));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn nothing_is_written_if_a_query_is_not_understood_or_none_selects_anything() {
    let (folder, _) = fixture();
    fs::write(folder.path().join("bad.promql"), "up\nsum(axb\n").unwrap();
    let arguments = ["1.cx", "-o", "out.cx", "--keep-used", "bad.promql"];
    let output = compact(folder.path(), &arguments);
    let message = assert_exit(&output, 6);
    assert!(message.contains("bad.promql: line 2") && message.contains("nothing was written"), "{message}");
    assert!(!folder.path().join("out.cx").exists());
    assert_exit(&compact(folder.path(), &[&arguments[..], &["--skip-bad-queries"]].concat()), 0);
    let kept = content(&fs::read(folder.path().join("out.cx")).unwrap());
    assert_eq!(kept, labelsets(&[&[("__name__", "up"), ("job", "a")], &[("__name__", "axb"), ("job", "a")]]));

    // A missing library panel has no words.
    let dashboard = r#"{"panels": [{"libraryPanel": {"uid": "a", "name": "A"}}, {"targets": [{"expr": "up"}]}]}"#;
    fs::write(folder.path().join("d.json"), dashboard).unwrap();
    let arguments = ["1.cx", "-o", "none.cx", "--keep-used", "d.json", "--skip-bad-queries"];
    assert!(assert_exit(&compact(folder.path(), &arguments), 6).contains("library panel A"));
    assert!(!folder.path().join("none.cx").exists());

    fs::write(folder.path().join("other.promql"), "absent_metric\n").unwrap();
    let output = compact(folder.path(), &["1.cx", "-o", "none.cx", "--keep-used", "other.promql"]);
    assert!(assert_exit(&output, 2).contains("nothing would be kept"));
    fs::create_dir(folder.path().join("blocks")).unwrap();
    let output = compact(folder.path(), &["blocks", "--keep-used", "q.promql"]);
    assert!(assert_exit(&output, 2).contains("need named files"));
}

#[test]
fn many_unused_metrics_are_dropped_by_few_selectors() {
    let (folder, _) = fixture();
    let names: Vec<String> = (0..9_000).map(|number| format!("a_metric_with_a_usual_name_{number}")).collect();
    let mut series: Vec<Vec<(&str, &str)>> = names.iter().map(|name| vec![("__name__", name.as_str())]).collect();
    series.push(vec![("__name__", "up"), ("job", "a")]);
    let series: Vec<&[(&str, &str)]> = series.iter().map(Vec::as_slice).collect();
    write(&folder.path().join("many.cx"), &labelsets(&series));
    let arguments = ["many.cx", "-o", "few.cx", "--keep-used", "q.promql", "--drop", "{job=\"z\"}", "--drop", "late"];
    assert_exit(&compact(folder.path(), &arguments), 0);
    let kept = content(&fs::read(folder.path().join("few.cx")).unwrap());
    assert_eq!(kept, labelsets(&[&[("__name__", "up"), ("job", "a")]]));
}

#[test]
fn values_are_hashed_with_a_key_from_a_file() {
    let (folder, [first, _]) = fixture();
    fs::write(folder.path().join("key"), "0123456789abcdef\n").unwrap();
    fs::write(folder.path().join("short"), "0123\n").unwrap();
    let arguments = ["1.cx", "-o", "hashed.cx", "--hash-label", "job", "--hash-key", "key"];
    let message = assert_exit(&compact(folder.path(), &arguments), 0);
    assert!(message.contains("hashed       \"job\": 2 values, 2 hashes"), "{message}");
    // printf %s a | openssl dgst -sha256 -hmac 0123456789abcdef
    let hashes = [("a", "0c806ca38a87cad9"), ("nameless", "78d18db5309d80e2")];
    let expected: BTreeSet<Labelset> = (first.into_iter())
        .map(|mut labels| {
            let job = labels.get_mut("job").unwrap();
            *job = hashes.iter().find(|(value, _)| value == job).unwrap().1.to_owned();
            labels
        })
        .collect();
    assert_eq!(content(&fs::read(folder.path().join("hashed.cx")).unwrap()), expected);

    let mistyped = ["1.cx", "-o", "no.cx", "-q", "--hash-label", "Job", "--hash-key", "key"];
    assert!(assert_exit(&compact(folder.path(), &mistyped), 2).contains("no input has this label"));
    let short = ["1.cx", "-o", "no.cx", "--hash-label", "job", "--hash-key", "short"];
    assert!(assert_exit(&compact(folder.path(), &short), 2).contains("short: a key of 4 bytes"));
    let absent = ["1.cx", "-o", "no.cx", "--hash-label", "job", "--hash-key", "absent"];
    assert!(assert_exit(&compact(folder.path(), &absent), 1).contains("absent"));
    assert!(
        assert_exit(&compact(folder.path(), &["1.cx", "-o", "no.cx", "--hash-label", "job"]), 2).contains("--hash-key")
    );
    assert!(!folder.path().join("no.cx").exists());
}
