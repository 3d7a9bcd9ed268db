//! Labels of inputs: each series gets them unless it has them, in each format.

use std::collections::BTreeSet;
use std::path::Path;

use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions, Report};

use crate::canonical::{self, Labels};

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn all<const N: usize>(texts: [&str; N]) -> BTreeSet<Labels> {
    texts.map(|text| pairs(text).into_iter().collect()).into()
}

/// Reads inputs, each with labels before it.
fn read(inputs: &[(&str, &str)], assemble: AssembleOptions) -> (BTreeSet<Labels>, Report) {
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    for (labels, content) in inputs {
        ingest.set_input_labels(&pairs(labels)).unwrap();
        let content = std::io::Cursor::new(content.as_bytes().to_vec());
        ingest.read(Source::new("capture".to_owned(), content).unwrap()).unwrap();
    }
    let (report, blocks) = ingest.finish().unwrap();
    (blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report)
}

const OTLP: &str = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}},{"key":"zone","value":{"stringValue":"own"}}]},"scopeMetrics":[{"scope":{"name":"lib"},"metrics":[{"name":"m","gauge":{"dataPoints":[{},{"attributes":[{"key":"instance","value":{"stringValue":"own"}}]},{"attributes":[{"key":"instance","value":{"stringValue":""}}]},{"attributes":[{"key":"p","value":{"stringValue":"1"}}]}]}}]}]}]}"#;

#[test]
fn series_get_the_labels_of_their_input_unless_they_have_them() {
    let (found, _) = read(
        &[
            ("instance=a zone=b", "up 1\nup{instance=\"own\"} 1\ndown{zone=\"own\"} 1\n"),
            ("instance=c", "{\"__name__\":\"up\"}\n{\"__name__\":\"down\",\"instance\":\"\"}\n{}\n"),
            ("", "up 1\n"),
            ("__name__=named instance=d", "{\"job\":\"x\"}\n{\"__name__\":\"up\"}\n"),
        ],
        AssembleOptions::default(),
    );
    let expected = all([
        "__name__=up instance=a zone=b",
        "__name__=up instance=own zone=b",
        "__name__=down instance=a zone=own",
        "__name__=up instance=c",
        "__name__=down",
        "instance=c",
        "__name__=up",
        "__name__=named job=x instance=d",
        "__name__=up instance=d",
    ]);
    assert_eq!(found, expected);
}

#[test]
fn points_of_otlp_get_them_like_attributes_of_their_resource() {
    let labels = "instance=a zone=b service.name=other";
    let (found, report) = read(&[("instance=z", "up 1\n"), (labels, OTLP), ("", OTLP)], AssembleOptions::default());
    let point = |rest: &str| format!("__name__=m otel_scope_name=lib service.name=cart zone=own {rest}");
    let expected: BTreeSet<Labels> = ["instance=a", "instance=own", "", "instance=a p=1", "p=1"]
        .into_iter()
        .map(|rest| pairs(&point(rest)).into_iter().collect())
        .chain(all(["__name__=up instance=z"]))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(report.points, 8);
    let assemble = AssembleOptions { prometheus_names: true, ..AssembleOptions::default() };
    let (found, _) = read(&[(labels, OTLP)], assemble);
    let expected = all([
        "__name__=m otel_scope_name=lib job=cart instance=a zone=b service.name=other",
        "__name__=m otel_scope_name=lib job=cart instance=own zone=b service.name=other",
        "__name__=m otel_scope_name=lib job=cart instance=a zone=b service.name=other p=1",
        "__name__=target_info job=cart zone=own instance=a service.name=other",
    ]);
    assert_eq!(found, expected);
}

#[test]
fn they_outlive_a_cut_within_their_input() {
    let lines: String = (0..500).map(|number| format!("{{\"__name__\":\"m{number}\"}}\n")).collect();
    let requests = format!("{OTLP}\n").repeat(20);
    let assemble = AssembleOptions { max_series: 3, ..AssembleOptions::default() };
    let (found, report) = read(&[("instance=a", &lines), ("instance=b", &requests)], assemble);
    assert!(report.blocks > 100, "{}", report.blocks);
    let of_lines: BTreeSet<Labels> =
        (0..500).map(|number| pairs(&format!("__name__=m{number} instance=a")).into_iter().collect()).collect();
    assert!(of_lines.is_subset(&found));
    assert_eq!(found.len(), 504);
    assert!(found.iter().all(|labels| labels.get("__name__").is_none_or(|name| name != "m")
        || labels.get("instance").is_none_or(|instance| ["b", "own"].contains(&instance.as_str()))));
}

#[test]
fn blocks_and_logs_of_prometheus_get_them() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let series = |labels: &str| {
        let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
        ingest.set_input_labels(&pairs(labels)).unwrap();
        ingest.read_tsdb_block(&captures.join("tsdb-block")).unwrap();
        ingest.read_wal(&captures.join("prometheus-data/data/wal")).unwrap();
        let (_, blocks) = ingest.finish().unwrap();
        blocks.iter().flat_map(|block| canonical::block_series(block)).collect::<BTreeSet<Labels>>()
    };
    let without = series("");
    let with = series("cluster=eu");
    let expected: BTreeSet<Labels> = without
        .into_iter()
        .map(|mut labels| {
            labels.entry("cluster".to_owned()).or_insert_with(|| "eu".to_owned());
            labels
        })
        .collect();
    assert!(expected.len() > 10);
    assert_eq!(with, expected);
}
