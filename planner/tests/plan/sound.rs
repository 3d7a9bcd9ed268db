//! Blocks of any plan are valid, have the content, and are not larger than without a plan.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::view::BlockView;
use chronoxide_planner::{Origin, plan};
use chronoxide_workload::{Options, Set, Workload, visit_labelsets};
use proptest::prelude::*;

use crate::content::{Labelset, Model, labelset, labelsets, plain_block, sizes, write};

/// Maximum cost of planning, per block and per keyset.
const SLACK: u64 = 64;

fn assert_sound(model: &Model) {
    let (chosen, factored) = plan(&model.content);
    assert_eq!(chosen.keysets.len(), model.content.keysets.len());
    let (block, refs) = write(model, &factored);
    let view = BlockView::open(&block).unwrap();
    let facts = view.verify().unwrap();
    assert_eq!(facts.series_count as usize, model.series.len());

    let numbers: BTreeSet<usize> = refs.iter().map(|series| series.0 as usize).collect();
    assert!(refs.len() == model.series.len() && numbers.into_iter().eq(0..refs.len()), "refs are a permutation");
    for (&series, expected) in refs.iter().zip(&model.series) {
        let labels = view.series(series).unwrap().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let labels = labels.labels().map(Result::unwrap);
        let found: Labelset = labels.map(|label| (text(label.name), text(label.value))).collect();
        assert_eq!(&found, expected, "series {}", series.0);
    }

    let plain = plain_block(model);
    assert!(block.len() as u64 <= plain.len() as u64 + SLACK, "{} bytes, and {} without", block.len(), plain.len());
    let (own, plain) = (sizes(&block), sizes(&plain));
    for (number, (own, plain)) in own.keysets.iter().zip(&plain.keysets).enumerate() {
        assert!(*own <= plain + SLACK, "keyset {number} has {own} bytes of its own, and {plain} without a plan");
    }
}

/// One of the origins for each key, by a number.
fn origin(numbers: &[u8], name: &str) -> Origin {
    let key: usize = name.trim_start_matches("key ").parse().unwrap();
    [Origin::Unknown, Origin::Resource, Origin::Point][usize::from(numbers[key])]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn blocks_hold_the_content_and_are_no_larger_than_without_a_plan(series in labelsets()) {
        assert_sound(&Model::from_labelsets(&series));
    }

    #[test]
    fn origins_of_keys_leave_blocks_sound(series in labelsets(), numbers in prop::collection::vec(0_u8..3, 14)) {
        assert_sound(&Model::from_labelsets(&series).with_origins(|name| origin(&numbers, name)));
    }

    #[test]
    fn the_same_content_is_planned_in_the_same_way(series in labelsets(), numbers in prop::collection::vec(0_u8..3, 14)) {
        let model = Model::from_labelsets(&series).with_origins(|name| origin(&numbers, name));
        let again = Model::from_labelsets(&series.iter().rev().cloned().collect()).with_origins(|name| origin(&numbers, name));
        let (first, second) = (plan(&model.content), plan(&again.content));
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(write(&model, &first.1), write(&again, &second.1));
    }
}

#[test]
fn no_content_is_a_block_without_series() {
    assert_sound(&Model::from_labelsets(&BTreeSet::new()));
}

#[test]
fn one_label_is_a_block_of_one_series() {
    assert_sound(&Model::from_labelsets(&BTreeSet::from([labelset(&[("job", "api")])])));
}

#[test]
fn keysets_of_one_key_need_no_tables() {
    let series = (0..300).map(|number| labelset(&[(["a", "b", "c"][number % 3], &number.to_string())]));
    let model = Model::from_labelsets(&series.collect());
    assert_sound(&model);
    assert_eq!(plan(&model.content).1.tables, []);
}

/// The labelsets of a workload.
fn workload(set: Set, series: u64) -> BTreeSet<Labelset> {
    let workload = Workload::new(Options { set, series, ..Options::default() }).unwrap();
    let mut labelsets = BTreeSet::new();
    for request in workload.requests() {
        visit_labelsets(&request, |labels| {
            let owned = labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into_owned()));
            labelsets.insert(owned.collect());
        });
    }
    labelsets
}

#[test]
fn hard_workloads_are_no_larger_than_without_a_plan() {
    let sizes = BTreeMap::from([("wide", 1_000), ("tiny-keysets", 20_000)]);
    for set in Set::ALL {
        let series = workload(set, sizes.get(set.name()).copied().unwrap_or(10_000));
        assert!(series.len() >= 1_000, "{}", set.name());
        println!("{}: {} series", set.name(), series.len());
        assert_sound(&Model::from_labelsets(&series));
    }
}
