//! Codes of many rows of a table at once, which is faster than row by row.

use std::ops::Range;

use super::{Column, Table};
use crate::error::{Place, corrupt_at};
use crate::number::index;
use crate::unpack::Run;
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
        let rows = rows.start..rows.end.min(self.entry.row_count);
        let start = codes.len();
        codes.resize(start + rows.len() * columns.len(), 0);
        let out = codes.get_mut(start..).unwrap_or_default();
        let mut read = [0; index(BLOCK_ROWS)];
        let first = rows.clone().step_by(index(BLOCK_ROWS));
        for (first, out) in first.zip(out.chunks_mut(index(BLOCK_ROWS) * columns.len())) {
            let rows = first..rows.end.min(first.saturating_add(BLOCK_ROWS));
            for (number, column) in columns.iter().enumerate() {
                self.read_column(rows.clone(), column, &mut read)?;
                let other = other(number);
                let codes = out.chunks_exact_mut(columns.len()).filter_map(|row| row.get_mut(number));
                let mapped = codes.zip(&read).try_for_each(|(out, &code)| {
                    *out = other(code)?;
                    Some(())
                });
                if mapped.is_none() {
                    let row = rows.clone().zip(&read).find(|(_, code)| other(**code).is_none());
                    let row = row.map_or(rows.start, |(row, _)| row);
                    return Err(corrupt_at(Rule::ColumnCode, Place::Row(self.entry.id, row)));
                }
            }
        }
        Ok(())
    }

    /// Reads the codes of one column into `codes`, one per row. Rows out of range, and rows for which `codes` has no
    /// room, are skipped. Costs 0.3 to 1.5 ns per row; least in batches of 256 rows or more.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn read_column(&self, rows: Range<u32>, column: &Column, codes: &mut [u32]) -> Result<()> {
        let rows = rows.start..rows.end.min(self.entry.row_count);
        let codes = codes.get_mut(..rows.len().min(codes.len())).unwrap_or_default();
        let first_row = self.entry.first_bit + u64::from(rows.start) * u64::from(self.entry.row_bits);
        let start = first_row + u64::from(column.start_bit);
        let run = Run { start, stride: self.entry.row_bits, width: column.width, base: column.base };
        if !self.view.rows.unpack(run, codes)? {
            // The slow way finds the row whose code does not fit.
            for (row, code) in rows.zip(codes) {
                *code = self.code(row, column)?;
            }
        }
        Ok(())
    }
}
