//! Arrays of bit-packed records (spec, sections 5 and 10).

use super::shape::Shapes;
use crate::bits::{Bits, bytes_for, mask};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{CatalogueHeader, MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, MAX_SMALL_WIDTH, STREAM_TAIL};
use crate::number::length;
use crate::{Result, Rule};

/// An array of records of `N` fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records<const N: usize> {
    /// First bit in the section.
    start: u64,
    pub count: u32,
    /// End of each field in a record.
    ends: [u32; N],
    words: Words<N>,
}

/// Places of the fields of a record in one or two words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<const N: usize> {
    /// True if each field is in one of the words.
    is_usable: bool,
    /// First bit of the second word in a record; 0 without one.
    second: u32,
    /// True for each field that is in the second word.
    is_second: [bool; N],
    shifts: [u8; N],
    masks: [u64; N],
}

/// Bits of a word that [`Bits::word`] returns.
pub(crate) const WORD_BITS: u32 = 57;

impl<const N: usize> Words<N> {
    const NONE: Self = Self { is_usable: false, second: 0, is_second: [false; N], shifts: [0; N], masks: [0; N] };

    pub(crate) fn new(ends: [u32; N]) -> Self {
        let stride = ends.last().copied().unwrap_or(0);
        let second = stride.saturating_sub(WORD_BITS);
        // A record without bits may lie at the end of its stream.
        let mut words = Self { is_usable: stride > 0 && second <= WORD_BITS, second, ..Self::NONE };
        let places = words.is_second.iter_mut().zip(&mut words.shifts).zip(&mut words.masks);
        let mut start = 0_u32;
        for (((is_second, shift), field_mask), end) in places.zip(ends) {
            *is_second = end > WORD_BITS;
            let first_bit = if *is_second { start.checked_sub(second) } else { Some(start) };
            match first_bit.map(u8::try_from) {
                Some(Ok(bit)) => *shift = bit,
                _ => words.is_usable = false,
            }
            *field_mask = mask(end - start);
            start = end;
        }
        words
    }

    /// Returns the fields of the record that starts at bit `bit`. `ends` holds the end of each field in the record.
    #[inline(always)]
    pub(crate) fn get(&self, bits: &Bits<'_>, bit: u64, ends: &[u32; N]) -> Result<[u64; N]> {
        if !self.is_usable {
            return Self::get_each(bits, bit, ends);
        }
        let (first, second) = if self.second == 0 {
            let word = bits.word(bit)?;
            (word, word)
        } else {
            bits.words(bit, bit + u64::from(self.second))?
        };
        let mut fields = [0; N];
        let places = self.is_second.iter().zip(&self.shifts).zip(&self.masks);
        for (field, ((&is_second, &shift), mask)) in fields.iter_mut().zip(places) {
            *field = (if is_second { second } else { first } >> (shift % 64)) & mask;
        }
        Ok(fields)
    }

    /// Returns the fields of a record that is long or takes no bits, each with a load of its own.
    #[inline(never)]
    fn get_each(bits: &Bits<'_>, bit: u64, ends: &[u32; N]) -> Result<[u64; N]> {
        let mut fields = [0; N];
        let mut start = 0;
        for (field, &end) in fields.iter_mut().zip(ends) {
            *field = bits.get(bit + u64::from(start), end - start)?;
            start = end;
        }
        Ok(fields)
    }
}

impl<const N: usize> Records<N> {
    /// An empty array.
    pub(crate) const NONE: Self = Self { start: 0, count: 0, ends: [0; N], words: Words::NONE };

    /// Returns an array of `count` records that starts at bit `start` of its section.
    pub(crate) fn new(start: u64, count: u32, widths: [u8; N]) -> Self {
        let mut end = 0;
        let ends = widths.map(|width| {
            end += u32::from(width);
            end
        });
        Self { start, count, ends, words: Words::new(ends) }
    }

    /// Returns the bits of each field.
    pub(crate) fn widths(&self) -> [u32; N] {
        let mut start = 0;
        self.ends.map(|end| end - std::mem::replace(&mut start, end))
    }

    fn stride(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0).into()
    }

    /// Returns true if the array's bytes bound its count.
    pub(crate) fn is_bounded(&self) -> bool {
        self.count <= 1 || self.stride() > 0
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.count) * self.stride()
    }

    /// Returns the fields of record `number`, or `None` if it is out of range.
    #[inline(always)]
    pub(crate) fn get(&self, bits: &Bits<'_>, number: u32) -> Option<Result<[u64; N]>> {
        // Not by a closure, which would not be inlined.
        if number >= self.count {
            return None;
        }
        Some(self.words.get(bits, self.start + u64::from(number) * self.stride(), &self.ends))
    }

    /// Returns the first field of record `number`, or `None` if it is out of range. Reads less than [`Records::get`].
    #[inline(always)]
    pub(crate) fn first(&self, bits: &Bits<'_>, number: u32) -> Option<Result<u64>> {
        let width = self.ends.first().copied().unwrap_or(0);
        if number >= self.count {
            return None;
        }
        Some(bits.get(self.start + u64::from(number) * self.stride(), width))
    }

    /// Returns the unused bits after the last record: the first of them, and the bit where the next array starts.
    pub(crate) fn slack(&self) -> (u64, u64) {
        (self.end(), bytes_for(self.end()) * 8)
    }
}

/// The arrays of the catalogue, and the shapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Catalogue {
    pub keys: Records<5>,
    /// Inner tables and keyset tables.
    pub tables: Records<3>,
    pub shapes: Shapes,
    pub pools: Records<5>,
    pub keysets: Records<2>,
    /// Number of all tables, value dictionaries included.
    pub table_count: u32,
}

impl Catalogue {
    /// Returns the number of dictionaries and inner tables; keyset tables follow them.
    pub(crate) const fn inner_end(&self) -> u32 {
        self.table_count - self.keysets.count
    }

    /// Places the arrays. `section_len` must be the sum of their lengths.
    pub(crate) fn place(header: &CatalogueHeader, section_len: u64) -> Result<Self> {
        check_widths(header)?;
        let (key_count, keyset_count) = (header.key_count.get(), header.keyset_count.get());
        let table_count = header.table_count.get();
        let least = u64::from(key_count) + u64::from(keyset_count);
        if least > u64::from(table_count) {
            return Err(corrupt(Rule::CatalogueHeader, Place::Byte(4), table_count.into(), least));
        }
        let mut byte = length(size_of::<CatalogueHeader>());
        let keys = Records::new(byte * 8, key_count, header.key_widths);
        byte = bytes_for(keys.end());
        let tables = Records::new(byte * 8, table_count - key_count, header.table_widths);
        byte = bytes_for(tables.end());
        let shapes = Shapes::new(byte * 8, header.shape_bits.get(), header.shape_widths);
        byte = bytes_for(shapes.end());
        let pools = Records::new(byte * 8, header.pool_count.get(), header.pool_widths);
        byte = bytes_for(pools.end());
        let keysets = Records::new(byte * 8, keyset_count, header.keyset_widths);
        byte = bytes_for(keysets.end()) + STREAM_TAIL;
        if byte != section_len {
            return Err(corrupt(Rule::CatalogueLength, Place::Byte(0), section_len, byte));
        }
        // Records are distinct, so that only a single one may take no bits. With that, the section's length bounds
        // every count.
        // Each column takes bits, since no column of a shape has domain 0.
        let [_, _, domain] = header.shape_widths;
        let shapes_are_bounded = domain > 0 || tables.count == 0;
        let bounded = [keys.is_bounded(), tables.is_bounded(), pools.is_bounded(), keysets.is_bounded()];
        if bounded.contains(&false) || !shapes_are_bounded {
            return Err(corrupt_at(Rule::CatalogueHeader, Place::Byte(24)));
        }
        Ok(Self { keys, tables, shapes, pools, keysets, table_count })
    }
}

fn check_widths(header: &CatalogueHeader) -> Result<()> {
    let [name, dictionary_rows, dictionary_offset, base, field_width] = header.key_widths;
    let [row_count, rows_offset, shape] = header.table_widths;
    let [column_count, leaf_count, domain] = header.shape_widths;
    let [table, list_count, member_count, low_width, pool_offset] = header.pool_widths;
    let [series_end, anchors] = header.keyset_widths;
    let small = [column_count, leaf_count];
    let codes = [
        name,
        dictionary_rows,
        base,
        field_width,
        row_count,
        domain,
        table,
        list_count,
        member_count,
        low_width,
        series_end,
    ];
    let offsets = [dictionary_offset, rows_offset, shape, pool_offset, anchors];
    let too_wide =
        |widths: &[u8], limit: u8| widths.iter().copied().find(|&width| width > limit).map(|width| (width, limit));
    let wrong = too_wide(&small, MAX_SMALL_WIDTH)
        .or_else(|| too_wide(&codes, MAX_CODE_WIDTH))
        .or_else(|| too_wide(&offsets, MAX_OFFSET_WIDTH));
    match wrong {
        Some((width, limit)) => Err(corrupt(Rule::CatalogueHeader, Place::Byte(24), width.into(), limit.into())),
        None if header.shape_bits.get() >> MAX_OFFSET_WIDTH > 0 => {
            Err(corrupt(Rule::CatalogueHeader, Place::Byte(16), header.shape_bits.get(), 1 << MAX_OFFSET_WIDTH))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bitvec::prelude::*;
    use proptest::prelude::*;

    use super::*;
    use crate::bits::BitWriter;

    #[test]
    fn records_out_of_range_are_none() {
        let mut writer = BitWriter::new();
        // The fourth is behind the array.
        for (left, right) in [(1, 2), (3, 4), (5, 6), (7, 31)] {
            writer.push(left, 3);
            writer.push(right, 5);
        }
        let bytes = writer.finish();
        let bits = Bits::new(&bytes, Rule::CatalogueHeader);
        let records = Records::new(0, 3, [3, 5]);
        assert_eq!(records.get(&bits, 2), Some(Ok([5, 6])));
        assert_eq!(records.first(&bits, 2), Some(Ok(5)));
        for number in [3, u32::MAX] {
            assert_eq!((records.get(&bits, number), records.first(&bits, number)), (None, None), "{number}");
        }
    }

    #[test]
    fn several_records_take_bits() {
        assert!(Records::new(0, 1, [0, 0]).is_bounded());
        assert!(!Records::new(0, 2, [0, 0]).is_bounded());
        assert!(Records::new(0, 2, [0, 1]).is_bounded());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        /// Records of up to 57 bits take one load, of up to 114 two, and longer ones one per field.
        #[test]
        fn records_are_those_that_bitvec_reads(
            bytes in prop::collection::vec(any::<u8>(), 48..64),
            cuts in prop::array::uniform4(0_u32..=32),
            stride in 50_u32..=128,
            bit in 0_u64..64,
        ) {
            // Five fields of at most 48 bits that end at the stride.
            let mut ends = [0; 5];
            let mut end = 0;
            for (place, &cut) in cuts.iter().enumerate() {
                end = (end + cut).min(stride);
                ends[place] = end.max(stride.saturating_sub(48 * (4 - u32::try_from(place).unwrap())));
                end = ends[place];
            }
            ends[4] = stride;
            let mut widths = ends;
            for place in (1..5).rev() {
                widths[place] = ends[place] - ends[place - 1];
            }
            prop_assume!(widths.iter().all(|&width| width <= 48));
            let bits = Bits::new(&bytes, Rule::TableExtent);
            let record = Words::new(ends).get(&bits, bit, &ends).unwrap();
            let model = bytes.view_bits::<Lsb0>();
            let mut start = usize::try_from(bit).unwrap();
            for (field, width) in record.into_iter().zip(widths) {
                let width = usize::try_from(width).unwrap();
                let expected: u64 = if width == 0 { 0 } else { model[start..start + width].load_le() };
                prop_assert_eq!(field, expected);
                start += width;
            }
        }
    }
}
