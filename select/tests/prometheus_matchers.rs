//! Selection agrees with Prometheus, whose answers `testdata/prometheus/matchers` records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{KeysetStore, LabelSetStore};
use chronoxide_planner::Layout;
use chronoxide_select::{Index, Matcher, Operator, Searcher, Selector};
use chronoxide_testkit::captures;
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan};
use serde::Deserialize;

/// Blocks of random plans.
const PLANS: u64 = 24;

/// Set to any value: the program that records the answers is run.
const RUN_PROMETHEUS: &str = "CHRONOXIDE_PROMETHEUS_ORACLE";

#[derive(Deserialize)]
struct RecordedMatcher {
    name: String,
    op: String,
    value: String,
}

#[derive(Deserialize)]
struct Case {
    case: String,
    matchers: Vec<RecordedMatcher>,
}

#[derive(Deserialize)]
struct Answer {
    case: String,
    /// Numbers of the selected series, or `None` if Prometheus refuses the selector.
    series: Option<Vec<usize>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/prometheus/matchers")
}

fn lines<T: for<'de> Deserialize<'de>>(name: &str) -> Vec<T> {
    let text = captures::text(&folder().join(name));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Returns the cases with their matchers, or the error of a case that is refused, and the recorded answers.
fn cases() -> Vec<(Case, Result<Vec<Matcher>, String>, Answer)> {
    let (cases, answers) = (lines::<Case>("selectors.jsonl"), lines::<Answer>("answers.jsonl.zst"));
    assert_eq!(cases.len(), answers.len());
    let with_matchers = |(case, answer): (Case, Answer)| {
        assert_eq!(case.case, answer.case);
        let matchers = case.matchers.iter().map(matcher).collect();
        (case, matchers, answer)
    };
    cases.into_iter().zip(answers).map(with_matchers).collect()
}

fn matcher(recorded: &RecordedMatcher) -> Result<Matcher, String> {
    let operator = match recorded.op.as_str() {
        "=" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "=~" => Operator::Matches,
        "!~" => Operator::MatchesNot,
        other => panic!("unknown operator {other}"),
    };
    Matcher::new(recorded.name.clone(), operator, recorded.value.clone()).map_err(|error| error.to_string())
}

/// Returns blocks of the series: each layout, and random plans in both row forms.
fn blocks(series: &BTreeSet<Labelset>) -> Vec<(String, Vec<u8>)> {
    let mut store = KeysetStore::new();
    for labelset in series {
        let labels: Vec<(&str, &str)> = labelset.iter().map(|(name, value)| (&**name, &**value)).collect();
        store.insert(&labels).expect("the labels are within limits");
    }
    let sealed =
        |layout| store.seal(layout, &BlockMeta::default()).expect("the store is within the limits of a block").block;
    let mut blocks: Vec<_> = Layout::ALL.iter().map(|&layout| (format!("{layout:?}"), sealed(layout))).collect();
    for seed in 0..PLANS {
        let plan = random_plan(series, &mut Random::new(seed));
        let form = if seed % 2 == 0 { RowForm::FixedWidth } else { RowForm::BitPacked };
        let block = build(series, &plan, form, &BlockMeta::default()).expect("the plan is valid");
        blocks.push((format!("plan {seed}"), block));
    }
    blocks
}

#[test]
fn blocks_of_every_layout_select_as_prometheus() {
    let series: Vec<Labelset> = lines("series.jsonl");
    let numbers: BTreeMap<&Labelset, usize> = series.iter().zip(0..).collect();
    let cases = cases();
    let blocks = blocks(&series.iter().cloned().collect());
    let mut wrong = Vec::new();
    for (name, block) in &blocks {
        let view = BlockView::open(block).expect("sound");
        let numbers: Vec<usize> = series_in_order(&view).iter().map(|labels| numbers[labels]).collect();
        assert_eq!(numbers.len(), series.len());
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        for (case, matchers, answer) in &cases {
            let (Ok(matchers), Some(expected)) = (matchers, &answer.series) else { continue };
            let selection = searcher.select(matchers).expect("sound");
            let mut found: Vec<usize> = selection.iter().map(|series| numbers[series.0 as usize]).collect();
            found.sort_unstable();
            let count = searcher.count(matchers).expect("sound");
            if found != *expected || count != expected.len() as u64 {
                wrong.push(format!("{name}: {}: {}", case.case, difference(&series, expected, &found, count)));
            }
        }
    }
    println!("{} cases on {} blocks", cases.len(), blocks.len());
    assert!(cases.len() >= 2_000 && series.len() >= 300);
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(series: &[Labelset], expected: &[usize], found: &[usize], count: u64) -> String {
    let only = |these: &[usize], others: &[usize]| {
        let labels = these.iter().filter(|number| !others.contains(number)).map(|&number| &series[number]);
        labels.take(3).cloned().collect::<Vec<_>>()
    };
    let (lacking, surplus) = (only(expected, found), only(found, expected));
    format!(
        "{} series, and {count} counted, instead of {}; lacks {lacking:?}; has {surplus:?}",
        found.len(),
        expected.len()
    )
}

#[test]
fn selectors_as_text_match_as_prometheus() {
    let series: Vec<Labelset> = lines("series.jsonl");
    let mut wrong = Vec::new();
    for (case, matchers, answer) in cases() {
        let (Ok(matchers), Some(expected)) = (matchers, answer.series) else { continue };
        let text = matchers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let selector = Selector::parse_any(&format!("{{{text}}}")).unwrap_or_else(|error| panic!("{text}: {error}"));
        let is_selected =
            |labels: &Labelset| selector.matches_labels(labels.iter().map(|(name, value)| (&**name, &**value)));
        let found: Vec<usize> = (0..).zip(&series).filter(|(_, labels)| is_selected(labels)).map(|(n, _)| n).collect();
        if found != expected {
            let count = found.len() as u64;
            wrong.push(format!("{}: {}", case.case, difference(&series, &expected, &found, count)));
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// Regular expressions that Prometheus refuses.
const ACCEPTED_HERE_ONLY: [&str; 10] = [
    // More names of classes.
    r"\p{Letter}",
    r"\p{greek}",
    r"\p{Script=Greek}",
    r"\p{Alphabetic}",
    r"\p{IsGreek}",
    r"\p{Emoji}",
    r"\p{ASCII}",
    r"\p{Lowercase}",
    // Repetitions in repetitions, more than 1,000 together.
    "(a{100}){11}",
    "(?:a{500}){3}",
];
/// A surrogate, which matches nothing.
const REFUSED_HERE_ONLY: [&str; 1] = [r"\x{D800}"];

/// Returns true for a selector with one of these regular expressions.
fn has_pattern(case: &Case, patterns: &[&str]) -> bool {
    case.matchers.iter().any(|matcher| patterns.contains(&matcher.value.as_str()))
}

#[test]
fn selectors_are_refused_as_by_prometheus() {
    let mut wrong = Vec::new();
    let mut refused = 0;
    for (case, matchers, answer) in cases() {
        refused += u32::from(answer.series.is_none());
        let is_known_here = has_pattern(&case, &ACCEPTED_HERE_ONLY);
        let is_known_there = has_pattern(&case, &REFUSED_HERE_ONLY);
        match (matchers, answer.series) {
            (Ok(_), None) if !is_known_here => wrong.push(format!("{}: accepted", case.case)),
            (Err(error), Some(_)) if !is_known_there => wrong.push(format!("{}: refused: {error}", case.case)),
            (Ok(_), Some(_)) | (Err(_), None) if is_known_here || is_known_there => {
                wrong.push(format!("{}: no longer a difference", case.case));
            }
            _ => {}
        }
    }
    println!("{refused} selectors refused");
    assert!(refused >= 150, "{refused}");
    assert!(wrong.is_empty(), "{} selectors:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn prometheus_answers_as_recorded() {
    if std::env::var_os(RUN_PROMETHEUS).is_none() {
        println!("skipped: Prometheus is not run: {RUN_PROMETHEUS} is not set");
        return;
    }
    let output = Command::new("go")
        .args(["run", ".", "series.jsonl", "selectors.jsonl"])
        .current_dir(folder())
        .output()
        .unwrap_or_else(|error| panic!("{RUN_PROMETHEUS} is set, and go does not run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let recorded = captures::text(&folder().join("answers.jsonl.zst"));
    let written = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let differ: Vec<&str> = written.lines().zip(recorded.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    assert_eq!(written.lines().count(), recorded.lines().count());
    assert!(differ.is_empty(), "{} answers differ:\n{}", differ.len(), differ.join("\n"));
}
