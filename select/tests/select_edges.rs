//! Selection and searches at the limits of their shortcuts: long maps and lists, many rows and columns, and keysets
//! whose keys have one hash.

use std::collections::BTreeSet;

use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, FindError};
use chronoxide_format::write::BlockMeta;
use chronoxide_select::{Index, Limits, Matcher, Operator, Searcher, SelectError};
use chronoxide_select_model::check_answers;
use chronoxide_testkit::allocation::{Counting, measure};
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, Source, build, key};
use chronoxide_testkit::product::product;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

use Operator::{Equal, Matches, MatchesNot, NotEqual};

fn matcher(name: &str, operator: Operator, value: &str) -> Matcher {
    Matcher::new(name, operator, value).expect("valid")
}

fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labelset {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn block(series: &BTreeSet<Labelset>, plan: &Plan) -> Vec<u8> {
    build(series, plan, RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid")
}

fn check(block: &[u8], matchers: &[Matcher]) {
    let view = BlockView::open(block).expect("sound");
    check_answers(&view, &series_in_order(&view), matchers);
}

#[test]
fn rows_of_a_map_that_is_not_in_the_index_are_found() {
    let pod = |number: usize| format!("pod-{number:04}");
    let mut series: BTreeSet<Labelset> = (0..700).map(|number| labels([("pod", pod(number))])).collect();
    series.extend((0..700).step_by(2).map(|n| labels([("pod", pod(n)), ("zone", (n % 3).to_string())])));
    let mut plan = Plan { tables: vec![vec![key("pod")]], ..Plan::default() };
    let keyset = KeysetPlan { columns: vec![Source::Table(0), key("zone")], list: None };
    plan.keysets.insert(vec!["pod".to_owned(), "zone".to_owned()], keyset);
    let block = block(&series, &plan);
    let view = BlockView::open(&block).expect("sound");
    let is_long_map = |table: chronoxide_format::view::Table<'_, '_>| table.is_map() && table.row_count() > 256;
    assert!(view.tables().any(|table| is_long_map(table.expect("sound"))));
    check(&block, &[matcher("pod", Matches, "pod-00[0-4].*"), matcher("zone", NotEqual, "")]);
    check(&block, &[matcher("pod", Equal, "pod-0690"), matcher("zone", NotEqual, "")]);
}

/// Rows of `a`, each with a list of most values of `b`.
fn lists(rows: usize, members: usize) -> Vec<u8> {
    let pairs = (0..rows).flat_map(|a| (0..members).map(move |b| (a, b))).filter(|(a, b)| b % 7 != a % 3);
    let series = pairs.map(|(a, b)| labels([("a", format!("{a:04}")), ("b", format!("{b:04}"))])).collect();
    let mut plan = Plan::default();
    let keyset = KeysetPlan { columns: vec![key("a")], list: Some(key("b")) };
    plan.keysets.insert(vec!["a".to_owned(), "b".to_owned()], keyset);
    block(&series, &plan)
}

#[test]
fn members_of_long_lists_are_found() {
    let block = lists(5, 150);
    for pattern in ["0020", "0020|0021|0024", "002.|004.|006.", "00[0-9]2", "01.*", ".*[02468]", "0148|0149"] {
        check(&block, &[matcher("b", Matches, pattern)]);
        check(&block, &[matcher("b", MatchesNot, pattern), matcher("a", NotEqual, "0001")]);
    }
}

#[test]
fn a_literal_is_not_found_across_two_values() {
    // In the arena, values that follow each other have nothing between them; `b` has a value between two of `a`.
    let texts = ["a", "aa", "aab", "ab", "b", "ba", "bab", "bb"];
    let mut series: BTreeSet<Labelset> = texts.iter().map(|text| labels([("a", (*text).to_owned())])).collect();
    series.insert(labels([("b", "aba".to_owned())]));
    let block = block(&series, &Plan::default());
    for literal in ["a", "b", "aa", "ab", "ba", "bb", "aab", "aba", "bab", "abb"] {
        check(&block, &[matcher("a", Matches, &format!(".*{literal}.*"))]);
        check(&block, &[matcher("a", MatchesNot, &format!(".*{literal}.*"))]);
    }
    let many: BTreeSet<Labelset> = (0..600).map(|number| labels([("a", format!("{number:04}"))])).collect();
    for literal in ["7", "10", "00", "599", "99"] {
        check(&self::block(&many, &Plan::default()), &[matcher("a", Matches, &format!(".*{literal}.*"))]);
    }
}

#[test]
fn rows_that_are_read_in_several_batches_are_all_found() {
    let block = lists(600, 4);
    let (a, b) = (matcher("a", Matches, "0.[0-3]."), matcher("b", Matches, "0001|0003"));
    check(&block, std::slice::from_ref(&b));
    check(&block, &[b, a.clone()]);
    check(&block, &[a]);
}

#[test]
fn series_of_wide_tables_are_found() {
    for count in [64, 65, 66, 200] {
        let value = |key: usize, version: usize| format!("{}", version * 7 % (key + 2));
        let labelset = |version| (0..count).map(|key| (format!("k{key:04}"), value(key, version))).collect();
        let series: BTreeSet<Labelset> = (0..3).map(labelset).collect();
        let block = block(&series, &Plan::default());
        let view = BlockView::open(&block).expect("sound");
        let index = Index::new(&view).expect("sound");
        for labels in &series {
            let found = view.find(labels).expect("sound");
            assert!(found.is_some(), "{count} labels");
            let pairs: Vec<_> = labels.iter().collect();
            assert_eq!(Searcher::new(&view, &index).find(&pairs), Ok(found));
        }
    }
}

/// Asserts that both searches find all series.
fn check_searches(view: &BlockView<'_>, wanted: &[&Labelset]) {
    let index = Index::new(view).expect("sound");
    let searcher = Searcher::new(view, &index);
    let pairs = wanted.iter().map(|labels| labels.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    let many = searcher.find_many(pairs).expect("names differ");
    for (labels, many) in wanted.iter().zip(many) {
        let expected = view.find(*labels).expect("sound");
        assert!(expected.is_some(), "{labels:?}");
        let pairs: Vec<_> = labels.iter().collect();
        assert_eq!(searcher.find(&pairs), Ok(expected), "{labels:?}");
        assert_eq!(many, expected, "{labels:?}");
    }
}

#[test]
fn labels_are_cut_by_the_policy_before_they_are_searched() {
    let policy = LabelPolicy::new(18, 20).expect("valid");
    let long = |text: &str| text.repeat(40);
    let long_value = labels([("a", "v".to_owned()), ("b", long("x"))]);
    let long_name = labels([("a", "w".to_owned()), (&long("n"), long("y"))]);
    let stored = |labels: &Labelset| -> Labelset {
        labels.iter().map(|(name, value)| (policy.name(name).into_owned(), policy.value(value).into_owned())).collect()
    };
    let series = BTreeSet::from([stored(&long_value), stored(&long_name)]);
    let meta = BlockMeta { policy, ..BlockMeta::default() };
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).expect("the plan is valid");
    let view = BlockView::open(&block).expect("sound");
    check_searches(&view, &[&long_value, &long_name]);
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    for labels in [&long_value, &long_name] {
        let matchers: Vec<Matcher> = labels.iter().map(|(name, value)| matcher(name, Equal, value)).collect();
        assert_eq!(searcher.count(&matchers), Ok(1), "{labels:?}");
    }
    // No block has a value that is too long and no text. Its name counts nevertheless.
    let twice = [(&b"a"[..], &[0xff; 40][..]), (b"a", b"v")];
    assert_eq!(searcher.find(&twice), Err(FindError::DuplicateName));
}

/// Returns the name of key `number` of a block that has all keys up to some number.
fn name(number: u32) -> String {
    format!("k{number:04}")
}

/// Series that give a block `count` keys, a hundred or more each.
fn carriers(count: u32, each: u32) -> BTreeSet<Labelset> {
    let labelset = |first: u32| (first..first + each).map(|number| (name(number), "v".to_owned())).collect();
    (0..count).step_by(each as usize).map(labelset).collect()
}

fn with_keys(keys: &[u32]) -> Labelset {
    keys.iter().map(|&number| (name(number), "v".to_owned())).collect()
}

#[test]
fn keysets_whose_keys_have_one_hash_are_told_apart() {
    // The hash of keys 46 and 1362 is that of keys 319 and 1089.
    let mut series = carriers(1400, 700);
    series.extend([with_keys(&[46, 1362]), with_keys(&[319, 1089])]);
    let block = block(&series, &Plan::default());
    let view = BlockView::open(&block).expect("sound");
    check_searches(&view, &series.iter().collect::<Vec<_>>());
}

#[test]
fn a_keyset_with_some_of_the_keys_and_their_hash_is_not_found() {
    // The hash of key 0 is that of keys 0, 735, 1604 and 4222.
    let mut series = carriers(6000, 1000);
    series.insert(with_keys(&[0]));
    let block = block(&series, &Plan::default());
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    let wanted = with_keys(&[0, 735, 1604, 4222]);
    let pairs: Vec<_> = wanted.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    assert_eq!(searcher.find(&pairs), Ok(None));
    assert_eq!(searcher.find_many([pairs]), Ok(vec![None]));
}

/// Few series are sorted by all of their labels, many by one label after another.
#[test]
fn series_of_many_keysets_come_in_the_order_of_their_labels() {
    for (keysets, values) in [(300, 2), (900, 6)] {
        let series: BTreeSet<Labelset> = (0..keysets)
            .flat_map(|number| (0..values).map(move |z| (number, z)))
            .map(|(number, z)| {
                let mut labels = labels([("__name__", format!("m{}", number % 7)), (&name(number), "v".to_owned())]);
                if z > 0 {
                    labels.insert("z".to_owned(), z.to_string());
                }
                labels
            })
            .collect();
        let block = block(&series, &Plan::default());
        let view = BlockView::open(&block).expect("sound");
        let stored = series_in_order(&view);
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        let all = searcher.select(&[]).expect("sound");
        let order = searcher.in_label_order(&all).expect("sound");
        let found: Vec<&Labelset> = order.map(|series| &stored[series.expect("sound").0 as usize]).collect();
        let mut expected: Vec<&Labelset> = stored.iter().collect();
        expected.sort_by_key(|labels| labels.iter().collect::<Vec<_>>());
        assert!(found == expected, "{keysets} keysets");
    }
}

#[test]
fn too_many_series_are_noticed_before_they_are_listed() {
    let block = product(2000, "a").expect("within limits");
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index).with_limits(Limits::default().with_max_series(10));
    let even = [matcher("a", Matches, ".*[02468]")];
    let (found, usage) = measure(|| searcher.select(&even));
    assert_eq!(found, Err(SelectError::TooManySeries { limit: 10 }));
    // The refs of 2 million series that are no neighbours take 16 MB.
    assert!(usage.peak < 1 << 20, "{}", usage.peak);
}
