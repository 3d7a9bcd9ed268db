//! Parses a [`Selector`].

use std::str::FromStr;

use promql_parser::label::{MatchOp, Matchers};
use promql_parser::parser::{Expr, VectorSelector, parse};

use crate::pattern::Pattern;
use crate::quoted::{QuoteError, quote, unquote};
use crate::re2::{self, PatternError};
use crate::selector::{METRIC_NAME, Matcher, Selector};

/// Maximum number of characters outside of strings. The time of the parser grows with their square.
const MAX_OUTSIDE: usize = 1 << 14;

/// Error of parsing a selector. `Display` gives the reason and, if known, the position as a character number starting
/// at 1. It does not show the [`text`](Self::text), which clap prints itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", self.place())]
pub struct SelectorError {
    text: String,
    /// Byte offset of the error.
    at: Option<usize>,
    reason: Reason,
}

impl SelectorError {
    /// Returns the text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the error of a regular expression outside of a selector.
    pub(crate) fn from_pattern(pattern: &str, error: PatternError) -> Self {
        Self { text: pattern.to_owned(), at: None, reason: error.into() }
    }

    fn place(&self) -> String {
        let number = |at| self.text[..at].chars().count() + 1;
        self.at.map(|at| format!(", at character {}", number(at))).unwrap_or_default()
    }
}

/// Reason of the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("empty selector: expected one such as up{{job=\"api\"}} or {{pod=~\"canary-.*\"}}")]
    Empty,
    #[error(transparent)]
    Quote(#[from] QuoteError),
    #[error("invalid regular expression: {0}")]
    Pattern(#[from] PatternError),
    #[error("{what} is not allowed in a selector: expected a metric name or matchers in braces")]
    NoSelector { what: &'static str },
    #[error("character {0:?} needs quotes: write the name as {{\"name\"}}")]
    NameWithoutQuotes(char),
    #[error("`offset` and `@` are not allowed in a selector")]
    Time,
    #[error("`or` between matchers is not supported: use two selectors")]
    Or,
    #[error("not a selector: expected a metric name, matchers in braces and separated by commas, or both")]
    OtherText,
    #[error("label name is empty")]
    EmptyName,
    #[error("more than {MAX_OUTSIDE} characters outside of strings")]
    TooLong,
    #[error(
        "every matcher matches the empty value, so the selector would match series without these labels: add a matcher \
         that requires a value, or __name__!=\"\" to match all series"
    )]
    MatchesAll,
    #[error("{0}")]
    Parser(String),
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let error = |at, reason| SelectorError { text: text.to_owned(), at, reason };
        let Rewritten { text: rewritten, patterns } = rewrite(text).map_err(|(at, reason)| error(Some(at), reason))?;
        selector(&rewritten, patterns).map_err(|reason| error(None, reason))
    }
}

impl Selector {
    /// Like [`str::parse`], but accepts selectors whose matchers all match the empty value, such as `{}` and
    /// `{job=~".*"}`. For programs that only read: see [the dangers](crate#selectors-that-match-everything).
    ///
    /// ```
    /// use chronoxide_select::Selector;
    ///
    /// assert!("{}".parse::<Selector>().is_err());
    /// assert!(Selector::parse_any("{}")?.matches_labels([("__name__", "up")]));
    /// # Ok::<(), chronoxide_select::SelectorError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not a selector.
    pub fn parse_any(text: &str) -> Result<Self, SelectorError> {
        let error = |at, reason| SelectorError { text: text.to_owned(), at, reason };
        match text.parse() {
            Err(SelectorError { reason: Reason::MatchesAll, .. }) => {}
            parsed => return parsed,
        }
        // The parser has no switch for this check: give it a matcher more, the last one, and drop that again.
        let Rewritten { text: rewritten, patterns } = rewrite(text).map_err(|(at, reason)| error(Some(at), reason))?;
        let inner = rewritten.trim_end().strip_suffix('}').unwrap_or(&rewritten).trim_end();
        let comma = if inner.ends_with(['{', ',']) { "" } else { "," };
        let padded = format!("{inner}{comma}{METRIC_NAME}!=\"\"}}");
        let mut matchers = selector(&padded, patterns).map_err(|reason| error(None, reason))?.into_matchers();
        matchers.pop();
        Ok(Self::new(matchers))
    }
}

/// A selector in the dialect of `promql-parser`.
struct Rewritten {
    text: String,
    /// Regular expressions as the user wrote them, in order.
    patterns: Vec<String>,
}

/// Rewrites strings so that `promql-parser` reads them as Prometheus does, and regular expressions for the crate
/// `regex`. Refuses characters that no selector has outside of strings.
fn rewrite(text: &str) -> Result<Rewritten, (usize, Reason)> {
    let mut rewritten = Rewritten { text: String::with_capacity(text.len()), patterns: Vec::new() };
    let (mut at, mut outside) = (0, 0);
    while let Some(char) = text[at..].chars().next() {
        let no_selector = |what| Err((at, Reason::NoSelector { what }));
        match char {
            '"' | '\'' | '`' => {
                let (string, length) = unquote(&text[at..], char).map_err(|error| (at, error.into()))?;
                if rewritten.text.trim_end().ends_with('~') {
                    let translated = re2::translate(&string).map_err(|error| (at, error.into()))?;
                    re2::compile_translated(&translated).map_err(|error| (at, error.into()))?;
                    rewritten.text.push_str(&quote(&translated));
                    rewritten.patterns.push(string);
                } else {
                    rewritten.text.push_str(&quote(&string));
                }
                at += length;
                continue;
            }
            '_' | ':' | '{' | '}' | '=' | '!' | '~' | ',' | 'a'..='z' | 'A'..='Z' | '0'..='9' => {}
            char if char.is_ascii_whitespace() => {}
            '(' | ')' => return no_selector("a function or anything in parentheses"),
            '[' | ']' => return no_selector("a range"),
            '@' => return Err((at, Reason::Time)),
            '#' => return no_selector("a comment"),
            '+' | '-' | '*' | '/' | '%' | '^' | '<' | '>' => return no_selector("an operator"),
            char => return Err((at, Reason::NameWithoutQuotes(char))),
        }
        if outside == MAX_OUTSIDE {
            return Err((at, Reason::TooLong));
        }
        rewritten.text.push(char);
        at += char.len_utf8();
        outside += 1;
    }
    if rewritten.text.trim().is_empty() {
        return Err((0, Reason::Empty));
    }
    Ok(rewritten)
}

fn selector(rewritten: &str, patterns: Vec<String>) -> Result<Selector, Reason> {
    match parse(rewritten) {
        Ok(Expr::VectorSelector(VectorSelector { offset: Some(_), .. } | VectorSelector { at: Some(_), .. })) => {
            Err(Reason::Time)
        }
        Ok(Expr::VectorSelector(VectorSelector { name, matchers, .. })) => from_matchers(name, matchers, patterns),
        Ok(Expr::Binary(_)) => Err(Reason::NoSelector { what: "an operator" }),
        Ok(Expr::StringLiteral(_) | Expr::NumberLiteral(_)) => {
            Err(Reason::NoSelector { what: "a string or a number alone" })
        }
        Ok(_) => Err(Reason::NoSelector { what: "anything else of PromQL" }),
        // The parser checks this too, with anchored regular expressions. Its message does not say what to do.
        Err(message) if message == "vector selector must contain at least one non-empty matcher" => {
            Err(Reason::MatchesAll)
        }
        Err(message) if message == "invalid promql query" => Err(Reason::OtherText),
        Err(message) => Err(Reason::Parser(message)),
    }
}

fn from_matchers(name: Option<String>, matchers: Matchers, patterns: Vec<String>) -> Result<Selector, Reason> {
    if !matchers.or_matchers.is_empty() {
        return Err(Reason::Or);
    }
    let mut patterns = patterns.into_iter();
    let mut all = Vec::with_capacity(matchers.matchers.len() + 1);
    for matcher in matchers.matchers {
        if matcher.name.is_empty() {
            return Err(Reason::EmptyName);
        }
        all.push(match matcher.op {
            MatchOp::Equal => Matcher::literal(matcher.name, true, matcher.value),
            MatchOp::NotEqual => Matcher::literal(matcher.name, false, matcher.value),
            MatchOp::Re(_) | MatchOp::NotRe(_) => {
                let is_match = matches!(matcher.op, MatchOp::Re(_));
                let pattern = Pattern::from_translated(&matcher.value)?;
                let written = patterns.next().unwrap_or(matcher.value);
                Matcher::with_pattern(matcher.name, is_match, written, pattern)
            }
        });
    }
    if let Some(name) = name {
        all.push(Matcher::literal(METRIC_NAME.to_owned(), true, name));
    }
    Ok(Selector::new(all))
}
