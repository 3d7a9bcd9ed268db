//! Benchmarks labelset stores.
//!
//! | group | work |
//! | --- | --- |
//! | `intern unique` | insert 50,000 series of 5 labels of one keyset into an empty store |
//! | `visit 50k` | visit these series in order, and read every byte of each label |
//! | `workload/in order` | visit 100,000 series of the generated workload, of some 1,700 keysets |
//! | `workload/at random` | the same in random order |

use std::hint::black_box;

use chronoxide_labels::{LabelSetStore, LabelSets, StoreRef};
use chronoxide_stores::{
    ExactBits, FlatInternedLabelSetStore, KeySetDictEncodedLabelSetStore, NaiveLabelSetStore, RowWidth,
    SealedLabelSets, WholeBytes,
};
use chronoxide_testkit::articles;
use chronoxide_testkit::flat::touch;
use chronoxide_testkit::random::Random;
use chronoxide_workload::{Options, Workload, visit_labelsets};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const ARTICLE_SERIES: usize = 50_000;
const WORKLOAD_SERIES: u64 = 100_000;

type Labelset = Vec<(String, String)>;

fn borrowed(labels: &Labelset) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn fill<S: LabelSetStore>(store: &mut S, series: &[Vec<(&str, &str)>]) -> usize {
    for labels in series {
        store.insert(labels).expect("the labels are valid");
    }
    store.len()
}

fn filled<S: LabelSetStore + Default>(series: &[Vec<(&str, &str)>]) -> S {
    let mut store = S::default();
    assert_eq!(fill(&mut store, series), series.len());
    store
}

fn sealed<W: RowWidth>(store: &KeySetDictEncodedLabelSetStore) -> SealedLabelSets<W> {
    SealedLabelSets::from_store(store).expect("the store fits into a block").0
}

fn workload() -> Vec<Labelset> {
    let options = Options { series: WORKLOAD_SERIES, ..Options::default() };
    let mut series = Vec::new();
    for request in Workload::new(options).expect("a workload").requests() {
        visit_labelsets(&request, |labels| {
            series.push(labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect());
        });
    }
    series
}

/// Visits series and reads every byte of their labels.
fn touch_all(store: &impl LabelSets, order: &[StoreRef]) -> u64 {
    let mut sum = 0_u64;
    for &series in order {
        let each = |name: &str, value: &str| {
            sum = sum.wrapping_add(touch(name.as_bytes())).wrapping_add(touch(value.as_bytes()));
        };
        store.visit(series, each).expect("a known series");
    }
    sum
}

fn insert<S: LabelSetStore + Default>(name: &str, series: &[Vec<(&str, &str)>], criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("intern unique");
    group.throughput(Throughput::Elements(series.len() as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_batched_ref(S::default, |store| fill(store, series), BatchSize::PerIteration);
    });
    group.finish();
}

/// Visits all series, in each of the orders.
fn visit(name: &str, store: &impl LabelSets, orders: &[(&str, &[StoreRef])], sum: u64, criterion: &mut Criterion) {
    for (group, order) in orders {
        assert_eq!(touch_all(store, order), sum, "{name} has other labels");
        let mut group = criterion.benchmark_group(*group);
        group.throughput(Throughput::Elements(order.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(touch_all(store, order))));
        group.finish();
    }
}

fn stores(owned: &[Labelset], orders: &[(&str, &[StoreRef])], criterion: &mut Criterion) {
    let series: Vec<Vec<(&str, &str)>> = owned.iter().map(borrowed).collect();
    let naive: NaiveLabelSetStore = filled(&series);
    let sum = touch_all(&naive, orders[0].1);
    visit("naive", &naive, orders, sum, criterion);
    drop(naive);
    let flat: FlatInternedLabelSetStore = filled(&series);
    visit("flat", &flat, orders, sum, criterion);
    drop(flat);
    let keyset: KeySetDictEncodedLabelSetStore = filled(&series);
    visit("keyset", &keyset, orders, sum, criterion);
    visit("fixed width", &sealed::<WholeBytes>(&keyset), orders, sum, criterion);
    visit("bit-packed", &sealed::<ExactBits>(&keyset), orders, sum, criterion);
}

fn benches(criterion: &mut Criterion) {
    let owned = articles::series(ARTICLE_SERIES);
    let series: Vec<Vec<(&str, &str)>> = owned.iter().map(borrowed).collect();
    insert::<NaiveLabelSetStore>("naive", &series, criterion);
    insert::<FlatInternedLabelSetStore>("flat", &series, criterion);
    insert::<KeySetDictEncodedLabelSetStore>("keyset", &series, criterion);
    let order: Vec<StoreRef> = (0..ARTICLE_SERIES as u32).map(StoreRef).collect();
    stores(&owned, &[("visit 50k", &order)], criterion);

    let owned = workload();
    let order: Vec<StoreRef> = (0..owned.len() as u32).map(StoreRef).collect();
    let mut shuffled = order.clone();
    Random::new(1).shuffle(&mut shuffled);
    stores(&owned, &[("workload/in order", &order), ("workload/at random", &shuffled)], criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
