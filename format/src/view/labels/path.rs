//! Paths to the labels of a keyset: found by a walk over its table, and read with one load for each table and label.

use super::walk::{Codes, LabelWalk, Visitor};
use crate::bits::{Window, mask};
use crate::error::{Place, corrupt};
use crate::number::index;
use crate::view::catalogue::{
    BlockView, Column, DIRECT_CODES, Domain, Keyset, LabelPath, Map, PartSource, PathField, PathPart, ROW_IS_CODE,
    Table, code,
};
use crate::{KeyId, Result, Rule};

/// Most tables on the way to the labels of a keyset, maps of values aside. Nearly all keysets have two to four: their
/// own table, one or two shared ones, and that of the list. Labels of keysets with more are walked to.
const MAX_PARTS: usize = 8;

/// The paths to the labels of a keyset, and the maps that they name.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelPaths<'view> {
    pub path: &'view LabelPath,
    maps: &'view [Map],
}

impl<'view> LabelPaths<'view> {
    /// Returns the paths of a keyset; `None` if the view keeps none, if the keyset has too many tables, or if the paths
    /// of other keysets left no room.
    #[inline]
    pub(super) fn for_keyset<'data>(keyset: &Keyset<'data, 'view>) -> Result<Option<Self>> {
        let view = keyset.table().view;
        let Some((kept, labels)) = view.kept().and_then(|kept| Some((kept, kept.labels.get(keyset.id())?))) else {
            return Ok(None);
        };
        let path = labels.get_or_read(|| Ok(compile(keyset)?.filter(|path| kept.take_room(path))))?;
        Ok(path.as_ref().map(|path| Self { path, maps: kept.maps() }))
    }

    /// Returns the value code of a field in the row of its part.
    #[inline(always)]
    pub(super) fn code(&self, view: &BlockView<'_>, field: &PathField, rows: &PartRows<'_>) -> Result<u32> {
        self.value_code(view, field, rows.code(field)?)
    }

    /// Returns the value code of the code in a field.
    #[inline(always)]
    pub(super) fn value_code(&self, view: &BlockView<'_>, field: &PathField, code: u32) -> Result<u32> {
        match self.maps.get(index(field.map)) {
            Some(map) => map.get(view, code),
            None => Ok(code),
        }
    }
}

/// The row of each part of a keyset's paths, for one series.
#[derive(Clone, Debug)]
pub(super) struct PartRows<'data>([PartRow<'data>; MAX_PARTS]);

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartRow<'data> {
    window: Window<'data>,
    table: u32,
    pub number: u32,
}

/// Number of a row that was not read.
const NO_ROW: u32 = u32::MAX;

impl<'data> PartRows<'data> {
    /// No rows.
    pub(super) const NONE: Self = Self([PartRow { window: Window::EMPTY, table: 0, number: NO_ROW }; MAX_PARTS]);

    /// Reads the rows of all parts.
    #[inline]
    pub(super) fn read(view: &BlockView<'data>, path: &LabelPath, row: u32, member: u32) -> Result<Self> {
        let mut rows = Self::NONE;
        for (number, part) in path.parts.iter().enumerate() {
            let row = rows.row_of(view, part, row, member)?;
            rows.set(number, row);
        }
        Ok(rows)
    }

    /// Returns the code of a field in the row of its part, which is a value code or a row of the field's map.
    #[inline(always)]
    pub(super) fn code(&self, field: &PathField) -> Result<u32> {
        let row = self.get(field.part);
        if field.map == ROW_IS_CODE {
            return Ok(row.number);
        }
        row.code(field.base, field.start_bit, field.width)
    }

    #[inline(always)]
    fn get(&self, part: u8) -> PartRow<'data> {
        // There are as many rows as a path has parts at most.
        self.0.get(usize::from(part)).copied().unwrap_or(PartRow { window: Window::EMPTY, table: 0, number: 0 })
    }

    #[inline(always)]
    pub(super) fn set(&mut self, part: usize, row: PartRow<'data>) {
        if let Some(place) = self.0.get_mut(part) {
            *place = row;
        }
    }

    /// Returns the number of the row of a part; `None` if it was not read.
    #[inline(always)]
    pub(super) fn number(&self, part: usize) -> Option<u32> {
        self.0.get(part).map(|row| row.number).filter(|&number| number != NO_ROW)
    }

    /// Returns the row of a part, after those that it depends on.
    #[inline(always)]
    pub(super) fn row_of(
        &self,
        view: &BlockView<'data>,
        part: &PathPart,
        row: u32,
        member: u32,
    ) -> Result<PartRow<'data>> {
        let number = match part.source {
            PartSource::Row => row,
            PartSource::List => member,
            PartSource::Column { part, width, start_bit, base } => self.get(part).code(base, start_bit, width)?,
        };
        if number >= part.row_count {
            let place = Place::Table(part.table.into());
            return Err(corrupt(Rule::ColumnCode, place, number.into(), part.row_count.into()));
        }
        let first_bit = part.first_bit + u64::from(number) * u64::from(part.row_bits);
        let window = view.rows.window(first_bit, part.row_bits.into())?;
        Ok(PartRow { window, table: part.table, number })
    }
}

impl PartRow<'_> {
    /// Returns the sum of a base and a field of the row.
    #[inline(always)]
    fn code(&self, base: u32, start_bit: u16, width: u8) -> Result<u32> {
        // The window covers all fields of the row.
        let word = self.window.word(start_bit.into()).unwrap_or_default() & mask(width.into());
        code(u64::from(base) + word, self.table, self.number)
    }
}

/// Finds the paths to the labels of a keyset. Returns `None` if it has too many tables.
fn compile(keyset: &Keyset<'_, '_>) -> Result<Option<LabelPath>> {
    let table = keyset.table();
    let mut found = FoundPaths { parts: Vec::new(), fields: Vec::new(), first_map: table.view.key_count() };
    let root = found.push_part(PartSource::Row, false, &table);
    let mut walk = LabelWalk::new(table, root, table.leaf_count()?);
    while walk.next(&mut found)?.is_some() {}
    Ok(found.finish())
}

/// Parts and fields that a walk met. What it knows of a row is the number of its part.
struct FoundPaths {
    parts: Vec<PathPart>,
    fields: Vec<PathField>,
    /// Number of the first inner table.
    first_map: u32,
}

impl FoundPaths {
    fn push_part(&mut self, source: PartSource, is_member: bool, table: &Table<'_, '_>) -> usize {
        let entry = &table.entry;
        self.parts.push(PathPart {
            source,
            is_member,
            fields: (0, 0),
            varying_end: 0,
            table: entry.id,
            row_count: entry.row_count,
            row_bits: entry.row_bits,
            first_bit: entry.first_bit,
        });
        self.parts.len() - 1
    }

    /// Groups the fields by their parts, those of columns that vary first.
    fn finish(self) -> Option<LabelPath> {
        let Self { mut parts, fields, .. } = self;
        if parts.len() > MAX_PARTS {
            return None;
        }
        let mut by_part: Vec<u16> = (0..low16(fields.len())).collect();
        let varies = |field: &PathField| field.width > 0 || field.map == ROW_IS_CODE;
        by_part.sort_by_key(|&number| fields.get(usize::from(number)).map(|field| (field.part, !varies(field))));
        let mut end = 0;
        for (number, part) in (0..).zip(&mut parts) {
            let own = fields.iter().filter(|field| field.part == number);
            let (count, varying) =
                own.fold((0, 0), |(count, varying), field| (count + 1, varying + u16::from(varies(field))));
            (part.fields, part.varying_end) = ((end, end + count), end + varying);
            end += count;
        }
        Some(LabelPath { parts: parts.into(), fields: fields.into(), by_part: by_part.into() })
    }
}

impl<'data, 'view> Visitor<'data, 'view, usize> for FoundPaths {
    type Label = ();

    fn enter(
        &mut self,
        row: usize,
        _: &Table<'data, 'view>,
        column: &Column,
        to: &Table<'data, 'view>,
    ) -> Result<usize> {
        let from_member = self.parts.get(row).is_some_and(|from| from.is_member);
        let (source, is_member) = match column.domain {
            Domain::Pool(_) => (PartSource::List, true),
            _ => {
                let (start_bit, width) = (low16(column.start_bit), low8(column.width));
                (PartSource::Column { part: low8(row), width, start_bit, base: column.base }, from_member)
            }
        };
        Ok(self.push_part(source, is_member, to))
    }

    fn label(&mut self, key: KeyId, row: usize, column: &Column, codes: Codes) -> Result<()> {
        let map = match codes {
            Codes::Values => DIRECT_CODES,
            Codes::Row => ROW_IS_CODE,
            Codes::Mapped(map) => map.table.saturating_sub(self.first_map),
        };
        let (start_bit, width) = (low16(column.start_bit), low8(column.width));
        self.fields.push(PathField { base: column.base, key: key.0, map, start_bit, part: low8(row), width });
        Ok(())
    }
}

/// Returns a number that fits 16 bits: an offset in a row of at most 1,023 columns of 32 bits, or the number of one of
/// at most 1,023 labels.
fn low16(number: impl TryInto<u16>) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}

/// Returns a number that fits 8 bits: the width of a field, or the number of a part. Paths with more parts are refused.
fn low8(number: impl TryInto<u8>) -> u8 {
    number.try_into().unwrap_or(u8::MAX)
}
