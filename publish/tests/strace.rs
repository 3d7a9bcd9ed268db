//! System calls of a publication as strace sees them, and the files left when the kernel kills the process at one of
//! them.
//!
//! This checks that no call bypasses `FileSystem`. It needs strace; see `requirement`.
#![cfg(target_os = "linux")]

mod support;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chronoxide_publish::{Disk, Existing, recover};
use chronoxide_testkit::requirement::skip_or_fail;
use support::{content, content_of, publish_bytes, temporaries};

/// Set for the traced process: the folder to publish in.
const FOLDER: &str = "CHRONOXIDE_STRACE_FOLDER";

const CHANGING: &str = "trace=creat,openat,write,pwrite64,writev,ftruncate,fchmod,chmod,fsync,fdatasync,\
                        rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat";

/// The traced test: the others run it in a separate process.
#[test]
fn the_traced_publication() {
    if let Some(folder) = env::var_os(FOLDER) {
        let target = Path::new(&folder).join("week.cx");
        publish_bytes(&Disk, &target, Existing::Refuse, &bytes()).expect("no fault");
    }
}

/// More writes than the test runner makes, since strace counts calls per thread.
fn bytes() -> Vec<u8> {
    content(1).repeat(5)
}

/// The traced test under strace with these options, and its log.
fn trace(folder: &Path, options: &[&str]) -> Option<String> {
    let logs = tempfile::tempdir().expect("a folder");
    let log = logs.path().join("log");
    let test = env::current_exe().expect("this test");
    let started = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-o"])
        .arg(&log)
        .args(options)
        .arg(test)
        .args(["--exact", "the_traced_publication"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match started {
        Err(error) => skip_or_fail("strace", error),
        Ok(_) => match fs::read_to_string(&log) {
            Ok(text) if text.contains("(") => return Some(text),
            _ => skip_or_fail("strace", "it may not trace here"),
        },
    }
    None
}

/// The changing calls on the folder and what is in it, in order: name and, of an open, its purpose.
fn calls_in(folder: &Path, log: &str) -> Vec<String> {
    let folder = folder.to_str().expect("a temporary folder's name is text");
    let mut calls: Vec<String> = log
        .lines()
        .filter(|line| line.contains(folder) && !line.contains("resumed>"))
        .filter_map(|line| {
            let call = line.split_whitespace().nth(1)?;
            let name = call.split('(').next()?;
            let purpose = match name {
                "openat" if line.contains("O_CREAT|O_EXCL") => " new",
                "openat" if line.contains("O_CREAT") || line.contains("O_TRUNC") => " truncate",
                "openat" => " read",
                "fsync" if line.contains(".chronoxide-") => " file",
                "fsync" => " folder",
                "renameat2" if line.contains("RENAME_NOREPLACE") => " new",
                _ => "",
            };
            Some(format!("{name}{purpose}"))
        })
        .collect();
    calls.dedup_by(|next, call| next == "write" && call == "write");
    calls
}

#[test]
fn the_calls_are_those_of_the_seam() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(log) = trace(folder.path(), &["-e", CHANGING]) else {
        return;
    };
    assert_eq!(content_of(&folder.path().join("week.cx")), Some(bytes()));
    assert_eq!(
        calls_in(folder.path(), &log),
        ["openat new", "write", "fsync file", "openat read", "renameat2 new", "openat read", "fsync folder",],
        "{log}"
    );
}

#[test]
fn a_kill_at_each_call_leaves_nothing_or_the_whole_file() {
    let mut kills = 0;
    for (call, times) in [("write", 7..=11), ("fsync", 1..=2), ("renameat2", 1..=1)] {
        for when in times {
            let folder = tempfile::tempdir().expect("a folder");
            let target = folder.path().join("week.cx");
            let only = format!("trace={call}");
            let kill = format!("inject={call}:signal=SIGKILL:when={when}");
            let Some(log) = trace(folder.path(), &["-e", &only, "-e", &kill]) else {
                return;
            };
            assert!(log.contains("killed by SIGKILL"), "{call} {when}: {log}");
            let place = folder.path().to_str().expect("a temporary folder's name is text");
            let last = log.lines().rfind(|line| line.contains(&format!(" {call}(")));
            let last = last.expect("it was killed at one");
            assert!(last.contains(place), "killed elsewhere: {last}");

            // A signal comes when the call has been made, or when it would have been.
            let found = content_of(&target);
            match call {
                "write" => assert!(found.is_none(), "{call} {when}"),
                _ => assert!(found.is_none_or(|found| found == bytes()), "{call} {when}"),
            }
            recover(&Disk, folder.path()).expect("it can be listed");
            assert!(temporaries(folder.path(), &target).is_empty());
            publish_again(&target);
            kills += 1;
        }
    }
    println!("{kills} kills");
    assert_eq!(kills, 8);
}

/// After recovery a publication is possible as ever.
fn publish_again(target: &Path) {
    publish_bytes(&Disk, target, Existing::Replace, &content(2)).expect("no fault");
    assert_eq!(content_of(target), Some(content(2)));
}
