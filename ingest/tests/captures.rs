//! Captures have exactly the series that an independent decoder finds, in the store and in the block.
//!
//! The real captures are not part of the repository. If they are absent, the tests that need them report it and pass.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions, Report};
use chronoxide_labels::Layout;
use chronoxide_testkit::captures::real;

use crate::canonical::{self, Labels};

fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name)
}

fn ingested(path: &Path, layout: Layout) -> (Vec<u8>, Report) {
    let assemble = AssembleOptions { layout, ..AssembleOptions::default() };
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::open(path).unwrap()).unwrap();
    let (report, mut blocks) = ingest.finish().unwrap();
    assert_eq!(blocks.len(), 1);
    (blocks.remove(0), report)
}

fn text(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "zst") {
        zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
    }
    text
}

/// The labelsets of a block, in the order of refs; and that names are in order.
fn series_of(block: &BlockView<'_>) -> Vec<Labels> {
    let mut all = Vec::new();
    for number in 0..block.series_count().unwrap() {
        let series = block.series(number.into()).unwrap().expect("the ref is in the block");
        let mut labels = Vec::new();
        for label in series.labels() {
            let label = label.unwrap();
            labels.push((
                String::from_utf8(label.name.to_vec()).unwrap(),
                String::from_utf8(label.value.to_vec()).unwrap(),
            ));
        }
        assert!(labels.is_sorted_by(|left, right| left.0 < right.0), "{labels:?}");
        all.push(labels.into_iter().collect());
    }
    all
}

/// Ingests a capture, and compares its block in all layouts with an independent reading.
fn assert_series(path: &Path, format: Format, count: usize) -> Report {
    let text = text(path);
    let expected = match format {
        Format::OtlpJson => canonical::otlp_json(&text),
        Format::SeriesJson => canonical::series_json(&text),
        format => panic!("no reading of {format:?} here"),
    };
    assert_eq!(expected.len(), count, "{}", path.display());
    let reports = Layout::ALL.map(|layout| {
        let (block, report) = ingested(path, layout);
        assert_eq!(report.series, count as u64, "{}", path.display());
        assert_eq!(report.content_bytes, text.len() as u64, "{}", path.display());
        let block = BlockView::open(&block).unwrap();
        block.verify().unwrap();
        let found = series_of(&block);
        assert_eq!(found.len(), count, "{}", path.display());
        let found: BTreeSet<Labels> = found.into_iter().collect();
        if let Some(labels) = found.symmetric_difference(&expected).next() {
            panic!("{}: in one of the two only: {labels:?}", path.display());
        }
        report
    });
    let [report, again, and_again] = reports;
    assert_eq!(report, again);
    assert_eq!(report, and_again);
    report
}

#[test]
fn real_otlp_captures_have_the_series_that_they_are_known_for() {
    for name in ["otlp/otel-demo.jsonl", "otlp/otel-demo.jsonl.zst"] {
        let Some(path) = real(name) else { continue };
        let report = assert_series(&path, Format::OtlpJson, 1_248);
        assert_eq!((report.records, report.points), (82, 4_651), "{name}");
        assert_eq!(report.time, Some((1_732_919_138_215_841_244, 1_732_919_252_215_944_057)), "{name}");
    }
}

#[test]
fn every_framing_and_encoding_of_a_capture_gives_the_same_block() {
    let Some(lines) = real("otlp/otel-demo.jsonl") else { return };
    let (expected, lines_report) = ingested(&lines, Layout::BitPacked);
    for name in [
        "otlp/otel-demo.binpb-be32",
        "otlp/otel-demo.binpb-be32.zst",
        "otlp/otel-demo.binpb.zst-be32",
        "otlp/otel-demo.json.zst-be32",
    ] {
        let (block, report) = ingested(&real(name).unwrap(), Layout::BitPacked);
        assert!(block == expected, "{name}");
        assert_eq!((report.records, report.points, report.series), (82, 4_651, 1_248), "{name}");
        assert_eq!(Report { content_bytes: lines_report.content_bytes, ..report }, lines_report, "{name}");
    }
}

#[test]
fn single_requests_have_the_series_that_a_generated_decoder_finds() {
    let Some(folder) = real("otlp/objects") else { return };
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    let (mut expected, mut count) = (BTreeSet::new(), 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        ingest.read(Source::open(&path).unwrap()).unwrap();
        let content = std::fs::read(&path).unwrap();
        let content = match path.extension().unwrap().to_str().unwrap() {
            "zst" => zstd::decode_all(&*content).unwrap(),
            "gz" => {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(&*content).read_to_end(&mut plain).unwrap();
                plain
            }
            _ => content,
        };
        expected.extend(match path.extension().unwrap().to_str().unwrap() {
            "json" => canonical::otlp_json(&text(&path).replace('\n', " ")),
            _ => canonical::otlp_proto(&content),
        });
        count += 1;
    }
    let (report, blocks) = ingest.finish().unwrap();
    assert_eq!((count, report.inputs, report.records), (11, 11, 11));
    let found: BTreeSet<Labels> = canonical::block_series(&blocks[0]).into_iter().collect();
    assert_eq!(found, expected);
}

#[test]
fn real_exposition_text_has_the_series_that_it_is_known_for() {
    for (name, count, has_times) in [
        ("prometheus/node-exporter.prom", 3_027, false),
        ("prometheus/k8s-1.34-cadvisor.prom.zst", 4_855, true),
        ("prometheus/k8s-1.34-apiserver.prom.gz", 24_311, false),
    ] {
        let Some(path) = real(name) else { continue };
        let (block, report) = ingested(&path, Layout::BitPacked);
        let found: BTreeSet<Labels> = canonical::block_series(&block).into_iter().collect();
        assert_eq!((found.len(), report.series, report.time.is_some()), (count, count as u64, has_times), "{name}");
        let known = BlockView::open(&block).unwrap().metric_metadata().unwrap().len();
        assert!(known > 50, "{name}: {known}");
    }
}

#[test]
fn real_series_captures_have_the_series_that_they_are_known_for() {
    for (name, count) in [
        ("series/prom20k.jsonl.zst", 20_000),
        ("series/k8s-1.31-cluster.jsonl.zst", 33_676),
        ("series/k8s-1.33-cluster.jsonl.zst", 34_569),
        ("series/k8s-1.34-cluster.jsonl.zst", 36_676),
        ("series/otel-demo.jsonl.zst", 1_248),
    ] {
        let Some(path) = real(name) else { continue };
        assert_series(&path, Format::SeriesJson, count);
    }
}

#[test]
fn clusters_together_have_each_series_once() {
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    for version in ["1.31", "1.33", "1.34"] {
        let Some(path) = real(&format!("series/k8s-{version}-cluster.jsonl.zst")) else { return };
        ingest.read(Source::open(&path).unwrap()).unwrap();
    }
    assert_eq!((ingest.report().records, ingest.report().series), (104_921, 56_730));
}

#[test]
fn committed_captures_have_their_series() {
    let report = assert_series(&committed("metrics.jsonl"), Format::OtlpJson, 35);
    let kinds = report.points_by_kind;
    assert_eq!((report.records, report.points, report.points_without_recorded_value), (3, 95, 3));
    assert_eq!(
        (kinds.gauge, kinds.sum, kinds.histogram, kinds.exponential_histogram, kinds.summary),
        (24, 25, 32, 6, 8)
    );
    assert_series(&committed("monday.series.jsonl"), Format::SeriesJson, 29);
    let report = assert_series(&committed("tuesday.series.jsonl"), Format::SeriesJson, 30);
    assert_eq!(report.empty_values.point, 1);
}

#[test]
fn a_missing_series_would_be_noticed() {
    let text = text(&committed("monday.series.jsonl"));
    let (first, rest) = text.split_once('\n').unwrap();
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    ingest.read(Source::new("rest".to_owned(), std::io::Cursor::new(rest.to_owned())).unwrap()).unwrap();
    let (_, blocks) = ingest.finish().unwrap();
    let found: BTreeSet<Labels> = series_of(&BlockView::open(&blocks[0]).unwrap()).into_iter().collect();
    let expected = canonical::series_json(&text);
    let missing: Vec<&Labels> = expected.difference(&found).collect();
    assert_eq!(missing, [&canonical::series(&serde_json::from_str(first).unwrap())]);
}
