//! Messages of the built command: notes, warnings, and errors that name a remedy.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const LINES: &str = "{\"a\":\"1\"}\n{\"a\":\"2\"}\n";

struct Scene {
    folder: tempfile::TempDir,
    capture: PathBuf,
    output: PathBuf,
}

fn scene(content: &str) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (capture, output) = (folder.path().join("capture"), folder.path().join("out.cx"));
    fs::write(&capture, content).unwrap();
    Scene { folder, capture, output }
}

#[test]
fn a_block_as_a_capture_points_to_the_command_for_blocks() {
    let scene = scene(LINES);
    assert_exit(&run(&[text(&scene.capture), "-o", text(&scene.output)]), 0, "2 series");
    for format in ["auto", "series-json"] {
        let again = run(&[text(&scene.output), "-o", text(&scene.folder.path().join("b.cx")), "--format", format]);
        assert_exit(
            &again,
            4,
            "out.cx: this is a Chronoxide block, not a capture (use chronoxide-compact to merge blocks)",
        );
    }
}

#[test]
fn folders_that_are_missing_or_empty_are_named() {
    let scene = scene(LINES);
    let missing = format!("{}/", text(&scene.folder.path().join("missing")));
    assert_exit(&run(&[&missing, "-o", text(&scene.output)]), 1, "missing/: no such folder");
    assert_exit(&run(&[missing.trim_end_matches('/'), "-o", text(&scene.output)]), 1, "missing: cannot open: ");
    let empty = scene.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let done = run(&[text(&empty), text(&scene.capture), "-o", text(&scene.output)]);
    assert_exit(&done, 0, "warning: ");
    assert_exit(&done, 0, "empty: no captures in this folder");
    // A folder of blocks is a mistake: the command for them is another.
    let blocks = scene.folder.path().join("blocks");
    fs::create_dir(&blocks).unwrap();
    fs::copy(&scene.output, blocks.join("out.cx")).unwrap();
    let done = run(&[text(&blocks), "-o", text(&scene.folder.path().join("b.cx"))]);
    assert_exit(&done, 4, "blocks: no captures in this folder, only blocks (use chronoxide-compact to merge blocks)");
}

#[cfg(unix)]
#[test]
fn pipes_in_a_folder_are_skipped() {
    let scene = scene(LINES);
    let folder = scene.folder.path().join("captures");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("lines.json"), LINES.replace("\"a\"", "\"__name__\"")).unwrap();
    make_pipe(&folder.join("pipe"));
    let done = run(&[text(&folder), "-o", text(&scene.output)]);
    assert_exit(&done, 0, "captures/pipe: skipped: not a file");
    assert_exit(&done, 0, "2 series");
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_is_waited_for_until_the_run_is_stopped() {
    let scene = scene(LINES);
    let pipe = scene.folder.path().join("pipe");
    make_pipe(&pipe);
    let start = |more: &[&str]| {
        let inputs = [&[text(&scene.capture), text(&pipe)], more].concat();
        command().args(inputs).args(["-o", text(&scene.output)]).spawn().unwrap()
    };
    let child = start(&[]);
    fs::write(&pipe, "{\"a\":\"3\"}\n").unwrap();
    assert_exit(&child.wait_with_output().unwrap(), 0, "3 series");

    fs::remove_file(&scene.output).unwrap();
    let mut child = start(&["--json"]);
    // Time to come to the pipe. Where it is not enough, the signal ends the command all the same.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_exit(&done, 130, "interrupted; nothing was written");
    assert!(!scene.output.exists());
}

#[cfg(unix)]
fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn windows_without_times_warn() {
    let scene = scene(LINES);
    let output = format!("{}/", text(&scene.folder.path().join("blocks")));
    let warning = "--window has no effect on 2 series and points without a time";
    assert_exit(&run(&[text(&scene.capture), "-o", &output, "--window", "1h"]), 0, warning);
    let timed = run(&[text(&scene.capture), "-o", &output, "--window", "1h", "--time", "2025-11-11T09:00:00Z"]);
    assert_exit(&timed, 0, "2 series");
    assert!(!String::from_utf8_lossy(&timed.stderr).contains("warning"), "{timed:?}");
}

#[test]
fn ranges_of_times_end_before_their_end() {
    let scene = scene("up 1 1762851600000\nup 1 1762851601000\n");
    let done = run(&[text(&scene.capture), "-o", text(&scene.output)]);
    assert_exit(&done, 0, "2025-11-11T09:00:00Z to before 2025-11-11T09:00:01.000000001Z");
    let json = run(&[text(&scene.capture), "-o", text(&scene.output), "--force", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["input"]["time"], json["blocks"][0]["time"], "both are half-open");
    assert_eq!(json["input"]["time"][1], 1_762_851_601_000_000_001_i64);
}

#[test]
fn quiet_keeps_warnings_and_errors() {
    let scene = scene(LINES);
    let quiet = |arguments: &[&str]| {
        run(&[&[text(&scene.capture), "-o", text(&scene.output), "--force"], arguments].concat()).stderr
    };
    for option in ["-q", "--quiet"] {
        assert_eq!(String::from_utf8(quiet(&[option])).unwrap(), "");
    }
    fs::write(&scene.capture, format!("{LINES}{{\"a\"")).unwrap();
    let warned = String::from_utf8(quiet(&["-q"])).unwrap();
    assert!(warned.contains("warning: ") && !warned.contains("2 series"), "{warned}");
}

#[test]
fn invalid_numbers_are_named_with_their_options() {
    for (option, value) in [
        ("--max-windows", "many"),
        ("--max-blocks", "1.5"),
        ("--max-series-per-block", "0"),
        ("--memory-limit", "1GB"),
        ("--max-record-size", "x"),
        ("--window", "1"),
        ("--time", "now"),
    ] {
        let refused = run(&["c", "-o", "b/", option, value]);
        assert_exit(&refused, 2, &format!("invalid value '{value}' for '{option} <"));
    }
    assert_exit(&run(&["c", "-o", "b/", "--memory-limit", "1MiB"]), 2, "--memory-limit must be at least 32.0 MiB");
}

#[test]
fn the_man_page_has_values_and_defaults() {
    let page = String::from_utf8(run(&["--man"]).stdout).unwrap();
    let plain = page.replace('\\', "");
    for part in ["otlp-json", "remote-write", "bitpacked", "[default: auto]", "[default: factored]", "10000", "20000"] {
        assert!(plain.contains(part), "{part}");
    }
}

#[test]
fn a_report_has_no_characters_that_turn_text_around() {
    let scene = scene("{\"a\u{202e}b\":\"1\",\"c`d|e\":\"2\"}\n{\"a\":\"\u{2066}");
    let report = scene.folder.path().join("report\u{202e}.md");
    let done = run(&[text(&scene.capture), "-o", text(&scene.output), "--report", text(&report)]);
    assert_exit(&done, 6, "1 series");
    let written = fs::read_to_string(&report).unwrap();
    assert!(written.contains("`a\\u202eb`") && written.contains("`c\u{fffd}d\u{fffd}e`"), "{written}");
    let bad = |char: char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{1b}');
    assert!(!written.contains(bad), "{written}");
    assert!(!String::from_utf8(done.stderr).unwrap().contains(bad));
}

/// Starts a run that reads a pipe, gives it lines, and interrupts it while it waits for more.
#[cfg(unix)]
fn interrupted(output: &str, is_ready: impl Fn() -> bool) -> Output {
    let mut child: Child = command()
        .args(["-", "-o", output, "--json"])
        .args(if output.ends_with('/') { &["--max-series-per-block", "10"][..] } else { &[] })
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for number in 0..20_000 {
        writeln!(stdin, "{{\"__name__\":\"up\",\"number\":\"{number}\"}}").unwrap();
    }
    stdin.flush().unwrap();
    while !is_ready() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let done = child.wait_with_output().unwrap();
    drop(stdin);
    done
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_so_and_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = folder.path().join("blocks");
    let count = || fs::read_dir(&blocks).map_or(0, Iterator::count);
    let output = format!("{}/", text(&blocks));
    let done = interrupted(&output, || count() >= 5);
    let stderr = String::from_utf8_lossy(&done.stderr).replace(',', "");
    assert!(stderr.contains(&format!("interrupted; {} blocks were written to {output}", count())), "{stderr}");
    assert_exit(&done, 130, "");
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&json["interrupted"], json["blocks"].as_array().unwrap().len()), (&Value::Bool(true), count()));

    // The run has begun when 20,000 lines, more than a pipe holds, were read.
    let output = folder.path().join("out.cx");
    let done = interrupted(text(&output), || true);
    assert_exit(&done, 130, "interrupted; nothing was written");
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&json["interrupted"], &json["blocks"]), (&Value::Bool(true), &serde_json::json!([])));
    assert!(!output.exists());
}
