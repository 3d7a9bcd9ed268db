//! The command `top`: its lists beside counts of plain labelsets and beside other commands, and its screen through a
//! pseudo-terminal.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use chronoxide_testkit::plan::Labelset;
use serde_json::{Value, json};

use crate::support::terminal::Terminal;
use crate::support::{
    Folder, assert_exit, broken, golden, json_lines, labelsets, plain_block, random_block, run, stdout,
};

const NAME: &str = "__name__";

/// Returns rows: the largest number first, then by name.
fn ranked<T: Ord>(rows: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    rows
}

fn metrics(series: &BTreeSet<Labelset>) -> Vec<Value> {
    let mut counts: BTreeMap<Option<&String>, (u64, u64)> = BTreeMap::new();
    for labels in series {
        let (series, bytes) = counts.entry(labels.get(NAME)).or_default();
        *series += 1;
        *bytes += labels.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum::<u64>();
    }
    let ranked = ranked(counts.iter().map(|(metric, (series, _))| (*metric, *series)));
    let row = |(metric, series)| json!({ "metric": metric, "series": series, "text_bytes": counts[&metric].1 });
    ranked.into_iter().map(row).collect()
}

fn values(series: &BTreeSet<Labelset>, label: &str) -> Vec<Value> {
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    series.iter().filter_map(|labels| labels.get(label)).for_each(|value| *counts.entry(value).or_default() += 1);
    ranked(counts).into_iter().map(|(value, series)| json!({ "value": value, "series": series })).collect()
}

fn labels(series: &BTreeSet<Labelset>) -> Vec<Value> {
    let names: BTreeSet<&String> = series.iter().flat_map(BTreeMap::keys).collect();
    let ranked = ranked(names.into_iter().map(|name| (name, values(series, name).len() as u64)));
    let of = |name: &String| series.iter().filter(|labels| labels.contains_key(name)).count();
    ranked.into_iter().map(|(name, values)| json!({ "name": name, "values": values, "series": of(name) })).collect()
}

/// Compares all lists of the command. Returns the number of lists.
#[track_caller]
fn check(arguments: &[&str], series: &BTreeSet<Labelset>) -> usize {
    let mut count = 0;
    let mut compare = |more: &[&str], expected: Vec<Value>| {
        let command = [&["top", "--json", "--first", "0", "--quiet"], arguments, more].concat();
        assert_eq!(json_lines(&command), expected, "{command:?}");
        count += 1;
    };
    compare(&[], metrics(series));
    compare(&["--labels"], labels(series));
    for label in labels(series).iter().take(3) {
        let label = label["name"].as_str().unwrap();
        compare(&["--label", label], values(series, label));
    }
    let listed = metrics(series);
    for metric in listed.iter().take(2).chain(listed.iter().filter(|metric| metric["metric"].is_null())) {
        let name = metric["metric"].as_str();
        let part: BTreeSet<Labelset> =
            series.iter().filter(|labels| labels.get(NAME).map(String::as_str) == name).cloned().collect();
        compare(&["--metric", name.unwrap_or_default()], labels(&part));
        for label in labels(&part).iter().take(2) {
            let label = label["name"].as_str().unwrap();
            compare(&["--metric", name.unwrap_or_default(), "--label", label], values(&part, label));
        }
    }
    count
}

#[test]
fn lists_are_counts_of_the_labelsets() {
    let folder = Folder::new();
    let (mut union, mut count) = (BTreeSet::new(), 0);
    for seed in 0..3 {
        let (series, block) = random_block(seed);
        let path = folder.write(&format!("{seed}.cx"), block);
        count += check(&[&path], &series);
        union.extend(series);
    }
    // Series with equal labels count once.
    let half: BTreeSet<Labelset> = union.iter().step_by(2).cloned().collect();
    let path = folder.write("half.cx", plain_block(&half));
    let here = folder.path().to_str().unwrap();
    count += check(&[here], &union);
    count += check(&[&path, here], &union);
    let (name, value) = union.iter().flatten().next().unwrap();
    let selected = union.iter().filter(|labels| labels.get(name) == Some(value)).cloned().collect();
    let selector = format!("{{{}={}}}", json!(name), json!(value));
    count += check(&[here, "--match", &selector], &selected);
    assert!(count >= 60, "{count} lists");
}

#[test]
fn figures_are_those_of_cardinality_and_report() {
    let folder = Folder::new();
    for seed in 10..12 {
        folder.write(&format!("{seed}.cx"), random_block(seed).1);
    }
    let here = folder.path().to_str().unwrap();
    let object = |command: &str| -> Value {
        serde_json::from_str(&stdout(&[command, here, "--json", "--first", "1000"])).unwrap()
    };
    let (cardinality, report) = (object("cardinality"), object("report"));
    let pick = |rows: &Value, fields: &[&str]| -> Vec<Value> {
        let row = |row: &Value| fields.iter().map(|&field| row[field].clone()).collect();
        rows.as_array().unwrap().iter().map(row).collect()
    };
    let top = |more: &[&str]| Value::from(json_lines(&[&["top", here, "--json", "--first", "0"], more].concat()));
    let (metrics, labels) = (top(&[]), top(&["--labels"]));
    let fields = ["metric", "series", "text_bytes"];
    assert_eq!(pick(&metrics, &fields), pick(&report["metrics"], &fields));
    let named: Vec<Value> =
        metrics.as_array().unwrap().iter().filter(|row| !row["metric"].is_null()).cloned().collect();
    assert!(named.len() > 1, "{metrics}");
    assert_eq!(pick(&named.into(), &fields[..2]), pick(&cardinality["metrics_by_series"], &fields[..2]));
    let fields = ["name", "values", "series"];
    assert_eq!(pick(&labels, &fields), pick(&report["labels"], &fields));
    assert_eq!(pick(&labels, &fields), pick(&cardinality["names_by_values"], &fields));
    let pairs = cardinality["pairs_by_series"].as_array().unwrap();
    let name = labels[0]["name"].as_str().unwrap();
    let pairs: Value = pairs.iter().filter(|pair| pair["name"] == name).cloned().collect();
    assert_eq!(pick(&top(&["--label", name]), &["value", "series"]), pick(&pairs, &["value", "series"]));
}

/// Series whose names and values would steer a terminal.
fn hostile() -> BTreeSet<Labelset> {
    labelsets(&[
        &[(NAME, "up"), ("pod", "a"), ("größe\u{1b}]0;title\u{7}", "1")],
        &[(NAME, "up"), ("pod", "b\u{1b}[2J\u{202e}\r\n\u{9b}31m")],
        &[(NAME, "load\u{1b}c"), ("pod", "世界")],
        &[("pod", "a")],
    ])
}

#[test]
fn text_is_a_table_with_escaped_names() {
    let folder = Folder::new();
    let path = folder.write("a.cx", plain_block(&hostile()));
    let expected = [
        "       series   share      label bytes  metric\n",
        "            2   50.0%               60  up\n",
        "            1   25.0%                4  (no __name__)\n",
        "            1   25.0%               23  \"load\\u001bc\"\n",
    ];
    assert_eq!(stdout(&["top", &path]), expected.concat());
    let first = stdout(&["top", &path, "--first", "1"]);
    assert_eq!(first, [expected[0], expected[1], "... 2 more metrics\n"].concat());
    let second = stdout(&["top", &path, "--first", "2"]);
    assert_eq!(second, [expected[0], expected[1], expected[2], "... 1 more metric\n"].concat());
    assert_eq!(
        stdout(&["top", &path, "--labels"]),
        "       values         series   share  label
            3              4    100%  pod
            2              3   75.0%  __name__
            1              1   25.0%  \"größe\\u001b]0;title\\u0007\"\n"
    );
    assert_eq!(
        stdout(&["top", &path, "--label", "pod", "--metric", "up"]),
        "       series   share  value
            1   50.0%  \"a\"
            1   50.0%  \"b\\u001b[2J\\u202e\\u000d\\u000a\\u009b31m\"\n"
    );
    // JSON in a pipe has the names unchanged.
    let lines = json_lines(&["top", &path, "--json", "--label", "pod", "--first", "2"]);
    assert_eq!(
        lines,
        [json!({ "value": "a", "series": 2 }), json!({ "value": "b\u{1b}[2J\u{202e}\r\n\u{9b}31m", "series": 1 })]
    );
    assert_eq!(stdout(&["top", &path, "--match", "absent"]), expected[0], "no rows");
}

#[test]
fn a_table_has_twenty_rows_unless_more_are_asked_for() {
    let path = golden("many-chunks.cx");
    let label = json_lines(&["top", &path, "--labels", "--json"])[0].clone();
    let (name, values) = (label["name"].as_str().unwrap(), label["values"].as_u64().unwrap() as usize);
    assert!(values > 100, "{label}");
    let lines = |more: &[&str]| stdout(&[&["top", &path, "--label", name], more].concat()).lines().count();
    assert_eq!(lines(&[]), 1 + 20 + 1);
    assert_eq!(lines(&["--first", "0"]), 1 + values);
    assert_eq!(lines(&["--json"]), 20);
}

#[test]
fn an_unknown_metric_or_label_is_a_note() {
    let folder = Folder::new();
    let path = folder.write("a.cx", plain_block(&hostile()));
    for (arguments, note) in [
        (&["--metric", "u\u{1b}p"][..], r#"no metric has the name "u\u001bp""#),
        (&["--label", "Pod"], r#"no series has a label "Pod""#),
        (
            &["--label", "größe\u{1b}]0;title\u{7}", "--metric", ""],
            "no series of the metric (no __name__) has a label ",
        ),
        (&["--metric", "absent", "--label", "absent"], r#"no metric has the name "absent""#),
    ] {
        let output = run(&[&["top", &path], arguments].concat());
        assert_exit(&output, 0, &format!("chronoxide-inspect: note: {note}"));
        assert_eq!((output.stdout, output.stderr.iter().filter(|&&byte| byte == b'\n').count()), (vec![], 1));
        assert_eq!(stdout(&[&["top", &path, "--quiet"], arguments].concat()), "");
    }
    assert_exit(&run(&["top", &path, "--labels", "--metric", "up"]), 2, "cannot be used with");
}

#[test]
fn damaged_blocks_of_a_folder_do_not_count() {
    let (folder, sound) = Folder::with_damage();
    let here = folder.path().to_str().unwrap();
    let output = run(&["top", here]);
    assert_exit(&output, 3, "b.cx: corrupt block");
    assert_exit(&output, 3, "c.cx: unsupported block format version");
    assert_eq!(output.stdout, stdout(&["top", &sound]).as_bytes());
    for (rule, code) in [("magic", 3), ("version", 4)] {
        let output = run(&["top", &broken(rule)]);
        assert_exit(&output, code, "chronoxide-inspect: error: ");
        assert_eq!(output.stdout, b"");
    }
    // On a terminal, the message and the exit code are there after the screen.
    let Some(mut terminal) = start(&[here], &[]) else { return };
    terminal.wait_for("All > metrics");
    terminal.press("q");
    let (code, _) = end(terminal, &[]);
    assert_eq!(code, Some(3));
}

#[test]
fn a_folder_without_blocks_is_a_note() {
    let folder = Folder::new();
    let output = run(&["top", folder.path().to_str().unwrap()]);
    assert_exit(&output, 0, "note:");
    assert_eq!(output.stdout, b"");
}

/// Starts the command on a terminal, and prints the settings of the terminal after it. Returns `None` without
/// script(1).
fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Option<Terminal> {
    let arguments: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let command = format!("'{}' top {}", env!("CARGO_BIN_EXE_chronoxide-inspect"), arguments.join(" "));
    Terminal::start(&format!("{command}; code=$?; stty -a; exit $code"), variables)
}

/// Waits for the end of the command. Returns its exit code, and whether there were colours. Checks that the terminal is
/// as before, and that the screen was full if `shown` names texts of it.
#[track_caller]
fn end(terminal: Terminal, shown: &[&str]) -> (Option<i32>, bool) {
    let (status, screen, received) = terminal.end();
    assert!(screen.has_been_alternate && !screen.is_alternate && screen.has_cursor, "{received:?}");
    let after = received.rsplit("\u{1b}[?1049l").next().unwrap();
    let settings: Vec<&str> = after.split_whitespace().collect();
    assert!(["icanon", "echo", "isig", "opost"].iter().all(|setting| settings.contains(setting)), "{after:?}");
    for text in shown {
        assert!(received.contains(text), "{text}: {received:?}");
    }
    (status.code(), screen.has_colours)
}

/// Series of two metrics.
fn two_metrics() -> BTreeSet<Labelset> {
    labelsets(&[
        &[(NAME, "http_requests"), ("job", "api"), ("pod", "api-1")],
        &[(NAME, "http_requests"), ("job", "api"), ("pod", "api-2")],
        &[(NAME, "http_requests"), ("job", "web"), ("pod", "web-1")],
        &[(NAME, "cpu_seconds"), ("job", "api"), ("pod", "api-1")],
    ])
}

#[test]
fn a_terminal_shows_metrics_then_labels_then_values() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    let Some(mut terminal) = start(&[&path], &[]) else { return };
    let screen = terminal.wait_for("All > metrics");
    assert_eq!(screen[0], format!("{path}: 4 series"));
    assert_eq!(screen[2], "2 metrics by series");
    assert!(screen[4].starts_with(">             3   75.0%") && screen[4].ends_with("http_requests"), "{screen:#?}");
    assert!(screen[5].starts_with("              1   25.0%") && screen[5].ends_with("cpu_seconds"), "{screen:#?}");
    terminal.press("\r");
    let screen = terminal.wait_for("All > metric http_requests > labels");
    assert!(
        screen[4].starts_with(">             3              3    100%") && screen[4].ends_with("pod"),
        "{screen:#?}"
    );
    // Down, and Right.
    terminal.press("\u{1b}[B\u{1b}[C");
    let screen = terminal.wait_for("All > metric http_requests > label job");
    assert!(screen[4].starts_with(">             2   66.7%") && screen[4].ends_with("\"api\""), "{screen:#?}");
    assert!(screen[5].ends_with("\"web\""), "{screen:#?}");
    // Back, where `job` is selected still.
    terminal.press("\u{1b}");
    let screen = terminal.wait_for("All > metric http_requests > labels");
    assert!(screen[5].starts_with('>') && screen[5].ends_with("job"), "{screen:#?}");
    terminal.press("\u{1b}[D");
    terminal.wait_for("All > metrics");
    terminal.press("\t");
    terminal.wait_for("All > labels");
    terminal.press("w");
    let screen =
        terminal.wait("the series that remain", |screen| screen.lines()[4].contains("100%                3 ")).lines();
    assert!(screen[4].ends_with("pod"), "{screen:#?}");
    terminal.press("?");
    terminal.wait_for("any key closes the help");
    terminal.press("x");
    terminal.wait_for("Enter open");
    terminal.press("q");
    assert_eq!(end(terminal, &[]), (Some(0), true));
}

#[test]
fn a_filter_applies_with_each_key_and_escape_clears_it() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    let Some(mut terminal) = start(&[&path, "--label", "pod"], &[]) else { return };
    terminal.wait_for("All > label pod");
    terminal.press("/WEB");
    let screen = terminal.wait_for("1 of 3 values by series, filter \"WEB\"");
    assert!(screen[4].starts_with('>') && screen[4].ends_with("\"web-1\"") && screen[5].is_empty(), "{screen:#?}");
    assert_eq!(screen[23], "/WEB");
    // A filter is text: q does not quit.
    terminal.press("q");
    let screen = terminal.wait_for("nothing matches the filter");
    assert_eq!(screen[2], "0 of 3 values by series, filter \"WEBq\"");
    terminal.press("\u{1b}");
    let screen = terminal.wait_for_line("3 values by series");
    assert!(screen[4].ends_with("\"api-1\"") && screen[6].ends_with("\"web-1\""), "{screen:#?}");
    terminal.press("/api\r");
    terminal.wait_for("2 of 3 values");
    terminal.press("s");
    terminal.wait_for("2 of 3 values by value");
    terminal.press("q");
    assert_eq!(end(terminal, &[]).0, Some(0));
}

#[test]
fn control_c_and_signals_leave_the_terminal_as_it_was() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    let Some(mut terminal) = start(&[&path], &[]) else { return };
    terminal.wait_for("All > metrics");
    terminal.press("/up\u{3}");
    assert_eq!(end(terminal, &[]).0, Some(0), "Ctrl-C is a key");
    let pid = folder.file("pid");
    let command = format!(
        "sh -c 'echo $$ > {} && exec {} top {path}'; code=$?; stty -a; exit $code",
        pid.display(),
        env!("CARGO_BIN_EXE_chronoxide-inspect")
    );
    let mut terminal = Terminal::start(&command, &[]).unwrap();
    terminal.wait_for("All > metrics");
    let pid = fs::read_to_string(pid).unwrap();
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
    assert_eq!(end(terminal, &[]).0, Some(130));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_whose_terminal_is_gone_ends() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    let pid = folder.file("pid");
    let command =
        format!("sh -c 'echo $$ > {} && exec {} top {path}'", pid.display(), env!("CARGO_BIN_EXE_chronoxide-inspect"));
    let Some(mut terminal) = Terminal::start(&command, &[]) else { return };
    terminal.wait_for("All > metrics");
    let process = format!("/proc/{}", fs::read_to_string(pid).unwrap().trim());
    assert!(fs::exists(&process).unwrap());
    terminal.close();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    // A process that ended can stay as a zombie of a parent that does not wait for it.
    let is_running = || fs::read_to_string(format!("{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(std::time::Instant::now() < end, "{process} runs without a terminal");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_resized_terminal_is_drawn_again() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    let tty = folder.file("tty");
    let command =
        format!("tty > {} && {} top {path}; stty -a", tty.display(), env!("CARGO_BIN_EXE_chronoxide-inspect"));
    let Some(mut terminal) = Terminal::start(&command, &[]) else { return };
    terminal.wait_for("All > metrics");
    let tty = fs::read_to_string(tty).unwrap();
    let resize = |lines: &str, columns: &str| {
        let status = Command::new("stty").args(["-F", tty.trim(), "rows", lines, "cols", columns]).status().unwrap();
        assert!(status.success());
    };
    resize("1", "1");
    let screen = terminal.wait("one cell", |screen| screen.lines().concat() == ">");
    assert!(screen.is_alternate);
    resize("24", "100");
    terminal.wait_for("All > metrics");
    terminal.press("q");
    assert_eq!(end(terminal, &[]).0, Some(0));
}

/// `Screen` panics on control characters and sequences that drawing does not send.
#[test]
fn no_name_steers_the_screen() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&hostile()));
    let Some(mut terminal) = start(&[&path], &[]) else { return };
    terminal.wait_for(r#""load\u001bc""#);
    terminal.press("\t");
    terminal.wait_for(r#""größe\u001b]0;title\u0007""#);
    terminal.press("\r");
    terminal.wait_for(r#""b\u001b[2J\u202e\u000d\u000a\u009b31m""#);
    terminal.press("/\u{202e}");
    terminal.wait_for(r#"1 of 3 values by series, filter "\u202e""#);
    terminal.press("\r\u{1b}");
    terminal.wait_for_line("3 values by series");
    terminal.press("q");
    assert_eq!(end(terminal, &[]).0, Some(0));
}

#[test]
fn no_color_is_respected() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    for (variables, has_colours) in [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("CLICOLOR", "0")], false)] {
        let Some(mut terminal) = start(&[&path], variables) else { return };
        terminal.wait_for("All > metrics");
        terminal.press("q");
        assert_eq!(end(terminal, &["\u{1b}[7m"]), (Some(0), has_colours), "{variables:?}");
    }
}

#[test]
fn a_terminal_without_a_cursor_and_json_get_no_screen() {
    let folder = Folder::new();
    let path = folder.write("week.cx", plain_block(&two_metrics()));
    for (arguments, variables, line) in [
        (&[&*path][..], &[("TERM", "dumb")][..], "            3   75.0%              105  http_requests"),
        (&[&*path, "--json"], &[], r#"{"metric":"cpu_seconds","series":1,"text_bytes":33}"#),
    ] {
        let Some(terminal) = start(arguments, variables) else { return };
        let (status, screen, received) = terminal.end();
        assert!(status.success() && !screen.has_been_alternate, "{received:?}");
        assert!(received.contains(line), "{received:?}");
    }
}
