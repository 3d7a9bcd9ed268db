//! Length-prefixed records, and inputs that are one record.
//!
//! The Collector's file exporter writes lengths as 4 bytes, big-endian; each message may be a zstd stream. Delimited
//! protobuf messages have their lengths as varints.

use std::borrow::Cow;
use std::io::Read;

use super::found::Found;
use super::source::{Compression, Source};
use crate::error::IngestError;
use crate::prometheus::proto::FAMILY_KEY;

/// Bytes of a length prefix.
pub(super) const LENGTH_LEN: usize = 4;

/// Maximum bytes of a 64-bit varint.
const MAX_VARINT_LEN: usize = 10;

/// Reads the next message with a 4-byte length into `buffer`, if it has at most `max_len` bytes.
///
/// The length allocates nothing: `buffer` grows with the bytes that are read.
pub(super) fn next(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let read = append(source, LENGTH_LEN as u64, buffer)?;
    let Ok(length) = buffer.as_slice().try_into().map(u32::from_be_bytes) else {
        return Ok(if read == 0 { Found::End } else { Found::Torn { len: read, expected: None } });
    };
    buffer.clear();
    let length = u64::from(length);
    if length > max_len as u64 {
        skip(source, length)?;
        return Ok(Found::TooLong);
    }
    let read = append(source, length, buffer)?;
    if read < length {
        buffer.clear();
        return Ok(Found::Torn { len: read, expected: Some(length) });
    }
    if Compression::detect(buffer) == Compression::Zstd {
        return Ok(decompress(max_len, buffer));
    }
    Ok(Found::Whole)
}

/// Reads the next message with a varint length into `buffer`, if it has at most `max_len` bytes.
pub(super) fn next_delimited(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let mut length = 0_u64;
    for place in 0..MAX_VARINT_LEN {
        let Some(&byte) = source.fill()?.first() else {
            let torn = Found::Torn { len: place as u64, expected: None };
            return Ok(if place == 0 { Found::End } else { torn });
        };
        source.consume(1);
        length |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    if length > max_len as u64 {
        skip(source, length)?;
        return Ok(Found::TooLong);
    }
    let read = append(source, length, buffer)?;
    Ok(if read < length { Found::Torn { len: read, expected: Some(length) } } else { Found::Whole })
}

/// Reads the next family of a `MetricSet` into `buffer`, if it has at most `max_len` bytes.
pub(super) fn next_field(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    match source.fill()?.first() {
        None => Ok(Found::End),
        Some(&FAMILY_KEY) => {
            source.consume(1);
            Ok(match next_delimited(source, max_len, buffer)? {
                Found::End => Found::Torn { len: 1, expected: None },
                found => found,
            })
        }
        Some(_) => {
            // The decoder says what is wrong.
            append(source, 1, buffer)?;
            skip(source, u64::MAX)?;
            Ok(Found::Whole)
        }
    }
}

/// Reads the rest of the input into `buffer`, if it has at most `max_len` bytes.
pub(super) fn whole(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let limit = max_len as u64;
    let read = append(source, limit, buffer)?;
    if read == limit && !source.fill()?.is_empty() {
        buffer.clear();
        skip(source, u64::MAX)?;
        return Ok(Found::TooLong);
    }
    Ok(if read == 0 { Found::End } else { Found::Unterminated })
}

/// Appends up to `len` bytes to `buffer`. Returns the number of bytes.
pub(super) fn append(source: &mut Source, len: u64, buffer: &mut Vec<u8>) -> Result<u64, IngestError> {
    let mut left = len;
    while left > 0 {
        let bytes = source.fill()?;
        if bytes.is_empty() {
            break;
        }
        let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        buffer.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        source.consume(taken);
        left -= taken as u64;
    }
    Ok(len - left)
}

pub(super) fn skip(source: &mut Source, len: u64) -> Result<(), IngestError> {
    let mut left = len;
    while left > 0 {
        let there = source.fill()?.len();
        if there == 0 {
            break;
        }
        let passed = usize::try_from(left).map_or(there, |left| left.min(there));
        source.consume(passed);
        left -= passed as u64;
    }
    Ok(())
}

/// Replaces a compressed message by its content.
fn decompress(max_len: usize, buffer: &mut Vec<u8>) -> Found {
    let mut content = Vec::new();
    let read = zstd::Decoder::with_buffer(buffer.as_slice())
        .and_then(|decoder| decoder.take(max_len as u64 + 1).read_to_end(&mut content));
    *buffer = content;
    match read {
        Err(error) => {
            *buffer = error.to_string().into_bytes();
            Found::Damaged
        }
        Ok(len) if len > max_len => {
            buffer.clear();
            Found::TooLong
        }
        Ok(_) => Found::Whole,
    }
}

/// Returns the first bytes of the first message, decompressed. Returns no bytes if there is no message or it is
/// damaged.
pub(super) fn first_message(head: &[u8]) -> Cow<'_, [u8]> {
    // An empty request has no bytes, and shows no format.
    let (frames, _) = head.as_chunks::<LENGTH_LEN>();
    let empty = frames.iter().take_while(|length| **length == [0; LENGTH_LEN]).count();
    let head = head.get(empty * LENGTH_LEN..).unwrap_or_default();
    let Some((length, rest)) = head.split_first_chunk() else {
        return Cow::default();
    };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    content_start(rest.get(..length).unwrap_or(rest))
}

/// Returns the first bytes of a message, decompressed.
pub(super) fn content_start(message: &[u8]) -> Cow<'_, [u8]> {
    if Compression::detect(message) != Compression::Zstd {
        return Cow::Borrowed(message);
    }
    let mut content = vec![0; 1024];
    let read = zstd::Decoder::with_buffer(message).and_then(|mut decoder| decoder.read(&mut content));
    content.truncate(read.unwrap_or(0));
    Cow::Owned(content)
}
