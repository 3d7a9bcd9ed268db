//! A sealed store is a valid block with exactly the store's series, under the returned refs.

use std::collections::BTreeMap;

use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::metadata::{MetricMetadata, MetricType};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::{BlockMeta, BuildError, ColumnWriter, SeriesValues};
use chronoxide_labels::Layout;
use chronoxide_labels::{KeysetStore, LabelSetStore, LabelSets, Plans, SealError, StoreRef};
use chronoxide_testkit::random::Random;

const LAYOUTS: [Layout; 3] = Layout::ALL;

fn labels_of(store: &KeysetStore, series: StoreRef) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    store.visit(series, |name, value| labels.push((name.to_owned(), value.to_owned()))).unwrap();
    labels
}

fn assert_block_equals_store(store: &KeysetStore, layout: Layout, seed: u64) {
    let sealed = store.seal(layout, &BlockMeta::default()).unwrap();
    let block = BlockView::open(&sealed.block).unwrap();
    block.verify().unwrap_or_else(|error| panic!("seed {seed}, {layout:?}: {error}"));
    assert_eq!(block.series_count().unwrap() as usize, store.len(), "seed {seed}, {layout:?}");
    for (number, &series) in (0..).zip(&sealed.refs) {
        let labels = labels_of(store, StoreRef(number));
        let mut resolved = Vec::new();
        for label in block.series(series).unwrap().expect("the ref is in the block").labels() {
            let label = label.unwrap();
            resolved.push((
                String::from_utf8(label.name.to_vec()).unwrap(),
                String::from_utf8(label.value.to_vec()).unwrap(),
            ));
        }
        assert_eq!(resolved, labels, "seed {seed}, {layout:?}, series {number}");
        assert_eq!(block.find(labels), Ok(Some(series)), "seed {seed}, {layout:?}, series {number}");
    }
}

#[test]
fn blocks_have_the_series_of_the_store() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut store = KeysetStore::new();
        for _ in 0..random.below(800) {
            let labels = random.labels(1 + seed as usize);
            let labels: Vec<(&str, &str)> =
                labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            store.insert(&labels).unwrap();
        }
        LAYOUTS.iter().for_each(|&layout| assert_block_equals_store(&store, layout, seed));
    }
}

#[test]
fn the_largest_labelset_fits() {
    let long = "x".repeat(65_535);
    let names: Vec<String> = (0..511).map(|number| format!("{number:03}")).collect();
    let mut labels: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    labels.push((&long, "v"));
    let mut store = KeysetStore::new();
    store.insert(&labels).unwrap();
    LAYOUTS.iter().for_each(|&layout| assert_block_equals_store(&store, layout, 0));
}

#[test]
fn the_bytes_do_not_depend_on_the_order_of_arrival_or_on_what_is_unused() {
    let mut random = Random::new(5);
    let labelsets: Vec<_> = (0..300).map(|_| random.labels(5)).collect();
    let fill = |store: &mut KeysetStore, labels: &Vec<(String, String)>| {
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        store.insert(&labels).unwrap();
    };
    let (mut forwards, mut backwards) = (KeysetStore::new(), KeysetStore::new());
    labelsets.iter().for_each(|labels| fill(&mut forwards, labels));
    backwards.intern_label("never used", "never used").unwrap();
    labelsets.iter().rev().for_each(|labels| fill(&mut backwards, labels));
    for layout in LAYOUTS {
        let meta = BlockMeta { time: Some(TimeRange { start: 5, end: 9 }), ..BlockMeta::default() };
        let [first, second] = [&forwards, &backwards].map(|store| store.seal(layout, &meta).unwrap().block);
        assert!(first == second, "{layout:?}: the bytes differ");
    }
}

#[test]
fn an_empty_store_is_an_empty_block() {
    for layout in LAYOUTS {
        let sealed = KeysetStore::new().seal(layout, &BlockMeta::default()).unwrap();
        assert_eq!(sealed.refs, []);
        let block = BlockView::open(&sealed.block).unwrap();
        assert_eq!((block.verify().map(drop), block.series_count()), (Ok(()), Ok(0)));
    }
}

#[test]
fn a_block_must_keep_the_policy_that_it_records() {
    let mut store = KeysetStore::new();
    store.insert(&[("a name of 21 bytes...", "a value of 22 bytes...")]).unwrap();
    let seal = |name: u32, value: u32| {
        let policy = LabelPolicy::new(name, value).unwrap();
        store.seal(Layout::BitPacked, &BlockMeta { policy, ..BlockMeta::default() }).map(drop)
    };
    assert_eq!(seal(21, 22), Ok(()));
    assert_eq!(seal(20, 22), Err(SealError::NameBreaksPolicy { len: 21, limit: 20 }));
    assert_eq!(seal(21, 21), Err(SealError::ValueBreaksPolicy { len: 22, limit: 21 }));
}

#[test]
fn metric_metadata_are_sealed_with_series_iter_and_with_some() {
    let mut store = KeysetStore::new();
    store.insert(&[("__name__", "up"), ("job", "api")]).unwrap();
    store.insert(&[("__name__", "up"), ("job", "db")]).unwrap();
    let up = MetricMetadata { name: "up", metric_type: MetricType::Gauge, ..MetricMetadata::default() };
    let described = MetricMetadata { description: "Whether it is up.", ..up };
    let meta = BlockMeta { metrics: [described, up].into_iter().collect(), ..BlockMeta::default() };
    let selected: bitvec::vec::BitVec = [false, true].into_iter().collect();
    for layout in LAYOUTS {
        for block in [
            store.seal(layout, &meta).unwrap().block,
            store.prepare(&selected, layout, &meta, &mut Plans::new(0)).unwrap().seal(&[]).unwrap(),
        ] {
            let view = BlockView::open(&block).unwrap();
            view.verify().unwrap();
            let rows: Vec<MetricMetadata<'_>> = view.metric_metadata().unwrap().iter().map(Result::unwrap).collect();
            assert_eq!(rows, [up, described], "{layout:?}");
        }
    }
}

#[test]
fn meta_data_out_of_order_are_refused() {
    let pairs = ["b", "a"].map(|key| (key.to_owned(), String::new())).to_vec();
    let meta = BlockMeta { annotations: pairs, ..BlockMeta::default() };
    let error = KeysetStore::new().seal(Layout::BitPacked, &meta).unwrap_err();
    assert_eq!(error, SealError::Build(BuildError::MetaOrder { what: "annotations" }));
}

#[test]
fn a_selection_is_the_block_of_a_store_that_has_only_these() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (mut store, mut only) = (KeysetStore::new(), KeysetStore::new());
        let mut selected = bitvec::vec::BitVec::new();
        for _ in 0..random.below(600) {
            let labels = random.labels(1 + seed as usize % 7);
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
            let (_, is_new) = store.insert(&labels).unwrap();
            if is_new {
                selected.push(random.below(3) == 0);
                if selected[store.len() - 1] {
                    only.insert(&labels).unwrap();
                }
            }
        }
        // Bits may end before the series do.
        selected.truncate(selected.last_one().map_or(0, |last| last + 1));
        for layout in LAYOUTS {
            let block =
                store.prepare(&selected, layout, &BlockMeta::default(), &mut Plans::new(0)).unwrap().seal(&[]).unwrap();
            assert_eq!(block, only.seal(layout, &BlockMeta::default()).unwrap().block, "seed {seed}, {layout:?}");
        }
    }
}

#[test]
fn rows_whose_first_bits_are_equal_are_in_order() {
    // Five random values of 14 bits: the fifth is cut off in the 64 bits by which rows are compared first.
    let (mut random, mut store) = (Random::new(7), KeysetStore::new());
    for _ in 0..20_000 {
        let values: Vec<String> = (0..5).map(|_| format!("{:05}", random.below(1 << 14))).collect();
        let labels: Vec<(&str, &str)> =
            ["a", "b", "c", "d", "e"].into_iter().zip(values.iter().map(String::as_str)).collect();
        store.insert(&labels).unwrap();
        // Rows that differ in the cut value only.
        let other = format!("{:05}", random.below(1 << 14));
        store.insert(&[&labels[..4], &[("e", &other)]].concat()).unwrap();
    }
    for layout in [Layout::FixedWidth, Layout::BitPacked] {
        let sealed = store.seal(layout, &BlockMeta::default()).unwrap();
        let view = BlockView::open(&sealed.block).unwrap();
        view.verify().unwrap();
        let rows: Vec<Vec<Vec<u8>>> = (0..view.series_count().unwrap())
            .map(|number| {
                let labels = view.series(number.into()).unwrap().unwrap().labels();
                labels.map(|label| label.unwrap().value.to_vec()).collect()
            })
            .collect();
        assert!(rows.is_sorted(), "{layout:?}");
    }
}

#[test]
fn blocks_that_follow_each_other_have_all_series_whatever_they_adopt() {
    for seed in 0..12 {
        let (mut random, mut plans) = (Random::new(seed), Plans::new(1 << 20));
        for number in 0..5 {
            // Pods that all have the same points; and series of their own in each store.
            let mut store = KeysetStore::new();
            for pod in 0..40 + number * 3 {
                let (pod, node) = (format!("pod-{number}-{pod}"), format!("node-{}", pod / 7));
                for point in 0..12 {
                    let value = format!("{}", point % (1 + seed));
                    store
                        .insert(&[("host", &node), ("le", &value), ("name", &point.to_string()), ("pod", &pod)])
                        .unwrap();
                }
            }
            for _ in 0..random.below(40) {
                let labels = random.labels(1 + seed as usize % 7);
                let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
                store.insert(&labels).unwrap();
            }
            let all = bitvec::vec::BitVec::repeat(true, store.len());
            let seal = |plans: &mut Plans| {
                store.prepare(&all, Layout::Factored, &BlockMeta::default(), plans).unwrap().seal(&[]).unwrap()
            };
            let (block, alone) = (seal(&mut plans), seal(&mut Plans::new(0)));
            let view = BlockView::open(&block).unwrap();
            assert_eq!(view.verify().unwrap().series_count as usize, store.len(), "seed {seed}, {number}");
            for series in 0..store.len() as u32 {
                let labels = labels_of(&store, StoreRef(series));
                assert!(view.find(labels.clone()).unwrap().is_some(), "seed {seed}, {number}: {labels:?}");
            }
            // 1% is allowed, and some bytes that sizes of small blocks are rounded to.
            assert!(block.len() * 100 <= alone.len() * 105, "seed {seed}, {number}: {} {}", block.len(), alone.len());
        }
    }
}

#[test]
fn columns_have_the_values_of_the_selected_series() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut store = KeysetStore::new();
        let mut selected = bitvec::vec::BitVec::new();
        let column = ColumnWriter::new("number", ValueType::U64, ColumnMerge::Max).unwrap();
        let mut column = SeriesValues::new(column);
        let mut model = BTreeMap::new();
        for _ in 0..random.below(600) {
            let labels = random.labels(1 + seed as usize % 7);
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
            let (series, is_new) = store.insert(&labels).unwrap();
            if is_new {
                let value = (random.below(4) > 0).then(|| random.below(1_000) as u64);
                if let Some(value) = value {
                    column.set(series.0, Value::U64(value)).unwrap();
                }
                selected.push(random.below(3) > 0);
                if selected[series.index()] {
                    model.insert(labels_of(&store, series), value);
                }
            }
        }
        for layout in LAYOUTS {
            let columns = std::slice::from_ref(&column);
            let bytes = store
                .prepare(&selected, layout, &BlockMeta::default(), &mut Plans::new(0))
                .unwrap()
                .seal(columns)
                .unwrap();
            let block = BlockView::open(&bytes).unwrap();
            block.verify().unwrap();
            assert_eq!(block.series_count().unwrap() as usize, model.len(), "seed {seed}, {layout:?}");
            let found = block.series_column("number").unwrap().expect("the block has it");
            for (labels, value) in &model {
                let series = block.find(labels.clone()).unwrap().expect("it was selected");
                assert_eq!(found.get(series).unwrap(), value.map(Value::U64), "seed {seed}, {layout:?}");
            }
        }
    }
}
