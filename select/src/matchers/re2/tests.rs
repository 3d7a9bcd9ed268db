//! Patterns mean the same as in RE2.

use super::*;

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    compile_translated(&translate(pattern)?)
}

/// Pattern, values that match, values that do not: by the syntax that `regexp/syntax` of Go documents.
const MATCHES: &[(&str, &[&str], &[&str])] = &[
    ("", &[""], &["a", "\n"]),
    ("a|b", &["a", "b"], &["ab", "ax", "xb", ""]),
    ("foo", &["foo"], &["foobar", "xfoo", "foo\n", "\nfoo"]),
    ("^foo$", &["foo"], &["foo\n", "xfoo"]),
    (".*", &["", "a", "a\nb", "\n"], &[]),
    (".+", &["a", "\n"], &[""]),
    ("a.b", &["a\nb", "a\u{e9}b"], &["ab"]),
    ("(?-s)a.b", &["axb"], &["a\nb"]),
    ("(?-s:.)b", &["xb"], &["\nb"]),
    ("(?m)a$.^b", &["a\nb"], &["ab"]),
    ("[^a]", &["b", "\n"], &["a", ""]),
    (r"\d+", &["019"], &["\u{661}", "a"]),
    (r"\D", &["a", "\u{661}"], &["1"]),
    (r"\w+", &["aZ_9"], &["\u{e9}", "-"]),
    (r"\W", &["\u{e9}", "-"], &["a"]),
    (r"\s", &[" ", "\t", "\n", "\u{c}", "\r"], &["\u{b}", "\u{a0}"]),
    (r"[\d.]+", &["1.2"], &["a", "\u{661}"]),
    (r"[^\D]", &["1"], &["a", "\u{661}"]),
    (r"[\W]", &["\u{e9}"], &["a"]),
    (r"[^\W\d]", &["a", "_"], &["1", "-"]),
    (r"\ba\b.*", &["a", "a b", "a\u{e9}"], &["ab"]),
    ("a{2}", &["aa"], &["a", "aaa", "a{2}"]),
    ("a{2,}", &["aa", "aaa"], &["a"]),
    ("a{0,1}", &["", "a"], &["aa"]),
    ("a{,2}", &["a{,2}"], &["a", "aa", ""]),
    ("a{b}c", &["a{b}c"], &["ac"]),
    ("a{ 2 }", &["a{ 2 }"], &["aa"]),
    ("a{02}", &["a{02}"], &["aa"]),
    ("{}", &["{}"], &[""]),
    ("a{", &["a{"], &["a"]),
    ("a}]", &["a}]"], &[]),
    ("a*?b+?c??d{1,2}?", &["bd", "aabbcdd"], &["b"]),
    ("[[]", &["["], &["]"]),
    ("[]a]", &["]", "a"], &["[", ""]),
    ("[^]a]", &["b"], &["]", "a"]),
    ("[a&&b]", &["a", "&", "b"], &["c"]),
    ("[a~~b]", &["a", "~", "b"], &[]),
    ("[+--]", &["+", ",", "-"], &["*", "."]),
    ("[a-]", &["a", "-"], &["b"]),
    ("[-a]", &["a", "-"], &["b"]),
    ("[a-c-e]", &["a", "b", "c", "-", "e"], &["d"]),
    ("[[:alpha:]_]+", &["aZ_"], &["1", ":", "\u{e9}"]),
    ("[[:^digit:]]", &["a"], &["1"]),
    ("[[:alpha]", &["[", ":", "a"], &["b", "]"]),
    (r"[\]\\^-]+", &[r"]\^-"], &["a"]),
    (r"[\x41-\x{43}\n]", &["A", "C", "\n"], &["D"]),
    (r"\x41\x{1F980}", &["A\u{1f980}"], &[]),
    (r"\101\0", &["A\0"], &[]),
    (r"\.\*\-\/\<\>\_\ ", &[".*-/<>_ "], &[]),
    (r"\<a\>", &["<a>"], &["a"]),
    (r"\Qa.b*\E+", &["a.b*", "a.b**"], &["axb"]),
    (r"\Qa.b", &["a.b"], &["axb"]),
    (r"\pL\p{Greek}\PL", &["a\u{3b1}1"], &["1\u{3b1}1"]),
    (r"\p{^Greek}[\P{^Greek}]", &["a\u{3b1}"], &["\u{3b1}\u{3b1}", "aa"]),
    (r"\pN{2}", &["12"], &["1"]),
    ("(?i)canary", &["Canary", "CANARY"], &["canarx"]),
    ("(?i:A)b", &["ab", "Ab"], &["aB"]),
    ("(?P<n>a)(?<m>b)(?:c)", &["abc"], &[]),
    ("(?P<n>a)(?P<n>b)", &["ab"], &["a"]),
    ("(?P<1>a)", &["a"], &[]),
    ("(?)a", &["a"], &["A"]),
    ("(?ii)a", &["a", "A"], &[]),
    ("(?i-i)a", &["a"], &["A"]),
    ("(?is-is:A.)", &["Ab"], &["ab", "A\n"]),
    ("a(?)*", &["", "aa"], &["A"]),
    ("a(?i)*", &["", "aa"], &["A"]),
    ("a(?i)(?s)+?b", &["aab", "aB"], &["Ab"]),
    ("a*(?i)*", &["", "aa"], &["A"]),
    (r"\Aa\z", &["a"], &["ab"]),
    ("a # b", &["a # b"], &["a"]),
    ("()|a", &["", "a"], &[]),
];

#[test]
fn patterns_match_as_they_do_in_prometheus() {
    for (pattern, yes, no) in MATCHES {
        let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for value in *yes {
            assert!(regex.is_match(value), "{pattern} must match {value:?}");
        }
        for value in *no {
            assert!(!regex.is_match(value), "{pattern} must not match {value:?}");
        }
    }
}

#[test]
fn what_prometheus_refuses_is_refused() {
    for (pattern, message) in [
        ("a(", "unclosed group"),
        ("a)|(b", "unopened group"),
        ("*", "repetition operator missing expression"),
        ("a**", "repeated repetition operator"),
        ("a{2}{3}", "repeated repetition operator"),
        ("a{1001}", "invalid repetition: use at most 1000, with the minimum not above the maximum"),
        ("a{3,2}", "invalid repetition: use at most 1000, with the minimum not above the maximum"),
        ("[a", "missing ] of a character class"),
        ("[", "missing ] of a character class"),
        ("[]", "missing ] of a character class"),
        ("[b-a]", "invalid character range: the end is before the start"),
        ("[[:letter:]]", "unknown character class [:letter:]"),
        (r"\", "trailing backslash"),
        (r"\1", r"unknown escape \1 in a regular expression"),
        (r"\y", r"unknown escape \y in a regular expression"),
        (r"\Z", r"unknown escape \Z in a regular expression"),
        (r"[\b]", r"unknown escape \b in a regular expression"),
        (r"\x4", r"unknown escape \x in a regular expression"),
        (r"\x{110000}", r"unknown escape \x in a regular expression"),
        (r"\p{", r"unknown escape \p in a regular expression"),
        ("(?x)a b", "unknown flag x; expected i, m, s or U"),
        ("(?-)a", "unknown flag ); expected i, m, s or U"),
        ("(?--i)a", "unknown flag -; expected i, m, s or U"),
        ("(?i", "missing ) of flags"),
        ("(?i)*", "repetition operator missing expression"),
        ("((?)?:a)", "unrecognized flag"),
        ("((?i)?:a)", "unrecognized flag"),
        ("(?P=n)", "invalid group name: use ASCII letters, digits and _, as in (?P<name>a)"),
        ("(?P<>a)", "invalid group name: use ASCII letters, digits and _, as in (?P<name>a)"),
        ("(?<\u{e9}>a)", "invalid group name: use ASCII letters, digits and _, as in (?P<name>a)"),
        ("(?=a)", "unknown flag =; expected i, m, s or U"),
        (r"\p{Klingon}", "Unicode property not found"),
    ] {
        assert_eq!(
            compile(pattern).map(|_| ()).map_err(|error| error.to_string()),
            Err(message.to_owned()),
            "{pattern}"
        );
    }
}

#[test]
fn what_compiles_to_too_much_is_refused() {
    let error = compile("((a{100}){100}){1000}").unwrap_err();
    assert!(error.to_string().starts_with("compiled it would take more than "), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever the text, what stands between `\Q` and `\E` matches itself and nothing longer.
    #[test]
    fn verbatim_text_matches_itself(text in "(?s).{0,20}") {
        proptest::prop_assume!(!text.contains(r"\E") && !text.ends_with('\\'));
        let regex = compile(&format!(r"\Q{text}\E")).unwrap();
        let longer = text.clone() + "x";
        proptest::prop_assert!(regex.is_match(&text));
        proptest::prop_assert!(!regex.is_match(&longer));
    }

    /// No pattern makes the translation itself fail otherwise than by an error.
    #[test]
    fn patterns_of_any_kind_end(pattern in r"[\[\]\\(){}a-c^$.*+?|,:&~0-9dwsbpPQE-]{0,24}") {
        let translated = translate(&pattern);
        proptest::prop_assert!(translated.is_ok() || compile(&pattern).is_err());
    }
}

/// A reader that looked at the rest of the pattern for each brace and bracket would take minutes.
#[test]
fn the_time_of_translating_grows_with_the_length() {
    let length = 1 << 20;
    assert_eq!(translate(&"{".repeat(length)).map(|text| text.len()), Ok(2 * length));
    for bracket in ["[", "[:"] {
        let class = format!("[{}x]", bracket.repeat(length));
        assert!(translate(&class).is_ok_and(|text| text.len() > length), "{bracket}");
    }
}
