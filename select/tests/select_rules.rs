//! The awkward rules of matchers, each with an answer written by hand.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_select::{Index, Matcher, Operator, Searcher, Selector, select};
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan};

/// Series by the value of their label `id`. The label `v` is what the tests ask for.
const SERIES: [(&str, Option<&str>); 12] = [
    ("none", None),
    ("a", Some("a")),
    ("A", Some("A")),
    ("ab", Some("ab")),
    ("aab", Some("aab")),
    ("b", Some("b")),
    ("line break", Some("a\nb")),
    ("only line break", Some("\n")),
    ("accent", Some("é")),
    ("two characters", Some("e\u{301}")),
    ("Greek", Some("Σίσυφος")),
    ("face", Some("🦀")),
];

/// All ids but these.
fn all_but(ids: &[&'static str]) -> Vec<&'static str> {
    SERIES.iter().map(|(id, _)| *id).filter(|id| !ids.contains(id)).collect()
}

/// Asserts what matchers select, on blocks of many plans.
fn check(matchers: &[(&str, Operator, &str)], expected: &[&str]) {
    let series: BTreeSet<Labelset> = SERIES
        .iter()
        .map(|(id, value)| {
            let mut labels = BTreeMap::from([("id".to_owned(), (*id).to_owned())]);
            if let Some(value) = value {
                labels.insert("v".to_owned(), (*value).to_owned());
            }
            labels
        })
        .collect();
    let matchers: Vec<Matcher> =
        matchers.iter().map(|(name, operator, value)| Matcher::new(*name, *operator, *value).expect("valid")).collect();
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    for seed in 0..20 {
        let plan = random_plan(&series, &mut Random::new(seed));
        let block = build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid");
        let view = BlockView::open(&block).expect("sound");
        let stored = series_in_order(&view);
        let selection = select(&view, &matchers).expect("sound");
        let found: BTreeSet<&str> = selection.iter().map(|series| &*stored[series.0 as usize]["id"]).collect();
        assert_eq!(found, expected, "plan {seed}");
        let index = Index::new(&view).expect("sound");
        assert_eq!(Searcher::new(&view, &index).count(&matchers), Ok(expected.len() as u64), "plan {seed}");
    }
}

use Operator::{Equal, Matches, MatchesNot, NotEqual};

#[test]
fn no_matchers_select_all_series() {
    check(&[], &all_but(&[]));
}

#[test]
fn the_empty_value_is_that_of_an_absent_label() {
    check(&[("v", Equal, "")], &["none"]);
    check(&[("v", NotEqual, "")], &all_but(&["none"]));
    check(&[("no such label", Equal, "")], &all_but(&[]));
    check(&[("no such label", NotEqual, "")], &[]);
}

#[test]
fn a_negated_matcher_also_selects_series_without_the_label() {
    check(&[("v", NotEqual, "a")], &all_but(&["a"]));
    check(&[("v", MatchesNot, "a")], &all_but(&["a"]));
    check(&[("no such label", NotEqual, "a")], &all_but(&[]));
    check(&[("no such label", Equal, "a")], &[]);
}

#[test]
fn a_pattern_that_matches_everything_selects_series_without_the_label() {
    check(&[("v", Matches, ".*")], &all_but(&[]));
    check(&[("no such label", Matches, ".*")], &all_but(&[]));
    check(&[("v", MatchesNot, ".*")], &[]);
    check(&[("no such label", MatchesNot, ".*")], &[]);
}

#[test]
fn a_pattern_of_at_least_one_character_selects_by_presence() {
    check(&[("v", Matches, ".+")], &all_but(&["none"]));
    check(&[("v", MatchesNot, ".+")], &["none"]);
    check(&[("no such label", MatchesNot, ".+")], &all_but(&[]));
}

#[test]
fn patterns_match_whole_values() {
    check(&[("v", Matches, "a")], &["a"]);
    check(&[("v", Matches, "a|b")], &["a", "b"]);
    check(&[("v", Matches, "^a$")], &["a"]);
    check(&[("v", Matches, "b?")], &["none", "b"]);
}

#[test]
fn a_dot_matches_a_line_break() {
    check(&[("v", Matches, "a.b")], &["aab", "line break"]);
    check(&[("v", Matches, ".")], &["a", "A", "b", "only line break", "accent", "face"]);
    check(&[("v", Matches, "(?-s).")], &["a", "A", "b", "accent", "face"]);
    check(&[("v", Matches, r"a\nb")], &["line break"]);
    // Without the flag `m`, these are the ends of the value.
    check(&[("v", Matches, "a$.*")], &["a"]);
    check(&[("v", Matches, "(?m)a$.*")], &["a", "line break"]);
    check(&[("v", Equal, "a\nb")], &["line break"]);
}

#[test]
fn a_character_is_a_code_point() {
    check(&[("v", Matches, "..")], &["ab", "two characters"]);
    check(&[("v", Equal, "é")], &["accent"]);
    check(&[("v", Matches, "[é🦀]")], &["accent", "face"]);
    check(&[("v", Matches, r"\p{Greek}+")], &["Greek"]);
    // `\w` and `\d` are ASCII in RE2.
    check(&[("v", Matches, r"\w+")], &["a", "A", "ab", "aab", "b"]);
    check(&[("v", Matches, r"\W")], &["only line break", "accent", "face"]);
}

#[test]
fn an_empty_branch_matches_the_absent_label() {
    check(&[("v", Matches, "a|")], &["none", "a"]);
    check(&[("v", Matches, "|a")], &["none", "a"]);
    check(&[("v", Matches, "(a|)b?")], &["none", "a", "b", "ab"]);
    check(&[("v", MatchesNot, "a||b")], &all_but(&["none", "a", "b"]));
    check(&[("v", Matches, "()")], &["none"]);
    check(&[("v", Matches, "")], &["none"]);
    check(&[("v", MatchesNot, "")], &all_but(&["none"]));
}

#[test]
fn groups_can_ignore_case() {
    check(&[("v", Matches, "(?i)a")], &["a", "A"]);
    check(&[("v", Matches, "(?i:a)b")], &["ab"]);
    check(&[("v", Matches, "a(?i:B)")], &["ab"]);
    check(&[("v", Matches, "(?i)É")], &["accent"]);
    // Both small forms of sigma have one capital.
    check(&[("v", Matches, "(?i)ΣΊΣΥΦΟΣ")], &["Greek"]);
    check(&[("v", MatchesNot, "(?i)a|B")], &all_but(&["a", "A", "b"]));
}

#[test]
fn several_matchers_of_one_label_must_all_hold() {
    check(&[("v", Matches, "a.*"), ("v", NotEqual, "ab")], &["a", "aab", "line break"]);
    check(&[("v", Equal, "a"), ("v", Equal, "b")], &[]);
    check(&[("v", NotEqual, "a"), ("v", Matches, "|a|b")], &["none", "b"]);
    check(&[("v", Matches, ".*b"), ("id", Matches, "a+b")], &["ab", "aab"]);
}

#[test]
fn a_selector_that_selects_all_series_is_for_queries_only() {
    for text in ["{}", r#"{v=~".*"}"#, r#"{v=""}"#, r#"{v!="a"}"#] {
        assert!(text.parse::<Selector>().is_err(), "{text} changes too much");
        assert!(Selector::parse_any(text).is_ok(), "{text}");
    }
}
