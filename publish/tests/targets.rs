//! Targets that cannot be files are refused, and others get their modes.

mod support;

use std::fs;
use std::path::Path;

use chronoxide_publish::faults::{Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, Existing, PublishError, Step};
use support::{Differs, content_of, publish_bytes, temporaries};

const BOTH: [Existing; 2] = [Existing::Refuse, Existing::Replace];

fn error(target: &Path, existing: Existing) -> PublishError<Differs> {
    publish_bytes(&Disk, target, existing, b"new").expect_err("this target is invalid")
}

#[test]
fn an_existing_target_is_not_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    fs::write(&target, "old").expect("the old file");
    let error = error(&target, Existing::Refuse);
    assert!(matches!(error, PublishError::Exists { .. }), "{error:?}");
    let expected = format!("{}: already exists (use --force to replace it)", target.display());
    assert_eq!(error.to_string(), expected);
    assert_eq!(content_of(&target), Some(b"old".to_vec()));
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    fs::write(folder.path().join("file"), "").expect("a file");
    for wrong in [missing, folder.path().join("file")] {
        for existing in BOTH {
            match error(&wrong.join("week.cx"), existing) {
                PublishError::NoFolder { folder, .. } => assert_eq!(folder, wrong),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn paths_without_a_file_name_are_refused() {
    for path in ["", "/", ".", "..", "out/", "out/.", "out/.."] {
        for existing in BOTH {
            let error = error(Path::new(path), existing);
            assert!(matches!(error, PublishError::NoFileName { .. }), "{path:?}: {error:?}");
        }
    }
}

#[test]
fn a_folder_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    fs::create_dir(&target).expect("a folder");
    let taken = error(&target, Existing::Refuse);
    assert!(matches!(taken, PublishError::Exists { .. }), "{taken:?}");
    match error(&target, Existing::Replace) {
        PublishError::NotAFile { found, .. } => assert_eq!(found, "a folder"),
        other => panic!("{other:?}"),
    }
    assert!(temporaries(folder.path(), &target).is_empty());
}

#[test]
fn names_that_the_file_system_does_not_take_are_refused_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["x".repeat(5_000), "a\0b".to_owned()] {
        for existing in BOTH {
            let error = error(&folder.path().join(&name), existing);
            assert!(matches!(error, PublishError::InvalidName { .. }), "{error:?}");
        }
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_an_io_error() {
    const EACCES: i32 = 13;
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let fault = Fault { at: 0, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(EACCES) };
    match publish_bytes(&Faults::with(fault), &target, Existing::Refuse, b"new") {
        Err(PublishError::Io { step: Step::Create, source, path }) => {
            assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
            assert_eq!(path, target);
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_has_the_mode_of_any_new_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, any) = (folder.path().join("week.cx"), folder.path().join("any"));
        for existing in BOTH {
            publish_bytes(&Disk, &target, existing, b"new").expect("no fault");
            fs::write(&any, "").expect("any file");
            assert_eq!(mode(&target), mode(&any));
            fs::remove_file(&target).expect("it is there");
        }
    }

    #[test]
    fn a_file_takes_over_the_mode_of_the_one_it_replaces() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("week.cx");
        fs::write(&target, "old").expect("the old file");
        for (old, new) in [(0o600, 0o600), (0o664, 0o664), (0o444, 0o444), (0o000, 0o400)] {
            fs::set_permissions(&target, fs::Permissions::from_mode(old)).expect("it is ours");
            publish_bytes(&Disk, &target, Existing::Replace, b"new").expect("no fault");
            assert_eq!(mode(&target), new, "{old:o}");
        }
    }

    #[test]
    fn links_and_pipes_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let (good, dangling) = (folder.path().join("good"), folder.path().join("dangling"));
        let aim = elsewhere.path().join("aim");
        fs::write(&aim, "aim").expect("a file");
        symlink(&aim, &good).expect("a link");
        symlink(elsewhere.path().join("nothing"), &dangling).expect("a link");
        for link in [&good, &dangling] {
            let taken = error(link, Existing::Refuse);
            assert!(matches!(taken, PublishError::Exists { .. }), "{taken:?}");
            match error(link, Existing::Replace) {
                PublishError::NotAFile { found, .. } => assert_eq!(found, "a symbolic link"),
                other => panic!("{other:?}"),
            }
            assert!(fs::symlink_metadata(link).expect("it is there").is_symlink());
        }
        assert_eq!(content_of(&aim), Some(b"aim".to_vec()));
        assert!(temporaries(elsewhere.path(), &aim).is_empty());
        match error(Path::new("/dev/null"), Existing::Replace) {
            PublishError::NotAFile { found, .. } => {
                assert_eq!(found, "a device, a pipe or a socket");
            }
            other => panic!("{other:?}"),
        }
    }
}
