//! Shapes: the columns of a table, and the column of each of its leaves (spec, section 5).

use super::record::{WORD_BITS, Words};
use crate::bits::{Bits, mask, width};
use crate::error::{Place, corrupt};
use crate::layout::{BASE_WIDTH_BITS, END_WIDTH_BITS, MAX_COLUMNS, MAX_LABELS};
use crate::number::low32;
use crate::{Result, Rule};

/// The bit stream of all shapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    /// First bit in the catalogue.
    start: u64,
    bits: u64,
    /// End of each field before the columns.
    head_ends: [u32; 4],
    head: Words<4>,
    domain_width: u32,
}

impl Shapes {
    pub(crate) fn new(start: u64, bits: u64, [column_count, leaf_count, domain]: [u8; 3]) -> Self {
        let mut end = 0;
        let head_ends = [column_count.into(), leaf_count.into(), BASE_WIDTH_BITS, END_WIDTH_BITS].map(|width: u32| {
            end += width;
            end
        });
        Self { start, bits, head_ends, head: Words::new(head_ends), domain_width: domain.into() }
    }

    /// Returns the first bit after the last shape.
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.bits
    }

    /// Returns the number of bits of all shapes.
    pub(crate) const fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the shape of table `table`, which starts at bit `offset` of the stream.
    #[inline(always)]
    pub(crate) fn get(&self, catalogue: &Bits<'_>, table: u32, offset: u64) -> Result<Shape> {
        let place = Place::Table(table.into());
        let start = self.start + offset;
        let [column_count, leaf_count, base_width, end_width] = self.head.get(catalogue, start, &self.head_ends)?;
        if column_count == 0 || column_count > u64::from(MAX_COLUMNS) {
            return Err(corrupt(Rule::TableColumns, place, column_count, MAX_COLUMNS.into()));
        }
        if leaf_count > u64::from(MAX_LABELS) {
            return Err(corrupt(Rule::LeavesWritten, place, leaf_count, MAX_LABELS.into()));
        }
        if base_width > 32 {
            return Err(corrupt(Rule::TableColumns, place, base_width, 32));
        }
        let [_, _, _, head] = self.head_ends;
        let base_end = self.domain_width + low32(base_width);
        let column_ends = [self.domain_width, base_end, base_end + low32(end_width)];
        let columns_bit = start + u64::from(head);
        let leaves_bit = columns_bit + column_count * u64::from(base_end + low32(end_width));
        let leaf_width = width(column_count - 1);
        let shape = Shape {
            column_count: low32(column_count),
            leaf_count: low32(leaf_count),
            base_width: low32(base_width),
            end_width: low32(end_width),
            columns_bit,
            column_ends,
            leaves_bit,
            leaf_width,
        };
        if shape.end() > self.end() {
            return Err(corrupt(Rule::TableColumns, place, shape.end() - self.start, self.bits));
        }
        Ok(shape)
    }

    /// Returns the end of a shape in the stream.
    pub(crate) fn shape_end(&self, shape: &Shape) -> u64 {
        shape.end() - self.start
    }

    /// Returns the unused bits after the last shape.
    pub(crate) fn slack(&self) -> (u64, u64) {
        (self.end(), self.end().div_ceil(8) * 8)
    }
}

/// The columns of a table, and the column of each leaf if leaves are written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub column_count: u32,
    /// Number of leaves that are written out; may be 0.
    pub leaf_count: u32,
    pub base_width: u32,
    pub end_width: u32,
    columns_bit: u64,
    /// End of each field of a column's record.
    column_ends: [u32; 3],
    leaves_bit: u64,
    leaf_width: u32,
}

impl Shape {
    fn end(&self) -> u64 {
        self.leaves_bit + u64::from(self.leaf_count) * u64::from(self.leaf_width)
    }

    /// `domain`, `base` and `end_bit` of column `column`, which the table must have.
    #[inline(always)]
    pub(crate) fn column(&self, catalogue: &Bits<'_>, column: u32) -> Result<[u64; 3]> {
        let [domain, base, stride] = self.column_ends;
        let bit = self.columns_bit + u64::from(column) * u64::from(stride);
        if stride > WORD_BITS {
            return Words::new(self.column_ends).get(catalogue, bit, &self.column_ends);
        }
        let word = catalogue.word(bit)?;
        Ok([word & mask(domain), (word >> domain) & mask(self.base_width), (word >> base) & mask(self.end_width)])
    }

    /// Returns a reader of the columns in order, from column `first` on, or `None` if a column's record is too long for
    /// one load.
    #[inline]
    pub(crate) fn column_walk(&self, first: u32) -> Option<ColumnWalk> {
        let [domain, base, stride] = self.column_ends;
        (stride <= WORD_BITS).then(|| ColumnWalk {
            bit: self.columns_bit + u64::from(first) * u64::from(stride),
            stride,
            shifts: [domain, base],
            masks: [domain, self.base_width, self.end_width].map(mask),
        })
    }

    /// Returns a reader of the column of each leaf that is written out, from leaf `first` on.
    #[inline]
    pub(crate) fn leaf_walk(&self, first: u32) -> LeafWalk {
        let bit = self.leaves_bit + u64::from(first) * u64::from(self.leaf_width);
        LeafWalk { bit, width: self.leaf_width, word: 0, left: 0 }
    }

    /// Returns the column of leaf `leaf`, which must be written out.
    #[inline(always)]
    pub(crate) fn leaf(&self, catalogue: &Bits<'_>, leaf: u32) -> Result<u32> {
        let bit = self.leaves_bit + u64::from(leaf) * u64::from(self.leaf_width);
        Ok(low32(catalogue.get(bit, self.leaf_width)?))
    }
}

/// Reads the columns of a table in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnWalk {
    bit: u64,
    stride: u32,
    shifts: [u32; 2],
    masks: [u64; 3],
}

impl ColumnWalk {
    pub(crate) const NONE: Self = Self { bit: 0, stride: 0, shifts: [0; 2], masks: [0; 3] };

    /// `domain`, `base` and `end_bit` of the next column, which the table must have.
    #[inline(always)]
    pub(crate) fn next(&mut self, catalogue: &Bits<'_>) -> Result<[u64; 3]> {
        let word = catalogue.word(self.bit)?;
        self.bit += u64::from(self.stride);
        let ([base, end], [domain_mask, base_mask, end_mask]) = (self.shifts, self.masks);
        // Shifts are below 64, which the compiler does not know.
        Ok([word & domain_mask, (word >> (base % 64)) & base_mask, (word >> (end % 64)) & end_mask])
    }
}

/// Reads the columns of the leaves of a table in order, many with one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafWalk {
    /// First bit that was not loaded.
    bit: u64,
    width: u32,
    word: u64,
    /// Leaves in `word`.
    left: u32,
}

impl LeafWalk {
    pub(crate) const NONE: Self = Self { bit: 0, width: 0, word: 0, left: 0 };

    /// Returns the column of the next leaf, which the table must have.
    #[inline(always)]
    pub(crate) fn next(&mut self, catalogue: &Bits<'_>) -> Result<u32> {
        if self.left == 0 {
            // All leaves of a table of one column are that column's.
            let count = WORD_BITS.checked_div(self.width).unwrap_or(u32::MAX);
            // Nothing changes before the load succeeds: the next call must not use an earlier word.
            self.word = if self.width > 0 { catalogue.word(self.bit)? } else { 0 };
            self.left = count;
            self.bit += u64::from(count) * u64::from(self.width);
        }
        let column = low32(self.word & mask(self.width));
        self.word >>= self.width;
        self.left -= 1;
        Ok(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;

    #[test]
    fn a_walk_over_leaves_that_cannot_be_loaded_fails_at_each_call() {
        let bytes = [0; 4];
        let mut walk = LeafWalk { bit: 0, width: 3, ..LeafWalk::NONE };
        let catalogue = Bits::new(&bytes, Rule::CatalogueLength);
        for _ in 0..2 {
            assert_eq!(walk.next(&catalogue).map_err(|error| error.rule()), Err(Rule::CatalogueLength));
        }
        // Once the load succeeds, the walk goes on: a chunk may have been checked in between.
        let bytes = 0b110_101_100_u64.to_le_bytes();
        let catalogue = Bits::new(&bytes, Rule::CatalogueLength);
        assert_eq!([walk.next(&catalogue), walk.next(&catalogue)], [Ok(0b100), Ok(0b101)]);
    }
}
