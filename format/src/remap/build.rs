//! The bytes of a remap (remap spec).

use std::ops::Range;

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use super::encoding::{KeysetEncoding, Patterns};
use super::frame::HEADER_LEN;
use super::keyset_targets::{GONE, KeysetTargets};
use super::layout::{
    MAX_TARGET_WIDTH, OutputEntry, REMAP_GROUP_KEYSETS, REMAP_MAGIC, REMAP_MAJOR, REMAP_MINOR, REMAP_SLICE_ROWS,
    RemapHeader,
};
use crate::bits::{BitWriter, width};
use crate::checksum::{Grid, Owner, crc};
use crate::identity::BlockId;
use crate::number::{index, length, low32};

/// An output of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemapOutput {
    /// Id of the output.
    pub block_id: BlockId,
    /// Number of series of the output.
    pub series_count: u64,
    /// Shard, if series are spread over several; outputs of a shard must be adjacent. The remap does not store it, but
    /// is smaller with it.
    pub shard: u32,
}

/// Reason why a remap cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RemapBuildError {
    /// There is more of something than a remap can have.
    #[error("too many {what} for a remap")]
    TooMany { what: &'static str },
    /// A series is mapped to a number that no series of the outputs has.
    #[error("series {number} is out of range: the outputs have {count}, from 0")]
    NoSuchSeries { number: u64, count: u64 },
    /// A keyset, or a row of one, has no series.
    #[error("keyset or row has no series")]
    Empty,
}

/// Builds the remap of an input: outputs first, then keyset after keyset in the order of the input's refs.
#[derive(Debug)]
pub struct RemapBuilder {
    input: BlockId,
    job: [u8; 16],
    outputs: Vec<OutputEntry>,
    /// For each shard, the end of its series: those of its outputs and of all shards before.
    shard_ends: Vec<u64>,
    target_count: u64,
    groups: Vec<[u64; 4]>,
    keysets: Vec<[u64; 5]>,
    parts: Vec<[u64; 4]>,
    patterns: Patterns,
    rows: BitWriter,
    series: u64,
}

impl RemapBuilder {
    /// Returns the remap of this input: which job wrote which outputs.
    ///
    /// # Errors
    /// `TooMany` if the outputs have more series than a remap can number.
    pub fn new(input: BlockId, job: [u8; 16], outputs: &[RemapOutput]) -> Result<Self, RemapBuildError> {
        let mut builder = Self {
            input,
            job,
            outputs: Vec::with_capacity(outputs.len()),
            shard_ends: Vec::new(),
            target_count: 0,
            groups: Vec::new(),
            keysets: Vec::new(),
            parts: Vec::new(),
            patterns: Patterns::default(),
            rows: BitWriter::new(),
            series: 0,
        };
        u32::try_from(outputs.len()).map_err(|_| RemapBuildError::TooMany { what: "outputs" })?;
        for of_shard in outputs.chunk_by(|a, b| a.shard == b.shard) {
            for output in of_shard {
                let end = builder.target_count.checked_add(output.series_count);
                let end = end.filter(|&end| width(end) <= MAX_TARGET_WIDTH);
                let is_block = u32::try_from(output.series_count).is_ok();
                builder.target_count =
                    end.filter(|_| is_block).ok_or(RemapBuildError::TooMany { what: "series of the outputs" })?;
                let output_series_end = U64::new(builder.target_count);
                builder.outputs.push(OutputEntry { output_id: output.block_id.0, output_series_end });
            }
            builder.shard_ends.push(builder.target_count);
        }
        Ok(builder)
    }

    /// Adds the next keyset of the input.
    ///
    /// # Errors
    /// Returns an error for more series than a block can have, a target out of range, and a row without series.
    pub fn push_keyset(&mut self, targets: &KeysetTargets) -> Result<(), RemapBuildError> {
        let series = length(targets.targets.len());
        if series == 0 || targets.rows().any(<[u64]>::is_empty) {
            return Err(RemapBuildError::Empty);
        }
        let series_end = self.series + series;
        u32::try_from(series_end).map_err(|_| RemapBuildError::TooMany { what: "series" })?;
        let count = self.target_count;
        if let Some(&number) = targets.targets.iter().find(|&&target| target != GONE && target >= count) {
            return Err(RemapBuildError::NoSuchSeries { number, count });
        }
        // Earlier keysets decide, too: a pattern that the file has already costs no bits.
        let encoding = KeysetEncoding::best(targets, &self.shard_ends, &self.patterns);
        let numbers: Vec<u32> = encoding.patterns.all.iter().map(|pattern| self.patterns.intern(pattern)).collect();
        let pattern = numbers.iter().copied().min().unwrap_or(0);
        let most = numbers.iter().copied().max().unwrap_or(0);
        let pattern_width = width(u64::from(most - pattern));
        // Groups say where their keysets start, and are written before these: the counts so far are those of the start.
        if self.keysets.len().is_multiple_of(index(REMAP_GROUP_KEYSETS)) {
            self.groups.push([self.series, self.rows.bit_len(), length(self.parts.len()), 0]);
        }
        self.write_rows(&encoding, &numbers, pattern, pattern_width);
        let of_part = |part: &super::encoding::PartEncoding| {
            [part.least_base, part.base_width.into(), part.width.into(), part.is_summed.into()]
        };
        self.parts.extend(encoding.parts.iter().map(of_part));
        u32::try_from(self.parts.len()).map_err(|_| RemapBuildError::TooMany { what: "parts" })?;
        self.series = series_end;
        let part_count = length(encoding.parts.len());
        self.keysets.push([series, encoding.row_len, pattern.into(), pattern_width.into(), part_count]);
        Ok(())
    }

    /// Sets the floor of each group: one less than the smallest base of its parts.
    fn place_floors(&mut self) {
        let starts = self.groups.iter().map(|&[_, _, part, _]| index(low32(part)));
        let ends: Vec<usize> = starts.skip(1).chain([self.parts.len()]).collect();
        let mut left = &mut self.parts[..];
        let mut start = 0;
        for (group, end) in self.groups.iter_mut().zip(ends) {
            let (parts, rest) = std::mem::take(&mut left).split_at_mut_checked(end - start).unwrap_or_default();
            (left, start) = (rest, end);
            let floor = parts.iter().map(|&[least_base, ..]| least_base - 1).min().unwrap_or(0);
            parts.iter_mut().for_each(|[least_base, ..]| *least_base -= floor);
            group[3] = floor;
        }
    }

    fn write_rows(&mut self, encoding: &KeysetEncoding, numbers: &[u32], pattern: u32, pattern_width: u32) {
        let slice_rows = index(REMAP_SLICE_ROWS);
        self.rows.push(if encoding.row_len > 0 { 0 } else { length(encoding.rows.len()) }, encoding.anchor_width());
        for (slice, rows) in encoding.rows.chunks(slice_rows).enumerate() {
            let start = slice * slice_rows;
            if let Some(&before) = encoding.before.get(start) {
                self.rows.push(before, encoding.anchor_width());
            }
            let shifts = encoding.parts.iter().map(|part| {
                let shifts = part.shifts.get(start..start + rows.len()).unwrap_or_default();
                (part, part.base(shifts), shifts)
            });
            for (part, base, _) in shifts.clone() {
                self.rows.push(base - part.least_base, part.base_width);
            }
            for (row, local) in rows.iter().enumerate() {
                let number = numbers.get(index(*local)).copied().unwrap_or(pattern);
                self.rows.push(u64::from(number - pattern), pattern_width);
                for (part, base, shifts) in shifts.clone() {
                    let shift = shifts.get(row).copied().unwrap_or(base);
                    let before = row.checked_sub(1).filter(|_| part.is_summed).and_then(|row| shifts.get(row));
                    self.rows.push(shift - before.copied().unwrap_or(base), part.width);
                }
            }
        }
    }

    /// Returns the bytes of the remap.
    ///
    /// # Errors
    /// `TooMany` if there are more patterns or runs than a remap can have.
    pub fn finish(mut self) -> Result<Vec<u8>, RemapBuildError> {
        // Floors need all parts of a group, and widths need floors.
        self.place_floors();
        let mut patterns: Vec<[u64; 2]> = Vec::with_capacity(self.patterns.all.len());
        let mut runs: Vec<[u64; 3]> = Vec::new();
        for pattern in &self.patterns.all {
            runs.extend(pattern.runs.iter().map(|run| [run.start, run.part, run.place]));
            patterns.push([pattern.length, length(runs.len())]);
        }
        let counts = [self.keysets.len(), self.parts.len(), patterns.len(), runs.len()];
        let [keyset_count, part_count, pattern_count, run_count] = counts.map(|count| U32::new(low32(length(count))));
        if counts.iter().any(|&count| u32::try_from(count).is_err()) || width(self.rows.bit_len()) > 48 {
            return Err(RemapBuildError::TooMany { what: "patterns" });
        }
        let row_bits = self.rows.bit_len();
        let mut body = self.outputs.as_bytes().to_vec();
        let group_widths = push_records(&self.groups, &mut body);
        let keyset_widths = push_records(&self.keysets, &mut body);
        let part_widths = push_records(&self.parts, &mut body);
        let pattern_widths = push_records(&patterns, &mut body);
        let run_widths = push_records(&runs, &mut body);
        body.extend_from_slice(&self.rows.finish());
        let owner = Owner::Remap { input: self.input.0, job: self.job };
        let grid = Grid { front: HEADER_LEN, end: HEADER_LEN + length(body.len()) };
        let mut checks = Vec::with_capacity(body.len() / 2048 + 4);
        for chunk in 0..grid.chunk_count() {
            let Range { start, end } = grid.chunk(chunk);
            // The body lies behind the header.
            let range = [start, end].map(|position| usize::try_from(position - HEADER_LEN).unwrap_or(usize::MAX));
            let data = body.get(range[0]..range[1]).unwrap_or_default();
            checks.extend_from_slice(&owner.chunk_checksum(chunk, data).to_le_bytes());
        }
        let mut header = RemapHeader {
            remap_magic: REMAP_MAGIC,
            major: U16::new(REMAP_MAJOR),
            minor: U16::new(REMAP_MINOR),
            incompat: U32::new(0),
            input_id: self.input.0,
            job_id: self.job,
            file_len: U64::new(grid.end + length(checks.len())),
            output_count: U32::new(low32(length(self.outputs.len()))),
            keyset_count,
            part_count,
            pattern_count,
            run_count,
            row_bits: U64::new(row_bits),
            group_widths,
            keyset_widths,
            part_widths,
            pattern_widths,
            run_widths,
            reserved: [0; 2],
            checks_checksum: U32::new(owner.checks_checksum(&checks)),
            header_checksum: U32::new(0),
        };
        let checked = header.as_bytes().len() - size_of::<U32>();
        header.header_checksum = U32::new(crc(header.as_bytes().get(..checked).unwrap_or_default()));
        let mut bytes = header.as_bytes().to_vec();
        bytes.append(&mut body);
        bytes.append(&mut checks);
        Ok(bytes)
    }
}

/// Appends records and returns the widths of their fields.
fn push_records<const N: usize>(records: &[[u64; N]], bytes: &mut Vec<u8>) -> [u8; N] {
    let mut most = [0; N];
    for record in records {
        for (most, &field) in most.iter_mut().zip(record) {
            *most = field.max(*most);
        }
    }
    let widths = most.map(width);
    let mut writer = BitWriter::new();
    for record in records {
        for (&field, &width) in record.iter().zip(&widths) {
            writer.push(field, width);
        }
    }
    bytes.extend_from_slice(&writer.finish_aligned());
    widths.map(|width| u8::try_from(width).unwrap_or(u8::MAX))
}
