//! [`LabelWalk`]: the labels of a table's rows, in the order of their names, each with the column that holds it.
//!
//! Labels are read by this walk or, of a view with paths, from the fields that one walk over the keyset recorded
//! (`path`).

use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::MAX_DEPTH;
use crate::number::{index, length, low32};
use crate::view::catalogue::{BlockView, Column, ColumnWalk, Domain, LeafWalk, Map, Table, code};
use crate::{KeyId, Result, Rule};

/// Tables on the way whose place is kept between leaves. Nearly all keysets need their own table, one or two shared
/// tables, and that of the list.
const OPEN_TABLES: usize = 5;
/// Columns whose open table is found without a search. A factored keyset has few.
const QUICK_COLUMNS: usize = 16;
/// Stands for a column that no table has.
const NO_COLUMN: u32 = u32::MAX;
/// Stands for the way to a table that is not open: larger than that of any column.
const NOT_OPEN: u32 = u32::MAX;

/// Walks over the leaves of a table, in order.
///
/// `R` is what the caller knows of a row of each table on the way: nothing for names, the place of the row for labels.
#[derive(Clone, Debug)]
pub(super) struct LabelWalk<'data, 'view, R> {
    open: [Option<OpenTable<'data, 'view, R>>; OPEN_TABLES],
    /// Place of the open table that leads to each open table, and its column. Apart from the tables, so that a table is
    /// found in few cache lines.
    from: [u32; OPEN_TABLES],
    /// For each of the first columns of the walk's table, the place of the open table that it leads to if this table
    /// has one leaf per column and leads to no open table; 0 for other columns.
    children: [u8; QUICK_COLUMNS],
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
    row: R,
    next_leaf: u32,
    leaves: Leaves,
    columns: ColumnWalk,
    /// Column after the last one that was read, and the end of that one's field. [`NO_COLUMN`] if none was read, if it
    /// was the table's last one, or if columns cannot be read in order.
    next_column: u32,
    start_bit: u32,
}

/// The columns of the leaves of a table.
#[derive(Clone, Debug)]
enum Leaves {
    /// Leaf *i* is that of column *i*.
    Each,
    /// All leaves are those of the only column.
    One,
    /// Columns of leaves are written out, and so is their number.
    Written(LeafWalk, u32),
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

/// Reader of rows and labels that a walk meets.
pub(super) trait Visitor<'data, 'view, R> {
    /// A label as it is read.
    type Label;

    /// Returns what is known of the row of table `to` that a column of a row of table `from` leads to.
    fn enter(&mut self, row: R, from: &Table<'data, 'view>, column: &Column, to: &Table<'data, 'view>) -> Result<R>;

    /// Reads a label from a column of a row.
    fn label(&mut self, key: KeyId, row: R, column: &Column, codes: Codes) -> Result<Self::Label>;
}

impl<'data, 'view, R: Copy> LabelWalk<'data, 'view, R> {
    /// Begins at the first leaf of a row of a table that has `count` leaves.
    #[inline]
    pub(super) fn new(table: Table<'data, 'view>, row: R, count: u32) -> Self {
        let (open, from) = ([const { None }; OPEN_TABLES], [NOT_OPEN; OPEN_TABLES]);
        let children = [0; QUICK_COLUMNS];
        let mut walk = Self { open, from, children, len: 1, next: 0, count, is_whole: true };
        let [root, ..] = &mut walk.open;
        *root = Some(OpenTable::new(table, row, 0));
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

    /// Reads the next label; `None` at the end.
    #[inline(always)]
    pub(super) fn next<V: Visitor<'data, 'view, R>>(&mut self, visitor: &mut V) -> Result<Option<V::Label>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let position = self.next;
        self.next += 1;
        let [Some(root), ..] = &mut self.open else { return Ok(None) };
        let number = root.column_of(position)?;
        // The hot path: a label of a shared table or of a list's table, or of the table itself.
        let place = self.children.get(index(number)).map_or(0, |child| usize::from(*child));
        let (position, number) = if place > 0 {
            let leaf = self.pass(place);
            (leaf, leaf)
        } else if self.place_of(0, number).is_some() {
            return self.next_of(0, position, number, visitor).map(Some);
        } else {
            (position, number)
        };
        let Some(Some(open)) = self.open.get_mut(place) else { return Ok(None) };
        if number != open.next_column {
            return self.next_of(place, position, number, visitor).map(Some);
        }
        let OpenTable { table, row, columns, next_column, start_bit, .. } = open;
        let view = table.view;
        let column = table.column_of_record(*start_bit, columns.next(&view.catalogue)?)?;
        (*next_column, *start_bit) = (column_after(table, number), column.start_bit + column.width);
        // Most columns have value codes.
        if let Domain::Table(key) = column.domain
            && key.0 < view.key_count()
        {
            return visitor.label(KeyId(key.0), *row, &column, Codes::Values).map(Some);
        }
        if let Domain::Table(map) = column.domain
            && let Some((key, map)) = Map::open(view, map.0)?
        {
            return visitor.label(key, *row, &column, Codes::Mapped(map)).map(Some);
        }
        self.follow(place, position, number, &column, visitor).map(Some)
    }

    /// Reads leaf `position` of an open table, which is a leaf of column `number`.
    fn next_of<V: Visitor<'data, 'view, R>>(
        &mut self,
        place: usize,
        position: u32,
        number: u32,
        visitor: &mut V,
    ) -> Result<V::Label> {
        let (mut place, mut position, mut number) = (place, position, number);
        while let Some(child) = self.place_of(place, number) {
            (place, position) = (child, self.pass(child));
            let Some(Some(open)) = self.open.get_mut(place) else { break };
            number = open.column_of(position)?;
        }
        let Some(Some(open)) = self.open.get_mut(place) else {
            return Err(corrupt_at(Rule::TableDepth, Place::Block));
        };
        let column = open.column(number)?;
        if let Some((key, codes)) = values_of(&open.table, &column)? {
            return visitor.label(key, open.row, &column, codes);
        }
        self.follow(place, position, number, &column, visitor)
    }

    /// Reads leaf `position` of an open table, through its column `number` that leads to a table that is not open.
    #[inline(never)]
    fn follow<V: Visitor<'data, 'view, R>>(
        &mut self,
        place: usize,
        position: u32,
        number: u32,
        column: &Column,
        visitor: &mut V,
    ) -> Result<V::Label> {
        let Some(Some(open)) = self.open.get_mut(place) else {
            return Err(corrupt_at(Rule::TableDepth, Place::Block));
        };
        let (mut table, mut row, mut column) = (open.table, open.row, *column);
        let first = if self.is_whole { 0 } else { table.leaf_place(position)?.1 };
        let mut to = behind(&table, &column)?;
        // A map has the leaves of the table behind it, which takes its place.
        for _ in 0..MAX_DEPTH {
            if !to.is_map() {
                break;
            }
            row = visitor.enter(row, &table, &column, &to)?;
            (table, column) = (to, to.column(0)?);
            if let Some((key, codes)) = values_of(&table, &column)? {
                return visitor.label(key, row, &column, codes);
            }
            to = behind(&table, &column)?;
        }
        let row = visitor.enter(row, &table, &column, &to)?;
        let child = self.len;
        let (Some(slot), Some(from)) = (self.open.get_mut(child), self.from.get_mut(child)) else {
            self.is_whole = false;
            return descend(to, row, first, visitor);
        };
        let mut table = OpenTable::new(to, row, first);
        table.next_leaf += 1;
        let is_each = matches!(table.leaves, Leaves::Each);
        let own = table.column_of(first)?;
        (*slot, *from) = (Some(table), way(place, number));
        self.len += 1;
        if place > 0 {
            // The table in between has a child now: its leaves are not all its own.
            self.children = self.children.map(|other| if usize::from(other) == place { 0 } else { other });
        } else if let Some(slot) = self.children.get_mut(index(number)).filter(|_| is_each) {
            *slot = u8::try_from(child).unwrap_or(0);
        }
        self.next_of(child, first, own, visitor)
    }

    /// Returns the place of the open table that a column leads to.
    #[inline(always)]
    fn place_of(&self, place: usize, column: u32) -> Option<usize> {
        // A table is opened after those that lead to it.
        let way = way(place, column);
        let later = self.from.get(place + 1..self.len)?;
        Some(later.iter().position(|&own| own == way)? + place + 1)
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
    #[inline]
    fn new(table: Table<'data, 'view>, row: R, next_leaf: u32) -> Self {
        let leaves = match table.written_leaf_count() {
            _ if table.column_count() == 1 => Leaves::One,
            0 => Leaves::Each,
            written => Leaves::Written(table.leaf_walk(next_leaf), written),
        };
        Self { table, row, next_leaf, leaves, columns: ColumnWalk::NONE, next_column: NO_COLUMN, start_bit: 0 }
    }

    /// Returns the column of leaf `leaf`. Leaves come in order.
    #[inline(always)]
    fn column_of(&mut self, leaf: u32) -> Result<u32> {
        match &mut self.leaves {
            Leaves::Each => Ok(leaf),
            Leaves::One => Ok(0),
            Leaves::Written(walk, count) if leaf < *count => walk.next(&self.table.view.catalogue),
            Leaves::Written(..) => self.table.written_leaf(leaf),
        }
    }
}

impl<R> OpenTable<'_, '_, R> {
    /// Returns a column, and prepares to read the next ones in order.
    fn column(&mut self, number: u32) -> Result<Column> {
        let column = self.table.column(number)?;
        if let Some(columns) = self.table.column_walk(number + 1) {
            (self.columns, self.next_column) = (columns, column_after(&self.table, number));
            self.start_bit = column.start_bit + column.width;
        }
        Ok(column)
    }
}

/// Returns the column after column `number`, or [`NO_COLUMN`] after the last one.
#[inline(always)]
fn column_after(table: &Table<'_, '_>, number: u32) -> u32 {
    if number + 1 < table.column_count() { number + 1 } else { NO_COLUMN }
}

/// Returns the place of an open table and the number of a column, at most 1,023, as one number.
#[inline(always)]
fn way(place: usize, column: u32) -> u32 {
    low32(length(place)) << 16 | column
}

/// Reads label `leaf` of a row of a table, through all tables behind it, without an open table: costs O(`leaf`) where
/// leaves are written out.
pub(super) fn descend<'data, 'view, R: Copy, V: Visitor<'data, 'view, R>>(
    table: Table<'data, 'view>,
    row: R,
    leaf: u32,
    visitor: &mut V,
) -> Result<V::Label> {
    let (mut table, mut row, mut leaf) = (table, row, leaf);
    for _ in 0..=MAX_DEPTH {
        let (number, position) = table.leaf_place(leaf)?;
        let column = table.column(number)?;
        if let Some((key, codes)) = values_of(&table, &column)? {
            if position > 0 {
                return Err(corrupt(Rule::LeavesOrder, Place::Table(key.0.into()), position.into(), 1));
            }
            return visitor.label(key, row, &column, codes);
        }
        let behind = behind(&table, &column)?;
        row = visitor.enter(row, &table, &column, &behind)?;
        (table, leaf) = (behind, position);
    }
    Err(corrupt_at(Rule::TableDepth, Place::Table(table.entry.id.into())))
}

/// Returns the key whose values a column stands for, directly or through a map; `None` if it leads to a table of
/// several columns, to another map, or to a list.
#[inline(always)]
fn values_of(table: &Table<'_, '_>, column: &Column) -> Result<Option<(KeyId, Codes)>> {
    let Domain::Table(id) = column.domain else {
        let is_dictionary = table.is_dictionary();
        return Ok(is_dictionary.then_some((KeyId(table.entry.id), Codes::Row)));
    };
    if id.0 < table.view.key_count() {
        return Ok(Some((KeyId(id.0), Codes::Values)));
    }
    Ok(Map::open(table.view, id.0)?.map(|(key, map)| (key, Codes::Mapped(map))))
}

fn behind<'data, 'view>(table: &Table<'data, 'view>, column: &Column) -> Result<Table<'data, 'view>> {
    table.behind(column.domain)?.ok_or_else(|| corrupt_at(Rule::ColumnDomain, Place::Table(table.entry.id.into())))
}

/// A row, and where its fields are.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlace {
    table: u32,
    pub number: u32,
    first_bit: u64,
}

impl RowPlace {
    /// Returns the place of a row; a row that the table does not have is corruption.
    #[inline(always)]
    pub(super) fn new(table: &Table<'_, '_>, row: u32) -> Result<Self> {
        table.expect_row(row)?;
        let first_bit = table.entry.first_bit + u64::from(row) * u64::from(table.entry.row_bits);
        Ok(Self { table: table.entry.id, number: row, first_bit })
    }

    /// Returns the code of a column.
    #[inline(always)]
    pub(super) fn code(self, view: &BlockView<'_>, column: &Column) -> Result<u32> {
        let field = view.rows.get(self.first_bit + u64::from(column.start_bit), column.width)?;
        code(u64::from(column.base) + field, self.table, self.number)
    }
}

/// Reads keys.
pub(super) struct Keys;

impl<'data, 'view> Visitor<'data, 'view, ()> for Keys {
    type Label = KeyId;

    #[inline(always)]
    fn enter(&mut self, (): (), _: &Table<'data, 'view>, _: &Column, _: &Table<'data, 'view>) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn label(&mut self, key: KeyId, (): (), _: &Column, _: Codes) -> Result<KeyId> {
        Ok(key)
    }
}

/// Reads keys and value codes of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeysAndCodes<'data, 'view> {
    pub view: &'view BlockView<'data>,
    /// Row of the pool's table, for a keyset with lists.
    pub member: u32,
}

impl<'data, 'view> Visitor<'data, 'view, RowPlace> for KeysAndCodes<'data, 'view> {
    type Label = (KeyId, u32);

    #[inline(always)]
    fn enter(
        &mut self,
        row: RowPlace,
        _: &Table<'data, 'view>,
        column: &Column,
        to: &Table<'data, 'view>,
    ) -> Result<RowPlace> {
        let number = match column.domain {
            Domain::Pool(_) => self.member,
            _ => row.code(self.view, column)?,
        };
        RowPlace::new(to, number)
    }

    #[inline(always)]
    fn label(&mut self, key: KeyId, row: RowPlace, column: &Column, codes: Codes) -> Result<(KeyId, u32)> {
        let code = match codes {
            Codes::Values => row.code(self.view, column)?,
            Codes::Mapped(map) => map.get(self.view, row.code(self.view, column)?)?,
            Codes::Row => row.number,
        };
        Ok((key, code))
    }
}
