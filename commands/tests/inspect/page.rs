//! Pages of reports in a browser: figures, search, sorting, keyboard, accessibility and hostile text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::columns::column;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

use crate::support::{Folder, labelsets, plain_block, stdout};

const HOUR: i64 = 3_600_000_000_000;

/// Checks of a page in a browser, without those of its appearance. Fewer would mean that some did not run.
const LEAST_CHECKS: usize = 30;

/// Checks of the appearance of a page, which take most of the time.
const LEAST_APPEARANCE_CHECKS: usize = 10;

fn checks_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inspect/page")
}

/// Returns true if the browser and the packages of the checks are there. Prints why the test is skipped otherwise.
fn can_run() -> bool {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let reason = if !is_there("node") {
        "install Node.js 20 or newer"
    } else if std::env::var_os("CHROMIUM").is_none() && !browsers.into_iter().any(is_there) {
        "install Chromium"
    } else if !checks_folder().join("node_modules").exists() {
        "run `npm ci --prefix commands/tests/inspect/page`"
    } else {
        return true;
    };
    skip_or_fail("a browser", reason);
    false
}

/// Writes the page and the JSON of a report, and runs the checks. With `--appearance` in `more`, this includes the
/// appearance at two widths; if all cases are asked for, it is checked at all widths. Screenshots stay in the target
/// folder.
#[track_caller]
fn check(name: &str, inputs: &[&str], more: &[&str]) {
    let folder = Folder::new();
    let page = folder.file("page.html");
    let page = page.to_str().unwrap();
    stdout(&[&["report", "-q"], inputs, &["-o", page]].concat());
    let json = folder.write("report.json", stdout(&[&["report", "--json"], inputs].concat()));
    let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name);
    let output = Command::new("node")
        .current_dir(checks_folder())
        .args(["check.mjs", "--page", page, "--json", &json, "--screenshots"])
        .arg(&screenshots)
        .args(more)
        .args(sweep::cases(&[][..], &["--thorough"]))
        .output()
        .unwrap();
    let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {shown}");
    let count = shown.lines().find_map(|line| line.split_once(" checks, 0 failed")?.0.parse::<usize>().ok());
    let appearance = sweep::cases(usize::from(more.contains(&"--appearance")), 1);
    let least = LEAST_CHECKS + appearance * LEAST_APPEARANCE_CHECKS;
    assert!(count.is_some_and(|count| count >= least), "{name}: {shown}");
    let pictures = fs::read_dir(&screenshots).unwrap().count();
    assert!(pictures >= appearance * sweep::cases(2, 6), "widths and schemes: {pictures}");
    println!("{name}: {shown}");
}

/// Returns the series of a fleet: many metrics, and labels that multiply them.
fn fleet(seed: u64) -> Vec<Labelset> {
    let mut random = Random::new(seed);
    let mut series = Vec::new();
    for metric in 0..150 {
        for pod in 0..1 + 300 / (metric + 1) {
            for code in ["200", "404", "500"] {
                let labels = [
                    ("__name__", format!("service.requests.{metric}")),
                    ("code", code.to_owned()),
                    ("pod", format!("web-7d9f8c6b54-x2k{}{}", ["b", "c", "d", "f"][pod / 4 % 4], 2 + pod % 8)),
                    ("instance", format!("10.0.{}.{}:8080", pod % 4, pod % 200)),
                    ("region", ["eu", "us"][random.below(2)].to_owned()),
                ];
                series.push(labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
            }
        }
    }
    series
}

/// Writes a block of an hour.
fn write_hour(folder: &Folder, hour: i64, cluster: &str, series: &[Labelset]) -> String {
    let time = Some(TimeRange { start: hour * HOUR, end: (hour + 1) * HOUR });
    let external_labels = vec![("cluster".to_owned(), cluster.to_owned())];
    let series: BTreeSet<Labelset> = series.iter().cloned().collect();
    // Each seventh series begins and ends within the hour.
    let minutes = |series: usize| if series.is_multiple_of(7) { ((series / 7 % 40) as i64, 40) } else { (0, 59) };
    let times = |name, merge, of: fn((i64, i64)) -> i64| {
        let minute = |series| Some(Value::I64(hour * HOUR + of(minutes(series)) * (HOUR / 60)));
        column(name, (ValueType::I64, merge, 1), &(0..series.len()).map(minute).collect::<Vec<_>>())
    };
    let columns = vec![
        times("chronoxide.first_time", ColumnMerge::Min, |(first, _)| first),
        times("chronoxide.last_time", ColumnMerge::Max, |(_, last)| last),
    ];
    let meta = BlockMeta { time, external_labels, columns, ..BlockMeta::default() };
    folder.write(&format!("{hour}.cx"), build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap())
}

#[test]
fn a_page_of_a_block_works_in_a_browser() {
    if !can_run() {
        return;
    }
    let folder = Folder::new();
    let block = write_hour(&folder, 0, "eu", &fleet(1));
    check("block", &[&block], &[]);
}

#[test]
fn pages_of_folders_and_comparisons_work_in_a_browser() {
    if !can_run() {
        return;
    }
    let folder = Folder::new();
    let (before, after) = (fleet(1), fleet(2));
    let first = write_hour(&folder, 0, "eu", &before);
    let second = write_hour(&folder, 1, "eu", &after[..after.len() / 2]);
    write_hour(&folder, 3, "eu", &after);
    check("comparison", &[&first, &second], &["--appearance"]);
    if sweep::cases(true, false) {
        return;
    }
    check("folder", &[folder.path().to_str().unwrap()], &[]);
    write_hour(&folder, 4, "us", &after[..9]);
    check("clusters", &[folder.path().to_str().unwrap()], &[]);
    check("selected", &[&first, "--match", r#"{code="500"}"#, "--first", "3"], &[]);
}

#[test]
fn pages_of_nearly_no_series_work_in_a_browser() {
    if !can_run() {
        return;
    }
    let folder = Folder::new();
    let empty = folder.write("empty.cx", plain_block(&labelsets(&[])));
    let one = folder.write("one.cx", plain_block(&labelsets(&[&[("job", "api")]])));
    check("one-after-empty", &[&empty, &one], &[]);
    if sweep::cases(false, true) {
        check("empty", &[&empty], &[]);
        check("one", &[&one], &[]);
    }
}

#[test]
fn pages_with_queries_work_in_a_browser() {
    if !can_run() {
        return;
    }
    let folder = Folder::new();
    let block = write_hour(&folder, 0, "eu", &fleet(1));
    let dashboard = r#"{"title": "<img src=x onerror=\"window.attacked = 1\">\u202e", "panels": [
        {"title": "Errors", "targets": [{"expr": "sum by (region) (rate({\"service.requests.0\", code=~\"5..\"}[5m]))"}]},
        {"title": "All", "targets": [{"expr": "{__name__=~\"service.requests.[1-4]\"}"}]}]}"#;
    let dashboard = folder.write("<b>d.json", dashboard);
    let rules = "groups: [{name: g, rules: [{record: service.requests.7, expr: 'sum({\"service.requests.8\"})'}]}]";
    let rules = folder.write("rules.yaml", rules);
    check("queries", &[&block, "--used", &dashboard, &rules], &["--appearance", "--hostile"]);
}

#[test]
fn hostile_labels_are_shown_and_run_nothing() {
    if !can_run() {
        return;
    }
    let long = "long ".repeat(400);
    let hostile = [
        "</script><script>window.attacked = 1</script>",
        "<img src=x onerror=\"window.attacked = 1\">",
        "javascript:window.attacked=1",
        "\u{202e}reversed",
        "\u{2066}isolated\u{2069}",
        "nul \u{0} bell \u{7} escape \u{1b}[31m",
        "line\nline\r\n\u{2028}line",
        "{{script}}{{data}}",
        "]]>--><!--",
        "__proto__",
        "constructor",
        "\u{feff}\u{200b}",
        &long,
    ];
    let mut series = Vec::new();
    for (number, text) in hostile.iter().enumerate() {
        series.push(vec![("__name__", *text), (text, "value")]);
        series.push(vec![("__name__", "metric"), ("name", *text), ("number", hostile[(number + 1) % hostile.len()])]);
    }
    let series: Vec<&[(&str, &str)]> = series.iter().map(Vec::as_slice).collect();
    let folder = Folder::new();
    let block = folder.write("<b>&amp;\u{202e}.cx", plain_block(&labelsets(&series)));
    let other = folder.write("other.cx", plain_block(&labelsets(&series[..4])));
    check("hostile", &[&block], &["--appearance", "--hostile"]);
    if sweep::cases(false, true) {
        check("hostile-comparison", &[&other, &block], &["--hostile"]);
    }
}
