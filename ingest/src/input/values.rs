//! Records that are concatenated JSON values, pretty-printed over many lines.

use super::depth::Depth;
use super::found::Found;
use super::source::Source;
use crate::error::IngestError;

/// Reads the next value into `buffer`, if it has at most `max_len` bytes. Returns its start too.
pub(super) fn next(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<(u64, Found), IngestError> {
    let (mut depth, mut start, mut is_too_long) = (Depth::default(), None, false);
    loop {
        let offset = source.offset();
        let bytes = source.fill()?;
        if bytes.is_empty() {
            let found = match start {
                None => Found::End,
                Some(_) if is_too_long => Found::TooLong,
                Some(_) => Found::Unterminated,
            };
            return Ok((start.unwrap_or(offset), found));
        }
        let blank = match start {
            None => bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
            Some(_) => 0,
        };
        let value = bytes.get(blank..).unwrap_or_default();
        if !value.is_empty() {
            start.get_or_insert(offset + blank as u64);
        }
        let end = value.iter().position(|&byte| {
            depth.pass(byte);
            // A value that is not an object or an array ends with its line.
            depth.is_outside() && matches!(byte, b'}' | b']' | b'\n')
        });
        let part = value.get(..end.map_or(value.len(), |end| end + 1)).unwrap_or_default();
        if is_too_long || buffer.len() + part.len() > max_len {
            is_too_long = true;
            buffer.clear();
        } else {
            buffer.extend_from_slice(part);
        }
        let consumed = blank + part.len();
        source.consume(consumed);
        if end.is_some() {
            return Ok((start.unwrap_or(offset), if is_too_long { Found::TooLong } else { Found::Whole }));
        }
    }
}
