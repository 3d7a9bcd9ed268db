//! Codes of many rows of a table at once, which is faster than row by row.

use std::ops::Range;

use super::{Column, Table};
use crate::bits::{Window, mask};
use crate::error::{Place, corrupt_at};
use crate::number::{index, low32};
use crate::{Result, Rule};

/// Rows that are unpacked at once, so that their codes stay in the first-level cache.
pub(crate) const BLOCK_ROWS: u32 = 256;

impl<'data, 'view> Table<'data, 'view> {
    /// Appends the codes of `rows`, row after row. Rows out of range are skipped.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn push_codes(&self, rows: Range<u32>, codes: &mut Vec<u32>) -> Result<()> {
        self.push_each(rows, codes, |_| Some)
    }

    /// Like [`Table::push_codes`], but replaces each code of column `i` by `others[i][code]`. `others` has one slice
    /// per column.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or a code is not an index of its slice.
    pub fn push_other_codes(&self, rows: Range<u32>, others: &[&[u32]], codes: &mut Vec<u32>) -> Result<()> {
        self.push_each(rows, codes, |column| {
            let others = others.get(column).copied().unwrap_or_default();
            |code| others.get(index(code)).copied()
        })
    }

    /// Appends rows; `other(column)` returns the function that maps the codes of a column.
    fn push_each<F: Fn(u32) -> Option<u32>>(
        &self,
        rows: Range<u32>,
        codes: &mut Vec<u32>,
        other: impl Fn(usize) -> F,
    ) -> Result<()> {
        let columns = self.columns().collect::<Result<Vec<Column>>>()?;
        let rows = rows.start..rows.end.min(self.row_count);
        let start = codes.len();
        codes.resize(start + rows.len() * columns.len(), 0);
        let out = codes.get_mut(start..).unwrap_or_default();
        let first = rows.clone().step_by(index(BLOCK_ROWS));
        for (first, out) in first.zip(out.chunks_mut(index(BLOCK_ROWS) * columns.len())) {
            let rows = first..rows.end.min(first.saturating_add(BLOCK_ROWS));
            for (number, column) in columns.iter().enumerate() {
                self.read(
                    rows.clone(),
                    column,
                    &mut Places { codes: out, number, width: columns.len() },
                    &other(number),
                )?;
            }
        }
        Ok(())
    }

    /// Reads the codes of one column into `codes`, one per row. Rows out of range, and rows for which `codes` has no
    /// room, are skipped. Costs about a nanosecond per row.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn read_column(&self, rows: Range<u32>, column: &Column, codes: &mut [u32]) -> Result<()> {
        let rows = rows.start..rows.end.min(self.row_count);
        let codes = codes.get_mut(..rows.len().min(codes.len())).unwrap_or_default();
        self.read(rows, column, &mut Places { codes, number: 0, width: 1 }, &Some)
    }

    #[inline(always)]
    fn read(
        &self,
        rows: Range<u32>,
        column: &Column,
        out: &mut Places<'_>,
        other: &impl Fn(u32) -> Option<u32>,
    ) -> Result<()> {
        let window = self.window(&rows)?;
        if read_fields(&window, self.row_bits, column, out, other).is_none() {
            // The slow way finds the place of the damage.
            for (row, out) in rows.zip(out.iter()) {
                let code = self.code(row, column)?;
                let unknown = || corrupt_at(Rule::ColumnCode, Place::Row(self.id, row));
                *out = other(code).ok_or_else(unknown)?;
            }
        }
        Ok(())
    }

    /// Returns the bits of some rows.
    fn window(&self, rows: &Range<u32>) -> Result<Window<'data>> {
        let first_bit = self.first_bit + u64::from(rows.start) * u64::from(self.row_bits);
        let bits = u64::from(rows.end.saturating_sub(rows.start)) * u64::from(self.row_bits);
        self.view.rows.window(first_bit, bits)
    }
}

/// Destination of a column's codes: item `number` of each row of `width` codes.
struct Places<'c> {
    codes: &'c mut [u32],
    number: usize,
    width: usize,
}

impl Places<'_> {
    #[inline(always)]
    fn iter(&mut self) -> impl Iterator<Item = &mut u32> {
        self.codes.chunks_exact_mut(self.width).filter_map(|row| row.get_mut(self.number))
    }
}

/// Reads a column of rows of `row_bits` bits each. Returns `None` if a code may not fit.
#[inline(always)]
fn read_fields(
    window: &Window<'_>,
    row_bits: u32,
    column: &Column,
    out: &mut Places<'_>,
    other: &impl Fn(u32) -> Option<u32>,
) -> Option<()> {
    if column.width == 0 {
        let code = other(column.base)?;
        out.iter().for_each(|out| *out = code);
        return Some(());
    }
    // Then no sum below wraps around.
    let mask = u32::try_from(mask(column.width)).ok()?;
    column.base.checked_add(mask)?;
    let mut bit = u64::from(column.start_bit);
    for out in out.iter() {
        let field = low32(window.word(bit)?) & mask;
        *out = other(column.base.wrapping_add(field))?;
        bit += u64::from(row_bits);
    }
    Some(())
}
