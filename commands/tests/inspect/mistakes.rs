//! Mistakes in arguments, and the sentence that each gets.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, golden};

fn program(name: &str) -> &'static str {
    match name {
        "ingest" => env!("CARGO_BIN_EXE_chronoxide-ingest"),
        "compact" => env!("CARGO_BIN_EXE_chronoxide-compact"),
        _ => env!("CARGO_BIN_EXE_chronoxide-inspect"),
    }
}

/// Runs a line of words in a folder with a block of the series `up`, a folder of blocks and a capture.
fn run_line(folder: &Folder, line: &str) -> Output {
    let words = shlex::split(line).unwrap();
    let mut command = Command::new(program(&words[0]));
    command.args(&words[1..]).current_dir(folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
    command.output().unwrap()
}

/// Command lines, exit codes, and the first line of standard error without the name of the program.
const MISTAKES: &[(&str, i32, &str)] = &[
    // A subcommand after its files.
    (
        "inspect week.cx summary",
        2,
        "error: put files and options after the subcommand: chronoxide-inspect summary week.cx",
    ),
    (
        "inspect week.cx series --match up",
        2,
        "error: put files and options after the subcommand: chronoxide-inspect series week.cx --match up",
    ),
    (
        "inspect week.cx series --match '{a=\"b\"}'",
        2,
        "error: put files and options after the subcommand: chronoxide-inspect series week.cx --match ...",
    ),
    (
        "inspect blocks values job",
        2,
        "error: put files and options after the subcommand: chronoxide-inspect values job blocks",
    ),
    (
        "compact blocks schedule",
        2,
        "error: put files and options after the subcommand: chronoxide-compact schedule blocks",
    ),
    (
        "compact blocks schedule --job-series 5",
        2,
        "error: put files and options after the subcommand: chronoxide-compact schedule blocks --job-series 5",
    ),
    (
        "compact -q schedule blocks",
        2,
        "error: put files and options after the subcommand: chronoxide-compact schedule ...",
    ),
    // A selector as a file.
    (
        "inspect series up week.cx",
        1,
        "error: cannot read up: No such file or directory; to select series, use --match up",
    ),
    (
        "inspect series 'up{job=\"api\"}' week.cx",
        1,
        "error: cannot read up{job=\"api\"}: No such file or directory; to select series, use --match 'up{job=\"api\"}'",
    ),
    (
        "inspect labels up week.cx",
        1,
        "error: cannot read up: No such file or directory; to select series, use --match up",
    ),
    (
        "inspect cardinality week.cx up",
        1,
        "error: cannot read up: No such file or directory; to select series, use --match up",
    ),
    ("inspect top up week.cx", 1, "error: cannot read up: No such file or directory; to select series, use --match up"),
    (
        "inspect diff up week.cx",
        1,
        "error: cannot read up: No such file or directory; to select series, use --match up",
    ),
    (
        "inspect report week.cx up",
        1,
        "error: cannot read up: No such file or directory; to select series, use --match up",
    ),
    (
        "inspect values week.cx job",
        1,
        "error: cannot read job: No such file or directory; \"week.cx\" is a file: name the label first",
    ),
    // A folder instead of a block.
    (
        "inspect tables blocks",
        1,
        "error: cannot read blocks: is a folder: name a block in it (`chronoxide-inspect FOLDER` lists them)",
    ),
    ("inspect export blocks --format csv", 2, "error: blocks: is a folder; name one block"),
    // A capture instead of a block, and a block instead of a capture.
    ("inspect metrics.jsonl", 3, CAPTURE),
    ("inspect series metrics.jsonl", 3, CAPTURE),
    ("inspect verify metrics.jsonl", 3, CAPTURE),
    ("inspect report metrics.jsonl -o x.html", 3, CAPTURE),
    ("inspect export metrics.jsonl --format csv", 3, CAPTURE),
    ("compact metrics.jsonl", 3, CAPTURE),
    ("compact metrics.jsonl week.cx", 3, CAPTURE),
    ("compact week.cx metrics.jsonl -o x.cx", 3, CAPTURE),
    (
        "ingest week.cx -o x.cx",
        4,
        "error: week.cx: this is a Chronoxide block, not a capture (use chronoxide-compact to merge blocks); see --help \
         for the supported formats, and --format to set one",
    ),
    // Numbers and durations.
    (
        "inspect dump week.cx --first -1",
        2,
        "error: invalid value '-1' for '--first <N>': expected a number from 0 to 4294967295",
    ),
    (
        "inspect series week.cx --first -1",
        2,
        "error: invalid value '-1' for '--first <N>': expected a number from 0 to 18446744073709551615",
    ),
    (
        "inspect values job week.cx --limit -1",
        2,
        "error: invalid value '-1' for '--limit <N>': expected a number from 0 to 18446744073709551615",
    ),
    (
        "inspect cardinality week.cx --first 99999999999999999999999",
        2,
        "error: invalid value '99999999999999999999999' for '--first <N>': expected a number from 0 to 18446744073709551615",
    ),
    (
        "ingest metrics.jsonl -o x/ --max-blocks -3",
        2,
        "error: invalid value '-3' for '--max-blocks <N>': expected a number from 0 to 18446744073709551615",
    ),
    (
        "compact blocks --threads -1",
        2,
        "error: invalid value '-1' for '--threads <N>': expected a number of at least 1 that is not too large",
    ),
    (
        "ingest metrics.jsonl -o x/ --window 0",
        2,
        "error: invalid value '0' for '--window <DURATION>': the window must be longer than zero and shorter than 584 years",
    ),
    (
        "ingest metrics.jsonl -o x/ --window 90",
        2,
        "error: invalid value '90' for '--window <DURATION>': a duration has a unit, such as 90h or 90m",
    ),
    // Words that are nearly right.
    ("inspect query week.cx", 2, "error: unrecognized subcommand \"query\"; did you mean `series`?"),
    ("inspect query week.cx --match up", 2, "error: unrecognized subcommand \"query\"; did you mean `series`?"),
    ("inspect check week.cx", 2, "error: unrecognized subcommand \"check\"; did you mean `verify`?"),
    ("inspect card week.cx", 2, "error: unrecognized subcommand \"card\"; did you mean `cardinality`?"),
    ("inspect frobnicate week.cx", 2, "error: unrecognized subcommand \"frobnicate\"; --help lists them"),
    ("compact delete blocks", 2, "error: unrecognized subcommand \"delete\"; did you mean `clean`?"),
    ("inspect values jobb week.cx", 5, "note: no block has a label \"jobb\"; did you mean \"job\"?"),
    ("inspect values jobb week.cx --json", 5, "note: no block has a label \"jobb\"; did you mean \"job\"?"),
    ("inspect values Job blocks", 5, "note: no block has a label \"Job\"; did you mean \"job\"?"),
    ("inspect values absent week.cx", 0, "note: no block has a label \"absent\""),
    ("inspect values jobb metrics.jsonl week.cx", 3, CAPTURE),
    ("inspect top week.cx --label jobb", 0, "note: no series has a label \"jobb\"; did you mean \"job\"?"),
    ("inspect top week.cx --metric upp", 0, "note: no metric has the name \"upp\"; did you mean \"up\"?"),
    ("inspect metrics described.cx --name upp", 0, "note: no metric has the name \"upp\"; did you mean \"up\"?"),
    // A selector selects nothing, as in PromQL, and the note says why.
    ("inspect series week.cx --match '{jobb=\"a\"}'", 0, "note: no block has a label \"jobb\"; did you mean \"job\"?"),
    (
        "inspect export week.cx --format csv --columns jobb",
        0,
        "note: the block has no label \"jobb\"; did you mean \"job\"?",
    ),
    // No arguments: an example is the second line.
    ("inspect", 2, "error: arguments are required; --help shows all of them, for example"),
    ("ingest", 2, "error: arguments are required; --help shows all of them, for example"),
    ("compact", 2, "error: arguments are required; --help shows all of them, for example"),
];

const CAPTURE: &str = "error: metrics.jsonl: not a Chronoxide block: the magic bytes are missing; if it is a capture, \
                       `chronoxide-ingest` makes a block of it";

#[test]
fn each_mistake_has_its_sentence_and_its_exit_code() {
    let folder = Folder::new();
    folder.write("metrics.jsonl", "{\"__name__\":\"up\",\"job\":\"api\"}\n");
    folder.write("described.prom", "# TYPE up gauge\nup{job=\"api\"} 1\n");
    for line in ["ingest -q metrics.jsonl -o week.cx", "ingest -q described.prom -o described.cx"] {
        assert!(run_line(&folder, line).status.success(), "{line}");
    }
    fs::create_dir(folder.file("blocks")).unwrap();
    fs::copy(folder.file("week.cx"), folder.file("blocks/a.cx")).unwrap();
    for (line, code, sentence) in MISTAKES {
        let output = run_line(&folder, line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        let name = line.split(' ').next().unwrap();
        let expected = format!("chronoxide-{name}: {sentence}");
        assert_eq!(stderr.lines().next(), Some(expected.as_str()), "{line}\n{stderr}");
        assert_eq!(output.status.code(), Some(*code), "{line}\n{stderr}");
        assert!(!folder.file("x.cx").exists() && !folder.file("x.html").exists(), "{line}");
    }
    println!("{} mistakes", MISTAKES.len());
}

#[test]
fn a_command_without_arguments_prints_two_lines_with_an_example_that_parses() {
    let folder = Folder::new();
    for (name, example) in [
        ("ingest", "    chronoxide-ingest metrics.jsonl -o metrics.cx"),
        ("compact", "    chronoxide-compact monday.cx tuesday.cx -o week.cx"),
        ("inspect", "    chronoxide-inspect week.cx"),
    ] {
        let stderr = String::from_utf8(run_line(&folder, name).stderr).unwrap();
        assert_eq!(stderr.lines().skip(1).collect::<Vec<_>>(), [example]);
        // The usage is right: only the files do not exist.
        let line = example.trim().trim_start_matches("chronoxide-");
        assert_eq!(run_line(&folder, line).status.code(), Some(1), "{line}");
    }
}

#[test]
fn the_tip_for_an_unknown_option_is_the_option_with_its_rarest_word() {
    let folder = Folder::new();
    for (line, tip) in [
        ("ingest a -o b --max-memory 1GiB", Some("--memory-limit")),
        ("ingest a -o b --memory 1GiB", Some("--memory-limit")),
        ("ingest a -o b --max-window 5", Some("--max-windows")),
        ("compact a --max-memory 1GiB", Some("--memory-limit")),
        ("inspect top a --max-memory 1GiB", Some("--memory-limit")),
        ("inspect report a --limit-memory 1GiB", Some("--memory-limit")),
        ("inspect series a --frist 3", Some("--first")),
        ("inspect series a --xyzzy", None),
    ] {
        let output = run_line(&folder, line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let tips: Vec<&str> = stderr.lines().filter(|line| line.contains("tip:")).collect();
        let expected: Vec<String> =
            tip.iter().map(|tip| format!("  tip: a similar argument exists: '{tip}'")).collect();
        assert_eq!(tips, expected, "{line}\n{stderr}");
    }
}

/// An error before a long output is repeated after it on a terminal.
#[test]
fn errors_that_scroll_away_are_repeated_on_a_terminal() {
    let block = golden("plain-bitpacked.cx");
    for (subcommand, sentence) in [
        ("series", "error: some inputs are missing here: see above"),
        ("verify", "error: 1 of 2 files cannot be verified: see above"),
    ] {
        let shell = format!("'{}' {subcommand} absent.cx '{block}'", program("inspect"));
        let script = Command::new("script").args(["-qec", &shell, "/dev/null"]).env("NO_COLOR", "1").output();
        let output = match script {
            Ok(output) => output,
            Err(error) => return chronoxide_testkit::requirement::skip_or_fail("script(1)", error),
        };
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.lines().last().unwrap().ends_with(sentence), "{shown}");
    }
}
