//! A million series as OpenTelemetry exports them: pods with 16 resource attributes, 120 metrics with 4 to 12 labels of
//! their own in 60 keysets, in the order in which pods export them. The same on every machine.

use chronoxide_format::write::BlockMeta;
use chronoxide_labels::Layout;
use chronoxide_labels::{KeysetStore, LabelId};

/// Series of the workload.
pub const SERIES: u32 = 1_000_000;

const SERVICES: u32 = 200;
const METRICS: u32 = 120;

/// A number that looks random and is the same everywhere.
pub fn scatter(n: u32) -> u32 {
    let n = n.wrapping_mul(0x9e37_79b9);
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b) >> 3
}

/// Sealed blocks of `series` series: FixedWidth, BitPacked and Factored.
pub fn blocks(series: u32) -> [(&'static str, Vec<u8>); 3] {
    let store = store(series);
    let seal = |form| store.seal(form, &BlockMeta::default()).expect("the workload is within limits").block;
    [Layout::FixedWidth, Layout::BitPacked, Layout::Factored].map(|layout| (layout.name(), seal(layout)))
}

fn store(series: u32) -> KeysetStore {
    let mut store = KeysetStore::new();
    let mut count = 0;
    for pod in 0.. {
        let resource = pod_labels(&mut store, pod);
        for metric in metrics_of(pod) {
            for point in point_labels(&mut store, metric) {
                if count == series {
                    return store;
                }
                let (_, new) = store.insert_ids(&[&resource[..], &point].concat()).expect("names differ");
                assert!(new, "pods and points differ");
                count += 1;
            }
        }
    }
    unreachable!("there is always one more pod")
}

fn intern(store: &mut KeysetStore, labels: &[(&str, String)]) -> Vec<LabelId> {
    labels.iter().map(|(name, value)| store.intern_label(name, value).expect("labels are short")).collect()
}

fn pod_labels(store: &mut KeysetStore, pod: u32) -> Vec<LabelId> {
    let service = scatter(pod) % SERVICES;
    let node = scatter(pod + 1) % 400;
    let mut labels = vec![
        ("host.name", format!("node-{node:04}.eu-central-1.internal")),
        ("k8s.node.name", format!("node-{node:04}")),
        ("k8s.pod.name", format!("service-{service:03}-{:08x}-{pod:x}", scatter(service))),
        ("k8s.pod.uid", format!("{:08x}-{:08x}-{pod:08x}", scatter(pod + 2), scatter(pod + 3))),
        ("k8s.namespace.name", format!("team-{}", service % 17)),
        ("service.name", format!("service-{service:03}")),
        ("service.version", format!("1.{}.{}", service % 9, service % 23)),
        ("telemetry.sdk.language", ["go", "java", "python", "rust"][service as usize % 4].to_owned()),
    ];
    for (name, values) in
        [("cloud.region", 1), ("cloud.zone", 3), ("k8s.cluster.name", 1), ("k8s.deployment.name", 200)]
    {
        labels.push((name, format!("{name}-{}", node % values)));
    }
    for (name, values) in
        [("os.type", 1), ("process.runtime.name", 4), ("telemetry.sdk.name", 1), ("telemetry.sdk.version", 6)]
    {
        labels.push((name, format!("{name}-{}", service % values)));
    }
    intern(store, &labels)
}

/// The metrics of a pod: those of its service.
fn metrics_of(pod: u32) -> impl Iterator<Item = u32> {
    let service = scatter(pod) % SERVICES;
    (0..12).map(move |n| scatter(service * 12 + n) % METRICS).collect::<std::collections::BTreeSet<u32>>().into_iter()
}

/// The points of a metric, the same in every pod that has it.
fn point_labels(store: &mut KeysetStore, metric: u32) -> Vec<Vec<LabelId>> {
    let own_keys = 3 + metric % 9;
    (0..6 + metric % 20)
        .map(|point| {
            let mut labels = vec![
                ("__name__", format!("app.subsystem{}.metric_{metric:03}", metric % 11)),
                ("otel_scope_name", format!("io.opentelemetry.library-{}", metric % 13)),
            ];
            let names: Vec<String> =
                (0..own_keys).map(|key| format!("attribute.{}", (metric % 60) * 3 + key)).collect();
            // The first attribute tells the points apart; the others follow from it.
            for (key, name) in (0..).zip(&names) {
                labels.push((name, format!("value-{}", point / (key * key + 1))));
            }
            intern(store, &labels)
        })
        .collect()
}
