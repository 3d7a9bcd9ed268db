//! Selectors select what Prometheus says they do.

use std::collections::BTreeMap;

use chronoxide_format::policy::LabelPolicy;
use chronoxide_select::{Operator, Selector};
use proptest::prelude::*;

type Labels = &'static [(&'static str, &'static str)];

const UP: Labels = &[("__name__", "up"), ("job", "api"), ("env", "prod")];
const DOWN: Labels = &[("__name__", "down"), ("job", "db")];
const NEWLINE: Labels = &[("__name__", "up"), ("job", "a\nb")];
const DOTTED: Labels = &[("__name__", "http.server.duration"), ("http.method", "GET")];
const NAMELESS: Labels = &[("job", "api")];
const ALL: [Labels; 5] = [UP, DOWN, NEWLINE, DOTTED, NAMELESS];

fn selector(text: &str) -> Selector {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Written by hand from <https://prometheus.io/docs/prometheus/latest/querying/basics/>.
#[test]
fn selectors_select_what_prometheus_documents() {
    let cases: &[(&str, &[Labels])] = &[
        ("up", &[UP, NEWLINE]),
        (" up { } ", &[UP, NEWLINE]),
        (r#"{__name__="up"}"#, &[UP, NEWLINE]),
        (r#"{"up"}"#, &[UP, NEWLINE]),
        (r#"{"up",job="api"}"#, &[UP]),
        (r#"up{job="api"}"#, &[UP]),
        (r#"up{job="api",}"#, &[UP]),
        (r#"up{job='api'}"#, &[UP]),
        ("up{job=`api`}", &[UP]),
        // A label that is absent has the empty value.
        (r#"up{env=""}"#, &[NEWLINE]),
        (r#"{job="api",env=""}"#, &[NAMELESS]),
        (r#"{job="api",env!=""}"#, &[UP]),
        (r#"{env!=""}"#, &[UP]),
        (r#"{job!="",env!="prod"}"#, &[DOWN, NEWLINE, NAMELESS]),
        (r#"{job="api",env=~"|prod"}"#, &[UP, NAMELESS]),
        (r#"{job="api",env=~".*"}"#, &[UP, NAMELESS]),
        (r#"{job="api",env=~".+"}"#, &[UP]),
        (r#"{job="api",env!~".+"}"#, &[NAMELESS]),
        (r#"{job="api",other!~"x"}"#, &[UP, NAMELESS]),
        (r#"{__name__!="",env=""}"#, &[DOWN, NEWLINE, DOTTED]),
        // Regular expressions must match the whole value.
        (r#"{job=~"ap"}"#, &[]),
        (r#"{job=~"ap."}"#, &[UP, NAMELESS]),
        (r#"{job=~"a|b"}"#, &[]),
        (r#"{job=~"api|db"}"#, &[UP, DOWN, NAMELESS]),
        (r#"{job=~"(?i)API"}"#, &[UP, NAMELESS]),
        (r#"{__name__=~"u.*|do.*"}"#, &[UP, DOWN, NEWLINE]),
        (r#"{job!="",job!~"a.*"}"#, &[DOWN]),
        // A dot matches a newline.
        (r#"{job=~"a.b"}"#, &[NEWLINE]),
        (r#"{job="a\nb"}"#, &[NEWLINE]),
        // Regular expressions in strings: backslashes twice, or backticks.
        (r#"{__name__=~"\\w+\\.\\w+\\.\\w+"}"#, &[DOTTED]),
        (r"{__name__=~`\w+\.\w+\.\w+`}", &[DOTTED]),
        (r"{__name__=~`\Qhttp.server.duration\E`}", &[DOTTED]),
        // Names in quotes.
        (r#"{"http.method"="GET"}"#, &[DOTTED]),
        (r#"{"http.server.duration","http.method"=~"G.T"}"#, &[DOTTED]),
        (r#"{"http.method"!="",job=""}"#, &[DOTTED]),
        // Several matchers of a label must all hold.
        (r#"{job=~"a.*",job=~".*i"}"#, &[UP, NAMELESS]),
        (r#"{job="api",job="db"}"#, &[]),
        // Words of the language may be names.
        (r#"{job="api",on!="x",or=""}"#, &[UP, NAMELESS]),
        (r#"{job="api",or ="",On=""}"#, &[UP, NAMELESS]),
        ("sum", &[]),
        ("offset", &[]),
        ("anchored", &[]),
    ];
    for (text, expected) in cases {
        let selector = selector(text);
        let selected: Vec<Labels> =
            ALL.into_iter().filter(|labels| selector.matches_labels(labels.iter().copied())).collect();
        assert_eq!(selected, *expected, "{text}");
    }
}

#[test]
fn strings_are_those_of_prometheus() {
    for (text, value) in [
        (r#"{a="\xe2\x82\xac"}"#, "\u{20ac}"),
        (r#"{a="\342\202\254"}"#, "\u{20ac}"),
        (r#"{a='"'}"#, "\""),
        (r"{a=`\d`}", r"\d"),
        ("{a=\"\u{1f980}\"}", "\u{1f980}"),
    ] {
        assert!(selector(text).matches_labels([("a", value)]), "{text}");
    }
}

#[test]
fn matchers_say_what_they_ask_for() {
    let selector = selector(r#"up{"http.method"!="GET",pod=~`web-\d+`}"#);
    let asked: Vec<_> =
        (selector.matchers().iter()).map(|asked| (asked.name(), asked.operator(), asked.value())).collect();
    assert_eq!(
        asked,
        [
            ("http.method", Operator::NotEqual, "GET"),
            ("pod", Operator::Matches, r"web-\d+"),
            ("__name__", Operator::Equal, "up")
        ]
    );
    assert_eq!(selector.to_string(), r#"{"http.method"!="GET",pod=~"web-\\d+",__name__="up"}"#);
    assert!(selector.matchers()[1].matches("web-7"));
    assert!(!selector.matchers()[1].matches(""));
}

#[test]
fn invalid_selectors_are_refused_with_reason_and_place() {
    let no_selector = "is not allowed in a selector: expected a metric name or matchers in braces";
    let matches_all = "every matcher matches the empty value, so the selector would match series without these labels: add a \
                       matcher that requires a value, or __name__!=\"\" to match all series";
    let empty = "empty selector: expected one such as up{job=\"api\"} or {pod=~\"canary-.*\"}, at character 1";
    let other_text = "not a selector: expected a metric name, matchers in braces and separated by commas, or both";
    let too_many = format!("{{{}}}", r#""up","#.repeat(16_385));
    for (text, message) in [
        (&*too_many, "more than 16384 matchers, at character 81922"),
        ("", empty),
        ("  ", empty),
        ("{}", matches_all),
        (r#"{job=~".*"}"#, matches_all),
        (r#"{job!="api"}"#, matches_all),
        (r#"{job!~"api",env=""}"#, matches_all),
        ("sum(up)", &format!("a function or anything in parentheses {no_selector}, at character 4")),
        ("(up)", &format!("a function or anything in parentheses {no_selector}, at character 1")),
        ("up[5m]", &format!("a range {no_selector}, at character 3")),
        ("up offset 5m", "`offset` and `@` are not allowed in a selector"),
        ("up @ 5", "`offset` and `@` are not allowed in a selector, at character 4"),
        ("+up", &format!("an operator {no_selector}, at character 1")),
        ("-up", &format!("an operator {no_selector}, at character 1")),
        ("up or down", &format!("an operator {no_selector}")),
        ("up == 1", &format!("an operator {no_selector}")),
        ("up # all", &format!("a comment {no_selector}, at character 4")),
        ("\"up\"", &format!("a string or a number alone {no_selector}")),
        ("1", &format!("a string or a number alone {no_selector}")),
        ("5m", &format!("a string or a number alone {no_selector}")),
        ("NaN", &format!("a string or a number alone {no_selector}")),
        ("sum by (job) (up)", &format!("a function or anything in parentheses {no_selector}, at character 8")),
        (r#"{a="b" or c="d"}"#, "`or` between matchers is not supported: use two selectors"),
        (r#"{a="b"OR c="d"}"#, "`or` between matchers is not supported: use two selectors"),
        (r#"{""="b"}"#, "label name is empty"),
        ("on", other_text),
        ("Group_Left{}", other_text),
        ("up}", other_text),
        ("{,}", other_text),
        (r#"{1a="b"}"#, other_text),
        (r#"{a="b" "c"}"#, other_text),
        (r#"{a=="b"}"#, "invalid label matcher, expected label matching operator after 'a'"),
        ("{a}", "invalid label matcher, expected label matching operator after 'a'"),
        ("{", "unexpected end of input inside braces"),
        ("{a", "unexpected end of input inside braces"),
        ("{a=", "unexpected end of input inside braces"),
        (r#"{a="b","#, "unexpected end of input inside braces"),
        (r#"{"é",a:b="c"}"#, "character ':' needs quotes: write the name as {\"name\"}, at character 7"),
        (r#"up{"down"}"#, "metric name must not be set twice: 'up' or 'down'"),
        ("up down", other_text),
        (r#"{a="b"}{c="d"}"#, other_text),
        (r#"{a="b" c="d"}"#, other_text),
        (r#"{a="b",,c="d"}"#, other_text),
        (r#"{a="b""#, "unexpected end of input inside braces"),
        ("{a=b}", "unexpected identifier 'b' in label matching, expected string"),
        (r#"up{__name__="down"}"#, "metric name must not be set twice: 'up' or 'down'"),
        (r#"{a="b}"#, "unterminated string, at character 4"),
        ("{a=\"\u{e9}\",b=\"\\d\"}", r"unknown escape \d: write a backslash as \\, or use backticks, at character 10"),
        (r#"{a="\xff"}"#, "escapes of the string are not valid UTF-8, at character 4"),
        (r#"{a=~"b("}"#, "invalid regular expression: unclosed group, at character 5"),
        (r#"{a=~"b)|(c"}"#, "invalid regular expression: unopened group, at character 5"),
        (r#"{a!~"[b"}"#, "invalid regular expression: missing ] of a character class, at character 5"),
        ("http.method", "character '.' needs quotes: write the name as {\"name\"}, at character 5"),
    ] {
        let error = text.parse::<Selector>().map(|selector| selector.to_string()).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.text(), text);
    }
}

#[test]
fn the_time_of_parsing_grows_with_the_length() {
    let text = format!("{{{}}}", r#"name="value","#.repeat(16_384));
    assert_eq!(selector(&text).matchers().len(), 16_384);
    // A parser that compared each character with all others would take hours.
    let text = format!("up {}", " or up".repeat(1 << 20));
    let error = text.parse::<Selector>().expect_err("operators are refused");
    assert_eq!(
        error.to_string(),
        "an operator is not allowed in a selector: expected a metric name or matchers in braces"
    );
}

#[test]
fn white_space_is_that_of_prometheus() {
    assert!("\tup \r\n".parse::<Selector>().is_ok());
    assert!("up\u{c}".parse::<Selector>().is_err(), "a form feed");
}

#[test]
fn a_policy_cuts_what_selectors_compare_with() {
    let policy = LabelPolicy::new(18, 18).unwrap();
    let long = "a value that is longer than eighteen bytes";
    let text = format!("{{a_label_name_of_more_than_eighteen_bytes={long:?},b=~{long:?}}}");
    let (name, value) = (policy.name("a_label_name_of_more_than_eighteen_bytes"), policy.value(long));
    let stored = [(&*name, &*value), ("b", long)];
    assert!(!selector(&text).matches_labels(stored));
    assert!(selector(&text).under(&policy).matches_labels(stored));
    assert!(!selector(&text).under(&policy).matches_labels([(&*name, "x"), ("b", long)]));
}

#[test]
fn a_regular_expression_over_many_values_is_fine() {
    let selector = selector(r#"{pod=~"web-(canary|blue)-[0-9a-f]{8}-.*"}"#);
    let values = (0..300_000_u32)
        .map(|number| format!("web-{}-{number:08x}-{number}", if number % 3 == 0 { "blue" } else { "green" }));
    let matcher = &selector.matchers()[0];
    assert_eq!(values.filter(|value| matcher.matches(value)).count(), 100_000);
}

/// A matcher of the model: its regular expressions are lists of alternatives.
#[derive(Debug, Clone)]
struct ModelMatcher {
    name: String,
    operator: usize,
    values: Vec<String>,
}

impl ModelMatcher {
    fn text(&self) -> String {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n"));
        let literal = |value: &String| {
            value.chars().fold(String::new(), |text, char| {
                text + if char.is_alphanumeric() { "" } else { "\\" } + &char.to_string()
            })
        };
        let value = match self.operator {
            0 | 1 => quoted(&self.values[0]),
            _ => quoted(&self.values.iter().map(literal).collect::<Vec<_>>().join("|")),
        };
        format!("{}{}{value}", quoted(&self.name), ["=", "!=", "=~", "!~"][self.operator])
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.name).cloned().unwrap_or_default();
        match self.operator {
            0 => value == self.values[0],
            1 => value != self.values[0],
            2 => self.values.contains(&value),
            _ => !self.values.contains(&value),
        }
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ab.*|\"\\\\{]{1,2}"]
}

prop_compose! {
    fn matcher()(name in "[abc.]", operator in 0_usize..4, values in prop::collection::vec(value(), 1..4)) -> ModelMatcher {
        ModelMatcher { name, operator, values }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn selectors_agree_with_a_model_of_sets(
        matchers in prop::collection::vec(matcher(), 1..4),
        series in prop::collection::vec(prop::collection::btree_map("[abc.]", "[ab.*|\"\\\\{]{1,2}", 0..4), 1..6),
    ) {
        let text = format!("{{{}}}", matchers.iter().map(ModelMatcher::text).collect::<Vec<_>>().join(","));
        // Only selectors that match a series without labels are refused.
        let is_empty = matchers.iter().all(|matcher| matcher.holds(&BTreeMap::new()));
        match text.parse::<Selector>() {
            Err(error) => prop_assert!(is_empty, "{text}: {error}"),
            Ok(selector) => {
                prop_assert!(!is_empty, "{}", text);
                for labels in series {
                    let expected = matchers.iter().all(|matcher| matcher.holds(&labels));
                    let got = selector.matches_labels(labels.iter().map(|(name, value)| (&**name, &**value)));
                    prop_assert_eq!(got, expected, "{} {:?}", text, labels);
                }
                let again = selector.to_string();
                prop_assert_eq!(again.parse::<Selector>().unwrap().to_string(), again);
            }
        }
    }
}
