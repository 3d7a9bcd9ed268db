//! Columns, widths and rows of a table (spec, section 7).

use crate::bits::BitWriter;
use crate::layout::RowForm;

/// A column's codes, before they are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub base: u32,
    pub width: u32,
}

/// Smallest code and width of each column of rows that lie one after the other.
pub(super) fn spans(rows: &[u32], columns: usize, form: RowForm) -> Vec<Span> {
    let mut ranges = vec![(u32::MAX, 0); columns];
    for row in rows.chunks_exact(columns) {
        for (range, &code) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(code), range.1.max(code));
        }
    }
    ranges
        .into_iter()
        .map(|(least, most)| Span { base: least, width: form.width(most.saturating_sub(least)) })
        .collect()
}

/// Packs rows and fills the last byte.
pub(super) fn pack(writer: &mut BitWriter, rows: &[u32], spans: &[Span]) {
    for row in rows.chunks_exact(spans.len().max(1)) {
        for (&code, span) in row.iter().zip(spans) {
            writer.push(u64::from(code) - u64::from(span.base), span.width);
        }
    }
    writer.align();
}
