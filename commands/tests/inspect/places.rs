//! Blocks larger than memory, and inputs that are not regular files.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_testkit::archive::undecodable;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::product::product;

use crate::support::{Folder, assert_exit, command, golden, run};

const SUBCOMMANDS: [&[&str]; 12] = [
    &[],
    &["summary"],
    &["dump"],
    &["sections"],
    &["series", "--first", "1"],
    &["labels"],
    &["values", "name", "--limit", "1"],
    &["cardinality", "--first", "1"],
    &["metrics"],
    &["tables", "--first", "1"],
    &["plan", "--first", "1"],
    &["verify"],
];

/// Returns a block of 1,100 series with a value of about 60 KB each.
fn large_block() -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let values: Vec<String> = (0..1_100).map(|number| format!("{number:04}").repeat(15_000)).collect();
    let ids: Vec<_> = values.iter().map(|value| builder.push_symbol(value).unwrap()).collect();
    let name = builder.push_symbol("name").unwrap();
    builder.push_key(name, &ids).unwrap();
    let rows: Vec<u32> = (0..1_100).collect();
    builder.push_keyset(&[chronoxide_format::KeyId(0)], &rows).unwrap();
    builder.finish(&BlockMeta::default()).unwrap()
}

/// Runs the command with a limit on its memory in KiB, maps of files excepted.
#[cfg(target_os = "linux")]
fn run_with_memory(kibibytes: u32, arguments: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -d $1; shift; exec \"$@\"", "sh", &kibibytes.to_string()])
        .arg(env!("CARGO_BIN_EXE_chronoxide-inspect"))
        .args(arguments)
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_block_larger_than_the_memory_is_shown() {
    const KIBIBYTES: u32 = 16 << 10;
    let folder = Folder::new();
    let block = large_block();
    assert!(block.len() > 3 * 1024 * KIBIBYTES as usize, "{} bytes", block.len());
    let path = folder.write("large.cx", &block);
    for subcommand in SUBCOMMANDS {
        let arguments: Vec<&str> = subcommand.iter().copied().chain([path.as_str()]).collect();
        let output = run_with_memory(KIBIBYTES, &arguments);
        assert_exit(&output, 0, "");
        assert!(!output.stdout.is_empty() || *subcommand == ["metrics"], "{subcommand:?}");
    }
    // The limit works: a block from a pipe is held in memory.
    let output = Command::new("sh")
        .args(["-c", "cat \"$1\" | (ulimit -d $2; exec \"$3\" summary -)", "sh", &path, &KIBIBYTES.to_string()])
        .arg(env!("CARGO_BIN_EXE_chronoxide-inspect"))
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn an_endless_device_is_rejected_by_its_first_bytes() {
    for subcommand in SUBCOMMANDS {
        let arguments: Vec<&str> = subcommand.iter().copied().chain(["/dev/zero"]).collect();
        assert_exit(&run(&arguments), 3, "/dev/zero: not a Chronoxide block");
        let zeros = fs::File::open("/dev/zero").unwrap();
        let arguments: Vec<&str> = subcommand.iter().copied().chain(["-"]).collect();
        let output = command().args(&arguments).stdin(zeros).output().unwrap();
        assert_exit(&output, 3, "not a Chronoxide block");
    }
    assert_exit(&run(&["follow", "/dev/zero", "1"]), 3, "/dev/zero");
    assert_exit(&run(&["/dev/null"]), 3, "not a Chronoxide block");
}

#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.file("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    for subcommand in SUBCOMMANDS.iter().copied().chain([&["follow"][..]]) {
        let mut arguments: Vec<&str> = subcommand.iter().copied().chain([pipe]).collect();
        if subcommand == ["follow"] {
            arguments.push("1");
        }
        assert_exit(&run(&arguments), 1, "redirect it to standard input and name it `-`");
    }
}

#[test]
fn a_block_comes_through_a_pipe_whole() {
    let path = golden("plain-bitpacked.cx");
    for subcommand in SUBCOMMANDS {
        let named: Vec<&str> = subcommand.iter().copied().chain([path.as_str()]).collect();
        let piped: Vec<&str> = subcommand.iter().copied().chain(["-"]).collect();
        let block = fs::File::open(&path).unwrap();
        let mut cat = Command::new("cat").stdin(block).stdout(Stdio::piped()).spawn().unwrap();
        let output = command().args(&piped).stdin(cat.stdout.take().unwrap()).output().unwrap();
        cat.wait().unwrap();
        let expected = String::from_utf8(run(&named).stdout).unwrap().replace(&path, "-");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{subcommand:?}");
    }
}

#[test]
fn a_mistyped_subcommand_suggests_the_nearest() {
    let path = golden("plain-bitpacked.cx");
    for (typed, meant) in [("sumary", "summary"), ("verfy", "verify"), ("serie", "series"), ("folow", "follow")] {
        for arguments in [&[typed][..], &[typed, &path]] {
            let message = format!("unrecognized subcommand \"{typed}\"; did you mean `{meant}`?");
            assert_exit(&run(arguments), 2, &message);
        }
    }
    assert_exit(&run(&[&path, &path]), 2, "without a subcommand, one file is shown, not 2");
    assert_exit(&run(&["absent.cx"]), 1, "absent.cx");
}

#[test]
fn quiet_keeps_data_and_errors() {
    let folder = Folder::new();
    let (path, broken) = (golden("plain-bitpacked.cx"), folder.write("text.cx", "up 1\n"));
    let loud = run(&["verify", &path, &broken]);
    assert_exit(&loud, 3, "not a Chronoxide block");
    assert!(String::from_utf8_lossy(&loud.stdout).contains("sound"));
    for option in ["-q", "--quiet"] {
        let quiet = run(&["verify", option, &path, &broken]);
        assert_exit(&quiet, 3, "not a Chronoxide block");
        assert_eq!(String::from_utf8_lossy(&quiet.stdout), "");
    }
    assert_eq!(run(&["-q", "verify", &path, &broken]).stderr, loud.stderr);
    assert!(run(&["-q", "verify", &path, &broken]).stdout.is_empty());
    for misplaced in [&["--json", "verify", &path][..], &["--first", "2", "verify", &path], &[&path, "verify", &path]] {
        assert_exit(&run(misplaced), 2, "put files and options after the subcommand");
    }
    assert_eq!(run(&["sections", "-q", &path]).stdout, run(&["sections", &path]).stdout);
    let note = "note: no metric has the name \"absent\"";
    assert_exit(&run(&["metrics", &path, "--name", "absent"]), 0, note);
    assert!(run(&["metrics", &path, "--name", "absent", "-q"]).stderr.is_empty());
}

/// All 400 million pairs of two labels with 20,000 values each, in some 300 KB.
#[cfg(target_os = "linux")]
#[test]
fn first_series_of_a_small_block_with_very_many_take_little_memory() {
    const EVERY_SECOND: &str = r#"{a=~".*[02468]"}"#;
    let folder = Folder::new();
    for listed in ["a", "b"] {
        let path = folder.write("product.cx", product(20_000, listed).unwrap());
        let cases: [(&[&str], &[&str]); 4] = [
            (&["series", &path, "--match", EVERY_SECOND, "--first", "2"], &["000000", "000002"]),
            (&["series", &path, "--match", r#"{b="000001"}"#, "--match", EVERY_SECOND, "--first", "2"], &["000000"]),
            (&["values", "a", &path, "--match", EVERY_SECOND, "--limit", "2"], &["000000", "000002"]),
            (&["cardinality", &path, "--match", EVERY_SECOND], &["200,000,000"]),
        ];
        for (arguments, expected) in cases {
            // The list of all refs takes 1.6 GB.
            let output = run_with_memory(64 << 10, arguments);
            assert_exit(&output, 0, "");
            let shown = String::from_utf8(output.stdout).unwrap();
            for expected in expected.iter().filter(|_| listed == "a" || arguments[0] != "series") {
                assert!(shown.contains(expected), "{arguments:?}: {shown}");
            }
        }
    }
}

/// The strings of an archive are many times as long as its file.
#[cfg(target_os = "linux")]
#[test]
fn archives_are_counted_together_before_they_are_decoded() {
    let folder = Folder::new();
    let long = "x".repeat(2_000);
    for block in 0..50 {
        let labels = |number: u32| Labelset::from([("a".to_owned(), format!("{long}{block:02}{number:04}"))]);
        let series: BTreeSet<Labelset> = (0..500).map(labels).collect();
        let meta = BlockMeta { archive: true, ..BlockMeta::default() };
        let bytes = build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
        assert!(bytes.len() < 10_000, "{}", bytes.len());
        folder.write(&format!("{block}.cx"), &bytes);
    }
    let path = folder.path().to_str().unwrap();
    let expected = "the strings of the archives take 47.8 MiB of memory, the limit is ";
    for command in ["top", "report"] {
        let output = run_with_memory(32 << 10, &[command, path, "--json", "--memory-limit", "40MiB"]);
        assert_exit(&output, 2, &format!("{expected}40 MiB: name fewer archives, or raise --memory-limit"));
    }
    // Half of the memory is the limit of queries.
    let queries = [&["series", path][..], &["labels", path], &["values", "a", path], &["cardinality", path]];
    for query in queries.into_iter().chain([&["diff", path, path][..]]) {
        let output = run_with_memory(32 << 10, query);
        assert_exit(&output, 2, "MiB: name fewer archives, or allow the process more memory");
        assert_eq!(output.stdout, b"", "{query:?}");
    }
    assert_exit(&run(&["labels", path]), 0, "");
}

/// Its strings cannot be decoded, which would be another error.
#[cfg(target_os = "linux")]
#[test]
fn a_single_archive_is_measured_before_it_is_decoded() {
    let folder = Folder::new();
    let path = folder.write("archive.cx", undecodable(24 << 20, &BlockMeta::default()));
    let commands: [&[&str]; 10] = [
        &["summary"],
        &["dump"],
        &["sections"],
        &["metrics"],
        &["tables"],
        &["verify"],
        &["export", "--format", "csv"],
        &["series"],
        &["cardinality"],
        &["diff", &path],
    ];
    for arguments in commands {
        let output = run_with_memory(40 << 10, &[arguments, &[&path]].concat());
        assert_exit(&output, 2, "the strings of the archives take ");
        let script = "ulimit -d 40960; file=$1; shift; exec \"$@\" - < \"$file\"";
        let program = [env!("CARGO_BIN_EXE_chronoxide-inspect")];
        let shell = ["-c", script, "sh", &path];
        let output = Command::new("sh").args(shell).args(program).args(arguments).output().unwrap();
        assert_exit(&output, 2, "the strings of the archives take ");
        assert_eq!(output.stdout, b"", "{arguments:?}");
    }
    assert_exit(&run(&["export", "--format", "csv", &path]), 3, "archive.cx: ");
}
