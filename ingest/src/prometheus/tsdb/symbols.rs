//! Strings to which series refer: [`Symbols`].

use std::io::{Read, Seek};
use std::ops::Range;

use super::error::TsdbBlockError;
use super::input::Input;
use super::toc::IndexVersion;

/// Symbols of an index: their text, concatenated, and the end of each.
#[derive(Default)]
pub(super) struct Symbols {
    text: String,
    ends: Vec<usize>,
    /// Numbers of symbols that are not valid UTF-8, in increasing order. They have no text.
    invalid: Vec<usize>,
    /// For version 1, the start of each symbol in the index, in increasing order.
    places: Option<Vec<u64>>,
}

impl Symbols {
    pub(super) fn read<R: Read + Seek>(
        input: &mut Input<R>,
        section: Range<u64>,
        version: IndexVersion,
    ) -> Result<Self, TsdbBlockError> {
        let damaged = |offset, reason| TsdbBlockError::Damaged { offset, reason };
        input.seek(section.start)?;
        let len = u64::from(input.be32()?);
        let end = input.offset() + len;
        // A checksum follows.
        if len < 4 || end + 4 > section.end {
            return Err(damaged(section.start, "symbols extend beyond their section"));
        }
        let count = input.array()?;
        let mut checksum = crc32c::crc32c(&count);
        let count = u32::from_be_bytes(count);
        let mut symbols = Self { places: (version == IndexVersion::V1).then(Vec::new), ..Self::default() };
        let (mut symbol, mut length) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let place = input.offset();
            if place >= end {
                return Err(damaged(place, "fewer symbols than their count"));
            }
            let len = input.uvarint(&mut length)?;
            checksum = crc32c::crc32c_append(checksum, &length);
            if end.checked_sub(input.offset()).is_none_or(|left| len > left) {
                return Err(damaged(place, "symbol extends beyond its section"));
            }
            symbol.clear();
            input.append(len, &mut symbol)?;
            checksum = crc32c::crc32c_append(checksum, &symbol);
            match std::str::from_utf8(&symbol) {
                Ok(symbol) => symbols.text.push_str(symbol),
                // Only the series that refer to this symbol are lost.
                Err(_) => symbols.invalid.push(symbols.ends.len()),
            }
            symbols.ends.push(symbols.text.len());
            if let Some(places) = &mut symbols.places {
                places.push(place);
            }
        }
        if input.offset() != end {
            return Err(damaged(input.offset(), "more symbols than their count"));
        }
        input.check("symbol table", section.start, checksum)?;
        Ok(symbols)
    }

    /// Returns the symbol with this reference, or `None` if it does not exist or is not valid UTF-8.
    pub(super) fn get(&self, reference: u64) -> Option<&str> {
        let number = self.number(reference)?;
        let end = *self.ends.get(number)?;
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.text.get(start..end).filter(|_| !self.is_invalid(number))
    }

    /// Returns the error of a series at `offset` that refers to a symbol without a text.
    pub(super) fn error(&self, offset: u64, symbol: u64) -> TsdbBlockError {
        match self.number(symbol).is_some_and(|number| self.is_invalid(number)) {
            true => TsdbBlockError::SymbolUtf8 { offset, symbol },
            false => TsdbBlockError::SymbolRef { offset, symbol },
        }
    }

    fn is_invalid(&self, number: usize) -> bool {
        !self.invalid.is_empty() && self.invalid.binary_search(&number).is_ok()
    }

    fn number(&self, reference: u64) -> Option<usize> {
        match &self.places {
            None => usize::try_from(reference).ok(),
            Some(places) => places.binary_search(&reference).ok(),
        }
    }
}
