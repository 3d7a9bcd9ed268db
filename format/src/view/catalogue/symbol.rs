//! [`Symbols`]: symbols by id, and ids by symbol (spec, section 6).

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use crate::bits::{Bits, bytes_for, mask};
use crate::checksum::SectionProofs;
use crate::error::{Place, corrupt};
use crate::layout::{MAX_DIFFERENCE_WIDTH, MAX_OFFSET_WIDTH, STREAM_TAIL, SYMBOL_GROUP, SymbolsHeader};
use crate::number::length;
use crate::{Error, ErrorKind, Result, Rule, SymbolId};

/// Layout of the starts of symbols in the symbols section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts {
    pub symbol_count: u32,
    pub base_width: u32,
    pub difference_width: u32,
}

const HEADER_BITS: u64 = 64;

impl Starts {
    pub(crate) fn place(header: &SymbolsHeader, section_len: u64) -> Result<Self> {
        let (base, difference) = (header.base_width, header.difference_width);
        let byte = Place::Byte;
        if base > MAX_OFFSET_WIDTH {
            return Err(corrupt(Rule::SymbolsHeader, byte(4), base.into(), MAX_OFFSET_WIDTH.into()));
        }
        if difference > MAX_DIFFERENCE_WIDTH {
            return Err(corrupt(Rule::SymbolsHeader, byte(5), difference.into(), MAX_DIFFERENCE_WIDTH.into()));
        }
        let starts = Self {
            symbol_count: header.symbol_count.get(),
            base_width: base.into(),
            difference_width: difference.into(),
        };
        // Symbols are not empty, so that the first difference is not zero; with that, the section's length bounds the
        // count.
        if difference == 0 && header.symbol_count.get() > 0 {
            return Err(corrupt(Rule::SymbolsHeader, byte(5), 0, 1));
        }
        let expected = bytes_for(starts.end_bit()) + STREAM_TAIL;
        if section_len != expected {
            return Err(corrupt(Rule::SymbolsLength, byte(0), section_len, expected));
        }
        Ok(starts)
    }

    /// Returns the bit at which entry `entry` starts, and its width; the last entry is number `symbol_count`.
    #[inline]
    pub(crate) fn entry(&self, entry: u32) -> (u64, u32) {
        let (group, member) = (u64::from(entry / SYMBOL_GROUP), u64::from(entry % SYMBOL_GROUP));
        let (base, difference) = (u64::from(self.base_width), u64::from(self.difference_width));
        let group_bits = base + u64::from(SYMBOL_GROUP - 1) * difference;
        let start = HEADER_BITS + group * group_bits;
        if member == 0 {
            (start, self.base_width)
        } else {
            (start + base + (member - 1) * difference, self.difference_width)
        }
    }

    /// Returns the first bit after the last entry.
    pub(crate) fn end_bit(&self) -> u64 {
        let (bit, width) = self.entry(self.symbol_count);
        bit + u64::from(width)
    }
}

/// The symbols of a block.
#[derive(Clone, Copy)]
pub struct Symbols<'a> {
    pub(crate) starts: Starts,
    pub(crate) bits: Bits<'a>,
    pub(crate) arena: &'a [u8],
    pub(crate) proofs: Option<SectionProofs<'a>>,
    /// True if the arena is packed and was not decoded; `arena` is empty then.
    pub(crate) is_missing: bool,
}

impl fmt::Debug for Symbols<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl<'a> Symbols<'a> {
    /// Returns the number of symbols.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.starts.symbol_count
    }

    /// Refuses symbols whose arena is packed and was not decoded.
    pub(crate) fn expect_arena(&self) -> Result<()> {
        if self.is_missing { Err(ErrorKind::PackedArena.into()) } else { Ok(()) }
    }

    /// Returns the bytes of all symbols, concatenated; empty if the arena is packed and was not decoded. They are not
    /// checked.
    #[must_use]
    pub const fn arena(&self) -> &'a [u8] {
        self.arena
    }

    /// Returns the start of symbol `entry` in the arena, for `entry` up to and including [`Symbols::count`].
    #[inline]
    pub(crate) fn start(&self, entry: u32) -> Result<u64> {
        let (bit, width) = self.starts.entry(entry);
        let start = self.bits.get(bit, width)?;
        let member = entry % SYMBOL_GROUP;
        if member == 0 {
            return Ok(start);
        }
        let (bit, width) = self.starts.entry(entry - member);
        Ok(start + self.bits.get(bit, width)?)
    }

    /// Returns the range of the arena that symbol `id` occupies, after a check of its bytes. Most symbols share their
    /// base with the next one, so that two loads have both ends.
    #[inline(always)]
    pub(crate) fn range(&self, id: SymbolId) -> Result<Range<usize>> {
        let Starts { base_width, difference_width, symbol_count } = self.starts;
        if id.0 >= symbol_count {
            return Err(self.unknown(id));
        }
        let member = id.0 % SYMBOL_GROUP;
        let (base_bit, _) = self.starts.entry(id.0 - member);
        let before = u64::from(member.saturating_sub(1)) * u64::from(difference_width);
        let (base, pair) = self.bits.words(base_bit, base_bit + u64::from(base_width) + before)?;
        let base = base & mask(base_width);
        let first = base + (pair & mask(difference_width));
        let (start, end) = match member {
            0 => (base, first),
            _ if member == SYMBOL_GROUP - 1 => (first, self.start(id.0 + 1)?),
            _ => (first, base + ((pair >> difference_width) & mask(difference_width))),
        };
        self.proved(id, start, end)
    }

    #[cold]
    #[inline(never)]
    fn unknown(&self, id: SymbolId) -> Error {
        corrupt(Rule::ColumnCode, Place::Symbol(id.0.into()), id.0.into(), self.count().into())
    }

    /// Returns a range of the arena, from the start of symbol `id`, after a check of the range and its bytes.
    #[inline(always)]
    fn proved(&self, id: SymbolId, start: u64, end: u64) -> Result<Range<usize>> {
        let usable = start <= end && end <= length(self.arena.len());
        let (true, Ok(from), Ok(to)) = (usable, usize::try_from(start), usize::try_from(end)) else {
            // An arena that is missing is empty, so that no symbol lies in it.
            self.expect_arena()?;
            return Err(corrupt(Rule::SymbolsStarts, Place::Symbol(id.0.into()), end, length(self.arena.len())));
        };
        if let Some(proofs) = &self.proofs {
            proofs.touch(start, end - start)?;
        }
        Ok(from..to)
    }

    /// Returns the bytes of symbol `id`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the block does not have the symbol.
    #[inline(always)]
    pub fn get(&self, id: SymbolId) -> Result<&'a [u8]> {
        // The range was checked.
        Ok(self.arena.get(self.range(id)?).unwrap_or_default())
    }

    /// Returns the bytes of several symbols, one after the other without anything between them, or `None` if an id is
    /// out of range. Costs as much as one symbol.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn joined(&self, ids: Range<SymbolId>) -> Result<Option<&'a [u8]>> {
        if ids.start > ids.end || ids.end.0 > self.count() {
            return Ok(None);
        }
        let (start, end) = (self.start(ids.start.0)?, self.start(ids.end.0)?);
        Ok(self.arena.get(self.proved(ids.start, start, end)?))
    }

    /// Returns the id of a symbol, or `None` if it is not there. Costs about log2(count) string comparisons.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn lookup(&self, symbol: impl AsRef<[u8]>) -> Result<Option<SymbolId>> {
        let symbol = symbol.as_ref();
        binary_search(self.count(), |id| Ok(self.get(SymbolId(id))?.cmp(symbol))).map(|found| found.ok().map(SymbolId))
    }
}

/// Binary search in `0..count` with a comparison that may fail: the place found, or the place to insert.
#[inline]
pub(crate) fn binary_search(
    count: u32,
    mut compare: impl FnMut(u32) -> Result<Ordering>,
) -> Result<std::result::Result<u32, u32>> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle)? {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(Ok(middle)),
        }
    }
    Ok(Err(low))
}
