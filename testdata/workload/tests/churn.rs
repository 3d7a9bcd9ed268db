//! Holds churn to its share: how much of a window the next one does not have.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_workload::{Options, Set, Workload};

use crate::oracle::{Labels, resource};

type Labelset = Vec<(String, String)>;

fn options(window: u32, churn: f64, set: Set, series: u64) -> Options {
    Options { series, set, churn, windows: window..window + 1, ..Options::default() }
}

fn labelsets(window: u32, churn: f64, set: Set) -> BTreeSet<Labelset> {
    Workload::new(options(window, churn, set, 20_000)).unwrap().labelsets().collect()
}

/// The pods of a window: all attributes of their resources.
fn pods(window: u32, churn: f64) -> BTreeSet<Labels> {
    let workload = Workload::new(options(window, churn, Set::Otlp, 60_000)).unwrap();
    let pods = workload.requests().map(|request| resource(&request));
    pods.collect()
}

#[test]
fn so_many_pods_are_replaced_as_the_churn_says() {
    // Some 450 pods: the share may be off by 3.5 deviations.
    for churn in [0.05, 0.2, 0.5] {
        for first in [0, 6] {
            let (before, after) = (pods(first, churn), pods(first + 1, churn));
            assert!(before.len() > 400, "only {} pods", before.len());
            let gone = before.difference(&after).count() as f64 / before.len() as f64;
            let deviation = (churn * (1.0 - churn) / before.len() as f64).sqrt();
            assert!((gone - churn).abs() < 3.5 * deviation, "{gone} of the pods are gone, not {churn}");
        }
    }
}

#[test]
fn series_go_with_their_pods() {
    for set in [Set::Otlp, Set::UniqueLabel, Set::TinyKeysets, Set::Independent] {
        let (before, after) = (labelsets(0, 0.2, set), labelsets(1, 0.2, set));
        let gone = before.difference(&after).count() as f64 / before.len() as f64;
        assert!((0.15..0.25).contains(&gone), "{}: {gone} of the series are gone", set.name());
    }
}

#[test]
fn without_churn_all_windows_have_the_same_series() {
    for set in [Set::Otlp, Set::UniqueLabel, Set::TinyKeysets, Set::Independent] {
        assert_eq!(labelsets(0, 0.0, set), labelsets(40, 0.0, set), "{}", set.name());
    }
}

#[test]
fn with_full_churn_no_pod_outlives_a_window() {
    assert_eq!(pods(3, 1.0).intersection(&pods(4, 1.0)).count(), 0);
}

#[test]
fn a_window_is_the_same_alone_and_among_others() {
    let options = Options { series: 5_000, windows: 0..4, churn: 0.2, ..Options::default() };
    let together = Workload::new(options.clone()).unwrap();
    let mut requests = together.requests();
    let mut by_window: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    while let Some(request) = requests.next() {
        by_window.entry(requests.window()).or_default().push(request);
    }
    assert_eq!(by_window.len(), 4);
    for (window, expected) in by_window {
        let alone = Workload::new(Options { windows: window..window + 1, ..options.clone() }).unwrap();
        assert!(alone.requests().eq(expected), "window {window}");
    }
}
