//! Shared by tests: random options, folders, and the content of a block.

// Each test binary uses its own part.
#![allow(dead_code)]

mod here;

use std::collections::BTreeSet;
use std::ops::Range;
use std::process::Output;

use chronoxide_compactor::{CompactOptions, HashLabels, Rewrite};
use chronoxide_format::view::BlockView;
use chronoxide_merge_model::{NAMES, RENAMES, SELECTORS};
use chronoxide_planner::Layout;
use chronoxide_select::Selector;
use chronoxide_testkit::plan::Labelset;
use chronoxide_testkit::random::Random;
#[allow(unused_imports)]
pub use here::{Done, Here};

fn some<T: Clone>(all: &[T], percent: usize, random: &mut Random) -> Vec<T> {
    let mut some: Vec<T> = all.iter().filter(|_| random.percent(percent)).cloned().collect();
    random.shuffle(&mut some);
    some
}

/// A layout, and now and then selectors, dropped and renamed labels.
pub fn random_options(random: &mut Random) -> CompactOptions {
    let selectors = |percent, random: &mut Random| -> Vec<Selector> {
        some(&SELECTORS, percent, random).into_iter().map(|text| text.parse().unwrap()).collect()
    };
    let rename = |(old, new): (&str, &str)| (old.to_owned(), new.to_owned());
    let rewrite = if random.percent(60) {
        let drop_labels: Vec<String> = some(&NAMES, 20, random).into_iter().map(str::to_owned).collect();
        let rename_labels: Vec<(String, String)> = some(&RENAMES, 30, random).into_iter().map(rename).collect();
        let is_free = |name: &String| {
            name != "__name__"
                && !drop_labels.contains(name)
                && !rename_labels.iter().any(|(old, new)| old == name || new == name)
        };
        let hashed = some(&NAMES, 20, random).into_iter().map(str::to_owned).filter(is_free).collect();
        let hash_labels = HashLabels::new(hashed, b"0123456789abcdef").unwrap();
        Rewrite { drop_labels, rename_labels, hash_labels }
    } else {
        Rewrite::default()
    };
    CompactOptions {
        layout: Layout::ALL[random.below(3)],
        replan: random.percent(30),
        keep: if random.percent(40) { selectors(40, random) } else { Vec::new() },
        drop: if random.percent(60) { selectors(15, random) } else { Vec::new() },
        rewrite,
        ..CompactOptions::default()
    }
}

/// A folder, in memory where that is to be had: what is judged is which calls are made, and on a disk durable files
/// would take minutes.
pub fn empty_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Returns the series of a block.
pub fn content(block: &[u8]) -> BTreeSet<Labelset> {
    series(block).into_iter().collect()
}

/// Returns the labels of all series of a block, by their refs.
pub fn series(block: &[u8]) -> Vec<Labelset> {
    let mut arena = Vec::new();
    let view = BlockView::open_unpacked(block, &mut arena).unwrap();
    let text = view.text().unwrap();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    view.series_iter()
        .map(|series| text.labels(&series.unwrap()).map(|label| owned(label.unwrap().into())).collect())
        .collect()
}

/// Pods with an address, five on a node, each with the same points.
pub fn pods(pods: Range<usize>, points: Range<usize>) -> BTreeSet<Labelset> {
    let label = |name: &str, value: String| (name.to_owned(), value);
    pods.flat_map(|pod| points.clone().map(move |point| (pod, point)))
        .map(|(pod, point)| {
            let labels = [
                label("__name__", format!("metric_{}", point / 10)),
                label("address", format!("10.0.0.{pod}")),
                label("le", format!("{}", point % 10)),
                label("node", format!("node-{}", pod / 5)),
                label("pod", format!("pod-{pod}")),
            ];
            labels.into()
        })
        .collect()
}

/// Returns the messages of a command that must exit with a code.
#[track_caller]
pub fn assert_exit(output: &Output, code: i32) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}
