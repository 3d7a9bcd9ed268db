//! [`Patterns`]: the bounds of selectors, and their compiled regular expressions.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::matchers::parse::Reason;
use crate::matchers::pattern::Pattern;
use crate::{Limits, Matcher, Operator, Selector, SelectorError};

/// Maximum number of matchers.
pub(crate) const MAX_MATCHERS: usize = 1 << 14;
/// Maximum length of distinct regular expressions in bytes: enough for the names of ten thousand pods.
pub(crate) const MAX_TEXT_LEN: usize = 1 << 20;
/// Maximum memory of compiled regular expressions in bytes. A pattern of ten characters can take 10 MiB and a second.
pub(crate) const MAX_COMPILED_LEN: usize = 64 << 20;

/// Parser of selectors that belong together, such as those of one command line, with bounds for all of them: 16,384
/// matchers, and 1 MiB of regular expressions that take at most 64 MiB when compiled. A regular expression that occurs
/// several times is compiled once.
///
/// [`Selector::parse_any`], `str::parse` and [`Matcher::new`] use one for a single selector or matcher.
///
/// ```
/// use std::time::Duration;
///
/// use chronoxide_select::{Limits, Patterns};
///
/// let mut patterns = Patterns::default().with_limits(Limits::default().with_timeout(Duration::from_secs(2)));
/// let kept = patterns.parse(r#"{pod=~"web-.*"}"#)?;
/// let dropped = patterns.parse(r#"{pod!~"web-.*",job="api"}"#)?;
/// assert!(kept.matches_labels([("pod", "web-1")]) && !dropped.matches_labels([("pod", "web-1")]));
/// # Ok::<(), chronoxide_select::SelectorError>(())
/// ```
#[derive(Debug, Default)]
pub struct Patterns<'a> {
    compiled: HashMap<String, Arc<Pattern>>,
    matcher_count: usize,
    /// Bytes of the distinct regular expressions.
    text_len: usize,
    /// Bytes of their compiled forms.
    compiled_len: usize,
    limits: Limits<'a>,
}

impl<'a> Patterns<'a> {
    /// Sets the limits of time, and the flag that cancels: they are checked before each regular expression is compiled,
    /// which can take a second. Pass the limits of the query, so that its time includes that of parsing.
    #[must_use]
    pub fn with_limits(self, limits: Limits<'a>) -> Self {
        Self { limits, ..self }
    }

    /// Parses a selector; refuses one whose matchers all match the empty value, as `str::parse` does.
    ///
    /// # Errors
    /// Returns an error if the text is not a selector, a bound is exceeded, or the limits of time are.
    pub fn parse(&mut self, text: &str) -> Result<Selector, SelectorError> {
        let selector = self.parse_any(text)?;
        if selector.matches_empty() {
            return Err(SelectorError::new(text, None, Reason::MatchesAll));
        }
        Ok(selector)
    }

    /// Parses a selector as [`Selector::parse_any`] does.
    ///
    /// # Errors
    /// As [`Patterns::parse`].
    pub fn parse_any(&mut self, text: &str) -> Result<Selector, SelectorError> {
        crate::matchers::parse::selector(text, self).map(Selector::new)
    }

    /// Makes a matcher as [`Matcher::new`] does.
    ///
    /// # Errors
    /// As [`Patterns::parse`].
    pub fn matcher(
        &mut self,
        name: impl Into<String>,
        operator: Operator,
        value: impl Into<String>,
    ) -> Result<Matcher, SelectorError> {
        let value = value.into();
        let matcher = self.count_matcher().and_then(|()| self.compile(name.into(), operator, value.clone()));
        matcher.map_err(|reason| SelectorError::new(&value, None, reason))
    }

    /// Counts a matcher.
    pub(crate) fn count_matcher(&mut self) -> Result<(), Reason> {
        if self.matcher_count == MAX_MATCHERS {
            return Err(Reason::TooManyMatchers);
        }
        self.matcher_count += 1;
        Ok(())
    }

    /// Makes a matcher that was counted, and compiles its regular expression if it has a new one.
    pub(crate) fn compile(&mut self, name: String, operator: Operator, value: String) -> Result<Matcher, Reason> {
        let pattern = match operator {
            Operator::Equal | Operator::NotEqual => None,
            Operator::Matches | Operator::MatchesNot => Some(self.pattern(&value)?),
        };
        Ok(Matcher::from_parts(name, operator, value, pattern))
    }

    fn pattern(&mut self, text: &str) -> Result<Arc<Pattern>, Reason> {
        if let Some(known) = self.compiled.get(text) {
            return Ok(Arc::clone(known));
        }
        self.limits.check()?;
        self.text_len = self.text_len.saturating_add(text.len());
        if self.text_len > MAX_TEXT_LEN {
            return Err(Reason::TooLong);
        }
        let pattern = Arc::new(Pattern::new(text)?);
        self.compiled_len = self.compiled_len.saturating_add(pattern.memory_len());
        if self.compiled_len > MAX_COMPILED_LEN {
            return Err(Reason::TooLarge);
        }
        self.compiled.insert(text.to_owned(), Arc::clone(&pattern));
        Ok(pattern)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::SelectError;

    fn reason(result: Result<Selector, SelectorError>) -> String {
        result.expect_err("a bound is exceeded").to_string()
    }

    /// Its DFA has more than 2^16 states, so that it runs on automata that are made as they are needed.
    fn heavy(number: usize) -> String {
        format!("(a|b)*a(a|b){{16}}{number}")
    }

    #[test]
    fn equal_regular_expressions_are_compiled_once() {
        let mut patterns = Patterns::default();
        let first = patterns.parse(r#"{a=~"web-.*x",b!~"web-.*x"}"#).expect("valid");
        let len = patterns.compiled_len;
        let second = patterns.parse_any(r#"{a!~"web-.*x"}"#).expect("valid");
        assert_eq!((patterns.compiled.len(), patterns.compiled_len, patterns.text_len), (1, len, 7));
        let [Some(a), Some(b)] = [0, 1].map(|place| first.matchers()[place].shared_pattern()) else {
            panic!("patterns")
        };
        let other = second.matchers()[0].shared_pattern().expect("a pattern");
        assert!(Arc::ptr_eq(a, b) && Arc::ptr_eq(a, other));
    }

    #[test]
    fn compiled_regular_expressions_have_a_bound_in_all() {
        // Each has room for 4 MiB of states.
        let text = |count| {
            let matchers: Vec<String> = (0..count).map(|number| format!("a!~{:?}", heavy(number))).collect();
            format!("{{{}}}", matchers.join(","))
        };
        let mut patterns = Patterns::default();
        patterns.parse_any(&text(12)).expect("within the bound");
        let expected = "the regular expressions take more than 64 MiB when compiled: use fewer or simpler ones";
        assert!(reason(patterns.parse_any(&text(20))).starts_with(expected));
        assert!(reason(text(20).parse()).starts_with(expected), "of one selector");
        let mut patterns = Patterns::default();
        for number in 0..12 {
            patterns.matcher("a", Operator::Matches, heavy(number)).expect("within the bound");
        }
        let error = (12..20).find_map(|number| patterns.matcher("a", Operator::Matches, heavy(number)).err());
        assert_eq!(error.expect("too large").to_string(), expected);
    }

    #[test]
    fn texts_and_matchers_have_bounds_in_all() {
        let mut patterns = Patterns::default();
        let text = |char: &str, len| format!("{{a=~\"{}\"}}", char.repeat(len));
        patterns.parse(&text("x", 50_000)).expect("within the bound");
        patterns.parse(&text("x", 50_000)).expect("known");
        // Refused before it is compiled, which would tell the same of its memory.
        let error = reason(patterns.parse(&text("y", MAX_TEXT_LEN - 49_999)));
        assert!(error.starts_with("the regular expressions have more than 1 MiB of text"), "{error}");
        let mut patterns = Patterns::default();
        let half = format!("{{{}}}", vec!["a=\"b\""; MAX_MATCHERS / 2].join(","));
        patterns.parse(&half).expect("within the bound");
        patterns.parse(&half).expect("within the bound");
        assert_eq!(reason(patterns.parse("up")), "more than 16384 matchers");
    }

    #[test]
    fn limits_of_time_begin_before_parsing() {
        let mut patterns = Patterns::default().with_limits(Limits::default().with_timeout(Duration::ZERO));
        patterns.parse(r#"{a="b"}"#).expect("nothing to compile");
        assert!(reason(patterns.parse(r#"{a=~"b.*"}"#)).starts_with(&SelectError::DeadlineExceeded.to_string()));
    }
}
