//! Files are removed durably in the given order, and errors list the removed ones.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, remove_files};
use chronoxide_testkit::sweep;
use support::EIO;

/// Three files in one folder and one in another.
fn scene(folder: &Path) -> Vec<PathBuf> {
    fs::create_dir(folder.join("old")).expect("a folder");
    let paths = ["c.cx", "a.cx", "old/d.cx", "b.cx"].map(|name| folder.join(name));
    for path in &paths {
        fs::write(path, "x").expect("a file");
    }
    fs::write(folder.join("other.cx"), "x").expect("a file");
    paths.to_vec()
}

fn left(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| path.exists()).cloned().collect()
}

#[test]
fn files_go_in_order_and_each_folder_is_synced_once() {
    use Call::{SyncFolder, Unlink};
    let folder = tempfile::tempdir().expect("a folder");
    let paths = scene(folder.path());
    let system = Faults::none();
    let removed = remove_files(&system, &paths).expect("no fault");
    assert_eq!((&removed.removed, removed.missing.len()), (&paths, 0));
    assert_eq!(system.calls(), [Unlink, Unlink, Unlink, Unlink, SyncFolder, SyncFolder]);
    assert!(left(&paths).is_empty());
    assert!(folder.path().join("other.cx").exists());

    // Again, as after a kill: the folders are made durable all the same.
    let system = Faults::none();
    let again = remove_files(&system, &paths).expect("missing files are no error");
    assert_eq!((again.removed.len(), &again.missing), (0, &paths));
    assert_eq!(system.calls(), [Unlink, Unlink, Unlink, Unlink, SyncFolder, SyncFolder]);
    assert_eq!(remove_files(&Faults::none(), &[]).expect("nothing to do"), Default::default());
}

#[test]
fn a_file_that_cannot_be_removed_stops_the_removal() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut paths = scene(folder.path());
    // A folder is not removed as a file is.
    paths.insert(2, folder.path().join("old"));
    let error = remove_files(&Disk, &paths).expect_err("a folder");
    assert_eq!((&error.path, &error.removed[..], &error.left[..]), (&paths[2], &paths[..2], &paths[2..]));
    assert!(error.to_string().ends_with("old: cannot remove the file; 2 removed, 3 left"), "{error}");
    assert_eq!(left(&paths), paths[2..]);
}

#[test]
fn every_call_fails_or_is_the_last() {
    let mut cases = 0;
    for at in 0..6 {
        for effect in [Effect::Nothing, Effect::Half, Effect::Whole] {
            // Each third error, by turns, unless all are asked for.
            let errors = sweep::by_turns(ERRORS, at, 3);
            let outcomes = errors.flat_map(|code| [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)]);
            for outcome in outcomes.chain([Outcome::Death]) {
                let folder = tempfile::tempdir().expect("a folder");
                let paths = scene(folder.path());
                let system = Faults::with(Fault { at, effect, outcome });
                let error = remove_files(&system, &paths).expect_err("a fault");
                let case = format!("{at}, {effect:?}, {outcome:?}");
                assert_eq!(system.calls().len(), at + 1, "it goes on after an error: {case}");
                let unlinked = at.min(4);
                assert_eq!((&error.removed[..], &error.left[..]), paths.split_at(unlinked), "{case}");
                assert!(at >= 4 || error.path == paths[at], "{case}");
                // The one that failed may be gone all the same.
                let gone = unlinked + usize::from(at < 4 && effect == Effect::Whole);
                assert_eq!(left(&paths), paths[gone..], "{case}");
                let again = remove_files(&Disk, &paths).expect("no fault");
                assert_eq!((&again.missing[..], &again.removed[..]), paths.split_at(gone), "{case}");
                cases += 1;
            }
        }
    }
    println!("{cases} faults");
    assert!(cases >= sweep::cases(130, 300), "only {cases} cases");
}

#[test]
fn a_folder_that_cannot_be_synced_is_said_to_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = scene(folder.path());
    let system = Faults::with(Fault { at: 5, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(EIO) });
    let error = remove_files(&system, &paths).expect_err("a fault");
    assert_eq!(error.path, folder.path().join("old"));
    let message = error.to_string();
    assert!(
        message.ends_with("old: cannot sync the folder to disk after removing files; 4 removed, 0 left"),
        "{message}"
    );
}
