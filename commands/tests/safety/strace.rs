//! The system calls that the command really makes, as strace sees them, and what is left when the kernel kills at one.
//!
//! Cross-checks the seam: nothing goes around it. Needs strace; see `chronoxide_testkit::requirement`.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, is_temporary_name, recover};
use chronoxide_reader::{Checks, Folder};
use chronoxide_testkit::requirement::skip_or_fail;

use super::scene::{Files, Scene, files, scenes};
use super::support::content;

const CHANGING: &str = "trace=creat,open,openat,openat2,write,pwrite64,writev,pwritev,truncate,ftruncate,fallocate,fchmod,chmod,fsync,fdatasync,\
                        rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat,mmap";

/// A call that strace has seen, on something in the folder.
#[derive(Debug)]
struct Traced {
    /// Its name and, of an open, its purpose.
    what: String,
    /// The name of the system call.
    name: String,
    /// Which of these calls of its thread it is, from 1.
    number: usize,
}

/// Returns a folder with three blocks, `a.cx` to `c.cx`. The first two are merged.
fn folder(scene: &Scene) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, block) in ["a.cx", "b.cx", "c.cx"].into_iter().zip(&scene.inputs) {
        fs::write(folder.path().join(name), block).unwrap();
    }
    folder
}

fn command(program: &str, folder: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if program == "strace" {
        command.arg(env!("CARGO_BIN_EXE_chronoxide-compact"));
    }
    command.args(["--threads", "1"]).args(["a.cx", "b.cx"].map(|name| folder.join(name)));
    command.arg("-o").arg(folder.join("out.cx"));
    command
}

/// The command under strace with these options, and its log.
fn trace(folder: &Path, options: &[&str]) -> Option<String> {
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("log");
    let common = ["-f", "-y", "-s", "0", "-o", log.to_str().unwrap()];
    match command("strace", folder, &[&common, options].concat()).status() {
        Err(error) => skip_or_fail("strace", error),
        Ok(_) => match fs::read_to_string(&log) {
            Ok(text) if text.contains('(') => return Some(text),
            _ => skip_or_fail("strace", "it may not trace here"),
        },
    }
    None
}

/// The calls on the folder and what is in it, in order.
fn calls_in(folder: &Path, log: &str) -> Vec<Traced> {
    let folder = folder.to_str().unwrap();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log.lines().filter(|line| !line.contains("resumed>")) {
        let mut words = line.split_whitespace();
        let (Some(thread), Some(call)) = (words.next(), words.next()) else { continue };
        let Some((name, _)) = call.split_once('(') else { continue };
        let count = counts.entry((thread.to_owned(), name.to_owned())).or_default();
        *count += 1;
        // The scratch file of memory has no name, and disappears with the process.
        let is_unnamed = line.contains("O_TMPFILE") || line.contains(&format!("<{folder}/#"));
        if is_unnamed || !line.contains(folder) {
            continue;
        }
        let input = ["a.cx", "b.cx"].into_iter().find(|name| line.contains(&format!("{folder}/{name}")));
        let is_changing = line.contains("O_WRONLY") || line.contains("O_RDWR") || line.contains("O_TRUNC");
        let purpose = match name {
            "openat" if line.contains("O_CREAT|O_EXCL") => " new".to_owned(),
            "openat" if is_changing || line.contains("O_CREAT") => " to change".to_owned(),
            "openat" => format!(" {}", input.unwrap_or("to read")),
            "fsync" if line.contains(".chronoxide-") => " file".to_owned(),
            "fsync" => " folder".to_owned(),
            "renameat2" if line.contains("RENAME_NOREPLACE") => " new".to_owned(),
            "mmap" if line.contains("PROT_WRITE") => " to change".to_owned(),
            "mmap" => continue,
            _ => String::new(),
        };
        calls.push(Traced { what: format!("{name}{purpose}"), name: name.to_owned(), number: *count });
    }
    calls
}

fn scene() -> Scene {
    scenes().into_iter().find(|scene| scene.name == "adopting").unwrap()
}

fn expected_calls() -> Vec<&'static str> {
    let inputs = ["openat a.cx", "openat b.cx"];
    // The blocks beside the output are read for what they claim about it.
    let survey = ["open", "openat a.cx", "openat b.cx", "openat to read", "open"];
    let output =
        ["openat new", "write", "fsync file", "openat to read", "renameat2 new", "openat to read", "fsync folder"];
    [&inputs[..], &survey, &output].concat()
}

#[test]
fn the_calls_of_the_command_are_those_of_the_seam() {
    let folder = folder(&scene());
    let before = files(folder.path());
    let Some(log) = trace(folder.path(), &["-e", CHANGING]) else { return };
    let mut after = files(folder.path());
    let block = after.remove("out.cx").unwrap();
    BlockView::open(&block).unwrap().verify().unwrap();
    assert!(after == before, "inputs are as they were");
    let mut calls: Vec<String> = calls_in(folder.path(), &log).into_iter().map(|call| call.what).collect();
    // Who verifies what was written may open it again.
    calls.dedup_by(|next, call| next == call && ["write", "openat to read"].contains(&next.as_str()));
    assert_eq!(calls, expected_calls(), "{log}");
}

#[test]
fn a_kill_at_each_call_leaves_no_half_block() {
    let scene = scene();
    let whole = folder(&scene);
    assert!(command(env!("CARGO_BIN_EXE_chronoxide-compact"), whole.path(), &[]).status().unwrap().success());
    let block = files(whole.path()).remove("out.cx").unwrap();
    let first = folder(&scene);
    let Some(log) = trace(first.path(), &["-e", CHANGING]) else { return };
    let calls = calls_in(first.path(), &log);
    let changing = calls.iter().skip_while(|call| call.what != "openat new");
    let mut kills = 0;
    for call in changing {
        // strace counts calls by thread: of opens another thread makes as many before.
        let Traced { what, name, number } = call;
        if name == "openat" {
            continue;
        }
        let folder = folder(&scene);
        let before = files(folder.path());
        let kill = format!("inject={name}:signal=SIGKILL:when={number}");
        let log = trace(folder.path(), &["-e", CHANGING, "-e", &kill]).unwrap();
        assert!(log.contains("killed by SIGKILL"), "{call:?}: {log}");
        let killed = calls_in(folder.path(), &log);
        let last = killed.last().unwrap();
        assert_eq!((&last.what, last.number), (what, *number), "killed elsewhere: {log}");
        judge(folder.path(), &before, &block);
        let opened = Folder::read(folder.path(), Checks::Eager).unwrap();
        assert!(opened.unreadable().is_empty(), "{what}");
        // A signal comes when the call has been made, or when it would have been.
        let is_there = files(folder.path()).contains_key("out.cx");
        assert!(!is_there || name == "renameat2" || what == "fsync folder", "{what}");
        assert!(is_there || what != "fsync folder", "{what}");

        recover(&Disk, folder.path()).unwrap();
        let run = command(env!("CARGO_BIN_EXE_chronoxide-compact"), folder.path(), &[]).status().unwrap();
        assert_eq!(run.code(), Some(if is_there { 1 } else { 0 }), "what is there stays as it is: {what}");
        let after = judge(folder.path(), &before, &block);
        assert_eq!(after.len(), 4, "{what}");
        assert_eq!(content(&after["out.cx"]), content(&block));
        kills += 1;
    }
    println!("{kills} kills");
    assert!(kills >= 4, "only {kills} kills");
}

/// The inputs are there, and beside them the whole output and temporary files at most.
fn judge(folder: &Path, before: &Files, block: &[u8]) -> Files {
    let found = files(folder);
    for (name, bytes) in &found {
        let is_ours = is_temporary_name(name) || name == "out.cx" && bytes == block;
        assert!(is_ours || before.get(name) == Some(bytes), "{name}");
    }
    assert!(before.keys().all(|name| found.contains_key(name)));
    found
}
