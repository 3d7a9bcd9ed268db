//! The bytes of an index in their order: [`Input`]; and [`Fields`] of a part that is in memory.

use super::error::TsdbBlockError;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// An index, read from one place on. What is read is counted.
pub(super) struct Input<R> {
    reader: BufReader<R>,
    offset: u64,
}

impl<R: Read + Seek> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), offset: 0 }
    }

    /// Where the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The length of the index.
    pub(super) fn len(&mut self) -> Result<u64, TsdbBlockError> {
        let offset = self.offset;
        self.reader.seek(SeekFrom::End(0)).map_err(|source| TsdbBlockError::Read { offset, source })
    }

    /// Goes on from this place.
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), TsdbBlockError> {
        self.offset = offset;
        self.reader.seek(SeekFrom::Start(offset)).map(drop).map_err(|source| TsdbBlockError::Read { offset, source })
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], TsdbBlockError> {
        let (mut bytes, offset) = ([0; N], self.offset);
        self.reader.read_exact(&mut bytes).map_err(|source| TsdbBlockError::Read { offset, source })?;
        self.offset += N as u64;
        Ok(bytes)
    }

    /// Appends `len` bytes to `out`, which grows with what is there and not with what is asked for.
    pub(super) fn append(&mut self, len: u64, out: &mut Vec<u8>) -> Result<(), TsdbBlockError> {
        let offset = self.offset;
        let read = (&mut self.reader).take(len).read_to_end(out);
        let read = read.map_err(|source| TsdbBlockError::Read { offset, source })?;
        self.offset += read as u64;
        let is_whole = read as u64 == len;
        if is_whole {
            Ok(())
        } else {
            Err(TsdbBlockError::Damaged { offset: self.offset, reason: "the index ends here" })
        }
    }

    pub(super) fn be32(&mut self) -> Result<u32, TsdbBlockError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a checksum and compares it.
    pub(super) fn check(&mut self, part: &'static str, start: u64, found: u32) -> Result<(), TsdbBlockError> {
        let expected = self.be32()?;
        let is_right = expected == found;
        if is_right { Ok(()) } else { Err(TsdbBlockError::Checksum { part, offset: start, expected, found }) }
    }

    /// Reads an integer of seven bits a byte, and adds its bytes to `read`.
    pub(super) fn uvarint(&mut self, read: &mut Vec<u8>) -> Result<u64, TsdbBlockError> {
        let start = self.offset;
        read.clear();
        loop {
            let [byte] = self.array()?;
            read.push(byte);
            if byte < 0x80 || read.len() > MAX_VARINT_LEN {
                return uvarint(read)
                    .map(|(value, _)| value)
                    .ok_or(TsdbBlockError::Damaged { offset: start, reason: LONG });
            }
        }
    }
}

/// Bytes of the longest integer.
const MAX_VARINT_LEN: usize = 10;

/// What is wrong with one that is longer, or is cut.
const LONG: &str = "an integer that is cut or has more than 64 bits";

/// An integer of seven bits a byte, and what follows it.
fn uvarint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (place, &byte) in bytes.iter().enumerate().take(MAX_VARINT_LEN) {
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * place);
        if shifted >> (7 * place) != bits {
            return None;
        }
        value |= shifted;
        if byte < 0x80 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}

/// Integers one after the other, in a part of the index that starts at `offset`.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    end: u64,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset + bytes.len() as u64 }
    }

    pub(super) fn offset(&self) -> u64 {
        self.end - self.rest.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn uvarint(&mut self) -> Result<u64, TsdbBlockError> {
        let damaged = TsdbBlockError::Damaged { offset: self.offset(), reason: LONG };
        let (value, rest) = uvarint(self.rest).ok_or(damaged)?;
        self.rest = rest;
        Ok(value)
    }

    /// The same for signed integers: the lowest bit is the sign.
    pub(super) fn varint(&mut self) -> Result<i64, TsdbBlockError> {
        let value = self.uvarint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}
