//! Series in the order of their labels, over one block and several, against sorted labelsets.

use std::collections::BTreeMap;

use chronoxide::{Blocks, ErrorKind, Operator, Query, Selector, SeriesId, WriteOptions};

use super::{Fixture, Labelset, TestResult, labelsets, write};

/// Labels of series, each with the number of its ids.
type Counted = Vec<(Vec<(String, String)>, usize)>;

/// Reads all series in the order of labels.
fn sorted(query: &Query<'_>) -> Result<Counted, chronoxide::Error> {
    let (mut found, mut rows) = (Vec::new(), query.sorted_series()?);
    while let Some(series) = rows.next()? {
        let labels = series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned()));
        found.push((labels.collect(), series.ids().count()));
    }
    assert!(rows.next()?.is_none(), "the end stays the end");
    Ok(found)
}

/// Returns labelsets in the order of their labels, with the number of times that each was given.
fn expected<'a>(labelsets: impl IntoIterator<Item = &'a Labelset>) -> Counted {
    let mut counts = BTreeMap::<Vec<(String, String)>, usize>::new();
    for labels in labelsets {
        *counts.entry(labels.clone().into_iter().collect()).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[test]
fn series_of_several_blocks_come_in_the_order_of_labels() -> TestResult {
    let fixture = Fixture::new()?;
    let sets = [labelsets(0, 10), labelsets(5, 15)];
    let blocks = fixture.blocks()?;
    assert_eq!(sorted(&blocks.query("{}")?)?, expected(sets.iter().flatten()));
    let small = sets.iter().flatten().filter(|labels| labels["__name__"] == "up" && labels.contains_key("größe"));
    assert_eq!(sorted(&blocks.query(r#"up{"größe"="klein"}"#)?)?, expected(small));
    assert_eq!(sorted(&Blocks::open(&fixture.paths[1])?.query("{}")?)?, expected(&sets[1]));
    assert_eq!(sorted(&blocks.query("absent")?)?, []);

    // A labelset comes before those that begin with it.
    let path = fixture.folder.path().join("nested.cx");
    let nested: Vec<Labelset> =
        [&[("a", "1")][..], &[("a", "1"), ("b", "1")], &[("a", "0"), ("c", "1")], &[("b", "0")]]
            .map(|labels| labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
            .into();
    write(&path, WriteOptions::new(), &nested)?;
    assert_eq!(sorted(&Blocks::open(&path)?.query("{}")?)?, expected(&nested));
    assert_eq!(sorted(&fixture.blocks()?.query("{}")?)?, expected(sets.iter().flatten().chain(&nested)));
    Ok(())
}

#[test]
fn ids_come_without_labels_in_the_same_order() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let query = blocks.query("{}")?;
    for (mut with, mut without) in
        [(query.series()?, query.series()?), (query.sorted_series()?, query.sorted_series()?)]
    {
        let mut count = 0;
        while let Some(series) = with.next()? {
            let ids: Vec<SeriesId> = without.next_ids()?.expect("as many series").collect();
            assert_eq!(series.ids().collect::<Vec<_>>(), ids);
            let mut reader = blocks.reader();
            for id in ids {
                assert_eq!(reader.labels(id)?, Some(series.labels()));
            }
            count += 1;
        }
        assert!(without.next_ids()?.is_none());
        assert_eq!(count, fixture.all.len());
    }
    Ok(())
}

#[test]
fn limits_hold_while_series_are_sorted() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let flag = std::sync::atomic::AtomicBool::new(false);
    let query = blocks.query("{}")?.cancelled_by(&flag);
    let mut rows = query.sorted_series()?;
    flag.store(true, std::sync::atomic::Ordering::Relaxed);
    let error = rows.next().map(|_| ()).expect_err("the flag is set");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Cancelled, None));
    assert!(rows.next()?.is_none(), "the error ends the rows");
    Ok(())
}

#[test]
fn limits_hold_while_rows_are_read() -> TestResult {
    let fixture = Fixture::new()?;
    write(&fixture.paths[0], WriteOptions::new().replace(true), &labelsets(0, 3000))?;
    let blocks = fixture.blocks()?;
    let flag = std::sync::atomic::AtomicBool::new(false);
    let read = |query: Query<'_>, cancel: bool| -> Result<usize, chronoxide::Error> {
        let (mut rows, mut count) = (query.series()?, 0);
        while rows.next()?.is_some() {
            count += 1;
            flag.store(cancel, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(count)
    };
    let query = blocks.query("{}")?.cancelled_by(&flag);
    assert_eq!(read(query.clone(), false)?, 6000);
    assert_eq!(read(query.clone(), true).map_err(|error| error.kind()), Err(ErrorKind::Cancelled));
    flag.store(false, std::sync::atomic::Ordering::Relaxed);
    let timed = query.timeout(std::time::Duration::from_secs(3));
    let mut rows = timed.series()?;
    assert!(rows.next()?.is_some());
    std::thread::sleep(std::time::Duration::from_millis(3100));
    let late = std::iter::from_fn(|| rows.next().map(|row| row.map(drop)).transpose()).find_map(Result::err);
    assert_eq!(late.map(|error| error.kind()), Some(ErrorKind::Timeout));
    assert!(rows.next()?.is_none(), "the error ends the rows");
    Ok(())
}

#[test]
fn a_selector_of_matchers_is_that_of_its_text() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let matchers = [
        ("__name__", Operator::Equal, "up"),
        ("pod", Operator::Matches, "web-[0-6]"),
        ("namespace", Operator::NotEqual, "team-1"),
        ("größe", Operator::MatchesNot, "k.*"),
    ];
    let selector = Selector::from_matchers(matchers)?;
    let text: Selector = r#"up{pod=~"web-[0-6]",namespace!="team-1","größe"!~"k.*"}"#.parse()?;
    let found = sorted(&blocks.query(&selector)?)?;
    assert_eq!(found, sorted(&blocks.query(text)?)?);
    assert_eq!(found.len(), 2, "pods 3 and 5");
    let all = blocks.query(Selector::from_matchers([] as [(&str, Operator, &str); 0])?)?;
    assert_eq!(all.or(&selector)?.count()?, fixture.all.len() as u64);
    for (wrong, text) in [(("", Operator::Equal, "1"), "empty"), (("pod", Operator::Matches, "("), "matcher of pod")] {
        let error = Selector::from_matchers([wrong]).expect_err("not a matcher");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = "up{".parse::<Selector>().expect_err("not a selector");
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("invalid selector"), "{error}");
    Ok(())
}

#[test]
fn lists_of_strings_end_where_they_should() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let query = blocks.query("{}")?.max_strings(2);
    assert_eq!(query.label_names()?, ["__name__", "größe"]);
    assert_eq!(query.label_values("pod")?, ["web-0", "web-1"]);
    assert_eq!(query.clone().strings_after("web-0").label_values("pod")?, ["web-1", "web-10"]);
    assert_eq!(query.clone().strings_after("__name__").label_names()?, ["größe", "namespace"]);
    assert!(query.strings_after("zzz").label_values("pod")?.is_empty());
    Ok(())
}

/// Rows of each order have the ids that a search finds.
#[test]
fn ids_of_each_order_are_those_of_a_search() -> TestResult {
    let fixture = Fixture::new()?;
    write(&fixture.folder.path().join("c.cx"), WriteOptions::new(), &labelsets(3, 7))?;
    let blocks = fixture.blocks()?;
    let query = blocks.query("{}")?;
    for mut rows in [query.series()?, query.sorted_series()?] {
        while let Some(series) = rows.next()? {
            let found = blocks.find(series.labels())?;
            assert!(found.is_sorted() && !found.is_empty());
            assert_eq!(series.ids().collect::<Vec<_>>(), found);
        }
    }
    let mut rows = query.distinct_series()?;
    while let Some(series) = rows.next()? {
        assert!(series.ids().eq(blocks.find(series.labels())?.first().copied()), "that of the first block");
    }
    Ok(())
}

#[test]
fn rows_of_each_order_are_cancelled() -> TestResult {
    let fixture = Fixture::new()?;
    write(&fixture.paths[0], WriteOptions::new().replace(true), &labelsets(0, 3000))?;
    let block = Blocks::open(&fixture.paths[0])?;
    let flag = std::sync::atomic::AtomicBool::new(false);
    let query = block.query("{}")?.cancelled_by(&flag);
    for mut rows in [query.series()?, query.sorted_series()?, query.distinct_series()?] {
        assert!(rows.next()?.is_some());
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        let error = std::iter::from_fn(|| rows.next().map(|row| row.map(drop)).transpose()).find_map(Result::err);
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Cancelled));
        assert!(rows.next()?.is_none(), "the error ends the rows");
        flag.store(false, std::sync::atomic::Ordering::Relaxed);
    }
    Ok(())
}
