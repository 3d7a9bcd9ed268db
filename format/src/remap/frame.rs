//! [`RemapFrame`]: the place of each array of a remap.

use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::error::{corrupt, corrupt_at, refuse_if};
use super::layout::{OutputEntry, REMAP_GROUP_KEYSETS, REMAP_MAGIC, REMAP_MAJOR, REMAP_MINOR, RemapHeader};
use super::{RemapError, RemapErrorKind, RemapPlace, RemapRule};
use crate::bits::bytes_for;
use crate::checksum::{CheckedFile, ChunkProofs, Grid, Owner, SectionProofs, crc};
use crate::error::Place;
use crate::layout::{MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, STREAM_TAIL};
use crate::number::length;
use crate::view::Records;
use crate::{Corruption, Error, ErrorKind};

/// Bits of `base_width` and `width` are numbers up to 48, and so is `pattern_width`.
const MAX_WIDTH_WIDTH: u8 = 6;

/// The place of each array of a remap, checked at opening. It borrows nothing, so that the owner of a remap's bytes
/// can store it beside them; [`RemapView::with_frame`](super::RemapView::with_frame) combines the two at no cost.
#[derive(Clone, Copy, Debug)]
pub struct RemapFrame {
    pub(super) header: RemapHeader,
    pub(super) groups: Records<4>,
    pub(super) keysets: Records<5>,
    pub(super) parts: Records<4>,
    pub(super) patterns: Records<2>,
    pub(super) runs: Records<3>,
    /// First bit of the rows, counted from the first byte after the header, as for records.
    pub(super) rows_bit: u64,
    /// Grid of chunks: from the end of the header to the checks.
    grid: Grid,
}

/// The bytes of the header.
pub(super) const HEADER_LEN: u64 = length(size_of::<RemapHeader>());
const OUTPUT_LEN: u64 = length(size_of::<OutputEntry>());

impl RemapFrame {
    /// Checks the header and the lengths: O(1), no allocation.
    ///
    /// # Errors
    /// `NotARemap` if the magic bytes are missing, `UnsupportedVersion` for another version, `Corrupt` if the header is
    /// damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, RemapError> {
        if !bytes.starts_with(&REMAP_MAGIC) {
            return Err(RemapErrorKind::NotARemap.into());
        }
        let found = length(bytes.len());
        let Ok((header, _)) = RemapHeader::read_from_prefix(bytes) else {
            return Err(corrupt(RemapRule::FileLen, RemapPlace::Byte(0), found, HEADER_LEN));
        };
        let checked = bytes.get(..size_of::<RemapHeader>() - size_of::<U32>()).unwrap_or_default();
        let (computed, stored) = (crc(checked), header.header_checksum.get());
        if computed != stored {
            let place = RemapPlace::Byte(HEADER_LEN - 4);
            return Err(corrupt(RemapRule::HeaderChecksum, place, computed.into(), stored.into()));
        }
        let (major, minor) = (header.major.get(), header.minor.get());
        if (major, minor) != (REMAP_MAJOR, REMAP_MINOR) {
            return Err(RemapErrorKind::UnsupportedVersion { major, minor }.into());
        }
        if header.incompat.get() != 0 {
            return Err(RemapErrorKind::UnsupportedFeatures { bits: header.incompat.get() }.into());
        }
        if header.file_len.get() != found {
            return Err(corrupt(RemapRule::FileLen, RemapPlace::Byte(48), found, header.file_len.get()));
        }
        check_header(&header)?;
        Self::place(header, found)
    }

    /// Places the arrays. The file must be as long as their sum.
    fn place(header: RemapHeader, file_len: u64) -> Result<Self, RemapError> {
        let mut byte = u64::from(header.output_count.get()) * OUTPUT_LEN;
        let group_count = header.keyset_count.get().div_ceil(REMAP_GROUP_KEYSETS);
        let groups = Records::new(byte * 8, group_count, header.group_widths);
        byte = bytes_for(groups.end());
        let keysets = Records::new(byte * 8, header.keyset_count.get(), header.keyset_widths);
        byte = bytes_for(keysets.end());
        let parts = Records::new(byte * 8, header.part_count.get(), header.part_widths);
        byte = bytes_for(parts.end());
        let patterns = Records::new(byte * 8, header.pattern_count.get(), header.pattern_widths);
        byte = bytes_for(patterns.end());
        let runs = Records::new(byte * 8, header.run_count.get(), header.run_widths);
        byte = bytes_for(runs.end());
        let rows_bit = byte * 8;
        byte += bytes_for(header.row_bits.get()) + STREAM_TAIL;
        let grid = Grid { front: HEADER_LEN, end: HEADER_LEN + byte };
        let expected = grid.end + grid.chunk_count() * 4;
        refuse_if(expected != file_len, RemapRule::Length, RemapPlace::Byte(0), file_len, expected)?;
        // With this, the length of the file bounds every count but that of rows.
        let bounded =
            [groups.is_bounded(), keysets.is_bounded(), parts.is_bounded(), patterns.is_bounded(), runs.is_bounded()];
        if bounded.contains(&false) {
            return Err(corrupt_at(RemapRule::RecordWidths, RemapPlace::Byte(84)));
        }
        Ok(Self { header, groups, keysets, parts, patterns, runs, rows_bit, grid })
    }

    /// Position of the checks in the file.
    fn checks_start(&self) -> usize {
        usize::try_from(self.grid.end).unwrap_or(usize::MAX)
    }

    /// Returns all between header and checks.
    pub(super) fn body<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(size_of::<RemapHeader>()..self.checks_start()).unwrap_or_default()
    }

    /// Returns the remap with its checksums.
    pub(super) fn checked<'a>(&self, bytes: &'a [u8]) -> CheckedFile<'a> {
        let checks = bytes.get(self.checks_start()..).unwrap_or_default();
        CheckedFile {
            owner: Owner::Remap { input: self.header.input_id, job: self.header.job_id },
            bytes,
            grid: self.grid,
            checks: <[U32]>::ref_from_bytes(checks).unwrap_or_default(),
        }
    }

    /// Returns the record of the chunks of the body.
    pub(super) fn proofs<'a>(&self, bytes: &'a [u8], proofs: &'a ChunkProofs) -> SectionProofs<'a> {
        SectionProofs { file: self.checked(bytes), proofs, offset: self.grid.front, end: self.grid.end }
    }

    /// Returns the outputs at the beginning of the body.
    pub(super) fn outputs<'a>(&self, body: &'a [u8]) -> &'a [OutputEntry] {
        let count = usize::try_from(self.header.output_count.get()).unwrap_or(usize::MAX);
        <[OutputEntry]>::ref_from_prefix_with_elems(body, count).map_or(&[], |(outputs, _)| outputs)
    }

    /// Bytes of the outputs.
    pub(super) fn outputs_len(&self) -> u64 {
        u64::from(self.header.output_count.get()) * OUTPUT_LEN
    }

    /// Returns name and size of each part of the file, in order.
    pub(super) fn sizes(&self, file_len: u64) -> [(&'static str, u64); 9] {
        let ends = [
            ("header", HEADER_LEN),
            ("outputs", HEADER_LEN + self.outputs_len()),
            ("groups", HEADER_LEN + bytes_for(self.groups.end())),
            ("keysets", HEADER_LEN + bytes_for(self.keysets.end())),
            ("parts", HEADER_LEN + bytes_for(self.parts.end())),
            ("patterns", HEADER_LEN + bytes_for(self.patterns.end())),
            ("runs", HEADER_LEN + bytes_for(self.runs.end())),
            ("rows", self.grid.end),
            ("checksums", file_len),
        ];
        let mut start = 0;
        ends.map(|(name, end)| {
            let bytes = end.saturating_sub(start);
            start = end;
            (name, bytes)
        })
    }

    /// Checks all checksums but the header's, which was checked.
    ///
    /// # Errors
    /// `Corrupt` with the first wrong checksum.
    pub fn check_all(&self, bytes: &[u8]) -> Result<(), RemapError> {
        let file = self.checked(bytes);
        let computed = file.owner.checks_checksum(file.checks.as_bytes());
        let stored = self.header.checks_checksum.get();
        if computed != stored {
            let place = RemapPlace::Byte(self.grid.end);
            return Err(corrupt(RemapRule::ChecksChecksum, place, computed.into(), stored.into()));
        }
        file.check_all().map_err(damaged_chunk)
    }
}

/// Returns the error of a chunk as one of a remap.
pub(super) fn damaged_chunk(error: Error) -> RemapError {
    match *error.kind() {
        ErrorKind::Corrupt(Corruption { place: Place::Chunk(chunk), found, expected, .. }) => {
            let (rule, place) = (RemapRule::ChunkChecksum, RemapPlace::Chunk(chunk));
            RemapErrorKind::Corrupt { rule, place, found, expected }.into()
        }
        // The only other error is a field outside, which opening has ruled out.
        _ => corrupt_at(RemapRule::Length, RemapPlace::Byte(0)),
    }
}

fn check_header(header: &RemapHeader) -> Result<(), RemapError> {
    let [series_start, rows, part_start, floor] = header.group_widths;
    let [series, row_len, pattern, pattern_width, part_count] = header.keyset_widths;
    let [least_base, base_width, part_width, summed] = header.part_widths;
    let [pattern_length, run_end] = header.pattern_widths;
    let [start, part, place] = header.run_widths;
    let limits = [
        (
            MAX_CODE_WIDTH,
            &[series_start, part_start, series, row_len, pattern, part_count, pattern_length, run_end, start, part][..],
        ),
        (MAX_OFFSET_WIDTH, &[rows, floor, least_base, place]),
        (MAX_WIDTH_WIDTH, &[pattern_width, base_width, part_width]),
        (1, &[summed]),
    ];
    for (limit, widths) in limits {
        if let Some(&width) = widths.iter().find(|&&width| width > limit) {
            return Err(corrupt(RemapRule::Header, RemapPlace::Byte(84), width.into(), limit.into()));
        }
    }
    let row_bits = header.row_bits.get();
    if row_bits >> MAX_OFFSET_WIDTH > 0 {
        return Err(corrupt(RemapRule::Header, RemapPlace::Byte(76), row_bits, 1 << MAX_OFFSET_WIDTH));
    }
    if header.reserved != [0; 2] {
        let reserved = u16::from_le_bytes(header.reserved);
        return Err(corrupt(RemapRule::Header, RemapPlace::Byte(102), reserved.into(), 0));
    }
    Ok(())
}
