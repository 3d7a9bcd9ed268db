//! [`LabelCodes`]: the labels of a series as keys and codes, read in order.

use super::series::Series;
use super::shape::LeafWalk;
use super::table::RowWalk;
use super::{BlockView, Domain, Table};
use crate::number::index;

/// Columns of a keyset's table that are read in order if its leaves are written out. A factored keyset has few.
const WRITTEN_COLUMNS: usize = 16;
/// Those that lead to tables of several columns. Most keysets have a shared table and a list.
const ROWS: usize = 4;

/// Reads most labels of most series, without errors: errors are large, so that space for one costs more than a label.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "views do not allocate")]
pub(super) enum LabelCodes {
    /// Leaf *i* is that of column *i*.
    Row(RowWalk),
    /// Leaves are written out.
    Written(WrittenCodes),
    /// Neither, or a label could not be read.
    None,
}

/// The columns of a keyset's table whose leaves are written out.
#[derive(Clone, Debug)]
pub(super) struct WrittenCodes {
    leaves: LeafWalk,
    columns: [Column; WRITTEN_COLUMNS],
    rows: [RowWalk; ROWS],
}

/// A column, opened once.
#[derive(Clone, Copy, Debug)]
enum Column {
    /// Its labels are read by their places: it is damaged, or one of very many, or leads to nested tables.
    Apart,
    /// A value of a key, or a row of a map.
    Value { table: u32, code: u32 },
    /// The row with this number.
    Row(u8),
}

impl LabelCodes {
    #[inline]
    pub(super) fn new(series: &Series<'_, '_>) -> Self {
        let table = &series.table;
        let reader = if table.written_leaf_count() > 0 {
            WrittenCodes::open(series).map(Self::Written)
        } else if table.column_count() > 1 {
            table.row_walk(series.row).map(Self::Row)
        } else {
            None
        };
        reader.unwrap_or(Self::None)
    }

    /// Returns key and code of the next label. Returns `None` if it must be read by its place.
    #[inline(always)]
    pub(super) fn next(&mut self, view: &BlockView<'_>) -> Option<(u32, u32)> {
        let (table, code) = match self {
            Self::Row(row) => row.next(view)?,
            Self::Written(written) => {
                let column = index(written.leaves.next(&view.catalogue)?);
                let column = written.columns.get_mut(column)?;
                match *column {
                    Column::Row(number) => written.rows.get_mut(usize::from(number))?.next(view)?,
                    Column::Value { table, code } => {
                        // It has one leaf: another one is damage.
                        *column = Column::Apart;
                        (table, code)
                    }
                    Column::Apart => return None,
                }
            }
            Self::None => return None,
        };
        if table < view.key_count() { Some((table, code)) } else { view.try_mapped_value(table, code) }
    }

    /// Must be called if label `leaf` was read by its place. Labels of columns that are read apart do not affect the
    /// others.
    pub(super) fn skip(&mut self, series: &Series<'_, '_>, leaf: u32) {
        let is_apart = match (&*self, series.table.written_leaf(leaf)) {
            (Self::Written(written), Ok(column)) => {
                matches!(written.columns.get(index(column)), None | Some(Column::Apart))
            }
            _ => false,
        };
        if !is_apart {
            *self = Self::None;
        }
    }
}

impl WrittenCodes {
    fn open(series: &Series<'_, '_>) -> Option<Self> {
        let table = &series.table;
        let mut walk = table.row_walk(series.row)?;
        let (columns, rows) = ([Column::Apart; WRITTEN_COLUMNS], [RowWalk::NONE; ROWS]);
        let mut written = Self { leaves: table.leaf_walk()?, columns, rows };
        let mut row_count = 0;
        for number in 0..table.column_count() {
            let Some(column) = written.columns.get_mut(index(number)) else { break };
            let place = match walk.next(table.view) {
                Some(place) => Some(place),
                None => series.list_member(number),
            };
            // Nothing is known of the columns after one that is damaged.
            let Some((target, code)) = place else { break };
            match open_column(table.view, target, code) {
                Some(Target::Value { table, code }) => *column = Column::Value { table, code },
                Some(Target::Row(row)) => {
                    if let (Some(place), Ok(number)) = (written.rows.get_mut(row_count), u8::try_from(row_count)) {
                        *place = row;
                        *column = Column::Row(number);
                        row_count += 1;
                    }
                }
                None => {}
            }
        }
        Some(written)
    }
}

/// What a code of a column stands for.
enum Target {
    Value { table: u32, code: u32 },
    Row(RowWalk),
}

/// Returns what row `code` of a table stands for, behind a map. Returns `None` if that is neither a value nor a row of
/// values, or if it is damaged.
fn open_column(view: &BlockView<'_>, table: u32, code: u32) -> Option<Target> {
    if table < view.key_count() {
        return Some(Target::Value { table, code });
    }
    let mut behind = Table::open(view, table).ok()?;
    let mut row = code;
    if behind.is_map() {
        let column = behind.stored_column(0).ok()?;
        let Domain::Table(target) = column.domain else { return None };
        row = behind.stored_code(code, &column).ok()?;
        if target.0 < view.key_count() {
            return Some(Target::Value { table: target.0, code: row });
        }
        behind = Table::open(view, target.0).ok()?;
    }
    if behind.is_map() || behind.written_leaf_count() > 0 { None } else { behind.row_walk(row).map(Target::Row) }
}
