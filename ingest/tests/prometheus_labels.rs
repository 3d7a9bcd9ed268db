//! With `prometheus_names`, series of OTLP have the labels of Prometheus's own OTLP receiver.
//!
//! Prometheus's translator made the lists (`testdata/captures/tools/otlp`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};

use crate::canonical::{self, Labels};

fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name)
}

fn options(promoted: &[&str]) -> AssembleOptions {
    AssembleOptions {
        prometheus_names: true,
        classic_histograms: true,
        promote_resource_attributes: promoted.iter().map(|name| (*name).to_owned()).collect(),
        ..AssembleOptions::default()
    }
}

fn ingested(capture: &Path, options: AssembleOptions) -> BTreeSet<Labels> {
    let mut ingest = Ingest::new(IngestOptions { assemble: options, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::open(capture).unwrap()).unwrap();
    let (_, blocks) = ingest.finish().unwrap();
    blocks.iter().flat_map(|block| canonical::block_series(block)).collect()
}

fn assert_listed(capture: &Path, list: &Path, promoted: &[&str]) -> usize {
    let text = chronoxide_testkit::captures::text(list);
    let expected: BTreeSet<Labels> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = ingested(capture, options(promoted));
    let missing: Vec<&Labels> = expected.difference(&found).take(3).collect();
    let more: Vec<&Labels> = found.difference(&expected).take(3).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nmore: {more:#?}");
    expected.len()
}

#[test]
fn series_have_the_labels_that_prometheus_gives_them() {
    assert_eq!(assert_listed(&committed("metrics.jsonl"), &committed("metrics.prometheus.jsonl.zst"), &[]), 107);
    let attributes = committed("attributes.jsonl");
    assert_eq!(assert_listed(&attributes, &committed("attributes.prometheus.jsonl"), &[]), 24);
    let promoted = ["k8s.pod.name", "service.version"];
    assert_eq!(assert_listed(&attributes, &committed("attributes.promoted.jsonl"), &promoted), 24);
    // Attributes that occur twice, empty values of keys that get the same name, resources without a service.
    let duplicates = committed("duplicates.jsonl");
    assert_eq!(assert_listed(&duplicates, &committed("duplicates.prometheus.jsonl"), &[]), 22);
    assert_eq!(assert_listed(&duplicates, &committed("duplicates.promoted.jsonl"), &promoted), 22);
}

/// A capture that is not part of the project, with the list of its labelsets.
#[test]
#[ignore = "reads CHRONOXIDE_OTLP_CAPTURE and CHRONOXIDE_OTLP_LABELS"]
fn series_of_another_capture_have_the_labels_that_prometheus_gives_them() {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_else(|| panic!("{name} is not set"));
    let (capture, list) = (path("CHRONOXIDE_OTLP_CAPTURE"), path("CHRONOXIDE_OTLP_LABELS"));
    println!("{} labelsets", assert_listed(&capture, &list, &[]));
}

#[test]
fn blocks_that_are_cut_hold_the_same_series() {
    let expected = ingested(&committed("attributes.jsonl"), options(&[]));
    for max_series in [1, 2, 5] {
        let cut = AssembleOptions { max_series, ..options(&[]) };
        assert_eq!(ingested(&committed("attributes.jsonl"), cut), expected, "{max_series}");
    }
}
