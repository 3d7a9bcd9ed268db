//! [`Leaves`]: the keys of a table.

use std::iter::FusedIterator;

use super::shape::{ColumnWalk, LeafWalk};
use super::{BlockView, Domain, Pool, Table};
use crate::number::{index, low32};
use crate::{KeyId, Result};

/// Columns that are read in order if the leaves of a table are written out. A factored keyset has few.
const WRITTEN_COLUMNS: usize = 16;
/// Columns among them that lead to tables of several columns. Most keysets have a shared table and a list.
const TABLES: usize = 4;

/// Iterator over the keys of a table, in order. After an error it ends.
#[derive(Clone, Copy, Debug)]
pub struct Leaves<'data, 'view> {
    table: Table<'data, 'view>,
    next: u32,
    count: u32,
    reader: Reader,
}

/// Reads most keys of most tables in order, without errors.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "views do not allocate")]
enum Reader {
    /// Leaf *i* is that of column *i*.
    Columns(Columns),
    /// Leaves are written out.
    Written(Written),
    /// Neither, or a key could not be read.
    None,
}

/// The columns of a table whose leaves are written out.
#[derive(Clone, Copy, Debug)]
struct Written {
    leaves: LeafWalk,
    columns: [Column; WRITTEN_COLUMNS],
    tables: [Columns; TABLES],
    table_count: u8,
}

/// Columns of one leaf each.
#[derive(Clone, Copy, Debug)]
struct Columns {
    walk: ColumnWalk,
    /// Columns that were not read.
    left: u32,
    /// Tables that columns may refer to.
    tables: u64,
}

/// A column of a table whose leaves are written out.
#[derive(Clone, Copy, Debug)]
enum Column {
    Unread,
    Key(u32),
    /// The table with this number.
    Table(u8),
    /// No leaf is left.
    Done,
}

impl<'data, 'view> Leaves<'data, 'view> {
    pub(super) fn new(table: &Table<'data, 'view>) -> Result<Self> {
        let reader = if table.written_leaf_count() > 0 {
            let (columns, tables) = ([Column::Unread; WRITTEN_COLUMNS], [Columns::NONE; TABLES]);
            table.leaf_walk().map(|leaves| Reader::Written(Written { leaves, columns, tables, table_count: 0 }))
        } else if table.column_count() > 1 {
            Columns::new(table).map(Reader::Columns)
        } else {
            None
        };
        Ok(Self { table: *table, next: 0, count: table.leaf_count()?, reader: reader.unwrap_or(Reader::None) })
    }

    #[inline]
    fn try_next(&mut self) -> Option<KeyId> {
        let view = self.table.view;
        let table = match &mut self.reader {
            Reader::Columns(columns) => columns.next(view)?,
            Reader::Written(written) => written.next(&self.table)?,
            Reader::None => return None,
        };
        Some(KeyId(if table < view.key_count() { table } else { view.try_mapped_key(table)? }))
    }
}

impl Written {
    /// Returns the table that the column of the next leaf refers to.
    #[inline(always)]
    fn next(&mut self, table: &Table<'_, '_>) -> Option<u32> {
        let number = self.leaves.next(&table.view.catalogue)?;
        let column = self.columns.get_mut(index(number))?;
        if matches!(column, Column::Unread) {
            *column = match open_column(table, number)? {
                Target::Key(key) => Column::Key(key),
                Target::Columns(columns) => {
                    let number = self.table_count;
                    *self.tables.get_mut(usize::from(number))? = columns;
                    self.table_count += 1;
                    Column::Table(number)
                }
            };
        }
        match *column {
            Column::Table(number) => self.tables.get_mut(usize::from(number))?.next(table.view),
            Column::Key(key) => {
                *column = Column::Done;
                Some(key)
            }
            Column::Unread | Column::Done => None,
        }
    }
}

impl Columns {
    const NONE: Self = Self { walk: ColumnWalk::NONE, left: 0, tables: 0 };

    fn new(table: &Table<'_, '_>) -> Option<Self> {
        let tables = table.id().0.min(table.view.frame.catalogue.inner_end());
        Some(Self { walk: table.column_walk()?, left: table.column_count(), tables: tables.into() })
    }

    /// Returns the table that the next column refers to.
    #[inline]
    fn next(&mut self, view: &BlockView<'_>) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let [domain, _, _] = self.walk.next(&view.catalogue)?;
        let table = domain.checked_sub(1).filter(|&table| table < self.tables)?;
        Some(low32(table))
    }
}

/// Target of a column of a table.
enum Target {
    Key(u32),
    Columns(Columns),
}

/// Returns what a column leads to, behind a map. Returns `None` if that is neither a key nor a table of columns of one
/// leaf each, or if it is damaged.
fn open_column(table: &Table<'_, '_>, number: u32) -> Option<Target> {
    let view = table.view;
    let mut domain = table.stored_column(number).ok()?.domain;
    if let Domain::Pool(pool) = domain {
        domain = Domain::Table(Pool::open(view, pool.0).ok()?.table_id());
    }
    // A map, and the table behind it.
    for _ in 0..2 {
        if let Domain::Table(key) = domain
            && key.0 < view.key_count()
        {
            return Some(Target::Key(key.0));
        }
        let behind = table.behind(domain).ok()??;
        if !behind.is_map() {
            return if behind.written_leaf_count() == 0 { Columns::new(&behind).map(Target::Columns) } else { None };
        }
        domain = behind.stored_column(0).ok()?.domain;
    }
    None
}

impl Iterator for Leaves<'_, '_> {
    type Item = Result<KeyId>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.count {
            return None;
        }
        let key = match self.try_next() {
            Some(key) => Ok(key),
            None => {
                self.reader = Reader::None;
                self.table.stored_leaf_key(self.next)
            }
        };
        // The iterator ends after an error.
        self.next = if key.is_ok() { self.next + 1 } else { self.count };
        Some(key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(index(self.count - self.next)))
    }
}

impl FusedIterator for Leaves<'_, '_> {}
