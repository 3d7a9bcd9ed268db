//! [`FieldCache`]: where the codes of the labels of a keyset are stored, cached for several keysets.

use super::Label;
use super::label_cache::LabelCache;
use super::walk::{Codes, LabelWalk, Map, Visitor};
use crate::bits::mask;
use crate::error::{Place, corrupt};
use crate::view::catalogue::{Column, Domain, Keyset, Table, code};
use crate::{KeyId, Result, Rule};

/// Labels whose fields are cached, of all keysets together: at least [`crate::layout::MAX_LABELS`].
const CACHED_FIELDS: usize = 4096;
/// Parts that are cached, of all keysets together.
const CACHED_PARTS: usize = 512;
/// Maps that are cached, of all keysets together: fewer than 255, so that a number of 8 bits tells also that there is
/// no map ([`NO_MAP`]) or no column ([`NO_COLUMN`]).
const CACHED_MAPS: usize = 254;
const NO_MAP: u8 = 254;
/// Marks the label of a member whose number is the value code.
const NO_COLUMN: u8 = 255;

/// Fields of the labels of several keysets. Reading a label through it needs neither the catalogue nor the order of
/// keys. If it is full, it is emptied: a caller that meets more keysets than fit reads their columns again.
#[derive(Clone, Debug)]
pub(super) struct FieldCache {
    fields: Store<Field, CACHED_FIELDS>,
    parts: Store<Part, CACHED_PARTS>,
    maps: Store<Map, CACHED_MAPS>,
    /// First field of the keyset that is added.
    first_field: usize,
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
    /// Adds an item, if it fits, and returns its number.
    fn push(&mut self, item: T) -> usize {
        match self.items.get_mut(self.len) {
            Some(place) => {
                *place = item;
                self.len += 1;
            }
            None => self.is_full = true,
        }
        self.len.saturating_sub(1)
    }

    const fn truncate(&mut self, len: usize) {
        (self.len, self.is_full) = (len, false);
    }
}

/// Field of a label in a row.
#[derive(Clone, Copy, Debug)]
struct Field {
    base: u32,
    key: u32,
    start_bit: u16,
    /// Place of the label among those of the series.
    label: u16,
    /// Part with the row.
    part: u16,
    width: u8,
    map: u8,
}

/// Labels that are read from one row of a table.
#[derive(Clone, Copy, Debug)]
struct Part {
    source: Source,
    /// True if the row depends on the member of the list.
    is_member: bool,
    /// Bounds of its fields in the cache. Those of columns that vary come first.
    fields: (u16, u16),
    /// End of the fields of columns that vary.
    varying_end: u16,
    table: u32,
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
    /// A code in the row of an earlier part.
    Column { part: u16, base: u32, start_bit: u16, width: u8 },
    /// A member of the row's list.
    List,
}

/// The parts of a keyset in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    start: u16,
    end: u16,
}

impl FieldCache {
    pub(super) const fn new() -> Self {
        const FIELD: Field = Field { base: 0, key: 0, start_bit: 0, label: 0, part: 0, width: 0, map: NO_MAP };
        const PART: Part = Part {
            source: Source::Row,
            is_member: false,
            fields: (0, 0),
            varying_end: 0,
            table: 0,
            row_count: 0,
            row_bits: 0,
            first_bit: 0,
            read: (0, 0),
        };
        Self {
            fields: Store { items: [FIELD; CACHED_FIELDS], len: 0, is_full: false },
            parts: Store { items: [PART; CACHED_PARTS], len: 0, is_full: false },
            maps: Store { items: [Map::NONE; CACHED_MAPS], len: 0, is_full: false },
            first_field: 0,
        }
    }

    /// Removes all keysets.
    pub(super) const fn clear(&mut self) {
        self.fields.truncate(0);
        self.parts.truncate(0);
        self.maps.truncate(0);
    }

    /// Adds a keyset with `label_count` labels. Returns `None` if it does not fit beside the others.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub(super) fn add(&mut self, keyset: &Keyset<'_, '_>, label_count: u32) -> Result<Option<Parts>> {
        let before = (self.fields.len, self.parts.len, self.maps.len);
        self.first_field = before.0;
        let added = self.push_keyset(keyset.table(), label_count);
        let is_full = self.fields.is_full || self.parts.is_full || self.maps.is_full;
        if added.is_err() || is_full {
            self.fields.truncate(before.0);
            self.parts.truncate(before.1);
            self.maps.truncate(before.2);
            return added.map(|()| None);
        }
        self.order_fields(before.0, before.1);
        Ok(Some(Parts { start: narrow(before.1), end: narrow(self.parts.len) }))
    }

    fn push_keyset(&mut self, table: Table<'_, '_>, label_count: u32) -> Result<()> {
        let root = self.parts.push(Part::new(Source::Row, false, &table));
        let mut walk = LabelWalk::new(table, root, label_count);
        while walk.next(self)?.is_some() {}
        Ok(())
    }

    /// Groups the fields from `first_field` on by their parts, those of columns that vary first.
    fn order_fields(&mut self, first_field: usize, first_part: usize) {
        let Self { fields, parts, .. } = self;
        let fields = fields.items.get_mut(first_field..fields.len).unwrap_or_default();
        fields.sort_unstable_by_key(|field| (field.part, field.width == 0, field.label));
        let mut end = narrow(first_field);
        let mut rest = &*fields;
        for (number, part) in parts.items.iter_mut().take(parts.len).enumerate().skip(first_part) {
            let own = rest.iter().take_while(|field| usize::from(field.part) == number);
            (part.fields.0, part.varying_end) = (end, end);
            for field in own {
                end += 1;
                part.varying_end += u16::from(field.width > 0);
            }
            part.fields.1 = end;
            rest = rest.get(usize::from(end - part.fields.0)..).unwrap_or_default();
        }
    }

    /// Reads the labels of a row of a keyset's table, except those of its list. Parts that were read at `time` are kept
    /// if their row is the same.
    ///
    /// # Errors
    /// `Corrupt` if a byte is damaged.
    #[inline]
    pub(super) fn read_row<'data>(
        &mut self,
        parts: &Parts,
        row: u32,
        time: u64,
        values: &mut LabelCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Result<()> {
        self.read(parts, (false, row), time, values, labels)
    }

    /// Reads the labels of a member of a list.
    ///
    /// # Errors
    /// `Corrupt` if a byte is damaged.
    #[inline]
    pub(super) fn read_member<'data>(
        &mut self,
        parts: &Parts,
        member: u32,
        time: u64,
        values: &mut LabelCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Result<()> {
        self.read(parts, (true, member), time, values, labels)
    }

    #[inline(always)]
    fn read<'data>(
        &mut self,
        parts: &Parts,
        (is_member, row): (bool, u32),
        time: u64,
        values: &mut LabelCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Result<()> {
        let Self { fields, parts: all, maps, .. } = self;
        for number in parts.start..parts.end {
            let Some(part) = all.items.get(usize::from(number)) else { continue };
            if part.is_member != is_member {
                continue;
            }
            let row = match part.source {
                Source::Row | Source::List => row,
                Source::Column { part, base, start_bit, width } => {
                    let Some(from) = all.items.get(usize::from(part)) else { continue };
                    let bit = from.first_bit + u64::from(from.read.1) * u64::from(from.row_bits) + u64::from(start_bit);
                    code(u64::from(base) + values.view().rows.get(bit, width.into())?, from.table, from.read.1)?
                }
            };
            if let Some(part) = all.items.get_mut(usize::from(number)) {
                part.read(row, time, &fields.items, &maps.items, values, labels)?;
            }
        }
        Ok(())
    }
}

/// Adds the parts and fields that a walk meets, if they fit. Rows are the numbers of parts.
impl<'data, 'view> Visitor<'data, 'view, usize> for FieldCache {
    type Label = ();

    fn enter(
        &mut self,
        row: usize,
        _: &Table<'data, 'view>,
        column: &Column,
        to: &Table<'data, 'view>,
    ) -> Result<usize> {
        let from_member = self.parts.items.get(row).is_some_and(|from| from.is_member);
        let (source, is_member) = match column.domain {
            Domain::Pool(_) => (Source::List, true),
            _ => {
                let (start_bit, width) = (narrow(column.start_bit), u8::try_from(column.width).unwrap_or(u8::MAX));
                (Source::Column { part: narrow(row), base: column.base, start_bit, width }, from_member)
            }
        };
        Ok(self.parts.push(Part::new(source, is_member, to)))
    }

    fn label(&mut self, key: KeyId, row: usize, column: &Column, codes: Codes) -> Result<()> {
        let map = match codes {
            Codes::Values => NO_MAP,
            Codes::Row => NO_COLUMN,
            Codes::Mapped(map) => u8::try_from(self.maps.push(map)).unwrap_or(NO_MAP),
        };
        let label = narrow(self.fields.len - self.first_field);
        let (start_bit, width) = (narrow(column.start_bit), u8::try_from(column.width).unwrap_or(u8::MAX));
        self.fields.push(Field { base: column.base, key: key.0, start_bit, label, part: narrow(row), width, map });
        Ok(())
    }
}

/// Returns an offset in a row, the place of a label or the number of a part in 16 bits: those that fit do.
fn narrow(number: impl TryInto<u16>) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}

impl Part {
    const fn new(source: Source, is_member: bool, table: &Table<'_, '_>) -> Self {
        Self {
            source,
            is_member,
            fields: (0, 0),
            varying_end: 0,
            table: table.id,
            row_count: table.row_count,
            row_bits: table.row_bits,
            first_bit: table.first_bit,
            read: (0, 0),
        }
    }

    #[inline]
    fn read<'data>(
        &mut self,
        row: u32,
        time: u64,
        fields: &[Field],
        maps: &[Map],
        values: &mut LabelCache<'data, '_>,
        labels: &mut [Label<'data>],
    ) -> Result<()> {
        if self.read == (time, row) {
            return Ok(());
        }
        if row >= self.row_count {
            let place = Place::Table(self.table.into());
            return Err(corrupt(Rule::ColumnCode, place, row.into(), self.row_count.into()));
        }
        // The labels of columns that do not vary are those of the last row. The row itself varies.
        let (start, end) = self.fields;
        let is_direct = fields.get(usize::from(start)).is_some_and(|field| field.map == NO_COLUMN);
        let end = if self.read.0 == time && !is_direct { self.varying_end } else { end };
        let row_bit = self.first_bit + u64::from(row) * u64::from(self.row_bits);
        let window = values.view().rows.window(row_bit, self.row_bits.into())?;
        for field in fields.get(usize::from(start)..usize::from(end)).unwrap_or_default() {
            // The window covers all fields of the row.
            let word = window.word(field.start_bit.into()).unwrap_or_default() & mask(field.width.into());
            let code = match field.map {
                NO_COLUMN => row,
                number => {
                    let code = code(u64::from(field.base) + word, self.table, row)?;
                    match maps.get(usize::from(number)) {
                        Some(map) => map.get(values.view(), code)?,
                        None => code,
                    }
                }
            };
            if let Some(label) = labels.get_mut(usize::from(field.label)) {
                *label = values.label(KeyId(field.key), code)?;
            }
        }
        self.read = (time, row);
        Ok(())
    }
}
