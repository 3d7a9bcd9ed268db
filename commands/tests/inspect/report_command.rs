//! The command `report`: inputs, outputs, messages and exit codes.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::requirement::skip_or_fail;
use serde_json::Value;

use crate::support::{Folder, assert_exit, broken, command, golden, labelsets, plain_block, random_block, run, stdout};

/// Returns the figures of the command.
#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[&["report", "--json"], arguments].concat())).unwrap()
}

/// Returns the figures that a page embeds.
#[track_caller]
fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="report">"#).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_page_has_the_figures_of_the_json_and_its_security_policy() {
    let folder = Folder::new();
    let block = folder.write("a.cx", random_block(3).1);
    let target = folder.file("page.html");
    let target = target.to_str().unwrap();
    assert_eq!(stdout(&["report", "-q", &block, "-o", target]), "");
    let page = fs::read_to_string(target).unwrap();
    assert_eq!(embedded(&page), json(&[&block]));
    assert_eq!(stdout(&["report", &block]), page, "standard output");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{}", &page[..600]);
    assert!(!page.contains("{{") && page.len() < 2_000_000, "{}", page.len());
}

#[test]
fn files_are_replaced_only_by_force_and_never_an_input() {
    let folder = Folder::new();
    let block = folder.write("a.cx", random_block(1).1);
    let target = folder.write("page.html", "old");
    assert_exit(&run(&["report", &block, "-o", &target]), 1, "--force");
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_exit(&run(&["report", &block, "-o", &target, "--force", "--json"]), 0, "");
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&target).unwrap()).unwrap(), json(&[&block]));
    let before = fs::read(&block).unwrap();
    assert_exit(&run(&["report", &block, "-o", &block, "--force"]), 2, "is an input");
    assert_exit(&run(&["report", &target, &block, "-o", &block, "--force"]), 2, "is an input");
    assert_exit(&run(&["report", &block, "-o", folder.path().to_str().unwrap()]), 2, "not a folder");
    let folder_path = folder.path().to_str().unwrap();
    assert_exit(&run(&["report", folder_path, "-o", &block, "--force"]), 2, "is an input");
    let input = fs::File::open(&block).unwrap();
    let output = command().args(["report", "-", "-o", &block, "--force"]).stdin(input).output().unwrap();
    assert_exit(&output, 2, "is an input");
    assert_exit(&run(&["report", &block, "--json", "--first", "1001"]), 2, "1001");
    assert_eq!(fs::read(&block).unwrap(), before);
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.cx", "page.html"]);
}

#[test]
fn a_block_is_read_from_standard_input_once() {
    let (_, block) = random_block(5);
    let mut child =
        command().args(["report", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&block).unwrap();
    let found: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    let folder = Folder::new();
    let expected = json(&[&folder.write("a.cx", &block)]);
    assert_eq!(found["totals"], expected["totals"]);
    for suggestion in found["suggestions"].as_array().unwrap() {
        assert!(suggestion["command"].as_str().unwrap().starts_with("chronoxide-compact block.cx -o "), "{suggestion}");
    }
    assert_exit(&run(&["report", "-", "-", "--json"]), 2, "standard input can be read only once");
}

#[test]
fn a_folder_is_its_readable_live_blocks() {
    let folder = Folder::new();
    let path = folder.path().to_str().unwrap();
    assert_exit(&run(&["report", path, "--json"]), 2, "nothing to report");
    let (a, b) = (random_block(1), random_block(2));
    folder.write("a.cx", a.1);
    folder.write("b.cx", b.1);
    let figures = json(&[path]);
    let union = a.0.union(&b.0).count();
    assert_eq!((&figures["kind"], &figures["totals"]["blocks"]), (&"blocks".into(), &2.into()));
    assert_eq!(figures["totals"]["series"], union);
    let counted: Value = serde_json::from_str(&stdout(&["cardinality", "--json", path])).unwrap();
    for field in ["series", "label_names", "label_pairs", "labels", "keysets"] {
        assert_eq!(figures["totals"][field], counted[field], "{field}");
    }
    folder.write("c.cx", fs::read(broken("chunk-checksum")).unwrap());
    let output = run(&["report", path, "--json"]);
    assert_exit(&output, 3, "c.cx");
    let partial: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(partial["totals"]["series"], union);
    assert_eq!(partial["skipped"], serde_json::json!([folder.file("c.cx").to_str().unwrap()]));
    assert_eq!(figures["skipped"], serde_json::json!([]));
}

#[test]
fn damage_and_limits_are_errors_that_name_the_block() {
    let folder = Folder::new();
    let block = folder.write("a.cx", random_block(1).1);
    let missing = folder.file("missing.cx");
    assert_exit(&run(&["report", missing.to_str().unwrap(), "--json"]), 1, "missing.cx");
    let mut damaged = random_block(2).1;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let damaged = folder.write("damaged.cx", damaged);
    for arguments in [vec!["report", &damaged], vec!["report", &block, &damaged], vec!["report", &damaged, &block]] {
        let output = run(&arguments);
        assert_exit(&output, 3, "damaged.cx");
        assert_eq!(output.stdout, b"", "{arguments:?}");
    }
    let limited = ["report", &block, "--match", "up", "--json", "--memory-limit", "1KiB"];
    assert_exit(&run(&limited), 2, "--memory-limit");
}

#[test]
fn a_block_that_cannot_be_merged_is_named_once() {
    let folder = Folder::new();
    folder.write("a.cx", random_block(1).1);
    let meta = BlockMeta { policy: LabelPolicy::new(100, 100).unwrap(), ..BlockMeta::default() };
    folder.write("b.cx", build(&random_block(2).0, &Plan::default(), RowForm::BitPacked, &meta).unwrap());
    let output = run(&["report", folder.path().to_str().unwrap(), "--json"]);
    assert_exit(&output, 2, "label policy");
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((message.matches(".cx").count(), message.contains("input 2")), (1, false), "{message}");
}

#[test]
fn two_inputs_are_compared_and_three_are_too_many() {
    let folder = Folder::new();
    let (a, b) = (random_block(1), random_block(2));
    let paths = [folder.write("a.cx", a.1), folder.write("b.cx", b.1)];
    let figures = json(&[&paths[0], &paths[1]]);
    assert_eq!(figures["kind"], "comparison");
    assert_eq!(figures["inputs"], serde_json::json!(paths));
    assert_eq!(figures["totals"]["series"], b.0.len());
    assert_eq!(figures["comparison"]["gone"], a.0.difference(&b.0).count());
    assert_eq!(figures["comparison"]["came"], b.0.difference(&a.0).count());
    assert_exit(&run(&["report", &paths[0], &paths[1], &paths[0], "--json"]), 2, "unexpected argument");
}

#[test]
fn commands_of_selected_series_and_odd_paths_do_what_they_say() {
    let folder = Folder::new();
    let codes = ["200", "404", "500"];
    let series = codes.map(|code| [("__name__", "requests"), ("code", code), ("job", "api")]);
    let other = [("__name__", "requests"), ("job", "db")];
    let series: Vec<&[(&str, &str)]> = series.iter().map(|labels| &labels[..]).chain([&other[..]]).collect();
    folder.write("-dash.cx", plain_block(&labelsets(&series)));
    let output = command()
        .current_dir(folder.path())
        .args(["report", "--json", "--match", r#"{job="api"}"#, "--", "-dash.cx"])
        .output()
        .unwrap();
    assert_exit(&output, 0, "");
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let suggestions = figures["suggestions"].as_array().unwrap();
    assert_eq!((suggestions.len(), &suggestions[0]["remains"]), (1, &1.into()));
    for suggestion in suggestions {
        let words = shlex::split(suggestion["command"].as_str().unwrap()).unwrap();
        assert_eq!(words[..6], ["chronoxide-compact", "./-dash.cx", "-o", "smaller.cx", "--keep", r#"{job="api"}"#]);
    }
}

#[test]
fn long_values_are_cut() {
    let long = "é".repeat(500);
    let series = labelsets(&[&[("__name__", "up"), ("text", &long)]]);
    let folder = Folder::new();
    let figures = json(&[&folder.write("a.cx", plain_block(&series))]);
    let shown = format!("{}…", "é".repeat(128));
    assert_eq!(figures["labels"][1]["top"][0]["value"], shown);
    assert_eq!(figures["metrics"][0]["values"][0]["value"], shown);
    assert_eq!(figures["labels"][1]["value_bytes"], 1_000);
}

#[test]
fn a_terminal_gets_no_page() {
    let block = golden("one-series.cx");
    let inspect = env!("CARGO_BIN_EXE_chronoxide-inspect");
    let line = format!("{inspect} report {block}");
    let Ok(output) = std::process::Command::new("script").args(["-qec", &line, "/dev/null"]).output() else {
        return skip_or_fail("script", "it cannot be run");
    };
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("-o page.html") && !shown.contains("<html"), "{shown}");
    assert_eq!(output.status.code(), Some(2));
}
