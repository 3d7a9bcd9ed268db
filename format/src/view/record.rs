//! Arrays of bit-packed records (spec, sections 5 and 10).

use crate::bits::{Bits, bytes_for};
use crate::error::{Place, corrupt};
use crate::layout::{CatalogueHeader, MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, STREAM_TAIL};
use crate::number::length;
use crate::{Result, Rule};

/// An array of records of `N` fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records<const N: usize> {
    /// First bit in the section.
    start: u64,
    pub count: u32,
    /// Where each field ends in a record.
    ends: [u32; N],
}

impl<const N: usize> Records<N> {
    /// No records.
    pub(crate) const NONE: Self = Self { start: 0, count: 0, ends: [0; N] };

    /// Those that start at bit `start` of their section.
    pub(crate) fn new(start: u64, count: u32, widths: [u8; N]) -> Self {
        let mut end = 0;
        let ends = widths.map(|width| {
            end += u32::from(width);
            end
        });
        Self { start, count, ends }
    }

    fn stride(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0).into()
    }

    /// Whether the bytes of the array bound its count.
    pub(crate) fn is_bounded(&self) -> bool {
        self.count <= 1 || self.stride() > 0
    }

    fn end(&self) -> u64 {
        self.start + u64::from(self.count) * self.stride()
    }

    /// The fields of record `number`, or nothing if there are not so many.
    #[inline(always)]
    pub(crate) fn get(&self, bits: &Bits<'_>, number: u32) -> Option<Result<[u64; N]>> {
        (number < self.count).then(|| bits.record(self.start + u64::from(number) * self.stride(), self.ends))
    }

    /// The first bit that belongs to nothing after the last record, and the bit where the next array starts.
    pub(crate) fn slack(&self) -> (u64, u64) {
        (self.end(), bytes_for(self.end()) * 8)
    }
}

/// The arrays of the catalogue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Catalogue {
    pub key_count: u32,
    pub tables: Records<4>,
    pub columns: Records<3>,
    pub leaves: Records<2>,
    pub pools: Records<4>,
    pub keysets: Records<2>,
    pub keys: Records<1>,
}

impl Catalogue {
    /// How many dictionaries and inner tables there are; keyset tables follow them.
    pub(crate) const fn inner_end(&self) -> u32 {
        self.tables.count - self.keysets.count
    }

    /// Places the arrays; `section_len` must be what they add up to.
    pub(crate) fn place(header: &CatalogueHeader, section_len: u64) -> Result<Self> {
        check_widths(header)?;
        let mut byte = length(size_of::<CatalogueHeader>());
        let tables = Records::new(byte * 8, header.table_count.get(), header.table_widths);
        byte = bytes_for(tables.end());
        let columns = Records::new(byte * 8, header.column_count.get(), header.column_widths);
        byte = bytes_for(columns.end());
        let leaves = Records::new(byte * 8, header.leaf_count.get(), header.leaf_widths);
        byte = bytes_for(leaves.end());
        let pools = Records::new(byte * 8, header.pool_count.get(), header.pool_widths);
        byte = bytes_for(pools.end());
        let keysets = Records::new(byte * 8, header.keyset_count.get(), header.keyset_widths);
        byte = bytes_for(keysets.end());
        let keys = Records::new(byte * 8, header.key_count.get(), header.key_widths);
        byte = bytes_for(keys.end()) + STREAM_TAIL;
        if byte != section_len {
            return Err(corrupt(Rule::CatalogueLength, Place::Byte(0), section_len, byte));
        }
        let (dictionaries, keyset_tables) = (header.key_count.get(), header.keyset_count.get());
        let least = u64::from(dictionaries) + u64::from(keyset_tables);
        if least > u64::from(tables.count) {
            return Err(corrupt(Rule::CatalogueHeader, Place::Byte(4), tables.count.into(), least));
        }
        // Records are distinct, so that only a single one may take no bits. With that, the section's length bounds every count.
        let bounded = [
            tables.is_bounded(),
            columns.is_bounded(),
            leaves.is_bounded(),
            pools.is_bounded(),
            keysets.is_bounded(),
            keys.is_bounded(),
        ];
        if bounded.contains(&false) {
            return Err(corrupt(Rule::CatalogueWidths, Place::Byte(24), 0, 1));
        }
        Ok(Self { key_count: header.key_count.get(), tables, columns, leaves, pools, keysets, keys })
    }
}

fn check_widths(header: &CatalogueHeader) -> Result<()> {
    let [column_end, row_count, rows_offset, leaf_end] = header.table_widths;
    let [table, list_count, member_count, pool_offset] = header.pool_widths;
    let [series_end, anchors] = header.keyset_widths;
    let [domain, base, end_bit] = header.column_widths;
    let [leaf_column, position] = header.leaf_widths;
    let [name] = header.key_widths;
    let codes = [
        column_end,
        row_count,
        leaf_end,
        domain,
        base,
        end_bit,
        leaf_column,
        position,
        table,
        list_count,
        member_count,
        series_end,
        name,
    ];
    let offsets = [rows_offset, pool_offset, anchors];
    let too_wide =
        |widths: &[u8], limit: u8| widths.iter().copied().find(|&width| width > limit).map(|width| (width, limit));
    match too_wide(&codes, MAX_CODE_WIDTH).or_else(|| too_wide(&offsets, MAX_OFFSET_WIDTH)) {
        Some((width, limit)) => Err(corrupt(Rule::CatalogueHeader, Place::Byte(24), width.into(), limit.into())),
        None => Ok(()),
    }
}
