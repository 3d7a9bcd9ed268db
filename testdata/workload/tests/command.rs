//! Runs the command.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use chronoxide_workload::{Format, Options, Set, Statistics, Workload};

use crate::oracle::bytes;

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-workload"));
    command.stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().expect("the command runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_command_writes_what_the_library_writes() {
    for format in Format::ALL {
        let output = run(&[
            "--series",
            "2k",
            "--seed",
            "5",
            "--windows",
            "1..3",
            "--window-length",
            "30m",
            "--churn",
            "0.1",
            "--scrapes",
            "2",
            "--format",
            format.name(),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let options = Options {
            series: 2_000,
            seed: 5,
            windows: 1..3,
            window_seconds: 1800,
            churn: 0.1,
            scrapes: 2,
            ..Options::default()
        };
        assert!(output.stdout == bytes(&options, format), "{}", format.name());
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn a_file_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.jsonl");
    let arguments = ["--set", "wide", "--series", "10", "-o", path.to_str().unwrap()];
    let expected = bytes(&Options { series: 10, set: Set::Wide, ..Options::default() }, Format::OtlpJson);

    std::fs::write(&path, "mine").unwrap();
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("wide.jsonl: "), "{}", stderr(&output));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");

    let output = run(&[&arguments[..], &["--force"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, b"");
    assert!(std::fs::read(&path).unwrap() == expected);
}

#[test]
fn describing_prints_the_statistics() {
    let output = run(&["--series", "3000", "--describe"]);
    let workload = Workload::new(Options { series: 3_000, ..Options::default() }).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), Statistics::from_workload(&workload).to_string());
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let mut child = command().args(["--series", "100k"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut beginning = [0; 20];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut beginning).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(&beginning, b"{\"resourceMetrics\":[");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [
        &["--series", "many"][..],
        &["--windows", "3..3"],
        &["--churn", "2"],
        &["--churn", "NaN"],
        &["--scrapes", "0"],
        &["--set", "tidy"],
        &["--format", "csv"],
        &["--windows", "4000000000", "--window-length", "1d"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("error: "), "{}", stderr(&output));
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn help_has_examples() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Examples:") && help.contains("--describe"), "{help}");
}
