//! Golden files, broken files and the spec say the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_dump::dump;
use chronoxide_format::view::BlockView;
use chronoxide_format::{Rule, SeriesRef};
use chronoxide_testkit::archive::{archives, is_same_archive};
use chronoxide_testkit::broken::{Broken, broken, relaxed};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::{Golden, goldens};
use chronoxide_testkit::manifest::{MANIFEST, manifest};
use chronoxide_testkit::plan::Labelset;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name)
}

fn file_names(name: &str, ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder(name)).expect("the folder is part of the project");
    let paths = files.map(|file| file.expect("a file").path()).filter(|path| path.extension() == Some(ending.as_ref()));
    paths.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

/// The archives as they are stored.
fn archive_files() -> Vec<Golden> {
    let mut archives = archives();
    for golden in &mut archives {
        golden.bytes = std::fs::read(folder("golden").join(golden.name).with_extension("cx")).expect("a golden file");
    }
    archives
}

/// The labels of a series as a map.
fn labels_of(view: &BlockView<'_>, series: SeriesRef) -> Labelset {
    let series = view.series(series).expect("a sound block").expect("a series");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a sound block");
    series
        .labels()
        .map(|label| label.map(|label| (text(label.name), text(label.value))))
        .collect::<Result<_, _>>()
        .expect("a sound block")
}

#[test]
fn golden_files_are_what_the_builder_makes() {
    let archives = archives();
    let made: BTreeSet<String> = archives.iter().chain(&goldens()).map(|golden| golden.name.to_owned()).collect();
    assert_eq!(file_names("golden", "cx"), made);
    assert_eq!(file_names("golden", "txt"), made);
    for golden in goldens() {
        let file = std::fs::read(folder("golden").join(golden.name).with_extension("cx")).expect("a golden file");
        assert!(file == golden.bytes, "{} differs from what is made now", golden.name);
    }
    // Versions of zstd make different frames.
    for golden in archives {
        let file = std::fs::read(folder("golden").join(golden.name).with_extension("cx")).expect("a golden file");
        assert!(is_same_archive(&file, &golden.bytes), "{} differs from what is made now", golden.name);
    }
}

#[test]
fn golden_files_are_sound_and_dump_as_they_did() {
    for golden in archive_files().into_iter().chain(goldens()) {
        let mut arena = Vec::new();
        let view = BlockView::open_unpacked(&golden.bytes, &mut arena).expect("a golden block");
        let content = view.verify().unwrap_or_else(|error| panic!("{}: {error}", golden.name));
        assert_eq!(content.series_count, golden.series.len() as u64, "{}", golden.name);
        let mut text = Vec::new();
        dump(&view, None, &mut text).expect("a golden block");
        let file = std::fs::read(folder("golden").join(golden.name).with_extension("txt")).expect("a golden file");
        assert!(text == file, "the dump of {} differs", golden.name);
    }
}

#[test]
fn golden_blocks_hold_the_series_that_they_were_made_from() {
    for golden in archive_files().into_iter().chain(goldens()) {
        let mut arena = Vec::new();
        let view = BlockView::open_unpacked(&golden.bytes, &mut arena).expect("a golden block");
        let count = view.series_count().expect("a golden block");
        let found: BTreeSet<Labelset> = (0..count).map(|series| labels_of(&view, SeriesRef(series))).collect();
        assert_eq!(found, golden.series, "{}", golden.name);
        assert_eq!(count as usize, found.len(), "{}: a series stands twice", golden.name);
        let refs: Vec<SeriesRef> =
            view.series_iter().map(|series| series.expect("a golden block").series_ref()).collect();
        assert_eq!(refs, (0..count).map(SeriesRef).collect::<Vec<_>>(), "{}", golden.name);
        for series in 0..count {
            let labels = labels_of(&view, SeriesRef(series));
            assert_eq!(view.find(&labels), Ok(Some(SeriesRef(series))), "{}: {labels:?}", golden.name);
        }
    }
}

#[test]
fn broken_files_break_the_rule_that_they_are_named_after() {
    let rules: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    let broken = broken();
    assert_eq!(broken.iter().map(|broken| broken.rule.id()).collect::<BTreeSet<_>>(), rules);
    assert_eq!(file_names("broken", "cx"), broken.iter().map(|broken| broken.name.clone()).collect());
    for broken in broken {
        let id = &broken.name;
        let file = std::fs::read(folder("broken").join(id).with_extension("cx")).expect("a broken file");
        assert!(file == broken.bytes, "{id} differs from what is made now");
        let found = BlockView::open_unpacked(&file, &mut Vec::new()).and_then(|view| view.verify().map(|_| ()));
        assert_eq!(found.expect_err(id).rule(), broken.rule, "{id}");
    }
}

/// A reader must not depend on rules of class C: under an unknown bit of `ro_compat` they are not checked.
#[test]
fn relaxed_files_are_sound_and_read_as_their_dumps_say() {
    let relaxed = relaxed();
    assert!(relaxed.len() > 20);
    assert_eq!(file_names("relaxed", "cx"), relaxed.iter().map(|relaxed| relaxed.name.clone()).collect());
    for Broken { name, bytes, rule } in relaxed {
        let path = folder("relaxed").join(&name);
        assert!(std::fs::read(path.with_extension("cx")).expect("a file") == bytes, "{name} is made in another way");
        let mut content = Vec::new();
        let view = BlockView::open_unpacked(&bytes, &mut content).expect("it opens");
        view.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut text = Vec::new();
        chronoxide_dump::dump(&view, None, &mut text).expect("it can be dumped");
        assert!(std::fs::read(path.with_extension("txt")).expect("a dump") == text, "{name} has another dump");
        for series in view.series_iter() {
            let series = series.expect("a series");
            let labels = labels_of(&view, series.series_ref());
            assert_eq!(view.find(&labels), Ok(Some(series.series_ref())), "{name}: {labels:?}");
        }
        // Without the bit, the rule is checked.
        let mut editor = BlockEditor::open(&bytes);
        editor.features[1] = 0;
        let bytes = editor.close();
        let found = BlockView::open_unpacked(&bytes, &mut Vec::new()).and_then(|view| view.verify().map(|_| ()));
        assert_eq!(found.expect_err("it breaks a rule").rule(), rule, "{name}");
    }
}

#[test]
fn the_manifest_lists_every_file_with_its_verdict() {
    let file = std::fs::read_to_string(folder(MANIFEST)).expect("the manifest");
    assert_eq!(file, manifest());
    let listed: BTreeSet<&str> = file.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let blocks = ["golden", "broken", "relaxed"].map(|folder| (folder, "cx"));
    let folders = blocks.into_iter().chain([("remaps/golden", "cxr"), ("remaps/broken", "cxr")]);
    let files = folders.flat_map(|(folder, ending)| {
        file_names(folder, ending).into_iter().map(move |name| format!("{folder}/{name}.{ending}"))
    });
    assert_eq!(listed, files.collect::<BTreeSet<String>>().iter().map(String::as_str).collect());
}
