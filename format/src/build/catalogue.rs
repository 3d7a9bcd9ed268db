//! The catalogue's records, packed (spec, section 5).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::U32;

use super::BuildError;
use crate::bits::{BitWriter, width};
use crate::layout::CatalogueHeader;
use crate::view::BlockView;
use crate::{Error, Result};

/// The records of a catalogue, unpacked: each field is a `u64` in the order of the spec's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// `column_end`, `row_count`, `rows_offset`, `leaf_end`
    pub tables: Vec<[u64; 4]>,
    /// `domain`, `base`, `end_bit`
    pub columns: Vec<[u64; 3]>,
    /// `column`, `position`
    pub leaves: Vec<[u64; 2]>,
    /// `table`, `list_count`, `member_count`, `offset`
    pub pools: Vec<[u64; 4]>,
    /// `series_end`, `anchors`
    pub keysets: Vec<[u64; 2]>,
    /// `name`
    pub keys: Vec<[u64; 1]>,
}

impl Records {
    /// The records of a block.
    ///
    /// # Errors
    /// Damage to the catalogue.
    pub fn of(view: &BlockView<'_>) -> Result<Self> {
        let catalogue = &view.frame.catalogue;
        macro_rules! all {
            ($array:ident) => {
                (0..catalogue.$array.count)
                    .map_while(|number| catalogue.$array.get(&view.catalogue, number))
                    .collect::<Result<_, Error>>()?
            };
        }
        Ok(Self {
            tables: all!(tables),
            columns: all!(columns),
            leaves: all!(leaves),
            pools: all!(pools),
            keysets: all!(keysets),
            keys: all!(keys),
        })
    }

    /// The catalogue section.
    ///
    /// # Errors
    /// More records than can be counted.
    pub fn encode(&self) -> Result<Vec<u8>, BuildError> {
        let header = CatalogueHeader {
            key_count: count("keys", &self.keys)?,
            table_count: count("tables", &self.tables)?,
            column_count: count("columns", &self.columns)?,
            leaf_count: count("leaves", &self.leaves)?,
            pool_count: count("pools", &self.pools)?,
            keyset_count: count("keysets", &self.keysets)?,
            table_widths: widths(&self.tables),
            column_widths: widths(&self.columns),
            leaf_widths: widths(&self.leaves),
            pool_widths: widths(&self.pools),
            keyset_widths: widths(&self.keysets),
            key_widths: widths(&self.keys),
        };
        Ok(self.pack(&header))
    }

    /// The catalogue section with another header; fields that do not fit their width lose bits. For tests of readers.
    pub fn pack(&self, header: &CatalogueHeader) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for &byte in header.as_bytes() {
            writer.push(byte.into(), 8);
        }
        pack(&mut writer, &self.tables, header.table_widths);
        pack(&mut writer, &self.columns, header.column_widths);
        pack(&mut writer, &self.leaves, header.leaf_widths);
        pack(&mut writer, &self.pools, header.pool_widths);
        pack(&mut writer, &self.keysets, header.keyset_widths);
        pack(&mut writer, &self.keys, header.key_widths);
        writer.finish()
    }
}

pub(super) fn count<T>(what: &'static str, records: &[T]) -> Result<U32, BuildError> {
    u32::try_from(records.len()).map(U32::new).map_err(|_| BuildError::TooMany { what })
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
