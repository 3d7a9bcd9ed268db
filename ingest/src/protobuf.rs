//! Messages of protobuf, read field by field without a model in memory.
//!
//! A message is a slice of bytes: `Fields` walks over its fields, and a `Field` that is a message gives the `Fields`
//! within it. Each field has a key: its number and its wire type ([encoding]). Generated decoders build a tree with a
//! `String` for each text instead, although ingest knows most of these texts already: see the `decode` group of the
//! crate's benches.
//!
//! [encoding]: https://protobuf.dev/programming-guides/encoding/

use std::str::Utf8Error;

/// Maximum depth of nested groups that are skipped. Groups are deprecated, and writers do not nest them.
const MAX_GROUP_DEPTH: usize = 100;

/// Error of a malformed message. Offsets count bytes from the start of the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtoError {
    /// A nested message ends within a field.
    #[error("the field at byte {offset} extends beyond the end of its message")]
    EndsEarly {
        /// Start of the field.
        offset: usize,
    },
    /// The record ends within a field.
    #[error("the record ends within the field at byte {offset}")]
    CutOff {
        /// Start of the field.
        offset: usize,
    },
    /// A varint has more than 64 bits.
    #[error("the field at byte {offset} has a varint of more than 64 bits")]
    Number {
        /// Start of the field.
        offset: usize,
    },
    /// A key is invalid: its field number is 0 or too large, or its wire type does not exist.
    #[error("invalid field key {key} at byte {offset}")]
    Key {
        /// Start of the field.
        offset: usize,
        /// Value of the key.
        key: u64,
    },
    /// A field has another wire type than the protocol defines.
    #[error("field {number}, which ends at byte {offset}, has an unexpected wire type")]
    Form {
        /// End of the field.
        offset: usize,
        /// Number of the field.
        number: u32,
    },
    /// A text is not valid UTF-8.
    #[error("the text that ends at byte {offset} is not valid UTF-8")]
    Utf8 {
        /// End of the text.
        offset: usize,
        /// Place of the first invalid byte.
        source: Utf8Error,
    },
    /// Lists or groups are nested too deeply.
    #[error("nested more than {limit} levels deep at byte {offset}")]
    TooDeep {
        /// Start of the innermost value.
        offset: usize,
        /// Maximum depth.
        limit: usize,
    },
    /// A message has more parts than its length justifies: decoded, they would take many times its bytes.
    #[error("more than {limit} {what} in the message at byte {offset}")]
    TooMany {
        /// Start of the message.
        offset: usize,
        /// Kind of the parts, in the plural.
        what: &'static str,
        /// Maximum number.
        limit: usize,
    },
}

/// Value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Content<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
    /// Group, whose fields were skipped.
    Group,
}

/// Field of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    content: Content<'a>,
    /// End of the field, as an offset in the record.
    end: usize,
}

/// Remaining fields of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    /// Start of the remaining bytes, as an offset in the record.
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, offset }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the bytes of the next field, and of the fields that directly follow it with the same key, if the key has
    /// one byte and the fields hold bytes. Stops before a malformed field.
    #[inline]
    pub(crate) fn run(&self) -> &'a [u8] {
        let Some(&key) = self.rest.first().filter(|&&key| key & 0x87 == 2) else { return &[] };
        let mut rest = *self;
        let mut end = 0;
        while rest.rest.first() == Some(&key) && rest.next_of_run().is_some() {
            end = rest.offset - self.offset;
        }
        self.rest.get(..end).unwrap_or_default()
    }

    /// Returns the bytes of the next field of a [`run`](Self::run). A whole [`Field`] would be copied.
    #[inline]
    pub(crate) fn next_of_run(&mut self) -> Option<&'a [u8]> {
        self.take(1, 0).ok()?;
        let len = usize::try_from(self.varint(0).ok()?).ok()?;
        self.take(len, 0).ok()
    }

    /// Returns the fields from an offset in the record on, which must be the start of one of these fields.
    #[inline]
    pub(crate) fn after(&self, offset: usize) -> Self {
        let skipped = offset.saturating_sub(self.offset);
        Self { rest: self.rest.get(skipped..).unwrap_or_default(), offset: self.offset + skipped }
    }

    /// Calls `each` with the number of each remaining field, which are still there afterwards.
    pub(crate) fn each_number(mut self, mut each: impl FnMut(u32)) -> Result<(), ProtoError> {
        while let Some(field) = self.next()? {
            each(field.number);
        }
        Ok(())
    }

    /// Checks that lists of parts, which take `part_bytes` in memory, stay within a small multiple of the message.
    pub(crate) fn check_parts(&self, part_bytes: usize, count: usize) -> Result<(), ProtoError> {
        /// Memory of the lists per byte of the message. Real messages need a tenth.
        const MAX_RATIO: usize = 3;
        /// Memory that small messages may always take.
        const MIN_BYTES: usize = 1 << 20;
        match part_bytes <= self.rest.len().saturating_mul(MAX_RATIO).max(MIN_BYTES) {
            true => Ok(()),
            false => Err(ProtoError::TooMany { offset: self.offset, what: "parts for its length", limit: count - 1 }),
        }
    }

    /// Returns the next field, or `None` at the end of the message.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, ProtoError> {
        // Most keys and lengths have one byte.
        if let [key @ 8..0x80, after @ ..] = self.rest {
            let number = u32::from(key >> 3);
            match key & 7 {
                1 => {
                    if let Some((bytes, rest)) = after.split_first_chunk() {
                        self.rest = rest;
                        self.offset += 9;
                        let content = Content::Fixed64(u64::from_le_bytes(*bytes));
                        return Ok(Some(Field { number, content, end: self.offset }));
                    }
                }
                2 => {
                    if let [len @ ..0x80, after @ ..] = after
                        && let Some((bytes, rest)) = after.split_at_checked(usize::from(*len))
                    {
                        self.rest = rest;
                        self.offset += 2 + bytes.len();
                        return Ok(Some(Field { number, content: Content::Bytes(bytes), end: self.offset }));
                    }
                }
                _ => {}
            }
        }
        self.next_of_any_form()
    }

    fn next_of_any_form(&mut self) -> Result<Option<Field<'a>>, ProtoError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let offset = self.offset;
        let key = self.varint(offset)?;
        let number = match u32::try_from(key >> 3) {
            Ok(number) if number > 0 && key <= u64::from(u32::MAX) => number,
            _ => return Err(ProtoError::Key { offset, key }),
        };
        let content = match key & 7 {
            0 => Content::Varint(self.varint(offset)?),
            1 => Content::Fixed64(u64::from_le_bytes(self.array(offset)?)),
            2 => {
                let len = self.varint(offset)?;
                let len = usize::try_from(len).map_err(|_| ProtoError::EndsEarly { offset })?;
                Content::Bytes(self.take(len, offset)?)
            }
            3 => {
                self.skip_group(number, offset, MAX_GROUP_DEPTH)?;
                Content::Group
            }
            5 => Content::Fixed32(u32::from_le_bytes(self.array(offset)?)),
            _ => return Err(ProtoError::Key { offset, key }),
        };
        Ok(Some(Field { number, content, end: self.offset }))
    }

    fn skip_group(&mut self, number: u32, offset: usize, depth: usize) -> Result<(), ProtoError> {
        let depth = depth.checked_sub(1).ok_or(ProtoError::TooDeep { offset, limit: MAX_GROUP_DEPTH })?;
        loop {
            let start = self.offset;
            let before = *self;
            let key = self.varint(start)?;
            match key & 7 {
                4 if key >> 3 == u64::from(number) => return Ok(()),
                3 => match u32::try_from(key >> 3) {
                    Ok(inner) if inner > 0 && key <= u64::from(u32::MAX) => self.skip_group(inner, start, depth)?,
                    _ => return Err(ProtoError::Key { offset: start, key }),
                },
                _ => {
                    *self = before;
                    if self.next()?.is_none() {
                        return Err(ProtoError::EndsEarly { offset });
                    }
                }
            }
        }
    }

    #[inline]
    fn varint(&mut self, offset: usize) -> Result<u64, ProtoError> {
        // Most varints here have one byte.
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            self.offset += 1;
            return Ok(byte.into());
        }
        self.long_varint(offset)
    }

    fn long_varint(&mut self, offset: usize) -> Result<u64, ProtoError> {
        let mut value = 0;
        for (position, &byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if position == 9 && byte > 1 {
                break;
            }
            value |= bits << (7 * position);
            if byte < 0x80 {
                self.take(position + 1, offset)?;
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { ProtoError::EndsEarly { offset } } else { ProtoError::Number { offset } })
    }

    #[inline]
    fn take(&mut self, len: usize, offset: usize) -> Result<&'a [u8], ProtoError> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(ProtoError::EndsEarly { offset })?;
        self.rest = rest;
        self.offset += len;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, offset: usize) -> Result<[u8; N], ProtoError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(ProtoError::EndsEarly { offset })?;
        self.rest = rest;
        self.offset += N;
        Ok(*bytes)
    }
}

impl<'a> Field<'a> {
    /// Returns the end of the field, as an offset in the record.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    #[inline]
    pub(crate) fn bytes(&self) -> Result<&'a [u8], ProtoError> {
        match self.content {
            Content::Bytes(bytes) => Ok(bytes),
            _ => Err(self.form()),
        }
    }

    /// Returns the fields of the nested message.
    #[inline]
    pub(crate) fn message(&self) -> Result<Fields<'a>, ProtoError> {
        let bytes = self.bytes()?;
        Ok(Fields::new(bytes, self.end - bytes.len()))
    }

    #[inline]
    pub(crate) fn text(&self) -> Result<&'a str, ProtoError> {
        std::str::from_utf8(self.bytes()?).map_err(|source| ProtoError::Utf8 { offset: self.end, source })
    }

    pub(crate) fn varint(&self) -> Result<u64, ProtoError> {
        match self.content {
            Content::Varint(value) => Ok(value),
            _ => Err(self.form()),
        }
    }

    /// Returns a `bool`.
    pub(crate) fn bool(&self) -> Result<bool, ProtoError> {
        Ok(self.varint()? != 0)
    }

    /// Returns an `int32`. Protobuf keeps the low 32 bits of a longer number.
    pub(crate) fn int32(&self) -> Result<i32, ProtoError> {
        Ok(self.varint()? as i32)
    }

    /// Returns a `uint32`. Protobuf keeps the low 32 bits of a longer number.
    pub(crate) fn uint32(&self) -> Result<u32, ProtoError> {
        Ok(self.varint()? as u32)
    }

    /// Returns an `int64`.
    pub(crate) fn int64(&self) -> Result<i64, ProtoError> {
        Ok(self.varint()?.cast_signed())
    }

    /// Returns a `double`.
    pub(crate) fn double(&self) -> Result<f64, ProtoError> {
        self.fixed64().map(f64::from_bits)
    }

    pub(crate) fn fixed64(&self) -> Result<u64, ProtoError> {
        match self.content {
            Content::Fixed64(value) => Ok(value),
            _ => Err(self.form()),
        }
    }

    /// Calls `each` with the numbers of a repeated 8-byte field, packed or not.
    pub(crate) fn each_fixed64(&self, mut each: impl FnMut(u64)) -> Result<(), ProtoError> {
        match self.content {
            Content::Fixed64(value) => each(value),
            Content::Bytes(bytes) => {
                let (numbers, rest) = bytes.as_chunks();
                if !rest.is_empty() {
                    return Err(self.form());
                }
                numbers.iter().for_each(|&number| each(u64::from_le_bytes(number)));
            }
            _ => return Err(self.form()),
        }
        Ok(())
    }

    /// Calls `each` with the numbers of a repeated varint field, packed or not.
    pub(crate) fn each_varint(&self, mut each: impl FnMut(u64)) -> Result<(), ProtoError> {
        match self.content {
            Content::Varint(value) => each(value),
            Content::Bytes(bytes) => {
                let mut numbers = Fields::new(bytes, self.end - bytes.len());
                while !numbers.rest.is_empty() {
                    each(numbers.varint(numbers.offset)?);
                }
            }
            _ => return Err(self.form()),
        }
        Ok(())
    }

    fn form(&self) -> ProtoError {
        ProtoError::Form { offset: self.end, number: self.number }
    }
}

/// Returns the varint at the start of `bytes` and the bytes after it, or `None` if it does not end within `max_len`
/// bytes.
pub(crate) fn leading_varint(bytes: &[u8], max_len: usize) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (position, &byte) in bytes.iter().enumerate().take(max_len) {
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            return Some((value, bytes.get(position + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Content<'_>)>, ProtoError> {
        let mut fields = Fields::new(bytes, 0);
        let mut all = Vec::new();
        while let Some(field) = fields.next()? {
            all.push((field.number, field.content));
        }
        Ok(all)
    }

    #[test]
    fn every_wire_type_is_read() {
        let bytes = b"\x08\x96\x01\x12\x02hi\x19\x01\0\0\0\0\0\0\x80\x25\x07\0\0\0\x2b\x08\x01\x33\x34\x2c\x30\x01";
        let expected = [
            (1, Content::Varint(150)),
            (2, Content::Bytes(b"hi")),
            (3, Content::Fixed64(1 | 1 << 63)),
            (4, Content::Fixed32(7)),
            (5, Content::Group),
            (6, Content::Varint(1)),
        ];
        assert_eq!(all(bytes), Ok(expected.to_vec()));
    }

    #[test]
    fn numbers_have_up_to_64_bits() {
        assert_eq!(all(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Ok(vec![(1, Content::Varint(u64::MAX))]));
        assert_eq!(all(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), Err(ProtoError::Number { offset: 0 }));
        assert_eq!(all(b"\x08\x80\0"), Ok(vec![(1, Content::Varint(0))]), "leading zeros are allowed");
    }

    #[test]
    fn invalid_fields_are_refused() {
        assert_eq!(all(b"\x08\x01\0\0"), Err(ProtoError::Key { offset: 2, key: 0 }));
        assert_eq!(all(b"\x0e"), Err(ProtoError::Key { offset: 0, key: 14 }));
        assert_eq!(all(b"\x0c"), Err(ProtoError::Key { offset: 0, key: 12 }), "a group that did not begin ends");
        for bytes in [&b"\x08"[..], b"\x08\x80", b"\x0a\x02x", b"\x09\0\0\0", b"\x0d\0", b"\x0b", b"\x0b\x08\x01"] {
            assert!(matches!(all(bytes), Err(ProtoError::EndsEarly { .. })), "{bytes:x?}: {:?}", all(bytes));
        }
        let huge = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(all(huge), Err(ProtoError::EndsEarly { offset: 0 }), "a length sizes nothing");
    }

    #[test]
    fn packed_numbers_fill_their_field() {
        let numbers = |len: u8| {
            let bytes = [&[0x0a, len][..], &vec![7; usize::from(len)]].concat();
            let mut numbers = Vec::new();
            let field = Fields::new(&bytes, 0).next().unwrap().unwrap();
            field.each_fixed64(|number| numbers.push(number)).map(|()| numbers)
        };
        let seven = u64::from_le_bytes([7; 8]);
        assert_eq!(numbers(0), Ok(vec![]));
        assert_eq!(numbers(8), Ok(vec![seven]));
        assert_eq!(numbers(16), Ok(vec![seven; 2]));
        for len in [1, 7, 9, 15, 17] {
            assert!(matches!(numbers(len), Err(ProtoError::Form { number: 1, .. })), "{len}");
        }
    }

    #[test]
    fn repeated_varints_are_read_packed_or_not() {
        let numbers = |bytes: &[u8]| {
            let mut numbers = Vec::new();
            let field = Fields::new(bytes, 0).next().unwrap().unwrap();
            field.each_varint(|number| numbers.push(number)).map(|()| numbers)
        };
        assert_eq!(numbers(b"\x08\x96\x01"), Ok(vec![150]));
        assert_eq!(numbers(b"\x0a\x04\x01\x96\x01\x02"), Ok(vec![1, 150, 2]));
        assert_eq!(numbers(b"\x0a\x00"), Ok(vec![]));
        assert_eq!(numbers(b"\x0a\x02\x01\x96"), Err(ProtoError::EndsEarly { offset: 3 }));
        assert!(matches!(numbers(b"\x0d\0\0\0\0"), Err(ProtoError::Form { number: 1, .. })));
    }

    #[test]
    fn a_run_ends_before_another_key_and_before_a_malformed_field() {
        fn run(bytes: &[u8]) -> usize {
            Fields::new(bytes, 7).run().len()
        }
        assert_eq!(run(b""), 0);
        assert_eq!(run(b"\x0a\x01x"), 3);
        assert_eq!(run(b"\x0a\x01x\x0a\0\x12\x01y"), 5);
        assert_eq!(run(b"\x0a\x01x\x8a\0\x01y"), 3, "a key of two bytes");
        assert_eq!(run(b"\x8a\0\x01y"), 0);
        assert_eq!(run(b"\x08\x01\x08\x01"), 0, "no bytes");
        for end in [&b"\x0a"[..], b"\x0a\x80", b"\x0a\x02y", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
            assert_eq!(run(&[b"\x0a\x01x", end].concat()), 3, "{end:x?}");
        }
        let long = [&b"\x0a\xc8\x01"[..], &[b'x'; 200]].concat();
        assert_eq!(run(&long.repeat(2)), 2 * long.len());
    }

    #[test]
    fn fields_after_an_offset_keep_their_offsets() {
        let fields = Fields::new(b"\x0a\x01x\x12\0", 7);
        let mut rest = fields.after(10);
        let field = rest.next().unwrap().unwrap();
        assert_eq!((field.number, field.end(), rest.offset()), (2, 12, 12));
        assert!(fields.after(99).next().unwrap().is_none());
    }

    #[test]
    fn groups_end_somewhere() {
        let nested = |depth| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert_eq!(all(&nested(100)), Ok(vec![(1, Content::Group)]));
        assert_eq!(all(&nested(101)), Err(ProtoError::TooDeep { offset: 100, limit: 100 }));
    }
}
