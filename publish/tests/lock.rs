//! One job at a time holds the lock of a folder, and a dead job releases it.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use chronoxide_publish::{FolderLock, LockError};

/// Set for the other process: the folder to lock.
const FOLDER: &str = "CHRONOXIDE_LOCK_FOLDER";

fn in_use(folder: &Path) -> bool {
    match FolderLock::try_lock(folder) {
        Ok(_) => false,
        Err(LockError::InUse { folder: named }) => {
            assert_eq!(named, folder);
            true
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_folder_is_locked_until_the_lock_is_dropped() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let lock = FolderLock::try_lock(folder.path()).expect("the lock is free");
    assert_eq!(lock.folder(), folder.path());
    assert!(in_use(folder.path()));
    assert!(!in_use(other.path()));
    #[cfg(unix)]
    {
        // The lock does not depend on the name of the path.
        let link = other.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
        assert!(in_use(&link));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "it leaves nothing there");
    }
    drop(lock);
    assert!(!in_use(folder.path()));
    assert!(!in_use(folder.path()), "trying does not lock");
}

#[test]
fn only_folders_can_be_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("week.cx");
    fs::write(&file, "x").expect("a file");
    for path in [file, folder.path().join("missing")] {
        match FolderLock::try_lock(&path) {
            Err(LockError::Io { folder, .. }) => assert_eq!(folder, path),
            other => panic!("{other:?}"),
        }
    }
    let message = LockError::InUse { folder: "blocks".into() }.to_string();
    assert_eq!(message, "blocks: another job is running in this folder");
}

/// The other process: takes the lock, says so, and waits to be killed.
#[test]
fn the_other_job() {
    if let Some(folder) = env::var_os(FOLDER) {
        let _lock = FolderLock::try_lock(Path::new(&folder)).expect("the lock is free");
        std::io::stderr().write_all(b"locked\n").expect("the parent reads stderr");
        let _ = std::io::stdin().read(&mut [0]);
    }
}

#[test]
fn a_killed_job_has_no_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..5 {
        let mut job = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", "the_other_job", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this test runs");
        let mut said = [0; 7];
        job.stderr.take().expect("piped").read_exact(&mut said).expect("it says so");
        assert_eq!(&said, b"locked\n");
        assert!(in_use(folder.path()));
        job.kill().expect("it is ours");
        job.wait().expect("it is ours");
        assert!(!in_use(folder.path()));
    }
}
