//! Shapes: the columns of a table, and the column of each of its leaves (spec, section 5).

use super::record::Words;
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
    #[inline]
    pub(crate) fn get(&self, catalogue: &Bits<'_>, table: u32, offset: u64) -> Result<Shape> {
        let place = Place::Table(table.into());
        let start = self.start + offset;
        let [column_count, leaf_count, base_width, end_width] = match self.head.peek(catalogue, start, &self.head_ends)
        {
            Some(fields) => fields,
            None => catalogue.record(start, self.head_ends)?,
        };
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

    /// Returns a reader of all columns in order, or `None` if a column's record is too long for one load.
    #[inline]
    pub(crate) fn walk(&self) -> Option<ColumnWalk> {
        let [domain, base, stride] = self.column_ends;
        (stride <= 57).then(|| ColumnWalk {
            bit: self.columns_bit,
            stride: stride.into(),
            base_shift: domain,
            end_shift: base,
            domain_mask: mask(domain),
            base_mask: mask(self.base_width),
            end_mask: mask(self.end_width),
        })
    }

    /// `domain`, `base` and `end_bit` of column `column`, which the table must have.
    #[inline(always)]
    pub(crate) fn column(&self, catalogue: &Bits<'_>, column: u32) -> Result<[u64; 3]> {
        let [_, _, stride] = self.column_ends;
        catalogue.record(self.columns_bit + u64::from(column) * u64::from(stride), self.column_ends)
    }

    /// Returns a reader of the column of each leaf that is written out, in order.
    pub(crate) const fn leaf_walk(&self) -> LeafWalk {
        LeafWalk { bit: self.leaves_bit, width: self.leaf_width, word: 0, left: 0 }
    }

    /// Calls `each` with the column of each leaf that is written out. Reads as many as possible per load.
    pub(crate) fn for_each_leaf(&self, catalogue: &Bits<'_>, mut each: impl FnMut(u32)) -> Result<()> {
        let (mut bit, mut left) = (self.leaves_bit, self.leaf_count);
        let at_once = 48_u32.checked_div(self.leaf_width).unwrap_or(0).max(1);
        while left > 0 {
            let count = left.min(at_once);
            let mut word = catalogue.get(bit, count * self.leaf_width)?;
            for _ in 0..count {
                each(low32(word & mask(self.leaf_width)));
                word >>= self.leaf_width;
            }
            bit += u64::from(count * self.leaf_width);
            left -= count;
        }
        Ok(())
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
    stride: u64,
    base_shift: u32,
    end_shift: u32,
    domain_mask: u64,
    base_mask: u64,
    end_mask: u64,
}

impl ColumnWalk {
    pub(crate) const NONE: Self =
        Self { bit: 0, stride: 0, base_shift: 0, end_shift: 0, domain_mask: 0, base_mask: 0, end_mask: 0 };

    /// `domain`, `base` and `end_bit` of the next column, which the table must have.
    #[inline(always)]
    pub(crate) fn next(&mut self, catalogue: &Bits<'_>) -> Option<[u64; 3]> {
        let word = catalogue.peek(self.bit)?;
        self.bit += self.stride;
        Some([
            word & self.domain_mask,
            (word >> self.base_shift) & self.base_mask,
            (word >> self.end_shift) & self.end_mask,
        ])
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
    pub(crate) fn next(&mut self, catalogue: &Bits<'_>) -> Option<u32> {
        if self.left == 0 {
            let count = 57_u32.checked_div(self.width)?;
            // Nothing changes before the load succeeds: the next call must not use an earlier word.
            self.word = catalogue.peek(self.bit)?;
            self.left = count;
            self.bit += u64::from(count * self.width);
        }
        let column = low32(self.word & mask(self.width));
        self.word >>= self.width;
        self.left -= 1;
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;

    #[test]
    fn a_walk_over_leaves_that_cannot_be_loaded_has_no_leaf_at_each_call() {
        let bytes = [0; 4];
        let mut walk = LeafWalk { bit: 0, width: 3, ..LeafWalk::NONE };
        let catalogue = Bits::new(&bytes, Rule::CatalogueLength);
        assert_eq!([walk.next(&catalogue), walk.next(&catalogue)], [None, None]);
        // Once the load succeeds, the walk goes on: a chunk may have been checked in between.
        let bytes = 0b110_101_100_u64.to_le_bytes();
        let catalogue = Bits::new(&bytes, Rule::CatalogueLength);
        assert_eq!([walk.next(&catalogue), walk.next(&catalogue)], [Some(0b100), Some(0b101)]);
    }
}
