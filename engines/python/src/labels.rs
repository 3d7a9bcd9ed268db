//! Arguments that are labels or selectors, and results that are strings.

use std::collections::HashMap;

use chronoxide_select::{Matcher, Selector};
use pyo3::{PyErr, PyResult};

use crate::errors::{CorruptBlockError, SelectorError};

/// Labels of one series, as an argument.
pub(crate) type Labels = HashMap<String, String>;

/// Returns labels as pairs.
pub(crate) fn pairs(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, value)| (&**name, &**value)).collect()
}

/// Parses a selector; no selector selects all series.
pub(crate) fn parse(selector: Option<&str>) -> PyResult<Option<Selector>> {
    let parse = |text: &str| Selector::parse_any(text).map_err(|error| SelectorError::new_err(error.to_string()));
    selector.map(parse).transpose()
}

/// Returns the matchers of a selector; none if there is none.
pub(crate) fn matchers(selector: &Option<Selector>) -> &[Matcher] {
    selector.as_ref().map_or(&[], Selector::matchers)
}

/// Returns names or values of labels as text.
pub(crate) fn texts(strings: Vec<&[u8]>) -> PyResult<Vec<String>> {
    strings.into_iter().map(|bytes| text(bytes).map(str::to_owned)).collect()
}

/// Returns a name or value of a label as text. Only a damaged block has others.
fn text(bytes: &[u8]) -> PyResult<&str> {
    let damaged = |error| -> PyErr { CorruptBlockError::new_err(format!("a name or value is not text: {error}")) };
    std::str::from_utf8(bytes).map_err(damaged)
}
