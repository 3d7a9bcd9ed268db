//! Real captures, from file to block to merged block and back to lines.
//!
//! The captures are not part of the repository. Where they are absent, the tests say so and pass.

#[path = "../../ingest/tests/canonical/mod.rs"]
mod canonical;

use std::collections::BTreeSet;
use std::path::Path;

use chronoxide_compactor::{CompactOptions, Compacted, compact};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{CollectorOptions, Job, JobOptions};
use chronoxide_inspect::series::{Format, write_series};
use chronoxide_labels::Layout;
use chronoxide_testdata::captures::{real, text};

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

/// A series as a line of JSON, with its labels in order.
type Lines = BTreeSet<String>;

/// What a straightforward reading of a capture finds in it.
fn expected(path: &Path) -> Lines {
    let text = text(path);
    let is_otlp = path.parent().is_some_and(|folder| folder.ends_with("otlp"));
    let series = if is_otlp { canonical::otlp_json(&text) } else { canonical::series_json(&text) };
    series.iter().map(|labels| serde_json::to_string(labels).unwrap()).collect()
}

fn ingested(path: &Path, layout: Layout) -> Vec<u8> {
    let collector = CollectorOptions { layout, ..CollectorOptions::default() };
    let mut job = Job::new(JobOptions { collector, ..JobOptions::default() }, Vec::new());
    job.read(Source::open(path).unwrap()).unwrap();
    let (report, mut blocks) = job.finish().unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    blocks.remove(0)
}

fn merged(blocks: &[&[u8]], layout: Layout) -> Compacted {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    compact(&views, &CompactOptions { layout, ..CompactOptions::default() }).unwrap()
}

/// What `chronoxide-inspect series --format series-json` prints of a block that verifies.
fn lines(block: &[u8]) -> Lines {
    let view = BlockView::open(block).unwrap();
    let count = view.verify().unwrap().series_count;
    let mut out = Vec::new();
    write_series(&view, Format::SeriesJson, None, false, &mut out).unwrap();
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
    for (name, count) in SERIES.into_iter().chain(OTLP) {
        let Some(path) = real(name) else { continue };
        let expected = expected(&path);
        assert_eq!(expected.len(), count, "{name}");
        for layout in LAYOUTS {
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
    let mut blocks = Vec::new();
    for version in ["1.31", "1.33", "1.34"] {
        let Some(path) = real(&format!("series/k8s-{version}-cluster.jsonl.zst")) else { return };
        expected_lines.append(&mut expected(&path));
        blocks.push(LAYOUTS.map(|layout| ingested(&path, layout)));
    }
    assert_eq!(expected_lines.len(), 56_730);
    // Inputs of one layout, and of both.
    for (inputs, layout) in [([0, 0, 0], LAYOUTS[0]), ([1, 1, 1], LAYOUTS[1]), ([0, 1, 2], LAYOUTS[2])] {
        let inputs: Vec<&[u8]> = blocks.iter().zip(inputs).map(|(block, layout)| &block[layout][..]).collect();
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
    for (name, _) in SERIES.into_iter().chain(OTLP) {
        let Some(path) = real(name) else { return };
        expected_lines.append(&mut expected(&path));
        blocks.push(ingested(&path, Layout::BitPacked));
    }
    let inputs: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
    for layout in LAYOUTS {
        let together = merged(&inputs, layout);
        assert_lines(&lines(&together.block), &expected_lines, "all captures");
        // Step by step there is the same in the end.
        let [first, rest @ ..] = &inputs[..] else { unreachable!() };
        let stepwise = rest.iter().fold(first.to_vec(), |block, next| merged(&[&block, next], layout).block);
        let fingerprint = |block: &[u8]| BlockView::open(block).unwrap().meta().unwrap().fingerprint();
        assert_eq!(fingerprint(&stepwise), fingerprint(&together.block));
    }
}

/// Sizes do not depend on the machine: a figure that is exceeded is a change of the format, of the planner or of the writer.
#[test]
fn blocks_keep_to_their_bytes_a_series() {
    for (name, count, layout, most) in [
        ("series/prom20k.jsonl.zst", 20_000, Layout::BitPacked, 16.0),
        ("series/k8s-1.34-cluster.jsonl.zst", 36_676, Layout::BitPacked, 7.5),
        ("series/prom20k.jsonl.zst", 20_000, Layout::Factored, 9.8),
        ("series/k8s-1.34-cluster.jsonl.zst", 36_676, Layout::Factored, 2.8),
        ("series/otel-demo.jsonl.zst", 1_248, Layout::Factored, 17.0),
    ] {
        let Some(path) = real(name) else { continue };
        let bytes = ingested(&path, layout).len();
        let per_series = bytes as f64 / f64::from(count);
        println!("{name}, {}: {bytes} bytes, {per_series:.3} a series", layout.name());
        assert!(per_series <= most, "{name}: {per_series:.3} bytes a series");
    }
}
