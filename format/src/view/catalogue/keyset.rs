//! Keysets, their keys and their anchors (spec, sections 8 and 9).

use std::iter::FusedIterator;

use super::pool::PoolEntry;
use super::until_error::until_error;
use super::{BlockView, Column, Domain, List, Pool, Table};
use crate::bits::width;
use crate::error::{Place, corrupt};
use crate::layout::ANCHOR_ROWS;
use crate::number::low32;
use crate::{Error, Result, Rule, SeriesRef};

/// A keyset: all series that have the same label names.
#[derive(Clone, Copy, Debug)]
pub struct Keyset<'data, 'view> {
    table: Table<'data, 'view>,
    entry: KeysetEntry,
}

/// A keyset as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeysetEntry {
    id: u32,
    first: u32,
    series_count: u32,
    anchors_bit: u64,
    lists: Option<(Column, PoolEntry)>,
}

impl<'data, 'view> Keyset<'data, 'view> {
    pub(crate) fn open(view: &'view BlockView<'data>, id: u32) -> Result<Self> {
        // Checks `id` first: the number of its table is a sum.
        let Some(kept) = view.kept().and_then(|kept| kept.keysets.get(id)) else {
            view.keyset_record(id)?;
            return Self::with_table(id, view.keyset_table(id)?);
        };
        let table = view.keyset_table(id)?;
        Ok(Self { table, entry: *kept.get_or_read(|| KeysetEntry::read(id, &table))? })
    }

    /// Like [`Keyset::open`], with the keyset's table already open.
    pub(crate) fn with_table(id: u32, table: Table<'data, 'view>) -> Result<Self> {
        Ok(Self { table, entry: KeysetEntry::read(id, &table)? })
    }

    /// Returns the number of the keyset.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.entry.id
    }

    /// Returns the table whose rows are the series of the keyset or, for a keyset with lists, prefixes of them.
    #[must_use]
    pub const fn table(&self) -> Table<'data, 'view> {
        self.table
    }

    /// Returns the column of the keyset's lists and their pool, or `None` for a keyset without lists.
    #[inline]
    #[must_use]
    pub fn lists(&self) -> Option<(&Column, Pool<'data, 'view>)> {
        let (column, pool) = self.entry.lists.as_ref()?;
        Some((column, Pool::with_entry(self.table.view, *pool)))
    }

    /// Returns the pool of the keyset's lists, or `None` for a keyset without lists.
    #[must_use]
    pub fn pool(&self) -> Option<Pool<'data, 'view>> {
        self.lists().map(|(_, pool)| pool)
    }

    /// Returns the first series.
    #[must_use]
    pub const fn first(&self) -> SeriesRef {
        SeriesRef(self.entry.first)
    }

    /// Returns the number of series.
    #[must_use]
    pub const fn series_count(&self) -> u32 {
        self.entry.series_count
    }

    /// Returns the list that row `row` ends in, or `None` if the keyset has no lists.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the keyset's table does not have the row.
    #[inline]
    pub fn list(&self, row: u32) -> Result<Option<List<'data, 'view>>> {
        match self.lists() {
            Some((column, pool)) => Ok(Some(pool.list(self.table.code(row, column)?)?)),
            None => Ok(None),
        }
    }

    /// Returns the number of anchors: one per 16 rows, none for a keyset without lists.
    #[must_use]
    pub fn anchor_count(&self) -> u32 {
        if self.entry.lists.is_some() { self.table.row_count().div_ceil(ANCHOR_ROWS) } else { 0 }
    }

    /// Returns the anchors, in order; see [`Keyset::anchor`]. After an error the iterator ends.
    #[must_use]
    pub fn anchors(&self) -> impl FusedIterator<Item = Result<u32>> {
        until_error(self.anchor_count(), |anchor| self.anchor(anchor))
    }

    /// Returns the number of series of the keyset before row 16 * `anchor`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the keyset does not have the anchor.
    pub fn anchor(&self, anchor: u32) -> Result<u32> {
        if anchor >= self.anchor_count() {
            return Err(corrupt(
                Rule::Anchors,
                Place::Keyset(self.entry.id.into()),
                anchor.into(),
                self.anchor_count().into(),
            ));
        }
        let anchor_width = width(self.entry.series_count.into());
        let bit = self.entry.anchors_bit + u64::from(anchor) * u64::from(anchor_width);
        Ok(low32(self.table.view.members.get(bit, anchor_width)?))
    }

    /// Returns the number of bytes that the anchors take in the members section.
    #[must_use]
    pub fn anchors_len(&self) -> u64 {
        let (_, end_bit) = self.slack();
        end_bit / 8 - self.anchors_offset()
    }

    /// Returns the first byte of the anchors in the members section.
    pub(crate) const fn anchors_offset(&self) -> u64 {
        self.entry.anchors_bit / 8
    }

    /// Returns the unused bits after the anchors in the members section.
    pub(crate) fn slack(&self) -> (u64, u64) {
        let bits = u64::from(self.anchor_count()) * u64::from(width(self.entry.series_count.into()));
        let end = self.entry.anchors_bit + bits;
        (end, end.div_ceil(8) * 8)
    }

    /// Returns the row of series `place` of the keyset (from 0), and the position in the row's list. Costs a binary
    /// search over anchors and the lengths of up to 16 lists.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the keyset has fewer series.
    pub fn locate(&self, place: u32) -> Result<(u32, u32)> {
        if place >= self.entry.series_count {
            return Err(self.no_row(place));
        }
        let Some((column, pool)) = self.lists() else {
            return Ok((place, 0));
        };
        if column.width == 0 {
            // All rows have one list.
            let len = pool.list_len(column.base)?;
            let row = place / len.max(1);
            return if row < self.table.row_count() { Ok((row, place % len.max(1))) } else { Err(self.no_row(place)) };
        }
        // The last anchor that does not exceed `place`.
        let (mut low, mut high) = (0, self.anchor_count());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.anchor(middle)? <= place { low = middle } else { high = middle }
        }
        let mut before = self.anchor(low)?;
        let first_row = low * ANCHOR_ROWS;
        let end_row = self.table.row_count().min(first_row.saturating_add(ANCHOR_ROWS));
        for row in first_row..end_row {
            let len = pool.list_len(self.table.code(row, column)?)?;
            match place.checked_sub(before) {
                Some(in_list) if in_list < len => return Ok((row, in_list)),
                _ => before = before.saturating_add(len),
            }
        }
        Err(self.no_row(place))
    }

    /// Returns the error of a series that no row has.
    #[cold]
    fn no_row(&self, place: u32) -> Error {
        corrupt(Rule::Anchors, Place::Keyset(self.entry.id.into()), place.into(), self.entry.series_count.into())
    }

    /// Returns the number of series of the keyset before row `row`. Costs the lengths of up to 15 lists.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the keyset's table does not have the row.
    pub fn series_before(&self, row: u32) -> Result<u32> {
        let Some((column, pool)) = self.lists() else { return Ok(row) };
        let anchor = row / ANCHOR_ROWS;
        let mut before = self.anchor(anchor)?;
        for earlier in anchor * ANCHOR_ROWS..row {
            before = before.saturating_add(pool.list_len(self.table.code(earlier, column)?)?);
        }
        Ok(before)
    }
}

impl KeysetEntry {
    fn read(id: u32, table: &Table<'_, '_>) -> Result<Self> {
        let view = table.view;
        let place = Place::Keyset(id.into());
        let [series_end, anchors] = view.keyset_record(id)?;
        let first = if id == 0 { 0 } else { view.keyset_record(id - 1)?[0] };
        let last = table.column(table.column_count() - 1)?;
        let lists = match last.domain {
            Domain::Pool(pool) => Some((last, Pool::open(view, pool.0)?.entry)),
            _ => None,
        };
        let Some(series_count) = series_end.checked_sub(first) else {
            return Err(corrupt(Rule::KeysetSeries, place, series_end, first));
        };
        if lists.is_none() && series_count != u64::from(table.row_count()) {
            return Err(corrupt(Rule::KeysetSeries, place, series_count, table.row_count().into()));
        }
        Ok(Self { id, first: low32(first), series_count: low32(series_count), anchors_bit: anchors * 8, lists })
    }
}
