//! The catalogue's records, packed (spec, section 5).

use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::BuildError;
use super::limits::Limits;
use crate::bits::{BitWriter, width};
use crate::layout::{BASE_WIDTH_BITS, CatalogueHeader, END_WIDTH_BITS};
use crate::number::length;
use crate::view::BlockView;
use crate::{Error, Result};

/// The records of a catalogue, unpacked: each field is a `u64` in the order of the spec's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// `name`, `row_count`, `rows_offset`, `base`, `width`
    pub keys: Vec<[u64; 5]>,
    /// `row_count`, `rows_offset`, `shape`: inner tables and keyset tables
    pub tables: Vec<[u64; 3]>,
    /// The shapes of these tables.
    pub shapes: Vec<ShapeRecord>,
    /// `table`, `list_count`, `member_count`, `offset`
    pub pools: Vec<[u64; 5]>,
    /// `series_end`, `anchors`
    pub keysets: Vec<[u64; 2]>,
}

/// The shape of a table, unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShapeRecord {
    /// `domain`, `base`, `end_bit`
    pub columns: Vec<[u64; 3]>,
    /// `column` of each leaf, where leaves are written out.
    pub leaves: Vec<u64>,
}

impl ShapeRecord {
    fn widths(&self) -> [u32; 2] {
        let widest = |field: fn(&[u64; 3]) -> u64| width(self.columns.iter().map(field).max().unwrap_or(0));
        [widest(|&[_, base, _]| base), widest(|&[.., end_bit]| end_bit)]
    }
}

impl Records {
    /// Returns the records of a block.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let catalogue = &view.frame.catalogue;
        macro_rules! all {
            ($array:ident) => {
                (0..catalogue.$array.count)
                    .map_while(|number| catalogue.$array.get(&view.catalogue, number))
                    .collect::<Result<_, Error>>()?
            };
        }
        let tables: Vec<[u64; 3]> = all!(tables);
        let shapes = tables
            .iter()
            .zip(catalogue.keys.count..)
            .map(|(&[.., offset], table)| {
                let shape = catalogue.shapes.get(&view.catalogue, table, offset)?;
                let columns = (0..shape.column_count).map(|column| shape.column(&view.catalogue, column));
                let leaves = (0..shape.leaf_count).map(|leaf| shape.leaf(&view.catalogue, leaf).map(u64::from));
                Ok(ShapeRecord { columns: columns.collect::<Result<_>>()?, leaves: leaves.collect::<Result<_>>()? })
            })
            .collect::<Result<_>>()?;
        Ok(Self { keys: all!(keys), tables, shapes, pools: all!(pools), keysets: all!(keysets) })
    }

    /// Returns the catalogue section.
    ///
    /// # Errors
    /// `TooMany` if there are more records than the format can count.
    pub fn encode(&self) -> Result<Vec<u8>, BuildError> {
        let tables = self.keys.len() + self.tables.len();
        let domains = self.shapes.iter().flat_map(|shape| &shape.columns).map(|&[domain, ..]| domain);
        let widest = |count: fn(&ShapeRecord) -> usize| width(length(self.shapes.iter().map(count).max().unwrap_or(0)));
        let shape_widths = [
            widest(|shape| shape.columns.len()),
            widest(|shape| shape.leaves.len()),
            width(domains.max().unwrap_or(0)),
        ];
        let mut header = CatalogueHeader {
            key_count: count("keys", &self.keys)?,
            table_count: U32::new(Limits::FORMAT.count("tables", tables)?),
            pool_count: count("pools", &self.pools)?,
            keyset_count: count("keysets", &self.keysets)?,
            shape_bits: U64::new(0),
            key_widths: widths(&self.keys),
            table_widths: widths(&self.tables),
            shape_widths: shape_widths.map(|width| u8::try_from(width).unwrap_or(u8::MAX)),
            pool_widths: widths(&self.pools),
            keyset_widths: widths(&self.keysets),
        };
        header.shape_bits = U64::new(self.shape_bits(header.shape_widths));
        Ok(self.pack(&header))
    }

    /// Concatenates the shapes and sets the start of each in its table's record.
    pub fn place_shapes(&mut self) {
        let mut places = Vec::new();
        let widths = self.encode().ok().and_then(|section| {
            CatalogueHeader::read_from_prefix(&section).ok().map(|(header, _)| header.shape_widths)
        });
        let mut end = 0;
        for shape in &self.shapes {
            places.push(end);
            end += shape_len(shape, widths.unwrap_or_default());
        }
        for (table, place) in self.tables.iter_mut().zip(places) {
            let [.., shape] = table;
            *shape = place;
        }
    }

    fn shape_bits(&self, widths: [u8; 3]) -> u64 {
        self.shapes.iter().map(|shape| shape_len(shape, widths)).sum()
    }

    /// Returns the catalogue section with another header; fields that do not fit their width lose bits. For tests of
    /// readers.
    #[must_use]
    pub fn pack(&self, header: &CatalogueHeader) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for &byte in header.as_bytes() {
            writer.push(byte.into(), 8);
        }
        pack(&mut writer, &self.keys, header.key_widths);
        pack(&mut writer, &self.tables, header.table_widths);
        for shape in &self.shapes {
            pack_shape(&mut writer, shape, header.shape_widths);
        }
        writer.align();
        pack(&mut writer, &self.pools, header.pool_widths);
        pack(&mut writer, &self.keysets, header.keyset_widths);
        writer.finish()
    }
}

/// Bits of a shape.
fn shape_len(shape: &ShapeRecord, [column_count, leaf_count, domain]: [u8; 3]) -> u64 {
    let [base, end] = shape.widths();
    let head = u32::from(column_count) + u32::from(leaf_count) + BASE_WIDTH_BITS + END_WIDTH_BITS;
    let columns = length(shape.columns.len());
    u64::from(head)
        + columns * u64::from(u32::from(domain) + base + end)
        + length(shape.leaves.len()) * u64::from(width(columns.saturating_sub(1)))
}

fn pack_shape(writer: &mut BitWriter, shape: &ShapeRecord, [column_count, leaf_count, domain]: [u8; 3]) {
    let mut push = |value: u64, width: u32| {
        let width = width.min(48);
        writer.push(value & crate::bits::mask(width), width);
    };
    let [base_width, end_width] = shape.widths();
    push(length(shape.columns.len()), column_count.into());
    push(length(shape.leaves.len()), leaf_count.into());
    push(base_width.into(), BASE_WIDTH_BITS);
    push(end_width.into(), END_WIDTH_BITS);
    for &[table, base, end_bit] in &shape.columns {
        push(table, domain.into());
        push(base, base_width);
        push(end_bit, end_width);
    }
    let leaf_width = width(length(shape.columns.len()).saturating_sub(1));
    for &column in &shape.leaves {
        push(column, leaf_width);
    }
}

pub(super) fn count<T>(what: &'static str, records: &[T]) -> Result<U32, BuildError> {
    u32::try_from(records.len()).map(U32::new).map_err(|_| BuildError::TooMany { what, limit: u32::MAX })
}

pub(super) fn widths<const N: usize>(records: &[[u64; N]]) -> [u8; N] {
    let mut widest = [0; N];
    for record in records {
        for (widest, &field) in widest.iter_mut().zip(record) {
            *widest = field.max(*widest);
        }
    }
    widest.map(|field| u8::try_from(width(field)).unwrap_or(u8::MAX))
}

pub(super) fn pack<const N: usize>(writer: &mut BitWriter, records: &[[u64; N]], widths: [u8; N]) {
    for record in records {
        for (&field, width) in record.iter().zip(widths) {
            let width = u32::from(width).min(48);
            writer.push(field & crate::bits::mask(width), width);
        }
    }
    writer.align();
}
