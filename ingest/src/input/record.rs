//! One record after the other.

use super::detect::{self, Format, Framing};
use super::elements::Elements;
use super::found::Found;
use super::source::Source;
use super::{frames, lines, values};
use crate::error::IngestError;
use chronoxide_format::layout::MAGIC;

/// One record of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Which record of the input, from 1. Blank lines are not counted.
    pub number: u64,
    /// Where it starts, in bytes of the content.
    pub offset: u64,
    /// What it is.
    pub content: RecordContent<'a>,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordContent<'a> {
    /// A whole record.
    Whole(&'a [u8]),
    /// What stands at the end of the input without the newline that ends a record: a whole record, or one that
    /// was being written.
    Unterminated(&'a [u8]),
    /// Start of a record that is known to be cut off at the end of the input.
    Torn {
        /// Bytes of it that are there.
        len: u64,
        /// Bytes that it should have, if its length prefix was read.
        expected: Option<u64>,
    },
    /// A record with more bytes than are allowed, which were not kept.
    TooLong,
    /// A record that cannot be decompressed, and why.
    Damaged(&'a str),
}

/// The records of an input, one after the other.
pub struct Records {
    source: Source,
    format: Format,
    framing: Framing,
    elements: Elements,
    max_len: usize,
    number: u64,
    blank_lines: u64,
    buffer: Vec<u8>,
}

impl Records {
    /// The records of an input; of this format, or of the one that its first bytes say. No record may have more than
    /// `max_len` bytes.
    ///
    /// # Errors
    ///
    /// No format was said, and the first bytes are of none that is known.
    pub fn new(source: Source, format: Option<Format>, max_len: usize) -> Result<Self, IngestError> {
        if source.head().starts_with(&MAGIC) {
            let found = "this is a Chronoxide block, not a capture (chronoxide-compact merges blocks)";
            return Err(IngestError::UnknownFormat { input: source.name().to_owned(), found });
        }
        let (format, framing) = match format {
            None => detect::detect(source.head())
                .map_err(|found| IngestError::UnknownFormat { input: source.name().to_owned(), found })?,
            Some(format) => (format, detect::framing(format, source.head())),
        };
        let elements = Elements::default();
        Ok(Self { source, format, framing, elements, max_len, number: 0, blank_lines: 0, buffer: Vec::new() })
    }

    /// The format of the records.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where they come from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where they came from.
    pub(crate) fn into_source(self) -> Source {
        self.source
    }

    /// Lines so far without anything but white space.
    #[must_use]
    pub fn blank_lines(&self) -> u64 {
        self.blank_lines
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read or decompressed, or what stands between the elements of an array is no JSON.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, IngestError> {
        let (offset, found) = loop {
            self.buffer.clear();
            let (offset, found) = match self.framing {
                Framing::Lines => {
                    let offset = self.source.offset();
                    (offset, lines::next(&mut self.source, self.max_len, &mut self.buffer)?)
                }
                Framing::Frames => {
                    let offset = self.source.offset();
                    (offset, frames::next(&mut self.source, self.max_len, &mut self.buffer)?)
                }
                Framing::Delimited => {
                    let offset = self.source.offset();
                    (offset, frames::next_delimited(&mut self.source, self.max_len, &mut self.buffer)?)
                }
                Framing::Whole => {
                    let offset = self.source.offset();
                    (offset, frames::whole(&mut self.source, self.max_len, &mut self.buffer)?)
                }
                Framing::Values => values::next(&mut self.source, self.max_len, &mut self.buffer)?,
                Framing::Array | Framing::Response => {
                    self.elements.next(&mut self.source, self.max_len, &mut self.buffer)?
                }
            };
            match found {
                Found::Blank => self.blank_lines += 1,
                Found::End => return Ok(None),
                _ => break (offset, found),
            }
        };
        self.number += 1;
        let content = match found {
            Found::Unterminated => RecordContent::Unterminated(&self.buffer),
            Found::Torn { len, expected } => RecordContent::Torn { len, expected },
            Found::TooLong => RecordContent::TooLong,
            Found::Damaged => RecordContent::Damaged(str::from_utf8(&self.buffer).unwrap_or_default()),
            _ => RecordContent::Whole(&self.buffer),
        };
        Ok(Some(Record { number: self.number, offset, content }))
    }
}
