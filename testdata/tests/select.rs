//! Selection agrees with a plain filter over labelsets, on blocks of every kind.

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_testdata::fuzzing::sound::series_in_order;
use chronoxide_testdata::golden::goldens;
use chronoxide_testdata::plan::{Plan, build};
use chronoxide_testdata::random::{Random, random_plan, random_series};
use chronoxide_testdata::selecting::{check_answers, random_matchers};
use rayon::prelude::*;

/// Random blocks, and selectors of each.
const BLOCKS: u64 = 400;
const SELECTORS: usize = 12;

#[test]
fn random_selectors_agree_with_the_filter_on_random_plans() {
    (0..BLOCKS).into_par_iter().for_each(|seed| {
        let mut random = Random::new(seed);
        let series = random_series(1 + random.below(300), &mut random);
        let plan = if seed % 4 == 0 { Plan::default() } else { random_plan(&series, &mut random) };
        let form = if seed % 3 == 0 { RowForm::FixedWidth } else { RowForm::BitPacked };
        let block = build(&series, &plan, form, &BlockMeta::default()).expect("the plan is valid");
        let view = BlockView::open(&block).expect("sound");
        let series = series_in_order(&view);
        for _ in 0..SELECTORS {
            let matchers = random_matchers(&series, &mut random);
            let result = std::panic::catch_unwind(|| check_answers(&view, &series, &matchers));
            assert!(result.is_ok(), "seed {seed}");
        }
    });
}

#[test]
fn random_selectors_agree_with_the_filter_on_goldens() {
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).expect("sound");
        let series = series_in_order(&view);
        let mut random = Random::new(7);
        let selectors = if series.len() > 5_000 { 2 } else { 40 };
        for _ in 0..selectors {
            let matchers = random_matchers(&series, &mut random);
            let result = std::panic::catch_unwind(|| check_answers(&view, &series, &matchers));
            assert!(result.is_ok(), "{}", golden.name);
        }
    }
}
