//! Thrift's compact protocol: [`Thrift`].
//!
//! Only integers and the sizes of everything else are read.

use crate::columns::error::ColumnsError;

/// Maximum depth of nested structs and lists. Footers have 7 levels.
const MAX_DEPTH: u32 = 24;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Error of the end of the bytes within a value.
pub(super) const CUT_OFF: ColumnsError = ColumnsError::Message("a Thrift struct is cut off");

/// Bytes of the compact protocol, read from the start.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    /// Number of structs, lists and elements of lists so far.
    pub(super) parts: u64,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, parts: 0 }
    }

    /// Number of bytes that were not read.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn byte(&mut self) -> Result<u8, ColumnsError> {
        let (&byte, rest) = self.bytes.split_first().ok_or(CUT_OFF)?;
        self.bytes = rest;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, ColumnsError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ColumnsError::Message("a Thrift integer is too long"))
    }

    fn zigzag(&mut self) -> Result<i64, ColumnsError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn pass(&mut self, len: u64) -> Result<(), ColumnsError> {
        let rest = usize::try_from(len).ok().and_then(|len| self.bytes.get(len..));
        self.bytes = rest.ok_or(CUT_OFF)?;
        Ok(())
    }

    /// Reads the header of a field after field `last`: its id and type. Returns `None` at the end of the struct.
    pub(super) fn field(&mut self, last: i64) -> Result<Option<(i64, u8)>, ColumnsError> {
        let header = self.byte()?;
        let (delta, kind) = (header >> 4, header & 0x0f);
        match (delta, kind) {
            (_, 0) => Ok(None),
            (0, kind) => Ok(Some((self.zigzag()?, kind))),
            (delta, kind) => Ok(Some((last.saturating_add(i64::from(delta)), kind))),
        }
    }

    /// Reads the header of a list: the number and type of its elements. Each takes at least one byte.
    pub(super) fn list(&mut self) -> Result<(u64, u8), ColumnsError> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
        if count > self.bytes.len() as u64 {
            return Err(CUT_OFF);
        }
        self.parts += 1 + count;
        Ok((count, header & 0x0f))
    }

    /// Reads a field as an integer, or skips it and returns `None` if it is not one. Booleans are 0 and 1.
    pub(super) fn number(&mut self, kind: u8) -> Result<Option<i64>, ColumnsError> {
        match kind {
            TRUE => Ok(Some(1)),
            FALSE => Ok(Some(0)),
            I8 => self.byte().map(|byte| Some(i64::from(byte.cast_signed()))),
            kind if (I8..=I64).contains(&kind) => self.zigzag().map(Some),
            kind => self.skip(kind).map(|()| None),
        }
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, kind: u8) -> Result<(), ColumnsError> {
        match kind {
            TRUE | FALSE => Ok(()),
            kind => self.skip_within(kind, 0),
        }
    }

    fn skip_within(&mut self, kind: u8, depth: u32) -> Result<(), ColumnsError> {
        if depth > MAX_DEPTH {
            return Err(ColumnsError::Message("Thrift structs are nested too deep"));
        }
        match kind {
            // Booleans of a list.
            TRUE | FALSE | I8 => self.pass(1),
            kind if (I8..=I64).contains(&kind) => self.varint().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let len = self.varint()?;
                self.pass(len)
            }
            LIST | SET => {
                let (count, element) = self.list()?;
                (0..count).try_for_each(|_| self.skip_within(element, depth + 1))
            }
            MAP => {
                let count = self.varint()?;
                if count > self.bytes.len() as u64 {
                    return Err(CUT_OFF);
                }
                self.parts += 1 + count;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_within(kinds >> 4, depth + 1)?;
                    self.skip_within(kinds & 0x0f, depth + 1)
                })
            }
            STRUCT => {
                self.parts += 1;
                let mut last = 0;
                while let Some((id, kind)) = self.field(last)? {
                    last = id;
                    if !matches!(kind, TRUE | FALSE) {
                        self.skip_within(kind, depth + 1)?;
                    }
                }
                Ok(())
            }
            UUID => self.pass(16),
            _ => Err(ColumnsError::Message("a Thrift value has an unknown type")),
        }
    }
}
