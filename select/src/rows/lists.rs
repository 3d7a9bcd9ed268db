//! [`Lists`]: the lists that the rows of a keyset end in, and [`SeriesCounter`] and [`Cursor`], which pass over
//! these rows.

use chronoxide_format::view::{Column, Keyset, Pool};

use crate::SelectError;

/// Maximum number of rows to step over. The series before farther rows are counted from an anchor.
const NEAR_ROWS: u32 = 12;

/// The column of lists of a keyset, and their pool.
#[derive(Debug)]
pub(crate) struct Lists<'data, 'view> {
    pub column: Column,
    pub pool: Pool<'data, 'view>,
}

impl<'data, 'view> Lists<'data, 'view> {
    /// Returns the lists of a keyset, or `None` if it has none.
    pub(crate) fn open(keyset: &Keyset<'data, 'view>) -> Result<Option<Self>, SelectError> {
        let Some(pool) = keyset.pool() else { return Ok(None) };
        let table = keyset.table();
        Ok(Some(Self { column: table.column(table.column_count() - 1)?, pool }))
    }
}

/// A row of a keyset, and the number of series before it.
pub(crate) struct SeriesCounter<'a, 'data, 'view> {
    keyset: &'a Keyset<'data, 'view>,
    lists: &'a Lists<'data, 'view>,
    row: u32,
    before: u32,
}

impl<'a, 'data, 'view> SeriesCounter<'a, 'data, 'view> {
    pub(crate) fn new(keyset: &'a Keyset<'data, 'view>, lists: &'a Lists<'data, 'view>) -> Self {
        Self { keyset, lists, row: 0, before: 0 }
    }

    /// Moves forward to `row`, or to the end, and returns the number of series before it.
    pub(crate) fn move_to(&mut self, row: u32) -> Result<u32, SelectError> {
        if row > self.row.saturating_add(NEAR_ROWS) {
            self.before = match row < self.keyset.table().row_count() {
                true => self.keyset.series_before(row)?,
                false => self.keyset.series_count(),
            };
            self.row = row;
        }
        while self.row < row {
            let list = self.keyset.table().code(self.row, &self.lists.column)?;
            self.pass(self.lists.pool.list_len(list)?);
        }
        Ok(self.before)
    }

    /// Sets the row, and the number of series before it, which the caller has counted.
    pub(crate) fn pass_to(&mut self, row: u32, before: u32) {
        (self.row, self.before) = (row, before);
    }

    /// Moves past the current row, whose list has `len` members.
    fn pass(&mut self, len: u32) {
        self.row += 1;
        self.before = self.before.saturating_add(len);
    }
}

/// The rows of a keyset and the places of their lists, passed in order.
#[derive(Debug)]
pub(crate) struct Cursor<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    lists: Option<Lists<'data, 'view>>,
    pub row: u32,
    /// Number of series of the keyset before the row.
    pub before: u32,
    /// Number of series of the row; 0 if it was not read yet.
    pub len: u32,
    /// List of the row, for a keyset with lists.
    pub list: Option<u32>,
}

/// Series that are passed row by row; over more, the row is searched.
const NEAR_SERIES: u32 = 256;

impl<'data, 'view> Cursor<'data, 'view> {
    pub(crate) fn new(keyset: Keyset<'data, 'view>) -> Result<Self, SelectError> {
        let lists = Lists::open(&keyset)?;
        Ok(Self { keyset, lists, row: 0, before: 0, len: 0, list: None })
    }

    /// Moves to the row that has series `place` of the keyset, which must not be before the row. Returns false if
    /// there is no such row.
    #[inline]
    pub(crate) fn move_to(&mut self, place: u32) -> Result<bool, SelectError> {
        if self.len > 0 && place.wrapping_sub(self.before) < self.len {
            return Ok(true);
        }
        self.search(place)
    }

    fn search(&mut self, place: u32) -> Result<bool, SelectError> {
        if self.lists.is_none() {
            (self.row, self.before, self.len) = (place, place, 1);
            return Ok(place < self.keyset.series_count());
        }
        if place.saturating_sub(self.before) > NEAR_SERIES {
            let (row, in_list) = self.keyset.locate(place)?;
            (self.row, self.before) = (row, place - in_list);
            return self.read_row();
        }
        if self.len == 0 && !self.read_row()? {
            return Ok(false);
        }
        while place.wrapping_sub(self.before) >= self.len {
            self.row += 1;
            self.before = self.before.saturating_add(self.len);
            if !self.read_row()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the list of the current row.
    fn read_row(&mut self) -> Result<bool, SelectError> {
        let Some(lists) = &self.lists else { return Ok(false) };
        let list = self.keyset.table().code(self.row, &lists.column)?;
        self.list = Some(list);
        self.len = lists.pool.list_len(list)?;
        Ok(self.len > 0)
    }

    /// Returns the member of series `place`, which must be in the current row; 0 for a keyset without lists.
    #[inline]
    pub(crate) fn member(&self, place: u32) -> Result<u32, SelectError> {
        match (&self.lists, self.list) {
            (Some(lists), Some(list)) => Ok(lists.pool.list(list)?.get(place - self.before)?),
            _ => Ok(0),
        }
    }
}
