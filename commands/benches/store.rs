//! Benchmarks inserting a million series of 25 labels into a store, and sealing the store into a block, in series per
//! second.
//!
//! The workload is generated and equal on every machine: 20,000 pods with 16 labels each, and 50 series per pod with 9
//! further labels each, in the order in which pods export them.

use chronoxide_format::write::BlockMeta;
use chronoxide_labels::Layout;
use chronoxide_labels::{KeysetStore, LabelId, LabelSetStore, LabelSets};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const PODS: usize = 20_000;
const SERIES_PER_POD: usize = 50;
const SERIES: u64 = (PODS * SERIES_PER_POD) as u64;

fn pod_labels(pod: usize) -> Vec<(String, String)> {
    let service = pod % 200;
    let value = |label: usize| match label {
        0 => format!("service-{service}-5f7c-{pod}"),
        1 => format!("{:016x}", (pod as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        2 => format!("node-{}", pod % 900),
        3..=8 => format!("value-{}", service % (7 * label)),
        _ => format!("constant-{label}"),
    };
    (0..16).map(|label| (format!("pod.label.{label:02}"), value(label))).collect()
}

fn series_labels(series: usize) -> Vec<(String, String)> {
    let value = |label: usize| match label {
        0 => format!("metric.{}", series / 5),
        1 => ["GET", "POST", "PUT", "PATCH", "DELETE"][series % 5].to_owned(),
        2..=4 => format!("value-{}", series % (label + 3)),
        _ => format!("constant-{label}"),
    };
    (0..9).map(|label| (format!("series.label.{label}"), value(label))).collect()
}

/// Labels of all series, as ingest sees them: labels of pods, and labels of the series of a pod.
struct Workload {
    pods: Vec<Vec<(String, String)>>,
    series: Vec<Vec<(String, String)>>,
}

impl Workload {
    fn new() -> Self {
        Self { pods: (0..PODS).map(pod_labels).collect(), series: (0..SERIES_PER_POD).map(series_labels).collect() }
    }

    /// Returns each series as 25 pairs of strings, sorted by name.
    fn insert_strings(&self, store: &mut KeysetStore) {
        let mut labels: Vec<(&str, &str)> = Vec::new();
        for pod in &self.pods {
            for series in &self.series {
                labels.clear();
                labels.extend(pod.iter().chain(series).map(|(name, value)| (name.as_str(), value.as_str())));
                store.insert(&labels).expect("labels are in order");
            }
        }
    }

    /// Inserts all series. Labels of a pod are interned once, labels of its series each time.
    fn insert_ids(&self, store: &mut KeysetStore) {
        let mut labels: Vec<LabelId> = Vec::new();
        for pod in &self.pods {
            labels.clear();
            for (name, value) in pod {
                labels.push(store.intern_label(name, value).expect("labels are in their limits"));
            }
            for series in &self.series {
                labels.truncate(pod.len());
                for (name, value) in series {
                    labels.push(store.intern_label(name, value).expect("labels are in their limits"));
                }
                store.insert_ids(&labels).expect("keys are distinct");
            }
        }
    }
}

fn benches(criterion: &mut Criterion) {
    let workload = Workload::new();
    let mut known = KeysetStore::new();
    workload.insert_ids(&mut known);
    assert_eq!((known.len() as u64, known.keyset_count()), (SERIES, 1));
    println!("memory: {} bytes per series", known.estimated_bytes() as u64 / SERIES);
    let block = known.seal(Layout::BitPacked, &BlockMeta::default()).expect("the store fits").block;
    println!("block: {} bytes per series", block.len() as f64 / SERIES as f64);

    let mut group = criterion.benchmark_group("store");
    group.throughput(Throughput::Elements(SERIES)).sample_size(10);
    group.bench_function("new series by ids", |bencher| {
        bencher.iter_batched_ref(KeysetStore::new, |store| workload.insert_ids(store), BatchSize::PerIteration);
    });
    group.bench_function("known series by ids", |bencher| bencher.iter(|| workload.insert_ids(&mut known)));
    group.bench_function("new series by strings", |bencher| {
        bencher.iter_batched_ref(KeysetStore::new, |store| workload.insert_strings(store), BatchSize::PerIteration);
    });
    group.bench_function("known series by strings", |bencher| bencher.iter(|| workload.insert_strings(&mut known)));
    for layout in Layout::ALL {
        group.bench_function(format!("seal {}", layout.name()), |bencher| {
            bencher.iter(|| known.seal(layout, &BlockMeta::default()).expect("the store fits"));
        });
    }
    group.finish();
    assert_eq!(known.len() as u64, SERIES);
}

criterion_group!(all, benches);
criterion_main!(all);
