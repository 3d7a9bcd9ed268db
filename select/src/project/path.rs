//! [`Path`]: the way from a row to the value of one label.

use chronoxide_format::view::{Column, Domain, Keyset, Table};
use chronoxide_format::{KeyId, TableId};

use crate::part::Lists;
use crate::{Searcher, SelectError};

/// Columns from a table's row to the dictionary of a key: each code is a row of the next table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path<'data, 'view> {
    steps: Vec<(Table<'data, 'view>, Column)>,
}

impl Path<'_, '_> {
    /// Returns the code of the label.
    #[inline]
    pub(crate) fn code(&self, row: u32) -> Result<u32, SelectError> {
        let mut code = row;
        for (table, column) in &self.steps {
            code = table.code(code, column)?;
        }
        Ok(code)
    }
}

/// Place of a label in a keyset.
#[derive(Clone, Debug)]
pub(crate) enum Source<'data, 'view> {
    /// Nowhere: its series do not have the label.
    Absent,
    /// In the rows of its table.
    Row(Path<'data, 'view>),
    /// In the members of its lists.
    Member(Path<'data, 'view>),
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the place of a label in a keyset.
    pub(crate) fn source(&self, keyset: &Keyset<'data, 'a>, key: KeyId) -> Result<Source<'data, 'a>, SelectError> {
        let Some(indexed) = self.index.keyset_column(keyset.id(), key) else { return Ok(Source::Absent) };
        let table = keyset.table();
        let column = table.column(indexed.number)?;
        match column.domain {
            Domain::Pool(_) => Ok(Source::Member(self.path(indexed.domain, key)?)),
            _ => {
                let mut path = self.path(indexed.domain, key)?;
                path.steps.insert(0, (table, column));
                Ok(Source::Row(path))
            }
        }
    }

    /// Returns the path from the rows of a table to a key. A table refers to earlier ones only, so that it ends.
    pub(crate) fn path(&self, table: u32, key: KeyId) -> Result<Path<'data, 'a>, SelectError> {
        let mut steps = Vec::new();
        let mut number = table;
        while !self.index.is_dictionary(number) {
            let (Some(indexed), Some(table)) = (self.index.column(number, key), self.view.table(TableId(number))?)
            else {
                break;
            };
            let column = table.column(indexed.number)?;
            steps.push((table, column));
            number = indexed.domain;
        }
        Ok(Path { steps })
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
