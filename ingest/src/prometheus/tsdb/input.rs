//! Bytes of an index in order: [`Input`]; and [`Fields`] of a part in memory.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::error::TsdbBlockError;
use crate::prometheus::varint::{MAX_VARINT_LEN, read_uvarint, signed};

/// Index, read from a position on. The number of read bytes is counted.
pub(super) struct Input<R> {
    reader: BufReader<R>,
    offset: u64,
}

impl<R: Read + Seek> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), offset: 0 }
    }

    /// Position of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the length of the index.
    pub(super) fn len(&mut self) -> Result<u64, TsdbBlockError> {
        let offset = self.offset;
        let unreadable = |source| TsdbBlockError::Read { offset, source };
        let len = self.reader.seek(SeekFrom::End(0)).map_err(unreadable)?;
        self.reader.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
        Ok(len)
    }

    /// Continues at this position. Bytes in the buffer are not read again.
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), TsdbBlockError> {
        let distance = offset.wrapping_sub(self.offset).cast_signed();
        self.reader.seek_relative(distance).map_err(|source| TsdbBlockError::Read { offset, source })?;
        self.offset = offset;
        Ok(())
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], TsdbBlockError> {
        let (mut bytes, offset) = ([0; N], self.offset);
        self.reader.read_exact(&mut bytes).map_err(|source| TsdbBlockError::Read { offset, source })?;
        self.offset += N as u64;
        Ok(bytes)
    }

    /// Appends `len` bytes to `out`, which grows with the bytes that are read.
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

    /// Reads a varint, and appends its bytes to `read`.
    pub(super) fn uvarint(&mut self, read: &mut Vec<u8>) -> Result<u64, TsdbBlockError> {
        let start = self.offset;
        read.clear();
        loop {
            let [byte] = self.array()?;
            read.push(byte);
            if byte < 0x80 || read.len() > MAX_VARINT_LEN {
                return read_uvarint(read)
                    .map(|(value, _)| value)
                    .ok_or(TsdbBlockError::Damaged { offset: start, reason: LONG });
            }
        }
    }
}

/// Reason for refusing a varint that is longer or truncated.
const LONG: &str = "integer is truncated or has more than 64 bits";

/// Reader of varints in a part of the index that starts at `offset`.
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
        let (value, rest) = read_uvarint(self.rest).ok_or(damaged)?;
        self.rest = rest;
        Ok(value)
    }

    /// Reads a signed varint, whose lowest bit is the sign.
    pub(super) fn varint(&mut self) -> Result<i64, TsdbBlockError> {
        self.uvarint().map(signed)
    }
}
