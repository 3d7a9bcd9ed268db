//! Selection agrees with a plain filter over labelsets, on blocks of every kind.

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Domain};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{Error, KeyId, Rule, SymbolId, TableId};
use chronoxide_select::{Index, Limits, Searcher, SelectError};
use chronoxide_testdata::editor::BlockEditor;
use chronoxide_testdata::fuzzing::select;
use chronoxide_testdata::fuzzing::sound::series_in_order;
use chronoxide_testdata::golden::goldens;
use chronoxide_testdata::plan::{Plan, build};
use chronoxide_testdata::product::product;
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

/// Executions of the fuzz target with random programs; `CHRONOXIDE_SELECT_EXECUTIONS` asks for more.
const EXECUTIONS: u64 = 2_000;

#[test]
fn random_programs_break_no_promise_of_the_fuzz_target() {
    let asked = std::env::var("CHRONOXIDE_SELECT_EXECUTIONS").ok().and_then(|count| count.parse().ok());
    (0..asked.unwrap_or(EXECUTIONS)).into_par_iter().for_each(|seed| {
        let mut random = Random::new(seed);
        let program: Vec<u8> = (0..8 + random.below(60)).map(|_| random.below(256) as u8).collect();
        let result = std::panic::catch_unwind(|| select(&program));
        assert!(result.is_ok(), "seed {seed}");
    });
}

#[test]
fn billions_of_series_are_counted_and_selected_in_little_memory() {
    let block = product(30_000, "a").expect("within limits");
    let view = BlockView::open(&block).expect("sound");
    let count = u64::from(view.series_count().expect("sound"));
    assert!(count > 100_000_000, "{count}");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    assert_eq!(searcher.count(&[]), Ok(count));
    let selection = searcher.select(&[]).expect("ranges");
    assert_eq!((u64::from(selection.count()), selection.ranges().len()), (count, 1));
    let limits = Limits::default().with_max_series(count - 1);
    assert_eq!(searcher.with_limits(limits).select(&[]), Err(SelectError::TooManySeries { limit: count - 1 }));
}

/// Builds a block whose catalogue names one pool of `lists` lists `pools` times.
fn one_pool_many_times(lists: u32, pools: usize) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let values: Vec<SymbolId> =
        (0..lists).map(|n| builder.push_symbol(&format!("{n:06}")).expect("in order")).collect();
    let names = ["a", "b"].map(|name| builder.push_symbol(name).expect("in order"));
    for name in names {
        builder.push_key(name, &values).expect("values are sorted");
    }
    let members: Vec<[u32; 1]> = (0..lists).map(|member| [member]).collect();
    let members: Vec<&[u32]> = members.iter().map(|list| &list[..]).collect();
    let pool = builder.push_pool(TableId(1), &members).expect("the lists differ");
    let rows: Vec<u32> = (0..lists).flat_map(|row| [row, row]).collect();
    builder.push_keyset_table(&[Domain::Table(TableId(0)), Domain::Pool(pool)], &rows).expect("rows are sorted");
    let mut editor = BlockEditor::open(&builder.finish(&BlockMeta::default()).expect("within limits"));
    let pool = editor.records.pools[0];
    editor.records.pools.resize(pools, pool);
    editor.repack();
    editor.close()
}

#[test]
fn pools_that_share_their_bytes_are_damage() {
    // Queries take memory per list of each pool that they meet.
    let sound = one_pool_many_times(1000, 1);
    assert!(Index::new(&BlockView::open(&sound).expect("sound")).is_ok());
    let forged = one_pool_many_times(1000, 2000);
    assert!(forged.len() < 100_000, "{}", forged.len());
    let error = Index::new(&BlockView::open(&forged).expect("opening reads no pools")).expect_err("2 million lists");
    let SelectError::Block(Error::Corrupt(corruption)) = error else { panic!("{error:?}") };
    assert_eq!(corruption.rule, Rule::MembersExtent);
}

#[test]
fn keys_that_share_a_long_name_are_damage() {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let name = builder.push_symbol(&"n".repeat(2_000)).expect("in order");
    let value = builder.push_symbol("value").expect("in order");
    builder.push_key(name, &[value]).expect("values are sorted");
    builder.push_keyset(&[KeyId(0)], &[0]).expect("one series");
    let mut editor = BlockEditor::open(&builder.finish(&BlockMeta::default()).expect("within limits"));
    let key = editor.records.keys[0];
    editor.records.keys.resize(1_000, key);
    editor.repack();
    let forged = editor.close();
    let error = Index::new(&BlockView::open(&forged).expect("opening reads no keys")).expect_err("a forged block");
    let SelectError::Block(Error::Corrupt(corruption)) = error else { panic!("{error:?}") };
    assert_eq!(corruption.rule, Rule::KeysOrder);
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
