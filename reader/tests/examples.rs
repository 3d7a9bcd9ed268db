//! Runs the examples on goldens and checks their output.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name)
}

/// Runs an example. `cargo test` without `--test` builds the examples in the folder `examples` beside that of the
/// tests.
fn run(example: &str, arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("{example}{EXE_SUFFIX}"));
    assert!(program.exists(), "{} is missing: run `cargo build --examples` first", program.display());
    Command::new(program).args(arguments).output().unwrap()
}

fn stdout(example: &str, arguments: &[&str]) -> String {
    let output = run(example, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lookup_prints_the_series_with_the_given_labels() {
    let block = golden("golden/plain-bitpacked.cx");
    let block = block.to_str().unwrap();
    let found = stdout("lookup", &[block, "__name__=up", "job=db", "pod=db-1"]);
    assert_eq!(found, "series 6\n  __name__=up\n  job=db\n  pod=db-1\n");
    assert_eq!(stdout("lookup", &[block, "__name__=up", "job=db"]), "no such series\n");
}

#[test]
fn scan_counts_the_series_of_each_value() {
    let block = golden("golden/plain-bitpacked.cx");
    let counts = stdout("scan", &[block.to_str().unwrap(), "job"]);
    assert_eq!(counts, "       7 job=api\n       2 job=db\n");
}

#[test]
fn folder_lists_live_blocks_and_unreadable_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain-bitpacked.cx", "one-series.cx"] {
        std::fs::copy(golden("golden").join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("broken.cx"), "not a block").unwrap();
    std::fs::copy(golden("golden").join("one-series.cx"), folder.path().join("two.cx")).unwrap();
    let listed = stdout("folder", &[folder.path().to_str().unwrap()]);
    assert!(listed.contains("plain-bitpacked.cx: 10 series\n"), "{listed}");
    assert!(listed.contains("one-series.cx: 1 series\n"), "{listed}");
    assert!(listed.contains("11 series in 2 blocks\n"), "{listed}");
    assert!(listed.contains("two.cx (copy of another file)\n"), "{listed}");
    assert!(listed.contains("unreadable: "), "{listed}");
}

#[test]
fn follow_prints_the_target_of_each_series() {
    let remap = golden("remaps/golden/small.cxr");
    let followed = stdout("follow", &[remap.to_str().unwrap(), "3", "5"]);
    let expected = "block 5ANANANANANANANANANANANANA: 9 series\n\
        series 3 is now series 4 of block 01040G2081040G2081040G2081\n\
        series 5 was dropped or never existed\n";
    assert_eq!(followed, expected);
}

#[test]
fn examples_without_arguments_print_their_usage() {
    for example in ["lookup", "scan", "folder", "follow"] {
        let output = run(example, &[]);
        assert!(!output.status.success());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(&format!("usage: {example} ")), "{message}");
    }
}
