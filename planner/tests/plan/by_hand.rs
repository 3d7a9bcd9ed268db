//! A small fleet is planned like by hand.

use std::collections::BTreeSet;

use chronoxide_planner::{Factored, FactoredKeyset, FactoredPool, FactoredTable, Origin, Part, Plan, plan};

use crate::content::{Labelset, Model, labelset};

/// Returns three pods with `labels` labels each, and some points per pod. The first label is the same on all pods.
///
/// The keys of a pod have numbers after those of points: their names come later.
fn fleet(pod_labels: usize, points: &[&[(&str, &str)]]) -> BTreeSet<Labelset> {
    let mut series = BTreeSet::new();
    for pod in 0..3 {
        for point in points {
            let mut labels = labelset(point);
            for label in 0..pod_labels {
                // Every other label has the pods in another order, as names of their machines would.
                let value = [0, pod, 2 - pod][if label == 0 { 0 } else { 1 + label % 2 }];
                labels.insert(format!("pod.label.{label:02}"), format!("value {value}"));
            }
            series.insert(labels);
        }
    }
    series
}

const REQUESTS: [&[(&str, &str)]; 4] = [
    &[("__name__", "duration"), ("method", "GET")],
    &[("__name__", "duration"), ("method", "PUT")],
    &[("__name__", "requests"), ("method", "GET")],
    &[("__name__", "requests"), ("method", "PUT")],
];

fn keys(keys: std::ops::Range<u32>) -> Vec<Part> {
    keys.map(Part::Key).collect()
}

/// A column for each pod label: 0 in all of them, and then 2, 1, 0 and 0, 1, 2 by turns.
fn pods() -> Vec<u32> {
    vec![
        0, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, // the third pod
        0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // the second
        0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, // the first
    ]
}

/// Labels that describe the pods: a table of 16 labels whose three rows are all on one list.
fn pod_table() -> (FactoredTable, FactoredPool) {
    let table = FactoredTable { parts: keys(2..18), rows: pods() };
    (table, FactoredPool { part: Part::Table(0), lists: [[0, 1, 2]].into_iter().collect() })
}

fn origin(name: &str) -> Origin {
    if name.starts_with("pod") { Origin::Resource } else { Origin::Point }
}

#[test]
fn pods_with_the_same_points_are_a_table_and_a_list() {
    let model = Model::from_labelsets(&fleet(16, &REQUESTS));
    let (table, pool) = pod_table();
    // Name, method and the list: four points, and each on all pods.
    let rows = vec![0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0];
    let requests = FactoredKeyset { parts: keys(0..2), pool: Some(0), rows, order: (0..12).collect() };
    let expected = Factored { tables: vec![table], pools: vec![pool], keysets: vec![requests] };
    assert_eq!(plan(&model.content).1, expected);
    // The plan is the same if origins of keys are given.
    assert_eq!(plan(&model.with_origins(origin).content).1, expected);
}

#[test]
fn keysets_share_the_table_and_the_list() {
    let gauges: [&[(&str, &str)]; 2] = [&[("__name__", "cpu")], &[("__name__", "memory")]];
    let model = Model::from_labelsets(&fleet(16, &[&REQUESTS[..], &gauges].concat()));
    let (table, pool) = pod_table();
    // Names are now cpu, duration, memory and requests.
    let rows = vec![1, 0, 0, 1, 1, 0, 3, 0, 0, 3, 1, 0];
    let requests = FactoredKeyset { parts: keys(0..2), pool: Some(0), rows, order: (0..12).collect() };
    let gauges = FactoredKeyset { parts: keys(0..1), pool: Some(0), rows: vec![0, 0, 2, 0], order: (0..6).collect() };
    let expected = Factored { tables: vec![table], pools: vec![pool], keysets: vec![requests, gauges] };
    assert_eq!(plan(&model.content).1, expected);
}

#[test]
fn a_table_for_few_labels_does_not_pay() {
    // Twelve rows of six bits are nine bytes; the record of a table is about as long.
    let model = Model::from_labelsets(&fleet(3, &REQUESTS));
    assert_eq!(plan(&model.content).0, Plan::plain(&model.content));
}
