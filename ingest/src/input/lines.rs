//! Records that are lines of text.

use super::found::Found;
use super::source::Source;
use crate::error::IngestError;

/// Reads the next line into `buffer`, without its newline, if it has at most `max_len` bytes.
pub(super) fn next(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let mut is_too_long = false;
    let mut has_bytes = false;
    loop {
        let bytes = source.fill()?;
        if bytes.is_empty() {
            return Ok(match () {
                () if is_too_long => Found::TooLong,
                () if !has_bytes => Found::End,
                () if buffer.trim_ascii().is_empty() => Found::Blank,
                () => Found::Unterminated,
            });
        }
        if !has_bytes && bytes.starts_with(&[0]) {
            return nul_bytes(source, max_len, buffer);
        }
        has_bytes = true;
        let newline = memchr::memchr(b'\n', bytes);
        let part = bytes.get(..newline.unwrap_or(bytes.len())).unwrap_or_default();
        if is_too_long || buffer.len() + part.len() > max_len {
            is_too_long = true;
            buffer.clear();
        } else {
            buffer.extend_from_slice(part);
        }
        let consumed = part.len() + usize::from(newline.is_some());
        source.consume(consumed);
        if newline.is_some() {
            return Ok(match () {
                () if is_too_long => Found::TooLong,
                () if buffer.trim_ascii().is_empty() => Found::Blank,
                () => Found::Whole,
            });
        }
    }
}

/// Reads NUL bytes at the start of a line into `buffer`, at most `max_len`. They are a record of their own, which is
/// malformed: a file that was truncated while a program wrote to it has them before a line that is whole.
fn nul_bytes(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    loop {
        let count = source.fill()?.iter().take_while(|&&byte| byte == 0).count();
        if count == 0 {
            return Ok(Found::Whole);
        }
        buffer.resize(max_len.min(buffer.len() + count), 0);
        source.consume(count);
    }
}
