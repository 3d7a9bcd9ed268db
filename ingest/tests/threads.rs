//! The number of threads changes nothing: captures of each format, with malformed records too, give equal blocks and
//! equal reports or errors on 1, 2 and 8 threads, and cut by their memory into equal blocks.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{AssembleOptions, BlockSink, Ingest, IngestOptions, Report, SealedBlock};
use chronoxide_labels::Layout;
use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Workload};

const THREADS: [usize; 3] = [1, 2, 8];

/// Result of a run: its error, its report and its blocks. Series before an error are kept.
#[derive(PartialEq)]
struct Ended {
    error: Option<String>,
    report: Report,
    blocks: Vec<Vec<u8>>,
}

/// Returns an error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn run(content: &[u8], options: &IngestOptions, threads: usize) -> Ended {
    let options = IngestOptions { threads: NonZeroUsize::new(threads), ..options.clone() };
    let mut ingest = Ingest::new(options, Vec::new());
    let source = Source::new("capture".to_owned(), Cursor::new(content.to_vec())).unwrap();
    let error = ingest.read(source).err().map(|error| chain(&error));
    let (report, blocks) = ingest.finish().unwrap();
    Ended { error, report, blocks }
}

/// Returns what all numbers of threads give.
#[track_caller]
fn same(name: &str, content: &[u8], options: &IngestOptions) -> Ended {
    let [first, others @ ..] = THREADS.map(|threads| (threads, run(content, options, threads)));
    for (threads, other) in others {
        assert_eq!(other.error, first.1.error, "{name} on {threads} threads");
        assert_eq!(other.report, first.1.report, "{name} on {threads} threads");
        assert!(other.blocks == first.1.blocks, "{name} on {threads} threads: the blocks differ");
    }
    first.1
}

/// Capture of a format: its records.
struct Capture {
    name: &'static str,
    format: Format,
    records: Vec<Vec<u8>>,
}

impl Capture {
    fn content(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for record in &self.records {
            if self.format == Format::OtlpProto {
                all.extend_from_slice(&(record.len() as u32).to_be_bytes());
                all.extend_from_slice(record);
            } else {
                all.extend_from_slice(record);
                all.push(b'\n');
            }
        }
        all
    }

    /// Returns the capture with some malformed records, the first of them at `first`.
    fn damaged(&self, first: usize) -> Self {
        let mut records = self.records.clone();
        for number in (first..records.len()).step_by(7) {
            let record = &mut records[number];
            let middle = record.len() / 2;
            match number % 3 {
                0 => record.truncate(middle),
                1 => record[0] ^= 0x15,
                _ => record[middle] = 0xff,
            }
        }
        Self { records, ..*self }
    }
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Returns the messages of frames.
fn messages(mut frames: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((len, rest)) = frames.split_first_chunk() {
        let (message, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
        messages.push(message.to_vec());
        frames = rest;
    }
    messages
}

/// Returns exposition text of series as JSON, with metadata of families before some samples.
fn text(series: &[Vec<u8>], unit: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (number, line) in series.iter().enumerate() {
        let labels: BTreeMap<String, String> = serde_json::from_slice(line).unwrap();
        let name = labels["__name__"].replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        if number % 7 == 0 {
            let kind = ["gauge", "counter", "histogram", "summary"][number / 7 % 4];
            all.push(format!("# TYPE {name} {kind}"));
            all.push(format!("# HELP {name} Number {}.", number % 5));
        }
        let mut sample = format!("{name}{{le=\"{}\",quantile=\"0.{}\"", number % 3, number % 4);
        for (label, value) in labels.iter().filter(|(label, _)| *label != "__name__") {
            write!(sample, ",{label:?}={value:?}").unwrap();
        }
        all.push(format!("{sample}}} 1 {}", (1_732_919_138_000 + number as u64) / unit));
    }
    all.into_iter().map(String::into_bytes).collect()
}

/// Returns captures of formats that are decoded on several threads. Each has several batches.
fn captures() -> [Capture; 5] {
    let workload = Workload::new(Options { series: 8_000, ..Options::default() }).unwrap();
    let written = |format| {
        let mut out = Vec::new();
        chronoxide_workload::write(&workload, format, &mut out).unwrap();
        out
    };
    let capture = |name, format, records| {
        let capture = Capture { name, format, records };
        assert!(capture.content().len() > 3 << 19, "{name}: {} bytes", capture.content().len());
        capture
    };
    let series = lines(&written(chronoxide_workload::Format::SeriesJson));
    [
        capture("text", Format::PrometheusText, text(&series, 1)),
        capture("OpenMetrics", Format::OpenMetrics, [text(&series, 1_000), vec![b"# EOF".to_vec()]].concat()),
        capture("series JSON", Format::SeriesJson, series),
        capture("OTLP JSON", Format::OtlpJson, lines(&written(chronoxide_workload::Format::OtlpJson))),
        capture("OTLP protobuf", Format::OtlpProto, messages(&written(chronoxide_workload::Format::OtlpProto))),
    ]
}

fn options(format: Format) -> IngestOptions {
    let assemble = AssembleOptions { layout: Layout::BitPacked, ..AssembleOptions::default() };
    IngestOptions { format: Some(format), assemble, ..IngestOptions::default() }
}

#[test]
fn blocks_and_reports_are_those_of_one_thread() {
    for capture in captures() {
        let found = same(capture.name, &capture.content(), &options(capture.format));
        assert_eq!(found.error, None, "{}", capture.name);
        assert!(found.report.series >= 8_000, "{}: {} series", capture.name, found.report.series);
        // Names, types and units that depend on metadata.
        let mut options = options(capture.format);
        options.assemble.type_and_unit_labels = true;
        options.assemble.classic_histograms = true;
        options.assemble.prometheus_names = matches!(capture.format, Format::OtlpJson | Format::OtlpProto);
        let found = same(capture.name, &capture.content(), &options);
        assert_eq!((found.error, found.blocks.len()), (None, 1), "{}", capture.name);
    }
}

#[test]
fn malformed_records_are_skipped_or_end_the_run_as_on_one_thread() {
    for (number, capture) in captures().into_iter().enumerate() {
        let count = capture.records.len();
        // Half of the mark that ends OpenMetrics is a comment.
        let last = count - if capture.format == Format::OpenMetrics { 2 } else { 1 };
        // Two of the places, by turns, unless all are asked for.
        for first in sweep::by_turns([0, 5, count / 2, last], number, 2) {
            let content = capture.damaged(first).content();
            let skipping = IngestOptions { skip_broken_records: true, ..options(capture.format) };
            let found = same(capture.name, &content, &skipping);
            assert_eq!(found.error, None, "{}", capture.name);
            let skipped = found.report.skipped.broken_records;
            assert!(skipped > 0, "{}, from {first} on: {skipped} malformed records of {count}", capture.name);
            let found = same(capture.name, &content, &options(capture.format));
            let error = found.error.unwrap_or_default();
            assert!(error.starts_with("capture: record "), "{}, from {first} on: {error}", capture.name);
        }
    }
}

#[test]
fn blocks_are_cut_by_memory_where_one_thread_cuts_them() {
    for capture in captures() {
        let mut options = options(capture.format);
        options.assemble.max_memory = Some(3 << 20);
        let found = same(capture.name, &capture.content(), &options);
        assert_eq!(found.error, None, "{}", capture.name);
        assert!(found.blocks.len() > 1, "{}: {} blocks", capture.name, found.blocks.len());
    }
}

/// Sink that refuses a block after some.
struct Refusing(usize);

impl BlockSink for Refusing {
    fn take(&mut self, _: SealedBlock) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.0 = self.0.checked_sub(1).ok_or("the disk is full")?;
        Ok(())
    }
}

#[test]
fn a_block_that_is_refused_ends_the_run_before_what_comes_later() {
    let [_, _, capture, ..] = captures();
    // The record after the fourth block is malformed.
    let content = capture.damaged(4_100).content();
    for taken in [0, 2] {
        for threads in THREADS {
            let mut options = IngestOptions { threads: NonZeroUsize::new(threads), ..options(capture.format) };
            options.assemble.max_series = 1_000;
            let mut ingest = Ingest::new(options.clone(), Refusing(taken));
            let read = |content: &[u8]| Source::new("capture".to_owned(), Cursor::new(content.to_vec())).unwrap();
            let error = ingest.read(read(&content)).unwrap_err();
            assert_eq!(chain(&error), "the disk is full", "{threads} threads, {taken} blocks");
            // The last block is sealed at the end.
            options.assemble.max_series = 3_000;
            let mut ingest = Ingest::new(options, Refusing(2));
            ingest.read(read(&capture.content())).unwrap();
            let error = ingest.finish().map(drop).unwrap_err();
            assert_eq!(chain(&error), "the disk is full", "{threads} threads, the last block");
        }
    }
}

/// Some records take more memory as arrays than as a record: these are not decoded ahead.
#[test]
fn records_of_many_small_parts_are_decoded() {
    let empty = |inner: &str| format!("{}{{}}", format!("{inner},").repeat(30_000));
    let requests = [
        format!(r#"{{"resourceMetrics":[{}]}}"#, empty("{}")),
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{}]}}]}}"#, empty("{}")),
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{}]}}]}}]}}"#, empty("{}")),
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{}]}}]}}]}}"#, empty(r#"{"name":"m"}"#)),
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","gauge":{{"dataPoints":[{}]}}}}]}}]}}]}}"#,
            empty("{}")
        ),
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"h","histogram":{{"dataPoints":[
                {{"explicitBounds":[{}1],"bucketCounts":[{}1]}}]}}}}]}}]}}]}}"#,
            (0..9_000).map(|bound| format!("{bound},")).collect::<String>(),
            "0,".repeat(9_000)
        )
        .replace('\n', ""),
    ];
    let content = format!("{}\n", requests.join("\n"));
    let mut options = options(Format::OtlpJson);
    options.assemble.classic_histograms = true;
    let found = same("small parts", content.as_bytes(), &options);
    assert_eq!(found.error, None);
    assert_eq!((found.report.metrics, found.report.metrics_without_points), (60_004, 60_002));
    assert_eq!(found.report.points, 30_002);
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 1 << 14);
    let len = [bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8];
    [&[number << 3 | 2], &len[..], bytes].concat()
}

fn attribute(number: u8, key: &str, value: usize) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, &field(1, value.to_string().as_bytes()))].concat())
}

/// Requests whose resource, scope, schema URL and point change independently of each other. All three levels have an
/// attribute `a`, with bytes that differ only in the number of the field.
#[test]
fn requests_of_protobuf_that_repeat_bytes_in_other_roles_are_told_apart() {
    let request = |number: usize| {
        let point = [attribute(7, "a", number % 5), [&[0x19][..], &7_u64.to_le_bytes()].concat()].concat();
        let metric = [field(1, b"m"), field(5, &field(1, &point))].concat();
        let scope = [field(1, b"library"), attribute(3, "a", number % 2)].concat();
        let mut scope_metrics = [field(1, &scope), field(2, &metric)].concat();
        if !number.is_multiple_of(7) {
            scope_metrics.extend(field(3, format!("https://example.com/{}", number % 7).as_bytes()));
        }
        let resource = [attribute(1, "service.name", number % 3), attribute(1, "a", number % 3)].concat();
        field(1, &[field(1, &resource), field(2, &scope_metrics)].concat())
    };
    let records = (0..16_000).map(request).collect();
    let content = Capture { name: "roles", format: Format::OtlpProto, records }.content();
    let mut options = options(Format::OtlpProto);
    let found = same("roles", &content, &options);
    // The point's `a` replaces the others.
    assert_eq!((found.error, found.report.series, found.report.points), (None, 3 * 5, 16_000));
    options.assemble.prometheus_names = true;
    let found = same("roles", &content, &options);
    // `job`, `a`, `otel_scope_a`, `otel_scope_schema_url`; and `target_info` of each job.
    assert_eq!((found.error, found.report.series), (None, 3 * 5 * 2 * 7 + 3));
}

/// Captures of clients and servers, in all formats.
#[test]
fn captures_give_the_same_on_all_numbers_of_threads() {
    fn visit(folder: &Path, count: &mut usize) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, count);
                continue;
            }
            let all = THREADS.map(|threads| {
                let options = IngestOptions { threads: NonZeroUsize::new(threads), ..IngestOptions::default() };
                let mut ingest = Ingest::new(options, Vec::new());
                let source = Source::open(&path).map_err(|error| chain(&error));
                let read = source.and_then(|source| ingest.read(source).map_err(|error| chain(&error)));
                (read, ingest.finish().unwrap())
            });
            assert!(all[0] == all[1] && all[1] == all[2], "{}", path.display());
            *count += usize::from(all[0].0.is_ok());
        }
    }
    let mut count = 0;
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures"), &mut count);
    println!("{count} captures were read");
    assert!(count >= 20, "{count}");
}
