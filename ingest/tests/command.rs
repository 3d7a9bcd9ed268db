//! The built command: what it writes, says and ends with.

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, TimeRange};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Files, without those that the test wrote.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        command().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

fn committed(name: &str) -> String {
    format!("{}/../testdata/captures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const LINES: &str = "{\"a\":\"1\"}\n{\"a\":\"2\"}\n";

#[test]
fn a_capture_becomes_a_block_that_verifies() {
    let folder = Folder::new();
    let output = folder.path("metrics.cx");
    let done = run(&[&committed("metrics.jsonl"), "-o", text(&output)]);
    assert_exit(&done, 0, "metrics.cx: 35 series in ");
    assert_exit(&done, 0, "  read      3 records, 95 data points, 37.6 KiB (38,514 bytes)\n");
    assert_exit(&done, 0, "  time      2025-11-11T09:00:00Z to 2025-11-11T09:01:00.000002Z\n");
    assert_eq!(done.stdout, b"");
    assert_eq!(folder.names(), ["metrics.cx"], "no temporary file is left");

    let bytes = fs::read(&output).unwrap();
    let block = BlockView::open(&bytes).unwrap();
    block.verify().unwrap();
    let meta = block.meta().unwrap();
    assert_eq!(meta.series_count(), 35);
    let time = TimeRange { start: 1_762_851_600_000_000_000, end: 1_762_851_660_000_002_001 };
    assert_eq!(meta.time(), Some(time));
    assert_eq!((meta.policy().max_name_len(), meta.policy().max_value_len()), (1_024, 2_048));
    assert_eq!(block.row_form(), RowForm::BitPacked);
    let labels = [
        ("__name__", "db.client.operation.duration"),
        ("db.namespaces", r#"["shop","audit"]"#),
        ("db.operation.name", "SELECT"),
        ("db.sampled", "true"),
        ("db.system.name", "postgresql"),
        ("deployment.environment.name", "production"),
        ("k8s.cluster.name", "eu-1"),
        ("k8s.deployment.name", "checkout"),
        ("k8s.namespace.name", "shop"),
        ("k8s.node.name", "node-a"),
        ("k8s.pod.name", "checkout-5b6d8-k7jzt"),
        ("otel_scope_name", "otelsql"),
        ("otel_scope_version", "0.35.0"),
        ("server.port", "5432"),
        ("service.instance.id", "checkout-5b6d8-k7jzt"),
        ("service.name", "checkout"),
        ("service.namespace", "shop"),
        ("service.version", "2.0.1"),
        ("telemetry.sdk.language", "go"),
        ("telemetry.sdk.name", "opentelemetry"),
    ];
    assert!(block.find(labels).unwrap().is_some());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = Folder::new();
    let (first, second) = (folder.path("first.cx"), folder.path("second.cx"));
    let content = fs::read(committed("metrics.jsonl")).unwrap();
    assert_exit(&run(&[&committed("metrics.jsonl"), "-o", text(&first)]), 0, "");
    assert_exit(&piped(&["-", "-o", text(&second)], &zstd::encode_all(&content[..], 3).unwrap()), 0, "");
    assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap());
    // Neither does the order of inputs matter.
    let (days, reversed) = (folder.path("days.cx"), folder.path("reversed.cx"));
    let (monday, tuesday) = (committed("monday.series.jsonl"), committed("tuesday.series.jsonl"));
    assert_exit(&run(&[&monday, &tuesday, "-o", text(&days)]), 0, "days.cx: 43 series in ");
    assert_exit(&run(&[&tuesday, &monday, "-o", text(&reversed)]), 0, "");
    assert!(fs::read(&days).unwrap() == fs::read(&reversed).unwrap());
}

#[test]
fn the_summary_as_json_is_one_object_on_standard_output() {
    let folder = Folder::new();
    let output = folder.path("m.cx");
    let done = run(&[&committed("metrics.jsonl"), "-o", text(&output), "--json", "--layout", "fixed"]);
    assert_exit(&done, 0, "");
    assert_eq!(done.stderr, b"");
    let summary: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(summary["series"], 35);
    assert_eq!(summary["layout"], "fixed");
    assert_eq!(summary["bytes"], fs::metadata(&output).unwrap().len());
    assert_eq!(summary["input"]["points_by_kind"]["exponential_histogram"], 6);
    assert_eq!(summary["input"]["warnings"], Value::Array(vec![]));
}

#[test]
fn labels_and_notes_of_the_block_are_kept_in_order() {
    let folder = Folder::new();
    let (capture, output) = (folder.write("c.jsonl", LINES), folder.path("c.cx"));
    let pairs = ["--external-label", "zone=1", "--external-label", "cluster=eu=1", "--user-pair", "note="];
    let done = run(&[&[text(&capture), "-o", text(&output)], &pairs[..]].concat());
    assert_exit(&done, 0, "");
    let bytes = fs::read(&output).unwrap();
    let block = BlockView::open(&bytes).unwrap();
    let meta = block.meta().unwrap();
    let external: Vec<_> = meta.external_labels().unwrap().collect();
    assert_eq!(external, [Ok(("cluster", "eu=1")), Ok(("zone", "1"))]);
    assert_eq!(meta.user_pairs().unwrap().collect::<Vec<_>>(), [Ok(("note", ""))]);
    assert_eq!(meta.time(), None, "series have no time");
}

#[test]
fn an_existing_file_is_replaced_only_when_asked_for() {
    let folder = Folder::new();
    let (capture, output) = (folder.write("c.jsonl", LINES), folder.write("c.cx", "precious"));
    assert_exit(&run(&[text(&capture), "-o", text(&output)]), 1, "exists already");
    assert_eq!(fs::read(&output).unwrap(), b"precious");
    assert_exit(&run(&[text(&capture), "-o", text(&output), "--force"]), 0, "2 series");
    assert!(fs::read(&output).unwrap().starts_with(b"\x89CXB"));
    // Not even a failed run with --force touches it.
    let before = fs::read(&output).unwrap();
    let broken = folder.write("broken.jsonl", "{\"a\":\"1\"}\n{\"a\":1}\n");
    assert_exit(&run(&[text(&broken), "-o", text(&output), "--force"]), 3, "");
    assert!(fs::read(&output).unwrap() == before);
}

#[test]
fn usage_errors_end_with_2() {
    let folder = Folder::new();
    let (capture, output) = (folder.write("c.jsonl", LINES), folder.path("c.cx"));
    let (capture, output) = (text(&capture), text(&output));
    for (arguments, message) in [
        (&[][..], "required"),
        (&[capture], "--output"),
        (&[capture, "-o", "-"], "cannot go to standard output"),
        (&[capture, "-o", output, "--format", "xml"], "otlp-json"),
        (&[capture, "-o", output, "--layout", "wide"], "bitpacked"),
        (&[capture, "-o", output, "--user-pair", "x"], "a key, `=` and a value"),
        (&[capture, "-o", output, "--user-pair", "x=1", "--user-pair", "x=2"], "--user-pair has x twice"),
        (&[capture, "-o", output, "--max-record-size", "0"], "a number of bytes"),
    ] {
        assert_exit(&run(arguments), 2, message);
    }
    assert_eq!(folder.names(), ["c.jsonl"]);
}

#[test]
fn inputs_that_cannot_be_read_are_told_apart() {
    let folder = Folder::new();
    let output = folder.path("c.cx");
    let file = |name: &str, content: &[u8]| text(&folder.write(name, content)).to_owned();
    for (input, code, message) in [
        (text(&folder.path("absent")).to_owned(), 1, "absent: cannot open: No such file"),
        (file("prom", b"# HELP up\na 1\nb 1\nc 1\nd 1\nup is\n"), 3, "record 6, at byte 26, is broken"),
        (file("other", b"\x7fELF"), 4, "this is of no known format"),
        (
            file("protobuf", b"\n\x05\n\x03\n\x04x"),
            3,
            "record 1, at byte 0, is broken: a field ends after its message, at byte 4",
        ),
        (file("broken", b"{\"a\":\"1\"}\n{\"a\":2}\n"), 3, "record 2, at byte 10, is broken: invalid type"),
        (
            file("status", br#"{"status":"error","errorType":"timeout","error":"too slow"}"#),
            3,
            "error, timeout, too slow",
        ),
    ] {
        assert_exit(&run(&[&input, "-o", text(&output)]), code, message);
        assert!(!output.exists(), "{input}");
    }
}

#[test]
fn what_was_left_out_ends_with_6() {
    let folder = Folder::new();
    let output = folder.path("c.cx");
    let broken = folder.write("broken", format!("{LINES}{{\"a\":3}}\n"));
    let done = run(&[text(&broken), "-o", text(&output), "--skip-bad-records"]);
    assert_exit(&done, 6, "warning: ");
    assert_exit(&done, 6, "record 3, at byte 20, is broken, and was left out: invalid type");
    assert_exit(&done, 6, "  left out  1 broken record\n");
    assert!(output.exists(), "what could be read is there");

    let torn = folder.write("torn", format!("{LINES}{{\"a\":\"3"));
    let done = run(&[text(&torn), "-o", text(&output), "--force"]);
    assert_exit(&done, 0, "record 3, at byte 20, is cut off at the end of the input, and was left out");
    assert_exit(&run(&[text(&torn), "-o", text(&output), "--force", "--strict"]), 6, "2 series");

    let mut compressed = zstd::encode_all(fs::File::open(committed("metrics.jsonl")).unwrap(), 3).unwrap();
    compressed.truncate(compressed.len() - 1);
    let done = piped(&["-", "-o", text(&output), "--force", "--strict"], &compressed);
    assert_exit(&done, 6, "standard input: the compressed stream is cut off");
}

#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let folder = Folder::new();
    let capture = folder.write("c\u{1b}[2J.jsonl", format!("{LINES}{{\"a\":\"3"));
    let done = run(&[text(&capture), "-o", text(&folder.path("c.cx"))]);
    assert_exit(&done, 0, "c\\u001b[2J.jsonl: record 3");
    assert!(!done.stderr.contains(&0x1b));
}

#[test]
fn an_empty_capture_is_an_empty_block() {
    let folder = Folder::new();
    let output = folder.path("c.cx");
    assert_exit(&piped(&["-", "-o", text(&output)], b""), 0, "standard input: no otlp-json records");
    let bytes = fs::read(&output).unwrap();
    let block = BlockView::open(&bytes).unwrap();
    assert_eq!((block.verify().map(drop), block.series_count()), (Ok(()), Ok(0)));
}

#[test]
fn a_standard_error_that_is_full_is_no_panic() {
    let folder = Folder::new();
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("skipped: there is no /dev/full here");
        return;
    };
    let torn = folder.write("torn", format!("{LINES}{{\"a\":\"3"));
    let output = command().args([text(&torn), "-o", text(&folder.path("c.cx"))]).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "the block is there");
    assert!(folder.path("c.cx").exists());
}
