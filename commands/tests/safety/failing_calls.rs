//! The command on a folder, with each call that opens, lists, closes or starts a thread failing in turn: it ends in an
//! error or does all of its work, and never panics.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{Checks, Folder};
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::random::{Random, random_series};
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

use super::scene::digests;

/// Calls and errors. strace counts calls by thread. A failing `mmap` is left out: the standard library panics when a
/// thread that has been started gets no stack for signals.
const FAILURES: [(&str, &str); 7] = [
    ("openat", "EMFILE"),
    ("openat", "EACCES"),
    ("openat", "EIO"),
    ("getdents64", "EIO"),
    ("close", "EIO"),
    ("clone3", "EAGAIN"),
    ("statx", "EIO"),
];

/// The command under strace with the n-th of these calls of each thread failing. Returns its exit code, standard error,
/// and whether a call failed.
fn run(folder: &Path, call: &str, error: &str, number: usize) -> Option<(i32, String, bool)> {
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("log");
    let started = Command::new("strace")
        .args(["-f", "-s", "0", "-e", &format!("trace={call}"), "-o"])
        .arg(&log)
        .args(["-e", &format!("inject={call}:error={error}:when={number}")])
        .arg(env!("CARGO_BIN_EXE_chronoxide-compact"))
        .arg(folder)
        .args(["--delete-inputs", "--threads", "1"])
        .stdin(Stdio::null())
        .output();
    let output = match started {
        Err(error) => {
            skip_or_fail("strace", error);
            return None;
        }
        Ok(output) => output,
    };
    let log = fs::read_to_string(&log).unwrap_or_default();
    if !log.contains('(') {
        skip_or_fail("strace", "it may not trace here");
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.code().unwrap_or(-1), stderr, log.contains("(INJECTED)")))
}

/// Four blocks of like size, without times: a folder merges them.
fn four_blocks() -> Vec<Vec<u8>> {
    let block = |seed| {
        let series = random_series(40, &mut Random::new(seed));
        build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()
    };
    (0..4).map(block).collect()
}

fn series(folder: &Path) -> BTreeSet<u64> {
    let opened = Folder::read(folder, Checks::Eager).unwrap();
    opened.live().iter().flat_map(|entry| digests(entry.block().bytes())).collect()
}

#[test]
fn each_failing_call_is_an_error_or_does_no_harm() {
    let blocks = four_blocks();
    let (mut cases, mut errors) = (0, 0);
    for (row, (call, error)) in FAILURES.into_iter().enumerate() {
        // Each fifth call, by turns, unless all are asked for.
        for number in sweep::by_turns(1..400, row, 5) {
            let folder = tempfile::tempdir().unwrap();
            for (number, block) in blocks.iter().enumerate() {
                fs::write(folder.path().join(format!("{number}.cx")), block).unwrap();
            }
            let before = series(folder.path());
            let Some((code, stderr, struck)) = run(folder.path(), call, error, number) else { return };
            let case = format!("{call} {error} {number}: exit {code}: {stderr}");
            assert!(!stderr.contains("panicked"), "{case}");
            // A process that cannot be loaded ends with 127, or by a signal before its first own call.
            assert!([0, 1, 2, 3, 127, -1].contains(&code), "{case}");
            assert_eq!(series(folder.path()), before, "{case}");
            if code == 0 {
                let names = fs::read_dir(folder.path()).unwrap().count();
                assert_eq!(names, 1, "inputs are left without a word: {case}");
            } else if code > 0 && code < 127 {
                assert!(!stderr.is_empty(), "{case}");
                errors += 1;
            }
            cases += 1;
            if !struck {
                break;
            }
        }
    }
    println!("{cases} runs, {errors} with an error");
    assert!(cases >= sweep::cases(12, 60) && errors >= sweep::cases(3, 20), "{cases} runs, {errors} errors");
}
