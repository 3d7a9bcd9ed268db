//! Exit codes and messages of the built command for failures.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use chronoxide_dump::plan::{Plan, plan_entries};
use chronoxide_dump::tables::{Selection, table_entries};
use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::BlockView;
use chronoxide_format::{ErrorKind, Rule};
use chronoxide_inspect::InspectError;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::requirement::skip_or_fail;
use serde_json::Value;

use crate::support::{self, Folder, assert_exit, broken, command, golden, run};

const SUBCOMMANDS: [&[&str]; 14] = [
    &[],
    &["summary"],
    &["dump"],
    &["sections"],
    &["series", "--format", "prometheus"],
    &["labels"],
    &["values", "__name__"],
    &["cardinality"],
    &["shares", "__name__"],
    &["columns"],
    &["metrics"],
    &["tables"],
    &["plan"],
    &["verify"],
];

/// Commands that take folders.
const OF_FOLDERS: [&str; 7] = ["summary", "series", "labels", "values", "cardinality", "shares", "verify"];

fn on<'a>(subcommand: &[&'a str], path: &'a str) -> Vec<&'a str> {
    subcommand.iter().copied().chain([path]).collect()
}

#[test]
fn each_kind_of_invalid_file_has_its_exit_code() {
    let folder = Folder::new();
    let whole = fs::read(golden("plain-bitpacked.cx")).unwrap();
    let absent = folder.file("absent.cx").to_str().unwrap().to_owned();
    let here = folder.path().to_str().unwrap().to_owned();
    let cases = [
        (absent, 1, "cannot read"),
        (here.clone(), 1, "cannot read"),
        (folder.write("text.cx", "up{job=\"api\"} 1\n"), 3, "not a Chronoxide block"),
        (folder.write("nothing.cx", ""), 3, "not a Chronoxide block"),
        (folder.write("cut.cx", &whole[..whole.len() - 1]), 3, "file-len"),
        (folder.write("header.cx", &whole[..30]), 3, "corrupt block"),
        (broken("version"), 4, "format version"),
        (broken("incompat-features"), 4, "unsupported block features: unknown incompat bits 0x2"),
        (broken("section-unknown"), 4, "section of kind 8"),
        (broken("chunk-checksum"), 3, "chunk-checksum"),
    ];
    for (path, code, message) in &cases {
        for subcommand in SUBCOMMANDS {
            if *path == here && subcommand.first().is_none_or(|name| OF_FOLDERS.contains(name)) {
                continue;
            }
            let output = run(&on(subcommand, path));
            assert_exit(&output, *code, message);
            assert_exit(&output, *code, path);
            assert_eq!(output.stdout, b"", "stdout is empty after an error: {subcommand:?} {path}");
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.starts_with("chronoxide-inspect: error: "), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let absent = Folder::new().file("absent.cx").to_str().unwrap().to_owned();
    for subcommand in SUBCOMMANDS {
        assert_exit(&run(&on(subcommand, &absent)), 1, "absent.cx: No such file");
    }
    let verified = run(&["verify", "--json", &absent]);
    let json: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert!(json["error"].as_str().unwrap().contains("No such file"), "{json}");
}

#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let folder = Folder::new();
    let whole = fs::read(golden("plain-bitpacked.cx")).unwrap();
    let bad = folder.write("bad\u{1b}[2J.cx", &whole[..100]);
    let good = folder.write("good\u{1b}[2J.cx", &whole);
    for subcommand in SUBCOMMANDS {
        for path in [&bad, &good] {
            let output = run(&on(subcommand, path));
            assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{subcommand:?}: {output:?}");
        }
    }
}

#[test]
fn every_broken_block_fails_to_verify_by_its_rule() {
    for rule in Rule::ALL {
        let output = run(&["verify", &broken(rule.id())]);
        let unsupported = ["version", "incompat-features", "section-unknown"].contains(&rule.id());
        assert_exit(&output, if unsupported { 4 } else { 3 }, "");
        let output = run(&["verify", "--json", &broken(rule.id())]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["sound"], &json["rule"]), (&Value::Bool(false), &Value::String(rule.id().to_owned())));
        assert_eq!(json["class"], rule.class().letter().to_string());
    }
}

/// A block with an unknown `ro_compat` bit, whose padding breaks a rule of class C.
#[test]
fn a_block_of_unknown_canonical_form_is_sound_and_said_to_be_judged_in_part() {
    let path = golden("read-only.cx");
    let output = run(&["verify", &path]);
    assert_exit(&output, 0, "");
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = "sound, 10 series; unknown ro_compat bits 0x10000000: only rules of class R were checked\n";
    assert_eq!(text, format!("{path}: {expected}"));
    let classes = |path: &str| {
        let json: Value = serde_json::from_slice(&run(&["verify", "--json", path]).stdout).unwrap();
        (json["sound"].clone(), json["classes"].clone())
    };
    assert_eq!(classes(&path), (Value::Bool(true), Value::String("R".to_owned())));
    assert_eq!(classes(&golden("meta.cx")), (Value::Bool(true), Value::String("RC".to_owned())));
}

/// Commands that do not verify show what they can or report the damage; they never panic.
#[test]
fn tables_and_plan_never_panic_on_broken_blocks() {
    let mut refused = 0;
    for rule in Rule::ALL {
        for subcommand in ["tables", "plan"] {
            for json in [&[][..], &["--json"]] {
                let path = broken(rule.id());
                let output = run(&[&[subcommand, &path][..], json].concat());
                let code = output.status.code();
                match rule.id() {
                    "version" | "incompat-features" | "section-unknown" => assert_exit(&output, 4, &path),
                    _ if code == Some(0) => assert_eq!(output.stderr, b"", "{subcommand} {path}"),
                    _ => assert_exit(&output, 3, &path),
                }
                refused += u32::from(code != Some(0));
            }
        }
    }
    println!("{refused} refused");
    assert!(refused >= 100, "{refused} refused");
}

/// Flips bits in the bytes that `tables` and `plan` read, with right checksums.
#[test]
fn flipped_bits_with_right_checksums_are_shown_or_refused() {
    let (mut shown, mut refused) = (0, 0);
    for golden in goldens().iter().filter(|golden| golden.name.starts_with("lists") || golden.name.starts_with("chain"))
    {
        for kind in [SectionKind::Catalogue, SectionKind::Rows, SectionKind::Members] {
            let block = BlockEditor::open(&golden.bytes);
            for bit in 0..block.clone().section(kind).len() * 8 {
                let mut block = block.clone();
                block.section(kind)[bit / 8] ^= 1 << (bit % 8);
                let block = block.close();
                let Ok(view) = BlockView::open(&block) else { continue };
                let mut ignore = |_| Ok(());
                let tables = table_entries(&view, Selection::default(), &mut ignore);
                let plan = Plan::from_view(&view);
                let entries = plan
                    .map_err(InspectError::from)
                    .and_then(|plan| Ok(plan_entries(&view, &plan, None, &mut |_| Ok(()))?));
                for result in [tables.map_err(InspectError::from), entries] {
                    match result {
                        Ok(()) => shown += 1,
                        Err(InspectError::Block(error)) if matches!(error.kind(), ErrorKind::Corrupt(_)) => {
                            refused += 1
                        }
                        Err(other) => panic!("{}: bit {bit} of {}: {other}", golden.name, kind.name()),
                    }
                }
            }
        }
    }
    println!("{shown} shown, {refused} refused");
    assert!(shown >= 7_000 && refused >= 3_000, "{shown} shown, {refused} refused");
}

#[test]
fn verify_checks_all_files_and_exits_with_the_worst_code() {
    let folder = Folder::new();
    let absent = folder.file("absent.cx").to_str().unwrap().to_owned();
    let (good, newer, damaged) = (golden("one-series.cx"), broken("version"), broken("rows-order"));
    for (paths, code) in [
        (vec![&good, &good], 0),
        (vec![&absent, &good], 1),
        (vec![&newer, &absent, &good], 4),
        (vec![&absent, &newer], 4),
        (vec![&damaged, &newer, &absent], 3),
        (vec![&absent, &newer, &damaged, &good], 3),
    ] {
        let arguments: Vec<&str> = ["verify"].into_iter().chain(paths.iter().map(|path| path.as_str())).collect();
        let output = run(&arguments);
        assert_exit(&output, code, "");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let sound = paths.iter().filter(|path| **path == &good).count();
        assert_eq!(stdout.lines().filter(|line| line.ends_with("one-series.cx: sound, 1 series")).count(), sound);
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), paths.len() - sound);
        let output = run(&[&arguments[..], &["--json"]].concat());
        assert_exit(&output, code, "");
        assert_eq!(output.stderr, b"", "a program reads one place");
        let lines = String::from_utf8(output.stdout).unwrap();
        let blocks: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(blocks.iter().map(|block| block["block"].as_str().unwrap()).eq(paths.iter().map(|path| path.as_str())));
    }
}

#[test]
fn usage_errors_end_with_2() {
    let block = golden("one-series.cx");
    for arguments in [
        &[][..],
        &["summary"],
        &["dump"],
        &["verify"],
        &["series", &block, "--format", "xml"],
        &["dump", &block, "--first", "-1"],
        &["dump", &block, "--first", "4294967296"],
        &[&block, &block],
        &["no-such-command", &block],
        &["summary", &block, "--colour"],
        &["tables"],
        &["tables", &block, &block],
        &["tables", &block, "--kind", "inner"],
        &["plan"],
        &["plan", &block, "--first", "-1"],
        &["series"],
        &["series", "-", "-"],
        &["series", &block, "--match"],
        &["series", &block, "--match", "{job=}"],
        &["labels"],
        &["labels", &block, "--first", "1"],
        &["values"],
        &["values", "job"],
        &["values", "job", &block, "--limit", "-1"],
        &["cardinality"],
        &["cardinality", &block, "--first", "many"],
        &["shares", "job"],
        &["top"],
        &["diff", &block],
        &["diff", &block, &block, &block],
        &["diff", "-", "-"],
        &["diff", &block, &block, "--match", "rate(up[5m])"],
    ] {
        let output = run(arguments);
        assert_exit(&output, 2, "chronoxide-inspect: ");
        assert_eq!(output.stdout, b"", "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let block = golden("many-chunks.cx");
    for arguments in [
        &["series", &block, "--format", "prometheus"][..],
        &["series", &block, "--json"],
        &["series", &block, &block],
        &["values", "request", &block],
        &["cardinality", &block, "--first", "0"],
        &["shares", "request", &block, "--first", "0"],
        &["top", &block, "--label", "request", "--first", "0"],
        &["diff", &golden("empty.cx"), &block, "--series"],
        &["dump", &block, "--first", "0"],
        &["dump", &block, "--first", "0", "--json"],
        &[&block],
        &["tables", &block],
        &["plan", &block],
    ] {
        let mut child = command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut head).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_exit(&output, 0, "");
        assert_eq!(output.stderr, b"", "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = match fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return skip_or_fail("/dev/full", error),
    };
    for subcommand in SUBCOMMANDS {
        // Only some of the blocks have metrics and columns: for others nothing is written.
        let block = golden(match subcommand {
            ["metrics"] => "metrics.cx",
            ["columns"] => "columns.cx",
            _ => "many-chunks.cx",
        });
        for json in [&[][..], &["--json"]] {
            let arguments = [&on(subcommand, &block)[..], json].concat();
            let output = command().args(&arguments).stdout(full.try_clone().unwrap()).output().unwrap();
            assert_exit(&output, 1, "No space left on device");
        }
    }
}

/// `chronoxide-inspect verify x 2>&-`, as daemons run commands.
#[test]
fn a_closed_standard_error_does_not_panic() {
    for path in [broken("magic"), broken("version")] {
        let script = "exec \"$0\" verify \"$1\" 2>&-";
        let output =
            Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_chronoxide-inspect"), &path]).output().unwrap();
        let code = if path.ends_with("version.cx") { 4 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{path}");
    }
    let full = match fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return skip_or_fail("/dev/full", error),
    };
    let output = command().args(["verify", &broken("magic")]).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn nothing_in_a_block_steers_a_terminal() {
    let block = golden("unicode.cx");
    for arguments in
        ["series --format prometheus", "series --format series-json", "series", "dump --first 0", "summary"]
    {
        let shell = format!("'{}' {arguments} '{block}'", env!("CARGO_BIN_EXE_chronoxide-inspect"));
        let script = Command::new("script")
            .args(["-qec", &shell, "/dev/null"])
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output();
        let output = match script {
            Ok(output) => output,
            Err(error) => return skip_or_fail("script(1)", error),
        };
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && shown.contains("größe") || arguments == "summary", "{arguments}: {shown}");
        let steers = |c: &char| c.is_control() && !"\r\n".contains(*c) || "\u{202e}\u{feff}\u{200d}".contains(*c);
        assert_eq!(shown.chars().find(steers), None, "{arguments}: {shown:?}");
        if arguments.contains("prometheus") {
            assert!(shown.contains(r"\u007f\u202e\ufeff"), "{shown}");
        }
    }
    let metrics = golden("metrics.cx");
    for arguments in ["metrics", "metrics --json"] {
        let shell = format!("'{}' {arguments} '{metrics}'", env!("CARGO_BIN_EXE_chronoxide-inspect"));
        let script = Command::new("script").args(["-qec", &shell, "/dev/null"]).stdin(Stdio::null()).output();
        let shown = String::from_utf8(script.unwrap().stdout).unwrap();
        assert!(shown.contains("größe") && shown.contains(r"\u202e") && !shown.contains('\u{202e}'), "{shown}");
    }
    for arguments in [
        "values stadt",
        "values stadt --json",
        "values 'quoted \"name\"'",
        "cardinality",
        "cardinality --json",
        "shares stadt",
        "shares stadt --json",
        "labels",
    ] {
        let shell = format!("'{}' {arguments} '{block}'", env!("CARGO_BIN_EXE_chronoxide-inspect"));
        let script = Command::new("script").args(["-qec", &shell, "/dev/null"]).stdin(Stdio::null()).output();
        let shown = String::from_utf8(script.unwrap().stdout).unwrap();
        let coloured = shown.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        let steers = |c: &char| c.is_control() && !"\r\n".contains(*c) || "\u{202e}\u{feff}\u{200d}".contains(*c);
        assert_eq!(coloured.chars().find(steers), None, "{arguments}: {shown:?}");
        assert!(
            shown.contains(r"\u202e") || shown.contains(r"\u200d") || arguments == "labels",
            "{arguments}: {shown}"
        );
    }
    // A pipe gets the text unchanged.
    let piped = support::stdout(&["series", &block, "--format", "prometheus"]);
    assert!(piped.contains("\t\u{7f}\u{202e}\u{feff}"), "{piped}");
}
