//! Cases from reports of users of other programs and from real files: `testdata/cases`.
//!
//! A folder holds the inputs of a case and `case.txt`: where it comes from, why it has its result, the command, its
//! exit code, and the series of its output.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::canonical::{self, Labels};

/// Returns the values of a key of `case.txt`.
fn values<'c>(case: &'c str, key: &str) -> Vec<&'c str> {
    let line = |line: &'c str| line.split_once(' ').filter(|(name, _)| *name == key).map(|(_, value)| value.trim());
    case.lines().filter_map(line).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Returns the blocks of an output, which is a file or a folder.
fn blocks(output: &Path) -> Vec<PathBuf> {
    if output.is_file() {
        return vec![output.to_owned()];
    }
    let Ok(entries) = fs::read_dir(output) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "cx")).collect()
}

#[test]
fn cases_have_their_results() {
    let programs = Path::new(env!("CARGO_BIN_EXE_chronoxide-ingest")).parent().unwrap();
    let path: Vec<OsString> = [programs.into(), std::env::var_os("PATH").unwrap_or_default()].into_iter().collect();
    let path = path.join(&OsString::from(":"));
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/cases");
    let mut count = 0;
    for case in fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(case.join("case.txt")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        copy(&case, folder.path());
        let command = values(&text, "command").join("\n");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(folder.path()).env("PATH", &path).env("NO_COLOR", "1");
        let done = shell.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        let code = done.status.code().map(|code| code.to_string()).unwrap_or_default();
        assert_eq!(vec![code.as_str()], values(&text, "exit"), "{name}: {stderr}");
        assert!(code == "0" || !stderr.is_empty(), "{name}: no reason");
        let output = command.split(" -o ").last().and_then(|rest| rest.split_whitespace().next()).unwrap();
        let found: BTreeSet<Labels> = blocks(&folder.path().join(output))
            .iter()
            .flat_map(|block| canonical::block_series(&fs::read(block).unwrap()))
            .collect();
        let expected: BTreeSet<Labels> = values(&text, "series")
            .into_iter()
            .map(|line| canonical::series(&serde_json::from_str(line).unwrap()))
            .collect();
        if !expected.is_empty() {
            assert_eq!(found, expected, "{name}: {stderr}");
        }
        count += 1;
    }
    assert!(count >= 26, "{count} cases");
}
