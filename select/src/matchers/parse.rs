//! Parses a [`Selector`].
//!
//! The grammar is that of Prometheus's `vector_selector`. Names in quotes may hold any characters:
//!
//! ```text
//! selector = name | [name] "{" [matcher {"," matcher} [","]] "}"
//! matcher  = (name | string) ("=" | "!=" | "=~" | "!~") string | string
//! ```

use std::iter::Peekable;
use std::str::FromStr;
use std::vec::IntoIter;

use crate::SelectError;
use crate::matchers::patterns::{MAX_COMPILED_LEN, MAX_MATCHERS, MAX_TEXT_LEN, Patterns};
use crate::matchers::quoted::QuoteError;
use crate::matchers::re2::PatternError;
use crate::matchers::selector::{METRIC_NAME, Matcher, Operator, Selector};
use crate::matchers::tokens::{Token, tokens};

/// Words of PromQL that Prometheus does not read as the name of a metric, in any case.
const NO_NAMES: [&str; 6] = ["atan2", "bool", "group_left", "group_right", "ignoring", "on"];

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

    pub(crate) fn new(text: &str, at: Option<usize>, reason: Reason) -> Self {
        Self { text: text.to_owned(), at, reason }
    }

    fn place(&self) -> String {
        let number = |at| self.text[..at].chars().count() + 1;
        self.at.map(|at| format!(", at character {}", number(at))).unwrap_or_default()
    }
}

/// Reason of the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
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
    #[error("unexpected end of input inside braces")]
    OpenBrace,
    #[error("label name is empty")]
    EmptyName,
    #[error("invalid label matcher, expected label matching operator after '{0}'")]
    NoOperator(String),
    #[error("unexpected identifier '{0}' in label matching, expected string")]
    ValueWithoutQuotes(String),
    #[error("metric name must not be set twice: '{0}' or '{1}'")]
    NameTwice(String, String),
    #[error("more than {MAX_MATCHERS} matchers")]
    TooManyMatchers,
    #[error("the regular expressions have more than {} MiB of text: use fewer or shorter ones", MAX_TEXT_LEN >> 20)]
    TooLong,
    #[error(
        "the regular expressions take more than {} MiB when compiled: use fewer or simpler ones",
        MAX_COMPILED_LEN >> 20
    )]
    TooLarge,
    #[error(transparent)]
    Limit(#[from] SelectError),
    #[error(
        "every matcher matches the empty value, so the selector would match series without these labels: add a matcher \
         that requires a value, or __name__!=\"\" to match all series"
    )]
    MatchesAll,
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Patterns::default().parse(text)
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
        Patterns::default().parse_any(text)
    }
}

/// Reason of an error, and its byte offset unless the reason is about the selector as a whole.
struct Failure(Option<usize>, Reason);

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self(None, reason)
    }
}

type Tokens<'a> = Peekable<IntoIter<(usize, Token<'a>)>>;

/// Reads a whole text as a selector, with the bounds of others.
pub(crate) fn selector(text: &str, patterns: &mut Patterns<'_>) -> Result<Vec<Matcher>, SelectorError> {
    whole(text, patterns).map_err(|Failure(at, reason)| SelectorError::new(text, at, reason))
}

/// Reads a whole text as a selector. The matcher of a name before the braces is the last one.
fn whole(text: &str, patterns: &mut Patterns<'_>) -> Result<Vec<Matcher>, Failure> {
    let mut tokens = tokens(text).map_err(|(at, reason)| Failure(Some(at), reason))?.into_iter().peekable();
    let name = match tokens.peek() {
        None => return Err(Failure(Some(0), Reason::Empty)),
        Some(&(_, Token::Word(word))) if is_metric_name(word) => Some(word),
        Some(_) => None,
    };
    if name.is_some() {
        tokens.next();
    }
    let mut matchers = match tokens.next_if(|(_, token)| *token == Token::Sign("{")) {
        Some(_) => matchers(&mut tokens, patterns)?,
        None if name.is_some() => Vec::new(),
        None => return Err(without_selector(&mut tokens).into()),
    };
    if let Some((_, token)) = tokens.next() {
        return Err(after_selector(&token).into());
    }
    if let Some(name) = name {
        if let Some(other) = matchers.iter().find(|matcher| matcher.name() == METRIC_NAME) {
            return Err(Reason::NameTwice(name.to_owned(), other.value().to_owned()).into());
        }
        patterns.count_matcher()?;
        matchers.push(Matcher::metric_name(name.to_owned()));
    }
    Ok(matchers)
}

/// Reads matchers and the closing brace.
fn matchers(tokens: &mut Tokens<'_>, patterns: &mut Patterns<'_>) -> Result<Vec<Matcher>, Failure> {
    let mut matchers = Vec::new();
    loop {
        let (at, token) = tokens.next().ok_or(Reason::OpenBrace)?;
        if token == Token::Sign("}") {
            return Ok(matchers);
        }
        patterns.count_matcher().map_err(|reason| Failure(Some(at), reason))?;
        matchers.push(matcher(at, token, tokens, patterns)?);
        match tokens.next().ok_or(Reason::OpenBrace)? {
            (_, Token::Sign(",")) => {}
            (_, Token::Sign("}")) => return Ok(matchers),
            (_, Token::Word(word)) if word.eq_ignore_ascii_case("or") => return Err(Reason::Or.into()),
            _ => return Err(Reason::OtherText.into()),
        }
    }
}

/// Reads the matcher that begins with `first`, which is at byte `at`.
fn matcher(
    at: usize,
    first: Token<'_>,
    tokens: &mut Tokens<'_>,
    patterns: &mut Patterns<'_>,
) -> Result<Matcher, Failure> {
    let (name, is_quoted) = match first {
        Token::Text(name) => (name, true),
        Token::Word(word) if word.starts_with(|char: char| char.is_ascii_digit()) => {
            return Err(Reason::OtherText.into());
        }
        Token::Word(word) => match word.find(':') {
            Some(colon) => return Err(Failure(Some(at + colon), Reason::NameWithoutQuotes(':'))),
            None => (word.to_owned(), false),
        },
        Token::Sign(_) => return Err(Reason::OtherText.into()),
    };
    let operator = match tokens.peek() {
        Some((_, Token::Sign("="))) => Operator::Equal,
        Some((_, Token::Sign("!="))) => Operator::NotEqual,
        Some((_, Token::Sign("=~"))) => Operator::Matches,
        Some((_, Token::Sign("!~"))) => Operator::MatchesNot,
        None => return Err(Reason::OpenBrace.into()),
        // A string alone is the name of a metric.
        Some(_) if is_quoted => return Ok(Matcher::metric_name(name)),
        Some(_) => return Err(Reason::NoOperator(name).into()),
    };
    tokens.next();
    if name.is_empty() {
        return Err(Reason::EmptyName.into());
    }
    match tokens.next().ok_or(Reason::OpenBrace)? {
        (at, Token::Text(value)) => patterns.compile(name, operator, value).map_err(|reason| Failure(Some(at), reason)),
        (_, Token::Word(word)) => Err(Reason::ValueWithoutQuotes(word.to_owned()).into()),
        (_, Token::Sign(_)) => Err(Reason::OtherText.into()),
    }
}

/// Returns true if a word is the name of a metric. Other keywords of PromQL, such as `sum` and `offset`, are names too.
fn is_metric_name(word: &str) -> bool {
    !is_number(word) && !NO_NAMES.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Returns true for a number or a duration.
fn is_number(word: &str) -> bool {
    word.starts_with(|char: char| char.is_ascii_digit())
        || ["inf", "nan"].iter().any(|number| word.eq_ignore_ascii_case(number))
}

/// Returns the reason to refuse a text that begins with neither a name nor a brace.
fn without_selector(tokens: &mut Tokens<'_>) -> Reason {
    let is_literal = match tokens.next() {
        Some((_, Token::Text(_))) => true,
        Some((_, Token::Word(word))) => is_number(word),
        _ => false,
    };
    match tokens.next() {
        None if is_literal => Reason::NoSelector { what: "a string or a number alone" },
        _ => Reason::OtherText,
    }
}

/// Returns the reason to refuse a token after a selector.
fn after_selector(token: &Token<'_>) -> Reason {
    let is_any = |word: &str, keywords: &[&str]| keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword));
    match token {
        Token::Word(word) if is_any(word, &["offset"]) => Reason::Time,
        Token::Word(word) if is_any(word, &["and", "or", "unless", "atan2"]) => {
            Reason::NoSelector { what: "an operator" }
        }
        Token::Sign("==" | "!=") => Reason::NoSelector { what: "an operator" },
        _ => Reason::OtherText,
    }
}
