//! [`Pattern`]: a regular expression that must match whole values, and the cheapest way to find these values among
//! sorted ones.

use std::fmt;

use memchr::memmem::Finder;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::meta::Regex;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, util::syntax};
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::matchers::re2::{self, PatternError};

/// Maximum number of literals that are looked up one by one.
const MAX_LITERALS: usize = 10_000;
/// Maximum memory of a DFA, and of making it. Larger expressions run on the lazy automata of `regex-automata`.
const MAX_DFA_BYTES: usize = 1 << 20;
/// Memory that the lazy automata of an expression may take: two caches of 2 MiB.
const LAZY_BYTES: usize = 4 << 20;

/// A regular expression that is anchored at both ends.
#[derive(Clone)]
pub(crate) struct Pattern {
    candidates: Candidates,
    test: Test,
}

/// Values that can match, by how they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// Only these values.
    Values(Vec<Vec<u8>>),
    /// Values with one of these prefixes, in order. No prefix begins with another.
    Prefixes(Vec<Vec<u8>>),
}

/// Test that a candidate must pass.
#[derive(Clone)]
enum Test {
    /// None: each candidate matches.
    Always,
    /// At least this many bytes follow the prefix, which is the only one.
    Longer,
    /// The value contains a literal.
    Contains(Box<Finder<'static>>),
    /// The value ends with a literal.
    EndsWith(Box<[u8]>),
    Dfa(Box<Dfa>),
    Regex(Box<Regex>),
}

impl fmt::Debug for Pattern {
    /// Without the automata, whose debug output takes many times their memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { candidates, test, .. } = self;
        f.debug_struct("Pattern").field("candidates", candidates).field("test", test).finish_non_exhaustive()
    }
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "Always",
            Self::Longer => "Longer",
            Self::Contains(_) => "Contains",
            Self::EndsWith(_) => "EndsWith",
            Self::Dfa(_) => "Dfa",
            Self::Regex(_) => "Regex",
        })
    }
}

/// A DFA and its start state for anchored searches from the beginning of a value.
#[derive(Clone)]
struct Dfa {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
}

impl Dfa {
    fn is_match(&self, value: &[u8]) -> bool {
        let mut state = self.start;
        for &byte in value {
            state = self.dfa.next_state(state, byte);
            if self.dfa.is_special_state(state) && (self.dfa.is_dead_state(state) || self.dfa.is_quit_state(state)) {
                return false;
            }
        }
        self.dfa.is_match_state(self.dfa.next_eoi_state(state))
    }
}

impl Pattern {
    /// Compiles a pattern of RE2. Simple ones, such as a prefix with anything behind it, need no automaton, which would
    /// cost more than a query.
    pub(crate) fn new(pattern: &str) -> Result<Self, PatternError> {
        let translated = &*re2::translate(pattern)?;
        // The expression without anchors has the literals.
        let (candidates, test) = match &regex_syntax::parse(&format!("(?s:{translated})")) {
            Ok(hir) => plan(hir),
            Err(_) => (Candidates::any(), None),
        };
        let test = match test.or_else(|| dfa(translated).map(|dfa| Test::Dfa(Box::new(dfa)))) {
            Some(test) => test,
            None => Test::Regex(Box::new(re2::compile_translated(translated)?)),
        };
        Ok(Self { candidates, test })
    }

    /// Returns true if the whole value matches.
    pub(crate) fn is_match(&self, value: &str) -> bool {
        let value = value.as_bytes();
        let is_candidate = match &self.candidates {
            Candidates::Values(values) => values.binary_search_by(|other| (**other).cmp(value)).is_ok(),
            Candidates::Prefixes(prefixes) => prefixes.iter().any(|prefix| value.starts_with(prefix)),
        };
        is_candidate && self.matches_candidate(value)
    }

    /// Returns the memory that the pattern takes, or can take while it is used, in bytes.
    pub(crate) fn memory_len(&self) -> usize {
        let candidates = match &self.candidates {
            Candidates::Values(all) | Candidates::Prefixes(all) => all,
        };
        let test = match &self.test {
            Test::Dfa(dfa) => dfa.dfa.memory_usage(),
            Test::Regex(regex) => LAZY_BYTES + regex.memory_usage(),
            Test::Always | Test::Longer | Test::Contains(_) | Test::EndsWith(_) => 0,
        };
        let candidates: usize = candidates.iter().map(|text| text.len() + size_of::<Vec<u8>>()).sum();
        size_of::<Self>() + candidates + test
    }

    pub(crate) fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Returns true if every candidate matches, so that none has to be tested.
    pub(crate) fn matches_all_candidates(&self) -> bool {
        matches!(self.test, Test::Always)
    }

    /// Returns the search for a literal if every value that contains it matches, and no other.
    pub(crate) fn contained(&self) -> Option<&Finder<'static>> {
        match &self.test {
            Test::Contains(finder) => Some(finder),
            _ => None,
        }
    }

    /// Returns true if a candidate matches. Bytes that are not UTF-8 match nothing.
    #[inline]
    pub(crate) fn matches_candidate(&self, value: &[u8]) -> bool {
        match &self.test {
            Test::Always => true,
            Test::Longer => match &self.candidates {
                Candidates::Prefixes(prefixes) => prefixes.iter().any(|prefix| value.len() > prefix.len()),
                Candidates::Values(_) => true,
            },
            Test::Contains(finder) => finder.find(value).is_some(),
            Test::EndsWith(suffix) => value.ends_with(suffix),
            Test::Dfa(dfa) => dfa.is_match(value),
            Test::Regex(regex) => std::str::from_utf8(value).is_ok_and(|value| regex.is_match(value)),
        }
    }
}

impl Candidates {
    fn any() -> Self {
        Self::Prefixes(vec![Vec::new()])
    }
}

/// Returns the candidates, and their test if a simple one is enough.
fn plan(hir: &Hir) -> (Candidates, Option<Test>) {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => &parts[..],
        _ => std::slice::from_ref(hir),
    };
    let kinds: Vec<&HirKind> = parts.iter().map(Hir::kind).collect();
    let literal = |kind: &HirKind| match kind {
        HirKind::Literal(literal) => Some(literal.0.to_vec()),
        _ => None,
    };
    match &*kinds {
        [any] if least_of_any(any) == Some(0) => return (Candidates::any(), Some(Test::Always)),
        [any] if least_of_any(any) == Some(1) => return (Candidates::any(), Some(Test::Longer)),
        [first, any] => {
            if let (Some(prefix), Some(least)) = (literal(first), least_of_any(any)) {
                let test = if least == 0 { Test::Always } else { Test::Longer };
                return (Candidates::Prefixes(vec![prefix]), Some(test));
            }
            if let (Some(0), Some(suffix)) = (least_of_any(first), literal(any)) {
                return (Candidates::any(), Some(Test::EndsWith(suffix.into())));
            }
        }
        [before, middle, after] if least_of_any(before) == Some(0) && least_of_any(after) == Some(0) => {
            if let Some(middle) = literal(middle) {
                let finder = Box::new(Finder::new(&middle).into_owned());
                return (Candidates::any(), Some(Test::Contains(finder)));
            }
        }
        _ => {}
    }
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_total(MAX_LITERALS).limit_class(64).limit_literal_len(256);
    let literals = extractor.extract(hir);
    let Some(found) = literals.literals() else { return (Candidates::any(), None) };
    let mut values: Vec<Vec<u8>> = found.iter().map(|literal| literal.as_bytes().to_vec()).collect();
    values.sort_unstable();
    values.dedup();
    // An exact literal is a whole match, unless the expression also looks around.
    if literals.is_exact() && hir.properties().look_set().is_empty() {
        return (Candidates::Values(values), Some(Test::Always));
    }
    values.dedup_by(|later, earlier| later.starts_with(earlier));
    (Candidates::Prefixes(values), None)
}

/// Returns the least number of characters of a repetition of any character without a maximum, if it is 0 or 1.
fn least_of_any(kind: &HirKind) -> Option<u32> {
    let HirKind::Repetition(repetition) = kind else { return None };
    let HirKind::Class(Class::Unicode(class)) = repetition.sub.kind() else { return None };
    let is_any = matches!(class.ranges(), [range] if range.start() == '\0' && range.end() == char::MAX);
    (is_any && repetition.max.is_none() && repetition.min <= 1).then_some(repetition.min)
}

/// Builds a DFA, or returns `None` if it would be too large.
fn dfa(translated: &str) -> Option<Dfa> {
    let config = dense::Config::new()
        .start_kind(regex_automata::dfa::StartKind::Anchored)
        .dfa_size_limit(Some(MAX_DFA_BYTES))
        .determinize_size_limit(Some(MAX_DFA_BYTES));
    let dfa = dense::Builder::new()
        .configure(config)
        .syntax(syntax::Config::new())
        .thompson(regex_automata::nfa::thompson::Config::new().nfa_size_limit(Some(MAX_DFA_BYTES)))
        .build(&format!(r"\A(?s:{translated})\z"))
        .ok()?;
    let start = dfa.start_state(&start::Config::new().anchored(Anchored::Yes)).ok()?;
    Some(Dfa { dfa, start })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The regular expression without any of the shortcuts.
    fn reference(text: &str) -> Regex {
        re2::compile_translated(&re2::translate(text).expect("valid")).expect("valid")
    }

    #[test]
    fn candidates_are_values_or_prefixes() {
        let values = |text: &str| pattern(text).candidates().clone();
        let list = |all: &[&str]| all.iter().map(|one| one.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(values("a|b|cd"), Candidates::Values(list(&["a", "b", "cd"])));
        assert_eq!(values("(a|b)c"), Candidates::Values(list(&["ac", "bc"])));
        assert_eq!(values("a|"), Candidates::Values(list(&["", "a"])));
        assert_eq!(values("(?i)ab"), Candidates::Values(list(&["AB", "Ab", "aB", "ab"])));
        assert_eq!(values("web-.*"), Candidates::Prefixes(list(&["web-"])));
        assert_eq!(values("web-[0-9]+x"), Candidates::Prefixes((0..10).map(|n| format!("web-{n}").into()).collect()));
        assert_eq!(values("a.*|b.*"), Candidates::Prefixes(list(&["a", "b"])));
        assert_eq!(values("a.*|ab.*"), Candidates::Prefixes(list(&["a"])));
        assert_eq!(values(".*"), Candidates::any());
    }

    #[test]
    fn folds_may_change_the_length_of_a_literal() {
        // The Kelvin sign folds to `k` and takes 3 bytes, the long s folds to `s` and takes 2.
        let folds: Vec<String> =
            ["K", "k", "\u{212a}"].iter().flat_map(|k| ["S", "s", "\u{17f}"].map(|s| format!("{k}{s}"))).collect();
        let sorted = |all: &[String]| {
            let mut all: Vec<Vec<u8>> = all.iter().map(|one| one.clone().into_bytes()).collect();
            all.sort_unstable();
            all
        };
        let dashed: Vec<String> = folds.iter().map(|fold| format!("{fold}-")).collect();
        assert_eq!(pattern("(?i)ks").candidates(), &Candidates::Values(sorted(&folds)));
        assert_eq!(pattern("(?i)ks-.*").candidates(), &Candidates::Prefixes(sorted(&dashed)));
        for text in ["(?i)ks", "(?i)KS", "(?i)\u{212a}\u{17f}"] {
            for fold in &folds {
                for (suffix, end) in [("", ""), (".*", "-\u{17f}1"), ("-[0-9]+", "-12"), ("|b", "")] {
                    let (text, value) = (format!("{text}{suffix}"), format!("{fold}{end}"));
                    let (pattern, reference) = (pattern(&text), reference(&text));
                    assert!(pattern.is_match(&value) && reference.is_match(&value), "{text} {value}");
                    let other = format!("{fold}x{end}x");
                    assert_eq!(pattern.is_match(&other), reference.is_match(&other), "{text} {other}");
                }
                for (pattern, value) in
                    [(format!(".*{text}.*"), format!("a{fold}b")), (format!(".*{text}"), format!("a{fold}"))]
                {
                    assert!(self::pattern(&pattern).is_match(&value), "{pattern} {value}");
                }
            }
        }
        // `ß` has a capital of 3 bytes, and does not fold to `ss`, neither in RE2.
        for (value, expected) in [("ß", true), ("ẞ", true), ("ss", false), ("SS", false)] {
            assert_eq!(pattern("(?i)ß").is_match(value), expected, "{value}");
        }
    }

    #[test]
    fn simple_patterns_need_no_automaton() {
        let test = |text: &str| format!("{:?}", pattern(text).test);
        for (text, expected) in [
            (".*", "Always"),
            (".+", "Longer"),
            ("web-.*", "Always"),
            ("web-.+", "Longer"),
            (".*-web", "EndsWith"),
            (".*web.*", "Contains"),
            (".*[0-9]+[a-c].*", "Dfa"),
            (r".*\pL{200}.*", "Regex"),
        ] {
            assert_eq!(test(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn shortcuts_agree_with_the_regular_expression(
            text in "(\\(\\?i\\))?([ab.é\n]|\\.\\*|\\.\\+|\\[ab\\]|\\(a\\|b\\)|\\(|b\\)|a\\?|\\||\\$|\\^|\\\\b){0,6}",
            values in prop::collection::vec("[abABé\n-]{0,5}", 1..20),
        ) {
            let Ok(pattern) = Pattern::new(&text) else { return Ok(()) };
            let reference = reference(&text);
            for value in &values {
                prop_assert_eq!(pattern.is_match(value), reference.is_match(value), "{:?} {:?}", text, value);
            }
        }
    }
}
