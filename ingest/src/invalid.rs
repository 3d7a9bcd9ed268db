//! Texts that are not UTF-8 in JSON: [`mark`] and [`Marked`].
//!
//! A program that cuts values after a number of bytes cuts some within a character. Such a value makes the record
//! malformed. If malformed records are skipped, only the series with the value are left out: decoders of protobuf tell
//! of each such text. A decoder of JSON takes valid text only, so invalid bytes are replaced by a character that no
//! text has, before it is decoded.

use crate::series::SeriesSink;

/// Replacement of invalid bytes: a code point that is reserved for use within a program.
const MARK: char = '\u{fdd0}';

/// Returns text with a mark in place of each invalid sequence of bytes, or `None` if all bytes are valid, or if there
/// are marks already.
pub(crate) fn mark(bytes: &[u8]) -> Option<String> {
    if std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 16);
    for chunk in bytes.utf8_chunks() {
        if is_marked(chunk.valid()) {
            return None;
        }
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(MARK);
        }
    }
    Some(text)
}

/// Returns true if a part of the text was not valid.
pub(crate) fn is_marked(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), MARK.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
}

/// Sink of series that tells another sink of those with marked texts, instead of giving them to it.
pub(crate) struct Marked<'s, S> {
    sink: &'s mut S,
    /// True if the current series has a marked text.
    is_invalid: bool,
}

impl<'s, S> Marked<'s, S> {
    /// Creates a sink in front of `sink`, which must leave out what has invalid texts.
    pub(crate) fn new(sink: &'s mut S) -> Self {
        Self { sink, is_invalid: false }
    }
}

impl<S: SeriesSink> SeriesSink for Marked<'_, S> {
    type Error = S::Error;

    fn series_begins(&mut self) -> Result<(), S::Error> {
        self.is_invalid = false;
        self.sink.series_begins()
    }

    fn label(&mut self, name: &str, value: &str) -> Result<(), S::Error> {
        self.is_invalid |= is_marked(name) || is_marked(value);
        if self.is_invalid { Ok(()) } else { self.sink.label(name, value) }
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), S::Error> {
        self.sink.points(first, last)
    }

    fn point_without_time(&mut self) -> Result<(), S::Error> {
        self.sink.point_without_time()
    }

    fn series_ends(&mut self) -> Result<(), S::Error> {
        if self.is_invalid {
            self.sink.invalid_series();
            return Ok(());
        }
        self.sink.series_ends()
    }
}
