//! Holds the workload to what its documentation says of it.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_testkit::sweep;
use chronoxide_workload::{Format, Options, Set, Statistics, Workload};

use crate::oracle::{Labels, bytes, json_labels};

fn statistics(series: u64, seed: u64, set: Set) -> Statistics {
    Statistics::from_workload(&Workload::new(Options { series, seed, set, ..Options::default() }).unwrap())
}

/// A tenth of the size that the documentation speaks of: strings and keysets that all pods share weigh more.
#[test]
fn a_hundred_thousand_series_are_like_a_fleet() {
    for seed in 1..=sweep::cases(1, 3) {
        let statistics = statistics(100_000, seed, Set::Otlp);
        assert_eq!(statistics.series, 100_000);
        let labels = statistics.labels_per_series();
        assert!((23.0..=25.0).contains(&labels), "{labels} labels per series");
        let series = statistics.series_per_string();
        assert!((15.0..=40.0).contains(&series), "{series} series per string");
        assert!((1_000..=3_000).contains(&statistics.keysets), "{} keysets", statistics.keysets);
        let (median, longest) = (statistics.string_length(50), statistics.string_length(100));
        assert!((10..=20).contains(&median), "half of the strings have up to {median} bytes");
        assert!((80..=400).contains(&longest), "the longest string has {longest} bytes");
        let bytes = statistics.label_bytes as f64 / statistics.labels as f64 / 2.0;
        assert!((10.0..=20.0).contains(&bytes), "{bytes} bytes per name or value");
    }
}

#[test]
fn statistics_count_what_is_there() {
    for set in Set::ALL {
        let options = Options { series: 300, set, windows: 0..2, ..Options::default() };
        let all: Vec<Labels> = json_labels(&bytes(&options, Format::SeriesJson));
        let statistics = Statistics::from_workload(&Workload::new(options).unwrap());

        let count = |number: usize| number as u64;
        let distinct: BTreeSet<&Labels> = all.iter().collect();
        let keysets: BTreeSet<Vec<&String>> = all.iter().map(|labels| labels.keys().collect()).collect();
        let keys: BTreeSet<&String> = all.iter().flat_map(Labels::keys).collect();
        let strings: BTreeSet<&String> = all.iter().flatten().flat_map(|(name, value)| [name, value]).collect();
        let pods: BTreeSet<&String> = all.iter().filter_map(|labels| labels.get("k8s.pod.name")).collect();
        let bytes: usize = all.iter().flatten().map(|(name, value)| name.len() + value.len()).sum();
        let mut lengths: Vec<usize> = strings.iter().map(|text| text.len()).collect();
        lengths.sort_unstable();

        assert_eq!(statistics.points, count(all.len()));
        assert_eq!(statistics.series, count(distinct.len()));
        assert_eq!(statistics.labels, count(all.iter().map(Labels::len).sum()));
        assert_eq!(statistics.most_labels, count(all.iter().map(Labels::len).max().unwrap()));
        assert_eq!(statistics.label_bytes, count(bytes));
        assert_eq!(statistics.keysets, count(keysets.len()));
        assert_eq!(statistics.keys, count(keys.len()));
        assert_eq!(statistics.strings, count(strings.len()));
        assert_eq!(statistics.string_bytes, count(lengths.iter().sum()));
        assert_eq!(statistics.pods, count(pods.len()));
        assert_eq!(statistics.string_length(100), *lengths.last().unwrap());
        assert_eq!(statistics.string_length(50), lengths[lengths.len().div_ceil(2) - 1]);
    }
}

/// Returns the series of a fleet. Another test compares them with those of the encoded formats.
fn labelsets(series: u64) -> Vec<Labels> {
    let workload = Workload::new(Options { series, ..Options::default() }).unwrap();
    workload.labelsets().map(|labels| labels.into_iter().collect()).collect()
}

/// Series of each value of a label, the largest first.
fn sizes(series: &[Labels], key: &str) -> Vec<usize> {
    let mut sizes: BTreeMap<&String, usize> = BTreeMap::new();
    series.iter().filter_map(|labels| labels.get(key)).for_each(|value| *sizes.entry(value).or_default() += 1);
    let mut sizes: Vec<usize> = sizes.into_values().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

#[test]
fn few_services_are_large_and_many_are_small() {
    let series = labelsets(100_000);
    let services = sizes(&series, "service.name");
    assert!(services.len() >= 60, "only {} services", services.len());
    let largest: usize = services[..services.len() / 10].iter().sum();
    assert!(largest * 10 > series.len() * 4, "a tenth of the services has {largest} series");
    let median = services[services.len() / 2];
    assert!(services[0] > 10 * median, "the largest service has {}, half have {median}", services[0]);
}

/// Returns true if each value of the first label occurs with one value of the second only.
#[test]
fn labels_depend_on_each_other_as_in_life() {
    let series = labelsets(50_000);
    for (key, implied) in [
        ("k8s.node.name", "cloud.availability_zone"),
        ("k8s.node.name", "host.type"),
        ("k8s.cluster.name", "cloud.region"),
        ("k8s.cluster.name", "deployment.environment.name"),
        ("cloud.region", "cloud.provider"),
        ("cloud.provider", "cloud.platform"),
        ("k8s.deployment.name", "k8s.namespace.name"),
        ("k8s.deployment.name", "service.version"),
        ("k8s.pod.name", "k8s.node.name"),
        ("process.runtime.name", "telemetry.sdk.language"),
    ] {
        let mut values: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for labels in &series {
            if let (Some(value), Some(other)) = (labels.get(key), labels.get(implied)) {
                values.entry(value).or_default().insert(other);
            }
        }
        assert!(!values.is_empty(), "{key} and {implied} are never together");
        for (value, others) in values {
            assert_eq!(others.len(), 1, "{key}={value} has {implied} {others:?}");
        }
    }
}

/// Nor may a pod be known by its metrics, nor its metrics by its service.
#[test]
fn pods_of_a_service_do_not_all_have_the_same_points() {
    let series = labelsets(50_000);
    let mut pods: BTreeMap<(&String, &String), usize> = BTreeMap::new();
    for labels in &series {
        *pods.entry((&labels["service.name"], &labels["k8s.pod.name"])).or_default() += 1;
    }
    let mut services: BTreeMap<&String, BTreeSet<usize>> = BTreeMap::new();
    let mut pod_counts: BTreeMap<&String, usize> = BTreeMap::new();
    for ((service, _), count) in pods {
        services.entry(service).or_default().insert(count);
        *pod_counts.entry(service).or_default() += 1;
    }
    let mut seen = 0;
    for (service, counts) in services {
        if pod_counts[service] >= 10 {
            assert!(counts.len() > 3, "{service}: {counts:?}");
            seen += 1;
        }
    }
    assert!(seen >= 5, "only {seen} services have ten pods");
}

#[test]
fn adversaries_are_what_their_names_say() {
    let unique = statistics(20_000, 1, Set::UniqueLabel);
    assert!(unique.strings > 20_000, "{} strings", unique.strings);
    assert_eq!(unique.keysets, 1);

    assert_eq!(statistics(20_000, 1, Set::TinyKeysets).keysets, 10_000);

    let wide = statistics(500, 1, Set::Wide);
    assert_eq!((wide.most_labels, wide.labels), (500, 500 * 500));

    let options = Options { series: 40_000, set: Set::Independent, ..Options::default() };
    let series = json_labels(&bytes(&options, Format::SeriesJson));
    // Checks two labels with ten and twelve values: every pair of values occurs about equally often.
    let mut pairs: BTreeMap<(&String, &String), i32> = BTreeMap::new();
    for labels in &series {
        *pairs.entry((&labels["column.07"], &labels["column.08"])).or_default() += 1;
    }
    assert_eq!(pairs.len(), 10 * 12);
    let expected = 40_000.0 / 120.0;
    let chi_squared: f64 = pairs.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    // 119 degrees of freedom: below 180 in all but two of ten thousand cases.
    assert!(chi_squared < 180.0, "{chi_squared}");
}
