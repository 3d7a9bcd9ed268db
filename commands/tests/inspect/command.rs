//! Output of the built command for sound blocks.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use serde_json::Value;

use crate::support::{self, Folder, golden, golden_names, stdout};

#[test]
fn the_summary_shows_counts_times_and_annotations() {
    let summary = stdout(&["summary", &golden("plain-bitpacked.cx")]);
    for line in [
        "  series     10 of 2.30 labels\n",
        "  format     1.0, edition 1.0\n",
        "  keysets    4\n",
        "  keys       4 with ",
        "  rows       bitpacked, planner 0\n",
    ] {
        assert!(summary.contains(line), "{summary}");
    }
    let meta = stdout(&["summary", &golden("meta.cx")]);
    let parts = [
        "  time       2023-11-14T22:13:20.123456789Z to before 2023-11-14T23:13:20Z\n",
        "  label      \"cluster\"=\"eu-1\"\n",
        "  annotation \"note\"=\"größer \\\"als\\\" gedacht\"\n",
        "  parents    2 blocks\n",
        "  optional section 2147483653 ",
    ];
    for part in parts {
        assert!(meta.contains(part), "{part}\n{meta}");
    }
    let empty = stdout(&["summary", &golden("empty.cx")]);
    assert!(empty.contains("  series     0\n") && !empty.contains("NaN") && !empty.contains("inf"), "{empty}");
}

#[test]
fn the_summary_tells_version_and_edition() {
    for name in golden_names() {
        let path = golden(&format!("{name}.cx"));
        let summary: Value = serde_json::from_str(&stdout(&["summary", &path, "--json"])).unwrap();
        // These have sections that no text defines, and are not private.
        let edition = if ["meta", "loss-matters"].contains(&name) { Value::Null } else { "1.0".into() };
        let version = if name == "later-minor" { "1.7" } else { "1.0" };
        assert_eq!((&summary["format"], &summary["edition"]), (&version.into(), &edition), "{name}");
    }
    let line = |name: &str| stdout(&["summary", &golden(name)]).lines().nth(1).unwrap().to_owned();
    assert_eq!(line("later-minor.cx"), "  format     1.7, edition 1.0");
    assert_eq!(line("loss-matters.cx"), "  format     1.0, features of no edition that this version knows");
}

/// The lines of the golden file match its rows in `testdata/kit/src/golden.rs`.
#[test]
fn metrics_are_listed_with_type_unit_and_description() {
    let path = golden("metrics.cx");
    let rows = [
        r#""größe" exponential-histogram delta unit="µm²" description="\"Länge\"\u000a\u202e""#,
        r#""requests" sum delta monotonic unit="1" description="Requests served.""#,
        r#""requests" sum cumulative monotonic description="requests""#,
        r#""requests" sum cumulative monotonic unit="1" description="Requests served.""#,
        r#""state" state-set description="up""#,
        r#""up" gauge"#,
    ];
    let lines = |rows: &[&str]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    assert_eq!(stdout(&["metrics", &path]), lines(&rows));
    assert_eq!(stdout(&["metrics", &path, "--name", "requests"]), lines(&rows[1..4]));
    assert_eq!(stdout(&["metrics", &path, "--name", "größe"]), lines(&rows[..1]));
    for absent in ["", "request", "requests ", "zzz"] {
        assert_eq!(stdout(&["metrics", &path, "--name", absent, "-q"]), "");
    }
    let summary = stdout(&["summary", &path]);
    assert!(summary.contains("  metrics    6 rows of type, unit and description\n"), "{summary}");
    assert!(summary.contains("  metric-metadata "), "{summary}");
}

#[test]
fn a_block_without_metric_metadata_lists_none() {
    let path = golden("one-series.cx");
    assert_eq!((stdout(&["metrics", &path]), stdout(&["metrics", &path, "--json"])), Default::default());
    for arguments in [&["summary", &path][..], &["dump", &path, "--first", "0"]] {
        assert!(!stdout(arguments).contains("metric"), "{arguments:?}");
    }
}

#[test]
fn metrics_as_json_keep_every_character() {
    let path = golden("metrics.cx");
    let metrics: Vec<Value> =
        stdout(&["metrics", &path, "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(metrics.len(), 6);
    let first = serde_json::json!({
        "name": "größe", "metric_type": "exponential-histogram", "temporality": "delta", "monotonic": false,
        "unit": "µm²", "description": "\"Länge\"\n\u{202e}",
    });
    assert_eq!(metrics[0], first);
    let dumped = stdout(&["dump", &path, "--json", "--first", "0"]);
    let dumped = dumped.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let dumped: Vec<Value> = dumped.filter(|entry| entry["type"] == "metric").collect();
    assert_eq!(dumped.len(), 6);
    for (number, (mut entry, metric)) in dumped.into_iter().zip(&metrics).enumerate() {
        let object = entry.as_object_mut().unwrap();
        assert_eq!((object.remove("type"), object.remove("row")), (Some("metric".into()), Some(number.into())));
        assert_eq!(&entry, metric);
    }
}

#[test]
fn the_parts_of_a_summary_add_up_to_the_file() {
    for name in golden_names() {
        let path = golden(&format!("{name}.cx"));
        let summary: Value = serde_json::from_str(&stdout(&["summary", &path, "--json"])).unwrap();
        let parts = summary["parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap());
        assert_eq!(Some(parts.sum::<u64>()), summary["bytes"].as_u64(), "{name}");
        assert_eq!(summary["bytes"].as_u64(), Some(fs::metadata(&path).unwrap().len()), "{name}");
        let golden = goldens().into_iter().find(|golden| golden.name == name).unwrap();
        assert_eq!(summary["series"].as_u64(), Some(golden.series.len() as u64), "{name}");
    }
}

#[test]
fn dumps_are_those_of_the_golden_files() {
    for name in golden_names() {
        let expected = fs::read_to_string(golden(&format!("{name}.txt"))).unwrap();
        let found = stdout(&["dump", &golden(&format!("{name}.cx")), "--first", "0"]);
        assert!(found == expected, "{name}");
    }
}

#[test]
fn a_shortened_dump_counts_the_missing_entries() {
    let dump = stdout(&["dump", &golden("plain-bitpacked.cx"), "--first", "2"]);
    assert!(
        dump.contains("\nsymbols 15\n  0 \"__name__\"\n  1 ") && dump.contains("\n  ... 13 more\nkeys 4\n"),
        "{dump}"
    );
    assert!(dump.ends_with("\n  ... 8 more\n"), "{dump}");
}

#[test]
fn without_a_subcommand_the_summary_is_shown_and_nothing_else() {
    for golden in goldens() {
        let path = support::golden(&format!("{}.cx", golden.name));
        let shown = stdout(&[&path]);
        assert_eq!(shown, stdout(&["summary", &path]), "{}", golden.name);
        let id = BlockView::open(&golden.bytes).unwrap().block_id().to_string();
        assert_eq!(shown.matches(&id).count(), 1, "{}: {shown}", golden.name);
    }
}

#[test]
fn the_summary_names_the_layout_as_the_option_does() {
    let folder = Folder::new();
    let capture = folder.write("a.jsonl", "{\"job\":\"a\"}\n{\"job\":\"b\"}\n");
    for (layout, line) in [
        ("factored", "  rows       factored, bitpacked, planner "),
        ("bitpacked", "  rows       bitpacked, planner 0\n"),
        ("fixed", "  rows       fixedwidth, planner 0\n"),
    ] {
        let block = folder.file(&format!("{layout}.cx")).to_str().unwrap().to_owned();
        let ingest = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"))
            .args(["-q", "--layout", layout, &capture, "-o", &block])
            .status();
        assert!(ingest.unwrap().success());
        let shown = stdout(&[&block]);
        assert!(shown.contains(line), "{line}\n{shown}");
        let json: Value = serde_json::from_str(&stdout(&["summary", &block, "--json"])).unwrap();
        assert_eq!(json["layout"], layout);
    }
}

#[test]
fn the_summary_of_a_folder_adds_up_its_live_blocks() {
    let (folder, _) = Folder::with_damage();
    let here = folder.path().to_str().unwrap().to_owned();
    folder.write("d.cx", fs::read(golden("one-series.cx")).unwrap());
    let bytes = ["a.cx", "d.cx"].map(|name| fs::metadata(folder.file(name)).unwrap().len());
    for arguments in [&[here.as_str()][..], &["summary", &here]] {
        let output = support::run(arguments);
        // The folder has a damaged block.
        support::assert_exit(&output, 3, "chunk-checksum");
        let shown = String::from_utf8(output.stdout).unwrap();
        for line in [
            "  blocks     2 live\n",
            "  unreadable 2 files\n",
            "  series     11, some of them perhaps in several blocks\n",
        ] {
            assert!(shown.contains(line), "{line}\n{shown}");
        }
        assert!(shown.contains(&format!("            10 {:>14}  {here}/a.cx\n", bytes[0])), "{shown}");
    }
    let output = support::run(&["--json", &here]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["bytes"], &json["series"]), (&Value::from(bytes[0] + bytes[1]), &Value::from(11)));
    assert_eq!(json["unreadable"], Value::from(vec![format!("{here}/b.cx"), format!("{here}/c.cx")]));
    assert_eq!(json["blocks"].as_array().unwrap().len(), 2);
    let empty = Folder::new();
    let shown = support::run(&[empty.path().to_str().unwrap()]);
    support::assert_exit(&shown, 0, "note: ");
    assert!(String::from_utf8(shown.stdout).unwrap().contains("  blocks     0 live\n"));
}

#[test]
fn sections_are_where_the_dump_says() {
    let path = golden("meta.cx");
    let lines = stdout(&["sections", &path, "--json"]);
    let dump = stdout(&["dump", &path]);
    let mut end = 0;
    for line in lines.lines() {
        let section: Value = serde_json::from_str(line).unwrap();
        let (name, id) = (section["name"].as_str().unwrap(), &section["id"]);
        let (offset, length) = (section["offset"].as_u64().unwrap(), section["length"].as_u64().unwrap());
        let shown = match name {
            "checks" => format!("\nchecks {} offset {offset}\n", length / 4),
            _ => format!("\n  {name} {id} offset {offset} length {length}\n"),
        };
        assert!(dump.contains(&shown), "{line}");
        assert!(end == 0 || end == offset, "sections follow one another: {line}");
        end = offset + length;
    }
    assert_eq!(end, fs::metadata(&path).unwrap().len());
    // Six required sections, three that are not known, and the checks.
    assert_eq!(lines.lines().count(), 10);
    assert_eq!(stdout(&["sections", &path]).lines().count(), 10);
}

/// Returns the series of a block, as the command prints them for machines.
fn series_json(path: &str) -> Vec<Labelset> {
    let lines = stdout(&["series", path, "--format", "series-json"]);
    assert_eq!(lines, stdout(&["series", path, "--json"]), "--json is short for it");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn series_json_can_be_ingested_again() {
    let folder = Folder::new();
    // Ingest drops reserved names, which `strings` has.
    for golden in goldens().into_iter().filter(|golden| golden.name != "strings") {
        let path = support::golden(&format!("{}.cx", golden.name));
        let series = series_json(&path);
        assert_eq!(series.len(), golden.series.len());
        assert_eq!(series.into_iter().collect::<BTreeSet<_>>(), golden.series, "{}", golden.name);
        let capture = folder.write("series.jsonl", stdout(&["series", &path, "--format", "series-json"]));
        let policy = chronoxide_format::policy::LabelPolicy::NONE;
        let assemble = AssembleOptions { policy, ..AssembleOptions::default() };
        let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
        ingest.read(Source::open(capture.as_ref()).unwrap()).unwrap();
        let (_, blocks) = ingest.finish().unwrap();
        let fingerprint = |block: &[u8]| BlockView::open(block).unwrap().verify().unwrap().fingerprint;
        assert_eq!(fingerprint(&blocks[0]), fingerprint(&golden.bytes), "{}", golden.name);
    }
}

#[test]
fn tables_show_ref_names_and_quoted_values() {
    let table = stdout(&["series", &golden("plain-bitpacked.cx")]);
    assert_eq!(table.lines().count(), 10);
    assert!(table.contains(" __name__=\"requests_total\" job=\"api\" pod=\"api-1\"\n"), "{table}");
    assert!(table.lines().enumerate().all(|(number, line)| line.starts_with(&format!("{number} "))), "{table}");
    let first = stdout(&["series", &golden("plain-bitpacked.cx"), "--first", "3"]);
    assert_eq!(first, table.split_inclusive('\n').take(3).collect::<String>());
    // Characters that control a terminal are escaped for any output.
    let unicode = stdout(&["series", &golden("unicode.cx")]);
    assert!(unicode.contains(r#" "quoted \"name\""="back\\slash\u000a\u0009\u007f\u202e\ufeff""#), "{unicode}");
}

/// Rules of Prometheus's text format: inside quotes, only backslash, double quote and line feed are escaped with a
/// backslash. A metric or label name that is not an identifier is quoted, the metric's within the braces.
#[test]
fn prometheus_s_notation_is_escaped_as_documented() {
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[("__name__", "up")], "up{}"),
        (&[("__name__", "up"), ("job", "api")], r#"up{job="api"}"#),
        (&[("__name__", "a:b:rate5m"), ("_x1", "y")], r#"a:b:rate5m{_x1="y"}"#),
        (&[("job", "no name")], r#"{job="no name"}"#),
        (
            &[("__name__", "http.server.duration"), ("http.method", "GET")],
            r#"{"http.server.duration","http.method"="GET"}"#,
        ),
        (&[("__name__", "up"), ("a:b", "1"), ("größe", "2")], r#"up{"a:b"="1","größe"="2"}"#),
        (&[("__name__", "up"), ("v", "a\\b\"c\nd\te\rf{}=,'")], "up{v=\"a\\\\b\\\"c\\nd\te\rf{}=,'\"}"),
        (&[("__name__", "new\nline\"")], r#"{"new\nline\""}"#),
        (&[("0digit", "1"), ("__name__", "9up")], r#"{"9up","0digit"="1"}"#),
    ];
    let folder = Folder::new();
    for (labels, expected) in cases {
        let labels: Labelset = labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let block = build(&[labels].into(), &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
        let path = folder.write("one.cx", block);
        assert_eq!(stdout(&["series", &path, "--format", "prometheus"]), format!("{expected}\n"));
    }
}

#[test]
fn json_is_json_for_every_golden() {
    for name in golden_names() {
        let path = golden(&format!("{name}.cx"));
        let one = |arguments: &[&str]| serde_json::from_str::<Value>(&stdout(arguments)).unwrap();
        assert_eq!(one(&["summary", &path, "--json"]), one(&[&path, "--json"]), "{name}");
        let verified = one(&["verify", &path, "--json"]);
        assert_eq!((&verified["sound"], &verified["block"]), (&Value::Bool(true), &Value::String(path)), "{name}");
    }
}

#[test]
fn a_dump_as_json_has_an_entry_for_each_line_of_the_text() {
    for golden in goldens() {
        let name = golden.name;
        let path = support::golden(&format!("{name}.cx"));
        let text = fs::read_to_string(support::golden(&format!("{name}.txt"))).unwrap();
        let entries = stdout(&["dump", &path, "--json", "--first", "0"]);
        let entries: Vec<Value> = entries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // The four lines of the file are one entry, and so are the lines of the meta section.
        let meta = text.lines().skip_while(|line| *line != "meta").take_while(|line| !line.starts_with("symbols "));
        assert_eq!(entries.len(), text.lines().count() - 3 - (meta.count() - 1), "{name}");
        let of = |kind: &'static str| entries.iter().filter(move |entry| entry["type"] == kind);
        let series: Vec<Vec<(String, String)>> =
            of("series").map(|entry| serde_json::from_value(entry["labels"].clone()).unwrap()).collect();
        assert_eq!(series.len(), golden.series.len(), "{name}");
        let series: BTreeSet<Labelset> = series.into_iter().map(|labels| labels.into_iter().collect()).collect();
        assert_eq!(series, golden.series, "{name}");
        let symbols: BTreeSet<&str> = of("symbol").map(|entry| entry["symbol"].as_str().unwrap()).collect();
        assert_eq!(symbols, golden.series.iter().flatten().flat_map(|(name, value)| [&**name, &**value]).collect());
    }
    let cut = stdout(&["dump", &golden("plain-bitpacked.cx"), "--json", "--first", "2"]);
    assert!(cut.ends_with("{\"type\":\"more\",\"count\":8}\n"), "{cut}");
}
