//! The command with `--times`: columns of the first and last time of each series.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chronoxide::{Blocks, Value};

const SECOND: i64 = 1_000_000_000;

/// First and last time by job, in seconds.
type Times = BTreeMap<String, Option<(i64, i64)>>;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.current_dir(folder).args(arguments).env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

/// Times of the series of a block, or of a folder of blocks that share series.
fn times(path: &Path) -> Times {
    let blocks = Blocks::open(path).unwrap();
    let [first, last] = ["first", "last"].map(|end| blocks.column(&format!("chronoxide.{end}_time")).unwrap().unwrap());
    let mut rows = blocks.query("up").unwrap().series().unwrap();
    let mut all = Times::new();
    while let Some(series) = rows.next().unwrap() {
        let job = series.get("job").unwrap().to_owned();
        let times = match (first.of(&series).unwrap(), last.of(&series).unwrap()) {
            (Some(Value::I64(first)), Some(Value::I64(last))) => {
                assert_eq!((first % SECOND, last % SECOND), (0, 0), "{job}");
                Some((first / SECOND, last / SECOND))
            }
            (None, None) => None,
            other => panic!("{job}: {other:?}"),
        };
        assert_eq!(all.insert(job, times), None, "each series once");
    }
    all
}

fn expected(all: &[(&str, Option<(i64, i64)>)]) -> Times {
    all.iter().map(|(job, times)| ((*job).to_owned(), *times)).collect()
}

/// 1,700,000,000 s are 20 s after a minute, and 800 s after half an hour.
const TEXT: &str = "\
up{job=\"a\"} 1 1700000030000
up{job=\"a\"} 1 1700003000001
up{job=\"b\"} 1 1700000000000
up{job=\"c\"} 1
";

#[test]
fn times_are_rounded_outwards_to_the_step() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.prom"), TEXT).unwrap();
    assert_exit(&run(folder.path(), &["a.prom", "-o", "minutes.cx", "--times"]), 0, "3 series");
    let minute = 1_700_000_000 - 20;
    assert_eq!(
        times(&folder.path().join("minutes.cx")),
        expected(&[("a", Some((minute, minute + 51 * 60))), ("b", Some((minute, minute + 60))), ("c", None)])
    );
    assert_exit(&run(folder.path(), &["a.prom", "-o", "seconds.cx", "--times", "--time-step", "1s"]), 0, "3 series");
    let (a, b) = ((1_700_000_030, 1_700_003_001), (1_700_000_000, 1_700_000_000));
    assert_eq!(times(&folder.path().join("seconds.cx")), expected(&[("a", Some(a)), ("b", Some(b)), ("c", None)]));
    // Without timestamps there is one for all.
    fs::write(folder.path().join("b.prom"), "up{job=\"d\"} 1\n").unwrap();
    let one_time = ["b.prom", "-o", "one.cx", "--times", "--time", "2023-11-14T22:13:20Z"];
    assert_exit(&run(folder.path(), &one_time), 0, "1 series");
    assert_eq!(times(&folder.path().join("one.cx")), expected(&[("d", Some((minute, minute + 60)))]));
}

#[test]
fn blocks_of_windows_have_the_times_within_their_window() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.prom"), TEXT).unwrap();
    let arguments = ["a.prom", "-o", "blocks/", "--times", "--time-step", "1s", "--window", "30m"];
    assert_exit(&run(folder.path(), &arguments), 0, "4 series in 3 blocks");
    let (a, b) = ((1_700_000_030, 1_700_003_001), (1_700_000_000, 1_700_000_000));
    assert_eq!(times(&folder.path().join("blocks")), expected(&[("a", Some(a)), ("b", Some(b)), ("c", None)]));
    let mut each = Vec::new();
    for entry in fs::read_dir(folder.path().join("blocks")).unwrap() {
        let path = entry.unwrap().path();
        // The series without a time has a block of its own, without columns.
        if Blocks::open(&path).unwrap().column("chronoxide.first_time").unwrap().is_some() {
            each.push(times(&path));
        }
    }
    each.sort();
    let early = expected(&[("a", Some((1_700_000_030, 1_700_000_030))), ("b", Some(b))]);
    let late = expected(&[("a", Some((1_700_003_000, 1_700_003_001)))]);
    assert_eq!(each, [early, late]);
}

#[test]
fn blocks_have_columns_only_with_the_option() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.prom"), TEXT).unwrap();
    assert_exit(&run(folder.path(), &["a.prom", "-o", "plain.cx"]), 0, "3 series");
    let plain = Blocks::open(folder.path().join("plain.cx")).unwrap();
    assert!(plain.column("chronoxide.first_time").unwrap().is_none());
    let alone = run(folder.path(), &["a.prom", "-o", "out.cx", "--time-step", "1s"]);
    assert_exit(&alone, 2, "--times");
    let zero = run(folder.path(), &["a.prom", "-o", "out.cx", "--times", "--time-step", "0s"]);
    assert_exit(&zero, 2, "the step must be longer than zero and shorter than 292 years");
    assert!(!folder.path().join("out.cx").exists());
}

#[test]
fn a_report_has_the_bytes_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.prom"), TEXT).unwrap();
    let arguments = ["a.prom", "-o", "out.cx", "--times", "--report", "report.md"];
    assert_exit(&run(folder.path(), &arguments), 0, "3 series");
    let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(report.contains("| series-column |"), "{report}");
}
