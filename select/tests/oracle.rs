//! Selectors are accepted and refused as by the crate `promql-parser`, whose grammar is made from that of Prometheus.
//!
//! Differences are not tried. This crate refuses comments and a sign before a selector, and reads escapes of bytes,
//! backslashes between backticks, and regular expressions as Prometheus does. It also reads the names `anchored`,
//! `smoothed` and `or` as Prometheus does.

use std::cell::Cell;

use chronoxide_select::Selector;
use promql_parser::label::MatchOp;
use promql_parser::parser::{Expr, VectorSelector};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

const CASES: u32 = 6_000;
const WORDS: [&str; 22] = [
    "up",
    "a",
    "_",
    "a1",
    "__name__",
    "ns:up",
    ":",
    "or",
    "on",
    "sum",
    "offset",
    "by",
    "and",
    "bool",
    "inf",
    "NaN",
    "Group_Left",
    "atan2",
    "unless",
    "fill",
    "5m",
    "1",
];
const STRINGS: [&str; 8] = ["\"\"", "\"a\"", "'x'", "`b|c`", "\".*\"", "\"http.method\"", "'a+'", "\"\u{e9}\\n\""];
const OPERATORS: [&str; 4] = ["=", "!=", "=~", "!~"];
const SIGNS: [&str; 15] = ["{", "}", ",", "==", "!", "~", " ", "\n", "\t", "[5m]", "(", ")", "@", ".", "\""];

/// Matchers as name, operator and value.
type Matchers = Vec<(String, String, String)>;

fn ours(text: &str) -> Result<Matchers, String> {
    let selector: Selector = text.parse().map_err(|error| format!("{error}"))?;
    let parts = selector
        .matchers()
        .iter()
        .map(|matcher| (matcher.name().to_owned(), matcher.operator().sign().to_owned(), matcher.value().to_owned()));
    Ok(parts.collect())
}

fn theirs(text: &str) -> Result<Matchers, String> {
    // `or` and a space are one token for this parser, even if `or` is the name of a label.
    let parsed = promql_parser::parser::parse(&text.replace(' ', "\t"))?;
    let Expr::VectorSelector(VectorSelector { name, matchers, offset: None, at: None }) = parsed else {
        return Err("not a selector".to_owned());
    };
    if !matchers.or_matchers.is_empty() || matchers.matchers.iter().any(|matcher| matcher.name.is_empty()) {
        return Err("`or`, or an empty name".to_owned());
    }
    let sign = |operator: &MatchOp| match operator {
        MatchOp::Equal => "=",
        MatchOp::NotEqual => "!=",
        MatchOp::Re(_) => "=~",
        MatchOp::NotRe(_) => "!~",
    };
    let parts =
        matchers.matchers.into_iter().map(|matcher| (matcher.name, sign(&matcher.op).to_owned(), matcher.value));
    Ok(parts.chain(name.map(|name| ("__name__".to_owned(), "=".to_owned(), name))).collect())
}

fn token() -> impl Strategy<Value = &'static str> {
    prop_oneof![select(&WORDS[..]), select(&STRINGS[..]), select(&OPERATORS[..]), select(&SIGNS[..])]
}

fn matcher() -> impl Strategy<Value = Vec<&'static str>> {
    let name = prop_oneof![4 => select(&WORDS[..]), 1 => select(&STRINGS[..])];
    let parts = (name, select(&OPERATORS[..]), select(&STRINGS[..]));
    prop_oneof![
        8 => parts.prop_map(|(name, operator, value)| vec![name, operator, value]),
        1 => select(&STRINGS[..]).prop_map(|name| vec![name]),
    ]
}

prop_compose! {
    /// Tokens of a selector, or almost: the words are not all names.
    fn selector()(
        name in prop::option::of(select(&WORDS[..])),
        matchers in prop::collection::vec(matcher(), 0..4),
        comma in any::<bool>(),
    ) -> Vec<&'static str> {
        let mut tokens: Vec<_> = name.into_iter().chain(["{"]).collect();
        for (at, matcher) in matchers.iter().enumerate() {
            tokens.extend((at > 0).then_some(","));
            tokens.extend(matcher);
        }
        tokens.extend((comma && !matchers.is_empty()).then_some(","));
        tokens.push("}");
        tokens
    }
}

/// Text of a selector with some tokens replaced, inserted or removed.
fn text() -> impl Strategy<Value = String> {
    let tokens = prop_oneof![4 => selector(), 1 => prop::collection::vec(token(), 0..6)];
    let edits = prop_oneof![2 => Just(0..1), 1 => Just(1..3)]
        .prop_flat_map(|count| prop::collection::vec((any::<Index>(), 0..3, token()), count));
    (tokens, edits).prop_map(|(mut tokens, edits)| {
        for (index, edit, token) in edits {
            let at = index.index(tokens.len() + 1);
            match edit {
                0 => tokens.insert(at, token),
                1 => drop(tokens.splice(at..tokens.len().min(at + 1), [token])),
                _ => drop(tokens.drain(at..tokens.len().min(at + 1))),
            }
        }
        tokens.concat()
    })
}

#[test]
fn selectors_are_those_of_another_parser() {
    let config = ProptestConfig { failure_persistence: None, cases: CASES, ..ProptestConfig::default() };
    // The seed is fixed.
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (accepted, matching_all) = (Cell::new(0), Cell::new(0));
    let tried = runner.run(&text(), |text| {
        let (ours, theirs) = (ours(&text), theirs(&text));
        let any = Selector::parse_any(&text);
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => {
                prop_assert_eq!(ours, theirs, "{:?}", text);
                prop_assert_eq!(any.map(|any| any.matchers().len()), Ok(ours.len()), "{:?}", text);
                accepted.set(accepted.get() + 1);
            }
            (Err(_), Err(error)) => {
                if any.is_ok() {
                    prop_assert_eq!(error, "vector selector must contain at least one non-empty matcher", "{:?}", text);
                    matching_all.set(matching_all.get() + 1);
                }
            }
            _ => prop_assert!(false, "{text:?}: {ours:?}, not {theirs:?}"),
        }
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    println!("{CASES} texts, {} accepted, {} match all series", accepted.get(), matching_all.get());
    assert!(accepted.get() >= 1_000 && matching_all.get() >= 200);
}
