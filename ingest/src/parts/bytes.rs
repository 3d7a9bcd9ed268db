//! Bytes of parts: [`Parts`].

use std::ops::Range;

/// Bytes by which the parts of a short record may exceed it.
const SLACK: usize = 256;

/// Parts of records.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Kinds of parts, numbers, and lists of attributes.
    pub(super) codes: Vec<u8>,
    /// Texts besides those of attributes, concatenated.
    pub(super) text: String,
}

/// Parts of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) codes: Range<usize>,
    pub(super) text: Range<usize>,
}

/// Error of a record with too many parts.
#[derive(Debug)]
pub(super) struct TooMany;

/// Reader of the parts of one record. Returns `None` at their end.
#[derive(Debug, Clone)]
pub(super) struct Reader<'p> {
    codes: &'p [u8],
    text: &'p str,
}

impl Parts {
    /// Removes the parts of all records.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.text.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len() + self.text.len()
    }

    /// Returns the largest length with the parts of a record of `len` bytes.
    pub(super) fn max_len(&self, len: usize) -> usize {
        // Lengths of lists have 32 bits.
        self.len() + (len + SLACK).min(u32::MAX as usize)
    }

    /// Returns the place of the next record's parts.
    pub(super) fn end(&self) -> (usize, usize) {
        (self.codes.len(), self.text.len())
    }

    /// Returns the parts since `start`.
    pub(super) fn since(&self, start: (usize, usize)) -> Span {
        Span { codes: start.0..self.codes.len(), text: start.1..self.text.len() }
    }

    /// Removes the parts since `start`.
    pub(super) fn truncate(&mut self, start: (usize, usize)) {
        self.codes.truncate(start.0);
        self.text.truncate(start.1);
    }

    pub(super) fn reader(&self, span: &Span) -> Reader<'_> {
        let codes = self.codes.get(span.codes.clone()).unwrap_or_default();
        Reader { codes, text: self.text.get(span.text.clone()).unwrap_or_default() }
    }

    #[inline]
    pub(super) fn push_number(&mut self, number: u64) {
        push_varint(&mut self.codes, number);
    }

    #[inline]
    pub(super) fn push_text(&mut self, text: &str) {
        self.push_number(text.len() as u64);
        self.text.push_str(text);
    }
}

/// Appends a number as a varint.
#[inline]
pub(super) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl<'p> Reader<'p> {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.codes.split_first()?;
        self.codes = rest;
        Some(byte)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift = (shift + 7).min(63);
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.codes.split_first_chunk()?;
        self.codes = rest;
        Some(*array)
    }

    pub(super) fn bytes(&mut self, len: usize) -> Option<&'p [u8]> {
        let (bytes, rest) = self.codes.split_at_checked(len)?;
        self.codes = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Option<&'p str> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.text.split_at_checked(len)?;
        self.text = rest;
        Some(text)
    }
}
