//! Result of `cardinality`.

use chronoxide_inspect::query::{Cardinality, Queried};
use chronoxide_reader::FileError;
use chronoxide_select::{Patterns, Selector};
use pyo3::prelude::*;

use crate::errors::{ChronoxideError, Raise};
use crate::labels::parse;
use crate::opened::Opened;

/// Returns the numbers of series and values of blocks as a dict, with lists of at most `limit` entries. It has the
/// fields of `chronoxide-inspect cardinality --json`.
pub(crate) fn cardinality<'py>(
    py: Python<'py>,
    opened: &Opened,
    selector: Option<&str>,
    limit: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let selector = selector.map(|text| parse(&mut Patterns::default(), text)).transpose()?;
    let json = py.detach(|| {
        let selectors: Vec<Selector> = selector.into_iter().collect();
        let tables = opened.blocks.tables().map_err(Raise::raise)?;
        let mut queried = Vec::with_capacity(tables.len());
        for table in &tables {
            let queries = Queried::new(table.indexed(), &selectors);
            let queries = queries.map_err(|error| table.block().locate(error).raise())?;
            queried.push(queries);
        }
        let counts = Cardinality::new(&queried, limit);
        for (table, queries) in tables.iter().zip(&queried) {
            if let Some(damage) = queries.damage() {
                let error = FileError { path: table.block().path().map(ToOwned::to_owned), source: damage.to_string() };
                return Err(crate::errors::CorruptBlockError::new_err(error.to_string()));
            }
        }
        serde_json::to_string(&counts).map_err(|error| ChronoxideError::new_err(error.to_string()))
    })?;
    py.import("json")?.call_method1("loads", (json,))
}
