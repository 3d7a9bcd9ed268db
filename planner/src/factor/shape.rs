//! A table as its records and packed rows see it.

use chronoxide_format::bits::width;

/// What a shape has besides counts, columns and leaves: `base_width` and `end_width` (spec, section 5).
const SHAPE_WIDTH_BITS: u64 = 6 + 4;

/// The labels behind one code of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    pub count: u64,
    pub first_key: u32,
}

impl Leaves {
    /// Those of all columns together.
    pub(super) fn sum(columns: &[Self]) -> Self {
        Self {
            count: columns.iter().map(|column| column.count).sum(),
            first_key: columns.iter().map(|column| column.first_key).min().unwrap_or(0),
        }
    }
}

/// The records of a table and the bits of its rows.
#[derive(Debug)]
pub(super) struct Shape {
    /// Rows of the table.
    pub rows: u64,
    /// Its columns.
    pub columns: u64,
    /// Bits of a row.
    row_bits: u64,
    /// Bits of the largest base among the columns.
    base_bits: u64,
    /// Leaves that are written out.
    pub leaves: u64,
    /// The largest number of a column's domain.
    pub largest_domain: u64,
}

impl Shape {
    /// A table with these rows, whose columns have these domains and leaves.
    pub(super) fn from_rows(rows: &[u32], domains: &[u64], leaves: &[Leaves]) -> Self {
        let ranges = ranges(rows, domains.len());
        Self {
            rows: (rows.len() / domains.len()) as u64,
            columns: domains.len() as u64,
            row_bits: range_bits(&ranges),
            base_bits: bits(ranges.iter().map(|range| range.0.into()).max().unwrap_or(0)),
            leaves: written(leaves),
            largest_domain: domains.iter().copied().max().unwrap_or(0),
        }
    }

    /// Bytes of the rows.
    pub(super) fn row_bytes(&self) -> u64 {
        (self.rows * self.row_bits).div_ceil(8)
    }

    /// Bits of the shape, where its counts and a column's domain have so many (spec, section 5).
    pub(super) fn shape_bits(&self, count_bits: u64, domain_bits: u64) -> u64 {
        let head = count_bits + SHAPE_WIDTH_BITS;
        let column = domain_bits + self.base_bits + bits(self.row_bits);
        head + self.columns * column + self.leaves * bits(self.columns - 1)
    }
}

/// Leaves that are written out: all, unless there is one a column and they stand in the order of their keys.
fn written(leaves: &[Leaves]) -> u64 {
    let plain = leaves.iter().all(|column| column.count == 1) && leaves.is_sorted_by_key(|column| column.first_key);
    if leaves.len() == 1 || plain { 0 } else { leaves.iter().map(|column| column.count).sum() }
}

/// Bytes of rows with so many columns.
pub(super) fn row_bytes(rows: &[u32], columns: usize) -> u64 {
    ((rows.len() / columns) as u64 * row_bits(rows, columns)).div_ceil(8)
}

/// Bits of a row among rows with so many columns.
pub(crate) fn row_bits(rows: &[u32], columns: usize) -> u64 {
    range_bits(&ranges(rows, columns))
}

/// The smallest and the largest code of each column.
fn ranges(rows: &[u32], columns: usize) -> Vec<(u32, u32)> {
    let mut ranges = vec![(u32::MAX, 0); columns];
    for row in rows.chunks_exact(columns) {
        for (range, &code) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(code), range.1.max(code));
        }
    }
    ranges
}

fn range_bits(ranges: &[(u32, u32)]) -> u64 {
    ranges.iter().map(|&(least, most)| bits((most - least).into())).sum()
}

/// The bits of a field whose largest value is this.
pub(super) fn bits(largest: u64) -> u64 {
    width(largest).into()
}
