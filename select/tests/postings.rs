//! Queries for single values give the same answers before and after the index lists the series of each value.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::{Index, Limits, Matcher, Operator, Searcher, SelectError, Selection};
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::product::product;
use chronoxide_testkit::random::{Random, random_block};
use chronoxide_testkit::sweep;
use rayon::prelude::*;

/// Queries of each block.
const QUERIES: usize = 30;

/// Returns one to three matchers, mostly of single values.
fn few_values(series: &[&Labelset], random: &mut Random) -> Vec<Matcher> {
    let mut labels = || {
        let own = series[random.below(series.len())];
        let (name, value) = own.iter().nth(random.below(own.len())).expect("not empty");
        (name.clone(), value.clone(), random.below(10))
    };
    let count = 1 + labels().2 % 3;
    let matcher = |(name, value, choice): (String, String, usize)| match choice {
        0..6 => Matcher::new(name, Operator::Equal, value),
        6 => Matcher::new(name, Operator::NotEqual, value),
        7 => Matcher::new(name, Operator::NotEqual, ""),
        _ if value.chars().all(char::is_alphanumeric) => Matcher::new(name, Operator::Matches, format!("{value}|a|b")),
        _ => Matcher::new(name, Operator::Equal, value),
    };
    (0..count).map(|_| matcher(labels()).expect("valid")).collect()
}

/// Everything that queries answer about the series of some matchers.
type Answers = (Selection, u64, Selection, Vec<(u32, u64)>, Vec<Vec<u8>>);

fn ask(searcher: &Searcher<'_, '_>, matchers: &[Matcher], max_ranges: usize) -> Result<Answers, SelectError> {
    let mut pages = searcher.pages([matchers])?.with_max_ranges(max_ranges);
    let mut paged = Selection::default();
    while let Some(page) = pages.next_page(searcher)? {
        assert!(page.ranges().len() <= max_ranges);
        paged = paged.union(&page);
    }
    let name = matchers.last().map_or("", Matcher::name);
    let values = searcher.label_values(name, matchers, None)?.into_iter().map(<[u8]>::to_vec).collect();
    let tally = searcher.tally(matchers)?;
    Ok((searcher.select(matchers)?, searcher.count(matchers)?, paged, tally.keysets().to_vec(), values))
}

#[test]
fn answers_are_the_same_with_and_without_postings() {
    let listed: Vec<bool> = (0..sweep::cases(150, 1500))
        .into_par_iter()
        .map(|seed| {
            let (series, block) = random_block(seed);
            let series: Vec<&Labelset> = series.iter().filter(|labels| !labels.is_empty()).collect();
            let mut random = Random::new(seed);
            let view = BlockView::open(&block).expect("sound");
            let kept = Index::new(&view).expect("sound");
            let before = kept.allocated();
            for _ in 0..QUERIES {
                let matchers = few_values(&series, &mut random);
                let max_ranges = 1 + random.below(4);
                // A new index has no postings at the first query.
                let select = |index| Searcher::new(&view, index).select(&matchers).expect("sound");
                let plain = select(&Index::new(&view).expect("sound"));
                let searcher = Searcher::new(&view, &kept);
                for _ in 0..2 {
                    let answers = ask(&searcher, &matchers, max_ranges).expect("sound");
                    assert_eq!(answers.0, plain, "seed {seed}, {matchers:?}");
                    assert_eq!((answers.1, &answers.2), (plain.count().into(), &plain), "seed {seed}, {matchers:?}");
                    let tallied: u64 = answers.3.iter().map(|(_, count)| count).sum();
                    assert_eq!(tallied, answers.1, "seed {seed}, {matchers:?}");
                    let again = ask(&Searcher::new(&view, &kept.clone()), &matchers, usize::MAX).expect("sound");
                    assert_eq!(again, answers, "seed {seed}, {matchers:?}");
                }
            }
            assert!(kept.allocated() - before <= block.len(), "seed {seed}");
            kept.allocated() > before
        })
        .collect();
    let count = listed.iter().filter(|listed| **listed).count();
    assert!(count * 10 > listed.len() * 9, "postings of {count} of {} blocks", listed.len());
}

#[test]
fn damage_is_an_error_or_not_met() {
    (0..sweep::cases(40, 400_u64)).into_par_iter().for_each(|seed| {
        let (series, block) = random_block(seed);
        let series: Vec<&Labelset> = series.iter().filter(|labels| !labels.is_empty()).collect();
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("block.cx");
        for _ in 0..20 {
            let matchers = few_values(&series, &mut random);
            let sound = BlockView::open(&block).expect("sound");
            let index = Index::new(&sound).expect("sound");
            let expected = ask(&Searcher::new(&sound, &index), &matchers, 3).expect("sound");
            let mut damaged = block.clone();
            let place = random.below(block.len());
            damaged[place] ^= 1 << random.below(8);
            fs::write(&path, &damaged).expect("written");
            let Ok(opened) = Block::read(&path, Checks::Lazy) else { continue };
            let view = opened.view();
            let Ok(index) = Index::new(&view) else { continue };
            let searcher = Searcher::new(&view, &index);
            for _ in 0..3 {
                if let Ok(answers) = ask(&searcher, &matchers, 3) {
                    assert_eq!(answers, expected, "seed {seed}, byte {place}, {matchers:?}");
                }
            }
        }
    });
}

/// Series with a label that is different in each, and the block of them.
fn distinct(count: u32) -> Vec<u8> {
    let labels = |number: u32| {
        let labels = [("id", format!("{number:05}")), ("job", format!("{}", number % 50))];
        labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let series: BTreeSet<Labelset> = (0..count).map(labels).collect();
    build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid")
}

fn equal(name: &str, value: &str) -> Vec<Matcher> {
    vec![Matcher::new(name, Operator::Equal, value).expect("valid")]
}

#[test]
fn threads_that_ask_at_once_get_the_same_answer() {
    let block = distinct(5_000);
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let before = index.allocated();
    let expected: Vec<u32> = (0..5_000).filter(|number| number % 50 == 7).collect();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = Searcher::new(&view, &index).select(&equal("job", "7")).expect("sound");
                    assert_eq!(found.iter().map(|series| series.0).collect::<Vec<_>>(), expected);
                }
            });
        }
    });
    assert!(index.allocated() > before + 5_000, "{}", index.allocated() - before);
}

#[test]
fn limits_hold_with_postings() {
    let block = distinct(5_000);
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    let before = index.allocated();
    for _ in 0..30 {
        assert_eq!(searcher.count(&equal("job", "7")), Ok(100));
    }
    assert!(index.allocated() > before);
    let few = searcher.with_limits(Limits::default().with_max_series(99));
    assert_eq!(few.select(&equal("job", "7")), Err(SelectError::TooManySeries { limit: 99 }));
    let small = searcher.with_limits(Limits::default().with_max_memory(99));
    assert_eq!(small.select(&equal("job", "7")), Err(SelectError::MemoryLimit { limit: 99 }));
    let late = searcher.with_limits(Limits::default().with_timeout(std::time::Duration::ZERO));
    assert_eq!(late.select(&equal("job", "7")), Err(SelectError::DeadlineExceeded));
}

#[test]
fn postings_of_billions_of_series_are_not_made() {
    let block = product(30_000, "a").expect("within limits");
    let view = BlockView::open(&block).expect("sound");
    let index = Index::new(&view).expect("sound");
    let before = index.allocated();
    let searcher = Searcher::new(&view, &index);
    let value = searcher.label_values("b", &[], Some(1)).expect("sound");
    let value = std::str::from_utf8(value[0]).expect("text");
    for _ in 0..1_000 {
        assert_eq!(searcher.count(&equal("b", value)), Ok(30_000));
    }
    assert_eq!(index.allocated(), before);
}
