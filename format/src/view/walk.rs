//! [`LabelWalk`]: the labels of a table's rows, in the order of their names, each with the column that holds it.
//!
//! This is the only way from a row to its labels: names, labels as ids, bytes and text, and the fields that a resolver
//! keeps all come from it.

use super::shape::LeafWalk;
use super::{BlockView, Column, Domain, Table};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::MAX_DEPTH;
use crate::{KeyId, Result, Rule};

/// Tables on the way whose place is kept between leaves. Nearly all keysets need their own table, one or two shared
/// tables, and that of the list.
const OPEN_TABLES: usize = 5;

/// Walks over the leaves of a table, in order.
///
/// `R` is what the caller knows of a row of each table on the way: nothing for names, the place of the row for labels.
#[derive(Clone, Debug)]
pub(super) struct LabelWalk<'data, 'view, R> {
    open: [Option<OpenTable<'data, 'view, R>>; OPEN_TABLES],
    /// Number of open tables.
    len: usize,
    next: u32,
    count: u32,
    /// True if all leaves before the next one were walked over with tables that are open: a table that is not yet open
    /// is at its first leaf.
    is_whole: bool,
}

/// A table on the way, and the place in it.
#[derive(Clone, Debug)]
struct OpenTable<'data, 'view, R> {
    table: Table<'data, 'view>,
    /// Place of the open table, and its column, that lead to it.
    from: (usize, u32),
    row: R,
    next_leaf: u32,
    leaves: LeafWalk,
    /// Column behind the last one that was read, and the end of that one's field.
    next_column: u32,
    start_bit: u32,
}

/// A label of a row: a column of a table on the way, and what its codes stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<R> {
    pub key: KeyId,
    /// What is known of the row.
    pub row: R,
    pub column: Column,
    pub codes: Codes,
}

/// Meaning of the codes of a leaf's column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Codes {
    /// Value codes.
    Values,
    /// Rows of a map.
    Mapped(Map),
    /// None: the number of the row is the value code.
    Row,
}

/// A table of one column whose codes are value codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map {
    table: u32,
    row_count: u32,
    first_bit: u64,
    base: u32,
    width: u32,
}

/// A step of a walk: column `column` of a row of table `from` leads to a row of table `to`.
pub(super) struct Step<'w, 'data, 'view, R> {
    pub row: R,
    pub from: &'w Table<'data, 'view>,
    pub column: &'w Column,
    pub to: &'w Table<'data, 'view>,
}

impl<'data, 'view, R: Copy> LabelWalk<'data, 'view, R> {
    /// Begins at leaf `first` of a table that has `count` leaves.
    #[inline]
    pub(super) fn new(table: Table<'data, 'view>, row: R, first: u32, count: u32) -> Self {
        let mut walk = Self { open: [const { None }; OPEN_TABLES], len: 1, next: first, count, is_whole: first == 0 };
        let [root, ..] = &mut walk.open;
        *root = Some(OpenTable::new(table, (usize::MAX, 0), row, first));
        walk
    }

    /// Returns the number of leaves that are left.
    #[inline]
    pub(super) const fn left(&self) -> u32 {
        self.count.saturating_sub(self.next)
    }

    /// Ends the walk.
    pub(super) const fn stop(&mut self) {
        self.next = self.count;
    }

    /// Returns the next leaf, or `None` at the end. `enter` returns what is known of the row that a step leads to.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        mut enter: impl FnMut(Step<'_, 'data, 'view, R>) -> Result<R>,
    ) -> Result<Option<Leaf<R>>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let (mut place, mut position) = (0, self.next);
        self.next += 1;
        while let Some(Some(open)) = self.open.get_mut(place) {
            let number = open.column_of(position)?;
            if let Some(child) = self.place_of((place, number)) {
                (place, position) = (child, self.pass(child));
                continue;
            }
            let Some(Some(open)) = self.open.get_mut(place) else { break };
            let column = open.column(number)?;
            let (table, row) = (&open.table, open.row);
            if let Some((key, codes)) = values_of(table, &column)? {
                return Ok(Some(Leaf { key, row, column, codes }));
            }
            let behind = behind(table, &column)?;
            let first = if self.is_whole { 0 } else { table.leaf_place(position)?.1 };
            let row = enter(Step { row, from: table, column: &column, to: &behind })?;
            if self.len == OPEN_TABLES {
                self.is_whole = false;
                return descend(behind, row, first, enter).map(Some);
            }
            if let Some(slot) = self.open.get_mut(self.len) {
                *slot = Some(OpenTable::new(behind, (place, number), row, first));
            }
            (place, position) = (self.len, self.pass(self.len));
            self.len += 1;
        }
        Err(corrupt_at(Rule::TableDepth, Place::Block))
    }

    /// Returns the place of the open table that a column leads to.
    #[inline(always)]
    fn place_of(&self, from: (usize, u32)) -> Option<usize> {
        let mut open = self.open.iter().take(self.len).skip(1);
        open.position(|open| open.as_ref().is_some_and(|open| open.from == from)).map(|place| place + 1)
    }

    /// Passes over a leaf of an open table, and returns its number.
    #[inline(always)]
    fn pass(&mut self, place: usize) -> u32 {
        let Some(Some(open)) = self.open.get_mut(place) else { return 0 };
        open.next_leaf += 1;
        open.next_leaf - 1
    }
}

impl<'data, 'view, R> OpenTable<'data, 'view, R> {
    fn new(table: Table<'data, 'view>, from: (usize, u32), row: R, next_leaf: u32) -> Self {
        let leaves = table.leaf_walk(next_leaf);
        Self { table, from, row, next_leaf, leaves, next_column: 0, start_bit: 0 }
    }

    /// Returns the column of leaf `leaf`. Leaves come in order.
    #[inline(always)]
    fn column_of(&mut self, leaf: u32) -> Result<u32> {
        if self.table.is_map() || self.table.is_dictionary() {
            return Ok(0);
        }
        match self.table.written_leaf_count() {
            0 => Ok(leaf),
            written if leaf < written => self.leaves.next(&self.table.view.catalogue),
            _ => self.table.written_leaf(leaf),
        }
    }

    /// Returns a column. To read columns in order costs less.
    #[inline(always)]
    fn column(&mut self, number: u32) -> Result<Column> {
        let column = if number == self.next_column {
            self.table.column_from(number, self.start_bit)?
        } else {
            self.table.column(number)?
        };
        (self.next_column, self.start_bit) = (number + 1, column.start_bit + column.width);
        Ok(column)
    }
}

/// Returns leaf `leaf` of a row of a table, through all tables behind it, without an open table: costs O(`leaf`) where
/// leaves are written out.
pub(super) fn descend<'data, 'view, R: Copy>(
    table: Table<'data, 'view>,
    row: R,
    leaf: u32,
    mut enter: impl FnMut(Step<'_, 'data, 'view, R>) -> Result<R>,
) -> Result<Leaf<R>> {
    let (mut table, mut row, mut leaf) = (table, row, leaf);
    for _ in 0..=MAX_DEPTH {
        let (number, position) = table.leaf_place(leaf)?;
        let column = table.column(number)?;
        if let Some((key, codes)) = values_of(&table, &column)? {
            if position > 0 {
                return Err(corrupt(Rule::LeavesOrder, Place::Table(key.0.into()), position.into(), 1));
            }
            return Ok(Leaf { key, row, column, codes });
        }
        let behind = behind(&table, &column)?;
        row = enter(Step { row, from: &table, column: &column, to: &behind })?;
        (table, leaf) = (behind, position);
    }
    Err(corrupt_at(Rule::TableDepth, Place::Table(table.id.into())))
}

/// Returns the key whose values a column stands for, directly or through a map; `None` if it leads to a table of
/// several columns, to another map, or to a list.
#[inline(always)]
fn values_of(table: &Table<'_, '_>, column: &Column) -> Result<Option<(KeyId, Codes)>> {
    let Domain::Table(id) = column.domain else {
        let is_dictionary = table.is_dictionary();
        return Ok(is_dictionary.then_some((KeyId(table.id), Codes::Row)));
    };
    if id.0 < table.view.key_count() {
        return Ok(Some((KeyId(id.0), Codes::Values)));
    }
    Ok(Map::open(table.view, id.0)?.map(|(key, map)| (key, Codes::Mapped(map))))
}

fn behind<'data, 'view>(table: &Table<'data, 'view>, column: &Column) -> Result<Table<'data, 'view>> {
    table.behind(column.domain)?.ok_or_else(|| corrupt_at(Rule::ColumnDomain, Place::Table(table.id.into())))
}

impl Map {
    pub(super) const NONE: Self = Self { table: 0, row_count: 0, first_bit: 0, base: 0, width: 0 };

    /// Returns a map and its key; `None` if the table is not a map of values.
    fn open(view: &BlockView<'_>, table: u32) -> Result<Option<(KeyId, Self)>> {
        let table = Table::open(view, table)?;
        if !table.is_map() {
            return Ok(None);
        }
        let Column { domain, base, width, .. } = table.column(0)?;
        let Table { id, row_count, first_bit, .. } = table;
        Ok(match domain {
            Domain::Table(key) if key.0 < view.key_count() => {
                Some((KeyId(key.0), Self { table: id, row_count, first_bit, base, width }))
            }
            _ => None,
        })
    }

    /// Returns the value code of a row.
    #[inline(always)]
    pub(super) fn get(&self, view: &BlockView<'_>, row: u32) -> Result<u32> {
        if row >= self.row_count {
            return Err(corrupt(Rule::ColumnCode, Place::Table(self.table.into()), row.into(), self.row_count.into()));
        }
        let bit = self.first_bit + u64::from(row) * u64::from(self.width);
        code(u64::from(self.base) + view.rows.get(bit, self.width)?, self.table, row)
    }
}

/// A row, and where its fields are.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlace {
    table: u32,
    number: u32,
    first_bit: u64,
}

impl RowPlace {
    /// Returns the place of a row; a row that the table does not have is corruption.
    #[inline(always)]
    pub(super) fn new(table: &Table<'_, '_>, row: u32) -> Result<Self> {
        table.expect_row(row)?;
        let first_bit = table.first_bit + u64::from(row) * u64::from(table.row_bits);
        Ok(Self { table: table.id, number: row, first_bit })
    }

    /// Returns the code of a column.
    #[inline(always)]
    pub(super) fn code(self, view: &BlockView<'_>, column: &Column) -> Result<u32> {
        let field = view.rows.get(self.first_bit + u64::from(column.start_bit), column.width)?;
        code(u64::from(column.base) + field, self.table, self.number)
    }
}

impl Leaf<RowPlace> {
    /// Returns the value code.
    #[inline(always)]
    pub(super) fn value_code(&self, view: &BlockView<'_>) -> Result<u32> {
        match &self.codes {
            Codes::Values => self.row.code(view, &self.column),
            Codes::Mapped(map) => map.get(view, self.row.code(view, &self.column)?),
            Codes::Row => Ok(self.row.number),
        }
    }
}

/// Returns the sum of base and field as a code.
#[inline(always)]
pub(super) fn code(sum: u64, table: u32, row: u32) -> Result<u32> {
    u32::try_from(sum).map_err(|_| corrupt(Rule::ColumnCode, Place::Row(table, row), sum, u32::MAX.into()))
}
