//! Selectors of a command line, with bounds for all of them.

use std::cell::RefCell;

use chronoxide_select::{Patterns, Selector, SelectorError};

thread_local! {
    /// Shared by all options of a command line: the parser of each sees its own text only.
    static PATTERNS: RefCell<Patterns<'static>> = RefCell::default();
}

/// Parses a selector of an option that may drop series; see [`Patterns::parse`].
///
/// # Errors
/// As [`Patterns::parse`].
pub(crate) fn narrow(text: &str) -> Result<Selector, SelectorError> {
    PATTERNS.with_borrow_mut(|patterns| patterns.parse(text))
}

/// Parses a selector of a query; see [`Patterns::parse_any`].
///
/// # Errors
/// As [`Patterns::parse_any`].
pub(crate) fn any(text: &str) -> Result<Selector, SelectorError> {
    PATTERNS.with_borrow_mut(|patterns| patterns.parse_any(text))
}
