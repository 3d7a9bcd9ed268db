//! From PromQL to [`Need`]s.
//!
//! The tree of a query is walked from its result down. Each step knows which labels of its result are needed, and says
//! which labels of its operands that takes: `sum by (job) (x)` takes `job` of `x`, whatever is needed of the sum. A
//! selector ends the walk. Where it is not certain that a label is not needed, it counts as needed.

use std::collections::BTreeSet;

use chronoxide_select::{Matcher, Operator, Patterns};
use promql_parser::label::{MatchOp, Matcher as ParsedMatcher};
use promql_parser::parser::token::{T_BOTTOMK, T_LIMIT_RATIO, T_LIMITK, T_TOPK};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, VectorMatchCardinality, VectorSelector, parse,
};

use crate::need::{LabelNeeds, Need, Use};
use crate::text::{Parts, VARIABLE, prepare, replace_variables};

/// Label of the metric's name: it is used by each selector, and not counted.
pub(crate) const METRIC: &str = "__name__";

/// Longest query in bytes. Queries in dashboards have up to some 10 KB.
pub(crate) const MAX_LEN: usize = 64 << 10;

/// Most operators and parentheses of a query: its tree is walked by recursion, and may be as deep.
const MAX_DEPTH: usize = 4_000;

/// Holes that are filled independently of each other: the number of fills to the power of this are tried.
const MAX_HOLES: usize = 3;

/// Texts that a variable alone may stand for: a number, a name, an aggregation, a function of a range, an operator, and
/// a matcher. A number comes first: in `x > $threshold`, a name would select all series.
const FILLS: [&str; 6] = ["1", VARIABLE, "sum", "rate", "+", "ChronoxideVariable=\"\""];

/// Stack of the thread that walks a query with many operators.
const STACK: usize = 64 << 20;

/// Operators of a query that any thread's stack has room for.
const MAX_SHALLOW: usize = 100;

/// Returns the needs of a query whose result is shown.
///
/// # Errors
/// The text is not PromQL, or a regular expression is invalid. Returns the reason.
pub(crate) fn needs(text: &str) -> Result<Vec<Need>, String> {
    needs_with(text, &LabelNeeds::all_except([], Use::Returned))
}

/// Returns the needs of a query of whose result some labels are needed.
///
/// # Errors
/// As [`needs`].
pub(crate) fn needs_with(text: &str, needed: &LabelNeeds) -> Result<Vec<Need>, String> {
    if text.len() > MAX_LEN {
        return Err(format!("longer than {} KiB", MAX_LEN >> 10));
    }
    let parts = prepare(text);
    let (mut first_error, mut without_series) = (None, None);
    for text in candidates(&parts) {
        match parsed_needs(&text, needed) {
            Ok(needs) if needs.is_empty() => without_series = Some(needs),
            Ok(needs) => return Ok(needs),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    // With another fill, the variable may be the whole query.
    without_series.ok_or_else(|| first_error.unwrap_or_default())
}

/// Returns the texts with each fill of the holes.
fn candidates(parts: &Parts) -> impl Iterator<Item = String> + '_ {
    let independent = parts.hole_count().min(MAX_HOLES);
    let count = FILLS.len().pow(u32::try_from(independent).unwrap_or_default());
    (0..count).map(move |number| {
        parts.fill(|hole| {
            // Further holes are filled like the last of these.
            let place = hole.min(independent.saturating_sub(1));
            let digit = number / FILLS.len().pow(u32::try_from(place).unwrap_or_default()) % FILLS.len();
            FILLS.get(digit).copied().unwrap_or_default()
        })
    })
}

fn parsed_needs(text: &str, needed: &LabelNeeds) -> Result<Vec<Need>, String> {
    let is_operator = |char: &char| "()+-*/%^<>=!".contains(*char);
    let words = text.split_ascii_whitespace().filter(|word| ["and", "or", "unless", "atan2"].contains(word));
    let operators = text.chars().filter(is_operator).count() + words.count();
    let walked = || {
        let mut walk = Walk::default();
        walk.expression(&parse(text)?, needed.clone())?;
        Ok(walk.needs)
    };
    match operators {
        _ if operators <= MAX_SHALLOW => walked(),
        ..=MAX_DEPTH => std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, walked);
            let joined = thread.map_err(|error| error.to_string())?.join();
            joined.unwrap_or_else(|_| Err("the parser failed".to_owned()))
        }),
        _ => Err(format!("more than {MAX_DEPTH} operators")),
    }
}

/// Returns needs for a text that is not PromQL: each word may be the name of a metric, and all of its labels are
/// needed.
pub(crate) fn needs_of_words(text: &str) -> Vec<Need> {
    let metric = |word: String| {
        let (operator, value) = match word.contains(VARIABLE) {
            true => (Operator::Matches, word.split(VARIABLE).collect::<Vec<_>>().join(".*")),
            false => (Operator::Equal, word),
        };
        Matcher::new(METRIC, operator, value).ok()
    };
    let selectors = words(text).into_iter().filter_map(metric).map(|matcher| vec![matcher].into());
    selectors.map(|selector| Need { selector, labels: LabelNeeds::all_except([], Use::Returned) }).collect()
}

/// Returns the words of a text that can be names, with variables replaced. Names of OpenTelemetry have dots.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let text = replace_variables(text);
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && !['_', ':', '.'].contains(&char));
    let names = words.map(|word| word.trim_matches('.')).filter(|word| *word != VARIABLE);
    let begins = |char: char| char.is_ascii_alphabetic() || char == '_' || char == ':';
    names.filter(|word| word.starts_with(begins)).map(str::to_owned).collect()
}

/// Needs found so far.
#[derive(Default)]
struct Walk {
    needs: Vec<Need>,
    patterns: Patterns<'static>,
}

impl Walk {
    /// Walks an expression, of whose result some labels are needed.
    fn expression(&mut self, expression: &Expr, needed: LabelNeeds) -> Result<(), String> {
        match expression {
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, needed),
            Expr::Binary(binary) => self.binary(binary, needed),
            Expr::Call(call) => self.call(call, needed),
            Expr::Unary(unary) => self.expression(&unary.expr, needed),
            Expr::Paren(paren) => self.expression(&paren.expr, needed),
            Expr::Subquery(subquery) => self.expression(&subquery.expr, needed),
            Expr::MatrixSelector(matrix) => self.selector(&matrix.vs, needed),
            Expr::VectorSelector(selector) => self.selector(selector, needed),
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => Ok(()),
        }
    }

    fn aggregate(&mut self, aggregate: &AggregateExpr, needed: LabelNeeds) -> Result<(), String> {
        if let Some(parameter) = &aggregate.param {
            self.expression(parameter, LabelNeeds::default())?;
        }
        // These return some of the series as they are.
        let is_choice = [T_TOPK, T_BOTTOMK, T_LIMITK, T_LIMIT_RATIO].contains(&aggregate.op.id());
        let mut kept = if is_choice { needed } else { LabelNeeds::default() };
        if [T_LIMITK, T_LIMIT_RATIO].contains(&aggregate.op.id()) {
            // Series are chosen by a hash of all labels.
            kept = kept.with_all_except([], Use::Grouped);
        }
        let needed = match &aggregate.modifier {
            None => kept,
            Some(LabelModifier::Include(labels)) => with_labels(kept, &labels.labels, Use::Grouped),
            // Series that differ in another label are in other groups.
            Some(LabelModifier::Exclude(labels)) if is_choice => {
                kept.with_all_except(known(&labels.labels), Use::Grouped)
            }
            Some(LabelModifier::Exclude(labels)) => LabelNeeds::all_except(known(&labels.labels), Use::Grouped),
        };
        self.expression(&aggregate.expr, needed)
    }

    fn binary(&mut self, binary: &BinaryExpr, needed: LabelNeeds) -> Result<(), String> {
        let is_vector = |expression: &Expr| expression.value_type() == ValueType::Vector;
        if !is_vector(&binary.lhs) || !is_vector(&binary.rhs) {
            self.expression(&binary.lhs, needed.clone())?;
            return self.expression(&binary.rhs, needed);
        }
        let modifier = binary.modifier.as_ref();
        let matching = match modifier.and_then(|modifier| modifier.matching.as_ref()) {
            Some(LabelModifier::Include(labels)) => with_labels(LabelNeeds::default(), &labels.labels, Use::Joined),
            Some(LabelModifier::Exclude(labels)) => LabelNeeds::all_except(known(&labels.labels), Use::Joined),
            None => LabelNeeds::all_except([], Use::Joined),
        };
        let joined = |side: LabelNeeds| side.and(&matching);
        // Some labels of the many series may be replaced: the others must still tell the results apart.
        let many = |side: LabelNeeds| side.with_all_except([], Use::Joined);
        let (left, right) = if binary.op.is_set_operator() {
            // `or` returns series of both sides, the others of the left one.
            let right = if binary.op.to_string() == "or" { needed.clone() } else { LabelNeeds::default() };
            (joined(needed), joined(right))
        } else {
            match modifier.map(|modifier| &modifier.card) {
                Some(VectorMatchCardinality::ManyToOne(labels)) => {
                    let one = with_labels(LabelNeeds::default(), &labels.labels, Use::Joined);
                    (many(needed), joined(one))
                }
                Some(VectorMatchCardinality::OneToMany(labels)) => {
                    let one = with_labels(LabelNeeds::default(), &labels.labels, Use::Joined);
                    (joined(one), many(needed))
                }
                // The result has only the labels that were joined by.
                _ => (matching.clone(), matching.clone()),
            }
        };
        self.expression(&binary.lhs, left)?;
        self.expression(&binary.rhs, right)
    }

    fn call(&mut self, call: &Call, needed: LabelNeeds) -> Result<(), String> {
        let texts = || call.args.args.iter().filter_map(|argument| string(argument));
        let needed = match call.func.name {
            // A label may be replaced, and the others must then tell the results apart. Where the regular expression
            // of `label_replace` does not match, the label stays.
            "label_replace" | "label_join" => needed.with_all_except([], Use::Joined),
            "sort_by_label" | "sort_by_label_desc" => with_labels(needed, &texts().collect::<Vec<_>>(), Use::Returned),
            "absent" | "absent_over_time" | "scalar" => LabelNeeds::default(),
            // Buckets that differ in another label are those of other histograms.
            "histogram_quantile" | "histogram_quantiles" | "histogram_fraction" => {
                LabelNeeds::all_except(["le".to_owned()], Use::Grouped).with(["le".to_owned()], Use::Grouped)
            }
            "info" => return self.info(call, needed),
            _ => needed,
        };
        for argument in &call.args.args {
            self.expression(argument, needed.clone())?;
        }
        Ok(())
    }

    /// `info(v)` joins `target_info` by `job` and `instance`; a second argument selects other info metrics, and labels.
    fn info(&mut self, call: &Call, needed: LabelNeeds) -> Result<(), String> {
        let [joined, selected] = [0, 1].map(|place| call.args.args.get(place));
        let identity = || ["job", "instance"].map(str::to_owned);
        if let Some(joined) = joined {
            self.expression(joined, needed.with(identity(), Use::Joined))?;
        }
        let mut selector = match selected.map(|selected| &**selected) {
            Some(Expr::VectorSelector(selector)) => selector.clone(),
            _ => VectorSelector::default(),
        };
        let has_name = selector.matchers.matchers.iter().any(|matcher| matcher.name == METRIC);
        if selector.name.is_none() && !has_name {
            selector.name = Some("target_info".to_owned());
        }
        self.selector(&selector, LabelNeeds::all_except([], Use::Returned))
    }

    fn selector(&mut self, selector: &VectorSelector, needed: LabelNeeds) -> Result<(), String> {
        let matchers = &selector.matchers;
        let alternatives: Vec<Vec<&ParsedMatcher>> = if matchers.or_matchers.is_empty() {
            vec![matchers.matchers.iter().collect()]
        } else {
            matchers.or_matchers.iter().map(|alternative| alternative.iter().collect()).collect()
        };
        for alternative in alternatives {
            let mut needed = needed.clone();
            let mut parsed = Vec::new();
            if let Some(name) = &selector.name {
                parsed.extend(self.matcher(METRIC, Operator::Equal, name)?);
            }
            for matcher in alternative {
                if matcher.name.contains(VARIABLE) {
                    needed = needed.with_all_except([], Use::Selected);
                    continue;
                }
                if matcher.name != METRIC {
                    needed = needed.with([matcher.name.clone()], Use::Selected);
                }
                let operator = match matcher.op {
                    MatchOp::Equal => Operator::Equal,
                    MatchOp::NotEqual => Operator::NotEqual,
                    MatchOp::Re(_) => Operator::Matches,
                    MatchOp::NotRe(_) => Operator::MatchesNot,
                };
                parsed.extend(self.matcher(&matcher.name, operator, &matcher.value)?);
            }
            self.needs.push(Need { selector: parsed.into(), labels: needed });
        }
        Ok(())
    }

    /// Returns a matcher that accepts each value of the variables in it; `None` if it accepts any value then.
    fn matcher(&mut self, name: &str, operator: Operator, value: &str) -> Result<Option<Matcher>, String> {
        if !value.contains(VARIABLE) {
            let matcher = self.patterns.matcher(name, operator, value);
            return matcher.map(Some).map_err(|error| error.to_string());
        }
        let pattern = match operator {
            Operator::NotEqual | Operator::MatchesNot => return Ok(None),
            Operator::Equal => value.split(VARIABLE).map(regex::escape).collect::<Vec<_>>().join(".*"),
            // In a class, the variable stands for single characters.
            Operator::Matches if is_in_class(value) => return Ok(None),
            Operator::Matches => value.replace(VARIABLE, ".*"),
        };
        Ok(self.patterns.matcher(name, Operator::Matches, pattern).ok())
    }
}

/// Returns true if a variable stands in a class of a regular expression.
fn is_in_class(pattern: &str) -> bool {
    pattern.match_indices(VARIABLE).any(|(at, _)| {
        let before = &pattern[..at];
        before.rfind('[') > before.rfind(']')
    })
}

/// Returns the text of a string, which may be in parentheses.
fn string(expression: &Expr) -> Option<String> {
    match expression {
        Expr::StringLiteral(literal) => Some(literal.val.clone()),
        Expr::Paren(paren) => string(&paren.expr),
        _ => None,
    }
}

/// Adds labels of a list; all labels if one of them is a variable.
fn with_labels(needs: LabelNeeds, labels: &[String], use_: Use) -> LabelNeeds {
    let needs = needs.with(known(labels), use_);
    let has_variable = labels.iter().any(|label| label.contains(VARIABLE));
    if has_variable { needs.with_all_except([], use_) } else { needs }
}

/// Returns the labels that are not variables.
fn known(labels: &[String]) -> impl Iterator<Item = String> + '_ {
    labels.iter().filter(|label| !label.contains(VARIABLE)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each selector, with the uses of the labels `a`, `b`, `c` and `le` by their first letters.
    fn shown(text: &str) -> Vec<String> {
        let shown = |need: Need| {
            let uses = ["a", "b", "c", "le"].map(|label| {
                let letters: Vec<String> =
                    need.labels.uses(label).iter().map(|use_| format!("{use_:?}")[..1].to_owned()).collect();
                if letters.is_empty() { String::new() } else { format!(" {label}:{}", letters.concat()) }
            });
            format!("{}{}", need.selector, uses.concat())
        };
        needs(text).unwrap_or_else(|error| panic!("{text}: {error}")).into_iter().map(shown).collect()
    }

    #[test]
    fn each_step_takes_the_labels_that_it_needs() {
        let x = r#"{__name__="x"}"#;
        let y = r#"{__name__="y"}"#;
        for (text, expected) in [
            ("x", vec![format!("{x} a:R b:R c:R le:R")]),
            ("sum(x)", vec![x.to_owned()]),
            ("sum by (a) (rate(x{b=\"1\"}[5m]))", vec!["{__name__=\"x\",b=\"1\"} a:G b:S".to_owned()]),
            ("sum without (a) (x)", vec![format!("{x} b:G c:G le:G")]),
            ("topk by (a) (3, sum by (a, b) (x))", vec![format!("{x} a:G b:G")]),
            ("topk(3, x)", vec![format!("{x} a:R b:R c:R le:R")]),
            ("bottomk without (a) (3, count by (b) (x))", vec![format!("{x} b:G")]),
            ("count_values by (a) (\"b\", x)", vec![format!("{x} a:G")]),
            ("sum by (a) (histogram_fraction(0, 0.2, x))", vec![format!("{x} a:G b:G c:G le:G")]),
            ("sum(limit_ratio(0.5, x))", vec![format!("{x} a:G b:G c:G le:G")]),
            // Uses of all labels are one set, so that `a` counts as used for grouping.
            ("topk without (a) (3, x)", vec![format!("{x} a:GR b:GR c:GR le:GR")]),
            ("x / y", vec![format!("{x} a:J b:J c:J le:J"), format!("{y} a:J b:J c:J le:J")]),
            ("x / on (a) y", vec![format!("{x} a:J"), format!("{y} a:J")]),
            ("x > ignoring (a) y", vec![format!("{x} b:J c:J le:J"), format!("{y} b:J c:J le:J")]),
            ("x * on (a) group_left (b) y", vec![format!("{x} a:JR b:JR c:JR le:JR"), format!("{y} a:J b:J")]),
            (
                "sum by (c) (x * on (a) group_right (b) y)",
                vec![format!("{x} a:J b:J"), format!("{y} a:J b:J c:GJ le:J")],
            ),
            ("sum by (c) (x and on (a) y)", vec![format!("{x} a:J c:G"), format!("{y} a:J")]),
            ("sum by (c) (x or on (a) y)", vec![format!("{x} a:J c:G"), format!("{y} a:J c:G")]),
            ("sum by (c) (x unless on (a) y)", vec![format!("{x} a:J c:G"), format!("{y} a:J")]),
            ("sum by (a) (x) > 5", vec![format!("{x} a:G")]),
            ("5 - scalar(x)", vec![x.to_owned()]),
            ("absent(x{a=\"1\"})", vec!["{__name__=\"x\",a=\"1\"} a:S".to_owned()]),
            ("sum by (a) (label_replace(x, \"a\", \"$1\", \"b\", \"(.*)\"))", vec![format!("{x} a:GJ b:J c:J le:J")]),
            ("sum by (a) (label_join(x, \"a\", \"-\", \"b\", \"c\"))", vec![format!("{x} a:GJ b:J c:J le:J")]),
            ("histogram_quantile(0.9, sum by (le, a) (rate(x[5m])))", vec![format!("{x} a:G le:G")]),
            ("sum by (a) (histogram_quantile(0.9, x))", vec![format!("{x} a:G b:G c:G le:G")]),
            ("max_over_time(sum by (a) (x)[1h:5m] offset 1d)", vec![format!("{x} a:G")]),
            ("-(sum(x))", vec![x.to_owned()]),
            ("sum(limitk(3, x))", vec![format!("{x} a:G b:G c:G le:G")]),
            ("sum by (a) (info(x, {__name__=\"y\"}))", vec![format!("{x} a:G"), format!("{y} a:R b:R c:R le:R")]),
            ("sum(info(x))", vec![x.to_owned(), "{__name__=\"target_info\"} a:R b:R c:R le:R".to_owned()]),
            ("sum({\"x\", a!=\"\"})", vec!["{__name__=\"x\",a!=\"\"} a:S".to_owned()]),
            (
                "sum(x{a=\"1\" or b=\"2\"})",
                vec!["{__name__=\"x\",a=\"1\"} a:S".to_owned(), "{__name__=\"x\",b=\"2\"} b:S".to_owned()],
            ),
            ("1 + vector(time())", vec![]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_stand_for_anything() {
        for (text, expected) in [
            (
                "sum(x{a=\"$a.b\",b!=\"$b\",c=~\"${c:regex}|d\"})",
                vec![r#"{__name__="x",a=~".*\\.b",c=~".*|d"} a:S b:S c:S"#],
            ),
            ("sum by ($group) (x_${unit}_total)", vec![r#"{__name__=~"x_.*_total"} a:G b:G c:G le:G"#]),
            ("sum(x{$label=\"1\"})", vec![r#"{__name__="x"} a:S b:S c:S le:S"#]),
            ("topk($n, sum by (a) (x))", vec![r#"{__name__="x"} a:G"#]),
            ("sum(x) > $threshold", vec![r#"{__name__="x"}"#]),
            ("sum(rate($metric[$__rate_interval]))", vec![r#"{__name__=~".*"}"#]),
            ("$aggregation by (a) (x)", vec![r#"{__name__="x"} a:G"#]),
            ("sum($metric) * $factor", vec![r#"{__name__=~".*"}"#]),
            ("sum(x{a=~\"[$a]\",b=~\"1|${b}{2}\"})", vec![r#"{__name__="x"} a:S b:S"#]),
            ("sum($f(x[5m])) ${op} 5", vec![r#"{__name__="x"}"#]),
            ("sum(x{$filter,a=\"1\"})", vec![r#"{__name__="x",a="1"} a:S b:S c:S le:S"#]),
            ("[[metric]]", vec![r#"{__name__=~".*"} a:R b:R c:R le:R"#]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn other_text_is_an_error() {
        for text in
            ["", "sum(", "x{a=\"(\"", "{job=~\"(\"}", "rate(x)", "{app=\"a\"} |= \"error\"", "x{a=~\"*\"}", "$$$"]
        {
            assert!(needs(text).is_err(), "{text}");
        }
        assert!(needs(&"x".repeat(MAX_LEN + 1)).unwrap_err().contains("64 KiB"));
    }

    #[test]
    fn deep_queries_are_walked_or_refused() {
        let chain = vec!["x"; MAX_DEPTH].join("+");
        assert_eq!(needs(&chain).unwrap().len(), MAX_DEPTH);
        let nested = format!("{}x{}", "(".repeat(MAX_DEPTH / 2), ")".repeat(MAX_DEPTH / 2));
        assert_eq!(needs(&nested).unwrap().len(), 1);
        let signs = format!("{}x", "-".repeat(MAX_DEPTH));
        assert_eq!(needs(&signs).unwrap().len(), 1);
        assert!(needs(&format!("{chain}+x+x")).unwrap_err().contains("operators"));
        for hostile in ["x[1e300]", "x offset 1e300", "x @ 1e300", "rate(x[Inf])", "x offset NaN", "x[1m:1e300]"] {
            let _ = needs(hostile);
        }
    }

    #[test]
    fn random_tokens_are_read_or_refused() {
        const TOKENS: [&str; 52] = [
            "x",
            "y",
            "sum",
            "topk",
            "quantile",
            "rate",
            "info",
            "label_replace",
            "by",
            "without",
            "on",
            "ignoring",
            "group_left",
            "offset",
            "bool",
            "and",
            "or",
            "atan2",
            "start",
            "end",
            "step",
            "fill",
            "(",
            ")",
            "(",
            ")",
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            ",",
            "+",
            "-",
            "^",
            "=",
            "==",
            "=~",
            "!=",
            "!~",
            "@",
            "\"a\"",
            "'('",
            "`\\`",
            "1e300",
            "NaN",
            "Inf",
            "5m",
            "0x7fffffffffffffffff",
            "$v",
            "\u{e9}",
        ];
        let mut parsed = 0;
        for seed in 0..20_000 {
            let mut random = chronoxide_testkit::random::Random::new(seed);
            let count = 1 + random.below(12);
            let tokens: Vec<&str> = (0..count).map(|_| TOKENS[random.below(TOKENS.len())]).collect();
            let text = tokens.join(if random.percent(80) { " " } else { "" });
            parsed += usize::from(std::panic::catch_unwind(|| needs(&text)).expect(&text).is_ok());
        }
        assert!(parsed > 500, "{parsed}");
    }

    #[test]
    fn each_word_of_other_text_may_be_a_name() {
        let text = "sum_frob(http.requests_total{job=\"api\"}[5m]).";
        assert_eq!(words(text).into_iter().collect::<Vec<_>>(), ["api", "http.requests_total", "job", "sum_frob"]);
        let selectors: Vec<String> = needs_of_words("b:c a a").iter().map(|need| need.selector.to_string()).collect();
        assert_eq!(selectors, [r#"{__name__="a"}"#, r#"{__name__="b:c"}"#]);
        let selectors: Vec<String> =
            needs_of_words("$f(node_${dev}_x").iter().map(|need| need.selector.to_string()).collect();
        assert_eq!(selectors, [r#"{__name__=~"node_.*_x"}"#]);
    }
}
