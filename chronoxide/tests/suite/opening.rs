//! Ways to open blocks, and damage that queries meet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chronoxide::{
    BatchOptions, BlockWriter, Blocks, Checks, CompactOptions, Damage, Error, ErrorKind, OpenOptions, Query,
    SeriesRows, WriteOptions, compact,
};
use chronoxide_reader::{BlockView, SectionKind};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;

use super::{Fixture, Labelset, TestResult, labelsets, read, write};

#[test]
fn bytes_are_a_block() -> TestResult {
    let fixture = Fixture::new()?;
    let bytes = fs::read(&fixture.paths[0])?;
    let blocks = OpenOptions::new().open_bytes(bytes.clone())?;
    assert_eq!(read(&blocks.query("{}")?)?, labelsets(0, 10).into_iter().collect::<BTreeSet<_>>());
    let info = blocks.iter().next().expect("a block")?;
    assert_eq!((info.path, info.url, info.series_count), (None, None, 20));
    assert_eq!(blocks.refresh()?.query("up")?.count()?, 10);
    let error = OpenOptions::new().open_bytes(bytes[..100].to_vec()).expect_err("the rest is missing");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, None));
    Ok(())
}

/// Damages a string of the first block, in a chunk that is not read when it is opened.
pub(super) fn damage(fixture: &Fixture) -> TestResult {
    write(&fixture.paths[0], WriteOptions::new().replace(true), &labelsets(0, 3000))?;
    let mut bytes = fs::read(&fixture.paths[0])?;
    let at = bytes.windows(8).rposition(|window| window == b"web-2718").expect("a pod's name");
    bytes[at] ^= 1;
    Ok(fs::write(&fixture.paths[0], &bytes)?)
}

#[test]
fn goldens_are_verified() -> TestResult {
    for golden in goldens() {
        OpenOptions::new().open_bytes(golden.bytes.clone())?.verify()?;
    }
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let error = fixture.blocks()?.verify().expect_err("a byte is wrong");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
    Ok(())
}

#[test]
fn damaged_blocks_are_left_out_if_that_is_asked_for() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let blocks = fixture.blocks()?;
    assert_eq!(blocks.len(), 2);
    let damaged = Damage::new();
    let query = blocks.query(r#"{pod=~"web-.*[05]"}"#)?;
    assert_eq!(query.count().map_err(|error| error.kind()), Err(ErrorKind::Corrupt));
    let query = query.skip_damaged(&damaged);
    // Pods 5 and 10 of the other block.
    assert_eq!(query.count()?, 4);
    assert_eq!(query.label_values("pod")?, ["web-10", "web-5"]);
    assert_eq!(query.group_by(&["__name__"])?.len(), 2);
    for mut rows in [query.sorted_series()?, query.series()?] {
        let mut count = 0;
        while rows.next()?.is_some() {
            count += 1;
        }
        assert_eq!(count, 4);
    }
    let damaged = damaged.errors();
    let [error] = &damaged[..] else { panic!("one per block: {damaged:?}") };
    assert_eq!(error.path(), Some(&*fixture.paths[0]));
    Ok(())
}

/// Results borrow the blocks only: a list of damage may be local.
fn names(blocks: &Blocks) -> Result<(Vec<&str>, Vec<Error>), Error> {
    let damage = Damage::new();
    let names = blocks.query("{}")?.skip_damaged(&damage).label_names()?;
    Ok((names, damage.take()))
}

#[test]
fn a_kept_selection_is_read_beside_damage() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let (blocks, damage) = (fixture.blocks()?, Damage::new());
    assert!(names(&blocks)?.0.contains(&"pod"));
    let selection = blocks.query("{}")?.skip_damaged(&damage).select()?;
    let mut strict = selection.series();
    let error = loop {
        match strict.next() {
            Ok(series) => assert!(series.is_some(), "a block is damaged"),
            Err(error) => break error,
        }
    };
    let mut rows = selection.series().skip_damaged(&damage);
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    assert!(count >= 20, "those of the sound block: {count}");
    let errors = damage.errors();
    assert_eq!((errors.len(), errors[0].path(), errors[0].to_string()), (1, error.path(), error.to_string()));
    assert!(format!("{error:?}").starts_with("Error { kind: Corrupt, text: \""), "{error:?}");
    Ok(())
}

#[test]
fn limits_of_time_hold_for_short_queries() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let late = || blocks.query("{}").map(|query| query.timeout(std::time::Duration::ZERO));
    let kinds = [
        late()?.label_names().err(),
        late()?.label_values("pod").err(),
        late()?.has([("pod", "web-1")]).err(),
        late()?.cardinality().err(),
    ];
    assert!(
        kinds.iter().flatten().all(|error| error.kind() == ErrorKind::Timeout) && kinds.iter().all(Option::is_some)
    );
    Ok(())
}

#[test]
fn the_text_of_a_selector_parses_to_it() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let count = |query: Query<'_>| query.count();
    for text in ["{}", "up", r#"{"größe"="klein",pod!~"web-.*[13]"}"#, r#"{pod=~"web-(1|\"2)",namespace!=""}"#] {
        let parsed: chronoxide::Selector = text.parse()?;
        let shown = parsed.to_string();
        assert_eq!(count(blocks.query(&parsed)?)?, count(blocks.query(shown.clone())?)?, "{shown}");
        assert_eq!(shown.parse::<chronoxide::Selector>()?.to_string(), shown);
    }
    assert_eq!("up".parse::<chronoxide::Selector>()?.to_string(), r#"{__name__="up"}"#);
    Ok(())
}

#[test]
fn a_damaged_block_adds_no_empty_groups() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let (blocks, damaged) = (fixture.blocks()?, Damage::new());
    let query = blocks.query("{}")?.skip_damaged(&damaged);
    for groups in [query.group_by(&["namespace", "__name__"])?, query.group_by(&["pod"])?, query.group_without(&[])?] {
        assert!(groups.iter().all(|group| group.series > 0), "{groups:?}");
    }
    Ok(())
}

#[test]
fn text_that_is_none_is_damage_of_its_block() -> TestResult {
    let fixture = Fixture::new()?;
    let mut editor = BlockEditor::open(&fs::read(&fixture.paths[0])?);
    let symbols = editor.section(SectionKind::Arena);
    let at = symbols.windows(5).rposition(|window| window == b"web-9").expect("a pod's name");
    symbols[at] = 0xff;
    fs::write(&fixture.paths[0], editor.close())?;
    let (blocks, damaged) = (fixture.blocks()?, Damage::new());
    let query = blocks.query("up")?;
    for strict in [query.label_values("pod").err(), query.group_by(&["pod"]).err()] {
        let error = strict.expect("a value is not text");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
        assert_eq!(error.rule(), Some("symbols-utf8"));
    }
    let tolerant = query.skip_damaged(&damaged);
    assert_eq!((tolerant.label_values("pod")?.len(), tolerant.group_by(&["pod"])?.len()), (10, 10));
    assert_eq!(damaged.len(), 1);
    Ok(())
}

#[test]
fn paths_are_files_and_folders() -> TestResult {
    let fixture = Fixture::new()?;
    let error = Blocks::open("/dev/null").expect_err("a device");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(Path::new("/dev/null"))));
    // A local path that looks like a URL.
    let folder = fixture.folder.path().join("a:");
    fs::create_dir(&folder)?;
    fs::copy(&fixture.paths[0], folder.join("b.cx"))?;
    let text = format!("{}//b.cx", folder.display());
    assert_eq!(Blocks::open(text)?.query("up")?.count()?, 10);
    let archive = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/archive-many.cx"))?;
    let error =
        OpenOptions::new().max_archive_memory(1).open_bytes(archive.clone()).expect_err("its strings take more");
    assert_eq!(error.kind(), ErrorKind::OutOfResources);
    assert!(OpenOptions::new().open_bytes(archive)?.query("{}")?.count()? > 0);
    let blocks = Blocks::open(&fixture.paths[0])?;
    let labels = [("pod", "web-1"), ("__name__", "up"), ("namespace", "team-1"), ("pod", ""), ("x", ""), ("x", "")];
    assert_eq!(blocks.find(labels)?.len(), 1, "empty values are ignored");
    Ok(())
}

/// The number of blocks changes nothing: rows of a damaged block end where the damage is met.
#[test]
fn rows_leave_out_the_rest_of_a_damaged_block() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    for path in [fixture.folder.path(), &*fixture.paths[0]] {
        let (blocks, damaged) = (Blocks::open(path)?, Damage::new());
        let query = blocks.query("{}")?;
        let tolerant = query.clone().skip_damaged(&damaged);
        for mut rows in [tolerant.series()?, tolerant.sorted_series()?] {
            let mut found = BTreeSet::new();
            while let Some(series) = rows.next()? {
                assert!(
                    found.insert(series.get("pod").expect("a pod").to_owned() + series.get("__name__").unwrap_or(""))
                );
            }
            assert!(path.is_file() || found.len() >= 20, "those of the sound block: {}", found.len());
            assert!(found.len() < 6000);
        }
        assert_eq!(damaged.len(), 1, "one per block");
        // Without the list, the damage is an error of the query or of a row.
        let strict = || query.series()?.next().map(drop);
        assert_eq!(strict().map_err(|error| error.kind()), Err(ErrorKind::Corrupt));
    }
    Ok(())
}

#[test]
fn the_limit_of_archives_holds_for_a_refreshed_folder() -> TestResult {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
    let folder = tempfile::tempdir()?;
    let open = |limit: u64| OpenOptions::new().max_archive_memory(limit).open(folder.path());
    fs::copy(golden.join("archive-many.cx"), folder.path().join("a.cx"))?;
    // The least limit that it fits into.
    let (mut low, mut high) = (0_u64, 1 << 30);
    while low + 1 < high {
        let limit = low.midpoint(high);
        match open(limit) {
            Ok(_) => high = limit,
            Err(_) => low = limit,
        }
    }
    let enough = open(high)?;
    assert_eq!(enough.refresh()?.len(), 1);
    fs::copy(golden.join("archive-planned.cx"), folder.path().join("b.cx"))?;
    let error = enough.refresh().expect_err("both need more");
    assert_eq!(error.kind(), ErrorKind::OutOfResources);
    assert_eq!(Blocks::open(folder.path())?.len(), 2);
    Ok(())
}

/// Makes a value of a block something that is not text, with right checksums: labels are damaged, and rows are not.
pub(super) fn make_no_text(path: &Path, value: &str) -> TestResult {
    replace_first_byte(path, value, 0xff)
}

/// Replaces the first byte of a value of a block, with right checksums.
pub(super) fn replace_first_byte(path: &Path, value: &str, byte: u8) -> TestResult {
    let mut editor = BlockEditor::open(&fs::read(path)?);
    let symbols = editor.section(SectionKind::Arena);
    let at = symbols.windows(value.len()).rposition(|window| window == value.as_bytes()).expect("a value");
    symbols[at] = byte;
    Ok(fs::write(path, editor.close())?)
}

/// Reads rows to their end: the labelsets, and the errors.
pub(super) fn read_all(mut rows: SeriesRows<'_>) -> (Vec<Labelset>, Vec<Error>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    loop {
        match rows.next() {
            Ok(None) => return (found, errors),
            Ok(Some(series)) => found
                .push(series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned())).collect()),
            Err(error) => errors.push(error),
        }
        assert!(errors.len() < 100_000, "errors do not end: {:?}", errors[0]);
    }
}

/// Damages the labels of one of the two blocks of new fixtures in several ways, so that the damaged block is the first
/// in some of them, and the second in others. Gives `check` the fixture, the path of the damaged block, whether it is
/// the first, and the series of the other.
fn with_one_damaged(check: impl Fn(&Blocks, &Path, bool, BTreeSet<Labelset>) -> TestResult) -> TestResult {
    let mut orders = BTreeSet::new();
    for damaged in 0..2 {
        // Both blocks have these pods.
        for value in ["web-5", "web-6", "web-7", "web-8", "web-9"] {
            let fixture = Fixture::new()?;
            let path = &*fixture.paths[damaged];
            make_no_text(path, value)?;
            let blocks = fixture.blocks()?;
            let is_first = blocks.iter().next().expect("a block")?.path == Some(path);
            orders.insert(is_first);
            check(&blocks, path, is_first, [labelsets(5, 15), labelsets(0, 10)][damaged].iter().cloned().collect())?;
        }
    }
    assert_eq!(orders.len(), 2, "one order was not checked");
    Ok(())
}

/// Each result has the series of the sound block, and notes the damage of the other.
#[test]
fn a_sound_block_is_read_beside_a_damaged_one() -> TestResult {
    with_one_damaged(|blocks, path, is_first, sound| {
        let damage = Damage::new();
        let strict = blocks.query("{}")?;
        let query = strict.clone().skip_damaged(&damage);
        let is_noted = || damage.take().iter().map(Error::path).eq([Some(path)]);

        for rows in [query.series()?, query.sorted_series()?, query.distinct_series()?] {
            let (found, errors) = read_all(rows);
            assert_eq!((found.len(), errors.len()), (sound.len(), 0), "each comes once");
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sound);
            assert!(is_noted());
            assert!(damage.is_empty());
        }
        // A kept selection has the series of each block.
        let selection = strict.select()?;
        let (found, errors) = read_all(selection.series().skip_damaged(&damage));
        assert_eq!((found.len(), errors.len()), (sound.len(), 0), "each comes once");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sound);
        assert!(is_noted());
        // Without the list, each series that cannot be read is an error, and the next call goes on.
        let (found, errors) = read_all(strict.sorted_series()?);
        assert!(errors.iter().all(|error| (error.kind(), error.path()) == (ErrorKind::Corrupt, Some(path))));
        assert_eq!((found.len(), errors.len()), (sound.len(), 20));
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sound);
        // Both blocks have 5 pods, and one has another name in the damaged one: 8 series. Their labels come from
        // the first block.
        let (found, errors) = read_all(strict.series()?);
        assert!(errors.iter().all(|error| (error.kind(), error.path()) == (ErrorKind::Corrupt, Some(path))));
        assert_eq!((found.len(), errors.len()), if is_first { (12, 20) } else { (20, 12) });
        assert!(sound.is_superset(&found.into_iter().collect()));

        let pods: BTreeSet<&str> = sound.iter().map(|labels| labels["pod"].as_str()).collect();
        assert!(query.label_values("pod")?.into_iter().eq(pods));
        assert!(is_noted());
        let groups = query.group_by(&["pod"])?;
        assert_eq!(groups.iter().map(|group| group.series).collect::<Vec<_>>(), [2; 10]);
        assert!(is_noted());
        assert_eq!(query.cardinality()?.series, 20);
        assert!(is_noted());
        let alone = Blocks::open(path)?;
        assert_eq!(alone.query("{}")?.cardinality().map_err(|error| error.kind()).err(), Some(ErrorKind::Corrupt));
        assert_eq!(alone.query("{}")?.skip_damaged(&damage).cardinality()?.series, 0);
        assert!(is_noted());
        Ok(())
    })
}

/// Each damaged block has an error of its own.
#[test]
fn all_damaged_blocks_are_named() -> TestResult {
    let fixture = Fixture::new()?;
    let sound = labelsets(20, 25);
    write(&fixture.folder.path().join("c.cx"), WriteOptions::new(), &sound)?;
    for (path, value) in fixture.paths.iter().zip(["web-7", "web-14"]) {
        make_no_text(path, value)?;
    }
    let (blocks, damage) = (fixture.blocks()?, Damage::new());
    let query = blocks.query("{}")?.skip_damaged(&damage);
    let expected: BTreeSet<Option<PathBuf>> = fixture.paths.iter().cloned().map(Some).collect();
    let check = |call: &str| {
        let errors = damage.take();
        let found: BTreeSet<_> = errors.iter().map(|error| error.path().map(Path::to_owned)).collect();
        assert_eq!((errors.len(), &found), (2, &expected), "{call}: {errors:?}");
    };
    assert_eq!(query.label_values("pod")?, ["web-20", "web-21", "web-22", "web-23", "web-24"]);
    check("values");
    assert_eq!(query.group_by(&["pod"])?.len(), 5);
    check("groups");
    assert_eq!(query.cardinality()?.series, 10);
    check("cardinality");
    for rows in [query.series()?, query.sorted_series()?, query.distinct_series()?] {
        let (found, errors) = read_all(rows);
        assert_eq!((found.len(), errors.len()), (10, 0));
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sound.iter().cloned().collect());
        check("rows");
    }

    // Blocks without paths are told apart by the texts of their errors.
    let united = [6, 7].map(|zones| {
        let path = fixture.folder.path().join("large.cx");
        let mut labelsets = labelsets(0, 3000);
        labelsets.extend((0..zones).map(|zone| [("zone".to_owned(), zone.to_string())].into()));
        write(&path, WriteOptions::new().replace(true), &labelsets)?;
        let mut bytes = fs::read(&path)?;
        fs::remove_file(&path)?;
        let at = bytes.windows(8).rposition(|window| window == b"web-2718").expect("a pod's name");
        bytes[at] = zones;
        Ok::<_, Box<dyn std::error::Error>>(OpenOptions::new().open_bytes(bytes)?)
    });
    let united = united.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().collect::<Blocks>();
    assert_eq!(united.query("{}")?.skip_damaged(&damage).label_values("pod")?, Vec::<&str>::new());
    let errors = damage.take();
    assert_eq!((errors.len(), errors[0].path()), (2, None), "{errors:?}");

    // Files that are not blocks.
    for path in &fixture.paths {
        fs::write(path, "not a block")?;
    }
    let opened = OpenOptions::new().skip_damaged(true).open(fixture.folder.path())?;
    let refreshed = opened.refresh()?.refresh()?;
    let united = Blocks::from_iter([opened.clone(), refreshed.clone()]);
    for (blocks, times) in [(&opened, 1), (&refreshed, 1), (&united, 2)] {
        let found: BTreeSet<_> = blocks.damaged().iter().map(|error| error.path().map(Path::to_owned)).collect();
        assert_eq!((blocks.len(), blocks.damaged().len(), &found), (1, 2 * times, &expected));
    }
    Ok(())
}

/// A search of a damaged block is an error, and no answer that it lacks the series.
#[test]
fn searches_meet_damage() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let (blocks, damage) = (fixture.blocks()?, Damage::new());
    let wanted = &labelsets(2718, 2719)[0];
    let query = blocks.query("{}")?;
    for error in [blocks.find(wanted).err(), query.has(wanted).err()] {
        let error = error.expect("the pod's name is damaged");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
    }
    let query = query.skip_damaged(&damage);
    assert!(!query.has(wanted)?);
    assert!(damage.take().iter().map(Error::path).eq([Some(&*fixture.paths[0])]));
    // Another block has it.
    write(&fixture.folder.path().join("c.cx"), WriteOptions::new(), &labelsets(2718, 2719))?;
    assert!(fixture.blocks()?.query("{}")?.skip_damaged(&damage).has(wanted)?);
    Ok(())
}

/// Damage that is met where series are selected is an error of each result, or noted by each.
#[test]
fn damage_of_selecting_is_met_by_all_results() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let (blocks, damage) = (fixture.blocks()?, Damage::new());
    let path = Some(&*fixture.paths[0]);
    // Reads the values of all pods. The sound block has pods 5 and 10.
    let strict = blocks.query(r#"{pod=~"web-.*[05]"}"#)?;
    let tolerant = strict.clone().skip_damaged(&damage);
    let results = |query: &Query<'_>| {
        let read = |rows: Result<SeriesRows<'_>, Error>| {
            let (found, errors) = read_all(rows?);
            errors.into_iter().next().map_or(Ok(found.len() as u64), Err)
        };
        let batches = || {
            let batches = query.batches(&BatchOptions::new())?;
            Ok(batches.map(|batch| batch.expect("a sound block").num_rows() as u64).sum())
        };
        let noted = |name: &'static str, result: Result<u64, Error>| (name, result, damage.take());
        [
            noted("count", query.count()),
            noted("select", query.select().map(|selection| selection.len())),
            noted("series", read(query.series())),
            noted("sorted", read(query.sorted_series())),
            noted("distinct", read(query.distinct_series())),
            noted("cardinality", query.cardinality().map(|found| found.series)),
            noted("groups", query.group_by(&[]).map(|groups| groups.iter().map(|group| group.series).sum())),
            noted("batches", batches()),
        ]
    };
    for (name, result, _) in results(&strict) {
        let error = result.expect_err(name);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, path), "{name}");
    }
    for (name, result, noted) in results(&tolerant) {
        assert_eq!(result.map_err(|error| error.to_string()), Ok(4), "{name}");
        assert!(noted.iter().map(Error::path).eq([path]), "{name}: {noted:?}");
    }
    Ok(())
}

/// Checks hold for each way to open.
#[test]
fn eager_checks_find_damage_when_a_block_is_opened() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let eager = OpenOptions::new().checks(Checks::Eager);
    // SAFETY: nothing changes the files.
    for options in [eager.clone(), unsafe { eager.clone().map() }] {
        for path in [fixture.folder.path(), &*fixture.paths[0]] {
            let error = options.open(path).expect_err("a byte is wrong");
            assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[0])));
        }
    }
    let error = eager.open_bytes(fs::read(&fixture.paths[0])?).expect_err("a byte is wrong");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, None));
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/archive-many.cx");
    fs::copy(archive, fixture.folder.path().join("archive.cx"))?;
    // SAFETY: nothing changes the files.
    let mapped = unsafe { OpenOptions::new().max_archive_memory(1).map() };
    let error = mapped.open(fixture.folder.path()).expect_err("its strings take more");
    assert_eq!(error.kind(), ErrorKind::OutOfResources);
    Ok(())
}

/// Each block is verified.
#[test]
fn any_damaged_block_is_found_by_verifying() -> TestResult {
    for damaged in 0..2 {
        let fixture = Fixture::new()?;
        make_no_text(&fixture.paths[damaged], "web-7")?;
        let error = fixture.blocks()?.verify().expect_err("a value is not text");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*fixture.paths[damaged])));
    }
    Ok(())
}

/// Series that sound blocks have in common come once, also beside a damaged block.
#[test]
fn distinct_series_come_once_beside_a_damaged_block() -> TestResult {
    let mut places = BTreeSet::new();
    for pod in 0..15 {
        let fixture = Fixture::new()?;
        let path = fixture.folder.path().join("c.cx");
        write(&path, WriteOptions::new(), &labelsets(pod, 30))?;
        make_no_text(&path, "web-29")?;
        let (blocks, damage) = (fixture.blocks()?, Damage::new());
        places.insert(blocks.iter().position(|block| block.is_ok_and(|block| block.path == Some(&*path))));
        let query = blocks.query("{}")?.skip_damaged(&damage);
        let (found, errors) = read_all(query.distinct_series()?);
        assert_eq!((found.len(), errors.len()), (fixture.all.len(), 0));
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), fixture.all);
        assert_eq!(query.cardinality()?.series, fixture.all.len() as u64);
        assert!(damage.errors().iter().map(Error::path).eq([Some(&*path)]), "{damage:?}");
    }
    assert_eq!(places.len(), 3, "the damaged block was at each place");
    Ok(())
}

/// Labels of a damaged block make no groups without series.
#[test]
fn groups_of_a_damaged_block_are_left_out() -> TestResult {
    let fixture = Fixture::new()?;
    let mut zoned = labelsets(0, 3000);
    zoned.iter_mut().for_each(|labels| drop(labels.insert("zone".to_owned(), "z".to_owned())));
    write(&fixture.paths[0], WriteOptions::new().replace(true), &zoned)?;
    let bytes = fs::read(&fixture.paths[0])?;
    let mut opened = 0;
    for at in (100..bytes.len()).step_by(8192) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        fs::write(&fixture.paths[0], &bytes)?;
        let (Ok(blocks), damage) = (fixture.blocks(), Damage::new()) else { continue };
        // All strings and rows are read to find equal series.
        let groups = blocks.query("{}")?.skip_damaged(&damage).group_by(&["zone"])?;
        let [group] = &groups[..] else { panic!("no series of the sound block has a zone: {groups:?}") };
        assert_eq!((group.labels.len(), group.series), (0, 20));
        assert!(damage.errors().iter().map(Error::path).eq([Some(&*fixture.paths[0])]), "{damage:?}");
        opened += 1;
    }
    assert!(opened > 1, "the block has several chunks");
    Ok(())
}

/// A block of a later version is not damaged, but cannot be read by this one.
#[test]
fn unknown_features_are_unsupported() -> TestResult {
    let fixture = Fixture::new()?;
    let mut editor = BlockEditor::open(&fs::read(&fixture.paths[0])?);
    editor.features[0] |= 1 << 31;
    fs::write(&fixture.paths[0], editor.close())?;
    for path in [fixture.folder.path(), &*fixture.paths[0]] {
        let error = Blocks::open(path).expect_err("an unknown feature");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Unsupported, Some(&*fixture.paths[0])));
    }
    let rest = OpenOptions::new().skip_damaged(true).open(fixture.folder.path())?;
    assert_eq!(rest.damaged().iter().map(Error::kind).collect::<Vec<_>>(), [ErrorKind::Unsupported]);
    assert_eq!(read(&rest.query("{}")?)?, labelsets(5, 15).into_iter().collect());
    Ok(())
}

/// A set that a part of this crate opened has the same blocks.
#[test]
fn an_opened_set_is_blocks() -> TestResult {
    let fixture = Fixture::new()?;
    compact(&fixture.paths, fixture.folder.path().join("all.cx"), &CompactOptions::new())?;
    let blocks = Blocks::from(chronoxide_select::BlockSet::read(fixture.folder.path(), Checks::Lazy)?);
    assert_eq!((blocks.len(), blocks.replaced(), blocks.is_folder()), (1, 2, true));
    assert_eq!(read(&blocks.query("{}")?)?, fixture.all);
    let united = Blocks::from_iter([blocks, Blocks::open(&fixture.paths[0])?, fixture.blocks()?]);
    assert_eq!((united.len(), united.replaced()), (2, 4), "replaced blocks of both folders");
    assert_eq!(read(&united.query("{}")?)?, fixture.all);
    Ok(())
}

/// Without checks, the index of a damaged block may be wrong, and is not kept for the sound block that replaces it.
#[test]
fn a_refreshed_block_has_no_index_of_a_damaged_one() -> TestResult {
    let fixture = Fixture::new()?;
    let (path, expected) = (&fixture.paths[0], labelsets(0, 10).into_iter().collect::<BTreeSet<_>>());
    let sound = fs::read(path)?;
    let options = OpenOptions::new().checks(Checks::Never);
    for at in 64..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs::write(path, &bytes)?;
        let Ok(damaged) = options.open(path) else { continue };
        // Makes the index.
        let _ = damaged.query("up")?.count();
        fs::write(path, &sound)?;
        let refreshed = damaged.refresh()?;
        assert_eq!(read(&refreshed.query("{}")?)?, expected, "byte {at}");
        assert_eq!(refreshed.query("up")?.count()?, 10, "byte {at}");
    }
    Ok(())
}

/// A file that cannot be read is named like one that is damaged.
#[test]
fn files_that_cannot_be_read_are_named() -> TestResult {
    let fixture = Fixture::new()?;
    let path = fixture.folder.path().join("c.cx");
    std::os::unix::fs::symlink("c.cx", &path)?;
    let error = fixture.blocks().expect_err("a link to itself");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)));
    let rest = OpenOptions::new().skip_damaged(true).open(fixture.folder.path())?;
    assert!(rest.damaged().iter().map(|error| (error.kind(), error.path())).eq([(ErrorKind::Io, Some(&*path))]));
    assert_eq!(read(&rest.query("{}")?)?, fixture.all);
    Ok(())
}

/// Rows end where damage is met if it is noted. Else it is an error, and the next call reads the next series.
#[test]
fn rows_of_a_large_block_end_at_its_damage() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.cx");
    // Values in no order, so that rows take several chunks of 8 KiB.
    let labels = |series: u32| -> Labelset {
        let number = series.wrapping_mul(2_654_435_761) >> 4;
        [("a", number % 97), ("b", number / 97 % 991), ("c", number / 97 / 991 % 173)]
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .into()
    };
    write(&path, WriteOptions::new(), &(0..10_000).map(labels).collect::<Vec<_>>())?;
    let (bytes, sound) = (fs::read(&path)?, Blocks::open(&path)?);
    let (all, _) = read_all(sound.query("{}")?.series()?);
    let (all_sorted, _) = read_all(sound.query("{}")?.sorted_series()?);
    let even = r#"{b=~".*[02468]"}"#;
    let (all_even, _) = read_all(sound.query(even)?.distinct_series()?);
    assert!(all.len() > all_even.len() && all_even.len() > 1000);
    let (mut ended, mut ended_even) = (0, 0);
    for at in (100..bytes.len()).step_by(8192) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let Ok(blocks) = OpenOptions::new().open_bytes(bytes) else { continue };
        let (strict, damage) = (blocks.query("{}")?, Damage::new());
        let Ok(mut rows) = strict.series() else { continue };
        let mut read = Vec::new();
        loop {
            read.push(match rows.next() {
                Ok(None) => break,
                Ok(Some(_)) => true,
                Err(error) => error.kind() != ErrorKind::Corrupt,
            });
        }
        assert_eq!(read.len(), all.len(), "byte {at}");
        let end = read.iter().position(|is_read| !is_read).unwrap_or(read.len());
        let tolerant = strict.clone().skip_damaged(&damage);
        let selection = strict.select()?;
        for rows in [tolerant.series()?, selection.series().skip_damaged(&damage), tolerant.distinct_series()?] {
            let (found, errors) = read_all(rows);
            assert!(errors.is_empty() && found == all[..end], "byte {at}: {} instead of {end} series", found.len());
        }
        assert_eq!(damage.take().len(), usize::from(end < all.len()));
        let (found, errors) = read_all(tolerant.sorted_series()?);
        assert!(errors.is_empty() && all_sorted.starts_with(&found), "byte {at}: {} sorted series", found.len());
        assert_eq!(damage.take().len(), usize::from(found.len() < all.len()), "byte {at}");
        ended += u32::from(0 < end && end < all.len());

        let strict = blocks.query(even)?;
        let (found, errors) = read_all(strict.distinct_series()?);
        let (begun, noted) = read_all(strict.skip_damaged(&damage).distinct_series()?);
        assert!(noted.is_empty() && all_even.starts_with(&begun) && found.len() >= begun.len(), "byte {at}");
        assert_eq!((begun.len() < all_even.len(), damage.len()), (!errors.is_empty(), errors.len().min(1)));
        ended_even += u32::from(!begun.is_empty() && !errors.is_empty());
    }
    assert!(ended > 0 && ended_even > 0, "{ended} {ended_even}");
    Ok(())
}

/// Series of a block come once, although the block was found to be damaged after it gave some of them.
#[test]
fn series_before_damage_come_once() -> TestResult {
    let fixture = Fixture::new()?;
    // The series that one block has alone is among its first, whichever block is read first.
    let id = |number: u32| match number {
        20_000 => "00000001".to_owned(),
        _ => format!("{:08x}", number.wrapping_mul(2_654_435_761)),
    };
    let labels = |number: u32| [("id", id(number)), ("k", (number % 7).to_string()), ("w", (number % 3).to_string())];
    let ranges = [0..20_000, 1..20_001];
    for (path, numbers) in fixture.paths.iter().zip(ranges) {
        let mut writer = BlockWriter::with_options(WriteOptions::new().replace(true));
        for number in numbers {
            writer.insert(labels(number))?;
        }
        writer.finish(path)?;
    }
    let blocks = fixture.blocks()?;
    let first = blocks.iter().next().expect("a block")?.path.expect("a file").to_owned();
    let sound = fs::read(&first)?;
    let is_of_rows = {
        let view = BlockView::open(&sound)?;
        let rows = view.sections().find(|section| section.known() == Some(SectionKind::Rows)).expect("rows");
        move |byte: u64| (rows.offset..rows.offset + rows.length).contains(&byte)
    };
    let mut late = 0;
    for chunk in (0..sound.len() as u64 / 8192).filter(|chunk| is_of_rows(chunk * 8192)) {
        let mut bytes = sound.clone();
        bytes[chunk as usize * 8192 + 4000] ^= 1;
        fs::write(&first, &bytes)?;
        let (blocks, damage) = (fixture.blocks()?, Damage::new());
        let query = blocks.query("{}")?.skip_damaged(&damage);
        let (found, errors) = read_all(query.distinct_series()?);
        assert_eq!((errors.len(), damage.take().len()), (0, 1));
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(found.len(), distinct.len(), "chunk {chunk}: some came twice");
        // Counts leave out the damaged block whole.
        assert_eq!((query.cardinality()?.series, query.count()?, damage.take().len()), (20_000, 20_000, 1));
        // The other block lacks one series of this one.
        assert!(found.len() >= 20_000, "{}", found.len());
        late += usize::from(found.len() > 20_000);
    }
    assert!(late > 0, "no damage was met after the first series");
    Ok(())
}

/// Files that are no blocks are refused before they are read: they may have no end.
#[test]
fn only_files_are_merged_and_only_blocks_are_read() -> TestResult {
    let fixture = Fixture::new()?;
    let (pipe, junk) = (fixture.folder.path().join("pipe"), fixture.folder.path().join("junk.cx"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    for path in [&*pipe, Path::new("/dev/zero")] {
        let output = fixture.folder.path().join("all.cx");
        let error = compact([&*fixture.paths[0], path], &output, &CompactOptions::new()).expect_err("not a file");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(path)));
        assert!(!output.exists());
    }
    fs::File::create(&junk)?.set_len(1 << 40)?;
    let blocks = OpenOptions::new().skip_damaged(true).open(fixture.folder.path())?;
    assert_eq!((blocks.len(), blocks.damaged().len()), (2, 1));
    let error = Blocks::open(&junk).expect_err("it is not a block");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*junk)));
    Ok(())
}

#[test]
fn errors_say_which_label_or_path_and_nothing_of_commands() -> TestResult {
    let long = "x".repeat(65_536);
    let mut writer = BlockWriter::new();
    let ok = ("ok", "1");
    for (labels, text) in [
        (vec![ok, ("", "2")], "a label has no name".to_owned()),
        (vec![ok, ("\0b", "2")], "names that begin with U+0000 are reserved: \"\\0b\"".to_owned()),
        (vec![ok, (&long, "2")], "a label name has 65536 bytes; the limit is 65535".to_owned()),
        (vec![ok, ("long", &long)], "the value of \"long\" has 65536 bytes; the limit is 65535".to_owned()),
        (vec![("b", "1"), ok, ("b", "2")], "two labels are named \"b\"".to_owned()),
        (vec![("b", ""), ("c", "")], "a series needs at least one label".to_owned()),
    ] {
        let error = writer.insert(labels).expect_err("it is not a labelset");
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, text));
    }
    assert!(writer.is_empty());
    let folder = tempfile::tempdir()?;
    for (name, shown) in [("a\u{202e}b\u{200b}\n\u{1b}.cx", "a\\u202eb\\u200b\\u000a\\u001b.cx"), ("a b.cx", "a b.cx")]
    {
        let error = Blocks::open(folder.path().join(name)).expect_err("there is no such file");
        assert!(error.to_string().contains(shown), "{error}");
    }
    let error = Blocks::open("").expect_err("no path");
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, "the path is empty".to_owned()));
    // Schemes have no slash.
    let error = Blocks::open(folder.path().join("a://b.cx")).expect_err("there is no such file");
    assert_eq!(error.kind(), ErrorKind::Io);
    Ok(())
}
