//! [`Labels`]: the labels of a series as bytes.

use std::iter::FusedIterator;

use super::Label;
use super::series::{Behind, Series};
use super::shape::LeafWalk;
use super::table::RowWalk;
use crate::Result;
use crate::number::index;

/// Columns of a keyset's table that are read in order if its leaves are written out. A factored keyset has few.
const WRITTEN_COLUMNS: usize = 4;

/// Iterator over the labels of a series, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct Labels<'data, 'view> {
    series: Series<'data, 'view>,
    next: u32,
    reader: Reader,
}

/// Reads most labels of most series, without errors: errors are large, so that space for one costs more than a label.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "views do not allocate")]
enum Reader {
    /// Leaf *i* is that of column *i*.
    Row(RowWalk),
    /// Leaves are written out.
    Written { leaves: LeafWalk, columns: [Column; WRITTEN_COLUMNS] },
    /// Neither, or a label could not be read.
    None,
}

/// A column of a keyset's table whose leaves are written out.
#[derive(Clone, Copy, Debug)]
enum Column {
    Unread,
    /// A value of a key.
    Value {
        key: u32,
        code: u32,
    },
    /// A row of a shared table.
    Row(RowWalk),
    /// No leaf is left.
    Done,
}

impl<'data, 'view> Labels<'data, 'view> {
    #[inline]
    pub(super) fn new(series: &Series<'data, 'view>) -> Self {
        let table = &series.table;
        let reader = if table.written_leaf_count() > 0 {
            table.leaf_walk().map(|leaves| Reader::Written { leaves, columns: [Column::Unread; WRITTEN_COLUMNS] })
        } else if table.column_count() > 1 {
            table.row_walk(series.row).map(Reader::Row)
        } else {
            None
        };
        Self { series: *series, next: 0, reader: reader.unwrap_or(Reader::None) }
    }

    #[inline(always)]
    fn try_next(&mut self) -> Option<Label<'data>> {
        let view = self.series.table.view;
        let (table, code) = match &mut self.reader {
            Reader::Row(row) => row.next(view)?,
            Reader::Written { leaves, columns } => {
                let number = leaves.next(&view.catalogue)?;
                let column = columns.get_mut(index(number))?;
                if matches!(column, Column::Unread) {
                    *column = Column::open(&self.series, number)?;
                }
                match column {
                    Column::Row(row) => row.next(view)?,
                    &mut Column::Value { key, code } => {
                        *column = Column::Done;
                        (key, code)
                    }
                    Column::Unread | Column::Done => return None,
                }
            }
            Reader::None => return None,
        };
        let (key, code) = if table < view.key_count() { (table, code) } else { view.try_mapped_value(table, code)? };
        view.try_label(key, code)
    }

    /// Reads the next label by its place, which works for any tables.
    #[cold]
    #[inline(never)]
    fn next_by_place(&mut self) -> Result<Label<'data>> {
        let Series { table, .. } = &self.series;
        // Columns that are not read in order do not affect the others.
        let is_beyond = |column: u32| index(column) >= WRITTEN_COLUMNS;
        if !table.written_leaf(self.next).is_ok_and(is_beyond) {
            self.reader = Reader::None;
        }
        let ids = self.series.stored_ids(self.next)?;
        let view = table.view;
        Ok(Label { name: view.referenced_key_name(ids.key)?, value: view.referenced_symbol(ids.value)? })
    }
}

impl Column {
    fn open(series: &Series<'_, '_>, number: u32) -> Option<Self> {
        match Behind::open(series, number).ok()? {
            Behind::Value(key, code) => Some(Self::Value { key: key.0, code }),
            Behind::Row(table, row, _) if table.written_leaf_count() == 0 => table.row_walk(row).map(Self::Row),
            Behind::Row(..) => None,
        }
    }
}

impl<'data> Iterator for Labels<'data, '_> {
    type Item = Result<Label<'data>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.series.leaf_count {
            return None;
        }
        if let Some(label) = self.try_next() {
            self.next += 1;
            return Some(Ok(label));
        }
        let label = self.next_by_place();
        // The iterator ends after an error.
        self.next = if label.is_ok() { self.next + 1 } else { self.series.leaf_count };
        Some(label)
    }
}

impl FusedIterator for Labels<'_, '_> {}
