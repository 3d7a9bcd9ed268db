//! [`FieldCache`]: where the codes of the labels of a keyset are stored, cached for several keysets.

use std::ops::Range;

use super::values::ValueCache;
use super::{BlockView, Column, Domain, Keyset, Label, Table};
use crate::bits::mask;
use crate::number::index;

/// Labels whose fields are cached, of all keysets together: at least [`crate::layout::MAX_LABELS`].
const CACHED_FIELDS: usize = 4096;
/// Parts that are cached, of all keysets together.
const CACHED_PARTS: usize = 512;
/// Maps that are cached, of all keysets together. Number 0 means that there is no map.
const CACHED_MAPS: usize = 256;
/// Columns of a keyset's table that are cached if its leaves are written out. A factored keyset has few.
const WRITTEN_COLUMNS: usize = 16;

/// Fields of the labels of several keysets. Reading a label through it needs neither the catalogue nor the order of
/// keys. If it is full, it is emptied: a caller that meets more keysets than fit reads their columns again.
#[derive(Clone, Debug)]
pub(super) struct FieldCache {
    fields: Store<Field, CACHED_FIELDS>,
    parts: Store<Part, CACHED_PARTS>,
    maps: Store<Map, CACHED_MAPS>,
}

/// Items of several keysets, one after the other.
#[derive(Clone, Debug)]
struct Store<T, const N: usize> {
    items: [T; N],
    len: usize,
    /// True if an item did not fit.
    is_full: bool,
}

impl<T: Copy, const N: usize> Store<T, N> {
    fn push(&mut self, item: T) -> Option<()> {
        let place = self.items.get_mut(self.len);
        self.is_full |= place.is_none();
        *place? = item;
        self.len += 1;
        Some(())
    }

    const fn clear(&mut self, len: usize) {
        (self.len, self.is_full) = (len, false);
    }
}

/// Field of a label in a row.
#[derive(Clone, Copy, Debug)]
struct Field {
    base: u32,
    key: u16,
    start_bit: u16,
    /// Place of the label among those of the series.
    label: u16,
    width: u8,
    map: u8,
}

/// A map: rows of one column, which replace a code by another.
#[derive(Clone, Copy, Debug)]
struct Map {
    first_bit: u64,
    row_count: u32,
    width: u32,
    base: u32,
}

/// Labels that are read from one row.
#[derive(Clone, Copy, Debug)]
struct Part {
    source: Source,
    map: u8,
    /// True if the row number is the code of the only label.
    is_direct: bool,
    /// Bounds of its fields in the cache. Those of columns that vary come first.
    fields: (u16, u16),
    /// End of the fields of columns that vary.
    varying_end: u16,
    row_count: u32,
    row_bits: u32,
    first_bit: u64,
    /// Time and row of the last reading.
    read: (u64, u32),
}

/// Source of the row number of a part.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The row of the keyset's table.
    Row,
    /// A code in the row of the keyset's table.
    Column { base: u32, start_bit: u16, width: u8 },
    /// A member of the row's list.
    List,
}

/// The parts of a keyset in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    start: u16,
    end: u16,
    first_bit: u64,
    row_bits: u32,
}

impl FieldCache {
    pub(super) const fn new() -> Self {
        const FIELD: Field = Field { base: 0, key: 0, start_bit: 0, label: 0, width: 0, map: 0 };
        const PART: Part = Part {
            source: Source::Row,
            map: 0,
            is_direct: false,
            fields: (0, 0),
            varying_end: 0,
            row_count: 0,
            row_bits: 0,
            first_bit: 0,
            read: (0, 0),
        };
        const MAP: Map = Map { first_bit: 0, row_count: 0, width: 0, base: 0 };
        Self {
            fields: Store { items: [FIELD; CACHED_FIELDS], len: 0, is_full: false },
            parts: Store { items: [PART; CACHED_PARTS], len: 0, is_full: false },
            maps: Store { items: [MAP; CACHED_MAPS], len: 1, is_full: false },
        }
    }

    /// Removes all keysets.
    pub(super) const fn clear(&mut self) {
        self.fields.clear(0);
        self.parts.clear(0);
        self.maps.clear(1);
    }

    /// Returns true if the last keyset did not fit beside the others.
    pub(super) const fn is_full(&self) -> bool {
        self.fields.is_full || self.parts.is_full || self.maps.is_full
    }

    /// Adds a keyset with `label_count` labels. Returns `None` if it does not fit, if tables are nested, or if the
    /// block is damaged.
    pub(super) fn add(&mut self, keyset: &Keyset<'_, '_>, label_count: u32) -> Option<Parts> {
        let before = (self.fields.len, self.parts.len, self.maps.len);
        (self.fields.is_full, self.parts.is_full, self.maps.is_full) = (false, false, false);
        let parts = self.try_add(keyset, label_count);
        if parts.is_none() {
            (self.fields.len, self.parts.len, self.maps.len) = before;
        }
        parts
    }

    fn try_add(&mut self, keyset: &Keyset<'_, '_>, label_count: u32) -> Option<Parts> {
        let table = &keyset.table();
        let (first_part, first_field) = (self.parts.len, self.fields.len);
        let is_written = table.written_leaf_count() > 0;
        // Fields of each column, for tables whose leaves are written out.
        let mut columns = [(0, 0); WRITTEN_COLUMNS];
        if is_written && index(table.column_count()) > WRITTEN_COLUMNS {
            return None;
        }
        // Labels in the rows of the keyset's table.
        for (column, number) in table.columns().zip(0_u16..) {
            let column = column.ok()?;
            if let Some((key, map)) = key(table, column.domain)? {
                let map = self.push_map(map.as_ref())?;
                self.push_field(key, map, &column, number)?;
                if let Some(place) = columns.get_mut(usize::from(number)) {
                    *place = (self.fields.len - 1, self.fields.len);
                }
            }
        }
        if self.fields.len > first_field {
            self.push_part(Source::Row, 0, Some(table), first_field)?;
        }
        // Labels behind its other columns.
        for (column, number) in table.columns().zip(0_u16..) {
            let column = column.ok()?;
            if key(table, column.domain)?.is_some() {
                continue;
            }
            let start = self.fields.len;
            self.push_behind(table, &column, number)?;
            if let Some(place) = columns.get_mut(usize::from(number)) {
                *place = (start, self.fields.len);
            }
            // Only written leaves, or those of a single column, can be several.
            if self.fields.len - start > 1 && !is_written && table.column_count() > 1 {
                return None;
            }
        }
        if self.fields.len - first_field != index(label_count) {
            return None;
        }
        if is_written {
            self.place_written(table, columns)?;
        }
        self.order_fields(first_part);
        let (start, end) = (u16::try_from(first_part).ok()?, u16::try_from(self.parts.len).ok()?);
        Some(Parts { start, end, first_bit: table.first_bit, row_bits: table.row_bits })
    }

    /// Adds the labels behind a column that leads to another table. The first of them gets place `number`.
    fn push_behind(&mut self, table: &Table<'_, '_>, column: &Column, number: u16) -> Option<()> {
        let source = match column.domain {
            Domain::Pool(_) => Source::List,
            _ => Source::Column {
                base: column.base,
                start_bit: u16::try_from(column.start_bit).ok()?,
                width: u8::try_from(column.width).ok()?,
            },
        };
        let start = self.fields.len;
        let mut behind = table.behind(column.domain).ok()??;
        let mut map = 0;
        if behind.is_map() {
            map = self.push_map(Some(&behind))?;
            behind = behind.behind(behind.stored_column(0).ok()?.domain).ok()??;
        }
        if behind.is_dictionary() {
            let column = behind.stored_column(0).ok()?;
            self.push_field(behind.id().0, 0, &column, number)?;
            return self.push_part(source, map, None, start);
        }
        if behind.is_map() || behind.written_leaf_count() > 0 {
            return None;
        }
        for (column, label) in behind.columns().zip(number..) {
            let column = column.ok()?;
            let (key, map) = key(&behind, column.domain)??;
            let map = self.push_map(map.as_ref())?;
            self.push_field(key, map, &column, label)?;
        }
        self.push_part(source, map, Some(&behind), start)
    }

    /// Sets the places of labels whose leaves are written out. Each field of each column must get one.
    fn place_written(&mut self, table: &Table<'_, '_>, columns: [(usize, usize); WRITTEN_COLUMNS]) -> Option<()> {
        let fields = &mut self.fields.items;
        let mut left = columns;
        let mut is_placed = true;
        let mut label = 0;
        table
            .for_each_written_leaf(|column| {
                let field = left.get_mut(index(column)).filter(|(next, end)| next < end).and_then(|(next, _)| {
                    *next += 1;
                    fields.get_mut(*next - 1)
                });
                is_placed &= field.map(|field| field.label = label).is_some();
                label += 1;
            })
            .ok()?;
        // There are as many fields as labels, so that all of them got one.
        is_placed.then_some(())
    }

    /// Puts the fields of columns that vary first in each part from `first_part` on.
    fn order_fields(&mut self, first_part: usize) {
        for part in self.parts.items.iter_mut().take(self.parts.len).skip(first_part) {
            let (start, end) = part.fields;
            let fields = self.fields.items.get_mut(start.into()..end.into()).unwrap_or_default();
            fields.sort_unstable_by_key(|field| (field.width == 0, field.label));
            part.varying_end = start;
            for field in fields.iter() {
                part.varying_end += u16::from(field.width > 0);
            }
        }
    }

    /// Adds a map, and returns its number; 0 without one.
    fn push_map(&mut self, table: Option<&Table<'_, '_>>) -> Option<u8> {
        let Some(table) = table else { return Some(0) };
        let number = u8::try_from(self.maps.len);
        let column = table.stored_column(0).ok()?;
        let (first_bit, row_count) = (table.first_bit, table.row_count);
        self.maps.push(Map { first_bit, row_count, width: column.width, base: column.base })?;
        number.ok()
    }

    fn push_field(&mut self, key: u32, map: u8, column: &Column, label: u16) -> Option<()> {
        self.fields.push(Field {
            base: column.base,
            key: u16::try_from(key).ok()?,
            start_bit: u16::try_from(column.start_bit).ok()?,
            label,
            width: u8::try_from(column.width).ok()?,
            map,
        })
    }

    /// Adds a part with the fields from `start` on; without a table, its rows are codes.
    fn push_part(&mut self, source: Source, map: u8, table: Option<&Table<'_, '_>>, start: usize) -> Option<()> {
        let (row_count, row_bits, first_bit) =
            table.map_or((u32::MAX, 0, 0), |table| (table.row_count, table.row_bits, table.first_bit));
        self.parts.push(Part {
            source,
            map,
            is_direct: table.is_none(),
            fields: (u16::try_from(start).ok()?, u16::try_from(self.fields.len).ok()?),
            varying_end: 0,
            row_count,
            row_bits,
            first_bit,
            read: (0, 0),
        })
    }

    /// Reads the labels of a row of a keyset's table, except those of its list. Parts that were read at `time` are kept
    /// if their row is the same. Returns `None` if a byte is damaged.
    #[inline]
    pub(super) fn read_row<'data>(
        &mut self,
        parts: &Parts,
        row: u32,
        time: u64,
        values: &mut ValueCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Option<()> {
        let rows = &values.view().rows;
        let row_bit = parts.first_bit + u64::from(row) * u64::from(parts.row_bits);
        let Self { fields, parts: all, maps } = self;
        for part in all.items.get_mut(parts.range())? {
            let row = match part.source {
                Source::Row => row,
                Source::Column { base, start_bit, width } => {
                    let field = rows.peek_field(row_bit + u64::from(start_bit), width.into())?;
                    u32::try_from(u64::from(base) + field).ok()?
                }
                Source::List => continue,
            };
            part.read(row, time, &fields.items, &maps.items, values, labels)?;
        }
        Some(())
    }

    /// Reads the labels of a member of a list.
    #[inline]
    pub(super) fn read_member<'data>(
        &mut self,
        parts: &Parts,
        member: u32,
        time: u64,
        values: &mut ValueCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Option<()> {
        let Self { fields, parts: all, maps } = self;
        // The list is in the last column.
        let part = all.items.get_mut(parts.range())?.last_mut()?;
        part.read(member, time, &fields.items, &maps.items, values, labels)
    }
}

/// Returns the key behind a domain and the map to it, or `None` if the domain is not that of one key.
fn key<'data, 'view>(
    table: &Table<'data, 'view>,
    domain: Domain,
) -> Option<Option<(u32, Option<Table<'data, 'view>>)>> {
    let view = table.view;
    let Domain::Table(id) = domain else { return Some(None) };
    if id.0 < view.key_count() {
        return Some(Some((id.0, None)));
    }
    let behind = Table::open(view, id.0).ok()?;
    if !behind.is_map() {
        return Some(None);
    }
    match behind.stored_column(0).ok()?.domain {
        Domain::Table(key) if key.0 < view.key_count() => Some(Some((key.0, Some(behind)))),
        _ => Some(None),
    }
}

impl Parts {
    fn range(&self) -> Range<usize> {
        self.start.into()..self.end.into()
    }
}

impl Part {
    #[inline]
    fn read<'data>(
        &mut self,
        row: u32,
        time: u64,
        fields: &[Field],
        maps: &[Map],
        values: &mut ValueCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Option<()> {
        if self.read == (time, row) {
            return Some(());
        }
        let target = if self.map == 0 { row } else { maps.get(usize::from(self.map))?.get(values.view(), row)? };
        let (start, end) = self.fields;
        // The labels of columns that do not vary are those of the last row.
        let end = if self.read.0 == time && !self.is_direct { self.varying_end } else { end };
        let fields = fields.get(usize::from(start)..usize::from(end))?;
        if self.is_direct {
            let [field] = fields else { return None };
            *labels.get_mut(usize::from(field.label))? = values.try_label(field.key.into(), target)?;
        } else {
            if target >= self.row_count {
                return None;
            }
            let row_bit = self.first_bit + u64::from(target) * u64::from(self.row_bits);
            let window = values.view().rows.window(row_bit, self.row_bits.into())?;
            for field in fields {
                let word = window.word(field.start_bit.into())? & mask(field.width.into());
                let code = u64::from(field.base) + word;
                let mut code = u32::try_from(code).ok()?;
                if field.map > 0 {
                    code = maps.get(usize::from(field.map))?.get(values.view(), code)?;
                }
                *labels.get_mut(usize::from(field.label))? = values.try_label(field.key.into(), code)?;
            }
        }
        self.read = (time, row);
        Some(())
    }
}

impl Map {
    #[inline]
    fn get(&self, view: &BlockView<'_>, row: u32) -> Option<u32> {
        if row >= self.row_count {
            return None;
        }
        let bit = self.first_bit + u64::from(row) * u64::from(self.width);
        u32::try_from(u64::from(self.base) + view.rows.peek_field(bit, self.width)?).ok()
    }
}
