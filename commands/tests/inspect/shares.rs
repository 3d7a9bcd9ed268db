//! Series and bytes by the value of a label.

use std::collections::BTreeSet;
use std::fs;

use chronoxide_testkit::plan::Labelset;
use serde_json::{Value, json};

use crate::support::{Folder, assert_exit, broken, labelsets, plain_block, run, stdout};

/// Returns `count` series of a team, with pods of their own whose names are as long as those of other teams.
fn of_team(team: &str, count: u32) -> BTreeSet<Labelset> {
    let labels = |number: u32| {
        let pairs = [("__name__", "up".to_owned()), ("pod", format!("{team}-{number:03}")), ("team", team.to_owned())];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    };
    (0..count).map(labels).collect()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn equal_teams_have_equal_bytes() {
    let folder = Folder::new();
    let series: BTreeSet<Labelset> = ["blue", "pink"].iter().flat_map(|team| of_team(team, 20)).collect();
    let path = folder.write("a.cx", plain_block(&series));
    let bytes = fs::metadata(&path).unwrap().len();
    let expected = format!(
        "\
team: 2 values, 40 series, {}
         series                    bytes
             20   50.0%            {half}   50.0%  blue
             20   50.0%            {half}   50.0%  pink
",
        chronoxide_text::human::bytes(bytes),
        half = chronoxide_text::human::count(bytes.div_ceil(2)),
    );
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&stdout(&["shares", "team", &path])), words(&expected));
    // All pods are alike.
    let pods = lines(&stdout(&["shares", "pod", &path, "--json", "--first", "0"]));
    assert_eq!(pods[0], json!({ "type": "total", "label": "pod", "values": 40, "series": 40, "bytes": bytes }));
    assert_eq!(pods.len(), 41);
    let alike = |pod: &Value| pod["series"] == 1 && (pod["bytes"].as_f64().unwrap() - bytes as f64 / 40.0).abs() < 1e-6;
    assert!(pods[1..].iter().all(alike), "{pods:?}");
}

#[test]
fn blocks_of_a_folder_are_added_and_series_counted_once() {
    let folder = Folder::new();
    let mut monday: BTreeSet<Labelset> = of_team("blue", 30);
    monday.extend(labelsets(&[&[("__name__", "up")], &[("__name__", "down")]]));
    let tuesday: BTreeSet<Labelset> = of_team("blue", 40).into_iter().chain(of_team("pink", 5)).collect();
    let paths = [folder.write("a.cx", plain_block(&monday)), folder.write("b.cx", plain_block(&tuesday))];
    let bytes: u64 = paths.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    let found = lines(&stdout(&["shares", "team", folder.path().to_str().unwrap(), "--json"]));
    assert_eq!(found[0], json!({ "type": "total", "label": "team", "values": 2, "series": 47, "bytes": bytes }));
    let series = |value: Value| found[1..].iter().find(|line| line["value"] == value).unwrap()["series"].clone();
    assert_eq!((series(json!("blue")), series(json!("pink")), series(Value::Null)), (json!(40), json!(5), json!(2)));
    assert_eq!(found[1]["value"], "blue", "the most bytes first");
    let sum: f64 = found[1..].iter().map(|line| line["bytes"].as_f64().unwrap()).sum();
    assert!((sum - bytes as f64).abs() < 1e-6, "{sum} of {bytes} bytes");
    let first = stdout(&["shares", "team", folder.path().to_str().unwrap(), "--first", "1"]);
    assert_eq!(first.lines().last(), Some("  ... 2 more"));
}

#[test]
fn labels_that_no_block_has_and_damaged_blocks_are_told() {
    let folder = Folder::new();
    let path = folder.write("a.cx", plain_block(&of_team("blue", 3)));
    let bytes = fs::metadata(&path).unwrap().len();
    let output = run(&["shares", "taem", &path, "--json"]);
    assert_exit(&output, 5, r#"no block has a label "taem"; did you mean "team"?"#);
    let expected = json!({ "type": "share", "value": null, "series": 3, "bytes": bytes as f64 });
    assert_eq!(lines(&String::from_utf8(output.stdout).unwrap())[1], expected);
    folder.write("b.cx", fs::read(broken("chunk-checksum")).unwrap());
    let output = run(&["shares", "team", folder.path().to_str().unwrap(), "--json"]);
    assert_exit(&output, 3, "b.cx: corrupt block");
    let expected = json!({ "type": "share", "value": "blue", "series": 3, "bytes": bytes as f64 });
    assert_eq!(lines(&String::from_utf8(output.stdout).unwrap())[1..], [expected]);
    let output = run(&["shares", "team", &broken("chunk-checksum")]);
    assert_exit(&output, 3, "error: ");
    assert_eq!(output.stdout, b"");
}
