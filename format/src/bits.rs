//! Bit streams: fields of 0 to 48 bits, least significant bit first, without gaps (spec, section 1).
//!
//! A field is read with one unaligned 64-bit load, one shift and one mask. The load is bounds-checked: memory safety
//! rests on this check, which costs about half a nanosecond.

use std::fmt;

use crate::checksum::SectionProofs;
use crate::error::{Place, corrupt};
use crate::layout::STREAM_TAIL;
use crate::number::{index, length, low32};
use crate::unpack::Run;
use crate::{Error, Result, Rule};

/// Returns the number of bits that `n` needs: 0 for 0, 8 for 255, 9 for 256 (spec, section 1).
#[inline]
#[must_use]
pub const fn width(n: u64) -> u32 {
    64 - n.leading_zeros()
}

/// Returns the largest number of `width` bits; `width` must be at most 63. A larger width gives an unspecified mask.
#[inline]
pub(crate) const fn mask(width: u32) -> u64 {
    1_u64.wrapping_shl(width).wrapping_sub(1)
}

/// Widest field that one load reads, in bits.
const MAX_FIELD_WIDTH: u32 = 48;
/// Bits of the first of the two fields of a wider number.
const LOW: u32 = 32;

/// Returns the number of bytes that hold `bits` bits.
#[inline]
#[must_use]
pub const fn bytes_for(bits: u64) -> u64 {
    bits.div_ceil(8)
}

/// A section, or the part after its header, read as a bit stream.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    /// Rule to report if a field is outside the stream.
    rule: Rule,
    proofs: Option<SectionProofs<'a>>,
}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bits").field("len", &self.bytes.len()).finish()
    }
}

impl<'a> Bits<'a> {
    /// Returns the bit stream over all of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], rule: Rule) -> Self {
        Self { bytes, rule, proofs: None }
    }

    /// Like [`Bits::new`], but checks the chunks that the stream lies in as they are read.
    pub(crate) const fn with_proofs(bytes: &'a [u8], rule: Rule, proofs: Option<SectionProofs<'a>>) -> Self {
        Self { bytes, rule, proofs }
    }

    /// Checks the chunks of the `len` bytes from byte `start` on, if the stream has proofs.
    #[inline(always)]
    pub(crate) fn touch(&self, start: u64, len: u64) -> Result<()> {
        match &self.proofs {
            Some(proofs) => proofs.touch(start, len),
            None => Ok(()),
        }
    }

    /// Returns the number of bits that fields may occupy: all but the closing zero bytes.
    #[must_use]
    pub fn field_bits(&self) -> u64 {
        length(self.bytes.len()).saturating_sub(STREAM_TAIL) * 8
    }

    /// Returns the field of `width` bits, at most 48, that starts at bit `bit`.
    ///
    /// # Errors
    /// `Corrupt` if the field is outside the stream or in a damaged chunk.
    #[inline(always)]
    pub fn get(&self, bit: u64, width: u32) -> Result<u64> {
        if width == 0 {
            return Ok(0);
        }
        Ok(self.word(bit)? & mask(width))
    }

    /// Returns a number of `width` bits, at most 64, that [`BitWriter::push_wide`] wrote at bit `bit`.
    ///
    /// # Errors
    /// As [`Bits::get`].
    #[inline]
    pub(crate) fn get_wide(&self, bit: u64, width: u32) -> Result<u64> {
        if width <= MAX_FIELD_WIDTH {
            return self.get(bit, width);
        }
        Ok(self.get(bit, LOW)? | self.get(bit + u64::from(LOW), width - LOW)? << LOW)
    }

    /// Returns at least 57 bits starting at `bit`; higher bits are unspecified.
    ///
    /// # Errors
    /// As [`Bits::get`].
    #[inline(always)]
    pub(crate) fn word(&self, bit: u64) -> Result<u64> {
        let Some(word) = self.load(bit / 8) else { return Err(self.outside(bit / 8)) };
        self.touch(bit / 8, 8)?;
        Ok(word >> (bit % 8))
    }

    /// Returns [words](Bits::word) at two bits in increasing order. With proofs, the chunks of both are looked up once:
    /// a look-up costs as much as a load.
    #[inline(always)]
    pub(crate) fn words(&self, first: u64, second: u64) -> Result<(u64, u64)> {
        let (from, to) = (first / 8, second / 8);
        let (Some(low), Some(high)) = (self.load(from), self.load(to)) else { return Err(self.outside(to)) };
        self.touch(from, to.saturating_sub(from) + 8)?;
        Ok((low >> (first % 8), high >> (second % 8)))
    }

    /// Returns the `len` bits starting at `bit` as a window whose fields are read without checks of the whole stream.
    ///
    /// # Errors
    /// As [`Bits::get`].
    #[inline(always)]
    pub(crate) fn window(&self, bit: u64, len: u64) -> Result<Window<'a>> {
        let first = bit / 8;
        let end = bit.saturating_add(len) / 8 + STREAM_TAIL;
        let range = usize::try_from(first).ok().zip(usize::try_from(end).ok());
        let Some(bytes) = range.and_then(|(first, end)| self.bytes.get(first..end)) else {
            return Err(self.outside(end - STREAM_TAIL));
        };
        self.touch(first, end - first)?;
        Ok(Window { bytes, start: bit % 8 })
    }

    /// Unpacks one field per item of `out`. Returns false if a sum of base and field may not fit 32 bits; the items of
    /// `out` are then unspecified.
    ///
    /// # Errors
    /// As [`Bits::get`].
    pub(crate) fn unpack(&self, run: Run, out: &mut [u32]) -> Result<bool> {
        self.touch_run(run, length(out.len()))?;
        Ok(run.unpack(self.bytes, out).is_some())
    }

    /// Appends `count` fields of `width` bits each, at most 32, one behind the other, to `fields`.
    ///
    /// # Errors
    /// As [`Bits::get`]; nothing is appended then.
    pub(crate) fn push_fields(&self, first_bit: u64, width: u32, count: u64, fields: &mut Vec<u32>) -> Result<()> {
        let run = Run { start: first_bit, stride: width, width, base: 0 };
        // Before space for them is taken: `count` is a claim of the file.
        self.touch_run(run, count)?;
        let known = fields.len();
        fields.resize(known.saturating_add(index(low32(count))), 0);
        let is_unpacked = run.unpack(self.bytes, fields.get_mut(known..).unwrap_or_default());
        is_unpacked.ok_or_else(|| {
            fields.truncate(known);
            self.outside(first_bit / 8)
        })
    }

    /// Checks that the bytes of `count` fields are there, and their chunks. Fields of 0 bits need none.
    #[inline]
    fn touch_run(&self, run: Run, count: u64) -> Result<()> {
        let Some(last) = count.checked_sub(1).filter(|_| run.width > 0) else { return Ok(()) };
        let last_bit = run.start.saturating_add(last.saturating_mul(run.stride.into()));
        let (first, end) = (run.start / 8, last_bit / 8 + STREAM_TAIL);
        if end > length(self.bytes.len()) {
            return Err(self.outside(last_bit / 8));
        }
        self.touch(first, end - first)
    }

    /// Returns the 8 bytes from byte `byte` on, or `None` if they are not all there.
    #[inline(always)]
    fn load(&self, byte: u64) -> Option<u64> {
        let word = self.bytes.get(usize::try_from(byte).ok()?..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    #[cold]
    #[inline(never)]
    fn outside(&self, byte: u64) -> Error {
        corrupt(self.rule, Place::Byte(byte), byte.saturating_add(8), length(self.bytes.len()))
    }

    /// Returns the first byte with a bit set among bits `from..to` of the stream, closing zero bytes included. `to` is
    /// a multiple of 8.
    pub(crate) fn first_set(&self, from: u64, to: u64) -> Option<u64> {
        let range = usize::try_from(from / 8).ok()?..usize::try_from(to / 8).ok()?;
        let mut kept = u8::MAX << (from % 8);
        for (&byte, number) in self.bytes.get(range)?.iter().zip(from / 8..) {
            if byte & kept != 0 {
                return Some(number);
            }
            kept = u8::MAX;
        }
        None
    }
}

/// A range of bits of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    bytes: &'a [u8],
    /// First bit in the first byte.
    start: u64,
}

impl Window<'_> {
    /// No bits.
    pub(crate) const EMPTY: Self = Self { bytes: &[], start: 0 };

    /// Returns at least 57 bits starting at bit `bit` of the window; higher bits are unspecified.
    #[inline(always)]
    pub(crate) fn word(&self, bit: u64) -> Option<u64> {
        let bit = self.start + bit;
        let word = self.bytes.get(usize::try_from(bit / 8).ok()?..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word) >> (bit % 8))
    }
}

/// Writes a bit stream.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, fewer than 64.
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// Returns an empty stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the low `width` bits of `value`; `width` is at most 48, and higher bits must be zero.
    #[inline]
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 48 && value >> width == 0, "{value} does not fit {width} bits");
        self.pending |= value << self.pending_bits;
        let bits = self.pending_bits + width;
        if bits < 64 {
            self.pending_bits = bits;
        } else {
            // `width` is below 64, so there were pending bits and the shift is below 64.
            self.bytes.extend_from_slice(&self.pending.to_le_bytes());
            self.pending = value >> (64 - self.pending_bits);
            self.pending_bits = bits - 64;
        }
    }

    /// Appends the low `width` bits of `value`; `width` is at most 64, and higher bits must be zero. A field of more
    /// than 48 bits is two: the low 32, and the others.
    pub(crate) fn push_wide(&mut self, value: u64, width: u32) {
        if width <= MAX_FIELD_WIDTH {
            self.push(value, width);
        } else {
            self.push(value & mask(LOW), LOW);
            self.push(value >> LOW, width - LOW);
        }
    }

    /// Fills the last byte with zero bits, so that the next field starts at a whole byte.
    pub fn align(&mut self) {
        let bytes = self.pending.to_le_bytes();
        self.bytes.extend(bytes.iter().take(index(self.pending_bits.div_ceil(8))));
        self.pending = 0;
        self.pending_bits = 0;
    }

    /// Aligns the stream and counts its bytes.
    pub fn aligned_len(&mut self) -> u64 {
        self.align();
        length(self.bytes.len())
    }

    /// Returns the number of bits that were pushed.
    #[must_use]
    pub fn bit_len(&self) -> u64 {
        length(self.bytes.len()) * 8 + u64::from(self.pending_bits)
    }

    /// Appends the first `bit_len` bits of another stream; its bits after them must be zero.
    pub(crate) fn append(&mut self, bytes: &[u8], bit_len: u64) {
        let whole = usize::try_from(bit_len / 32).unwrap_or(usize::MAX).min(bytes.len() / 4);
        let (words, rest) = bytes.split_at(whole * 4);
        for word in words.chunks_exact(4) {
            let word = word.first_chunk().copied().unwrap_or_default();
            self.push(u32::from_le_bytes(word).into(), 32);
        }
        let mut left = low32(bit_len % 32);
        for &byte in rest {
            let width = left.min(8);
            self.push(byte.into(), width);
            left -= width;
        }
    }

    /// Returns the number of whole bytes that were pushed and not taken.
    pub(crate) fn whole_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the bytes that no later bit changes.
    pub(crate) fn take_whole_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns the stream without closing bytes.
    pub(crate) fn finish_aligned(mut self) -> Vec<u8> {
        self.align();
        self.bytes
    }

    /// Returns the stream with its closing zero bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use bitvec::prelude::*;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_counts_the_bits_of_a_number() {
        for (n, bits) in [(0, 0), (1, 1), (2, 2), (255, 8), (256, 9), (u64::from(u32::MAX), 32), (1 << 47, 48)] {
            assert_eq!(width(n), bits, "{n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// `bitvec` is the oracle: a crate that had no part in ours.
        #[test]
        fn fields_are_those_that_bitvec_reads(fields in prop::collection::vec((any::<u64>(), 0_u32..=48), 0..200)) {
            let fields: Vec<(u64, u32)> = fields.into_iter().map(|(value, width)| (value & mask(width), width)).collect();
            let mut writer = BitWriter::new();
            let mut model: BitVec<u8, Lsb0> = BitVec::new();
            for &(value, width) in &fields {
                writer.push(value, width);
                model.extend_from_bitslice(&value.view_bits::<Lsb0>()[..width as usize]);
            }
            let bytes = writer.finish();
            prop_assert_eq!(bytes.len(), model.len().div_ceil(8) + 8);
            let bits = Bits::new(&bytes, Rule::TableExtent);
            let mut bit = 0;
            for &(value, width) in &fields {
                prop_assert_eq!(bits.get(bit, width), Ok(value));
                let start = usize::try_from(bit).unwrap();
                if width > 0 {
                    let model: u64 = model[start..start + width as usize].load_le();
                    prop_assert_eq!(model, value);
                }
                bit += u64::from(width);
            }
            prop_assert_eq!(bits.first_set(bit, bits.field_bits() + 64), None);
        }
    }

    /// The two fields of a wide number follow each other.
    #[test]
    fn wide_numbers_are_those_that_bitvec_reads() {
        let numbers = [0x9E37_79B9_7F4A_7C15, u64::MAX, 1, 1 << 63];
        for width in 0..=64 {
            let cut = numbers.map(|number: u64| if width == 0 { 0 } else { number >> (64 - width) });
            let mut writer = BitWriter::new();
            writer.push(1, 1);
            cut.iter().for_each(|&number| writer.push_wide(number, width));
            let bytes = writer.finish();
            let (bits, model) = (Bits::new(&bytes, Rule::TableExtent), bytes.view_bits::<Lsb0>());
            for (number, place) in cut.into_iter().zip(0_u32..) {
                let bit = 1 + place * width;
                assert_eq!(bits.get_wide(bit.into(), width), Ok(number));
                if width > 0 {
                    let model: u64 = model[bit as usize..(bit + width) as usize].load_le();
                    assert_eq!(model, number);
                }
            }
        }
    }

    #[test]
    fn the_first_bit_set_is_found() {
        let bits = Bits::new(&[0xFF, 0, 0b100], Rule::RowsPadding);
        assert_eq!(bits.first_set(7, 24), Some(0));
        assert_eq!(bits.first_set(8, 24), Some(2));
        assert_eq!(bits.first_set(18, 24), Some(2));
        assert_eq!(bits.first_set(19, 24), None);
        assert_eq!(bits.first_set(8, 16), None);
    }

    #[test]
    fn a_field_outside_names_the_rule() {
        let bits = Bits::new(&[0; 9], Rule::TableExtent);
        assert_eq!(bits.get(8, 8), Ok(0));
        let error = bits.get(16, 1).expect_err("the load would end outside");
        assert_eq!(error.rule(), Rule::TableExtent);
        assert_eq!(bits.get(u64::MAX, 1).map_err(|error| error.rule()), Err(Rule::TableExtent));
    }
}
