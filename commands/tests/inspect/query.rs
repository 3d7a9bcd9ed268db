//! Series, label names and values of blocks and folders, beside a plain filter over the labelsets.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::sweep;

use crate::support::{
    self, Folder, assert_exit, broken, command, golden, labelsets, plain_block, random_block, run, series_of, stdout,
};

/// Selectors with a filter for each, written by hand.
type Case = (&'static [&'static str], fn(&Labelset) -> bool);

fn value<'a>(labels: &'a Labelset, name: &str) -> &'a str {
    labels.get(name).map_or("", |value| value)
}

const CASES: [Case; 9] = [
    (&[], |_| true),
    (&["up"], |labels| value(labels, "__name__") == "up"),
    (&[r#"{job="api"}"#], |labels| value(labels, "job") == "api"),
    (&[r#"{job="api",pod=~"api-.*"}"#], |labels| {
        value(labels, "job") == "api" && value(labels, "pod").starts_with("api-")
    }),
    (&[r#"up{pod!="",zone=~"zone-(1|3)"}"#], |labels| {
        value(labels, "__name__") == "up"
            && !value(labels, "pod").is_empty()
            && ["zone-1", "zone-3"].contains(&value(labels, "zone"))
    }),
    (&[r#"{pod!~"db-.*",__name__!=""}"#], |labels| {
        !value(labels, "pod").starts_with("db-") && labels.contains_key("__name__")
    }),
    (&[r#"{pod="db-1"}"#, r#"{zone=~".+"}"#, "up"], |labels| {
        value(labels, "pod") == "db-1" || labels.contains_key("zone") || value(labels, "__name__") == "up"
    }),
    (&[r#"{absent="x"}"#, r#"{job="db"}"#], |labels| value(labels, "job") == "db"),
    (&[r#"{absent="x"}"#], |_| false),
];

fn with_matches<'a>(arguments: &[&'a str], selectors: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().chain(selectors.iter().flat_map(|selector| ["--match", selector])).collect()
}

/// Compares `series`, `labels` and `values` of some blocks with the filter.
#[track_caller]
fn check(paths: &[&str], series: &BTreeSet<Labelset>) {
    for (selectors, filter) in CASES {
        let expected: BTreeSet<Labelset> = series.iter().filter(|labels| filter(labels)).cloned().collect();
        let ask = |first: &[&str]| stdout(&with_matches(&[first, paths].concat(), selectors));
        assert_eq!(series_of(&ask(&["series", "-q", "--json"])), expected, "{paths:?} {selectors:?}");
        let names: BTreeSet<&str> = expected.iter().flatten().map(|(name, _)| name.as_str()).collect();
        let strings =
            |lines: &str| -> Vec<String> { lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
        assert!(strings(&ask(&["labels", "-q", "--json"])).iter().eq(&names), "{paths:?} {selectors:?}");
        for name in ["__name__", "job", "pod"] {
            let values: BTreeSet<&str> =
                expected.iter().filter_map(|labels| labels.get(name)).map(String::as_str).collect();
            assert!(strings(&ask(&["values", name, "-q", "--json"])).iter().eq(&values), "{paths:?} {selectors:?}");
            let some = values.iter().filter(|value| value.starts_with("api-")).take(2);
            let found = ask(&["values", name, "-q", "--json", "--prefix", "api-", "--limit", "2"]);
            assert!(strings(&found).iter().eq(some), "{paths:?} {selectors:?}");
        }
    }
}

#[test]
fn matching_series_of_one_block_are_those_of_a_plain_filter() {
    // Each fourth block, unless all are asked for.
    let goldens = goldens().into_iter().filter(|golden| golden.series.len() < 300);
    for golden in sweep::by_turns(goldens, 0, 4) {
        check(&[&support::golden(&format!("{}.cx", golden.name))], &golden.series);
    }
}

#[test]
fn equal_series_of_several_blocks_and_folders_are_shown_once() {
    let folder = Folder::new();
    let all = goldens();
    let series = |name: &str| &all.iter().find(|golden| golden.name == name).unwrap().series;
    let (small, pods) = (series("plain-bitpacked"), series("shared-table"));
    let half: BTreeSet<Labelset> = small.iter().step_by(2).chain(pods.iter().step_by(3)).cloned().collect();
    let union: BTreeSet<Labelset> = small.union(pods).cloned().collect();
    let blocks = [small, pods, &half].map(plain_block);
    let paths = ["a.cx", "b.cx", "c.cx"];
    for (path, block) in paths.iter().zip(&blocks) {
        folder.write(path, block);
    }
    let paths = paths.map(|path| folder.file(path).to_str().unwrap().to_owned());
    let [a, b, c] = [&*paths[0], &*paths[1], &*paths[2]];
    let here = folder.path().to_str().unwrap();
    check(&[c, a, b], &union);
    check(&[here], &union);
    check(&[here, a, here, &golden("one-series.cx")], &union);
    check(&[a, a], small);
    assert_eq!(stdout(&["series", here, "--json"]).lines().count(), union.len());
}

#[test]
fn random_blocks_are_united() {
    let folder = Folder::new();
    let mut union = BTreeSet::new();
    for seed in 0..4 {
        let (series, block) = random_block(seed);
        folder.write(&format!("{seed}.cx"), block);
        union.extend(series);
    }
    check(&[folder.path().to_str().unwrap()], &union);
}

#[test]
fn refs_are_shown_for_a_single_file_only() {
    let path = golden("plain-bitpacked.cx");
    // Refs as in the dump: see testdata/golden/plain-bitpacked.txt.
    let single = stdout(&["series", &path, "--match", r#"{zone=~"b|c"}"#, "--match", "build_info"]);
    assert_eq!(single, "1 __name__=\"build_info\" job=\"db\"\n8 job=\"api\" zone=\"b\"\n9 job=\"api\" zone=\"c\"\n");
    let folder = Folder::new();
    folder.write("a.cx", fs::read(&path).unwrap());
    let here = folder.path().to_str().unwrap();
    let zone = &["--match", r#"{zone="b"}"#][..];
    for arguments in [&["series", &path, &path][..], &["series", here]] {
        assert_eq!(stdout(&[arguments, zone].concat()), "job=\"api\" zone=\"b\"\n");
        let prometheus = stdout(&[arguments, zone, &["--format", "prometheus"]].concat());
        assert_eq!(prometheus, "{job=\"api\",zone=\"b\"}\n");
        assert_eq!(stdout(&[arguments, &["--first", "3"]].concat()).lines().count(), 3);
    }
}

#[test]
fn names_and_values_have_lines_of_their_own() {
    let folder = Folder::new();
    let path = folder.write(
        "lines.cx",
        plain_block(&labelsets(&[
            &[("v", "two\nlines"), ("größe", "1")],
            &[("v", "\"quoted\"")],
            &[("v", "GET /a\\b \"c\"")],
            &[("v", "Zürich")],
            &[("v", "\u{1b}[2J"), ("\u{202e}", "x")],
            &[("v", "two")],
        ])),
    );
    let expected = [r#""\u001b[2J""#, r#""\"quoted\"""#, r#"GET /a\b "c""#, "Zürich", "two", r#""two\u000alines""#];
    assert!(stdout(&["values", "v", &path]).lines().eq(expected));
    assert!(stdout(&["labels", &path]).lines().eq(["größe", "v", r#""\u202e""#]));
    let json = stdout(&["values", "v", &path, "--json", "--prefix", "two"]);
    assert_eq!(json, "\"two\"\n\"two\\nlines\"\n");
}

#[test]
fn notes_name_labels_without_values_wide_selectors_and_empty_folders() {
    let path = golden("plain-bitpacked.cx");
    let folder = Folder::new();
    let here = folder.path().to_str().unwrap();
    for (arguments, note, lines) in [
        (&["values", "absent", &path][..], r#"note: no block has a label "absent""#, 0),
        (&["series", &path, "--match", "{jbo='api'}"], r#"note: no block has a label "jbo""#, 0),
        (&["diff", &path, &path, "--match", "{jbo='api'}"], r#"note: no block has a label "jbo""#, 1),
        (&["values", "job", &path, "--prefix", "x"], r#"note: no such value of the label "job""#, 0),
        (&["series", &path, "--match", "{}"], "note: {} matches every series", 10),
        (
            &["series", &path, "--match", r#"{a=~".*"}"#],
            r#"note: {a=~".*"} matches series without these labels, too"#,
            10,
        ),
        (&["labels", &path, "--match", r#"{job!="api"}"#], "matches series without these labels, too", 3),
        (&["series", here], "the folder has no block (*.cx)", 0),
    ] {
        let output = run(arguments);
        assert_exit(&output, 0, note);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("chronoxide-inspect: note: ") && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(String::from_utf8(output.stdout.clone()).unwrap().lines().count(), lines, "{arguments:?}");
        assert_eq!(stdout(&[arguments, &["-q"]].concat()).as_bytes(), output.stdout);
    }
}

#[test]
fn errors_of_selectors_name_the_position() {
    let path = golden("plain-bitpacked.cx");
    for (selector, message) in [
        (r#"{job="api"#, "unterminated string, at character 6"),
        (r#"{größe="a"}"#, "at character 4"),
        (r#"{job="api",pod=~"a("}"#, "at character 17"),
        ("up offset 5m", "`offset` and `@` are not allowed in a selector"),
        ("", "empty selector"),
    ] {
        for command in [&["series"][..], &["labels"], &["values", "job"], &["cardinality"], &["diff", &path]] {
            let output = run(&[command, &[&path, "--match", selector]].concat());
            assert_exit(&output, 2, message);
            assert_exit(&output, 2, "--match <SELECTOR>");
            assert_eq!(output.stdout, b"", "{command:?} {selector}");
        }
    }
}

/// Each option has its own parser, but the memory of their regular expressions is that of one process.
#[test]
fn selectors_of_one_command_line_have_bounds_in_all() {
    let path = golden("plain-bitpacked.cx");
    let selectors: Vec<String> = (0..20).map(|number| format!("{{pod=~\"(a|b)*a(a|b){{16}}{number}\"}}")).collect();
    let arguments = |count: usize| {
        let options = selectors[..count].iter().flat_map(|selector| ["--match", selector]);
        ["series", &path].into_iter().chain(options).collect::<Vec<&str>>()
    };
    assert_exit(&run(&arguments(12)), 0, "");
    assert_exit(&run(&arguments(20)), 2, "the regular expressions take more than 64 MiB when compiled");
    let repeated: Vec<&str> = ["series", &path].into_iter().chain(["--match", &selectors[0]].repeat(20)).collect();
    assert_exit(&run(&repeated), 0, "");
}

#[test]
fn the_sound_blocks_of_a_folder_are_shown_beside_damaged_ones() {
    let sound = golden("plain-bitpacked.cx");
    let json = stdout(&["series", &sound, "--json"]);
    for (damaged, code) in [
        (&["chunk-checksum"][..], 3),
        (&["version"], 4),
        (&["version", "magic", "incompat-features"], 3),
        // Open with right checksums, and fail when they are read.
        (&["symbols-utf8"], 3),
        (&["column-code"], 3),
    ] {
        let folder = Folder::new();
        folder.write("a.cx", fs::read(&sound).unwrap());
        let paths: Vec<String> =
            damaged.iter().map(|rule| folder.write(&format!("{rule}.cx"), fs::read(broken(rule)).unwrap())).collect();
        let here = folder.path().to_str().unwrap();
        let files: Vec<&str> = [sound.as_str()].into_iter().chain(paths.iter().map(String::as_str)).collect();
        for sources in [&[here][..], &files] {
            let output = run(&[&["series", "--json"], sources].concat());
            assert_exit(&output, code, "");
            let (stdout, stderr) =
                (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
            for path in &paths {
                assert!(stderr.contains(path), "{stderr}");
            }
            assert_eq!(stderr.lines().count(), paths.len(), "{stderr}");
            assert!(json.lines().all(|line| stdout.lines().any(|found| found == line)), "{stdout}");
            for command in [&["labels"][..], &["values", "job"]] {
                let output = run(&[command, sources].concat());
                // Names and dictionaries of this block are sound.
                if damaged != ["column-code"] {
                    assert_exit(&output, code, "");
                }
                let shown = String::from_utf8(output.stdout).unwrap();
                let expected = if command[0] == "labels" { "__name__\njob\npod\nzone\n" } else { "api\ndb\n" };
                assert_eq!(shown, expected, "{damaged:?}");
            }
        }
    }
}

#[test]
fn a_missing_file_is_reported_and_the_others_are_shown() {
    let (sound, absent) = (golden("one-series.cx"), Folder::new().file("absent.cx"));
    let output = run(&["series", absent.to_str().unwrap(), &sound]);
    assert_exit(&output, 1, "absent.cx: No such file");
    assert_eq!(output.stdout, run(&["series", &sound, &sound]).stdout);
    assert!(!output.stdout.is_empty());
}

#[test]
fn a_label_after_the_file_is_answered_with_the_right_order() {
    let path = golden("one-series.cx");
    let output = run(&["values", &path, "job"]);
    assert_exit(&output, 1, "cannot read job: No such file");
    assert_exit(&output, 1, "one-series.cx\" is a file: name the label first");
    assert!(!String::from_utf8(run(&["values", &path, "job", "-q"]).stderr).unwrap().contains("note"));
}

#[test]
fn standard_input_is_one_of_several_blocks() {
    let path = golden("plain-bitpacked.cx");
    for arguments in [&["series", "-"][..], &["labels", "-"], &["values", "job", "-"], &["cardinality", "-"]] {
        let output = command().args(arguments).stdin(fs::File::open(&path).unwrap()).output().unwrap();
        assert_exit(&output, 0, "");
        let named: Vec<&str> = arguments.iter().map(|word| if *word == "-" { path.as_str() } else { word }).collect();
        assert_eq!(output.stdout, run(&named).stdout, "{arguments:?}");
    }
    let mut both = command();
    both.args(["series", "-", &golden("one-series.cx")]).stdin(Stdio::from(fs::File::open(&path).unwrap()));
    assert_eq!(both.output().unwrap().stdout, run(&["series", &path, &golden("one-series.cx")]).stdout);
}

/// Blocks cut values at different lengths. A selector names the whole value.
#[test]
fn selectors_are_cut_like_the_labels_of_each_block() {
    let folder = Folder::new();
    let long = "x".repeat(100);
    let policy = LabelPolicy::new(64, 64).unwrap();
    let whole = labelsets(&[&[("job", &long)], &[("job", "api")]]);
    let cut = labelsets(&[&[("job", &policy.value(&long))], &[("job", "db")]]);
    let meta = BlockMeta { policy, ..BlockMeta::default() };
    let a = folder.write("a.cx", plain_block(&whole));
    let b = folder.write("b.cx", build(&cut, &Plan::default(), RowForm::BitPacked, &meta).unwrap());
    let selector = format!("{{job=\"{long}\"}}");
    let values = stdout(&["values", "job", &a, &b, "--match", &selector]);
    assert_eq!(values, format!("{long}\n{}\n", policy.value(&long)));
    // The cut value is another value: neither series hides the other.
    assert_eq!(stdout(&["series", &a, &b, "--json"]).lines().count(), 4);
    assert_eq!(stdout(&["series", &b, &a, "--json"]).lines().count(), 4);
}

/// Refs of the golden `columns`, whose series were first seen at minute 0, 90 (ref 3) or 119 (ref 7), and last at
/// minute 3 (ref 2), 90 (ref 8) or 120.
#[test]
fn series_of_a_time_range_are_those_whose_times_meet_it() {
    let path = golden("columns.cx");
    let minute = |minute: u32| {
        format!(
            "2023-11-{}T{:02}:{:02}:00Z",
            if minute < 106 { "14" } else { "15" },
            (22 + (14 + minute) / 60) % 24,
            (14 + minute) % 60
        )
    };
    let all = stdout(&["series", &path]);
    let all: Vec<&str> = all.lines().collect();
    assert_eq!(all.len(), 10);
    for (min, max, gone) in [
        (None, Some(90), vec![3, 7]),
        (None, Some(91), vec![7]),
        (Some(100), None, vec![2, 8]),
        (Some(90), None, vec![2]),
        (Some(4), Some(90), vec![2, 3, 7]),
        (Some(121), None, (0..10).collect()),
    ] {
        let times = [("--min-time", min), ("--max-time", max)];
        let times: Vec<String> = times
            .into_iter()
            .flat_map(|(name, time)| time.map(|time| [name.to_owned(), minute(time)]))
            .flatten()
            .collect();
        let asked = |first: &[&'static str]| -> String {
            let mut arguments = first.to_vec();
            arguments.push(&path);
            arguments.extend(times.iter().map(String::as_str));
            stdout(&arguments)
        };
        let left: Vec<&str> =
            all.iter().enumerate().filter(|(place, _)| !gone.contains(place)).map(|(_, line)| *line).collect();
        assert_eq!(asked(&["series"]).lines().collect::<Vec<_>>(), left, "{times:?}");
        let lines = asked(&["series", "--json"]);
        let series: Vec<Labelset> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for name in ["pod", "job", "__name__"] {
            let values: BTreeSet<&String> = series.iter().filter_map(|labels| labels.get(name)).collect();
            assert!(asked(&["values", name, "-q"]).lines().eq(values), "{name} {times:?}");
        }
        let names: BTreeSet<&String> = series.iter().flat_map(|labels| labels.keys()).collect();
        assert!(asked(&["labels"]).lines().eq(names), "{times:?}");
        let counts: serde_json::Value = serde_json::from_str(&asked(&["cardinality", "--json"])).unwrap();
        assert_eq!(counts["series"], left.len(), "{times:?}");
    }
    let (early, late) = (minute(90), minute(4));
    let output = run(&["series", &path, "--min-time", &early, "--max-time", &late]);
    assert_exit(&output, 2, "--min-time must be before --max-time");
    let diff = run(&["diff", &path, &golden("plain-bitpacked.cx"), "--min-time", &minute(100), "--json"]);
    assert_exit(&diff, 5, "note: 1 block does not know the times of its series: all count that match");
    let total: serde_json::Value =
        serde_json::from_slice(diff.stdout.split(|&byte| byte == b'\n').next().unwrap()).unwrap();
    // Both blocks have the same series.
    assert_eq!((&total["same"], &total["gone"], &total["came"]), (&8.into(), &0.into(), &2.into()));
}
