//! Prints the memory of each labelset store for the same series of 5 labels, as a Markdown table.
//!
//! ```sh
//! cargo run --release -p chronoxide-stores --example labelset_memory -- 100000
//! ```

mod support;

use chronoxide_labels::{LabelSetStore, LabelSets};
use chronoxide_stores::{
    Allocations, BitPackedKeySetLabelSetStore, FixedWidthPackedKeySetLabelSetStore, FlatInternedLabelSetStore,
    KeySetDictEncodedLabelSetStore, NaiveLabelSetStore, SealedLabelSets, TrackingAllocator, hash_collisions,
};
use chronoxide_testkit::articles;
use support::{numbers, print_head, print_row};

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

type Labels<'a> = Vec<(&'a str, &'a str)>;

fn main() {
    let [count] = numbers("usage: labelset_memory [SERIES]", [100_000]);
    let owned = articles::series(count);
    let series: Vec<Labels<'_>> = owned
        .iter()
        .map(|labels| labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
        .collect();
    let bytes: usize = series.iter().flatten().map(|(name, value)| name.len() + value.len()).sum();
    println!("{count} series of 5 labels, {bytes} bytes of names and values\n");
    print_head("store", &["used per series", "collisions"]);
    // The first hasher of a process allocates its seed.
    NaiveLabelSetStore::new().insert(&[("a", "b")]).expect("the labels are valid");
    let (naive, allocations) = fill(NaiveLabelSetStore::new, &series);
    row("naive", &naive, allocations, hash_collisions(naive.hashes()).to_string());
    drop(naive);
    let (flat, allocations) = fill(FlatInternedLabelSetStore::new, &series);
    row("flat", &flat, allocations, hash_collisions(flat.hashes()).to_string());
    drop(flat);
    let (keyset, allocations) = fill(KeySetDictEncodedLabelSetStore::new, &series);
    let collisions: usize = keyset.hashes().map(hash_collisions).sum();
    row("keyset", &keyset, allocations, collisions.to_string());
    // The calls are those of sealing; a sealed store has no hash table.
    let seal = || SealedLabelSets::from_store(&keyset).expect("the store fits into a block").0;
    let (fixed, allocations): (FixedWidthPackedKeySetLabelSetStore, _) = TrackingAllocator::measure(seal);
    row("fixed width", &fixed, allocations, "-".to_owned());
    let seal = || SealedLabelSets::from_store(&keyset).expect("the store fits into a block").0;
    let (packed, allocations): (BitPackedKeySetLabelSetStore, _) = TrackingAllocator::measure(seal);
    row("bit-packed", &packed, allocations, "-".to_owned());
}

fn fill<S: LabelSetStore>(make: fn() -> S, series: &[Labels<'_>]) -> (S, Allocations) {
    let (store, allocations) = TrackingAllocator::measure(|| {
        let mut store = make();
        for labels in series {
            store.insert(labels).expect("the labels are valid");
        }
        store
    });
    assert_eq!(store.len(), series.len());
    (store, allocations)
}

fn row(name: &str, store: &impl LabelSets, allocations: Allocations, collisions: String) {
    let (estimated, used) = (store.estimated_bytes(), store.used_bytes());
    let per_series = format!("{:.1}", used as f64 / store.len().max(1) as f64);
    print_row(name, allocations, (estimated, used), &[per_series, collisions]);
}
