//! Output of the built command for remaps.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput, RemapRule};
use chronoxide_format::view::BlockView;
use chronoxide_testkit::remap::golden::golden_remaps;
use serde_json::{Value, json};

use crate::support::{self, Folder, assert_exit, command, json_lines, run, stdout};

fn remap(name: &str) -> String {
    format!("{}/../testdata/remaps/{name}.cxr", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the words of a golden text for each series: its ref, and then its target or `gone`.
fn stated(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with("series ")).skip(1);
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Returns the ids of outputs in a golden text.
fn outputs(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("outputs ")).skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(|line| line.split_whitespace().nth(1).unwrap()).collect()
}

#[test]
fn the_summary_counts_mapped_series_and_sizes() {
    for golden in golden_remaps() {
        let path = remap(&format!("golden/{}", golden.name));
        let summary: Value = serde_json::from_str(&stdout(&["summary", &path, "--json"])).unwrap();
        assert_eq!(summary, serde_json::from_str::<Value>(&stdout(&[&path, "--json"])).unwrap());
        let series = stated(&golden.text);
        let gone = series.iter().filter(|words| words[1] == "gone").count();
        let counts = ["series", "mapped", "dropped"].map(|count| summary[count].as_u64().unwrap() as usize);
        assert_eq!(counts, [series.len(), series.len() - gone, gone], "{}", golden.name);
        let parts = summary["parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap());
        assert_eq!(parts.sum::<u64>(), golden.bytes.len() as u64, "{}", golden.name);
        assert_eq!(summary["bytes"].as_u64(), Some(golden.bytes.len() as u64), "{}", golden.name);
        for (number, output) in summary["outputs"].as_array().unwrap().iter().enumerate() {
            assert_eq!(output["block_id"], outputs(&golden.text)[number]);
            let to_it = series.iter().filter(|words| words[1] == number.to_string()).count() as u64;
            assert_eq!(output["mapped"].as_u64(), Some(to_it), "{}", golden.name);
        }
    }
}

#[test]
fn without_a_subcommand_the_summary_is_shown_and_nothing_else() {
    let shown = stdout(&[&remap("golden/small")]);
    for line in [
        "remap of 5ANANANANANANANANANANANANA\n",
        "  job        cccccccccccccccccccccccccccccccc\n",
        "  series     9: 7 mapped, 2 dropped\n",
        "  keysets    2\n",
        " of 10 series: 7 mapped to it\n",
        "\n  header  ",
        "\n  checksums  ",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert_eq!(shown, stdout(&["summary", &remap("golden/small")]));
    let empty = stdout(&["summary", &remap("golden/empty")]);
    assert!(empty.contains("  series     0: 0 mapped, 0 dropped\n"), "{empty}");
    assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
}

#[test]
fn dumps_are_those_of_the_golden_files() {
    for golden in golden_remaps() {
        let path = remap(&format!("golden/{}", golden.name));
        let expected = fs::read_to_string(path.replace(".cxr", ".txt")).unwrap();
        assert!(stdout(&["dump", &path, "--first", "0"]) == expected, "{}", golden.name);
        let entries = json_lines(&["dump", &path, "--first", "0", "--json"]);
        let series: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "series").collect();
        let stated = stated(&golden.text);
        assert_eq!(series.len(), stated.len(), "{}", golden.name);
        for (entry, words) in series.into_iter().zip(stated) {
            let number = |place: usize| words.get(place).and_then(|word| word.parse::<u32>().ok());
            let expected = json!({ "type": "series", "ref": number(0), "output": number(1), "series": number(2) });
            assert_eq!(*entry, expected, "{}", golden.name);
        }
    }
}

#[test]
fn series_are_followed_by_their_refs() {
    let mut followed = 0;
    for golden in golden_remaps() {
        let path = remap(&format!("golden/{}", golden.name));
        let outputs = outputs(&golden.text);
        let some: Vec<Vec<&str>> = stated(&golden.text).into_iter().rev().step_by(7).take(50).collect();
        if some.is_empty() {
            continue;
        }
        let arguments: Vec<&str> = ["follow", &path].into_iter().chain(some.iter().map(|words| words[0])).collect();
        let (mut lines, mut objects) = (String::new(), Vec::new());
        for words in &some {
            let series_ref: u32 = words[0].parse().unwrap();
            if words[1] == "gone" {
                lines += &format!("{series_ref} gone\n");
                objects.push(json!({ "ref": series_ref, "block_id": null, "output": null, "series": null }));
            } else {
                let (output, series) = (words[1].parse::<usize>().unwrap(), words[2].parse::<u32>().unwrap());
                lines += &format!("{series_ref} {} {series}\n", outputs[output]);
                let object =
                    json!({ "ref": series_ref, "block_id": outputs[output], "output": output, "series": series });
                objects.push(object);
            }
            followed += 1;
        }
        assert_eq!(stdout(&arguments), lines, "{}", golden.name);
        assert_eq!(json_lines(&[&arguments[..], &["--json"]].concat()), objects, "{}", golden.name);
    }
    assert!(followed > 100, "{followed}");
}

#[test]
fn series_that_cannot_be_followed_are_reported_with_the_reason() {
    let small = remap("golden/small");
    let output = run(&["follow", &small, "3", "9"]);
    assert_exit(&output, 2, "series 9 is out of range: the input has 9 series, from 0");
    assert_eq!(output.stdout, b"", "stdout is empty after an error");
    assert_exit(&run(&["follow", &small]), 2, "REF");
    assert_exit(&run(&["follow", &support::golden("empty.cx"), "0"]), 3, "not a Chronoxide remap");
    assert_exit(&run(&["follow", &remap("absent"), "0"]), 1, "cannot read");
    assert_exit(&run(&["follow", &remap("broken/version"), "0"]), 4, "format version");
    assert_exit(&run(&["follow", &remap("broken/chunk-checksum"), "0"]), 3, "chunk-checksum");
}

#[test]
fn commands_for_blocks_reject_remaps() {
    let small = remap("golden/small");
    for subcommand in ["sections", "series", "metrics", "tables", "plan"] {
        let output = run(&[subcommand, &small]);
        assert_exit(&output, 3, "not a Chronoxide block");
        assert_exit(&output, 3, &small);
    }
}

#[test]
fn every_broken_remap_fails_to_verify_by_its_rule() {
    for rule in RemapRule::ALL {
        let path = remap(&format!("broken/{}", rule.id()));
        // A file that does not begin like a remap is opened as a block, and is not a valid one either.
        let (code, expected) = match rule {
            RemapRule::Version => (4, Value::String("version".to_owned())),
            RemapRule::IncompatFeatures => (4, Value::String(rule.id().to_owned())),
            _ => (3, Value::String(rule.id().to_owned())),
        };
        let output = run(&["verify", &path]);
        assert_exit(&output, code, &path);
        let output = run(&["verify", "--json", &path]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["sound"], &json["rule"]), (&Value::Bool(false), &expected));
        for subcommand in [&[][..], &["summary"], &["dump"]] {
            let output = run(&[subcommand, &[&path]].concat());
            match output.status.code() {
                Some(0) => assert_eq!(output.stderr, b"", "{path}"),
                _ => assert_exit(&output, code, &path),
            }
        }
    }
}

#[test]
fn blocks_and_remaps_are_verified_together() {
    let paths = [remap("golden/small"), support::golden("one-series.cx"), remap("golden/shards")];
    let arguments: Vec<&str> = ["verify"].into_iter().chain(paths.iter().map(|path| &**path)).collect();
    let shown = stdout(&arguments);
    let expected = [9, 1, 201].into_iter().zip(&paths);
    let expected: String = expected.map(|(series, path)| format!("{path}: sound, {series} series\n")).collect();
    assert_eq!(shown, expected);
    let worst = run(&["verify", &paths[0], &remap("broken/targets"), &remap("broken/version")]);
    assert_exit(&worst, 3, "targets");
}

#[test]
fn remaps_are_read_from_standard_input() {
    let golden = golden_remaps().into_iter().find(|golden| golden.name == "small").unwrap();
    let with_input = |arguments: &[&str]| {
        let mut child = command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&golden.bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_exit(&output, 0, "");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(with_input(&["dump", "-", "--first", "0"]), golden.text);
    assert_eq!(with_input(&["verify", "-"]), "-: sound, 9 series\n");
    assert!(with_input(&["follow", "-", "5"]).ends_with("5 gone\n"));
}

#[test]
fn a_chunk_that_no_lookup_touches_may_be_damaged() {
    let folder = Folder::new();
    let golden = golden_remaps().into_iter().find(|golden| golden.name == "many-chunks").unwrap();
    let mut bytes = golden.bytes.clone();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    let path = folder.write("damaged.cxr", &bytes);
    let followed = stdout(&["follow", &path, "0"]);
    assert!(followed.starts_with("0 "), "{followed}");
    let end = stated(&golden.text).len() - 1;
    assert_exit(&run(&["follow", &path, &end.to_string()]), 3, "chunk-checksum");
    for subcommand in ["summary", "dump", "verify"] {
        assert_exit(&run(&[subcommand, &path]), 3, "chunk-checksum");
    }
}

/// Returns the remap of block `input`, all of whose series were in one keyset, to `output`, which has as many series
/// as are mapped.
fn remap_to(input: BlockId, output: BlockId, targets: &[Option<u64>]) -> Vec<u8> {
    let series_count = targets.iter().flatten().count() as u64;
    let outputs = [RemapOutput { block_id: output, series_count, shard: 0 }];
    let mut builder = RemapBuilder::new(input, [7; 16], &outputs).unwrap();
    let mut rows = KeysetTargets::default();
    targets.iter().for_each(|&target| rows.push_row([target]));
    builder.push_keyset(&rows).unwrap();
    builder.finish().unwrap()
}

#[test]
fn series_are_followed_through_the_remaps_of_a_folder() {
    let folder = Folder::new();
    let golden = |name: &str| format!("{}/../testdata/golden/{name}.cx", env!("CARGO_MANIFEST_DIR"));
    let id = |path: &str| BlockView::open(&fs::read(path).unwrap()).unwrap().block_id();
    let (first, last) = (golden("plain-bitpacked"), golden("lists-bitpacked"));
    let (a, b, c) = (id(&first), BlockId([9; 16]), id(&last));
    let remaps = folder.file("remaps");
    fs::create_dir(&remaps).unwrap();
    fs::write(remaps.join(format!("{a}.cxr")), remap_to(a, b, &[Some(0), None, Some(1)])).unwrap();
    fs::write(remaps.join(format!("{b}.cxr")), remap_to(b, c, &[Some(1), Some(0)])).unwrap();
    let remaps = remaps.to_str().unwrap();
    let expected = format!("0 {c} 1\n1 gone\n2 {c} 0\n");
    // Names the input by id, by block, and by remap.
    for block in [a.to_string(), first, format!("{remaps}/{a}.cxr")] {
        assert_eq!(stdout(&["follow", "--remaps", remaps, &block, "0", "1", "2"]), expected);
    }
    let blocks = folder.file("blocks");
    fs::create_dir(&blocks).unwrap();
    let blocks = blocks.to_str().unwrap();
    let arguments = ["follow", "--remaps", remaps, "--blocks", blocks, &a.to_string(), "2", "1"];
    let missing = run(&arguments);
    assert_eq!(missing.status.code(), Some(5));
    assert_eq!(String::from_utf8_lossy(&missing.stdout), format!("2 missing {c} 0\n1 gone\n"));
    // With any file name.
    fs::copy(&last, format!("{blocks}/day.cx")).unwrap();
    assert_eq!(stdout(&arguments), format!("2 {c} 0\n1 gone\n"));
    let lines = json_lines(&[&arguments[..], &["--json"]].concat());
    assert_eq!(lines[0], json!({"ref": 2, "block_id": c.to_string(), "output": null, "series": 0}));
    let unknown = run(&["follow", "--remaps", remaps, &a.to_string(), "3"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("has 3 series, from 0"));
}
