//! Tables of HTML for notebooks.

use std::collections::BTreeMap;
use std::fmt::Write;

use chronoxide_arrow::BlockTable;
use chronoxide_reader::KeyId;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::series::PySeriesIterator;

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 10;

/// Returns the label names of blocks with the most values as a table, below a title.
///
/// # Errors
/// An exception if a block is damaged in a byte that was read.
pub(crate) fn table(title: &str, blocks: &[BlockTable]) -> PyResult<String> {
    let mut values = BTreeMap::<String, u32>::new();
    for block in blocks {
        let view = block.block().view();
        for (key, name) in (0..).zip(block.label_names().map_err(Raise::raise)?) {
            let dictionary = view.dictionary(KeyId(key)).map_err(|error| block.block().locate(error).raise())?;
            let known = values.entry(name).or_default();
            *known = (*known).max(dictionary.map_or(0, |dictionary| dictionary.row_count()));
        }
    }
    let mut names: Vec<(String, u32)> = values.into_iter().collect();
    names.sort_by(|(left, more), (right, most)| most.cmp(more).then_with(|| left.cmp(right)));
    let mut html = format!("<b>{}</b><table><tr><th>label</th><th>values</th></tr>", escaped(title));
    for (name, count) in names.iter().take(MAX_ROWS) {
        let _ = write!(html, "<tr><td>{}</td><td>{count}</td></tr>", escaped(name));
    }
    if let Some(more @ 1..) = names.len().checked_sub(MAX_ROWS) {
        let _ = write!(html, "<tr><td>and {more} more</td><td></td></tr>");
    }
    html.push_str("</table>");
    Ok(html)
}

/// Returns the labels of the first series as a table, below a title.
pub(crate) fn series(py: Python<'_>, title: &str, series: &PySeriesIterator) -> PyResult<String> {
    let mut html = format!("<b>{}</b><table>", escaped(title));
    for _ in 0..MAX_ROWS {
        let Some(labels) = series.__next__(py)? else { break };
        let text = labels.str()?;
        let _ = write!(html, "<tr><td>{}</td></tr>", escaped(&text.to_string_lossy()));
    }
    html.push_str("</table>");
    Ok(html)
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
