//! The built command: output files, messages and exit codes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_testkit::requirement::skip_or_fail;
use serde_json::Value;

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
    // The command may end before it has read everything.
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
fn an_archive_has_the_series_of_the_block_that_it_replaces() {
    let folder = Folder::new();
    let (plain, archive) = (folder.path("plain.cx"), folder.path("archive.cx"));
    let capture = committed("metrics.jsonl");
    assert_exit(&run(&[&capture, "-o", text(&plain)]), 0, "35 series in ");
    let report = folder.path("report.md");
    let done = run(&[&capture, "-o", text(&archive), "--archive", "--report", text(&report)]);
    assert_exit(&done, 0, "archive.cx: 35 series in ");
    assert!(fs::read_to_string(&report).unwrap().contains("packed-arena"));
    let [plain, archive] = [plain, archive].map(|path| fs::read(path).unwrap());
    assert!(archive.len() < plain.len(), "{} and {} bytes", archive.len(), plain.len());
    let mut arena = Vec::new();
    let view = BlockView::open_unpacked(&archive, &mut arena).unwrap();
    assert_eq!(view.features(), [1, 0, 0]);
    assert_eq!(view.verify(), BlockView::open(&plain).unwrap().verify());
}

#[test]
fn a_capture_becomes_a_block_that_verifies() {
    let folder = Folder::new();
    let output = folder.path("metrics.cx");
    let done = run(&[&committed("metrics.jsonl"), "-o", text(&output)]);
    assert_exit(&done, 0, "metrics.cx: 35 series in ");
    assert_exit(&done, 0, "  read      3 records, 95 data points, 37.6 KiB (38,514 bytes)\n");
    assert_exit(&done, 0, "  time      2025-11-11T09:00:00Z to before 2025-11-11T09:01:00.000002001Z\n");
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
    assert_eq!(block.row_form(), Some(RowForm::BitPacked));
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
    let pairs = ["--external-label", "zone=1", "--external-label", "cluster=eu=1", "--annotation", "note="];
    let done = run(&[&[text(&capture), "-o", text(&output)], &pairs[..]].concat());
    assert_exit(&done, 0, "");
    let bytes = fs::read(&output).unwrap();
    let block = BlockView::open(&bytes).unwrap();
    let meta = block.meta().unwrap();
    let external: Vec<_> = meta.external_labels().unwrap().collect();
    assert_eq!(external, [Ok(("cluster", "eu=1")), Ok(("zone", "1"))]);
    assert_eq!(meta.annotations().unwrap().collect::<Vec<_>>(), [Ok(("note", ""))]);
    assert_eq!(meta.time(), None, "series have no time");
}

#[test]
fn an_existing_file_is_replaced_only_when_asked_for() {
    let folder = Folder::new();
    let (capture, output) = (folder.write("c.jsonl", LINES), folder.write("c.cx", "precious"));
    assert_exit(&run(&[text(&capture), "-o", text(&output)]), 1, "already exists");
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
        (&[capture, "-o", "-"], "standard output is not supported"),
        (&[capture, "-o", "gs://bucket/c.cx", "--force"], "objects of URLs are never replaced"),
        (&[capture, "-o", "ftp://bucket/in/"], "unknown scheme ftp"),
        (&[capture, "-o", output, "--report", "s3://bucket/report.md"], "only blocks can be written to a URL"),
        (&[capture, "-o", output, "--format", "xml"], "otlp-json"),
        (&[capture, "-o", output, "--layout", "wide"], "bitpacked"),
        (&[capture, "-o", output, "--format-version", "2.0"], "[possible values: 1.0]"),
        (&[capture, "-o", output, "--annotation", "x"], "expected KEY=VALUE"),
        (&[capture, "-o", output, "--annotation", "chronoxide.rewritten=x"], "are reserved for programs"),
        (&[capture, "-o", output, "--annotation", "x=1", "--annotation", "x=2"], "--annotation: duplicate key x"),
        (&[capture, "-o", output, "--max-record-size", "0"], "expected a size in bytes"),
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
        (file("prom", b"# HELP up\na 1\nb 1\nc 1\nd 1\nup is\n"), 3, "record 6 at byte 26 is malformed"),
        (file("other", b"\x7fELF"), 4, "unrecognized format"),
        (
            file("protobuf", b"\n\x05\n\x03\n\x04x"),
            3,
            "record 1 at byte 0 is malformed: the field at byte 4 extends beyond the end of its message",
        ),
        (file("broken", b"{\"a\":\"1\"}\n{\"a\":2}\n"), 3, "record 2 at byte 10 is malformed: invalid type"),
        (
            file("query", br#"{"status":"success","data":{"groups":[]}}"#),
            3,
            "`data` is neither a list of series nor the result of a query",
        ),
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
fn skipped_records_end_with_6() {
    let folder = Folder::new();
    let output = folder.path("c.cx");
    let broken = folder.write("broken", format!("{LINES}{{\"a\":3}}\n"));
    let done = run(&[text(&broken), "-o", text(&output), "--skip-bad-records"]);
    assert_exit(&done, 6, "warning: ");
    assert_exit(&done, 6, "skipped malformed record 3 at byte 20: invalid type");
    assert_exit(&done, 6, "  skipped   1 malformed record\n");
    assert!(output.exists(), "what could be read is there");

    let nameless = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{}]}}]}]}]}"#;
    let nameless = folder.write("nameless", nameless);
    let done = run(&[text(&nameless), "-o", text(&output), "--force"]);
    assert_exit(&done, 6, "  skipped   1 point of a metric without a name\n");

    let torn = folder.write("torn", format!("{LINES}{{\"a\":\"3"));
    let done = run(&[text(&torn), "-o", text(&output), "--force"]);
    assert_exit(&done, 6, "record 3 at byte 20 is cut off at the end of the input; skipped its 7 bytes");
    assert_exit(&done, 6, "2 series");
    let allowed = run(&[text(&torn), "-o", text(&output), "--force", "--allow-truncated"]);
    assert_exit(&allowed, 0, "record 3 at byte 20 is cut off at the end of the input; skipped its 7 bytes");

    let mut compressed = zstd::encode_all(fs::File::open(committed("metrics.jsonl")).unwrap(), 3).unwrap();
    compressed.truncate(compressed.len() - 1);
    let done = piped(&["-", "-o", text(&output), "--force"], &compressed);
    assert_exit(&done, 6, "standard input: the compressed stream is cut off");
    let allowed = piped(&["-", "-o", text(&output), "--force", "--allow-truncated"], &compressed);
    assert_exit(&allowed, 0, "standard input: the compressed stream is cut off");
}

#[test]
fn file_names_are_escaped_for_the_terminal() {
    let folder = Folder::new();
    let capture = folder.write("c\u{1b}[2J.jsonl", format!("{LINES}{{\"a\":\"3"));
    let done = run(&[text(&capture), "-o", text(&folder.path("c.cx"))]);
    assert_exit(&done, 6, "c\\u001b[2J.jsonl: record 3");
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
fn a_full_standard_error_does_not_panic() {
    let folder = Folder::new();
    let full = match fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return skip_or_fail("/dev/full", error),
    };
    let torn = folder.write("torn", format!("{LINES}{{\"a\":\"3"));
    let output = command().args([text(&torn), "-o", text(&folder.path("c.cx"))]).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "the block is there, and partial");
    assert!(folder.path("c.cx").exists());
}

/// The blocks of a folder by their names, each verified and named after its id.
fn blocks_of(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let block = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        let view = BlockView::open(&bytes).unwrap();
        view.verify().unwrap();
        assert_eq!(text(path), text(&folder.join(format!("{}.cx", view.block_id()))));
        bytes
    };
    paths.iter().map(block).collect()
}

#[test]
fn a_folder_gets_as_many_blocks_as_are_needed() {
    let folder = Folder::new();
    let capture = folder.write("c.prom", "a 1 1763000000000\nb 1 1763000000000\na 1 1763010800000\n");
    let output = format!("{}/", text(&folder.path("blocks")));
    let arguments = [text(&capture), "-o", &output, "--window", "1h", "--json"];
    let done = run(&arguments);
    assert_exit(&done, 0, "");
    let blocks = blocks_of(&folder.path("blocks"));
    let found: Vec<_> = blocks
        .iter()
        .map(|block| {
            let meta = BlockView::open(block).unwrap().meta().unwrap();
            (meta.window().unwrap().start, meta.series_count())
        })
        .collect();
    assert_eq!(found, [(1_762_999_200_000_000_000, 2), (1_763_010_000_000_000_000, 1)], "ids sort by time");
    let summary: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&summary["series"], &summary["input"]["blocks"]), (&Value::from(3), &Value::from(2)));
    let paths: Vec<&str> = summary["blocks"].as_array().unwrap().iter().map(|b| b["path"].as_str().unwrap()).collect();
    assert!(paths.iter().all(|path| Path::new(path).exists()), "{paths:?}");

    // Writing the same blocks again finds them; other files with the same id are not changed.
    assert_exit(&run(&arguments), 0, "");
    fs::write(paths[0], "precious").unwrap();
    assert_exit(&run(&arguments), 1, "already exists");
    assert_eq!(fs::read(paths[0]).unwrap(), b"precious");
    assert_exit(&run(&[&arguments[..], &["--force"]].concat()), 0, "");
    assert_eq!(blocks_of(&folder.path("blocks")), blocks);

    let done = run(&[text(&capture), "-o", &output, "--max-series-per-block", "1"]);
    assert_exit(&done, 0, "blocks/: 3 series in 3 blocks in ");
}

#[test]
fn folders_and_patterns_name_all_that_is_in_them() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/deep/.hidden")).unwrap();
    for (name, content) in [
        ("in/a.jsonl", "{\"__name__\":\"a\"}\n"),
        ("in/deep/b.prom", "b 1\n"),
        ("in/deep/.hidden/c", "no capture"),
        ("in/old.cx", "no capture"),
        ("in/.partial", "no capture"),
    ] {
        folder.write(name, content);
    }
    for (input, series) in [("in", 2), ("in/*", 2), ("in/deep/*.p?om", 1), ("in/**/b*", 1)] {
        let done = run(&[text(&folder.path(input)), "-o", text(&folder.path("o.cx")), "--force", "--json"]);
        let summary: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let expected = if input == "in/*" { 3 } else { 0 };
        if expected == 3 {
            // A pattern means what it says.
            assert_exit(&done, 4, "old.cx: unrecognized format");
        } else {
            assert_exit(&done, 0, "");
            assert_eq!(summary["series"], series, "{input}");
        }
    }
    assert_exit(&run(&[text(&folder.path("none*")), "-o", text(&folder.path("x.cx"))]), 1, "no file matches");
}

#[test]
fn a_block_of_prometheus_is_an_input() {
    let folder = Folder::new();
    let output = folder.path("t.cx");
    assert_exit(&run(&[&committed("tsdb-block"), "-o", text(&output)]), 0, "t.cx: 7 series in ");
    let bytes = fs::read(&output).unwrap();
    let time = BlockView::open(&bytes).unwrap().meta().unwrap().time();
    assert_eq!(time, Some(TimeRange { start: 1_700_000_000_000_000_000, end: 1_700_004_485_000_000_001 }));
    let damaged = folder.path("damaged");
    fs::create_dir(&damaged).unwrap();
    for name in ["index", "meta.json"] {
        fs::copy(format!("{}/{name}", committed("tsdb-block")), damaged.join(name)).unwrap();
    }
    let mut index = fs::read(damaged.join("index")).unwrap();
    index[100] ^= 1;
    fs::write(damaged.join("index"), index).unwrap();
    assert_exit(
        &run(&[text(&damaged), "-o", text(&output), "--force"]),
        3,
        "damaged: checksum mismatch of the symbol table at byte 5 of the index",
    );
    assert_exit(
        &run(&[text(&folder.path("absent")), "-o", text(&output), "--force", "--format", "tsdb-block"]),
        1,
        "cannot open",
    );
}

#[test]
fn options_that_make_several_blocks_need_a_folder() {
    let folder = Folder::new();
    let (capture, output) = (folder.write("c.jsonl", LINES), folder.path("c.cx"));
    for option in [["--window", "1h"], ["--max-series-per-block", "7"]] {
        let done = run(&[&[text(&capture), "-o", text(&output)], &option[..]].concat());
        assert_exit(&done, 2, "makes several blocks; the output must be a folder");
    }
    for (option, message) in [
        (["--window", "soon"], "expected a duration"),
        (["--time", "noon"], "is not a time; expected a format like"),
        (["--max-series-per-block", "0"], "0"),
    ] {
        assert_exit(&run(&[&[text(&capture), "-o", text(folder.0.path())], &option[..]].concat()), 2, message);
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_leaves_whole_blocks_and_nothing_else() {
    let folder = Folder::new();
    let output = format!("{}/", text(&folder.path("blocks")));
    let mut child = command()
        .args(["-", "-o", &output, "--max-series-per-block", "100"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for number in 0..40_000 {
        writeln!(stdin, "{{\"__name__\":\"up\",\"number\":\"{number}\"}}").unwrap();
    }
    stdin.flush().unwrap();
    // The command still waits for the pipe, which stays open.
    while fs::read_dir(folder.path("blocks")).map_or(0, Iterator::count) < 10 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let done = child.wait_with_output().unwrap();
    drop(stdin);
    let blocks = blocks_of(&folder.path("blocks"));
    let stderr = String::from_utf8_lossy(&done.stderr).replace(',', "");
    assert!(stderr.contains(&format!("interrupted; {} blocks were written to {output}", blocks.len())), "{stderr}");
    assert_exit(&done, 130, "");
    assert!(blocks.len() >= 10);
    // Series collected before the interruption became the last block.
    let counts: Vec<u32> = blocks.iter().map(|block| BlockView::open(block).unwrap().series_count().unwrap()).collect();
    assert!(counts.iter().filter(|&&count| count != 100).count() <= 1, "{counts:?}");
}

#[test]
fn only_temporary_files_of_a_killed_run_are_removed() {
    let stale = ".chronoxide-0123456789ab";
    for output in ["blocks/", "blocks/block.cx"] {
        let folder = Folder::new();
        let capture = folder.write("c", LINES);
        fs::create_dir(folder.path("blocks")).unwrap();
        for name in [stale, ".chronoxide-mine", "notes"] {
            folder.write(&format!("blocks/{name}"), "half a block");
        }
        // A file of a running writer, which holds the lock.
        let written = fs::File::create(folder.path("blocks/.chronoxide-ba9876543210")).unwrap();
        written.lock().unwrap();
        assert_exit(&run(&[text(&capture), "-o", text(&folder.path(output))]), 0, "2 series");
        let names = |name: &str| folder.path("blocks").join(name).exists();
        assert!(!names(stale), "{output}");
        assert!(names(".chronoxide-ba9876543210") && names(".chronoxide-mine") && names("notes"), "{output}");
    }
}

#[test]
fn folders_are_made_with_those_above_them() {
    let folder = Folder::new();
    let capture = folder.write("c", LINES);
    let output = format!("{}/", text(&folder.path("a/b")));
    assert_exit(&run(&[text(&capture), "-o", &output]), 0, "2 series");
    assert_eq!(blocks_of(&folder.path("a/b")).len(), 1);
    let in_the_way = format!("{}/x/", text(&capture));
    assert_exit(&run(&[text(&capture), "-o", &in_the_way]), 1, "c: cannot create the folder");
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let folder = Folder::new();
    let capture = folder.write("c.jsonl", LINES);
    let (capture, other) = (text(&capture), folder.path("o.cx"));
    let twisted = format!("{}/../{}/c.jsonl", text(folder.0.path()), folder.0.path().file_name().unwrap().display());
    for (arguments, message) in [
        (&[capture, "-o", &twisted, "--force"][..], "is an input and would be replaced"),
        (&[capture, "-o", text(&other), "--report", capture, "--force"], "is an input and would be replaced"),
        (&[capture, "-o", text(&other), "--report", text(&other)], "cannot be both the block and the report"),
    ] {
        assert_exit(&run(arguments), 2, message);
    }
    assert_eq!(fs::read_to_string(capture).unwrap(), LINES);
    assert_eq!(folder.names(), ["c.jsonl"]);
}

#[test]
fn a_failed_run_says_which_blocks_it_left() {
    let folder = Folder::new();
    let lines: Vec<String> = (0..7).map(|number| format!("{{\"a\":\"{number}\"}}\n")).collect();
    let capture = folder.write("c.jsonl", lines.concat() + "{\"a\":1}\n");
    let output = format!("{}/", text(&folder.path("blocks")));
    let done = run(&[text(&capture), "-o", &output, "--max-series-per-block", "3"]);
    assert_exit(&done, 3, "2 blocks were written to ");
    assert_exit(&done, 3, "record 8 at byte 70 is malformed");
    assert_eq!(blocks_of(&folder.path("blocks")).len(), 2);
}

#[test]
fn blocks_that_differ_in_their_metadata_have_names_of_their_own() {
    let folder = Folder::new();
    let output = format!("{}/", text(&folder.path("blocks")));
    for (name, help) in [("one", "first"), ("two", "second")] {
        let capture = folder.write(name, format!("# HELP foo The {help}.\nfoo 1\n"));
        assert_exit(&run(&[text(&capture), "-o", &output]), 0, "1 series in ");
    }
    assert_eq!(blocks_of(&folder.path("blocks")).len(), 2);
}

#[test]
fn the_report_has_what_the_block_has() {
    let folder = Folder::new();
    let (output, report) = (folder.path("m.cx"), folder.path("report.md"));
    let arguments = [&committed("metrics.jsonl"), "-o", text(&output), "--report", text(&report)];
    assert_exit(&run(&arguments), 0, "35 series");
    let text_of = fs::read_to_string(&report).unwrap();
    let bytes = fs::read(&output).unwrap();
    let block = BlockView::open(&bytes).unwrap();
    let cell = |name: &str, column: usize| {
        let line = text_of.lines().find(|line| line.starts_with(&format!("| {name} |"))).expect(name);
        line.split(" | ").nth(column).unwrap().trim_end_matches(" |").replace(',', "")
    };
    assert_eq!(cell("points", 1), "95");
    assert_eq!(cell("distinct series", 1), "35");
    assert_eq!(cell("labels per series", 1), "35");
    let labels = block.meta().unwrap().label_count() as f64 / 35.0;
    assert!((cell("labels per series", 2).parse::<f64>().unwrap() - labels).abs() < 0.1, "{labels}");
    assert_eq!(cell("bytes per label name", 1), block.key_count().to_string());
    let names = block.key(b"__name__").unwrap().unwrap();
    assert_eq!(cell("`__name__`", 1), block.cardinality(names).unwrap().unwrap().to_string());
    assert_eq!(cell("total", 1), bytes.len().to_string());
    let arena = block.sections().find(|section| section.known().unwrap().name() == "arena").unwrap();
    assert_eq!((cell("arena", 1), cell("arena", 3)), (arena.length.to_string(), arena.length.to_string()));
    for (layout, column) in [("factored", 1), ("bitpacked", 3), ("fixed", 5)] {
        let bytes: u64 = cell("total", column).parse().unwrap();
        assert_exit(&run(&[&committed("metrics.jsonl"), "-o", text(&output), "--force", "--layout", layout]), 0, "");
        assert_eq!(fs::metadata(&output).unwrap().len(), bytes, "{layout}");
    }
    assert_eq!(cell("per record", 1), "3");
    assert_eq!(cell("per point", 1), "95");
    assert_eq!(cell("points of known series", 1), "60");
    // Like the block, the report is replaced only with --force.
    fs::remove_file(&output).unwrap();
    assert_exit(&run(&arguments), 1, "report.md: already exists");
    assert!(!output.exists());
}
