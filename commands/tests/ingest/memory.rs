//! Runs stay below `--memory-limit`, whatever the captures contain.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringViewArray};
use arrow_ipc::writer::StreamWriter;
use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value};
use chronoxide_format::view::BlockView;
use chronoxide_format::{SeriesRef, TableId};
use chronoxide_testkit::sweep;
use chronoxide_workload::{Format, Options, Workload};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics};
use parquet::arrow::ArrowWriter;
use prost::Message;

const MIB: u64 = 1 << 20;

/// The command's end, and the most memory that it had at a time.
struct Measured {
    output: Output,
    peak: u64,
}

fn run(arguments: &[&str]) -> Measured {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The high-water mark only grows, and the last thing that a run does is to wait for the disk.
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or_default() << 10);
        thread::sleep(Duration::from_millis(1));
    }
    Measured { output: child.wait_with_output().unwrap(), peak }
}

fn write(path: &Path, lines: impl Iterator<Item = String>) {
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    for line in lines {
        writeln!(out, "{line}").unwrap();
    }
    out.flush().unwrap();
}

fn point(time: u64, attributes: &str) -> String {
    format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","gauge":{{"dataPoints":[{{"timeUnixNano":"{time}","attributes":[{attributes}]}}]}}}}]}}]}}]}}"#
    )
}

fn attribute(key: &str, value: &str) -> String {
    format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#)
}

fn attributes(count: u64, one: impl Fn(u64) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

const HOUR: u64 = 3_600_000_000_000;

/// A table of two columns, with values of its own in each row.
fn tables(rows: u64) -> impl Iterator<Item = RecordBatch> {
    const BATCH: u64 = 2_000;
    let column = move |name: &'static str, start: u64| {
        let cells = (start..start + BATCH).map(move |row| Some(format!("{name}-{row}-{}", "x".repeat(250))));
        (name, Arc::new(cells.collect::<StringViewArray>()) as ArrayRef)
    };
    let batch = move |start| RecordBatch::try_from_iter([column("pod", start), column("node", start)]).unwrap();
    (0..rows / BATCH).map(move |number| batch(number * BATCH))
}

/// Returns a request of OTLP as protobuf, after its length, with a point for each of these pods.
fn framed_request(pods: impl Iterator<Item = u64>) -> Vec<u8> {
    let point = |pod: u64| {
        let value = Some(AnyValue { value: Some(any_value::Value::StringValue(pod.to_string())) });
        let attributes = vec![KeyValue { key: "pod".to_owned(), value, ..KeyValue::default() }];
        NumberDataPoint { time_unix_nano: HOUR, attributes, ..NumberDataPoint::default() }
    };
    let data = Some(Data::Gauge(Gauge { data_points: pods.map(point).collect() }));
    let metrics = vec![Metric { name: "m".to_owned(), data, ..Metric::default() }];
    let scope_metrics = vec![ScopeMetrics { metrics, ..ScopeMetrics::default() }];
    let resource_metrics = vec![ResourceMetrics { scope_metrics, ..ResourceMetrics::default() }];
    let request = ExportMetricsServiceRequest { resource_metrics }.encode_to_vec();
    [&(request.len() as u32).to_be_bytes(), &request[..]].concat()
}

/// A name, the number of distinct series, and what writes the capture.
type Capture = (&'static str, u64, Box<dyn Fn(&Path)>);

fn captures() -> Vec<Capture> {
    fn capture(name: &'static str, series: u64, lines: impl Fn(u64) -> String + 'static) -> Capture {
        (name, series, Box::new(move |path| write(path, (0..series).map(&lines))))
    }
    let text = "x".repeat(10_000);
    let long = "y".repeat(64 << 10);
    vec![
        capture("wide: 500 keys of its own for each", sweep::cases(400, 1_000), |n| {
            point(HOUR, &attributes(500, |k| attribute(&format!("key-{n}-{k}"), "v")))
        }),
        capture("wide: values of its own for 500 keys", 1_000, |n| {
            point(HOUR, &attributes(500, |k| attribute(&format!("key-{k}"), &format!("value-{n}-{k}"))))
        }),
        capture("long: 64 KiB in each", sweep::cases(4_000, 20_000), move |n| {
            point(HOUR, &attribute("long", &format!("{n}{long}")))
        }),
        capture("many: a key of its own for each", sweep::cases(100_000, 300_000), |n| {
            point(HOUR, &attribute(&format!("key-{n}"), "v"))
        }),
        capture("many: 300,000 of one label", 300_000, |n| point(HOUR, &attribute("pod", &format!("pod-{n}")))),
        (
            "table: Parquet, 500 bytes in each row",
            100_000,
            Box::new(|path| {
                let mut tables = tables(100_000).peekable();
                let schema = tables.peek().unwrap().schema();
                let mut out = ArrowWriter::try_new(fs::File::create(path).unwrap(), schema, None).unwrap();
                tables.for_each(|table| out.write(&table).unwrap());
                out.close().unwrap();
            }),
        ),
        (
            "table: Arrow, 500 bytes in each row",
            100_000,
            Box::new(|path| {
                let mut tables = tables(100_000).peekable();
                let schema = tables.peek().unwrap().schema();
                let mut out = StreamWriter::try_new(fs::File::create(path).unwrap(), &schema).unwrap();
                tables.for_each(|table| out.write(&table).unwrap());
                out.finish().unwrap();
            }),
        ),
        (
            "large: 2 MB in each record",
            100_000,
            Box::new(|path| {
                let mut out = BufWriter::new(fs::File::create(path).unwrap());
                for record in 0..sweep::cases(12, 60) {
                    let pods = (0..60_000).map(|number| (record * 60_000 + number) % 100_000);
                    out.write_all(&framed_request(pods)).unwrap();
                }
                out.flush().unwrap();
            }),
        ),
        capture("described: 10 KB for each", sweep::cases(8_000, 20_000), move |n| {
            format!("# HELP m{n} {n}{text}\n# TYPE m{n} gauge\nm{n} 1")
        }),
        capture("spread: an hour of its own for each", sweep::cases(2_000, 9_000), |n| {
            point((n + 1) * HOUR, &attribute("pod", &format!("pod-{n}")))
        }),
        capture("spread: 2,000 hours, each with all before", 100_000, |n| {
            point((n % 2_000 + 1) * HOUR, &attribute("pod", &format!("pod-{n}")))
        }),
    ]
}

/// Returns the first capture of each kind, or all if all are asked for.
fn some_captures() -> impl Iterator<Item = Capture> {
    let mut kinds = BTreeSet::new();
    captures().into_iter().filter(move |(name, ..)| sweep::cases(kinds.insert(name.split(':').next()), true))
}

fn blocks(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn folders_keep_to_the_limit_and_lose_nothing() {
    const LIMIT: u64 = 64 * MIB;
    let folder = tempfile::tempdir().unwrap();
    for (name, series, capture) in some_captures() {
        let path = folder.path().join("capture");
        capture(&path);
        let output = folder.path().join("blocks/");
        let arguments = [path.to_str().unwrap(), "-o", output.to_str().unwrap(), "--memory-limit", "64MiB"];
        let times = &["--times", "--time-step", "1ns"][..];
        let window: &[&str] = if name.starts_with("spread") { &["--window", "1h"] } else { &[] };
        let all = if name.starts_with("large") { &["1", "8"][..] } else { sweep::cases(&["8"][..], &["1", "2", "8"]) };
        let all = all.iter().map(|threads| {
            let _ = fs::remove_dir_all(&output);
            let measured = run(&[&arguments, window, times, &["--threads", threads]].concat());
            let stderr = String::from_utf8_lossy(&measured.output.stderr);
            assert_eq!(measured.output.status.code(), Some(0), "{name}, {threads} threads: {stderr}");
            let blocks: BTreeSet<Vec<u8>> = blocks(&output).iter().map(|block| fs::read(block).unwrap()).collect();
            let peak = measured.peak as f64 / MIB as f64;
            println!("{name:42} {threads} threads: {peak:5.1} MiB, {} blocks", blocks.len());
            assert!(measured.peak <= LIMIT, "{name}, {threads} threads: {} bytes", measured.peak);
            blocks
        });
        let blocks = all.reduce(|one, other| {
            assert!(one == other, "{name}: the blocks depend on the number of threads");
            other
        });
        let blocks = blocks.unwrap();
        let mut ids = BTreeSet::new();
        for bytes in &blocks {
            let view = BlockView::open(bytes).unwrap();
            for number in 0..view.series_count().unwrap() {
                let labels = view.series(number.into()).unwrap().unwrap().labels();
                let labels = labels.map(|label| label.map(|label| (label.name.to_vec(), label.value.to_vec())));
                ids.insert(labels.collect::<Result<Vec<_>, _>>().unwrap());
            }
        }
        assert_eq!(ids.len() as u64, series, "{name}");
        fs::remove_dir_all(&output).unwrap();
    }
}

#[test]
fn a_file_that_needs_more_is_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _, capture) in some_captures() {
        // One block of all of them is small.
        if ["spread", "many: 300,000", "large"].iter().any(|kind| name.starts_with(kind)) {
            continue;
        }
        let path = folder.path().join("capture");
        capture(&path);
        let output = folder.path().join("out.cx");
        let limited = ["--memory-limit", "48MiB"];
        let measured = run(&[&[path.to_str().unwrap(), "-o", output.to_str().unwrap()], &limited[..]].concat());
        let stderr = String::from_utf8_lossy(&measured.output.stderr);
        assert_eq!(measured.output.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.contains("write several blocks to a folder (--output DIR/)"), "{name}: {stderr}");
        assert!(measured.peak <= 48 * MIB, "{name}: {} bytes", measured.peak);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{name}: nothing but the capture is there");
    }
}

/// A file to write, and the capture for it, which is made once.
struct OneFile {
    folder: tempfile::TempDir,
    capture: &'static Path,
}

impl OneFile {
    const SERIES: u64 = 400_000;

    fn new() -> Self {
        static CAPTURE: OnceLock<PathBuf> = OnceLock::new();
        let capture = CAPTURE.get_or_init(|| {
            let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-file.otlp");
            let workload = Workload::new(Options { series: Self::SERIES, ..Options::default() }).unwrap();
            chronoxide_workload::write(&workload, Format::OtlpProto, &mut fs::File::create(&capture).unwrap()).unwrap();
            capture
        });
        Self { folder: tempfile::tempdir().unwrap(), capture }
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("out.cx")
    }

    fn run(&self, limit: &str, more: &[&str]) -> Measured {
        let output = self.output();
        let arguments = [self.capture.to_str().unwrap(), "-o", output.to_str().unwrap(), "--memory-limit", limit];
        run(&[&arguments, more].concat())
    }

    /// Ingests all series, and returns the block and the peak.
    fn ingest(&self, limit: &str, more: &[&str]) -> (Vec<u8>, u64) {
        let measured = self.run(limit, more);
        let stderr = String::from_utf8_lossy(&measured.output.stderr);
        assert_eq!(measured.output.status.code(), Some(0), "{limit} {more:?}: {stderr}");
        assert_eq!(fs::read_dir(&self.folder).unwrap().count(), 1, "only the block is there");
        (fs::read(self.output()).unwrap(), measured.peak)
    }
}

#[test]
fn a_file_is_merged_from_what_fits_into_the_limit() {
    let file = OneFile::new();
    let all = [&[][..], &["--archive"], &["--layout", "fixed", "--max-blocks", "1"]];
    for options in all.into_iter().take(sweep::cases(1, 3)) {
        let [whole, merged] = ["4GiB", "224MiB"].map(|limit| {
            let (block, peak) = file.ingest(limit, options);
            let mut arena = Vec::new();
            let view = BlockView::open_unpacked(&block, &mut arena).unwrap();
            fs::remove_file(file.output()).unwrap();
            let parents = view.meta().unwrap().parents().unwrap().len();
            assert_eq!(parents > 1, limit == "224MiB", "{options:?}: {parents} blocks were merged");
            assert!(parents == 0 || peak <= 224 * MIB, "{options:?}: {peak} bytes");
            let widths = view.table(TableId(0)).unwrap().unwrap().column(0).unwrap().width;
            (view.verify().unwrap(), view.packed().unwrap().is_some(), widths, view.pool_count() > 0)
        });
        assert_eq!(merged, whole, "{options:?}");
    }
}

#[test]
fn a_merged_file_has_the_times_of_a_whole_one() {
    let file = OneFile::new();
    let [whole, merged] = ["4GiB", "224MiB"].map(|limit| {
        let (block, _) = file.ingest(limit, &["--times", "--time-step", "1ms"]);
        fs::remove_file(file.output()).unwrap();
        let parents = BlockView::open(&block).unwrap().meta().unwrap().parents().unwrap().len();
        assert_eq!(parents > 1, limit == "224MiB", "{parents} blocks were merged");
        block
    });
    let [whole, merged] = [&whole, &merged].map(|block| BlockView::open(block).unwrap());
    for view in [&whole, &merged] {
        assert_eq!((u64::from(view.series_count().unwrap()), view.column_count()), (OneFile::SERIES, 2));
    }
    let times = |view: &BlockView<'_>, series: SeriesRef| {
        [FIRST_TIME, LAST_TIME].map(|name| match view.series_column(name).unwrap().unwrap().get(series).unwrap() {
            Some(Value::I64(time)) => time,
            other => panic!("{name} of {series:?}: {other:?}"),
        })
    };
    // All of them take a minute without optimization.
    for number in (0..OneFile::SERIES as u32).step_by(17) {
        let series = whole.series(SeriesRef(number)).unwrap().unwrap();
        let labels: Vec<_> =
            series.labels().map(|label| label.unwrap()).map(|label| (label.name, label.value)).collect();
        let other = merged.find(labels.iter().copied()).unwrap().expect("the merged block has all series");
        assert_eq!(times(&whole, SeriesRef(number)), times(&merged, other), "{labels:?}");
    }
}

#[test]
fn a_merged_file_replaces_another_only_by_force() {
    let file = OneFile::new();
    fs::write(file.output(), "another").unwrap();
    assert_eq!(file.run("224MiB", &[]).output.status.code(), Some(1));
    assert_eq!(fs::read(file.output()).unwrap(), b"another");
    let (block, _) = file.ingest("224MiB", &["--force"]);
    assert_eq!(u64::from(BlockView::open(&block).unwrap().series_count().unwrap()), OneFile::SERIES);
}

#[test]
fn a_report_is_about_series_that_fit() {
    let file = OneFile::new();
    let report = file.folder.path().join("report.md");
    let refused = file.run("224MiB", &["--report", report.to_str().unwrap()]).output;
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("one block of all inputs does not fit into the memory limit"), "{stderr}");
    assert_eq!(fs::read_dir(&file.folder).unwrap().count(), 0);
}

#[test]
fn blocks_that_are_too_large_to_be_merged_are_refused_as_soon_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("capture"), folder.path().join("out.cx"));
    // Twice the memory limit of distinct text.
    let text = "y".repeat(2_000);
    let series = |number| attributes(32, |key| attribute(&format!("key-{key}"), &format!("{number}-{key}{text}")));
    write(&path, (0..7_000).map(|number| point(HOUR, &series(number))));
    let arguments = [path.to_str().unwrap(), "-o", output.to_str().unwrap(), "--memory-limit", "224MiB"];
    let measured = run(&arguments);
    let stderr = String::from_utf8_lossy(&measured.output.stderr);
    assert_eq!(measured.output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("write several blocks to a folder (--output DIR/), or raise --memory-limit"), "{stderr}");
    assert!(measured.peak <= 224 * MIB, "{} bytes", measured.peak);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing but the capture is there");
}

#[test]
fn wrong_times_make_no_thousands_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("capture"), folder.path().join("blocks/"));
    write(&path, (0..20_000_u64).map(|n| point((n * 7_919 % 1_000_000 + 1) * HOUR, &attribute("pod", "one"))));
    let arguments = [path.to_str().unwrap(), "-o", output.to_str().unwrap(), "--window", "1h"];
    let run = |options: &[&str]| {
        let _ = fs::remove_dir_all(&output);
        let output = run(&[&arguments, options].concat()).output;
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), blocks(&folder.path().join("blocks")).len())
    };
    let (code, stderr, count) = run(&[]);
    assert_eq!((code, count), (Some(2), 0), "{stderr}");
    assert!(stderr.contains("points lie in more than 10000 windows, from 1970-01-01T01:00:00Z"), "{stderr}");
    assert!(stderr.contains("use a longer window (--window), or allow more windows (--max-windows)"), "{stderr}");

    let (code, stderr, count) = run(&["--max-windows", "30000", "--max-blocks", "15000"]);
    assert_eq!((code, count), (Some(2), 0), "{stderr}");
    assert!(stderr.contains("20000 blocks would exceed the limit of 15000"), "{stderr}");
}
