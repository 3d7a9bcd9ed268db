//! Blocks that differ in the labels of `thanos.labels` stay apart.

use std::collections::BTreeSet;

use chronoxide_format::view::BlockView;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestError, IngestOptions};

use crate::canonical::{Labels, block_series};
use crate::tsdb_folder::{Data, message, named, options, series};

/// External labels and series of each block.
type Blocks = Vec<(Vec<(String, String)>, BTreeSet<Labels>)>;

fn run(data: &Data, names: &[&str], options: IngestOptions) -> Result<Blocks, IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    for name in names {
        match *name {
            "wal" => ingest.read_wal(&data.path(name))?,
            _ => ingest.read_tsdb_block(&data.path(name))?,
        }
    }
    let (_, blocks) = ingest.finish()?;
    let one = |block: &Vec<u8>| {
        let meta = BlockView::open(block).unwrap().meta().unwrap();
        let pairs = meta.external_labels().unwrap().map(Result::unwrap);
        let labels = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (labels, block_series(block).into_iter().collect())
    };
    Ok(blocks.iter().map(one).collect())
}

fn separate(assemble: AssembleOptions) -> IngestOptions {
    IngestOptions { assemble: AssembleOptions { separate_input_windows: true, ..assemble }, ..options() }
}

fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const EU: &str = r#"{"labels":{"__org_id__":"7","cluster":"eu","nothing":""}}"#;
const US: &str = r#"{"labels":{"cluster":"us"}}"#;

/// Blocks A and C of one cluster, B of another, and N without external labels; all with the same window.
fn data() -> Data {
    let data = Data::new();
    for (name, thanos) in [("A", EU), ("B", US), ("C", EU), ("N", r#"{"labels":null}"#)] {
        data.block(name, &[series("up", &[(0, 900)]), series(name, &[(0, 10)])].into(), 2, thanos);
    }
    data
}

#[test]
fn equal_external_labels_share_a_block_and_others_never_do() {
    let data = data();
    let (eu, us) = (labels(&[("__org_id__", "7"), ("cluster", "eu")]), labels(&[("cluster", "us")]));
    let found = run(&data, &["A", "C", "B", "N"], separate(AssembleOptions::default())).unwrap();
    let expected =
        [(eu.clone(), named(&["A", "C", "up"])), (us.clone(), named(&["B", "up"])), (Vec::new(), named(&["N", "up"]))];
    assert_eq!(found, expected);
    for window in [None, std::num::NonZeroU64::new(3_600_000_000_000)] {
        let found = run(&data, &["A", "B", "C"], separate(AssembleOptions { window, ..AssembleOptions::default() }));
        let expected =
            [(eu.clone(), named(&["A", "up"])), (us.clone(), named(&["B", "up"])), (eu.clone(), named(&["C", "up"]))];
        assert_eq!(found.unwrap(), expected, "{window:?}");
    }
}

#[test]
fn cuts_keep_the_external_labels_of_their_input() {
    let data = data();
    let found = run(&data, &["A", "B", "A"], separate(AssembleOptions { max_series: 1, ..AssembleOptions::default() }));
    let clusters: Vec<String> = found.unwrap().iter().map(|(labels, _)| labels.last().unwrap().1.clone()).collect();
    assert_eq!(clusters, ["eu", "eu", "us", "us", "eu", "eu"]);
}

#[test]
fn one_block_refuses_two_sets_of_external_labels_also_after_a_cut() {
    let data = data();
    for names in [["A", "B"], ["A", "N"], ["N", "A"]] {
        // With one series per block, the first input leaves no series for the second block.
        for max_series in [u32::MAX, 1] {
            let assemble = AssembleOptions { max_series, ..AssembleOptions::default() };
            let error = run(&data, &names, IngestOptions { assemble, ..options() }).unwrap_err();
            let message = message(&error);
            assert!(message.starts_with("inputs have different external labels"), "{names:?}: {message}");
        }
    }
    assert_eq!(run(&data, &["A", "C"], options()).unwrap().len(), 1);
    // The user's labels win.
    let external_labels = labels(&[("__org_id__", "9"), ("cluster", "all")]);
    let assemble = AssembleOptions { external_labels: external_labels.clone(), ..AssembleOptions::default() };
    let found = run(&data, &["A", "B", "N"], IngestOptions { assemble, ..options() }).unwrap();
    assert_eq!(found, [(external_labels, named(&["A", "B", "N", "up"]))]);
}

#[test]
fn external_labels_that_cannot_be_stored_are_damage() {
    for (thanos, reason) in [
        (r#"{"labels":{"":"x"}}"#.to_owned(), "a name is empty"),
        (format!(r#"{{"labels":{{"a":"{}"}}}}"#, "x".repeat(1 << 20)), "they have more than 1 MiB"),
        (r#"{"labels":{"a":1}}"#.to_owned(), "meta.json is not valid: invalid type: integer `1`"),
    ] {
        let data = Data::new();
        data.block("A", &[series("up", &[(0, 900)])].into(), 2, &thanos);
        let error = message(&data.read_block("A", options()).unwrap_err());
        assert!(error.contains(reason), "{error}");
    }
}
