//! The program that makes goldens writes nothing below a folder `frozen`.
#![cfg(unix)]

use std::process::Command;

#[test]
fn frozen_files_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let frozen = folder.path().join("frozen/1");
    std::fs::create_dir_all(&frozen).unwrap();
    // The folder itself, and a link to it.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&frozen, &link).unwrap();
    for path in [&frozen, &link] {
        let done = Command::new(env!("CARGO_BIN_EXE_chronoxide-goldens")).arg(path).output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && message.contains("frozen files are not made again"), "{message}");
    }
    assert_eq!(std::fs::read_dir(&frozen).unwrap().count(), 0);
}
