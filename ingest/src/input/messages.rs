//! Records that are messages of Arrow IPC: [`Messages`].

use super::found::Found;
use super::frames::{append, skip};
use super::source::Source;
use crate::columns::{PREFIX_LEN, STREAM_START, body_len, is_schema, metadata_len};
use crate::error::IngestError;

/// First bytes of an Arrow file, before the stream of messages.
pub(super) const FILE_MAGIC: [u8; 8] = *b"ARROW1\0\0";

/// Last bytes of an Arrow file.
const FILE_END: [u8; 6] = *b"ARROW1";

/// Bytes of the length of the footer and the magic after it.
const FILE_END_LEN: usize = 4 + FILE_END.len();

/// Maximum position of the first message of a file.
const MAX_PADDING: usize = 64;

/// Reader of messages. A file is read as the stream in it if its footer cannot be used.
#[derive(Debug, Default)]
pub(super) struct Messages {
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// In the stream of a file.
    File,
    /// In a stream. Another one may follow it.
    Stream,
    /// The position of the next message is unknown, or there is none.
    End,
}

impl Messages {
    /// Reads the next message with its prefix into `buffer`, if it has at most `max_len` bytes.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        max_len: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Found, IngestError> {
        if self.state == State::Start {
            let is_file = source.head().starts_with(&FILE_MAGIC);
            self.state = if is_file { State::File } else { State::Stream };
            if is_file {
                source.consume(FILE_MAGIC.len());
                pass_padding(source)?;
            }
        }
        while self.state != State::End {
            buffer.clear();
            let read = append(source, PREFIX_LEN as u64, buffer)?;
            let Ok(prefix) = <[u8; PREFIX_LEN]>::try_from(buffer.as_slice()) else {
                let is_end = read == 0 && self.state == State::Stream;
                self.state = State::End;
                buffer.clear();
                return Ok(if is_end { Found::End } else { Found::Torn { len: read, expected: None } });
            };
            match metadata_len(prefix).filter(|_| prefix.starts_with(&STREAM_START)) {
                Some(0) if self.state == State::File => {
                    self.state = State::End;
                    return file_end(source, []);
                }
                Some(0) => {}
                Some(len) => return self.message(source, len, max_len, buffer),
                None if self.state == State::File => {
                    // Some writers leave out the mark at the end of the stream: the footer follows.
                    self.state = State::End;
                    return Ok(match file_end(source, prefix)? {
                        Found::End => Found::End,
                        // The decoder says what is wrong.
                        _ => Found::Whole,
                    });
                }
                None => {
                    // The decoder says what is wrong.
                    self.state = State::End;
                    skip(source, u64::MAX)?;
                    return Ok(Found::Whole);
                }
            }
        }
        Ok(Found::End)
    }

    fn message(
        &mut self,
        source: &mut Source,
        metadata_len: usize,
        max_len: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Found, IngestError> {
        let before_body = PREFIX_LEN + metadata_len;
        if before_body > max_len {
            self.state = State::End;
            skip(source, u64::MAX)?;
            buffer.clear();
            return Ok(Found::TooLong);
        }
        let mut read = PREFIX_LEN as u64 + append(source, metadata_len as u64, buffer)?;
        if read < before_body as u64 {
            return Ok(self.torn(read, None, buffer));
        }
        let Some(body_len) = body_len(buffer.get(PREFIX_LEN..).unwrap_or_default()) else {
            self.state = State::End;
            skip(source, u64::MAX)?;
            return Ok(Found::Whole);
        };
        let expected = (before_body as u64).saturating_add(body_len);
        if expected > max_len as u64 {
            buffer.clear();
            skip(source, body_len)?;
            return Ok(Found::TooLong);
        }
        read += append(source, body_len, buffer)?;
        Ok(if read < expected { self.torn(read, Some(expected), buffer) } else { Found::Whole })
    }

    fn torn(&mut self, len: u64, expected: Option<u64>, buffer: &mut Vec<u8>) -> Found {
        self.state = State::End;
        buffer.clear();
        Found::Torn { len, expected }
    }
}

/// Reads over zeros after the magic: some writers begin the first message at a multiple of 64.
fn pass_padding(source: &mut Source) -> Result<(), IngestError> {
    for _ in FILE_MAGIC.len()..MAX_PADDING {
        if source.fill()?.first() != Some(&0) {
            break;
        }
        source.consume(1);
    }
    Ok(())
}

/// Reads the footer of a file, which repeats the schema and lists the messages. `read` are its first bytes.
fn file_end<const N: usize>(source: &mut Source, read: [u8; N]) -> Result<Found, IngestError> {
    let (mut last, mut len) = (read.to_vec(), N as u64);
    loop {
        let bytes = source.fill()?;
        if bytes.is_empty() {
            break;
        }
        let count = bytes.len();
        last.extend_from_slice(bytes.get(count.saturating_sub(FILE_END_LEN)..).unwrap_or_default());
        last.drain(..last.len().saturating_sub(FILE_END_LEN));
        source.consume(count);
        len += count as u64;
    }
    let is_whole = last.split_first_chunk::<4>().is_some_and(|(footer_len, magic)| {
        magic == FILE_END && u64::from(u32::from_le_bytes(*footer_len)) + FILE_END_LEN as u64 == len
    });
    Ok(if is_whole { Found::End } else { Found::Torn { len, expected: None } })
}

/// Returns true if content begins like a file of Arrow IPC.
pub(super) fn looks_like_arrow_file(head: &[u8]) -> bool {
    head.starts_with(&FILE_MAGIC)
}

/// Returns true if the stream in a file can be read without the footer: it begins with a schema.
#[cfg(feature = "tables")]
pub(super) fn has_schema(head: &[u8]) -> bool {
    let stream = head.get(FILE_MAGIC.len()..).unwrap_or_default();
    let padding = stream.iter().take(MAX_PADDING - FILE_MAGIC.len()).take_while(|&&byte| byte == 0).count();
    // A file that is cut off here has no footer either.
    stream.len() <= padding + PREFIX_LEN || looks_like_stream(stream.get(padding..).unwrap_or_default())
}

/// Returns true if content begins like a stream of Arrow IPC.
pub(super) fn looks_like_stream(head: &[u8]) -> bool {
    let Some((prefix, rest)) = head.split_first_chunk::<PREFIX_LEN>() else { return false };
    match metadata_len(*prefix).filter(|_| prefix.starts_with(&STREAM_START)) {
        None | Some(0) => false,
        // The schema of a table with many columns is longer than the bytes that are examined.
        Some(len) => rest.get(..len).map_or(len % 8 == 0, is_schema),
    }
}
