//! The program that makes goldens writes nothing below `testdata/frozen`.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

#[test]
fn frozen_files_are_not_made_again() {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frozen");
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&frozen, &link).unwrap();
    let before = std::fs::read_dir(&frozen).unwrap().count();
    for path in [frozen.join("1"), frozen.join("2"), link.join("1"), link.join("2/golden")] {
        let done = Command::new(env!("CARGO_BIN_EXE_chronoxide-goldens")).arg(path).output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && message.contains("frozen files are not made again"), "{message}");
    }
    assert_eq!(std::fs::read_dir(&frozen).unwrap().count(), before);
}
