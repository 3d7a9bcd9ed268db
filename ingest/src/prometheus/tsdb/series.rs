//! Series of an index: [`Entry`].

use std::io::{Read, Seek};

use super::error::TsdbBlockError;
use super::input::{Fields, Input};
use super::symbols::Symbols;
use super::toc::IndexVersion;
use crate::prometheus::MILLISECOND;
use crate::series::SeriesSink;

/// Alignment of series in version 2.
const ALIGNMENT: u64 = 16;

/// Parts of a series. Its buffers are reused for each series.
#[derive(Default)]
pub(super) struct Entry {
    offset: u64,
    bytes: Vec<u8>,
    length: Vec<u8>,
    /// References to names and values.
    labels: Vec<(u64, u64)>,
    /// First and last time of each chunk, in nanoseconds, or `None` if one is out of range.
    chunks: Vec<Option<(i64, i64)>>,
}

impl Entry {
    /// Reads the next series before `end`, if there is one.
    pub(super) fn read<R: Read + Seek>(
        &mut self,
        input: &mut Input<R>,
        end: u64,
        version: IndexVersion,
        symbols: &Symbols,
    ) -> Result<bool, TsdbBlockError> {
        let damaged = |offset, reason| TsdbBlockError::Damaged { offset, reason };
        // Padding consists of zeros, and the length of a series is never zero.
        let length = loop {
            if input.offset() >= end {
                return Ok(false);
            }
            self.offset = input.offset();
            match input.uvarint(&mut self.length)? {
                0 => {}
                length => break length,
            }
        };
        if version != IndexVersion::V1 && !self.offset.is_multiple_of(ALIGNMENT) {
            return Err(damaged(
                self.offset,
                "a series that does not start at a multiple of 16, or padding that is not zero",
            ));
        }
        // A checksum follows.
        let left = end.checked_sub(input.offset()).and_then(|left| left.checked_sub(4));
        if left.is_none_or(|left| length > left) {
            return Err(damaged(self.offset, "series extends beyond its section"));
        }
        let start = input.offset();
        self.bytes.clear();
        input.append(length, &mut self.bytes)?;
        input.check("series", self.offset, crc32c::crc32c(&self.bytes))?;
        self.parse(start)?;
        for &(name, value) in &self.labels {
            for symbol in [name, value] {
                symbols.get(symbol).ok_or(TsdbBlockError::SymbolRef { offset: self.offset, symbol })?;
            }
        }
        Ok(true)
    }

    /// Parses the bytes, which start at `start`.
    fn parse(&mut self, start: u64) -> Result<(), TsdbBlockError> {
        let Self { bytes, labels, chunks, .. } = self;
        let mut fields = Fields::new(bytes, start);
        labels.clear();
        for _ in 0..fields.uvarint()? {
            labels.push((fields.uvarint()?, fields.uvarint()?));
        }
        chunks.clear();
        let mut last = None;
        for _ in 0..fields.uvarint()? {
            let place = fields.offset();
            // Differences wrap around, like in the writer.
            let min = match last {
                None => fields.varint()?,
                Some(last) => fields.uvarint()?.cast_signed().wrapping_add(last),
            };
            let max = fields.uvarint()?.cast_signed().wrapping_add(min);
            // Place of the chunk: a number, then differences.
            fields.uvarint()?;
            if max < min {
                return Err(TsdbBlockError::Damaged { offset: place, reason: "chunk ends before it starts" });
            }
            chunks.push(min.checked_mul(MILLISECOND).zip(max.checked_mul(MILLISECOND)));
            last = Some(max);
        }
        if fields.is_empty() {
            Ok(())
        } else {
            Err(TsdbBlockError::Damaged {
                offset: fields.offset(),
                reason: "unexpected bytes after the chunks of a series",
            })
        }
    }

    /// Gives the series to `sink`.
    pub(super) fn give<S: SeriesSink>(&self, symbols: &Symbols, sink: &mut S) -> Result<(), S::Error> {
        sink.series_begins()?;
        for &(name, value) in &self.labels {
            // Both exist: they were checked when the series was read.
            sink.label(symbols.get(name).unwrap_or_default(), symbols.get(value).unwrap_or_default())?;
        }
        for chunk in &self.chunks {
            match *chunk {
                Some((first, last)) => sink.points(first, last)?,
                None => sink.point_without_time()?,
            }
        }
        sink.series_ends()
    }
}
