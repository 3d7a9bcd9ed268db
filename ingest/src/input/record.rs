//! Records of an input: [`Records`].

use chronoxide_format::layout::MAGIC;

use super::csv_records::CsvRecords;
use super::detect::{self, Format, Framing};
use super::elements::Elements;
use super::found::Found;
use super::messages::Messages;
#[cfg(feature = "tables")]
use super::messages::has_schema;
use super::source::Source;
use super::start::{Start, find_frames, find_start};
use super::{chunks, frames, lines, values};
use crate::columns::ABSENT;
use crate::error::IngestError;

/// Record of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Number of the record in the input, from 1. Blank lines are not counted.
    pub number: u64,
    /// Start of the record, in bytes of decompressed content.
    pub offset: u64,
    /// Content of the record.
    pub content: RecordContent<'a>,
}

/// Content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordContent<'a> {
    /// A whole record.
    Whole(&'a [u8]),
    /// Last bytes of the input without the delimiter that ends a record: a complete record, or a truncated one.
    Unterminated(&'a [u8]),
    /// Start of a record that the end of the input cuts off.
    Torn {
        /// Bytes that are there.
        len: u64,
        /// Length of the record, if its length prefix was read.
        expected: Option<u64>,
    },
    /// Bytes before the first record that are not one.
    CutStart {
        /// Number of the bytes.
        len: u64,
    },
    /// Record that is longer than the limit. Its bytes were not kept.
    TooLong,
    /// Record that cannot be decompressed, with the reason.
    Damaged(&'a str),
}

/// Reader of the records of an input.
pub struct Records {
    source: Source,
    format: Format,
    framing: Framing,
    elements: Elements,
    messages: Messages,
    csv: CsvRecords,
    max_len: usize,
    /// Bytes before the first record, until they are reported.
    cut_start: u64,
    number: u64,
    blank_lines: u64,
    buffer: Vec<u8>,
}

/// Maximum length of the rest of a record at the start of a file. The examined bytes are in memory.
const MAX_HEAD_LEN: usize = 4 << 20;

impl Records {
    /// Creates a reader. Without a format, it is detected by the first records. Bytes before the first record of a file
    /// with records on lines are skipped and reported as [`CutStart`](RecordContent::CutStart). Records of more than
    /// `max_len` bytes are skipped and reported as [`TooLong`](RecordContent::TooLong).
    ///
    /// # Errors
    ///
    /// No format is given and none is recognized, or the input is a block.
    pub fn new(source: Source, format: Option<Format>, max_len: usize) -> Result<Self, IngestError> {
        Self::open(source, format, max_len, false)
    }

    /// Creates a reader as [`new`](Self::new) does. If the input `is_found` in a folder, JSON without metric names is
    /// not a capture.
    pub(crate) fn open(
        mut source: Source,
        format: Option<Format>,
        max_len: usize,
        is_found: bool,
    ) -> Result<Self, IngestError> {
        if source.head().starts_with(&MAGIC) {
            let found = "this is a Chronoxide block, not a capture (use chronoxide-compact to merge blocks)";
            return Err(IngestError::UnknownFormat { input: source.name().to_owned(), found });
        }
        let (start, nul_count) = match format {
            // The first line of text is a malformed record if the format is known.
            None | Some(Format::OtlpJson | Format::OtlpProto | Format::SeriesJson) => {
                damaged_start(&mut source, max_len)?
            }
            Some(_) => (None, 0),
        };
        let start = start.filter(|start| format.is_none_or(|format| format == start.format));
        let unknown = |found| IngestError::UnknownFormat { input: source.name().to_owned(), found };
        let (detected, framing) = match (format, start) {
            (_, Some(start)) => (start.format, start.framing),
            (None, None) if nul_count > 0 && source.head().is_empty() => return Err(unknown("nothing but NUL bytes")),
            (None, None) => detect::detect(source.head()).map_err(unknown)?,
            (Some(format), None) => (format, detect::framing(format, source.head())),
        };
        if let Some(found) = detect::foreign(source.head(), detected).filter(|_| is_found && format.is_none()) {
            return Err(unknown(found));
        }
        let format = detected;
        if matches!(format, Format::Parquet | Format::Arrow) && !cfg!(feature = "tables") {
            return Err(unknown(ABSENT));
        }
        let cut_len = start.map_or(0, |start| start.offset);
        source.consume(cut_len);
        // Empty messages of length-prefixed content are zeros too.
        let is_cut = framing == Framing::Lines || start.is_some();
        let cut_start = if is_cut { nul_count + cut_len as u64 } else { 0 };
        Ok(Self { cut_start, ..Self::at_start(source, format, framing, max_len) })
    }

    /// Creates a reader of the stream of messages in an Arrow file. Returns `None` if it does not begin with a schema.
    #[cfg(feature = "tables")]
    pub(crate) fn messages_of_file(source: Source, max_len: usize) -> Option<Self> {
        has_schema(source.head()).then(|| Self::at_start(source, Format::Arrow, Framing::Messages, max_len))
    }

    fn at_start(source: Source, format: Format, framing: Framing, max_len: usize) -> Self {
        Self {
            source,
            format,
            framing,
            elements: Elements::default(),
            messages: Messages::default(),
            csv: CsvRecords::default(),
            max_len,
            cut_start: 0,
            number: 0,
            blank_lines: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns true if the input is read at any position: its records are parts of it, and have no meaning.
    pub(crate) fn needs_random_access(&self) -> bool {
        self.framing == Framing::Chunks
    }

    /// Returns true if the records are length-prefixed messages, which may be compressed.
    pub(crate) fn has_messages(&self) -> bool {
        self.framing == Framing::Frames
    }

    /// Returns the format of the records.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the source of the records.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the source of the records.
    pub(crate) fn into_source(self) -> Source {
        self.source
    }

    /// Returns the number of lines so far with only white space.
    #[must_use]
    pub fn blank_lines(&self) -> u64 {
        self.blank_lines
    }

    /// Reads the next record. Returns `None` at the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read or decompressed, or the JSON between the elements of an array is malformed.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, IngestError> {
        if self.cut_start > 0 {
            let content = RecordContent::CutStart { len: std::mem::take(&mut self.cut_start) };
            self.number += 1;
            return Ok(Some(Record { number: self.number, offset: 0, content }));
        }
        let (offset, found) = loop {
            self.buffer.clear();
            let offset = self.source.offset();
            let (source, max_len, buffer) = (&mut self.source, self.max_len, &mut self.buffer);
            let (offset, found) = match self.framing {
                Framing::Lines => (offset, lines::next(source, max_len, buffer)?),
                Framing::Frames => (offset, frames::next(source, max_len, buffer)?),
                Framing::Delimited => (offset, frames::next_delimited(source, max_len, buffer)?),
                Framing::Fields => (offset, frames::next_field(source, max_len, buffer)?),
                Framing::Whole => (offset, frames::whole(source, max_len, buffer)?),
                Framing::Messages => (offset, self.messages.next(source, max_len, buffer)?),
                Framing::Csv => (offset, self.csv.next(source, max_len, buffer)?),
                Framing::Chunks => (offset, chunks::next(source, buffer)?),
                Framing::Values => values::next(source, max_len, buffer)?,
                Framing::Array | Framing::Response => self.elements.next(source, max_len, buffer)?,
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

/// Finds the first record of content that begins with damaged bytes. Returns also the number of NUL bytes that were
/// skipped.
fn damaged_start(source: &mut Source, max_len: usize) -> Result<(Option<Start>, u64), IngestError> {
    let nul_count = source.pass_nul_bytes()?;
    loop {
        let head = source.head();
        let start = find_start(head).or_else(|| find_frames(head, source.is_at_hand()));
        // The rest of a long record has no other record among the first bytes.
        let may_be_rest = detect::detect(head).is_err() && head.len() < MAX_HEAD_LEN.min(max_len);
        if start.is_some() || !may_be_rest || !source.extend_head()? {
            return Ok((start, nul_count));
        }
    }
}
