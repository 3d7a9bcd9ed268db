//! Sets of blocks answer as a plain filter over all their labelsets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chronoxide_compactor::CompactOptions;
use chronoxide_format::SeriesRef;
use chronoxide_format::layout::{MAGIC, RowForm};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::merge_in_memory;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Block, Checks, FileError, FolderError};
use chronoxide_select::{
    BlockSet, BlockSetError, Labels, Limits, Matcher, Operator, Partial, Searcher, SelectError, Selection, SetQuery,
    SetSelection, as_text,
};
use chronoxide_select_model::random_matchers;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use chronoxide_testkit::requirement::skip_or_fail;

/// A folder of `count` random blocks with times; block `n` has data from `n` * 10 to `n` * 10 + 10.
fn blocks(folder: &Path, count: u64, random: &mut Random) -> Vec<BTreeSet<Labelset>> {
    let block = |number: u64| {
        // Several blocks have one seed, so that they have series in common.
        let mut contents = Random::new(number / 3);
        let mut series = random_series(200, &mut contents);
        series.retain(|_| random.percent(70));
        let plan = random_plan(&series, random);
        let start = number as i64 * 10;
        let meta = BlockMeta { time: Some(TimeRange { start, end: start + 10 }), ..BlockMeta::default() };
        let bytes = build(&series, &plan, RowForm::BitPacked, &meta).expect("the plan is valid");
        fs::write(folder.join(format!("{number:03}.cx")), bytes).expect("a file");
        series
    };
    (0..count).map(block).collect()
}

fn present(name: &str) -> Matcher {
    Matcher::new(name, Operator::NotEqual, "").expect("valid")
}

fn matches(labels: &Labelset, matchers: &[Matcher]) -> bool {
    matchers.iter().all(|matcher| matcher.matches(labels.get(matcher.name()).map_or("", |value| value)))
}

fn labels(block: &Block, series: SeriesRef) -> Labelset {
    let view = block.view();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let series = view.series(series).expect("sound").expect("in range");
    series.labels().map(|label| label.expect("sound")).map(|label| (text(label.name), text(label.value))).collect()
}

fn file_name(block: &Block) -> String {
    block.path().expect("a file").file_name().expect("a name").to_string_lossy().into_owned()
}

/// Selected labelsets, with the files that have them.
fn joined(set: &BlockSet, selection: &SetSelection) -> BTreeMap<Labelset, Vec<String>> {
    let mut joined = BTreeMap::new();
    for occurrences in set.query().join(selection).expect("sound").found.iter() {
        let first = occurrences[0];
        let own = labels(set.blocks()[first.block].block(), first.series);
        let mut files = Vec::new();
        for place in occurrences {
            assert_eq!(labels(set.blocks()[place.block].block(), place.series), own);
            files.push(file_name(set.blocks()[place.block].block()));
        }
        files.sort();
        assert_eq!(joined.insert(own, files), None, "a labelset is joined once");
    }
    joined
}

/// Selected labelsets, each with the file of the block that gives it.
fn distinct(set: &BlockSet, query: &SetQuery<'_>, selection: &SetSelection) -> BTreeMap<Labelset, String> {
    let read = |searcher: &Searcher<'_, '_>, series: &Selection| {
        let id = searcher.view().block_id();
        Ok(series.iter().map(|series| (id, series)).collect::<Vec<_>>())
    };
    let mut found = BTreeMap::new();
    for (id, series) in query.each_distinct(selection, read).expect("no limits").found.concat() {
        let block = set.blocks().iter().find(|block| block.id() == id).expect("a block of the set").block();
        assert_eq!(found.insert(labels(block, series), file_name(block)), None, "a labelset comes once");
    }
    found
}

/// Numbers of distinct series by the values of some labels.
fn grouped(
    query: &SetQuery<'_>,
    selection: &SetSelection,
    names: &[&str],
) -> (BTreeMap<Labelset, u64>, Vec<FileError<SelectError>>) {
    let read = |searcher: &Searcher<'_, '_>, series: &Selection| {
        let groups = searcher.group(series, Labels::By(names))?;
        let text = |bytes| as_text(bytes).map(str::to_owned);
        let labels = |group: u32| {
            let labels = groups.labels(searcher.view(), group as usize)?;
            labels.iter().map(|label| Ok((text(label.name)?, text(label.value)?))).collect()
        };
        groups.numbers().iter().map(|&group| labels(group)).collect::<Result<Vec<Labelset>, SelectError>>()
    };
    let Partial { found, failed, .. } = query.each_distinct(selection, read).expect("no limits");
    let mut counts = BTreeMap::new();
    found.concat().into_iter().for_each(|labels| *counts.entry(labels).or_default() += 1);
    (counts, failed)
}

#[test]
fn a_set_answers_as_the_filter_over_all_its_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::new(11);
    let contents = blocks(folder.path(), 12, &mut random);
    fs::write(folder.path().join("torn.cx"), b"CHRONOXI").expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    assert_eq!((set.blocks().len(), set.unreadable().len()), (12, 1));
    let all: Vec<Labelset> = contents.iter().flatten().cloned().collect();
    for case in 0..60 {
        let matchers = random_matchers(&all, &mut random);
        let query = set.query();
        let selection = query.select(&matchers).expect("no limits");
        assert!(selection.failed().is_empty());
        let mut expected: BTreeMap<Labelset, Vec<String>> = BTreeMap::new();
        for (number, series) in contents.iter().enumerate() {
            for labels in series.iter().filter(|labels| matches(labels, &matchers)) {
                expected.entry(labels.clone()).or_default().push(format!("{number:03}.cx"));
            }
        }
        assert_eq!(selection.count(), expected.values().map(|files| files.len() as u64).sum::<u64>());
        assert_eq!(joined(&set, &selection), expected);

        let names: BTreeSet<&str> = expected.keys().flat_map(|labels| labels.keys()).map(String::as_str).collect();
        assert_eq!(query.label_names(&matchers).expect("no limits").found, Vec::from_iter(names));
        let values: BTreeSet<&str> =
            expected.keys().filter_map(|labels| labels.get("pod")).map(String::as_str).collect();
        assert_eq!(
            query.label_values("pod", &matchers, None).expect("no limits").found,
            Vec::from_iter(values.clone())
        );
        let three = values.into_iter().take(3).collect::<Vec<_>>();
        assert_eq!(query.label_values("pod", &matchers, Some(3)).expect("no limits").found, three);

        // In little memory the series of 12 blocks are compared in many passes.
        let limits = Limits::default().with_max_memory(1_u64 << random.below(18));
        let queries = [query, query.with_limits(limits)];
        for query in &queries[..if case % 8 == 0 { 2 } else { 1 }] {
            let first = |files: &[String]| {
                let mut in_order = set.blocks().iter().map(|block| file_name(block.block()));
                in_order.find(|file| files.contains(file)).expect("one has the series")
            };
            let firsts: BTreeMap<Labelset, String> =
                expected.iter().map(|(labels, files)| (labels.clone(), first(files))).collect();
            assert_eq!(distinct(&set, query, &selection), firsts);
            let mut groups: BTreeMap<Labelset, u64> = BTreeMap::new();
            for labels in expected.keys() {
                let mut own = labels.clone();
                own.retain(|name, _| name == "pod" || name == "zone");
                *groups.entry(own).or_default() += 1;
            }
            assert_eq!(grouped(query, &selection, &["pod", "zone"]).0, groups);
        }
    }
    // A set without indexes, and the one that the queries above made them for.
    let fresh = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    for (labels, set) in all.iter().step_by(17).flat_map(|labels| [(labels, &set), (labels, &fresh)]) {
        let pairs: Vec<(&String, &String)> = labels.iter().collect();
        let found = set.query().find(&pairs).expect("sound").found;
        let files = found.iter().map(|found| found.block).collect::<Vec<_>>();
        assert!(files.is_sorted());
        assert_eq!(files.len(), contents.iter().filter(|series| series.contains(labels)).count());
        for found in found {
            assert_eq!(self::labels(set.blocks()[found.block].block(), found.series), *labels);
        }
    }
    assert_eq!(set.query().find(&[("no", "such")]).expect("sound").found, []);
}

#[test]
fn a_time_range_leaves_out_blocks_without_data_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let contents = blocks(folder.path(), 6, &mut Random::new(3));
    let unknown = build(&contents[0], &Default::default(), RowForm::BitPacked, &BlockMeta::default()).expect("valid");
    fs::write(folder.path().join("unknown.cx"), unknown).expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    let files = |start, end| {
        let selection = set.query().within(start, end).select(&[]).expect("no limits");
        let name = |block: usize| {
            set.blocks()[block]
                .block()
                .path()
                .expect("a file")
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        selection.blocks().iter().map(|block| name(block.block)).collect::<BTreeSet<String>>()
    };
    let expected = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(files(10, 20), expected(&["001", "unknown"]));
    assert_eq!(files(9, 21), expected(&["000", "001", "002", "unknown"]));
    assert_eq!(files(60, 99), expected(&["unknown"]));
    assert_eq!(files(i64::MIN, i64::MAX).len(), 7);
}

#[test]
fn a_snapshot_survives_a_compaction_and_a_refresh_hides_its_parents() {
    let folder = tempfile::tempdir().expect("a folder");
    let contents = blocks(folder.path(), 4, &mut Random::new(5));
    // SAFETY: files of the folder are created and deleted, and never written to after that.
    let set = unsafe { BlockSet::map(folder.path(), Checks::Lazy) }.expect("a folder");
    let before = joined(&set, &set.query().select(&[]).expect("no limits"));

    let bytes: Vec<Vec<u8>> =
        (0..4).map(|n| fs::read(folder.path().join(format!("{n:03}.cx"))).expect("a block")).collect();
    let views: Vec<BlockView<'_>> = bytes.iter().map(|bytes| BlockView::open(bytes).expect("sound")).collect();
    let mut spool = Spool::new(&Disk, folder.path(), usize::MAX);
    let merged = merge_in_memory(&views, &CompactOptions::default(), false, &mut spool).expect("sound blocks merge");
    for (number, output) in merged.outputs.iter().enumerate() {
        fs::write(folder.path().join(format!("merged-{number}.cx")), output).expect("a file");
    }
    let refresh = || BlockSet::read(folder.path(), Checks::Eager).expect("a folder").with_indexes_of(&set);
    let hiding = refresh();
    assert_eq!((hiding.blocks().len(), hiding.hidden().len()), (1, 4), "parents are hidden");
    for number in 0..4 {
        fs::remove_file(folder.path().join(format!("{number:03}.cx"))).expect("a file to delete");
    }
    let old = set.query().select(&[]).expect("no limits");
    assert!(matches!(hiding.query().join(&old), Err(SelectError::OtherSnapshot)), "blocks have other positions");
    let other = hiding.query().each_distinct(&old, |_, series| Ok(series.count()));
    assert!(matches!(other, Err(SelectError::OtherSnapshot)));
    let refreshed = refresh();
    assert_eq!((refreshed.blocks().len(), refreshed.hidden().len()), (1, 0));
    let union: BTreeSet<Labelset> = contents.into_iter().flatten().collect();
    for after in [hiding, refreshed] {
        let found = joined(&after, &after.query().select(&[]).expect("no limits"));
        assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), union, "each series is there once");
    }
    assert_eq!(joined(&set, &set.query().select(&[]).expect("no limits")), before, "the snapshot did not change");
}

#[test]
fn damage_that_is_found_late_takes_down_one_block_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let contents = blocks(folder.path(), 9, &mut Random::new(8));
    // A value of several chunks, so that opening does not read the last one.
    let series = BTreeSet::from([Labelset::from([("pod".to_owned(), "x".repeat(30_000))])]);
    let mut bytes = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).expect("valid");
    let place = bytes.len() - 4_000;
    bytes[place] ^= 1;
    fs::write(folder.path().join("damaged.cx"), bytes).expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    assert_eq!((set.blocks().len(), set.unreadable().len()), (10, 0), "opening reads little");
    let matchers = [Matcher::new("pod", Operator::NotEqual, "pod-1").expect("valid"), present("pod")];
    let selection = set.query().select(&matchers).expect("the query goes on");
    let [failed] = selection.failed() else { panic!("{:?}", selection.failed()) };
    assert!(failed.to_string().contains("damaged.cx"), "{failed}");
    let expected = contents.iter().flatten().filter(|labels| matches(labels, &matchers)).count();
    assert_eq!(selection.count(), expected as u64);
    assert!(expected > 0);

    // All series are selected without a look at their values; the damage is met later.
    let query = set.query();
    let all = query.select(&[]).expect("no limits");
    assert!(all.failed().is_empty());
    let distinct = contents.iter().flatten().collect::<BTreeSet<_>>().len();
    let joined = query.join(&all).expect("the query goes on");
    assert_eq!(joined.found.len(), distinct);
    let (groups, groups_failed) = grouped(&query, &all, &["pod"]);
    let pods: BTreeSet<_> = contents.iter().flatten().map(|labels| labels.get("pod")).collect();
    assert_eq!(groups.len(), pods.len());
    assert_eq!(groups.values().sum::<u64>(), distinct as u64);
    let longer = "x".repeat(30_000);
    let found = query.find(&[("pod", &longer)]).expect("names differ");
    assert_eq!(found.found, []);
    for failed in [joined.failed, groups_failed, found.failed] {
        let [failed] = &failed[..] else { panic!("{failed:?}") };
        assert!(failed.to_string().contains("damaged.cx"), "{failed}");
    }
}

#[test]
fn series_of_a_block_that_cannot_be_read_come_from_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let contents = blocks(folder.path(), 6, &mut Random::new(4));
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    let all = set.query().select(&[]).expect("no limits");
    for bad in set.blocks() {
        let counts = set.query().each_distinct(&all, |searcher, series| match searcher.view().block_id() == bad.id() {
            true => as_text(b"\xff").map(|_| 0),
            false => Ok(u64::from(series.count())),
        });
        let counts = counts.expect("no limits");
        let others = (0..).zip(&contents).filter(|(number, _)| file_name(bad.block()) != format!("{number:03}.cx"));
        let expected = others.flat_map(|(_, series)| series).collect::<BTreeSet<_>>().len();
        assert_eq!(counts.found.iter().sum::<u64>(), expected as u64);
        assert!(counts.failed.iter().map(|error| error.path.as_deref()).eq([bad.block().path()]));
    }
}

#[test]
fn limits_hold_for_all_blocks_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let contents = blocks(folder.path(), 3, &mut Random::new(2));
    let count: u64 = contents.iter().map(|series| series.len() as u64).sum();
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    let select = |max| set.query().with_limits(Limits::default().with_max_series(max)).select(&[]);
    assert_eq!(select(count).expect("allowed").count(), count);
    assert_eq!(select(count - 1).expect_err("too many"), SelectError::TooManySeries { limit: count - 1 });
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let limits = Limits::default().with_cancellation(&cancelled);
    assert_eq!(set.query().with_limits(limits).select(&[]).expect_err("cancelled"), SelectError::Cancelled);
    let limits = Limits::default().with_timeout(std::time::Duration::ZERO);
    assert_eq!(set.query().with_limits(limits).select(&[]).expect_err("late"), SelectError::DeadlineExceeded);
}

#[test]
fn a_folder_that_exceeds_the_limits_of_the_system_is_not_taken_for_a_damaged_one() {
    // A file of 2^60 bytes that has only the magic in it: no address space has room for it.
    let folder = match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => folder,
        Err(error) => return skip_or_fail("a file system with files of any length", error),
    };
    let contents = blocks(folder.path(), 3, &mut Random::new(3));
    fs::write(folder.path().join("large.cx"), MAGIC).expect("a file");
    let large = fs::File::options().write(true).open(folder.path().join("large.cx")).expect("the file");
    large.set_len(1 << 60).expect("a file in memory can have this length");
    // SAFETY: files of the folder are not changed while they are mapped.
    for result in [unsafe { BlockSet::map(folder.path(), Checks::Lazy) }, BlockSet::read(folder.path(), Checks::Lazy)] {
        let error = result.expect_err("not all blocks fit");
        assert!(matches!(error, BlockSetError::TooMany { opened: 3, .. }), "{error:?}");
        assert!(error.to_string().contains("limit is reached after 3 blocks"), "{error}");
    }
    fs::remove_file(folder.path().join("large.cx")).expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("the others fit");
    assert_eq!(set.blocks().len(), contents.len());
}

#[test]
fn the_limit_of_archives_is_that_of_the_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, pod: &str| {
        let series = BTreeSet::from([Labelset::from([("pod".to_owned(), pod.to_owned())])]);
        let meta = BlockMeta { archive: true, ..BlockMeta::default() };
        let bytes = build(&series, &Plan::default(), RowForm::BitPacked, &meta).expect("sound");
        fs::write(folder.path().join(name), bytes).expect("a file");
    };
    put("a.cx", "api");
    // The arenas have "pod" and a value.
    let set = BlockSet::read_within(folder.path(), Checks::Lazy, 12).expect("6 bytes");
    put("b.cx", "web");
    assert_eq!(set.blocks().len(), 1);
    let set = BlockSet::read_within(folder.path(), Checks::Lazy, 12).expect("12 bytes");
    assert_eq!(set.blocks().len(), 2);
    put("c.cx", "db");
    match BlockSet::read_within(folder.path(), Checks::Lazy, 12) {
        Err(BlockSetError::Folder(FolderError::ArchiveMemory { source, .. })) => {
            assert_eq!((source.needed, source.limit), (17, 12));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(BlockSet::read(folder.path(), Checks::Lazy).expect("4 GiB").blocks().len(), 3);
}
