//! Folders are created durably, whatever call fails.

use std::fs;

use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, make_folder};

#[test]
fn each_folder_is_made_and_then_the_one_above_it_synced() {
    use Call::{CreateFolder, SyncFolder};
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("a/b/c/");
    let system = Faults::none();
    make_folder(&system, &folder).expect("no fault");
    assert!(folder.is_dir());
    let expected = [SyncFolder, CreateFolder, SyncFolder, CreateFolder, SyncFolder, CreateFolder, SyncFolder];
    assert_eq!(system.calls(), expected);

    // One that is there may have been made by a run that was killed before it was durable.
    let system = Faults::none();
    make_folder(&system, &folder).expect("it is there");
    assert_eq!(system.calls(), [SyncFolder]);
}

#[test]
fn a_file_in_the_way_stays_and_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("a");
    fs::write(&path, "x").expect("a file");
    let error = make_folder(&Disk, &path.join("b")).expect_err("a file is not a folder");
    assert!(!error.is_made);
    assert_eq!(error.path, path);
    assert!(error.to_string().ends_with("a: cannot create the folder"), "{error}");
    assert_eq!(fs::read(&path).expect("it is there"), b"x");
}

#[test]
fn every_call_fails_or_is_the_last_and_can_be_made_again() {
    let mut cases = 0;
    for at in 0..5 {
        for effect in [Effect::Nothing, Effect::Whole] {
            for outcome in ERRORS.map(Outcome::ErrorOnce).into_iter().chain([Outcome::Death]) {
                let case = format!("{at}, {effect:?}, {outcome:?}");
                let root = tempfile::tempdir().expect("a folder");
                let folder = root.path().join("a/b");
                let system = Faults::with(Fault { at, effect, outcome });
                let made = make_folder(&system, &folder);
                // A folder above that may not be read does not hide an existing one.
                let is_denied = matches!(outcome, Outcome::ErrorOnce(1 | 13));
                if at == 0 && is_denied {
                    made.unwrap_or_else(|error| panic!("{case}: {error}"));
                } else {
                    let error = made.expect_err(&case);
                    assert_eq!(system.calls().len(), at + 1, "it goes on after an error: {case}");
                    assert_eq!(error.is_made, at % 2 == 0, "{case}");
                }
                let again = Faults::none();
                make_folder(&again, &folder).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert!(folder.is_dir(), "{case}");
                assert_eq!(again.calls().first(), Some(&Call::SyncFolder), "what a dead run made is synced: {case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 110);
}
