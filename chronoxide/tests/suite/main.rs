//! The facade, as an engine uses it, against plain models: sets of labelsets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chronoxide::{
    BlockWriter, Blocks, Checks, CompactOptions, Error, ErrorKind, Layout, OpenOptions, SeriesNumber, WriteOptions,
    Written, compact,
};

mod batches;
mod columns;
mod counts;
mod opening;
mod owned;
mod remote;
mod selection;
mod sorted;
mod times;

type TestResult = Result<(), Box<dyn StdError>>;
/// Labels of a series, by name.
type Labelset = BTreeMap<String, String>;

/// Labelsets that look like those of pods: `from` and `to` are numbers of pods.
fn labelsets(from: u32, to: u32) -> Vec<Labelset> {
    let labels = |pod: u32, metric: &str| {
        let mut labels = vec![
            ("pod".to_owned(), format!("web-{pod}")),
            ("__name__".to_owned(), metric.to_owned()),
            ("namespace".to_owned(), format!("team-{}", pod % 3)),
        ];
        if pod.is_multiple_of(2) {
            labels.push(("größe".to_owned(), "klein".to_owned()));
        }
        labels.into_iter().collect::<Labelset>()
    };
    (from..to).flat_map(|pod| ["up", "requests_total"].map(|metric| labels(pod, metric))).collect()
}

/// Writes a block of labelsets, whose labels come in the reverse order of their names.
fn write(path: &Path, options: WriteOptions, labelsets: &[Labelset]) -> Result<(Written, Vec<SeriesNumber>), Error> {
    let mut writer = BlockWriter::with_options(options);
    let numbers = labelsets.iter().map(|labels| writer.insert(labels.iter().rev())).collect::<Result<Vec<_>, _>>()?;
    Ok((writer.finish(path)?, numbers))
}

/// Two blocks, of pods 0 to 9 and 5 to 14, with times 0 to 100 and 100 to 200.
struct Fixture {
    folder: tempfile::TempDir,
    paths: [PathBuf; 2],
    all: BTreeSet<Labelset>,
}

impl Fixture {
    fn new() -> Result<Self, Box<dyn StdError>> {
        let folder = tempfile::tempdir()?;
        let paths = ["a.cx", "b.cx"].map(|name| folder.path().join(name));
        let sets = [labelsets(0, 10), labelsets(5, 15)];
        write(&paths[0], WriteOptions::new().time(0, 100), &sets[0])?;
        write(&paths[1], WriteOptions::new().time(100, 200).layout(Layout::BitPacked), &sets[1])?;
        Ok(Self { folder, paths, all: sets.concat().into_iter().collect() })
    }

    fn blocks(&self) -> Result<Blocks, Error> {
        Blocks::open(self.folder.path())
    }

    /// Returns the labelsets that satisfy a condition.
    fn matching(&self, condition: impl Fn(&Labelset) -> bool) -> BTreeSet<Labelset> {
        self.all.iter().filter(|labels| condition(labels)).cloned().collect()
    }
}

/// Reads all series of a query, and checks that each comes once.
fn read(query: &chronoxide::Query<'_>) -> Result<BTreeSet<Labelset>, Box<dyn StdError>> {
    let mut found = BTreeSet::new();
    let mut rows = query.series()?;
    while let Some(series) = rows.next()? {
        assert!(series.labels().is_sorted_by_key(|label| label.name));
        assert!(series.labels().iter().all(|label| series.get(label.name) == Some(label.value)));
        assert_eq!(series.get("no such label"), None);
        let labels = series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned()));
        assert!(found.insert(labels.collect()), "a series came twice");
    }
    assert_eq!(query.count()?, found.len() as u64);
    counts::check(query, &found)?;
    Ok(found)
}

#[test]
fn queries_of_a_folder_give_each_series_once() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    assert_eq!(blocks.len(), 2);
    assert_eq!(read(&blocks.query("{}")?)?, fixture.all);
    let up = fixture.matching(|labels| labels["__name__"] == "up" && labels["namespace"] != "team-1");
    assert_eq!(read(&blocks.query(r#"up{namespace!="team-1"}"#)?)?, up);
    let either = fixture.matching(|labels| labels["pod"] == "web-7" || labels["namespace"] == "team-0");
    assert_eq!(read(&blocks.query(r#"{pod="web-7"}"#)?.or(r#"{namespace="team-0"}"#)?)?, either);
    assert_eq!(read(&blocks.query(r#"{pod="absent"}"#)?)?, BTreeSet::new());
    Ok(())
}

#[test]
fn a_time_range_leaves_out_blocks() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let query = blocks.query("up")?;
    for ((start, end), pods) in
        [((0, 100), 10), ((100, 101), 10), ((99, 101), 15), ((200, 300), 0), ((50, 50), 0), ((60, 40), 0)]
    {
        assert_eq!(query.clone().between(start, end).count()?, pods, "{start} to {end}");
    }
    let mut times: Vec<_> = blocks.iter().map(|block| Ok(block?.time)).collect::<Result<_, Error>>()?;
    times.sort_unstable();
    assert_eq!(times, [Some((0, 100)), Some((100, 200))]);
    Ok(())
}

#[test]
fn names_values_and_groups_agree_with_the_model() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let query = blocks.query(r#"{pod=~"web-1.*"}"#)?.or(r#"{pod="web-3"}"#)?;
    let selected = fixture.matching(|labels| labels["pod"].starts_with("web-1") || labels["pod"] == "web-3");
    let names: BTreeSet<&str> = selected.iter().flat_map(|labels| labels.keys().map(String::as_str)).collect();
    assert_eq!(query.label_names()?, Vec::from_iter(names));
    let pods: BTreeSet<&str> = selected.iter().map(|labels| labels["pod"].as_str()).collect();
    assert_eq!(query.label_values("pod")?, Vec::from_iter(pods));
    assert_eq!(query.label_values("no such label")?, Vec::<&str>::new());

    for names in [&["namespace"][..], &["größe", "namespace"], &[], &["no such label"]] {
        let mut by = BTreeMap::<Labelset, u64>::new();
        let mut without = by.clone();
        for labels in &selected {
            let (kept, dropped) = labels.clone().into_iter().partition(|(name, _)| names.contains(&name.as_str()));
            *by.entry(kept).or_default() += 1;
            *without.entry(dropped).or_default() += 1;
        }
        let counts = |groups: chronoxide::Groups<'_>| -> BTreeMap<Labelset, u64> {
            let text = |label: &chronoxide::Label<'_>| (label.name.to_owned(), label.value.to_owned());
            groups.iter().map(|group| (group.labels.iter().map(text).collect(), group.series)).collect()
        };
        assert_eq!(counts(query.group_by(names)?), by, "by {names:?}");
        assert_eq!(counts(query.group_without(names)?), without, "without {names:?}");
    }
    Ok(())
}

#[test]
fn ids_lead_back_to_their_series() -> TestResult {
    let fixture = Fixture::new()?;
    let path = fixture.folder.path().join("c.cx");
    let sets = labelsets(20, 25);
    let (written, numbers) = write(&path, WriteOptions::new(), &sets)?;
    assert_eq!(numbers, Vec::from_iter((0..10).map(SeriesNumber)));
    let blocks = Blocks::open(&path)?;
    for (labels, &number) in sets.iter().zip(&numbers) {
        let id = written.id_of(number);
        let found = blocks.labels(id)?.expect("the series was written");
        let found: Labelset = found.iter().map(|label| (label.name.to_owned(), label.value.to_owned())).collect();
        assert_eq!(found, *labels);
        assert_eq!(blocks.find(labels.iter().rev())?, [id]);
    }
    let error = blocks.find([("z", "1"), ("z", "2")]).expect_err("two labels of one name");
    assert_eq!(error.kind(), ErrorKind::Usage);
    // The id is that of another block.
    assert!(fixture.blocks()?.labels(written.id_of(numbers[0]))?.is_some());
    assert_eq!(Blocks::open(&fixture.paths[0])?.labels(written.id_of(numbers[0]))?, None);

    let both = Blocks::open(fixture.folder.path())?;
    let mut rows = both.query(r#"up{pod="web-7"}"#)?.series()?;
    let ids: Vec<_> = rows.next()?.expect("both blocks have the series").ids().collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0].block, ids[1].block);
    for id in ids {
        let labels = both.labels(id)?.expect("the block is open");
        assert!(labels.iter().any(|label| (label.name, label.value) == ("pod", "web-7")));
    }
    Ok(())
}

#[test]
fn a_writer_takes_labels_in_any_order_and_each_series_once() -> TestResult {
    let mut writer = BlockWriter::new();
    let first = writer.insert([("b", "2"), ("a", "1")])?;
    assert_eq!(writer.insert([("a", "1"), ("b", "2"), ("empty", "")])?, first);
    assert_ne!(writer.insert([("a".to_owned(), "1".to_owned())])?, first);
    assert_eq!(writer.len(), 2);
    for (labels, text) in [(vec![], "label"), (vec![("a", "1"), ("a", "2")], "name"), (vec![("", "1")], "name")] {
        let error = writer.insert(labels).expect_err("not a labelset");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(writer.len(), 2);

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.cx");
    std::fs::write(&path, "precious")?;
    let error = writer.finish(&path).expect_err("the file exists");
    assert_eq!((error.kind(), std::fs::read_to_string(&path)?), (ErrorKind::Exists, "precious".to_owned()));
    let (written, _) = write(&path, WriteOptions::new().replace(true), &labelsets(0, 1))?;
    assert_eq!(std::fs::metadata(&path)?.len(), written.byte_len);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "nothing else is left");
    let again = folder.path().join("b.cx");
    writer.finish(&again)?;
    assert_eq!(Blocks::open(&again)?.query("{}")?.count()?, 2, "a call that failed lost no series");
    Ok(())
}

#[test]
fn labels_of_a_series_are_written_and_found_as_they_are() -> TestResult {
    let fixture = Fixture::new()?;
    let (blocks, mut writer) = (fixture.blocks()?, BlockWriter::new());
    let mut rows = blocks.query("{}")?.series()?;
    while let Some(series) = rows.next()? {
        writer.insert(series.labels())?;
        assert_eq!(blocks.find(series.labels())?, series.ids().collect::<Vec<_>>());
        let pairs: Vec<(&str, &str)> = series.labels().iter().map(|&label| label.into()).collect();
        assert!(blocks.query("{}")?.has(&pairs)? && blocks.query("{}")?.has(pairs)?);
    }
    let path = fixture.folder.path().join("copy.cx");
    writer.finish(&path)?;
    assert_eq!(read(&Blocks::open(&path)?.query("{}")?)?, fixture.all);
    Ok(())
}

#[test]
fn limits_are_those_of_each_call() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let kind = |query: chronoxide::Query<'_>| query.count().map_err(|error| error.kind());
    let query = blocks.query("up")?;
    assert_eq!(kind(query.clone().max_series(19)), Err(ErrorKind::TooManySeries));
    assert_eq!(kind(query.clone().max_series(20)), Ok(15));
    for max in [19, 20] {
        let limited = query.clone().max_series(max);
        let cardinality = limited.cardinality().map(|found| found.series);
        let mut rows = limited.distinct_series()?;
        let read = std::iter::from_fn(|| rows.next_ids().map(|ids| ids.map(|_| ())).transpose()).collect::<Vec<_>>();
        let read = read.into_iter().collect::<Result<Vec<()>, _>>().map(|rows| rows.len() as u64);
        for found in [cardinality, read] {
            let expected = if max < 20 { Err(ErrorKind::TooManySeries) } else { Ok(15) };
            assert_eq!(found.map_err(|error| error.kind()), expected);
        }
    }
    let one = Blocks::open(&fixture.paths[0])?;
    let error = one.query("{}")?.max_series(19).cardinality().expect_err("20 series");
    assert_eq!(error.kind(), ErrorKind::TooManySeries);
    assert_eq!(kind(query.clone().max_memory(1)), Err(ErrorKind::OutOfResources));
    assert_eq!(kind(query.clone().timeout(Duration::ZERO)), Err(ErrorKind::Timeout));
    let flag = AtomicBool::new(true);
    assert_eq!(kind(query.clone().cancelled_by(&flag)), Err(ErrorKind::Cancelled));
    // The clock of a kept query starts with each call.
    let kept = query.timeout(Duration::from_secs(2));
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(kind(kept), Ok(15));
    Ok(())
}

#[test]
fn errors_name_the_file_and_the_reason() -> TestResult {
    let fixture = Fixture::new()?;
    let missing = fixture.folder.path().join("missing.cx");
    let error = Blocks::open(&missing).expect_err("there is no such file");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*missing)));
    let system = std::fs::read(&missing).expect_err("there is no such file").to_string();
    assert!(error.to_string().contains(&system), "{error}");

    let error = Blocks::open("no\n\u{1b}[31mfile.cx").expect_err("there is no such file");
    assert!(error.to_string().contains(r"no\u000a\u001b[31mfile.cx"), "{error}");

    let blocks = fixture.blocks()?;
    let error = blocks.query("up{").expect_err("not a selector");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Usage, None));
    assert_eq!(size_of::<Error>(), size_of::<usize>());

    opening::damage(&fixture)?;
    let damaged = fixture.blocks()?;
    let error = read(&damaged.query("{}")?).expect_err("a string is damaged");
    let error = error.downcast::<Error>()?;
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
    assert!(error.rule().is_some_and(|rule| error.to_string().contains(rule)), "{error}");
    let eager = OpenOptions::new().checks(Checks::Eager);
    assert_eq!(eager.open(fixture.folder.path()).map_err(|error| error.kind()).err(), Some(ErrorKind::Corrupt));
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/archive-many.cx");
    let error = OpenOptions::new().max_archive_memory(1).open(archive).expect_err("its strings take more");
    assert_eq!((error.kind(), error.path()), (ErrorKind::OutOfResources, Some(Path::new(archive))));
    assert!(OpenOptions::new().open(archive)?.query("{}")?.count()? > 0);
    let left = eager.skip_damaged(true).open(fixture.folder.path())?;
    assert_eq!(left.len(), 1);
    let [error] = left.damaged() else { panic!("one file is damaged") };
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
    Ok(())
}

#[test]
fn merged_blocks_have_each_series_once() -> TestResult {
    let fixture = Fixture::new()?;
    let output = fixture.folder.path().join("all.cx");
    let options = CompactOptions::new().drop(r#"{pod="web-7"}"#)?;
    let merged = compact(&fixture.paths, &output, &options)?;
    let expected = fixture.matching(|labels| labels["pod"] != "web-7");
    assert_eq!(read(&Blocks::open(&output)?.query("{}")?)?, expected);
    assert_eq!((merged.series_in, merged.series_out), (40, expected.len() as u64));
    assert_eq!(Blocks::open(&output)?.iter().next().expect("a block")?.id, merged.block);
    assert_eq!(merged.series_in, merged.series_out + merged.duplicates + merged.dropped);

    // Without some series it does not take the place of its inputs.
    let folder = fixture.blocks()?;
    assert_eq!((folder.len(), folder.query("{}")?.count()?), (3, fixture.all.len() as u64));
    let error = compact(&fixture.paths, &output, &options).expect_err("the output exists");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Exists, Some(&*output)));
    let new = fixture.folder.path().join("new.cx");
    let error = compact(&fixture.paths, &new, &CompactOptions::new().max_memory(1)).expect_err("too little memory");
    assert_eq!((error.kind(), new.exists()), (ErrorKind::OutOfResources, false));
    let error = compact(&fixture.paths, new.join("in no folder.cx"), &options).expect_err("there is no such folder");
    assert_eq!(error.kind(), ErrorKind::Io);
    // The output may take the place of an input.
    let twice = compact([&new, &new], &new, &options).expect_err("there is no such input");
    assert_eq!((twice.kind(), twice.path()), (ErrorKind::Io, Some(&*new)));
    write(&new, WriteOptions::new(), &labelsets(0, 4))?;
    let twice = compact([&new, &new], &new, &CompactOptions::new().replace(true))?;
    assert_eq!((twice.series_in, twice.duplicates, Blocks::open(&new)?.query("{}")?.count()?), (16, 8, 8));
    let none = compact([] as [&str; 0], fixture.folder.path().join("none.cx"), &options);
    assert_eq!(none.map(|none| none.series_out).map_err(|error| error.kind()), Err(ErrorKind::Usage));
    let only = CompactOptions::new().keep("up")?.replace(true).layout(Layout::FixedWidth);
    assert_eq!(compact(&fixture.paths, &output, &only)?.series_out, 15);
    let text = fixture.folder.path().join("text");
    std::fs::write(&text, "not a block")?;
    let error = compact([&text], fixture.folder.path().join("new.cx"), &only).expect_err("an input is not a block");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*text)));
    Ok(())
}

#[test]
fn a_refreshed_snapshot_has_the_blocks_of_now() -> TestResult {
    let fixture = Fixture::new()?;
    let folder = fixture.folder.path();
    // SAFETY: files are only added and deleted.
    for before in [fixture.blocks()?, unsafe { OpenOptions::new().map() }.open(folder)?] {
        let all = before.query("{}")?.count()?;
        compact(&fixture.paths, folder.join("all.cx"), &CompactOptions::new())?;
        let after = before.refresh()?;
        assert_eq!((before.len(), after.len(), before.replaced(), after.replaced()), (2, 1, 0, 2));
        assert_eq!((before.query("{}")?.count()?, after.query("{}")?.count()?), (all, all));
        std::fs::remove_file(folder.join("all.cx"))?;
        let back = after.refresh()?;
        assert_eq!((back.len(), back.query("{}")?.count()?), (2, all));
    }
    // SAFETY: the file is only replaced by renaming.
    for before in [Blocks::open(&fixture.paths[0])?, unsafe { OpenOptions::new().map() }.open(&fixture.paths[0])?] {
        write(&fixture.paths[0], WriteOptions::new().replace(true), &labelsets(0, 1))?;
        assert_eq!((before.query("{}")?.count()?, before.refresh()?.query("{}")?.count()?), (20, 2));
        write(&fixture.paths[0], WriteOptions::new().replace(true), &labelsets(0, 10))?;
    }
    Ok(())
}

#[test]
fn a_snapshot_outlives_its_files() -> TestResult {
    let fixture = Fixture::new()?;
    // SAFETY: the files are only deleted.
    let mapped = unsafe { OpenOptions::new().map() }.open(fixture.folder.path())?;
    let copied = mapped.clone();
    for path in &fixture.paths {
        std::fs::remove_file(path)?;
    }
    assert!(fixture.blocks()?.is_empty());
    let read = std::thread::spawn(move || -> Result<u64, Error> { copied.query("{}")?.count() });
    assert_eq!(read.join().expect("no panic")?, fixture.all.len() as u64);
    assert_eq!(mapped.query("up")?.count()?, 15);
    Ok(())
}

/// A time range holds for each kind of result.
#[test]
fn a_time_range_leaves_out_blocks_of_all_results() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    for ((start, end), (from, to)) in [((0, 100), (0, 10)), ((100, 200), (5, 15)), ((99, 101), (0, 15))] {
        let expected: BTreeSet<Labelset> = labelsets(from, to).into_iter().collect();
        let query = blocks.query("{}")?.between(start, end);
        assert_eq!(read(&query)?, expected);
        assert_eq!(query.select()?.len(), if to - from == 10 { 20 } else { 40 });
        for labels in &fixture.all {
            assert_eq!(query.has(labels)?, expected.contains(labels), "{start} to {end}: {labels:?}");
        }
    }
    Ok(())
}

/// Groups come in the order of their labels, whichever block has their series.
#[test]
fn groups_come_in_order() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let groups = blocks.query("{}")?.group_by(&["pod"])?;
    let pods: BTreeSet<&str> = fixture.all.iter().map(|labels| labels["pod"].as_str()).collect();
    assert!(groups.iter().map(|group| group.get("pod")).eq(pods.into_iter().map(Some)), "{groups:?}");
    assert!(groups.iter().all(|group| group.series == 2 && group.get("namespace").is_none()), "{groups:?}");
    Ok(())
}

/// Selectors that keep series leave out others, which the inputs still have.
#[test]
fn blocks_stay_live_beside_a_merge_of_some_of_their_series() -> TestResult {
    let fixture = Fixture::new()?;
    let some = CompactOptions::new().keep("up")?;
    assert_eq!(compact(&fixture.paths, fixture.folder.path().join("up.cx"), &some)?.series_out, 15);
    let blocks = fixture.blocks()?;
    assert_eq!((blocks.len(), blocks.replaced()), (3, 0));
    assert_eq!(read(&blocks.query("{}")?)?, fixture.all);
    Ok(())
}

/// An error of a merge names the input that is damaged, also if it is not the first. Checksums do not tell: a value
/// is not text, or not in its place in the order of values.
#[test]
fn a_merge_names_its_damaged_input() -> TestResult {
    let fixture = Fixture::new()?;
    for (number, path) in fixture.paths.iter().enumerate() {
        let sound = fs::read(path)?;
        for byte in [0xff, b'x'] {
            opening::replace_first_byte(path, "web-7", byte)?;
            let output = fixture.folder.path().join(format!("{number}.out"));
            let error = compact(&fixture.paths, &output, &CompactOptions::new()).expect_err("an input is damaged");
            assert_eq!((error.kind(), error.path(), output.exists()), (ErrorKind::Corrupt, Some(&**path), false));
            fs::write(path, &sound)?;
        }
    }
    Ok(())
}

/// Files have the layout that was asked for: rows of a fixed width are longer.
#[test]
fn layouts_are_those_of_the_options() -> TestResult {
    let folder = tempfile::tempdir()?;
    let lens = [Layout::BitPacked, Layout::FixedWidth].map(|layout| {
        let path = folder.path().join(format!("{layout:?}.cx"));
        let (written, _) = write(&path, WriteOptions::new().layout(layout), &labelsets(0, 3000))?;
        let merged = path.with_extension("merged");
        let merged = compact([&path], merged, &CompactOptions::new().layout(layout))?;
        Ok::<_, Error>([written.byte_len, merged.byte_len])
    });
    let [packed, fixed] = lens;
    let (packed, fixed) = (packed?, fixed?);
    assert!(packed[0] < fixed[0] && packed[1] < fixed[1], "{packed:?} {fixed:?}");
    Ok(())
}
