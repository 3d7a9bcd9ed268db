//! Captures written by real clients and servers have exactly the series that these report.
//!
//! The captures and lists are part of the repository. Programs in `testdata/captures/tools` wrote both. Each list comes
//! from the client's model or the server's API, not from its output or the code of this project.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions, Report};
use chronoxide_testkit::captures::{committed, text};

use crate::canonical::{self, Labels};

fn listed(name: &str) -> BTreeSet<Labels> {
    let text = text(&committed(name));
    let series: BTreeSet<Labels> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(series.len(), text.lines().count(), "{name}: a series is listed twice");
    series
}

fn ingested(names: &[&str], options: IngestOptions) -> (BTreeSet<Labels>, Report) {
    let mut ingest = Ingest::new(options, Vec::new());
    for name in names {
        ingest.read(Source::open(&committed(name)).unwrap()).unwrap();
    }
    let (report, blocks) = ingest.finish().unwrap();
    assert!(report.warnings.is_empty(), "{names:?}: {:?}", report.warnings);
    assert_eq!((report.torn_records, report.skipped.broken_records), (0, 0), "{names:?}");
    let series: Vec<Labels> = blocks.iter().flat_map(|block| canonical::block_series(block)).collect();
    let distinct: BTreeSet<Labels> = series.iter().cloned().collect();
    assert_eq!(distinct.len(), series.len(), "{names:?}: a series is in the block twice");
    (distinct, report)
}

#[track_caller]
fn assert_series(found: &BTreeSet<Labels>, expected: &BTreeSet<Labels>, what: &str) {
    let missing: Vec<&Labels> = expected.difference(found).take(3).collect();
    let more: Vec<&Labels> = found.difference(expected).take(3).collect();
    assert!(missing.is_empty() && more.is_empty(), "{what}: missing: {missing:#?}\nmore: {more:#?}");
}

const COLLECTOR: [&str; 4] = [
    "collector/metrics.jsonl",
    "collector/metrics.json.zst-be32",
    "collector/metrics.binpb-be32",
    "collector/metrics.binpb.zst-be32",
];

#[test]
fn exports_of_an_sdk_through_a_collector_are_read_in_every_format() {
    let expected = listed("collector/series.jsonl");
    assert_eq!(expected.len(), 18);
    for name in COLLECTOR {
        let (found, report) = ingested(&[name], IngestOptions::default());
        assert_series(&found, &expected, name);
        let kinds = report.points_by_kind;
        assert_eq!((report.records, report.points), (2, 27), "{name}");
        assert_eq!((kinds.gauge, kinds.sum, kinds.histogram, kinds.exponential_histogram), (8, 15, 2, 2), "{name}");
    }
}

#[test]
fn exports_of_an_sdk_get_the_labels_of_prometheus() {
    let expected = listed("collector/prometheus.jsonl.zst");
    for name in COLLECTOR {
        let assemble =
            AssembleOptions { prometheus_names: true, classic_histograms: true, ..AssembleOptions::default() };
        let (found, _) = ingested(&[name], IngestOptions { assemble, ..IngestOptions::default() });
        assert_series(&found, &expected, name);
    }
}

/// Values of `le` and `quantile` that clients write in other ways than Prometheus 3 stores them.
const FLOATS: [(&str, &str); 6] = [
    ("1", "1.0"),
    ("2", "2.0"),
    ("10", "10.0"),
    ("1e-7", "1e-07"),
    ("1000000", "1e+06"),
    ("12345678", "1.2345678e+07"),
];

/// The labels that Prometheus 3 stores of what a client says.
fn stored(listed: &BTreeSet<Labels>) -> BTreeSet<Labels> {
    let mut all = listed.clone().into_iter().collect::<Vec<Labels>>();
    for labels in &mut all {
        for (_, value) in labels.iter_mut().filter(|(name, _)| ["le", "quantile"].contains(&name.as_str())) {
            if let Some((_, stored)) = FLOATS.iter().find(|(written, _)| written == value) {
                *value = (*stored).to_owned();
            }
        }
    }
    all.into_iter().collect()
}

#[test]
fn expositions_of_prometheus_client_libraries_are_read() {
    // Go 1.25, Python and Node.js; text and, where the library has it, OpenMetrics.
    for (folder, files, count) in [
        ("exposition", &["metrics.prom"][..], 35),
        ("python-client", &["metrics.prom", "metrics.om"], 25),
        ("node-client", &["metrics.prom", "metrics.om"], 18),
    ] {
        let expected = listed(&format!("{folder}/series.jsonl"));
        assert_eq!(expected.len(), count, "{folder}");
        for file in files {
            let name = format!("{folder}/{file}");
            let (found, _) = ingested(&[&name], IngestOptions { keep_float_labels: true, ..IngestOptions::default() });
            assert_series(&found, &expected, &format!("{name}, as written"));
            let (found, _) = ingested(&[&name], IngestOptions::default());
            assert_series(&found, &stored(&expected), &name);
        }
    }
    // This library writes them as Prometheus 3 stores them.
    let python = listed("python-client/series.jsonl");
    assert_eq!(stored(&python), python);
}

#[test]
fn remote_write_of_a_prometheus_server_is_read_in_both_versions() {
    let expected = listed("remote-write/series.jsonl");
    assert_eq!(expected.len(), 31);
    for version in ["v1", "v2"] {
        let names = [0, 1, 2].map(|number| format!("remote-write/{version}-{number}.snappy"));
        let (found, report) = ingested(&names.each_ref().map(String::as_str), IngestOptions::default());
        assert_series(&found, &expected, version);
        assert_eq!((report.inputs, report.records), (3, 3), "{version}");
        assert!(report.time.is_some(), "{version}");
    }
}

#[test]
fn a_series_that_is_missing_from_a_capture_would_be_noticed() {
    let text = text(&committed("python-client/metrics.prom"));
    let all = listed("python-client/series.jsonl");
    let mut cases = 0;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let rest: String =
            text.lines().enumerate().filter(|(n, _)| *n != number).map(|(_, l)| format!("{l}\n")).collect();
        let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
        ingest.read(Source::new("rest".to_owned(), Cursor::new(rest)).unwrap()).unwrap();
        let (_, blocks) = ingest.finish().unwrap();
        let found: BTreeSet<Labels> = canonical::block_series(&blocks[0]).into_iter().collect();
        assert_eq!(all.difference(&found).count(), 1, "{line}");
        cases += 1;
    }
    assert_eq!(cases, 25);
}
