//! Real captures, from file to block to merged block and back to lines; and the sizes that the README states.
//!
//! Those of the repository and the generated workload run everywhere, larger ones where they are: see `captures::real`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_compactor::{CompactOptions, Compacted, Compaction};
use chronoxide_dump::series::{Format, write_series};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Assembler, Ingest, IngestOptions};
use chronoxide_labels::{LabelSets, Layout};
use chronoxide_testkit::captures::{committed, real, text};
use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Workload};
use prost::Message;

const LAYOUTS: [Layout; 3] = Layout::ALL;

/// The series of each set, as they are listed beside the captures.
const SERIES: [(&str, usize); 5] = [
    ("series/prom20k.jsonl.zst", 20_000),
    ("series/k8s-1.31-cluster.jsonl.zst", 33_676),
    ("series/k8s-1.33-cluster.jsonl.zst", 34_569),
    ("series/k8s-1.34-cluster.jsonl.zst", 36_676),
    ("series/otel-demo.jsonl.zst", 1_248),
];
const OTLP: [(&str, usize); 2] = [("otlp/otel-demo.jsonl", 1_248), ("otlp/otel-demo.jsonl.zst", 1_248)];

/// Captures of the repository, and their series.
const COMMITTED: [(&str, usize); 4] =
    [("collector/metrics.jsonl", 18), ("metrics.jsonl", 35), ("monday.series.jsonl", 29), ("tuesday.series.jsonl", 30)];

/// Returns the captures that are here, those of the repository first: name, path and number of series.
fn captures() -> Vec<(&'static str, PathBuf, usize)> {
    let mut all: Vec<_> = COMMITTED.into_iter().map(|(name, count)| (name, committed(name), count)).collect();
    all.extend(SERIES.into_iter().chain(OTLP).filter_map(|(name, count)| Some((name, real(name)?, count))));
    println!("{} captures", all.len());
    all
}

/// A series as a line of JSON, with its labels in order.
type Lines = BTreeSet<String>;

/// Returns the series that a straightforward reading of a capture finds.
fn expected(path: &Path) -> Lines {
    let text = text(path);
    let is_otlp = text.starts_with("{\"resourceMetrics\"");
    let series = if is_otlp { crate::canonical::otlp_json(&text) } else { crate::canonical::series_json(&text) };
    series.iter().map(|labels| serde_json::to_string(labels).unwrap()).collect()
}

fn ingested(path: &Path, layout: Layout) -> Vec<u8> {
    let assemble = AssembleOptions { layout, ..AssembleOptions::default() };
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::open(path).unwrap()).unwrap();
    let (report, mut blocks) = ingest.finish().unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    blocks.remove(0)
}

fn merged(blocks: &[&[u8]], layout: Layout) -> Compacted {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    Compaction::new(&views, &CompactOptions { layout, ..CompactOptions::default() }).merge_to_memory().unwrap()
}

/// Returns the output of `chronoxide-inspect series --format series-json` for a block that verifies.
fn lines(block: &[u8]) -> Lines {
    let view = BlockView::open(block).unwrap();
    let count = view.verify().unwrap().series_count;
    let mut out = Vec::new();
    write_series(&view, Format::SeriesJson, None, &mut out).unwrap();
    let lines: Lines = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len() as u64, count, "no series is printed twice");
    lines
}

#[track_caller]
fn assert_lines(found: &Lines, expected: &Lines, what: &str) {
    if let Some(line) = found.symmetric_difference(expected).next() {
        panic!("{what}: in one of the two only: {line}");
    }
}

#[test]
fn captures_come_back_as_they_were_before_and_after_compaction() {
    for (number, (name, path, count)) in captures().into_iter().enumerate() {
        let expected = expected(&path);
        assert_eq!(expected.len(), count, "{name}");
        // One layout for each capture, by turns, unless all are asked for.
        for layout in sweep::by_turns(LAYOUTS, number, 3) {
            let block = ingested(&path, layout);
            assert_lines(&lines(&block), &expected, name);
            let twice = merged(&[&block, &block], layout);
            assert_eq!((twice.summary.series_out, twice.summary.duplicates), (count as u64, count as u64), "{name}");
            assert_lines(&lines(&twice.block), &expected, name);
        }
    }
}

#[test]
fn three_clusters_merge_into_their_distinct_series() {
    let mut expected_lines = Lines::new();
    let mut captures = Vec::new();
    for version in ["1.31", "1.33", "1.34"] {
        let Some(path) = real(&format!("series/k8s-{version}-cluster.jsonl.zst")) else { return };
        expected_lines.append(&mut expected(&path));
        captures.push(path);
    }
    assert_eq!(expected_lines.len(), 56_730);
    // Inputs of all layouts, and of one if all cases are asked for.
    let cases = [([0, 1, 2], LAYOUTS[2]), ([0, 0, 0], LAYOUTS[0]), ([1, 1, 1], LAYOUTS[1])];
    for (inputs, layout) in cases.into_iter().take(sweep::cases(1, 3)) {
        let blocks = captures.iter().zip(inputs).map(|(path, layout)| ingested(path, LAYOUTS[layout]));
        let blocks: Vec<Vec<u8>> = blocks.collect();
        let inputs: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        let merged = merged(&inputs, layout);
        assert_eq!(
            (merged.summary.series_in, merged.summary.series_out, merged.summary.duplicates),
            (104_921, 56_730, 104_921 - 56_730)
        );
        assert_lines(&lines(&merged.block), &expected_lines, "three clusters");
    }
}

#[test]
fn all_captures_merge_into_one() {
    let mut expected_lines = Lines::new();
    let mut blocks = Vec::new();
    for (_, path, _) in captures() {
        expected_lines.append(&mut expected(&path));
        blocks.push(ingested(&path, Layout::BitPacked));
    }
    let inputs: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
    for layout in LAYOUTS.into_iter().skip(sweep::cases(2, 0)) {
        let together = merged(&inputs, layout);
        assert_lines(&lines(&together.block), &expected_lines, "all captures");
        // Step by step there is the same in the end.
        let [first, rest @ ..] = &inputs[..] else { unreachable!() };
        let stepwise = rest.iter().fold(first.to_vec(), |block, next| merged(&[&block, next], layout).block);
        let fingerprint = |block: &[u8]| BlockView::open(block).unwrap().meta().unwrap().fingerprint();
        assert_eq!(fingerprint(&stepwise), fingerprint(&together.block));
    }
}

/// Sizes may exceed the README's figures by this factor.
const TOLERANCE: f64 = 1.02;

/// Returns the bytes per series that the README's table states for a set in a layout. This table is the only place of
/// the limits.
fn stated(set: &str, layout: Layout) -> f64 {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches(['*', '`']).to_owned()).collect()
    };
    let mut table = readme.lines().skip_while(|line| !line.starts_with("| series | number |")).map(cells);
    let head = table.next().expect("the README has a table of sizes");
    let column = head.iter().position(|cell| *cell == format!("block, `{}", layout.name()));
    let column = column.unwrap_or_else(|| panic!("no column of {} in {head:?}", layout.name()));
    let row = table.find(|row| row[0] == set).unwrap_or_else(|| panic!("no row of {set} in the README"));
    row[column].parse().unwrap_or_else(|error| panic!("{set}, {}: {error}", layout.name()))
}

#[track_caller]
fn assert_size(set: &str, count: u32, layout: Layout, bytes: usize) {
    let (per_series, stated) = (bytes as f64 / f64::from(count), stated(set, layout));
    println!("{set}, {}: {bytes} bytes, {per_series:.3} per series, stated: {stated}", layout.name());
    assert!(
        per_series <= stated * TOLERANCE,
        "{set}, {}: {per_series:.3} bytes per series, not {stated}",
        layout.name()
    );
}

/// Sizes do not depend on the machine: a figure that is exceeded is a change of the format, of the planner or of the
/// writer.
#[test]
fn blocks_of_captures_keep_to_the_sizes_of_the_readme() {
    for (set, count) in [("k8s-1.34-cluster", 36_676), ("prom20k", 20_000), ("otel-demo", 1_248)] {
        let Some(path) = real(&format!("series/{set}.jsonl.zst")) else { continue };
        for layout in LAYOUTS {
            assert_size(set, count, layout, ingested(&path, layout).len());
        }
    }
}

fn assert_workload_size(set: &str, count: u32) {
    let workload = Workload::new(Options { series: count.into(), ..Options::default() }).unwrap();
    for layout in LAYOUTS {
        let options = AssembleOptions { layout, keep_metadata: false, ..AssembleOptions::default() };
        let mut assembler = Assembler::new(options, Vec::new());
        for request in workload.requests() {
            assembler.otlp_proto(&request.encode_to_vec()).unwrap();
        }
        assert_eq!(assembler.store().len(), count as usize, "{set}");
        let (_, blocks) = assembler.finish().unwrap();
        assert_size(set, count, layout, blocks.iter().map(Vec::len).sum());
    }
}

#[test]
fn blocks_of_the_workload_keep_to_the_sizes_of_the_readme() {
    assert_workload_size("chronoxide-workload --series 100k", 100_000);
}

#[test]
#[ignore = "takes a minute and 2 GB"]
fn blocks_of_the_large_workload_keep_to_the_sizes_of_the_readme() {
    assert_workload_size("chronoxide-workload --series 1M", 1_000_000);
}
