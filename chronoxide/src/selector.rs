//! [`Selector`]: which series a query is about.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use chronoxide_select::{Matcher, Operator, Patterns};

use crate::{Error, ErrorKind};

/// Matchers that a series must satisfy, with compiled regular expressions: parse it once, and query many times.
///
/// Texts are selectors of PromQL: `up`, `{job="api",pod=~"web-[0-9]+"}`, `{"http.method"!="GET"}`, with `=`, `!=`, `=~`
/// and `!~`, and regular expressions as in Prometheus. Ranges, `offset` and functions are refused. `{}` matches all
/// series. An absent label has the empty value.
///
/// ```
/// use chronoxide::{Operator, Selector};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let blocks = chronoxide::Blocks::open(path)?;
/// let pods: Selector = r#"up{pod=~"db-.*"}"#.parse()?;
/// let same = Selector::from_matchers([("__name__", Operator::Equal, "up"), ("pod", Operator::Matches, "db-.*")])?;
/// assert_eq!(blocks.query(&pods)?.count()?, blocks.query(&same)?.count()?);
/// # Ok::<(), chronoxide::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Selector(Vec<Matcher>);

impl Selector {
    /// Makes a selector of names, comparisons, and values or regular expressions. Without matchers, it matches all
    /// series.
    ///
    /// # Errors
    /// An error of kind `Usage` for an empty name, and for a regular expression that is invalid or too large.
    pub fn from_matchers<N: AsRef<str>, V: AsRef<str>>(
        matchers: impl IntoIterator<Item = (N, Operator, V)>,
    ) -> Result<Self, Error> {
        // The regular expressions of a selector have one bound.
        let mut patterns = Patterns::default();
        let matcher = |(name, operator, value): (N, Operator, V)| {
            let (name, value) = (name.as_ref(), value.as_ref());
            if name.is_empty() {
                return Err(Error::new(ErrorKind::Usage, "a matcher has an empty label name"));
            }
            let matcher = patterns.matcher(name, operator, value);
            matcher.map_err(|error| Error::new(ErrorKind::Usage, format!("matcher of {name}: {error}")))
        };
        Ok(Self(matchers.into_iter().map(matcher).collect::<Result<_, _>>()?))
    }

    pub(crate) fn matchers(&self) -> &[Matcher] {
        &self.0
    }

    /// Returns true if a series with these labels, which are sorted by name, matches.
    pub(crate) fn matches(&self, labels: &[(&str, &str)]) -> bool {
        self.0.iter().all(|matcher| {
            let found = labels.binary_search_by_key(&matcher.name(), |(name, _)| name);
            matcher.matches(found.ok().and_then(|place| labels.get(place)).map_or("", |(_, value)| value))
        })
    }
}

impl fmt::Display for Selector {
    /// Writes a selector that parses to this one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (number, matcher) in self.0.iter().enumerate() {
            write!(f, "{}{matcher}", if number > 0 { "," } else { "" })?;
        }
        f.write_str("}")
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = chronoxide_select::Selector::parse_any(text);
        Ok(Self::from(&parsed?))
    }
}

impl TryFrom<&str> for Selector {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        text.parse()
    }
}

impl TryFrom<String> for Selector {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl TryFrom<&String> for Selector {
    type Error = Error;

    fn try_from(text: &String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<&Self> for Selector {
    /// Shares the compiled regular expressions.
    fn from(selector: &Self) -> Self {
        selector.clone()
    }
}

impl From<&chronoxide_select::Selector> for Selector {
    /// Shares the compiled regular expressions.
    fn from(parsed: &chronoxide_select::Selector) -> Self {
        Self(parsed.matchers().to_vec())
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
