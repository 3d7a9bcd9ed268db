//! Result of `cardinality`.

use chronoxide_inspect::query::Cardinality;
use pyo3::prelude::*;

use crate::errors::ChronoxideError;
use crate::opened::{Asked, Opened};

/// Returns the numbers of series and values of blocks as a dict, with lists of at most `limit` entries. It has the
/// fields of `chronoxide-inspect cardinality --json`.
pub(crate) fn cardinality<'py>(
    py: Python<'py>,
    opened: &Opened,
    asked: Asked<'_>,
    limit: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let json = opened.ask(py, asked, |query| Ok(serde_json::to_string(&Cardinality::new(&query, limit)?)))?;
    let json = json.map_err(|error| ChronoxideError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}
