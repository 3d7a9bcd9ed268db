//! [`LabelCodes`]: the labels of a series as keys and codes, read in order.

use super::series::Series;
use super::shape::LeafWalk;
use super::table::RowWalk;
use super::{BlockView, Domain, Table};
use crate::number::index;

/// Columns of a keyset's table that are read in order if its leaves are written out. A factored keyset has few.
const WRITTEN_COLUMNS: usize = 16;
/// Columns among them that lead to tables of several columns. Most keysets have a shared table and a list.
const ROWS: usize = 4;

/// Reads most labels of most series, without errors: errors are large, so that space for one costs more than a label.
///
/// It is opened in its place: to move it costs as much as two labels.
#[derive(Clone, Debug)]
pub(super) struct LabelCodes {
    form: Form,
    leaves: LeafWalk,
    columns: [Column; WRITTEN_COLUMNS],
    rows: [RowWalk; ROWS],
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// Leaf *i* is that of column *i* of the first row.
    Row,
    /// Leaves are written out.
    Written,
    /// Neither, or a label could not be read.
    None,
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
    /// Reads no label.
    pub(super) const NONE: Self = Self {
        form: Form::None,
        leaves: LeafWalk::NONE,
        columns: [Column::Apart; WRITTEN_COLUMNS],
        rows: [RowWalk::NONE; ROWS],
    };

    /// Begins with the first label of a series.
    #[inline]
    pub(super) fn open(&mut self, series: &Series<'_, '_>) {
        let table = &series.table;
        let Some(row) = table.row_walk(series.row) else { return };
        if table.written_leaf_count() > 0 {
            self.open_written(series, row);
        } else if table.column_count() > 1 {
            let [first, ..] = &mut self.rows;
            *first = row;
            self.form = Form::Row;
        }
    }

    fn open_written(&mut self, series: &Series<'_, '_>, walk: RowWalk) {
        let Series { table, .. } = series;
        let Some(leaves) = table.leaf_walk() else { return };
        (self.form, self.leaves) = (Form::Written, leaves);
        let mut walk = walk;
        let mut row_count = 0;
        for (number, column) in (0..table.column_count()).zip(&mut self.columns) {
            let place = match walk.next(table.view) {
                Some(place) => Some(place),
                None => series.list_member(number),
            };
            // Nothing is known of the columns after one that is damaged.
            let Some((target, code)) = place else { return };
            match open_column(table.view, target, code) {
                Some(Target::Value { table, code }) => *column = Column::Value { table, code },
                Some(Target::Row(row)) => {
                    if let (Some(place), Ok(number)) = (self.rows.get_mut(row_count), u8::try_from(row_count)) {
                        *place = row;
                        *column = Column::Row(number);
                        row_count += 1;
                    }
                }
                None => {}
            }
        }
    }

    /// Returns key and code of the next label. Returns `None` if it must be read by its place.
    #[inline(always)]
    pub(super) fn next(&mut self, view: &BlockView<'_>) -> Option<(u32, u32)> {
        let (table, code) = match self.form {
            Form::Row => {
                let [row, ..] = &mut self.rows;
                row.next(view)?
            }
            Form::Written => {
                let Some(number) = self.leaves.next(&view.catalogue) else {
                    // The walk stays at this leaf, which the caller reads by its place.
                    self.form = Form::None;
                    return None;
                };
                let column = self.columns.get_mut(index(number))?;
                match *column {
                    Column::Row(number) => self.rows.get_mut(usize::from(number))?.next(view)?,
                    Column::Value { table, code } => {
                        // A value has one leaf: another one is damage.
                        *column = Column::Apart;
                        (table, code)
                    }
                    Column::Apart => return None,
                }
            }
            Form::None => return None,
        };
        if table < view.key_count() { Some((table, code)) } else { view.try_mapped_value(table, code) }
    }

    /// Must be called if label `leaf` was read by its place. Labels of columns that are read apart do not affect the
    /// others.
    pub(super) fn skip(&mut self, series: &Series<'_, '_>, leaf: u32) {
        let column = |number| self.columns.get(index(number));
        let is_apart = matches!(self.form, Form::Written)
            && series.table.written_leaf(leaf).is_ok_and(|number| matches!(column(number), None | Some(Column::Apart)));
        if !is_apart {
            self.form = Form::None;
        }
    }
}

/// Meaning of a code of a column.
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
