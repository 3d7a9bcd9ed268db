//! Holds a workload to the size that was asked for.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Set, Statistics, Workload};

use crate::oracle::points;

#[test]
fn every_window_has_as_many_series_as_were_asked_for() {
    for set in Set::ALL {
        for series in [0, 1, 7, 499, 500, 1_000, 10_001] {
            let series = if set == Set::Wide { series / 20 } else { series };
            let options = Options { series, set, windows: 5..8, churn: 0.3, ..Options::default() };
            let workload = Workload::new(options).unwrap();
            let mut requests = workload.requests();
            let mut found: BTreeMap<u32, Vec<_>> = BTreeMap::new();
            while let Some(request) = requests.next() {
                let labels = points(&request).into_iter().map(|point| point.labels);
                found.entry(requests.window()).or_default().extend(labels);
            }
            assert_eq!(found.len(), if series == 0 { 0 } else { 3 });
            for (window, labelsets) in found {
                assert_eq!(labelsets.len() as u64, series, "{} in window {window}", set.name());
                let distinct: BTreeSet<_> = labelsets.iter().collect();
                assert_eq!(distinct.len() as u64, series, "{} in window {window}", set.name());
            }
        }
    }
}

#[test]
fn every_seed_meets_the_size() {
    for seed in 0..sweep::cases(3, 40) {
        let options = Options { series: 20_000, seed, windows: 9..10, ..Options::default() };
        let workload = Workload::new(options).unwrap();
        assert_eq!(Statistics::from_workload(&workload).series, 20_000, "seed {seed}");
    }
}

#[test]
fn every_scrape_has_each_series_once() {
    let options = Options { series: 2_000, scrapes: 3, ..Options::default() };
    let workload = Workload::new(options).unwrap();
    let labels: Vec<_> = workload.requests().flat_map(|request| points(&request)).map(|point| point.labels).collect();
    assert_eq!(labels.len(), 6_000);
    assert_eq!(labels[..2_000], labels[2_000..4_000]);
    assert_eq!(labels[..2_000], labels[4_000..]);
}
