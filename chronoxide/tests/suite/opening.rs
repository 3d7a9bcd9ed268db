//! Ways to open blocks, and damage that queries meet.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chronoxide::{Blocks, Damage, Error, ErrorKind, OpenOptions, Query, WriteOptions};
use chronoxide_reader::SectionKind;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;

use super::{Fixture, TestResult, labelsets, read, write};

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
