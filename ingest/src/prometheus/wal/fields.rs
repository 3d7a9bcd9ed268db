//! Integers and texts of a record: [`Fields`].

use super::error::RecordError;
use crate::prometheus::varint::{MAX_VARINT_LEN, read_uvarint, signed};

/// Reader of the fields of a record.
pub(super) struct Fields<'a> {
    record: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(record: &'a [u8]) -> Self {
        Self { record, offset: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.offset >= self.record.len()
    }

    fn error(&self, reason: &'static str) -> RecordError {
        RecordError::Field { offset: self.offset, reason }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], RecordError> {
        let end = self.offset.checked_add(len);
        let taken = end.and_then(|end| self.record.get(self.offset..end));
        let taken = taken.ok_or_else(|| self.error("the record ends here"))?;
        self.offset += len;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, RecordError> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// Reads a big-endian integer of eight bytes.
    pub(super) fn be64(&mut self) -> Result<u64, RecordError> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Reads an unsigned varint.
    pub(super) fn uvarint(&mut self) -> Result<u64, RecordError> {
        let rest = self.record.get(self.offset..).unwrap_or_default();
        if let Some((value, behind)) = read_uvarint(rest) {
            self.offset += rest.len() - behind.len();
            return Ok(value);
        }
        let is_long = rest.len() >= MAX_VARINT_LEN;
        Err(self.error(if is_long { "integer of more than 64 bits" } else { "the record ends within an integer" }))
    }

    /// Reads a signed varint, whose lowest bit is the sign.
    pub(super) fn varint(&mut self) -> Result<i64, RecordError> {
        self.uvarint().map(signed)
    }

    /// Reads a length-prefixed text.
    pub(super) fn text(&mut self) -> Result<&'a str, RecordError> {
        let (place, bytes) = self.bytes()?;
        text(place, bytes)
    }

    /// Reads the bytes of a length-prefixed text, and their offset.
    pub(super) fn bytes(&mut self) -> Result<(usize, &'a [u8]), RecordError> {
        let len = self.uvarint()?;
        let place = self.offset;
        Ok((place, self.take(usize::try_from(len).unwrap_or(usize::MAX))?))
    }

    /// Skips `count` fields.
    pub(super) fn skip(
        &mut self,
        count: u64,
        mut field: impl FnMut(&mut Self) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        // Each field has at least one byte, so a wrong count ends with the record.
        for _ in 0..count {
            field(self)?;
        }
        Ok(())
    }
}

/// Returns the text of these bytes.
pub(super) fn text(offset: usize, bytes: &[u8]) -> Result<&str, RecordError> {
    str::from_utf8(bytes).map_err(|_| RecordError::Field { offset, reason: "text is not valid UTF-8" })
}
