//! Columns, widths and rows of a table (spec, section 7).

use super::BuildError;
use crate::bits::{BitWriter, width};
use crate::identity::Fingerprint;
use crate::layout::RowForm;
use crate::number::{index, length};
use crate::view::Domain;

/// A keyset whose rows are written later: the content of its records.
#[derive(Clone, Copy, Debug)]
pub struct KeysetOutline<'a> {
    /// Domains of its columns; the last may be a pool.
    pub domains: &'a [Domain],
    /// Number of rows, at least one.
    pub row_count: u32,
    /// The smallest and the largest code of each column.
    pub ranges: &'a [(u32, u32)],
    /// Number of series of all rows.
    pub series_count: u64,
    /// The sum of their fingerprints.
    pub fingerprint: Fingerprint,
}

/// A column's codes, before they are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub base: u32,
    pub width: u32,
}

/// Returns the smallest and the largest code of each column of `rows`, row after row.
pub(super) fn ranges(rows: &[u32], columns: usize) -> Vec<(u32, u32)> {
    let mut ranges = vec![(u32::MAX, 0); columns];
    for row in rows.chunks_exact(columns.max(1)) {
        for (range, &code) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(code), range.1.max(code));
        }
    }
    ranges
}

/// Packs rows of one table.
#[derive(Clone, Debug)]
pub struct RowPacker {
    spans: Vec<Span>,
}

impl RowPacker {
    /// Returns a packer for columns whose codes are within these ranges.
    pub(super) fn new(ranges: &[(u32, u32)], form: RowForm) -> Self {
        let span = |&(least, most): &(u32, u32)| Span { base: least, width: form.width(most.saturating_sub(least)) };
        Self { spans: ranges.iter().map(span).collect() }
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the number of bits of a row.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.spans.iter().map(|span| span.width).sum()
    }

    /// Returns the number of bytes of `row_count` rows.
    pub(super) fn len(&self, row_count: u32) -> u64 {
        (u64::from(row_count) * u64::from(self.row_bits())).div_ceil(8)
    }

    /// Appends rows, row after row. Codes must be within the ranges of the packer.
    ///
    /// # Errors
    /// `Unknown` for a code outside its range.
    pub fn pack(&self, rows: &[u32], writer: &mut BitWriter) -> Result<(), BuildError> {
        for row in rows.chunks_exact(self.spans.len().max(1)) {
            for (&code, span) in row.iter().zip(&self.spans) {
                let field = u64::from(code.wrapping_sub(span.base));
                if width(field) > span.width {
                    let (number, count) = (code.into(), u64::from(span.base) + (1 << span.width));
                    return Err(BuildError::Unknown { what: "code", number, count });
                }
                writer.push(field, span.width);
            }
        }
        Ok(())
    }
}

/// Returns an error for a code that is not below the count of its domain.
pub(super) fn check_codes(ranges: &[(u32, u32)], counts: &[usize]) -> Result<(), BuildError> {
    for (&(least, most), &count) in ranges.iter().zip(counts) {
        let largest = most.max(least);
        if index(largest) >= count {
            return Err(BuildError::Unknown { what: "code", number: largest.into(), count: length(count) });
        }
    }
    Ok(())
}
