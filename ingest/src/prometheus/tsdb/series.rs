//! Series of an index: [`Entry`].

use std::io::{Read, Seek};

use super::error::TsdbBlockError;
use super::input::{Fields, Input};
use super::symbols::Symbols;
use super::toc::IndexVersion;
use crate::prometheus::MILLISECOND;
use crate::prometheus::chunk_lists::{ChunkColumns, ChunkPlace};
use crate::prometheus::tombstones::Tombstones;
use crate::series::SeriesSink;

/// Alignment of series in version 2.
pub(super) const ALIGNMENT: u64 = 16;

/// Maximum length of a series that is searched for after a damaged one whose length is wrong too. Each possible start
/// costs a checksum over the length that it claims.
const MAX_SEARCHED_LEN: u64 = 64 << 10;

/// Parts of a series. Its buffers are reused for each series.
#[derive(Default)]
pub(super) struct Entry {
    offset: u64,
    /// End of the series, if its checksum is right.
    end: Option<u64>,
    /// End of the series by its length, which may be damaged.
    stated_end: Option<u64>,
    bytes: Vec<u8>,
    length: Vec<u8>,
    /// References to names and values.
    labels: Vec<(u64, u64)>,
    chunks: Vec<ChunkPlace>,
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
        (self.end, self.stated_end) = (None, None);
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
        self.stated_end = Some(start + length + 4);
        self.bytes.clear();
        input.append(length, &mut self.bytes)?;
        input.check("series", self.offset, crc32c::crc32c(&self.bytes))?;
        self.end = Some(input.offset());
        self.parse(start)?;
        for &(name, value) in &self.labels {
            for symbol in [name, value] {
                symbols.get(symbol).ok_or_else(|| symbols.error(self.offset, symbol))?;
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
        for _ in 0..fields.uvarint()? {
            let place = fields.offset();
            // Differences wrap around, like in the writer.
            let first = match chunks.last() {
                None => fields.varint()?,
                Some(before) => fields.uvarint()?.cast_signed().wrapping_add(before.last),
            };
            let last = fields.uvarint()?.cast_signed().wrapping_add(first);
            let reference = match chunks.last() {
                None => fields.uvarint()?,
                Some(before) => before.reference.wrapping_add_signed(fields.varint()?),
            };
            if last < first {
                return Err(TsdbBlockError::Damaged { offset: place, reason: "chunk ends before it starts" });
            }
            chunks.push(ChunkPlace { reference, first, last });
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

    /// Returns the reference of the series, which tombstones have.
    fn reference(&self, version: IndexVersion) -> u64 {
        if version == IndexVersion::V1 { self.offset } else { self.offset / ALIGNMENT }
    }

    /// Encodes the chunks of the series as values of columns. Returns false without chunks.
    pub(super) fn encode_chunks(
        &self,
        version: IndexVersion,
        tombstones: &Tombstones,
        columns: &mut ChunkColumns,
    ) -> Result<bool, TsdbBlockError> {
        let encoded = columns.encode(&self.chunks, tombstones.times(self.reference(version)));
        encoded.map_err(|source| TsdbBlockError::ChunkList { offset: self.offset, source })
    }

    /// Returns true if the series has chunks and all of them are deleted.
    pub(super) fn is_deleted(&self, version: IndexVersion, tombstones: &Tombstones) -> bool {
        let reference = self.reference(version);
        let is_covered = |chunk: &ChunkPlace| tombstones.cover(reference, chunk.first, chunk.last);
        !tombstones.is_empty() && !self.chunks.is_empty() && self.chunks.iter().all(is_covered)
    }

    /// Moves to the next series with a right checksum after one that could not be read, or to the end.
    pub(super) fn skip<R: Read + Seek>(
        &mut self,
        input: &mut Input<R>,
        end: u64,
        version: IndexVersion,
    ) -> Result<(), TsdbBlockError> {
        if let Some(end) = self.end {
            return input.seek(end);
        }
        let (alignment, first) = match version {
            // Only the length says where the next series starts.
            IndexVersion::V1 => (1, self.stated_end),
            IndexVersion::V2 => (ALIGNMENT, Some((self.offset + 1).next_multiple_of(ALIGNMENT))),
        };
        let stated = self.stated_end.map(|end| end.next_multiple_of(alignment));
        let mut next = first;
        while let Some(place) = next.filter(|&place| place < end) {
            let max_len = if Some(place) == stated { u64::MAX } else { MAX_SEARCHED_LEN };
            if self.is_sound(input, place, end, max_len)? {
                return input.seek(place);
            }
            next = (version == IndexVersion::V2).then_some(place + ALIGNMENT);
        }
        input.seek(end)
    }

    /// Returns true if a series of at most `max_len` bytes with a right checksum starts here.
    fn is_sound<R: Read + Seek>(
        &mut self,
        input: &mut Input<R>,
        place: u64,
        end: u64,
        max_len: u64,
    ) -> Result<bool, TsdbBlockError> {
        input.seek(place)?;
        let length = match input.uvarint(&mut self.length) {
            Ok(length) => length,
            Err(error) if error.is_damage() => return Ok(false),
            Err(error) => return Err(error),
        };
        let left = end.checked_sub(input.offset()).and_then(|left| left.checked_sub(4));
        if length == 0 || length > max_len || left.is_none_or(|left| length > left) {
            return Ok(false);
        }
        self.bytes.clear();
        input.append(length, &mut self.bytes)?;
        Ok(input.be32()? == crc32c::crc32c(&self.bytes))
    }

    /// Gives the series to `sink`, with the values of columns that were encoded.
    pub(super) fn give<S: SeriesSink>(
        &self,
        symbols: &Symbols,
        chunks: Option<&ChunkColumns>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        sink.series_begins()?;
        for &(name, value) in &self.labels {
            // Both exist: they were checked when the series was read.
            sink.label(symbols.get(name).unwrap_or_default(), symbols.get(value).unwrap_or_default())?;
        }
        if let Some(columns) = chunks {
            columns.give(sink)?;
        }
        for &ChunkPlace { first, last, .. } in &self.chunks {
            match first.checked_mul(MILLISECOND).zip(last.checked_mul(MILLISECOND)) {
                Some((first, last)) => sink.points(first, last)?,
                None => sink.point_without_time()?,
            }
        }
        sink.series_ends()
    }
}
