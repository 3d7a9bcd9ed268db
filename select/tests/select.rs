//! Selection agrees with a plain filter over labelsets, on blocks of every kind.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, Domain, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{KeyId, PoolId, SeriesRef, SymbolId, TableId};
use chronoxide_select::{Index, Labels, Limits, Searcher, SelectError, Selection, Selector};
use chronoxide_select_model::select;
use chronoxide_select_model::{check_answers, check_answers_within, random_matchers};
use chronoxide_testkit::columns::column;
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, build, key, labelsets};
use chronoxide_testkit::product::product;
use chronoxide_testkit::random::{Random, random_plan, random_series};
use chronoxide_testkit::sweep;
use rayon::prelude::*;

/// Seeds of random blocks.
fn seeds() -> Range<u64> {
    0..sweep::cases(120, 400)
}

/// Selectors of each block.
const SELECTORS: usize = 12;

/// Returns the generator after it made series and their block, with any plan and form of rows.
fn random_block(seed: u64) -> (Random, BTreeSet<Labelset>, Vec<u8>) {
    random_block_with(seed, &BlockMeta::default())
}

/// Like [`random_block`], with these contents beside the labels.
fn random_block_with(seed: u64, meta: &BlockMeta) -> (Random, BTreeSet<Labelset>, Vec<u8>) {
    let mut random = Random::new(seed);
    let series = random_series(1 + random.below(300), &mut random);
    let plan = if seed.is_multiple_of(4) { Plan::default() } else { random_plan(&series, &mut random) };
    let form = if seed.is_multiple_of(3) { RowForm::FixedWidth } else { RowForm::BitPacked };
    let block = build(&series, &plan, form, meta).expect("the plan is valid");
    (random, series, block)
}

#[test]
fn random_selectors_agree_with_the_filter_on_random_plans() {
    seeds().into_par_iter().for_each(|seed| {
        let (mut random, _, block) = random_block(seed);
        let view = BlockView::open(&block).expect("sound");
        let series = series_in_order(&view);
        for _ in 0..SELECTORS {
            let matchers = random_matchers(&series, &mut random);
            let result = std::panic::catch_unwind(|| check_answers(&view, &series, &matchers));
            assert!(result.is_ok(), "seed {seed}");
        }
    });
}

/// First and last time of a series in units, if they are known.
type Times = [Option<i64>; 2];

/// Times of series: most have those of all, some come later or end earlier, and of some no time is known.
fn random_times(count: usize, random: &mut Random) -> Vec<Times> {
    let churn = [0, 3, 30, 90][random.below(4)];
    let one = |_| {
        let [a, b] = [0; 2].map(|_| random.below(400) as i64 - 200);
        let times = if random.percent(churn) { [a.min(b), a.max(b)] } else { [-200, 200] };
        times.map(|time| (!random.percent(churn / 6)).then_some(time))
    };
    (0..count).map(one).collect()
}

#[test]
fn series_of_a_time_range_are_those_whose_times_meet_it() {
    seeds().into_par_iter().for_each(|seed| {
        let (mut random, _, block) = random_block(seed);
        let series = series_in_order(&BlockView::open(&block).expect("sound"));
        let mut times = random_times(series.len(), &mut random);
        let unit = [1, 60_000_000_000][random.below(2)];
        let mut columns = Vec::new();
        for (place, name) in ["chronoxide.first_time", "chronoxide.last_time"].into_iter().enumerate() {
            if random.percent(90) {
                let merge = [ColumnMerge::Min, ColumnMerge::Max][place];
                let value = |times: &Times| times[place].map(|time| Value::I64(time * unit));
                let values: Vec<_> = times.iter().map(value).collect();
                columns.push(column(name, (ValueType::I64, merge, unit as u64), &values));
            } else {
                times.iter_mut().for_each(|times| times[place] = None);
            }
        }
        // The range of the block, if it is known, holds all times that are known.
        let time = random.percent(70).then_some(TimeRange { start: -250 * unit, end: 250 * unit });
        let is_timed = !columns.is_empty();
        let (_, _, block) = random_block_with(seed, &BlockMeta { columns, time, ..BlockMeta::default() });
        let view = BlockView::open(&block).expect("sound");
        for _ in 0..SELECTORS {
            let matchers = if random.percent(20) { Vec::new() } else { random_matchers(&series, &mut random) };
            let [a, b] = [0; 2].map(|_| random.below(620) as i64 - 310);
            let range = TimeRange { start: a.min(b) * unit + random.below(2) as i64, end: a.max(b) * unit };
            let meets = |[first, last]: &Times| {
                first.is_none_or(|first| first * unit < range.end) && last.is_none_or(|last| last * unit >= range.start)
            };
            let has_all = time.is_some_and(|time| range.start <= time.start && time.end <= range.end);
            let is_in_time: Vec<bool> = times.iter().map(|times| has_all || !is_timed || meets(times)).collect();
            let check = || check_answers_within(&view, &series, &matchers, Some((range, &is_in_time)));
            assert!(std::panic::catch_unwind(check).is_ok(), "seed {seed}");
            let index = Index::new(&view).expect("sound");
            let searcher = Searcher::new(&view, &index);
            assert_eq!(searcher.is_untimed(), Ok(false));
            assert_eq!(searcher.within(range).is_untimed(), Ok(!is_timed && !has_all));
        }
    });
}

#[test]
fn counted_groups_are_those_of_a_set_of_labelsets() {
    seeds().into_par_iter().for_each(|seed| {
        let (mut random, series, block) = random_block(seed);
        let view = BlockView::open(&block).expect("sound");
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        let names: BTreeSet<&String> = series.iter().flat_map(Labelset::keys).collect();
        let products = searcher.series_products().expect("sound");
        for _ in 0..SELECTORS {
            let chosen: Vec<&str> = names.iter().filter(|_| random.below(3) == 0).map(|name| name.as_str()).collect();
            let distinct = |is_kept: &dyn Fn(&str) -> bool| {
                let kept = |labels: &Labelset| -> Labelset {
                    let labels = labels.iter().filter(|(name, _)| is_kept(name));
                    labels.map(|(name, value)| (name.clone(), value.clone())).collect()
                };
                series.iter().map(kept).collect::<BTreeSet<Labelset>>().len() as u64
            };
            let count = |labels| searcher.count_groups(labels).expect("sound");
            let is_one_empty = series.iter().any(|labels| labels.keys().all(|name| chosen.contains(&name.as_str())));
            let remaining = distinct(&|name| !chosen.contains(&name)) - u64::from(is_one_empty);
            assert_eq!(products.count_without(&searcher, &chosen), Ok(remaining), "seed {seed} without {chosen:?}");
            assert_eq!(count(Labels::Without(&chosen)), distinct(&|name| !chosen.contains(&name)), "seed {seed}");
            assert_eq!(count(Labels::By(&chosen)), distinct(&|name| chosen.contains(&name)), "seed {seed}");
        }
        assert_eq!(searcher.count_groups(Labels::All).expect("sound"), series.len() as u64);
    });
}

#[test]
fn bytes_of_labels_are_those_of_their_names_and_values() {
    seeds().into_par_iter().for_each(|seed| {
        let (_, series, block) = random_block(seed);
        let view = BlockView::open(&block).expect("sound");
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        for key in (0..view.key_count()).map(KeyId) {
            let name = std::str::from_utf8(view.key_name(key).expect("sound")).expect("text");
            let values: Vec<&[u8]> =
                view.label_values(key).expect("sound").expect("in range").map(|value| value.expect("sound")).collect();
            let mut expected = (vec![0; values.len()], 0);
            for labels in &series {
                let bytes: usize = labels.iter().map(|(name, value)| name.len() + value.len()).sum();
                match labels.get(name) {
                    Some(value) => {
                        let place = values.iter().position(|&known| known == value.as_bytes()).expect("a value");
                        expected.0[place] += bytes as u64;
                    }
                    None => expected.1 += bytes as u64,
                }
            }
            let found = searcher.text_bytes(key).expect("sound");
            assert_eq!((found.by_code().to_vec(), found.absent()), expected, "seed {seed}, {name}");
        }
    });
}

/// A part of a block that a series uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Used {
    KeysetRow(u32, u32),
    Row(u32, u32),
    List(u32, u32),
    Symbol(u32),
}

/// Lists what a row of an inner table or dictionary uses, and the code of a key, if the row has it.
fn walk(view: &BlockView<'_>, table: u32, row: u32, by: KeyId, used: &mut Vec<Used>, value: &mut Option<u32>) {
    used.push(Used::Row(table, row));
    let opened = view.table(TableId(table)).expect("sound").expect("in range");
    for column in opened.columns() {
        let column = column.expect("sound");
        let code = opened.code(row, &column).expect("sound");
        match column.domain {
            Domain::Table(below) => walk(view, below.0, code, by, used, value),
            _ => used.push(Used::Symbol(code)),
        }
    }
    if table == by.0 {
        *value = Some(row);
    }
}

/// Returns a block whose two keysets have lists of one pool.
fn block_with_a_shared_pool() -> Vec<u8> {
    let mut plan = Plan::default();
    let mut series = BTreeSet::new();
    for (name, count) in [("a", 4), ("b", 2)] {
        let keyset = KeysetPlan { columns: vec![key(name)], list: Some(key("pod")) };
        plan.keysets.insert(vec![name.to_owned(), "pod".to_owned()], keyset);
        let labels = |pod| [(name.to_owned(), "1".to_owned()), ("pod".to_owned(), format!("p{pod}"))].into();
        series.extend((0..count).map(labels));
    }
    build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).expect("valid")
}

/// The oracle walks from each series down to its strings.
#[test]
fn bytes_are_split_evenly_among_the_series_that_use_them() {
    let random = seeds().into_par_iter().filter(|seed| seed % 3 == 0).map(|seed| (seed, random_block(seed).2));
    random.chain([(u64::MAX, block_with_a_shared_pool())]).for_each(|(seed, block)| {
        let view = BlockView::open(&block).expect("sound");
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        let section =
            |kind| view.sections().find(|section| section.known() == Some(kind)).expect("there").length as f64;
        for by in (0..view.key_count()).map(KeyId) {
            let mut all = Vec::new();
            for keyset in view.keysets() {
                let keyset = keyset.expect("sound");
                let table = keyset.table();
                for place in 0..keyset.series_count() {
                    let (row, position) = keyset.locate(place).expect("sound");
                    let (mut used, mut value) = (vec![Used::KeysetRow(table.id().0, row)], None);
                    for column in table.columns() {
                        let column = column.expect("sound");
                        let code = table.code(row, &column).expect("sound");
                        match column.domain {
                            Domain::Table(below) => walk(&view, below.0, code, by, &mut used, &mut value),
                            Domain::Pool(pool) => {
                                let pool = view.pool(pool).expect("sound").expect("in range");
                                let member = pool.list(code).expect("sound").get(position).expect("sound");
                                used.push(Used::List(pool.id().0, code));
                                walk(&view, pool.table_id().0, member, by, &mut used, &mut value);
                            }
                            Domain::Arena => unreachable!("a keyset's column has no strings"),
                        }
                    }
                    all.push((value, used));
                }
            }
            let mut users: BTreeMap<Used, u32> = BTreeMap::new();
            all.iter().flat_map(|(_, used)| used).for_each(|&used| *users.entry(used).or_default() += 1);
            let bytes = |used: &Used| match *used {
                Used::KeysetRow(table, _) | Used::Row(table, _) => {
                    let table = view.table(TableId(table)).expect("sound").expect("in range");
                    table.len() as f64 / f64::from(table.row_count())
                }
                Used::List(pool, list) => {
                    let pool = view.pool(PoolId(pool)).expect("sound").expect("in range");
                    let items = pool.list_count() + pool.member_count();
                    let own = 1 + pool.list_len(list).expect("sound");
                    pool.len() as f64 * f64::from(own) / f64::from(items)
                }
                Used::Symbol(symbol) => {
                    let len = view.symbol(SymbolId(symbol)).expect("sound").len();
                    let arena = section(SectionKind::Arena) * len as f64 / view.symbols().arena().len() as f64;
                    arena + section(SectionKind::Symbols) / f64::from(view.symbols().count())
                }
            };
            let own: Vec<f64> = (all.iter())
                .map(|(_, used)| used.iter().map(|used| bytes(used) / f64::from(users[used])).sum())
                .collect();
            let rest = (block.len() as f64 - own.iter().sum::<f64>()) / all.len() as f64;
            let found = searcher.stored_bytes(by).expect("sound");
            let mut expected = (vec![0.0; found.by_code().len()], 0.0);
            for ((value, _), own) in all.iter().zip(own) {
                *value.map_or(&mut expected.1, |value| &mut expected.0[value as usize]) += own + rest;
            }
            let absent = found.absent();
            let pairs = found.by_code().iter().zip(&expected.0).chain([(&absent, &expected.1)]);
            for (found, expected) in pairs {
                assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "seed {seed}: {found} for {expected}");
            }
            let sum: f64 = found.by_code().iter().sum::<f64>() + found.absent();
            assert!((sum - block.len() as f64).abs() < 1e-3, "seed {seed}: {sum}");
        }
    });
}

#[test]
fn random_programs_break_no_promise_of_the_fuzz_target() {
    (0..sweep::cases(600, 20_000_u64)).into_par_iter().for_each(|seed| {
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
    for (dropped, left) in [("a", 30_000), ("b", 30_000), ("c", count)] {
        assert_eq!(searcher.count_groups(Labels::Without(&[dropped])), Ok(left), "{dropped}");
    }
    let selection = searcher.select(&[]).expect("ranges");
    assert_eq!((u64::from(selection.count()), selection.ranges().len()), (count, 1));
    let limits = Limits::default().with_max_series(count - 1);
    assert_eq!(searcher.with_limits(limits).select(&[]), Err(SelectError::TooManySeries { limit: count - 1 }));
}

/// Every second member of each list of the product is selected: half as many ranges as the block has series.
const EVERY_SECOND: &str = r#"{a=~".*[02468]"}"#;

#[test]
fn selections_of_a_small_block_have_a_memory_limit() {
    let block = product(30_000, "a").expect("within limits");
    assert!(block.len() < 1 << 20, "{}", block.len());
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let selector = Selector::parse_any(EVERY_SECOND).expect("valid");
    let searcher = Searcher::new(&view, &index).with_limits(Limits::default().with_max_memory(1 << 20));
    assert_eq!(searcher.count(selector.matchers()), Ok(450_000_000));
    // Compared without the selections, which a failed test would print.
    let error = |found: Result<Selection, SelectError>| found.map(|selection| selection.count());
    assert_eq!(error(searcher.select(selector.matchers())), Err(SelectError::MemoryLimit { limit: 1 << 20 }));
    let limits = Limits::default().with_max_memory(1 << 20).with_max_series(500_000_000);
    let limited = searcher.with_limits(limits).select(selector.matchers());
    assert_eq!(error(limited), Err(SelectError::MemoryLimit { limit: 1 << 20 }));
    // The first 131,072 ranges take the whole limit.
    let pages = || searcher.pages([selector.matchers()]).expect("sound");
    assert_eq!(pages().take(&searcher, 1 << 17).expect("within the limit").count(), 1 << 17);
    assert_eq!(error(pages().take(&searcher, (1 << 17) + 1)), Err(SelectError::MemoryLimit { limit: 1 << 20 }));
}

#[test]
fn pages_are_bounded_and_the_first_is_short() {
    let block = product(30_000, "a").expect("within limits");
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    let selector = Selector::parse_any(EVERY_SECOND).expect("valid");
    let mut pages = searcher.pages([selector.matchers()]).expect("sound");
    let mut sizes = Vec::new();
    let mut next = 0;
    for _ in 0..12 {
        let page = pages.next_page(&searcher).expect("sound").expect("more series");
        for series in &page {
            assert_eq!(series.0, next);
            next += 2;
        }
        sizes.push(page.ranges().len());
    }
    assert_eq!(sizes, [&[64, 256, 1024, 4096, 16_384, 65_536][..], &[1 << 17; 6]].concat());
}

#[test]
fn names_are_cut_by_the_policy_of_the_block() {
    let policy = LabelPolicy::new(32, 2048).expect("valid");
    let asked = "a.name.of.many.more.than.thirty-two.bytes";
    let stored = policy.name(asked).into_owned();
    assert!(stored.len() <= 32 && stored != asked);
    let labels = |value: &str| Labelset::from([(stored.clone(), value.to_owned())]);
    let series = BTreeSet::from(["a", "b"].map(labels));
    let meta = BlockMeta { policy, ..BlockMeta::default() };
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).expect("the plan is valid");
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    assert_eq!(searcher.label_values(asked, &[], None), Ok(vec![&b"a"[..], b"b"]));
    let all = searcher.select(&[]).expect("sound");
    assert_eq!(searcher.group(&all, Labels::By(&[asked])).expect("sound").count(), 2);
    assert_eq!(searcher.group(&all, Labels::Without(&[asked])).expect("sound").count(), 1);
    let projection = searcher.project(&[SeriesRef(1)], &[asked]).expect("sound");
    assert_eq!(projection.value(&view, 0, 0), Ok(Some(&b"b"[..])));
    assert_eq!(searcher.find(&[(asked, "b")]), Ok(Some(SeriesRef(1))));
}

#[test]
fn random_selectors_agree_with_the_filter_on_goldens() {
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).expect("sound");
        let series = series_in_order(&view);
        let mut random = Random::new(7);
        let selectors = if series.len() > 5_000 { sweep::cases(1, 2) } else { sweep::cases(5, 40) };
        for _ in 0..selectors {
            let matchers = random_matchers(&series, &mut random);
            let result = std::panic::catch_unwind(|| check_answers(&view, &series, &matchers));
            assert!(result.is_ok(), "{}", golden.name);
        }
    }
}

#[test]
fn metadata_is_paid_by_the_series_of_its_metric() {
    let metadata = |name, description| MetricMetadata {
        name,
        metric_type: MetricType::Gauge,
        temporality: Temporality::Unspecified,
        monotonicity: Monotonicity::NotMonotonic,
        unit: "",
        description,
    };
    let series: BTreeSet<Labelset> = labelsets(&[
        &[("__name__", "aa"), ("team", "x")],
        &[("__name__", "bb"), ("team", "y")],
        &[("__name__", "bb"), ("team", "z")],
    ]);
    let (long, short) = ("d".repeat(3_000), "d".repeat(1_000));
    let bytes = |described: bool| {
        let metrics = [("aa", &*long), ("bb", &*short), ("no series", "d")];
        let metrics = metrics.into_iter().filter(|_| described).map(|(name, text)| metadata(name, text)).collect();
        let meta = BlockMeta { metrics, ..BlockMeta::default() };
        let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).expect("valid");
        let view = BlockView::open(&block).expect("sound");
        let index = Index::new(&view).expect("sound");
        let team = view.key("team").expect("sound").expect("there");
        Searcher::new(&view, &index).stored_bytes(team).expect("sound").by_code().to_vec()
    };
    let added: Vec<f64> = bytes(true).iter().zip(bytes(false)).map(|(with, without)| with - without).collect();
    // The directory, and the rest of each record, are split evenly.
    let [x, y, z] = added[..] else { panic!("three teams") };
    assert!((x - 3_000.0).abs() < 200.0 && (y - 500.0).abs() < 200.0 && (z - y).abs() < 1e-6, "{added:?}");
}

#[test]
fn a_block_without_series_has_no_bytes_to_split() {
    let block = build(&BTreeSet::new(), &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("valid");
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let found = Searcher::new(&view, &index).stored_bytes(KeyId(0)).expect("sound");
    assert_eq!((found.by_code().len(), found.absent()), (0, 0.0));
}
