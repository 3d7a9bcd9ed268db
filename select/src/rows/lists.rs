//! [`Lists`]: the lists that the rows of a keyset end in, and [`Cursor`], which passes over these rows.

use chronoxide_format::view::{Column, Keyset, Pool};

use crate::SelectError;

/// Maximum number of rows to step over. The series before farther rows are counted from an anchor.
const NEAR_ROWS: u32 = 12;
/// Maximum number of series to step over row by row. The rows of farther series are searched.
const NEAR_SERIES: u32 = 256;

/// The column of lists of a keyset, and their pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists<'data, 'view> {
    pub column: Column,
    pub pool: Pool<'data, 'view>,
}

impl<'data, 'view> Lists<'data, 'view> {
    /// Returns the lists of a keyset, or `None` if it has none.
    pub(crate) fn open(keyset: &Keyset<'data, 'view>) -> Option<Self> {
        keyset.lists().map(|(&column, pool)| Self { column, pool })
    }
}

/// The rows of a keyset, passed in order, with the number of series before the row. Steps over near rows, whose lists
/// are short to read, and searches for far ones.
#[derive(Debug)]
pub(crate) struct Cursor<'data, 'view> {
    pub keyset: Keyset<'data, 'view>,
    pub lists: Option<Lists<'data, 'view>>,
    pub row: u32,
    /// Number of series of the keyset before the row.
    pub before: u32,
    /// Number of series of the row; 0 if it was not read yet.
    pub len: u32,
    /// List of the row, for a keyset with lists.
    pub list: Option<u32>,
}

impl<'data, 'view> Cursor<'data, 'view> {
    pub(crate) fn new(keyset: Keyset<'data, 'view>) -> Self {
        Self { lists: Lists::open(&keyset), keyset, row: 0, before: 0, len: 0, list: None }
    }

    /// Moves to the row that has series `place` of the keyset. Returns false if there is no such row.
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
        // Places before the row are far, too.
        if place.wrapping_sub(self.before) > NEAR_SERIES {
            let (row, in_list) = self.keyset.locate(place)?;
            self.pass_to(row, place - in_list);
        }
        loop {
            if self.len == 0 && !self.read_row()? {
                return Ok(false);
            }
            if place.wrapping_sub(self.before) < self.len {
                return Ok(true);
            }
            self.pass();
        }
    }

    /// Moves forward to a row, or to the end, and returns the number of series before it.
    pub(crate) fn move_to_row(&mut self, row: u32) -> Result<u32, SelectError> {
        if self.lists.is_none() {
            self.pass_to(row, row);
        } else if row > self.row.saturating_add(NEAR_ROWS) {
            let before = match row < self.keyset.table().row_count() {
                true => self.keyset.series_before(row)?,
                false => self.keyset.series_count(),
            };
            self.pass_to(row, before);
        }
        while self.row < row {
            self.read_row()?;
            self.pass();
        }
        Ok(self.before)
    }

    /// Sets the row, and the number of series before it, which the caller has counted.
    pub(crate) fn pass_to(&mut self, row: u32, before: u32) {
        (self.row, self.before, self.len) = (row, before, 0);
    }

    /// Moves to the next row.
    fn pass(&mut self) {
        self.pass_to(self.row + 1, self.before.saturating_add(self.len));
    }

    /// Reads the list of the current row. Returns false if it is empty, which only a damaged block has.
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
