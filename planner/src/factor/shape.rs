//! Sizes of one table: its records and packed rows.

use chronoxide_format::bits::width;

/// Bits of a shape besides counts, columns and leaves: `base_width` and `end_width` (spec, section 5).
const SHAPE_WIDTH_BITS: u64 = 6 + 4;

/// Labels behind one code of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    pub count: u64,
    pub first_key: u32,
}

impl Leaves {
    /// Returns the leaves of all columns.
    pub(super) fn sum(columns: &[Self]) -> Self {
        Self {
            count: columns.iter().map(|column| column.count).sum(),
            first_key: columns.iter().map(|column| column.first_key).min().unwrap_or(0),
        }
    }
}

/// Sizes of the records of a table, and bits of its rows.
#[derive(Debug)]
pub(super) struct Shape {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
    /// Bits per row.
    row_bits: u64,
    /// Bits of the largest base of a column.
    base_bits: u64,
    /// Number of leaves that are stored.
    pub leaves: u64,
    /// Largest domain of a column, by the number of its table.
    pub largest_domain: u64,
}

impl Shape {
    /// Computes the shape of a table with these rows, domains and leaves of columns.
    pub(super) fn from_rows(rows: &[u32], domains: &[u64], leaves: &[Leaves]) -> Self {
        let ranges = column_ranges(rows, domains.len());
        Self {
            rows: (rows.len() / domains.len()) as u64,
            columns: domains.len() as u64,
            row_bits: range_bits(&ranges),
            base_bits: bits(ranges.iter().map(|range| range.0.into()).max().unwrap_or(0)),
            leaves: written(leaves),
            largest_domain: domains.iter().copied().max().unwrap_or(0),
        }
    }

    /// Returns the bytes of the rows.
    pub(super) fn row_bytes(&self) -> u64 {
        (self.rows * self.row_bits).div_ceil(8)
    }

    /// Returns the bits of the shape, given the bits of its counts and domains (spec, section 5).
    pub(super) fn shape_bits(&self, count_bits: u64, domain_bits: u64) -> u64 {
        let head = count_bits + SHAPE_WIDTH_BITS;
        let column = domain_bits + self.base_bits + bits(self.row_bits);
        head + self.columns * column + self.leaves * bits(self.columns - 1)
    }
}

/// Returns the number of leaves that are stored: all, unless each column has one and they are in order of their keys.
fn written(leaves: &[Leaves]) -> u64 {
    let plain = leaves.iter().all(|column| column.count == 1) && leaves.is_sorted_by_key(|column| column.first_key);
    if leaves.len() == 1 || plain { 0 } else { leaves.iter().map(|column| column.count).sum() }
}

/// Returns the bytes of rows with this number of columns.
pub(super) fn row_bytes(rows: &[u32], columns: usize) -> u64 {
    ((rows.len() / columns) as u64 * row_bits(rows, columns)).div_ceil(8)
}

/// Returns the bits of a row among rows with this number of columns.
pub(super) fn row_bits(rows: &[u32], columns: usize) -> u64 {
    range_bits(&column_ranges(rows, columns))
}

/// Returns the smallest and the largest code of each column.
pub(crate) fn column_ranges(rows: &[u32], columns: usize) -> Vec<(u32, u32)> {
    // Separate lists, so that several columns are compared at once.
    let (mut least, mut most) = (vec![u32::MAX; columns], vec![0; columns]);
    for row in rows.chunks_exact(columns) {
        for ((least, most), &code) in least.iter_mut().zip(&mut most).zip(row) {
            *least = code.min(*least);
            *most = code.max(*most);
        }
    }
    least.into_iter().zip(most).collect()
}

fn range_bits(ranges: &[(u32, u32)]) -> u64 {
    ranges.iter().map(|&(least, most)| bits((most - least).into())).sum()
}

/// Returns the bits of a field with this maximum.
pub(super) fn bits(largest: u64) -> u64 {
    width(largest).into()
}
