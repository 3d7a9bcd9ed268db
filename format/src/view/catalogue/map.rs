//! [`Map`]: a table of one column over a dictionary.

use super::{BlockView, code};
use crate::error::{Place, corrupt};
use crate::number::low32;
use crate::{KeyId, Result, Rule};

/// A table of one column whose codes are value codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    pub table: u32,
    row_count: u32,
    first_bit: u64,
    base: u32,
    width: u32,
}

impl Map {
    pub(crate) const NONE: Self = Self { table: 0, row_count: 0, first_bit: 0, base: 0, width: 0 };

    /// Returns a map and its key; `None` if the table is not a map of values. Reads less than [`Table::open`]: keysets
    /// have a map for most of their columns.
    #[inline(always)]
    pub(crate) fn open(view: &BlockView<'_>, table: u32) -> Result<Option<(KeyId, Self)>> {
        let catalogue = &view.frame.catalogue;
        let number = table.checked_sub(catalogue.keys.count);
        let Some(record) = number.and_then(|number| catalogue.tables.get(&view.catalogue, number)) else {
            return Ok(None);
        };
        let [row_count, rows_offset, shape] = record?;
        let shape = catalogue.shapes.get(&view.catalogue, table, shape)?;
        if shape.column_count != 1 {
            return Ok(None);
        }
        let [domain, base, width] = shape.column(&view.catalogue, 0)?;
        let Some(key) = domain.checked_sub(1).filter(|&key| key < catalogue.keys.count.into()) else {
            return Ok(None);
        };
        if width > 32 {
            return Err(corrupt(Rule::TableExtent, Place::Table(table.into()), width, 32));
        }
        let (row_count, base, width) = (low32(row_count), low32(base), low32(width));
        Ok(Some((KeyId(low32(key)), Self { table, row_count, first_bit: rows_offset * 8, base, width })))
    }

    /// Returns the value code of a row.
    #[inline(always)]
    pub(crate) fn get(&self, view: &BlockView<'_>, row: u32) -> Result<u32> {
        if row >= self.row_count {
            return Err(corrupt(Rule::ColumnCode, Place::Table(self.table.into()), row.into(), self.row_count.into()));
        }
        let bit = self.first_bit + u64::from(row) * u64::from(self.width);
        code(u64::from(self.base) + view.rows.get(bit, self.width)?, self.table, row)
    }
}
