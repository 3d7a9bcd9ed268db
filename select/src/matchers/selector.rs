//! Selectors and matchers.

use std::fmt;
use std::sync::Arc;

use chronoxide_format::policy::LabelPolicy;

use crate::SelectorError;
use crate::matchers::pattern::Pattern;
use crate::matchers::patterns::Patterns;
use crate::matchers::quoted::quote;

/// Label that holds the name of a metric.
pub(crate) const METRIC_NAME: &str = "__name__";

/// Comparison of a matcher.
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
    /// Returns the operator as text.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::MatchesNot => "!~",
        }
    }
}

/// A condition on the value of one label.
///
/// An absent label has the empty value: see [`matches("")`](Self::matches).
#[derive(Debug, Clone)]
pub struct Matcher {
    name: String,
    operator: Operator,
    /// Text between the quotes; a regular expression as the user wrote it.
    value: String,
    /// Compiled regular expression of `=~` and `!~`. Shared: each query copies its matchers to adapt them.
    pattern: Option<Arc<Pattern>>,
}

impl Matcher {
    /// Creates a matcher for the name of a metric.
    pub(crate) fn metric_name(value: String) -> Self {
        Self { name: METRIC_NAME.to_owned(), operator: Operator::Equal, value, pattern: None }
    }

    pub(crate) fn from_parts(name: String, operator: Operator, value: String, pattern: Option<Arc<Pattern>>) -> Self {
        Self { name, operator, value, pattern }
    }

    /// Creates a matcher from its parts. `value` is a string, or a regular expression in RE2 syntax for
    /// [`Operator::Matches`] and [`Operator::MatchesNot`].
    ///
    /// ```
    /// use chronoxide_select::{Matcher, Operator};
    ///
    /// let matcher = Matcher::new("pod", Operator::Matches, "canary-.*")?;
    /// assert!(matcher.matches("canary-7") && !matcher.matches("web-1"));
    /// # Ok::<(), chronoxide_select::SelectorError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the regular expression is invalid or too large.
    pub fn new(name: impl Into<String>, operator: Operator, value: impl Into<String>) -> Result<Self, SelectorError> {
        Patterns::default().matcher(name, operator, value)
    }

    /// Returns the name of the label.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the operator.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the value to compare with, or the regular expression as it was given.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns true if a label with this value satisfies the matcher. An absent label has the empty value.
    ///
    /// Costs time linear in the length of the value.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        let is_same = match &self.pattern {
            Some(pattern) => pattern.is_match(value),
            None => value == self.value,
        };
        is_same != self.is_negated()
    }

    /// Returns true for `!=` and `!~`.
    pub(crate) fn is_negated(&self) -> bool {
        matches!(self.operator, Operator::NotEqual | Operator::MatchesNot)
    }

    /// Returns the compiled regular expression of `=~` and `!~`.
    pub(crate) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_deref()
    }

    #[cfg(test)]
    pub(crate) fn shared_pattern(&self) -> Option<&Arc<Pattern>> {
        self.pattern.as_ref()
    }

    /// Returns the matcher for blocks with this label policy; see [`Selector::under`].
    pub(crate) fn under(&self, policy: &LabelPolicy) -> Self {
        Self {
            name: policy.name(&self.name).into_owned(),
            value: match self.pattern {
                Some(_) => self.value.clone(),
                None => policy.value(&self.value).into_owned(),
            },
            ..self.clone()
        }
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

/// Returns true if a label name needs no quotes.
fn is_plain(name: &str) -> bool {
    let letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// A selector: matches a series if all [`Matcher`]s are satisfied.
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

    /// Returns true if every matcher matches the empty value, so that series without any of the labels match. PromQL
    /// refuses such a selector.
    #[must_use]
    pub fn matches_empty(&self) -> bool {
        self.matchers.iter().all(|matcher| matcher.matches(""))
    }

    /// Returns the matchers; none only after [`Selector::parse_any`]. Several may name the same label.
    #[must_use]
    pub fn matchers(&self) -> &[Matcher] {
        &self.matchers
    }

    /// Returns true if the selector matches a series with these labels, in any order.
    ///
    /// This is the reference implementation. Code that evaluates whole blocks asks each [`Matcher`] once per distinct
    /// value and must agree with it.
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

    /// Returns the selector for blocks with this label policy: names and values are cut as in these blocks, so that `=`
    /// and `!=` compare whole strings.
    ///
    /// Regular expressions are not changed, and see the stored form of a value that was cut.
    #[must_use]
    pub fn under(&self, policy: &LabelPolicy) -> Self {
        Self::new(self.matchers.iter().map(|matcher| matcher.under(policy)).collect())
    }
}

/// A selector of matchers that were made one by one; without any, it matches all series.
impl From<Vec<Matcher>> for Selector {
    fn from(matchers: Vec<Matcher>) -> Self {
        Self::new(matchers)
    }
}

impl fmt::Display for Selector {
    /// Writes equal lists of matchers in the same way: `up{job="api"}` becomes `{job="api",__name__="up"}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, matcher) in self.matchers.iter().enumerate() {
            write!(f, "{}{matcher}", if at > 0 { "," } else { "" })?;
        }
        f.write_str("}")
    }
}
