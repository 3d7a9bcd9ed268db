//! [`Table`]: sorted, distinct rows of codes (spec, section 7).

use super::BlockView;
use super::key::DictionaryEntry;
use super::shape::{ColumnWalk, LeafWalk, Shape};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_DEPTH, MAX_LABELS};
use crate::number::low32;
use crate::{Error, KeyId, PoolId, Result, Rule, TableId};

/// Meaning of a column's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Domain {
    /// Symbol ids.
    Arena,
    /// Rows of an earlier table.
    Table(TableId),
    /// Lists of a pool.
    Pool(PoolId),
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Meaning of its codes.
    pub domain: Domain,
    /// Smallest code, which is added to each field.
    pub base: u32,
    /// First bit of its field in a row.
    pub start_bit: u32,
    /// Width of its field in bits, at most 32.
    pub width: u32,
}

/// A table of a block: a value dictionary, a map, a shared table or the rows of a keyset.
#[derive(Clone, Copy, Debug)]
pub struct Table<'data, 'view> {
    pub(crate) view: &'view BlockView<'data>,
    pub(crate) entry: TableEntry,
}

/// A table as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableEntry {
    pub id: u32,
    /// `None` for a dictionary.
    shape: Option<Shape>,
    pub row_count: u32,
    /// First bit of the rows in the rows section.
    pub first_bit: u64,
    pub row_bits: u32,
    /// Smallest code of a dictionary.
    base: u32,
}

impl<'data, 'view> Table<'data, 'view> {
    #[inline]
    pub(crate) fn open(view: &'view BlockView<'data>, id: u32) -> Result<Self> {
        let kept = view.kept().and_then(|kept| kept.tables.get(id));
        let entry = match kept {
            Some(kept) => *kept.get_or_read(|| TableEntry::read(view, id))?,
            None => TableEntry::read(view, id)?,
        };
        Ok(Self { view, entry })
    }

    /// Returns the number of the table.
    #[must_use]
    pub const fn id(&self) -> TableId {
        TableId(self.entry.id)
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn row_count(&self) -> u32 {
        self.entry.row_count
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn column_count(&self) -> u32 {
        match &self.entry.shape {
            Some(shape) => shape.column_count,
            None => 1,
        }
    }

    /// Returns the number of bits of a row.
    #[must_use]
    pub const fn row_bits(&self) -> u32 {
        self.entry.row_bits
    }

    /// Returns the place of its rows in the rows section, in whole bytes.
    pub(crate) const fn rows(&self) -> std::ops::Range<u64> {
        self.entry.first_bit / 8..(self.entry.first_bit + self.used_bits()).div_ceil(8)
    }

    /// Returns the unused bits after the rows: the first of them, and the bit where the next table may start.
    pub(crate) const fn slack(&self) -> (u64, u64) {
        (self.entry.first_bit + self.used_bits(), self.rows().end * 8)
    }

    #[expect(clippy::as_conversions, reason = "widening; `From` is not const")]
    const fn used_bits(&self) -> u64 {
        self.entry.row_count as u64 * self.entry.row_bits as u64
    }

    /// Returns the number of bytes that its rows take.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.used_bits().div_ceil(8)
    }

    /// Returns true if its rows take no bytes: it has a single row whose columns have width 0.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used_bits() == 0
    }

    /// Returns true if it is a value dictionary.
    #[inline]
    #[must_use]
    pub const fn is_dictionary(&self) -> bool {
        self.entry.shape.is_none()
    }

    /// Returns true if the table is a map: it has one column and shares the leaves of that column's domain.
    #[inline]
    #[must_use]
    pub const fn is_map(&self) -> bool {
        matches!(self.entry.shape, Some(Shape { column_count: 1, .. }))
    }

    /// Returns true if it is the table of a keyset.
    #[must_use]
    pub const fn is_keyset(&self) -> bool {
        let catalogue = &self.view.frame.catalogue;
        self.entry.id >= catalogue.inner_end()
    }

    /// Returns column `column` (from 0).
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged or the table does not have the column.
    #[inline]
    pub fn column(&self, column: u32) -> Result<Column> {
        let start_bit = match (column.checked_sub(1), &self.entry.shape) {
            (Some(before), Some(shape)) if column < shape.column_count => {
                shape.column(&self.view.catalogue, before)?[2]
            }
            _ => 0,
        };
        self.column_from(column, low32(start_bit))
    }

    /// Returns the columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = Result<Column>> {
        let mut start_bit = 0;
        (0..self.column_count()).map(move |column| {
            let column = self.column_from(column, start_bit)?;
            start_bit += column.width;
            Ok(column)
        })
    }

    /// Returns column `column`, whose field starts at `start_bit`, the end of the field before it.
    #[inline(always)]
    pub(crate) fn column_from(&self, column: u32, start_bit: u32) -> Result<Column> {
        if column >= self.column_count() {
            let place = Place::Table(self.entry.id.into());
            return Err(corrupt(Rule::LeavesOrder, place, column.into(), self.column_count().into()));
        }
        let Some(shape) = &self.entry.shape else {
            return Ok(Column {
                domain: Domain::Arena,
                base: self.entry.base,
                start_bit: 0,
                width: self.entry.row_bits,
            });
        };
        self.column_of_record(start_bit, shape.column(&self.view.catalogue, column)?)
    }

    /// Returns a column from its record. Its field starts at `start_bit`, the end of the field before it.
    #[inline(always)]
    pub(crate) fn column_of_record(&self, start_bit: u32, [domain, base, end_bit]: [u64; 3]) -> Result<Column> {
        let width = end_bit.wrapping_sub(start_bit.into());
        if width > 32 || end_bit > u64::from(self.entry.row_bits) {
            return Err(corrupt(Rule::TableExtent, Place::Table(self.entry.id.into()), width, 32));
        }
        Ok(Column { domain: self.domain(domain)?, base: low32(base), start_bit, width: low32(width) })
    }

    #[inline(always)]
    fn domain(&self, number: u64) -> Result<Domain> {
        let catalogue = &self.view.frame.catalogue;
        let Some(table) = number.checked_sub(1) else {
            return Err(self.wrong_domain(number));
        };
        if table < u64::from(self.entry.id.min(catalogue.inner_end())) {
            return Ok(Domain::Table(TableId(low32(table))));
        }
        match table.checked_sub(catalogue.table_count.into()) {
            Some(pool) if pool < u64::from(catalogue.pools.count) => {
                if self.is_keyset() && self.column_count() > 1 {
                    Ok(Domain::Pool(PoolId(low32(pool))))
                } else {
                    Err(corrupt_at(Rule::ListColumn, Place::Table(self.entry.id.into())))
                }
            }
            _ => Err(self.wrong_domain(number)),
        }
    }

    #[cold]
    fn wrong_domain(&self, number: u64) -> Error {
        corrupt(Rule::ColumnDomain, Place::Table(self.entry.id.into()), number, u64::from(self.entry.id) + 1)
    }

    /// Returns the code of `column` in row `row`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the table does not have the row.
    #[inline]
    pub fn code(&self, row: u32, column: &Column) -> Result<u32> {
        self.expect_row(row)?;
        let field = self.field(row, column.start_bit, column.width)?;
        code(u64::from(column.base) + field, self.entry.id, row)
    }

    /// Returns an error for a row that the table does not have.
    #[inline(always)]
    pub(crate) fn expect_row(&self, row: u32) -> Result<()> {
        if row < self.entry.row_count {
            return Ok(());
        }
        Err(corrupt(Rule::ColumnCode, Place::Table(self.entry.id.into()), row.into(), self.entry.row_count.into()))
    }

    /// Returns the field of `width` bits at bit `start_bit` of row `row`, which must be in range.
    #[inline(always)]
    pub(crate) fn field(&self, row: u32, start_bit: u32, width: u32) -> Result<u64> {
        let bit = self.entry.first_bit + u64::from(row) * u64::from(self.entry.row_bits) + u64::from(start_bit);
        self.view.rows.get(bit, width)
    }

    /// Returns the table behind a domain: its rows, or the members of its lists, are the meaning of a column's codes.
    /// `None` for the arena.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    #[inline]
    pub(crate) fn behind(&self, domain: Domain) -> Result<Option<Self>> {
        Ok(match domain {
            Domain::Arena => None,
            Domain::Table(table) => Some(Table::open(self.view, table.0)?),
            Domain::Pool(pool) => Some(super::Pool::open(self.view, pool.0)?.table()?),
        })
    }

    /// Returns the number of leaves: the labels of each row.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    #[inline]
    pub fn leaf_count(&self) -> Result<u32> {
        let mut table = *self;
        for _ in 0..=MAX_DEPTH {
            if table.is_dictionary() {
                return Ok(1);
            }
            if !table.is_map() {
                let written = table.written_leaf_count();
                let leaves = if written > 0 { written } else { table.column_count() };
                return if leaves <= MAX_LABELS {
                    Ok(leaves)
                } else {
                    Err(corrupt(
                        Rule::LeavesOrder,
                        Place::Table(self.entry.id.into()),
                        leaves.into(),
                        MAX_LABELS.into(),
                    ))
                };
            }
            match table.behind(table.column(0)?.domain)? {
                Some(behind) => table = behind,
                None => break,
            }
        }
        Err(corrupt_at(Rule::TableDepth, Place::Table(self.entry.id.into())))
    }

    /// Returns the number of leaves that are written out; 0 if leaf *i* is the only leaf of column *i*.
    #[must_use]
    pub const fn written_leaf_count(&self) -> u32 {
        match &self.entry.shape {
            Some(shape) => shape.leaf_count,
            None => 0,
        }
    }

    /// Returns the place of leaf `leaf`: its column, and its position among the leaves of that column's domain. Costs
    /// O(`leaf`) where leaves are written out; a walk over all leaves counts them as it goes instead.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged or the table does not have the leaf.
    #[inline]
    pub fn leaf_place(&self, leaf: u32) -> Result<(u32, u32)> {
        let Some(shape) = &self.entry.shape else { return Ok((0, leaf)) };
        if shape.column_count == 1 {
            return Ok((0, leaf));
        }
        if shape.leaf_count == 0 {
            return Ok((leaf, 0));
        }
        let column = self.written_leaf(leaf)?;
        let mut position = 0;
        for before in 0..leaf {
            position += u32::from(shape.leaf(&self.view.catalogue, before)? == column);
        }
        Ok((column, position))
    }

    /// Returns a reader of its columns, from column `first` on, or `None` for a dictionary and if a column's record is
    /// too long.
    #[inline]
    pub(crate) fn column_walk(&self, first: u32) -> Option<ColumnWalk> {
        self.entry.shape.as_ref()?.column_walk(first)
    }

    /// Returns a reader of the columns of the leaves that are written out, from leaf `first` on.
    #[inline]
    pub(crate) fn leaf_walk(&self, first: u32) -> LeafWalk {
        self.entry.shape.as_ref().map_or(LeafWalk::NONE, |shape| shape.leaf_walk(first))
    }

    /// Returns the column of a leaf that is written out.
    #[inline(always)]
    pub(crate) fn written_leaf(&self, leaf: u32) -> Result<u32> {
        match &self.entry.shape {
            Some(shape) if leaf < shape.leaf_count => shape.leaf(&self.view.catalogue, leaf),
            _ => {
                let place = Place::Table(self.entry.id.into());
                Err(corrupt(Rule::LeavesWritten, place, leaf.into(), self.written_leaf_count().into()))
            }
        }
    }
}

impl TableEntry {
    fn read(view: &BlockView<'_>, id: u32) -> Result<Self> {
        let catalogue = &view.frame.catalogue;
        let place = Place::Table(id.into());
        let (table, row_count, first_bit) = match id.checked_sub(catalogue.keys.count) {
            None => {
                let DictionaryEntry { row_count, first_bit, base, width, .. } = view.dictionary_entry(KeyId(id))?;
                (Self { row_bits: width, base, ..Self::empty(id) }, u64::from(row_count), first_bit)
            }
            Some(number) => {
                let record = catalogue.tables.get(&view.catalogue, number).unwrap_or_else(|| {
                    Err(corrupt(Rule::ColumnDomain, place, id.into(), catalogue.table_count.into()))
                });
                let [row_count, rows_offset, shape] = record?;
                let shape = catalogue.shapes.get(&view.catalogue, id, shape)?;
                let [_, _, row_bits] = shape.column(&view.catalogue, shape.column_count - 1)?;
                let table = Self { shape: Some(shape), row_bits: low32(row_bits), ..Self::empty(id) };
                (table, row_count, rows_offset * 8)
            }
        };
        // No overflow: offsets have at most 48 bits, counts at most 32, row widths 15.
        let end_bit = first_bit + row_count * u64::from(table.row_bits);
        if row_count == 0 {
            return Err(corrupt(Rule::TableRows, place, 0, 1));
        }
        // Rows are distinct, so that only a single one may take no bits. With that, the section's length bounds the
        // count.
        if row_count > 1 && table.row_bits == 0 {
            return Err(corrupt(Rule::RowsOrder, place, row_count, 1));
        }
        if end_bit > view.rows.field_bits() {
            return Err(corrupt(Rule::TableExtent, place, end_bit, view.rows.field_bits()));
        }
        Ok(Self { row_count: low32(row_count), first_bit, ..table })
    }

    const fn empty(id: u32) -> Self {
        Self { id, shape: None, row_count: 0, first_bit: 0, row_bits: 0, base: 0 }
    }
}

/// Returns the sum of base and field as a code.
#[inline(always)]
pub(crate) fn code(sum: u64, table: u32, row: u32) -> Result<u32> {
    u32::try_from(sum).map_err(|_| corrupt(Rule::ColumnCode, Place::Row(table, row), sum, u32::MAX.into()))
}
