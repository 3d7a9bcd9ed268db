//! Tables of HTML for notebooks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use chronoxide::Blocks;
use chronoxide_text::human;
use pyo3::prelude::*;

use crate::series::PySeriesIterator;

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 10;

/// Returns the label names of blocks with the most distinct values as a table, below a title.
///
/// # Errors
/// An error if a block is damaged in a byte that was read.
pub(crate) fn table(title: &str, blocks: &Blocks) -> Result<String, chronoxide::Error> {
    let (query, mut names) = (blocks.query("{}")?, Vec::new());
    for name in query.label_names()? {
        names.push((name, query.label_values(name)?.len()));
    }
    names.sort_by(|(left, more), (right, most)| most.cmp(more).then_with(|| left.cmp(right)));
    let rows = names.iter().take(MAX_ROWS).map(|(name, count)| vec![Some((*name).to_owned()), Some(count.to_string())]);
    let header = ["label", "distinct values"].map(str::to_owned);
    Ok(html(title, &header, rows.collect(), names.len().saturating_sub(MAX_ROWS)))
}

/// Returns the labels of the first series as a table, a column per label, below a title.
pub(crate) fn series(py: Python<'_>, name: &str, count: usize, series: &PySeriesIterator) -> PyResult<String> {
    let mut first = Vec::new();
    while first.len() < MAX_ROWS
        && let Some(labels) = series.__next__(py)?
    {
        first.push(labels.extract::<BTreeMap<String, String>>()?);
    }
    let names: BTreeSet<String> = first.iter().flat_map(BTreeMap::keys).cloned().collect();
    let header: Vec<String> = names.into_iter().collect();
    let rows = first.iter().map(|labels| header.iter().map(|name| labels.get(name).cloned()).collect()).collect();
    Ok(html(&format!("{name}: {} series", human::count(count as u64)), &header, rows, count - first.len()))
}

fn html(title: &str, header: &[String], rows: Vec<Vec<Option<String>>>, more: usize) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect::<String>()
    };
    let mut html = format!("<b>{}</b><table>", escaped(title));
    let _ = write!(html, "<tr>{}</tr>", cells("th", &mut header.iter().map(String::as_str)));
    for row in rows {
        let _ =
            write!(html, "<tr>{}</tr>", cells("td", &mut row.iter().map(|cell| cell.as_deref().unwrap_or_default())));
    }
    html.push_str("</table>");
    if more > 0 {
        let _ = write!(html, "and {} more", human::count(more as u64));
    }
    html
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
