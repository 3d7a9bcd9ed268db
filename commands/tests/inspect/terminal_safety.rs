//! Every command on a terminal, over names, values, annotations, metadata and files with characters that a terminal
//! could interpret or would not show.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use chronoxide::{BlockWriter, ColumnMerge, ValueType};
use chronoxide_testkit::requirement::skip_or_fail;

use crate::support::Folder;

const PROGRAMS: [(&str, &str); 3] = [
    ("ingest", env!("CARGO_BIN_EXE_chronoxide-ingest")),
    ("compact", env!("CARGO_BIN_EXE_chronoxide-compact")),
    ("inspect", env!("CARGO_BIN_EXE_chronoxide-inspect")),
];

/// Characters of each kind, written by hand: controls of C1, marks of direction, invisible ones, a variation selector,
/// a filler, and tags above U+FFFF.
const HOSTILE: &str = "\u{9b}31m\u{202e}\u{200b}\u{ad}\u{34f}\u{2066}\u{feff}\u{fe0f}\u{3164}\u{e0041}\u{1d173}\u{85}";

/// Character that each output has in the place of the hostile ones.
const MARK: char = 'ß';

/// Runs words of a shell on a terminal. `$H` is the hostile text. Returns what the terminal got.
fn on_terminal(folder: &Folder, words: &str) -> Option<String> {
    let script = Command::new("script")
        .args(["-qec", words, "/dev/null"])
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env("H", HOSTILE)
        .env("XDG_CACHE_HOME", folder.file("cache"))
        .envs(PROGRAMS.map(|(name, path)| (name, path)))
        .stdin(Stdio::null())
        .output();
    match script {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            skip_or_fail("script(1)", error);
            None
        }
    }
}

/// Removes the sequences that set colours, and those of progress bars: they erase a line and move up and down.
fn without_colours(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let len = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        match after[len..].strip_prefix(['m', 'K', 'A', 'B']) {
            Some(after) => rest = after,
            None => {
                plain.push('\u{1b}');
                rest = after;
            }
        }
    }
    plain + rest
}

/// Command lines over the files that [`prepare`] makes. The first words are a program and a subcommand.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for json in ["", " --json"] {
        for words in [
            "ingest \"c$H.jsonl\" -o \"new$H.cx\" --annotation \"n$H=v$H\"",
            "ingest -q \"bad$H.jsonl\" -o \"x$H.cx\"",
            "ingest \"$H\" -o x.cx",
            "compact -q absent$H.cx -o x.cx",
            "compact \"a$H.cx\" \"b$H.cx\" -o \"m$H.cx\" --annotations drop",
            "compact \"d$H\" --dry-run",
            "compact schedule \"file://$PWD/d$H\"",
            "compact run --schedule \"p$H.json\" --all",
            "compact status --schedule \"p$H.json\"",
            "compact commit --schedule \"p$H.json\"",
            "compact clean \"file://$PWD/d$H\"",
            "compact index \"file://$PWD/d$H\"",
            "inspect \"a$H.cx\"",
            "inspect \"d$H\"",
            "inspect summary \"a$H.cx\"",
            "inspect dump \"a$H.cx\" --first 0",
            "inspect sections \"a$H.cx\"",
            "inspect series \"a$H.cx\"",
            "inspect series \"a$H.cx\" \"absent$H.cx\"",
            "inspect series \"a$H.cx\" --match \"{x$H=\\\"1\\\"}\"",
            "inspect labels \"a$H.cx\"",
            "inspect values \"name$H\" \"a$H.cx\"",
            "inspect values \"names$H\" \"a$H.cx\"",
            "inspect cardinality \"a$H.cx\"",
            "inspect shares \"name$H\" \"a$H.cx\"",
            "inspect shares \"names$H\" \"a$H.cx\"",
            "inspect diff \"a$H.cx\" \"b$H.cx\" --series",
            "inspect report \"a$H.cx\"",
            "inspect report \"a$H.cx\" -o \"r$H.html\"",
            "inspect usage \"a$H.cx\" --used \"q$H.promql\"",
            "inspect metrics \"a$H.cx\"",
            "inspect metrics \"a$H.cx\" --name \"$H\"",
            "inspect columns \"v$H.cx\"",
            "inspect dump \"v$H.cx\"",
            "inspect summary \"v$H.cx\"",
            "compact -q \"v$H.cx\" \"u$H.cx\" -o x.cx",
            "compact \"v$H.cx\" -o \"y$H.cx\" --force --drop-column \"no$H\"",
            "inspect tables \"a$H.cx\"",
            "inspect plan \"a$H.cx\"",
            "inspect verify \"a$H.cx\" \"bad$H.cx\"",
            "inspect follow \"remaps$H/\"*.cxr 0",
            "inspect follow --remaps \"remaps$H\" \"a$H.cx\" 0",
            "inspect nosuch$H \"a$H.cx\"",
            "inspect \"a$H.cx\" --unknown$H",
            "inspect \"a$H.cx\" dump --first \"$H\"",
        ] {
            lines.push(format!("{words}{json}"));
        }
    }
    for words in [
        "inspect top \"a$H.cx\" --json",
        "inspect top \"a$H.cx\" --labels | cat",
        "inspect top \"a$H.cx\" --churn",
        "inspect usage \"a$H.cx\" --used \"q$H.promql\" --relabel prometheus",
        "compact \"a$H.cx\" --dry-run --keep-used \"q$H.promql\"",
        "inspect series \"a$H.cx\" --format prometheus",
        "inspect export \"a$H.cx\" --format csv",
        "inspect export \"a$H.cx\" --format jsonl",
        "inspect export \"a$H.cx\" -o \"e$H.csv\"",
        "inspect help",
        "compact help",
    ] {
        lines.push(words.to_owned());
    }
    lines
}

/// Makes blocks, a folder of blocks, remaps, a plan and damaged files, all with hostile names and content.
fn prepare(folder: &Folder) -> Option<()> {
    let name = |before: &str, after: &str| format!("{before}{HOSTILE}{after}");
    let prom = format!("# HELP m {MARK}{HOSTILE}\n# TYPE m gauge\nm{{name=\"{MARK}{HOSTILE}\"}} 1\n");
    folder.write("described.prom", prom);
    let series = |value: &str| format!("{{\"__name__\":\"{MARK}{HOSTILE}\",\"name{HOSTILE}\":\"{value}{HOSTILE}\"}}\n");
    folder.write(&name("c", ".jsonl"), series("a") + &series("c"));
    folder.write(&name("q", ".promql"), format!("m\nm{{name=\"{MARK}{HOSTILE}\"}} (\n"));
    folder.write(&name("b", ".jsonl"), series("b") + &series("c"));
    folder.write(&name("bad", ".jsonl"), series("b") + "{\"a\":\n");
    folder.write(&name("bad", ".cx"), format!("{MARK}{HOSTILE}"));
    for (file, merge) in [("v", ColumnMerge::Max), ("u", ColumnMerge::Min)] {
        let mut writer = BlockWriter::new();
        let column = format!("{MARK}{HOSTILE}");
        let column = writer.add_column(&column, ValueType::Bytes, merge).unwrap();
        let series = writer.insert([("job", HOSTILE)]).unwrap();
        writer.set(column, series, HOSTILE).unwrap();
        writer.finish(folder.file(&name(file, ".cx"))).unwrap();
    }
    fs::create_dir(folder.file(&name("d", ""))).unwrap();
    for words in [
        "$ingest -q \"c$H.jsonl\" described.prom -o \"a$H.cx\" --annotation \"n$H=v$H\"",
        "$ingest -q \"b$H.jsonl\" -o \"b$H.cx\" --annotation \"n$H=w$H\"",
        "cp \"a$H.cx\" \"b$H.cx\" \"d$H\"",
        "$compact -q \"a$H.cx\" \"b$H.cx\" -o \"w$H.cx\" --annotations drop --remaps \"remaps$H\"",
        "$compact schedule -q \"file://$PWD/d$H\" -o \"p$H.json\"",
    ] {
        let shown = on_terminal(folder, words)?;
        assert_eq!(shown, "", "{words}");
    }
    Some(())
}

/// Returns the subcommands that the help of a program lists.
fn subcommands(path: &str) -> BTreeSet<String> {
    let help = String::from_utf8(Command::new(path).arg("--help").output().unwrap().stdout).unwrap();
    let is_listed = |line: &&str| line.starts_with("  ") && line.chars().nth(2).is_some_and(|c| c.is_ascii_lowercase());
    let mut found = BTreeSet::new();
    let mut is_list = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            is_list = line.starts_with("Commands");
        }
        if is_list && is_listed(&line) {
            found.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    found
}

#[test]
fn no_command_gives_a_terminal_what_it_could_interpret() {
    let folder = Folder::new();
    if prepare(&folder).is_none() {
        return;
    }
    let lines = lines();
    for (name, path) in PROGRAMS {
        for subcommand in subcommands(path) {
            let begin = format!("{name} {subcommand}");
            assert!(lines.iter().any(|line| line.starts_with(&begin)), "{begin} is not tried");
        }
    }
    let mut shown_count = 0;
    for line in &lines {
        let shown = on_terminal(&folder, &format!("${line}")).unwrap();
        let plain = without_colours(&shown);
        // Written by hand rather than taken from the code: the kinds in HOSTILE, and everything that steers.
        let is_hostile =
            |c: &char| (c.is_control() && !"\r\n".contains(*c)) || (HOSTILE.contains(*c) && !"31m".contains(*c));
        assert_eq!(plain.chars().find(is_hostile), None, "{line}\n{shown:?}");
        assert!(!plain.contains("panicked"), "{line}\n{shown}");
        shown_count += u32::from(plain.contains(r"\u202e"));
        if line.ends_with("--json") || line.contains("jsonl") {
            for json in plain.lines().filter(|line| line.starts_with('{') && line.ends_with('}')) {
                serde_json::from_str::<serde_json::Value>(json)
                    .unwrap_or_else(|error| panic!("{line}: {error}\n{json}"));
            }
        }
    }
    println!("{} command lines, {shown_count} show hostile text", lines.len());
    assert!(shown_count >= 60, "{shown_count} of {}", lines.len());
}
