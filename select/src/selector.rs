//! Selectors and their matchers.

use std::fmt;

use chronoxide_format::policy::LabelPolicy;
use regex::Regex;

use crate::quoted::quote;

/// The label that holds the name of a metric.
pub(crate) const METRIC_NAME: &str = "__name__";

/// How a [`Matcher`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Matches,
    /// `!~`
    MatchesNot,
}

impl Operator {
    /// As it stands in a selector.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::MatchesNot => "!~",
        }
    }
}

/// What a selector asks of one label.
///
/// A label that is absent has the empty value: [`matches("")`](Self::matches) says what the matcher makes of it.
#[derive(Debug, Clone)]
pub struct Matcher {
    name: String,
    operator: Operator,
    /// The text between the quotes; of a regular expression as the user wrote it.
    value: String,
    /// The compiled regular expression of the operators that have one.
    regex: Option<Regex>,
}

impl Matcher {
    pub(crate) fn literal(name: String, is_equal: bool, value: String) -> Self {
        let operator = if is_equal { Operator::Equal } else { Operator::NotEqual };
        Self { name, operator, value, regex: None }
    }

    /// With a regular expression that is anchored at both ends.
    pub(crate) fn pattern(name: String, is_match: bool, value: String, regex: Regex) -> Self {
        let operator = if is_match { Operator::Matches } else { Operator::MatchesNot };
        Self { name, operator, value, regex: Some(regex) }
    }

    /// The name of the label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it compares.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What it compares with: a value, or a regular expression as it was given.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether a label with this value satisfies the matcher; the empty value is that of an absent label.
    ///
    /// Time is linear in the length of the value.
    pub fn matches(&self, value: &str) -> bool {
        let is_same = match &self.regex {
            Some(regex) => regex.is_match(value),
            None => value == self.value,
        };
        is_same == matches!(self.operator, Operator::Equal | Operator::Matches)
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(&self.name) {
            f.write_str(&self.name)?;
        } else {
            f.write_str(&quote(&self.name))?;
        }
        write!(f, "{}{}", self.operator.sign(), quote(&self.value))
    }
}

/// Whether a label name needs no quotes.
fn is_plain(name: &str) -> bool {
    let letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// A selector: a series is selected if all of its [`Matcher`]s are satisfied.
///
/// ```
/// use chronoxide_select::Selector;
///
/// let selector: Selector = r#"{namespace="test",pod=~"canary-.*"}"#.parse()?;
/// assert!(selector.matches_labels([("__name__", "up"), ("namespace", "test"), ("pod", "canary-7")]));
/// assert!(!selector.matches_labels([("__name__", "up"), ("namespace", "test")]));
/// # Ok::<(), chronoxide_select::SelectorError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Selector {
    matchers: Vec<Matcher>,
}

impl Selector {
    pub(crate) fn new(matchers: Vec<Matcher>) -> Self {
        Self { matchers }
    }

    /// What it asks for, at least one matcher; several may be about the same label.
    pub fn matchers(&self) -> &[Matcher] {
        &self.matchers
    }

    /// Whether a series is selected that has these labels, in any order.
    ///
    /// The plain model: what answers for whole blocks asks each [`Matcher`] once per distinct value and must agree with this.
    pub fn matches_labels<'a, I>(&self, labels: I) -> bool
    where
        I: IntoIterator<Item = (&'a str, &'a str)>,
        I::IntoIter: Clone,
    {
        let labels = labels.into_iter();
        self.matchers.iter().all(|matcher| {
            let value = labels.clone().find(|(name, _)| *name == matcher.name).map_or("", |(_, value)| value);
            matcher.matches(value)
        })
    }

    /// The selector for blocks of this label policy: names and values are cut as theirs are, so that `=` and `!=` mean whole strings.
    ///
    /// Regular expressions stay as they are, and see what is left of a value that was cut.
    #[must_use]
    pub fn under(&self, policy: &LabelPolicy) -> Self {
        let cut = |matcher: &Matcher| Matcher {
            name: policy.name(&matcher.name).into_owned(),
            value: match matcher.regex {
                Some(_) => matcher.value.clone(),
                None => policy.value(&matcher.value).into_owned(),
            },
            ..matcher.clone()
        };
        Self::new(self.matchers.iter().map(cut).collect())
    }
}

impl fmt::Display for Selector {
    /// In one way for one list of matchers: `up{job="api"}` is written `{job="api",__name__="up"}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, matcher) in self.matchers.iter().enumerate() {
            write!(f, "{}{matcher}", if at > 0 { "," } else { "" })?;
        }
        f.write_str("}")
    }
}
