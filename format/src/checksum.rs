//! The grid of chunks, their checksums, and a record of chunks that were checked (spec, section 4).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crc32fast::Hasher;
use zerocopy::byteorder::little_endian::U32;

use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::CHUNK_LEN;
use crate::number::length;
use crate::{Corruption, Error, Result, Rule};

/// Returns the CRC-32/ISO-HDLC of `data`.
#[must_use]
pub fn crc(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// Returns the checksum of a block's directory and its first section, one after the other.
#[must_use]
pub fn front_checksum(block: BlockId, directory_and_meta: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&block.0);
    hasher.update(directory_and_meta);
    hasher.finalize()
}

/// Owner of a checksum: it is part of the input, so that a chunk of another file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A block.
    Block(BlockId),
    /// A remap: its input and job (remap spec, section 6).
    Remap {
        /// Block id of the input.
        input: [u8; 16],
        /// Id of the job.
        job: [u8; 16],
    },
}

/// Chunk number used in the checksum of the checks.
const CHECKS_NUMBER: u64 = u64::MAX;

impl Owner {
    /// Returns the checksum of chunk `chunk` of the file.
    #[must_use]
    pub fn chunk_checksum(&self, chunk: u64, data: &[u8]) -> u32 {
        let mut hasher = self.hasher();
        hasher.update(&chunk.to_le_bytes());
        hasher.update(data);
        hasher.finalize()
    }

    fn hasher(&self) -> Hasher {
        let mut hasher = Hasher::new();
        match self {
            Self::Block(id) => hasher.update(&id.0),
            Self::Remap { input, job } => {
                hasher.update(input);
                hasher.update(job);
            }
        }
        hasher
    }

    /// Returns the checksum of the checks.
    #[must_use]
    pub fn checks_checksum(&self, checks: &[u8]) -> u32 {
        self.chunk_checksum(CHECKS_NUMBER, checks)
    }
}

/// The checksum of a chunk whose owner is not known yet: the id of a block follows from all of its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenChecksum {
    crc: u32,
    len: u64,
}

impl OpenChecksum {
    /// Hashes the bytes of chunk `chunk`.
    pub(crate) fn new(chunk: u64, data: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(&chunk.to_le_bytes());
        hasher.update(data);
        Self { crc: hasher.finalize(), len: 8 + length(data.len()) }
    }

    /// Returns the checksum of the owner's chunk: the one that [`Owner::chunk_checksum`] returns.
    pub(crate) fn for_owner(self, owner: &Owner) -> u32 {
        let mut hasher = owner.hasher();
        hasher.combine(&Hasher::new_with_initial_len(self.crc, self.len));
        hasher.finalize()
    }
}

/// The grid of chunks of a file: the bytes from `front` to `end`, cut where the position in the file is a multiple of
/// [`CHUNK_LEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Position in the file behind the front, which has checksums of its own.
    pub front: u64,
    /// Position in the file at which the checks start.
    pub end: u64,
}

impl Grid {
    /// Returns the number of chunks.
    #[must_use]
    pub const fn chunk_count(self) -> u64 {
        self.end.div_ceil(CHUNK_LEN)
    }

    /// Returns the length of the checks in bytes, or `None` if it does not fit 64 bits.
    #[must_use]
    pub const fn checks_len(self) -> Option<u64> {
        self.chunk_count().checked_mul(4)
    }

    /// Returns the positions of a chunk's bytes in the file. A chunk outside the grid is empty.
    #[must_use]
    pub fn chunk(self, chunk: u64) -> Range<u64> {
        let start = chunk.saturating_mul(CHUNK_LEN).clamp(self.front, self.end.max(self.front));
        let end = chunk.saturating_add(1).saturating_mul(CHUNK_LEN).min(self.end);
        start..end.max(start)
    }
}

/// A file, its grid of chunks and their stored checksums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedFile<'a> {
    pub owner: Owner,
    pub bytes: &'a [u8],
    pub grid: Grid,
    pub checks: &'a [U32],
}

impl CheckedFile<'_> {
    /// Checks one chunk.
    pub(crate) fn check(&self, chunk: u64) -> Result<()> {
        self.expect(chunk, self.chunk(chunk)?)
    }

    /// Copies a chunk and checks the copy.
    fn copy_chunk(&self, chunk: u64) -> Result<Vec<u8>> {
        let copy = self.chunk(chunk)?.to_vec();
        self.expect(chunk, &copy)?;
        Ok(copy)
    }

    fn chunk(&self, chunk: u64) -> Result<&[u8]> {
        let Range { start, end } = self.grid.chunk(chunk);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range.and_then(|(start, end)| self.bytes.get(start..end)).ok_or_else(|| damaged(chunk, 0, 0))
    }

    /// Refuses data that are not those of the chunk.
    fn expect(&self, chunk: u64, data: &[u8]) -> Result<()> {
        let stored = usize::try_from(chunk).ok().and_then(|chunk| self.checks.get(chunk));
        let stored = stored.ok_or_else(|| damaged(chunk, 0, 0))?.get();
        let computed = self.owner.chunk_checksum(chunk, data);
        if stored == computed { Ok(()) } else { Err(damaged(chunk, computed, stored)) }
    }

    /// Copies some bytes. Checks the chunks that they lie in as they are copied.
    pub(crate) fn copy(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut copy = Vec::new();
        for number in range.start / CHUNK_LEN..range.end.div_ceil(CHUNK_LEN) {
            let chunk = self.copy_chunk(number)?;
            let first = self.grid.chunk(number).start;
            let place =
                |at: u64| usize::try_from(at.saturating_sub(first)).map_or(chunk.len(), |at| at.min(chunk.len()));
            copy.extend_from_slice(chunk.get(place(range.start)..place(range.end)).unwrap_or_default());
        }
        Ok(copy)
    }

    /// Checks the chunks that the `len` bytes from position `start` of the file lie in.
    pub(crate) fn check_range(&self, start: u64, len: u64) -> Result<()> {
        let end = start.saturating_add(len);
        if start == end { Ok(()) } else { (start / CHUNK_LEN..end.div_ceil(CHUNK_LEN)).try_for_each(|n| self.check(n)) }
    }

    /// Checks all chunks.
    pub(crate) fn check_all(&self) -> Result<()> {
        (0..self.grid.chunk_count()).try_for_each(|chunk| self.check(chunk))
    }
}

#[cold]
fn damaged(chunk: u64, found: u32, expected: u32) -> Error {
    let corruption = Corruption::new(Rule::ChunkChecksum, Place::Chunk(chunk));
    Corruption { section: None, found: Some(found.into()), expected: Some(expected.into()), ..corruption }.into()
}

/// A record of the chunks of a block or remap whose checksums were checked: one byte per chunk, set once.
///
/// It is shared by threads without locks. Two threads that read a chunk at once may both check it.
#[derive(Debug)]
pub struct ChunkProofs {
    is_proved: Box<[AtomicBool]>,
}

impl ChunkProofs {
    /// Returns an empty record for a block of `block_len` bytes. It takes one byte per 8 KiB: a bit would need two more
    /// instructions, at each read.
    #[must_use]
    pub fn new(block_len: usize) -> Self {
        // A chunk that is not recorded is checked each time.
        Self { is_proved: (0..=block_len / 8192).map(|_| AtomicBool::new(false)).collect() }
    }

    #[inline(always)]
    fn is_proved(&self, chunk: u64) -> bool {
        let is_proved = usize::try_from(chunk).ok().and_then(|chunk| self.is_proved.get(chunk));
        // Relaxed: the record is about immutable bytes and orders no other access.
        is_proved.is_some_and(|is_proved| is_proved.load(Ordering::Relaxed))
    }

    #[inline(never)]
    fn are_proved(&self, first: u64, last: u64) -> bool {
        (first..=last).all(|chunk| self.is_proved(chunk))
    }

    fn set_proved(&self, chunk: u64) {
        if let Some(is_proved) = usize::try_from(chunk).ok().and_then(|chunk| self.is_proved.get(chunk)) {
            is_proved.store(true, Ordering::Relaxed);
        }
    }
}

/// The record of the chunks that one section, or another part of a file, lies in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionProofs<'a> {
    pub file: CheckedFile<'a>,
    pub proofs: &'a ChunkProofs,
    /// Position of the section in the file.
    pub offset: u64,
    /// Position in the file behind the section.
    pub end: u64,
}

impl SectionProofs<'_> {
    /// Checks the chunks of the `len` bytes from byte `start` of the section, up to its end, unless they were checked
    /// before.
    #[inline]
    pub(crate) fn touch(&self, start: u64, len: u64) -> Result<()> {
        if self.is_proved(start, len) {
            return Ok(());
        }
        // Does not wrap: callers have these bytes at hand. If it did, other chunks would be checked.
        let start = self.offset.wrapping_add(start);
        self.prove_range(start, start.wrapping_add(len).min(self.end))
    }

    /// Returns true if the chunks of the `len` bytes from byte `start` of the section were checked before.
    #[inline(always)]
    pub(crate) fn is_proved(&self, start: u64, len: u64) -> bool {
        let first = self.offset.wrapping_add(start);
        let (first, last) = (first / CHUNK_LEN, first.wrapping_add(len).wrapping_sub(1) / CHUNK_LEN);
        // Almost all reads are of a few bytes of one chunk.
        self.proofs.is_proved(first) && (first == last || self.proofs.are_proved(first, last))
    }

    /// Checks the chunks from byte `start` of the file to before byte `end`, unless they were checked before.
    #[inline(never)]
    fn prove_range(&self, start: u64, end: u64) -> Result<()> {
        let mut chunk = start / CHUNK_LEN;
        while chunk * CHUNK_LEN < end {
            if !self.proofs.is_proved(chunk) {
                self.prove(chunk)?;
            }
            chunk += 1;
        }
        Ok(())
    }

    #[cold]
    fn prove(&self, chunk: u64) -> Result<()> {
        self.file.check(chunk)?;
        self.proofs.set_proved(chunk);
        Ok(())
    }
}

/// Returns an error if a checksum differs from the stored one.
pub(crate) fn expect_checksum(rule: Rule, place: Place, computed: u32, stored: u32) -> Result<()> {
    if computed == stored { Ok(()) } else { Err(corrupt(rule, place, computed.into(), stored.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_has_the_check_value_of_iso_hdlc() {
        assert_eq!(crc(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_chunk_that_strayed_is_refused() {
        let block = Owner::Block(BlockId([7; 16]));
        let right = block.chunk_checksum(3, b"rows");
        assert_ne!(right, block.chunk_checksum(2, b"rows"), "another chunk");
        assert_ne!(right, Owner::Block(BlockId([8; 16])).chunk_checksum(3, b"rows"), "another block");
        let remap = |input, job| Owner::Remap { input: [input; 16], job: [job; 16] }.chunk_checksum(3, b"rows");
        assert_ne!(right, remap(7, 0), "another kind of file");
        assert_ne!(remap(7, 0), remap(7, 1), "another job");
        assert_eq!(OpenChecksum::new(3, b"rows").for_owner(&block), right, "the owner may come last");
        assert_eq!(OpenChecksum::new(9, b"").for_owner(&block), block.chunk_checksum(9, b""));
    }

    #[test]
    fn chunks_are_cut_by_position_and_leave_out_the_front() {
        let grid = Grid { front: 100, end: 20_000 };
        assert_eq!((grid.chunk_count(), grid.checks_len()), (3, Some(12)));
        assert_eq!([0, 1, 2].map(|chunk| grid.chunk(chunk)), [100..8192, 8192..16_384, 16_384..20_000]);
        assert!([3, u64::MAX].map(|chunk| grid.chunk(chunk)).iter().all(Range::is_empty));
        // A directory longer than a chunk.
        let grid = Grid { front: 9_000, end: 9_001 };
        assert_eq!(grid.chunk_count(), 2);
        assert!(grid.chunk(0).is_empty());
        assert_eq!(grid.chunk(1), 9_000..9_001);
        // A whole number of chunks.
        assert_eq!(Grid { front: 64, end: 16_384 }.chunk_count(), 2);
        assert_eq!(Grid { front: 0, end: u64::MAX }.checks_len(), Some(1 << 53));
    }

    #[test]
    fn a_chunk_is_checked_once_and_damage_stays_damage() {
        let owner = Owner::Block(BlockId([7; 16]));
        let bytes = vec![1; 10_000];
        let grid = Grid { front: 64, end: 10_000 };
        let checks = [(0, 64..8192), (1, 8192..10_000)];
        let checks = checks.map(|(chunk, range)| U32::new(owner.chunk_checksum(chunk, &bytes[range])));
        let proofs = ChunkProofs::new(bytes.len());
        let file = CheckedFile { owner, bytes: &bytes, grid, checks: &checks };
        // A section of the bytes from 1,000 on.
        let right = SectionProofs { file, proofs: &proofs, offset: 1_000, end: 10_000 };
        assert_eq!(right.touch(100, 8), Ok(()));
        assert!(proofs.is_proved(0) && !proofs.is_proved(1));

        let mut damaged = bytes.clone();
        damaged[9_999] ^= 1;
        let file = CheckedFile { bytes: &damaged, ..file };
        let wrong = SectionProofs { file, ..right };
        for _ in 0..2 {
            // The last 4 bytes of the first chunk and the first 4 of the second.
            let error = wrong.touch(7_188, 8).expect_err("the second chunk is damaged");
            assert_eq!(error.rule(), Rule::ChunkChecksum);
        }
        assert_eq!(wrong.touch(7_184, 8), Ok(()), "the first chunk is not");
        let shorter = SectionProofs { end: 8_192, ..wrong };
        assert_eq!(shorter.touch(7_188, 8), Ok(()), "the second chunk is behind the section");
    }
}
