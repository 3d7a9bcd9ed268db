//! [`Resolver`]: labels of many series, with a cache of the parts that neighbours share (spec, section 9).

use super::{BlockView, Column, Domain, Keyset, Label, List, Table};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::MAX_WIDE;
use crate::number::{index, low32};
use crate::{KeyId, Result, Rule, SeriesRef, SymbolId};

/// Keys whose names and dictionaries are cached.
const REMEMBERED_KEYS: usize = 256;
/// Columns of a keyset's table that are cached if its leaves are written out. A factored keyset has few.
const REMEMBERED_COLUMNS: usize = 8;

/// Members of lists that are cached.
const REMEMBERED_MEMBERS: usize = 64;
/// Members with more labels are not cached.
const MEMBER_LABELS: usize = 16;
/// Marks an empty cache entry.
const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

/// Resolves series to labels and caches what it reads: names and dictionaries of keys, the current keyset, and the
/// labels that the last series shares with the next one. Neighbours share their prefix, so that reading in order costs
/// little more than the members of lists.
///
/// It takes about 80 KiB and allocates nothing. Make one per query or thread, not one per series.
///
/// ```
/// # fn count(block: &chronoxide_format::view::BlockView<'_>) -> chronoxide_format::Result<usize> {
/// let mut resolver = block.resolver();
/// let mut bytes = 0;
/// for series in 0..block.series_count()? {
///     for label in resolver.labels(series.into())?.unwrap_or_default() {
///         bytes += label.name.len() + label.value.len();
///     }
/// }
/// # Ok(bytes)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Resolver<'data, 'view> {
    current: Option<Current<'data, 'view>>,
    memory: Memory<'data, 'view>,
}

/// The cache, and the labels of the last series.
#[derive(Clone, Debug)]
struct Memory<'data, 'view> {
    view: &'view BlockView<'data>,
    keys: [Dictionary<'data>; REMEMBERED_KEYS],
    /// For each leaf of each cached column of the current keyset's table, the index of its label.
    slots: [[u16; MAX_WIDE]; REMEMBERED_COLUMNS],
    labels: [Label<'data>; MAX_WIDE],
    /// Members of lists, each at its row number modulo the length. Consecutive prefixes mostly have the same members.
    members: [Member<'data>; REMEMBERED_MEMBERS],
}

/// A cached member of lists: a row and its labels.
#[derive(Clone, Copy, Debug)]
struct Member<'data> {
    /// Table and row; [`NOWHERE`] if the entry is empty.
    place: (u32, u32),
    labels: [Label<'data>; MEMBER_LABELS],
}

/// Name of a key, and the place of its values.
#[derive(Clone, Copy, Debug)]
struct Dictionary<'data> {
    /// Empty if it was not read yet: no label name is empty.
    name: &'data [u8],
    row_count: u32,
    base: u32,
    width: u32,
    first_bit: u64,
}

/// The keyset of the last series.
#[derive(Clone, Copy, Debug)]
struct Current<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    label_count: u32,
    /// Columns and the table of lists; `None` if leaves are not written out or there are too many columns.
    columns: Option<Columns<'data, 'view>>,
    /// Cached row of the last series.
    read: Option<ReadRow<'data, 'view>>,
}

/// The columns of a keyset's table.
#[derive(Clone, Copy, Debug)]
struct Columns<'data, 'view> {
    columns: [Option<Column>; REMEMBERED_COLUMNS],
    /// Number of labels of each column.
    label_counts: [u16; REMEMBERED_COLUMNS],
    list_table: Option<Table<'data, 'view>>,
}

/// A row whose labels are in their slots.
#[derive(Clone, Copy, Debug)]
struct ReadRow<'data, 'view> {
    row: u32,
    /// Number of series of the keyset before the row.
    before: u32,
    list: Option<List<'data, 'view>>,
}

impl ReadRow<'_, '_> {
    fn series_count(&self) -> u32 {
        self.list.as_ref().map_or(1, |list| list.len())
    }
}

impl<'data, 'view> Resolver<'data, 'view> {
    pub(crate) const fn new(view: &'view BlockView<'data>) -> Self {
        const UNREAD: Dictionary<'static> = Dictionary { name: &[], row_count: 0, base: 0, width: 0, first_bit: 0 };
        const NOTHING: Label<'static> = Label { name: &[], value: &[] };
        let memory = Memory {
            view,
            keys: [UNREAD; REMEMBERED_KEYS],
            slots: [[0; MAX_WIDE]; REMEMBERED_COLUMNS],
            labels: [NOTHING; MAX_WIDE],
            members: [Member { place: NOWHERE, labels: [NOTHING; MEMBER_LABELS] }; REMEMBERED_MEMBERS],
        };
        Self { current: None, memory }
    }

    /// Returns the labels of a series, in the order of their names, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged. Later calls are not affected.
    #[inline]
    pub fn labels(&mut self, series: SeriesRef) -> Result<Option<&[Label<'data>]>> {
        let Self { current, memory } = self;
        if !current.as_ref().is_some_and(|current| current.has(series)) {
            *current = None;
            let Some(keyset) = memory.view.keyset_with(series)? else { return Ok(None) };
            *current = Some(memory.enter(keyset)?);
        }
        let Some(keyset) = current else { return Ok(None) };
        let label_count = index(keyset.label_count);
        match memory.read(keyset, series) {
            Ok(()) => Ok(memory.labels.get(..label_count)),
            Err(error) => {
                // The labels may be a mix of this series and the last one.
                *current = None;
                Err(error)
            }
        }
    }
}

impl<'data, 'view> Memory<'data, 'view> {
    /// Makes a keyset the current one.
    fn enter(&mut self, keyset: Keyset<'data, 'view>) -> Result<Current<'data, 'view>> {
        let table = &keyset.table;
        let label_count = table.leaf_count()?;
        let column_count = table.column_count();
        if table.written_leaf_count() == 0 || index(column_count) > REMEMBERED_COLUMNS {
            return Ok(Current { keyset, label_count, columns: None, read: None });
        }
        let list_table = keyset.pool().map(|pool| pool.table()).transpose()?;
        let mut columns =
            Columns { columns: [None; REMEMBERED_COLUMNS], label_counts: [0; REMEMBERED_COLUMNS], list_table };
        let mut start_bit = 0;
        for (place, number) in columns.columns.iter_mut().zip(0..column_count) {
            let column = table.column_from(number, start_bit)?;
            start_bit = column.start_bit + column.width;
            *place = Some(column);
        }
        let Self { slots, .. } = self;
        let mut label = 0_u16;
        table.for_each_written_leaf(|column| {
            let column = index(column);
            if let (Some(slots), Some(count)) = (slots.get_mut(column), columns.label_counts.get_mut(column)) {
                if let Some(slot) = slots.get_mut(usize::from(*count)) {
                    *slot = label;
                }
                *count += 1;
            }
            label += 1;
        })?;
        Ok(Current { keyset, label_count, columns: Some(columns), read: None })
    }

    /// Reads the labels of a series of the current keyset.
    #[inline]
    fn read(&mut self, current: &mut Current<'data, 'view>, series: SeriesRef) -> Result<()> {
        let keyset = &current.keyset;
        let place = series.0.wrapping_sub(keyset.first().0);
        let Some(columns) = &current.columns else {
            let (row, in_list) = keyset.locate(place)?;
            let table = &keyset.table;
            let is_plain = table.written_leaf_count() == 0 && table.column_count() > 1 && keyset.pool().is_none();
            return match is_plain.then(|| self.try_plain(table, row)).flatten() {
                Some(()) => Ok(()),
                None => self.read_any(current, series, row, in_list),
            };
        };
        let was_read = current.read.is_some();
        let before = match &current.read {
            Some(read) if place >= read.before && place - read.before < read.series_count() => read.before,
            before => {
                let (row, in_list) = match before {
                    // Reading in order: the next row.
                    Some(read) if place == read.before.wrapping_add(read.series_count()) => (read.row + 1, 0),
                    _ => keyset.locate(place)?,
                };
                self.read_prefix(columns, &keyset.table, row)?;
                let before = place - in_list;
                current.read = Some(ReadRow { row, before, list: keyset.stored_list(row)? });
                before
            }
        };
        let list = current.read.as_ref().and_then(|read| read.list.as_ref());
        if let (Some(list), Some(table)) = (list, &columns.list_table) {
            let number = index(keyset.table.column_count() - 1);
            let member = list.stored_member(place - before)?;
            let count = columns.label_counts.get(number).copied().unwrap_or(0);
            // A keyset that is left after one series does not repay the cost of caching.
            return if was_read && usize::from(count) <= MEMBER_LABELS {
                self.read_member(table, member, number, count)
            } else {
                self.read_row(table, member, number, count)
            };
        }
        Ok(())
    }

    /// Reads a member of a list, from the cache if it is there.
    #[inline]
    fn read_member(&mut self, table: &Table<'data, 'view>, row: u32, number: usize, count: u16) -> Result<()> {
        let number_of_member = index(row) % REMEMBERED_MEMBERS;
        let place = (table.id().0, row);
        let is_known = self.members.get(number_of_member).is_some_and(|member| member.place == place);
        if !is_known {
            self.read_row(table, row, number, count)?;
        }
        let Self { slots, labels, members, .. } = self;
        let (Some(member), Some(slots)) = (members.get_mut(number_of_member), slots.get(number)) else { return Ok(()) };
        for (own, &slot) in member.labels.iter_mut().zip(slots).take(usize::from(count)) {
            if let Some(label) = labels.get_mut(usize::from(slot)) {
                if is_known { *label = *own } else { *own = *label }
            }
        }
        member.place = place;
        Ok(())
    }

    /// Reads all labels of a row except those of its list.
    #[inline]
    fn read_prefix(&mut self, columns: &Columns<'data, 'view>, table: &Table<'data, 'view>, row: u32) -> Result<()> {
        for ((column, number), &count) in columns.columns.iter().zip(0..).zip(&columns.label_counts) {
            let Some(column) = column else { break };
            if let Domain::Table(domain) = column.domain {
                let code = table.stored_code(row, column)?;
                if domain.0 < self.view.key_count() {
                    let label = self.label(KeyId(domain.0), code)?;
                    self.set(number, 0, label)?;
                } else {
                    self.read_row(&Table::open(self.view, domain.0)?, code, number, count)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a row whose columns are one label each. Returns `None` in any other case, and if a byte is damaged.
    #[inline]
    fn try_plain(&mut self, table: &Table<'data, 'view>, row: u32) -> Option<()> {
        let Self { view, keys, labels, .. } = self;
        let mut places = labels.iter_mut();
        table.try_each_code(row, |domain, code| {
            *places.next()? = try_label(view, keys, domain, code)?;
            Some(())
        })
    }

    /// Reads a series leaf by leaf. Works for any tables.
    fn read_any(&mut self, current: &Current<'data, 'view>, series: SeriesRef, row: u32, in_list: u32) -> Result<()> {
        let series = super::Series::open(&current.keyset, series, row, in_list, current.label_count)?;
        for (ids, slot) in series.label_ids().zip(0..) {
            let ids = ids?;
            let label = self.label(ids.key, ids.code)?;
            if let Some(slot) = self.labels.get_mut(slot) {
                *slot = label;
            }
        }
        Ok(())
    }

    /// Reads row `row` of a table into the slots of column `number`.
    #[inline]
    fn read_row(&mut self, table: &Table<'data, 'view>, row: u32, number: usize, count: u16) -> Result<()> {
        match self.try_row(table, row, number, count) {
            Some(()) => Ok(()),
            None => self.read_other_row(table, row, number, count),
        }
    }

    /// Reads a row behind a map, or of a table that [`Memory::try_row`] cannot read.
    fn read_other_row(&mut self, table: &Table<'data, 'view>, row: u32, number: usize, count: u16) -> Result<()> {
        if table.is_map() {
            let column = table.stored_column(0)?;
            let code = table.stored_code(row, &column)?;
            if let Some(behind) = table.behind(column.domain)?
                && self.try_row(&behind, code, number, count).is_some()
            {
                return Ok(());
            }
        }
        self.read_any_row(table, row, number, count)
    }

    /// Reads a row whose columns are one label each. Returns `None` in any other case, and if a byte is damaged.
    #[inline]
    fn try_row(&mut self, table: &Table<'data, 'view>, row: u32, number: usize, count: u16) -> Option<()> {
        if table.written_leaf_count() > 0 || table.column_count() != u32::from(count) {
            return None;
        }
        let Self { view, keys, slots, labels, .. } = self;
        let mut slots = slots.get(number)?.iter();
        table.try_each_code(row, |domain, code| {
            *labels.get_mut(usize::from(*slots.next()?))? = try_label(view, keys, domain, code)?;
            Some(())
        })
    }

    /// Reads a row of any table, leaf by leaf.
    fn read_any_row(&mut self, table: &Table<'data, 'view>, row: u32, number: usize, count: u16) -> Result<()> {
        if table.is_dictionary() {
            let label = self.label(KeyId(table.id().0), row)?;
            return self.set(number, 0, label);
        }
        for (leaf, slot) in (0..u32::from(count)).zip(0..) {
            let (column, position) = table.stored_leaf_place(leaf)?;
            let column = table.stored_column(column)?;
            let ids = super::series::follow(table, column.domain, table.stored_code(row, &column)?, position)?;
            let label = self.label(ids.key, ids.code)?;
            self.set(number, slot, label)?;
        }
        Ok(())
    }

    /// Returns a label by its key and the position of its value in the key's dictionary.
    #[inline(always)]
    fn label(&mut self, key: KeyId, code: u32) -> Result<Label<'data>> {
        let view = self.view;
        let dictionary = match self.keys.get(index(key.0)) {
            Some(dictionary) if !dictionary.name.is_empty() => dictionary,
            _ => &self.read_dictionary(key)?,
        };
        if code >= dictionary.row_count {
            let count = dictionary.row_count.into();
            return Err(corrupt(Rule::ColumnCode, Place::Table(key.0.into()), code.into(), count));
        }
        let bit = dictionary.first_bit + u64::from(code) * u64::from(dictionary.width);
        let symbol = u64::from(dictionary.base) + view.rows.get(bit, dictionary.width)?;
        let symbol = u32::try_from(symbol)
            .map_err(|_| corrupt(Rule::ColumnCode, Place::Row(key.0, code), symbol, u32::MAX.into()))?;
        Ok(Label { name: dictionary.name, value: view.referenced_symbol(SymbolId(symbol))? })
    }

    #[cold]
    fn read_dictionary(&mut self, key: KeyId) -> Result<Dictionary<'data>> {
        let [name, row_count, rows_offset, base, width] = self.view.key_record(key)?;
        if width > 32 {
            return Err(corrupt(Rule::TableExtent, Place::Table(key.0.into()), width, 32));
        }
        let dictionary = Dictionary {
            name: self.view.referenced_symbol(SymbolId(low32(name)))?,
            row_count: low32(row_count),
            base: low32(base),
            width: low32(width),
            first_bit: rows_offset * 8,
        };
        if let Some(place) = self.keys.get_mut(index(key.0)) {
            *place = dictionary;
        }
        Ok(dictionary)
    }

    /// Sets the label of a slot of a column.
    #[inline(always)]
    fn set(&mut self, column: usize, slot: usize, label: Label<'data>) -> Result<()> {
        let place = self.slots.get(column).and_then(|slots| slots.get(slot));
        match place.and_then(|&place| self.labels.get_mut(usize::from(place))) {
            Some(place) => {
                *place = label;
                Ok(())
            }
            None => Err(corrupt_at(Rule::LeavesOrder, Place::Block)),
        }
    }
}

/// Returns the label of a code in a domain, given by its number. Returns `None` if the domain is not a cached
/// dictionary or a map of one, and if a byte is damaged.
#[inline(always)]
fn try_label<'data>(
    view: &BlockView<'data>,
    keys: &[Dictionary<'data>; REMEMBERED_KEYS],
    domain: u64,
    code: u32,
) -> Option<Label<'data>> {
    let key = domain.wrapping_sub(1);
    let (key, code) = match key < view.key_count().into() {
        true => (low32(key), code),
        false => view.try_mapped_value(key, code)?,
    };
    let dictionary = keys.get(index(key))?;
    if code >= dictionary.row_count {
        return None;
    }
    let bit = dictionary.first_bit + u64::from(code) * u64::from(dictionary.width);
    let field = view.rows.peek_field(bit, dictionary.width)?;
    let symbol = u32::try_from(u64::from(dictionary.base) + field).ok()?;
    Some(Label { name: dictionary.name, value: view.symbols().peek(symbol)? })
}

impl Current<'_, '_> {
    #[inline]
    fn has(&self, series: SeriesRef) -> bool {
        series.0.checked_sub(self.keyset.first().0).is_some_and(|place| place < self.keyset.series_count())
    }
}
