//! Series without memory, and numbers of series, against sets of labelsets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;

use chronoxide::{BatchOptions, Blocks, Damage, ErrorKind, Layout, OpenOptions, Query, WriteOptions};

use super::{Fixture, Labelset, TestResult, labelsets, write};

/// Checks what a query counts and streams against the series that it selects.
pub(super) fn check(query: &Query<'_>, expected: &BTreeSet<Labelset>) -> Result<(), Box<dyn StdError>> {
    let mut found = BTreeSet::new();
    let mut rows = query.distinct_series()?;
    while let Some(series) = rows.next()? {
        assert_eq!(series.ids().count(), 1);
        let labels = series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned()));
        assert!(found.insert(labels.collect()), "a series came twice");
    }
    assert_eq!(&found, expected);
    let (mut rows, mut count) = (query.distinct_series()?, 0);
    while rows.next_ids()?.is_some() {
        count += 1;
    }
    assert_eq!(count, expected.len());

    let (mut values, mut keysets) = (BTreeMap::<_, BTreeMap<_, u64>>::new(), BTreeMap::<Vec<_>, u64>::new());
    for labels in expected {
        for (name, value) in labels {
            *values.entry(name.as_str()).or_default().entry(value.as_str()).or_default() += 1;
        }
        *keysets.entry(labels.keys().map(String::as_str).collect()).or_default() += 1;
    }
    let counted = query.cardinality()?;
    let sorted = counted.values.iter().map(|(&name, values)| (name, values.iter().map(|(&value, &n)| (value, n))));
    assert_eq!(sorted.map(|(name, values)| (name, values.collect())).collect::<BTreeMap<_, _>>(), values);
    assert_eq!(counted.keysets, keysets);
    let labels: usize = expected.iter().map(BTreeMap::len).sum();
    assert_eq!((counted.series, counted.labels), (expected.len() as u64, labels as u64));
    Ok(())
}

#[test]
fn blocks_that_are_united_are_queried_as_one() -> TestResult {
    let fixture = Fixture::new()?;
    let [a, b] = fixture.paths.each_ref().map(Blocks::open);
    let (a, b) = (a?, b?);
    let united = [a.clone(), b.clone(), a.clone()].into_iter().collect::<Blocks>();
    assert_eq!((united.len(), united.is_folder(), united.replaced()), (2, true, 0));
    assert_eq!(super::read(&united.query("{}")?)?, fixture.all);
    assert_eq!(
        united.query("{}")?.label_values_with_prefix("pod", "web-1")?,
        ["web-1", "web-10", "web-11", "web-12", "web-13", "web-14"]
    );
    for labels in &fixture.all {
        assert!(!united.query("{}")?.has(labels.iter().skip(1))?);
        let number: u32 = labels["pod"].trim_start_matches("web-").parse()?;
        for (blocks, expected) in [(&united, true), (&a, number < 10), (&b, number >= 5)] {
            // In any order.
            assert_eq!(blocks.query("{}")?.has(labels.iter().rev())?, expected, "{labels:?}");
            let small = blocks.query(r#"{"größe"="klein",nothing=""}"#)?.or(r#"up{pod=~"web-1[0-9]"}"#)?;
            let is_small = labels.contains_key("größe") || labels["__name__"] == "up" && number >= 10;
            assert_eq!(small.has(labels)?, expected && is_small, "{labels:?}");
        }
    }
    assert_eq!(Blocks::from_iter([]).query("{}")?.count()?, 0);
    Ok(())
}

#[test]
fn damage_ends_the_series_of_its_block() -> TestResult {
    let fixture = Fixture::new()?;
    // The last chunk of a block of one chunk: opening does not read it.
    let mut bytes = std::fs::read(&fixture.paths[0])?;
    let arena = bytes.windows(5).position(|window| window == b"web-1").expect("a value");
    bytes[arena] ^= 1;
    std::fs::write(&fixture.paths[0], bytes)?;
    let options = OpenOptions::new().checks(chronoxide::Checks::Never);
    let blocks = options.open(fixture.folder.path())?;
    let errors = Damage::new();
    let query = blocks.query("{}")?;
    let mut rows = query.distinct_series()?;
    let strict = loop {
        match rows.next() {
            Ok(series) => assert!(series.is_some(), "text is checked"),
            Err(error) => break error,
        }
    };
    assert_eq!((strict.kind(), strict.path()), (ErrorKind::Corrupt, Some(fixture.paths[0].as_path())));
    assert_eq!(query.cardinality().expect_err("text is checked").kind(), ErrorKind::Corrupt);
    let tolerant = query.skip_damaged(&errors);
    let second: BTreeSet<Labelset> = super::labelsets(5, 15).into_iter().collect();
    check(&tolerant, &second)?;
    let errors = errors.errors();
    assert_eq!(errors.iter().map(chronoxide::Error::path).collect::<Vec<_>>(), [Some(fixture.paths[0].as_path())]);
    Ok(())
}

/// Each side has two blocks, some series in both of its own, and some in one of each side.
#[test]
fn series_of_one_side_are_found_by_their_labels() -> TestResult {
    let folder = tempfile::tempdir()?;
    let sides = [[0..10, 5..20], [12..30, 3..7]].map(|side| side.map(|range| labelsets(range.start, range.end)));
    let mut opened = Vec::new();
    for (side, blocks) in sides.iter().enumerate() {
        let folder = folder.path().join(side.to_string());
        std::fs::create_dir(&folder)?;
        for (number, series) in blocks.iter().enumerate() {
            write(&folder.join(format!("{number}.cx")), WriteOptions::new(), series)?;
        }
        opened.push(Blocks::open(&folder)?);
    }
    let [before, after] = sides.map(|blocks| blocks.concat().into_iter().collect::<BTreeSet<Labelset>>());
    for (selector, is_selected) in [("{}", None), ("up", Some("up"))] {
        let side = |all: &BTreeSet<Labelset>| -> BTreeSet<Labelset> {
            all.iter().filter(|labels| is_selected.is_none_or(|name| labels["__name__"] == name)).cloned().collect()
        };
        let (before, after) = (side(&before), side(&after));
        for max_memory in [1 << 30, 4_000] {
            let queries = [opened[0].query(selector)?.max_memory(max_memory), opened[1].query(selector)?];
            let found = queries[0].difference(&queries[1])?;
            assert_eq!(found.same.len(), before.intersection(&after).count() as u64);
            let gone = (&found.gone, &found.gone_labels, before.difference(&after));
            let came = (&found.came, &found.came_labels, after.difference(&before));
            for (selection, counts, expected) in [gone, came] {
                let expected: BTreeSet<Labelset> = expected.cloned().collect();
                let (listed, errors) = super::opening::read_all(selection.series());
                assert_eq!((listed.len() as u64, errors.len()), (selection.len(), 0));
                assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected);
                assert_eq!(selection.len(), expected.len() as u64, "each once");
                // Counts of what is selected, by the model of the others.
                let pods = expected.iter().map(|labels| &labels["pod"]).collect::<BTreeSet<_>>().len();
                assert_eq!((counts.series, counts.values["pod"].len()), (expected.len() as u64, pods));
                let groups = selection.group_by(&["pod"])?;
                let by_pod = |pod: &str| expected.iter().filter(|labels| labels["pod"] == pod).count() as u64;
                assert_eq!(groups.len(), pods);
                assert!(groups.iter().all(|group| group.series == by_pod(group.get("pod").expect("a pod"))));
            }
        }
    }
    Ok(())
}

/// Values that two names share, and names that begin those of other series.
#[test]
fn values_are_counted_by_name_and_keysets_by_all_names() -> TestResult {
    let folder = tempfile::tempdir()?;
    let sets: Vec<Labelset> = [
        &[("a", "1")][..],
        &[("a", "1"), ("b", "1")],
        &[("a", "1"), ("b", "1"), ("c", "1")],
        &[("a", "2"), ("b", "1")],
        &[("b", "1"), ("c", "2")],
    ]
    .map(|labels| labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    .into();
    let paths = ["a.cx", "b.cx"].map(|name| folder.path().join(name));
    write(&paths[0], WriteOptions::new(), &sets[..4])?;
    write(&paths[1], WriteOptions::new(), &sets[1..])?;
    let both = Blocks::open(folder.path())?;
    assert_eq!(super::read(&both.query("{}")?)?, sets.iter().cloned().collect());
    // One block and two selectors.
    let one = Blocks::open(&paths[0])?;
    let either = one.query(r#"{c="1"}"#)?.or(r#"{a="2"}"#)?;
    assert_eq!(super::read(&either)?, sets[2..4].iter().cloned().collect());
    assert_eq!(super::read(&one.query("{}")?)?, sets[..4].iter().cloned().collect());
    Ok(())
}

/// A series counts once, also if only the first and the last of three blocks have it.
#[test]
fn series_of_three_blocks_count_once() -> TestResult {
    let sets = [labelsets(0, 6), labelsets(4, 8), [labelsets(0, 2), labelsets(7, 9)].concat()];
    // Blocks come in the order of their ids: each gets each place.
    for extra in 20..26 {
        let folder = tempfile::tempdir()?;
        let mut all = BTreeSet::new();
        for (number, set) in sets.iter().enumerate() {
            let set = [set.clone(), labelsets(extra + 10 * number as u32, extra + 10 * number as u32 + 1)].concat();
            write(&folder.path().join(format!("{number}.cx")), WriteOptions::new(), &set)?;
            all.extend(set);
        }
        assert_eq!(super::read(&Blocks::open(folder.path())?.query("{}")?)?, all);
    }
    Ok(())
}

#[test]
fn a_limit_of_series_is_no_damage() -> TestResult {
    let fixture = Fixture::new()?;
    let (one, both, damage) = (Blocks::open(&fixture.paths[0])?, fixture.blocks()?, Damage::new());
    for (blocks, count) in [(&one, 20), (&both, 40)] {
        let query = blocks.query("{}")?.skip_damaged(&damage);
        for max in [count - 1, count] {
            let query = query.clone().max_series(max);
            let mut rows = query.distinct_series()?;
            let read = std::iter::from_fn(|| rows.next().map(|row| row.map(drop)).transpose());
            let results = [
                read.collect::<Result<Vec<()>, _>>().map(drop),
                query.cardinality().map(drop),
                query.count().map(drop),
                query.series().map(drop),
                query.sorted_series().map(drop),
                query.select().map(drop),
                query.group_by(&["pod"]).map(drop),
                query.batches(&BatchOptions::new()).map(drop),
            ];
            for result in results {
                let expected = if max < count { Err(ErrorKind::TooManySeries) } else { Ok(()) };
                assert_eq!(result.map_err(|error| error.kind()), expected, "{max} of {count}");
            }
        }
    }
    assert!(damage.is_empty(), "{damage:?}");
    Ok(())
}

/// Bytes of a label's values add up to the files, whatever the layout.
#[test]
fn stored_bytes_are_those_of_the_files() -> TestResult {
    let folder = tempfile::tempdir()?;
    let mut length = 0.0;
    for (number, layout) in (0..).zip([Layout::Factored, Layout::BitPacked, Layout::FixedWidth]) {
        let path = folder.path().join(format!("{number}.cx"));
        let options = WriteOptions::new().layout(layout);
        write(&path, options, &labelsets(0, 20 + 10 * number))?;
        length += std::fs::metadata(&path)?.len() as f64;
    }
    let blocks = Blocks::open(folder.path())?;
    for (name, values) in [("pod", 40), ("__name__", 2), ("absent", 0)] {
        let stored = blocks.stored_bytes(name)?;
        assert_eq!(stored.keys().flatten().count(), values, "{name}");
        assert_eq!(stored.contains_key(&None), values == 0, "{name}");
        let sum: f64 = stored.values().sum();
        assert!((sum - length).abs() < 1.0, "{name}: {sum} of {length} bytes");
        assert!(stored.values().all(|bytes| *bytes > 0.0), "{name}: {stored:?}");
    }
    assert!(Blocks::open(tempfile::tempdir()?.path())?.stored_bytes("pod")?.is_empty());
    Ok(())
}

/// Damage that is met when series are read, and damage in the labels of those that one side alone has.
#[test]
fn a_difference_leaves_out_damaged_blocks_of_their_own_side() -> TestResult {
    for damaged_side in [0, 1] {
        for text in ["web-29", "klein"] {
            let folder = tempfile::tempdir()?;
            let write_side = |name: &str, blocks: &[(u32, u32)]| -> Result<_, Box<dyn StdError>> {
                let side = folder.path().join(name);
                std::fs::create_dir(&side)?;
                for (number, &(from, to)) in blocks.iter().enumerate() {
                    write(&side.join(format!("{number}.cx")), WriteOptions::new(), &labelsets(from, to))?;
                }
                Ok(side)
            };
            // The first block of the damaged side shares series with the second, which is damaged.
            let damaged = write_side("damaged", &[(1, 10), (5, 30)])?;
            super::opening::make_no_text(&damaged.join("1.cx"), text)?;
            let sound = write_side("sound", &[(40, 41)])?;
            let [damaged, sound] = [Blocks::open(damaged)?, Blocks::open(sound)?];
            let (own, others) = (Damage::new(), Damage::new());
            let damaged = damaged.query("{}")?.skip_damaged(&own);
            let sound = sound.query("{}")?.skip_damaged(&others);
            let found = if damaged_side == 0 { damaged.difference(&sound)? } else { sound.difference(&damaged)? };
            let [of_damaged, of_sound] =
                if damaged_side == 0 { [&found.gone, &found.came] } else { [&found.came, &found.gone] };
            let case = format!("side {damaged_side}, {text}");
            assert_eq!((of_damaged.len(), of_sound.len(), found.same.len()), (18, 2, 0), "{case}");
            assert_eq!((own.len(), others.len()), (1, 0), "{case}");
        }
    }
    Ok(())
}
