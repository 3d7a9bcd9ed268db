//! Every public function of a view, with the numbers at which arithmetic goes wrong: a value or an error, and no panic.

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::BlockView;
use chronoxide_format::{Error, KeyId, PoolId, Rule, TableId};
use chronoxide_testkit::fuzzing::{CALLS, call_block, call_remap};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::parallel::map;
use chronoxide_testkit::remap::golden::golden_remaps;

/// Numbers around the ends of types, and around some counts of a block.
fn numbers(view: &BlockView<'_>) -> Vec<u32> {
    let counts = [view.key_count(), view.table_count(), view.keyset_count(), view.series_count().unwrap_or(0)];
    let near = counts.into_iter().flat_map(|count| [count.saturating_sub(1), count]);
    let mut numbers = vec![0, 1, 31, 32, 33, 63, 64, 65, 1 << 16, i32::MAX as u32, 1 << 31, u32::MAX - 1, u32::MAX];
    numbers.extend(near);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn extreme_numbers_give_values_or_errors() {
    let cases = map(&goldens(), |golden| {
        let view = BlockView::open(&golden.bytes).unwrap();
        let numbers = numbers(&view);
        let mut cases = 0;
        for call in 0..CALLS {
            for &first in &numbers {
                for &second in &numbers {
                    for &third in &numbers {
                        call_block(&view, call, [first, second, third, third.wrapping_add(first)]);
                        cases += 1;
                    }
                }
            }
        }
        cases
    });
    let cases: usize = cases.into_iter().sum();
    for remap in golden_remaps() {
        [0, 1, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX]
            .into_iter()
            .for_each(|number| call_remap(&remap.bytes, number));
    }
    println!("{cases} calls");
    assert!(cases >= 500_000, "only {cases} calls");
}

#[test]
fn numbers_out_of_range_are_none_or_errors() {
    let refused = |rule| move |error: Error| assert_eq!(error.rule(), rule);
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).unwrap();
        assert!(view.keyset(u32::MAX).unwrap().is_none(), "{}", golden.name);
        assert!(view.keyset(view.keyset_count()).unwrap().is_none(), "{}", golden.name);
        assert!(view.table(TableId(view.table_count())).unwrap().is_none(), "{}", golden.name);
        assert!(view.pool(PoolId(view.pool_count())).unwrap().is_none(), "{}", golden.name);
        for key in [view.key_count(), 9_999, u32::MAX].map(KeyId) {
            view.key_name(key).map_err(refused(Rule::KeysOrder)).expect_err(golden.name);
            view.key_symbol(key).map_err(refused(Rule::KeysOrder)).expect_err(golden.name);
            assert_eq!(view.cardinality(key), Ok(None), "{}", golden.name);
            assert!(matches!(view.dictionary(key), Ok(None)), "{}", golden.name);
            assert!(matches!(view.label_values(key), Ok(None)), "{}", golden.name);
            assert_eq!(view.value_code(key, ""), Ok(None), "{}", golden.name);
        }
        for keyset in view.keysets().map(Result::unwrap) {
            keyset.anchor(keyset.anchor_count()).map_err(refused(Rule::Anchors)).expect_err(golden.name);
            keyset.anchor(u32::MAX).map_err(refused(Rule::Anchors)).expect_err(golden.name);
        }
        assert!(view.sections().any(|section| section.known() == Some(SectionKind::Arena)));
    }
}
