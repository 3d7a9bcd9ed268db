//! Where the arrays of a remap are: what is checked when it is opened.

use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::U32;

use super::error::corrupt;
use super::layout::{OutputEntry, REMAP_MAGIC, REMAP_MAJOR, REMAP_MINOR, RemapHeader};
use super::{RemapError, RemapPlace, RemapRule};
use crate::bits::bytes_for;
use crate::checksum::{crc, remap_checksum};
use crate::layout::{CHUNK_LEN, MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, STREAM_TAIL};
use crate::number::length;
use crate::view::Records;

/// Bits of `group_width` and `width` are numbers up to 48, and so is `pattern_width`.
const MAX_WIDTH_WIDTH: u8 = 6;
/// Number of the place whose checksum is that of the checksums.
pub(super) const CHECKS_PLACE: u64 = u64::MAX;

/// Places in a remap that was opened. All of them lie in its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub header: RemapHeader,
    pub keysets: Records<7>,
    pub parts: Records<3>,
    pub patterns: Records<2>,
    pub runs: Records<3>,
    /// First bit of the rows, counted from the first byte of the records.
    pub rows_bit: u64,
    /// First byte of the checksums.
    pub checks_start: u64,
}

/// The bytes of the header.
pub(super) const HEADER_LEN: u64 = length(size_of::<RemapHeader>());
const OUTPUT_LEN: u64 = length(size_of::<OutputEntry>());

impl Frame {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RemapError> {
        if !bytes.starts_with(&REMAP_MAGIC) {
            return Err(RemapError::NotARemap);
        }
        let found = length(bytes.len());
        let Ok((header, _)) = RemapHeader::read_from_prefix(bytes) else {
            return Err(corrupt(RemapRule::FileLen, RemapPlace::Byte(0), found, HEADER_LEN));
        };
        let (major, minor) = (header.major.get(), header.minor.get());
        if (major, minor) != (REMAP_MAJOR, REMAP_MINOR) {
            return Err(RemapError::UnsupportedVersion { major, minor });
        }
        let checked = bytes.get(..size_of::<RemapHeader>() - size_of::<U32>()).unwrap_or_default();
        let (computed, stored) = (crc(checked), header.header_checksum.get());
        if computed != stored {
            let place = RemapPlace::Byte(HEADER_LEN - 4);
            return Err(corrupt(RemapRule::HeaderChecksum, place, computed.into(), stored.into()));
        }
        if header.file_len.get() != found {
            return Err(corrupt(RemapRule::FileLen, RemapPlace::Byte(48), found, header.file_len.get()));
        }
        check_header(&header)?;
        Self::place(header, found)
    }

    /// Places the arrays; the file must be as long as they are.
    fn place(header: RemapHeader, file_len: u64) -> Result<Self, RemapError> {
        let mut byte = 0;
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
        let body = u64::from(header.output_count.get()) * OUTPUT_LEN + byte;
        let checks_start = HEADER_LEN + body;
        let expected = checks_start + body.div_ceil(CHUNK_LEN) * 4;
        if expected != file_len {
            return Err(corrupt(RemapRule::Length, RemapPlace::Byte(0), file_len, expected));
        }
        // With this the length of the file bounds every count but that of rows.
        let bounded = [keysets.is_bounded(), parts.is_bounded(), patterns.is_bounded(), runs.is_bounded()];
        if bounded.contains(&false) {
            return Err(corrupt(RemapRule::RecordWidths, RemapPlace::Byte(80), 0, 1));
        }
        Ok(Self { header, keysets, parts, patterns, runs, rows_bit, checks_start })
    }

    /// The outputs, and the arrays after them.
    pub(super) fn split<'a>(&self, bytes: &'a [u8]) -> (&'a [OutputEntry], &'a [u8]) {
        let end = usize::try_from(self.checks_start).unwrap_or(usize::MAX);
        let body = bytes.get(size_of::<RemapHeader>()..end).unwrap_or_default();
        let count = usize::try_from(self.header.output_count.get()).unwrap_or(usize::MAX);
        <[OutputEntry]>::ref_from_prefix_with_elems(body, count).unwrap_or((&[], &[]))
    }

    /// Checks all checksums but the header's, which was checked.
    pub(super) fn check_all(&self, bytes: &[u8]) -> Result<(), RemapError> {
        let end = usize::try_from(self.checks_start).unwrap_or(usize::MAX);
        let body = bytes.get(size_of::<RemapHeader>()..end).unwrap_or_default();
        let checks = bytes.get(end..).unwrap_or_default();
        let (input, job) = (&self.header.input_id, &self.header.job_id);
        let (computed, stored) = (remap_checksum(input, job, CHECKS_PLACE, checks), self.header.checks_checksum.get());
        if computed != stored {
            let place = RemapPlace::Byte(self.checks_start);
            return Err(corrupt(RemapRule::ChecksChecksum, place, computed.into(), stored.into()));
        }
        let checks = <[U32]>::ref_from_bytes(checks).unwrap_or_default();
        for ((chunk, stored), number) in body.chunks(8192).zip(checks).zip(0..) {
            let computed = remap_checksum(input, job, number, chunk);
            if computed != stored.get() {
                let place = RemapPlace::Chunk(number);
                return Err(corrupt(RemapRule::ChunkChecksum, place, computed.into(), stored.get().into()));
            }
        }
        Ok(())
    }
}

fn check_header(header: &RemapHeader) -> Result<(), RemapError> {
    let [series_end, row_count, row_len, part_end, pattern, pattern_width, rows] = header.keyset_widths;
    let [first, group_width, part_width] = header.part_widths;
    let [pattern_length, run_end] = header.pattern_widths;
    let [start, part, place] = header.run_widths;
    let limits = [
        (
            MAX_CODE_WIDTH,
            &[series_end, row_count, row_len, part_end, pattern, pattern_length, run_end, start, part][..],
        ),
        (MAX_OFFSET_WIDTH, &[rows, first, place]),
        (MAX_WIDTH_WIDTH, &[pattern_width, group_width, part_width]),
    ];
    for (limit, widths) in limits {
        if let Some(&width) = widths.iter().find(|&&width| width > limit) {
            return Err(corrupt(RemapRule::Header, RemapPlace::Byte(80), width.into(), limit.into()));
        }
    }
    let row_bits = header.row_bits.get();
    if row_bits >> MAX_OFFSET_WIDTH > 0 {
        return Err(corrupt(RemapRule::Header, RemapPlace::Byte(72), row_bits, 1 << MAX_OFFSET_WIDTH));
    }
    if header.reserved != 0 {
        return Err(corrupt(RemapRule::Header, RemapPlace::Byte(95), header.reserved.into(), 0));
    }
    Ok(())
}
