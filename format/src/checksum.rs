//! Checksums of chunks, and a record of chunks that were checked (spec, section 4).

use std::sync::atomic::{AtomicU64, Ordering};

use crc32fast::Hasher;
use zerocopy::byteorder::little_endian::U32;

use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::{CHUNK_LEN, SectionKind};
use crate::number::length;
use crate::{Corruption, Error, Result, Rule};

/// Returns the CRC-32/ISO-HDLC of `data`.
#[must_use]
pub fn crc(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// Returns the checksum of a block's directory.
#[must_use]
pub fn directory_checksum(block: BlockId, directory: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&block.0);
    hasher.update(directory);
    hasher.finalize()
}

/// Returns the checksum of chunk `chunk` of the section (`kind`, `id`).
#[must_use]
pub fn chunk_checksum(block: BlockId, kind: u32, id: u32, chunk: u64, data: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&block.0);
    hasher.update(&kind.to_le_bytes());
    hasher.update(&id.to_le_bytes());
    hasher.update(&chunk.to_le_bytes());
    hasher.update(data);
    hasher.finalize()
}

/// Returns the checksum of a block's checks section.
#[must_use]
pub fn checks_checksum(block: BlockId, checks: &[u8]) -> u32 {
    chunk_checksum(block, SectionKind::Checks.code(), 0, 0, checks)
}

/// Returns the checksum of chunk `chunk` of a remap (remap spec, section 6).
#[must_use]
pub fn remap_checksum(input: &[u8; 16], job: &[u8; 16], chunk: u64, data: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(input);
    hasher.update(job);
    hasher.update(&chunk.to_le_bytes());
    hasher.update(data);
    hasher.finalize()
}

/// Returns the number of chunks of a section of `length` bytes.
#[must_use]
pub const fn chunk_count(length: u64) -> u64 {
    length.div_ceil(CHUNK_LEN)
}

/// Owner of a checksum: it is part of the input, so that a section of another block is detected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    /// A section of a block: its kind and id.
    Section { block: BlockId, kind: u32, id: u32 },
    /// A remap: its input and job.
    Remap { input: [u8; 16], job: [u8; 16] },
}

/// A section, or all of a remap behind its header, and the checksums of its chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedSection<'a> {
    pub owner: Owner,
    pub bytes: &'a [u8],
    pub checks: &'a [U32],
}

impl CheckedSection<'_> {
    /// Checks one chunk.
    pub(crate) fn check(&self, chunk: u64) -> Result<()> {
        let outside = || self.damaged(chunk, 0, 0);
        let index = usize::try_from(chunk).map_err(|_| outside())?;
        let data = self.bytes.chunks(8192).nth(index).ok_or_else(outside)?;
        let stored = self.checks.get(index).ok_or_else(outside)?.get();
        let computed = match &self.owner {
            Owner::Section { block, kind, id } => chunk_checksum(*block, *kind, *id, chunk, data),
            Owner::Remap { input, job } => remap_checksum(input, job, chunk, data),
        };
        if stored == computed { Ok(()) } else { Err(self.damaged(chunk, computed, stored)) }
    }

    /// Checks all chunks.
    pub(crate) fn check_all(&self) -> Result<()> {
        (0..chunk_count(length(self.bytes.len()))).try_for_each(|chunk| self.check(chunk))
    }

    #[cold]
    fn damaged(&self, chunk: u64, found: u32, expected: u32) -> Error {
        Error::Corrupt(Corruption {
            rule: Rule::ChunkChecksum,
            section: match self.owner {
                Owner::Section { kind, .. } => SectionKind::from_code(kind),
                Owner::Remap { .. } => None,
            },
            place: Place::Chunk(chunk),
            found: Some(found.into()),
            expected: Some(expected.into()),
        })
    }
}

/// A record of the chunks of a block whose checksums were checked: one bit per chunk, set once.
///
/// It is shared by threads without locks. Two threads that read a chunk at once may both check it.
#[derive(Debug)]
pub struct ChunkProofs {
    words: Box<[AtomicU64]>,
}

impl ChunkProofs {
    /// Returns an empty record for a block of `block_len` bytes. It takes one bit per 8 KiB.
    #[must_use]
    pub fn new(block_len: usize) -> Self {
        // Sections add at most one chunk each to the whole chunks of the file. A chunk without a bit is checked each
        // time.
        let words = (block_len / (8192 * 64)) + 1;
        Self { words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    fn word(&self, chunk: u64) -> Option<(&AtomicU64, u64)> {
        let word = usize::try_from(chunk / 64).ok().and_then(|word| self.words.get(word))?;
        Some((word, 1 << (chunk % 64)))
    }

    fn is_proved(&self, chunk: u64) -> bool {
        // Relaxed: the bit is about immutable bytes and orders no other access.
        self.word(chunk).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn set_proved(&self, chunk: u64) {
        if let Some((word, bit)) = self.word(chunk) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

/// The record of one section's chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionProofs<'a> {
    pub section: CheckedSection<'a>,
    pub proofs: &'a ChunkProofs,
    /// Number of the section's first chunk in the block.
    pub first_chunk: u64,
}

impl SectionProofs<'_> {
    /// Checks the chunks of the `len` bytes from `start`, up to the end of the section, unless they were checked
    /// before.
    #[inline]
    pub(crate) fn touch(&self, start: u64, len: u64) -> Result<()> {
        let end = start.saturating_add(len).min(length(self.section.bytes.len()));
        let mut chunk = start / CHUNK_LEN;
        while chunk * CHUNK_LEN < end {
            if !self.proofs.is_proved(self.first_chunk + chunk) {
                self.prove(chunk)?;
            }
            chunk += 1;
        }
        Ok(())
    }

    #[cold]
    fn prove(&self, chunk: u64) -> Result<()> {
        self.section.check(chunk)?;
        self.proofs.set_proved(self.first_chunk + chunk);
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
        let block = BlockId([7; 16]);
        let right = chunk_checksum(block, 4, 0, 3, b"rows");
        assert_ne!(right, chunk_checksum(block, 4, 0, 2, b"rows"), "another chunk");
        assert_ne!(right, chunk_checksum(block, 6, 0, 3, b"rows"), "another section");
        assert_ne!(right, chunk_checksum(BlockId([8; 16]), 4, 0, 3, b"rows"), "another block");
    }

    #[test]
    fn a_chunk_is_checked_once_and_damage_stays_damage() {
        let block = BlockId([7; 16]);
        let bytes = vec![1; 10_000];
        let checks: Vec<U32> = bytes
            .chunks(8192)
            .zip(0..)
            .map(|(data, chunk)| U32::new(chunk_checksum(block, 4, 0, chunk, data)))
            .collect();
        let proofs = ChunkProofs::new(bytes.len());
        let owner = Owner::Section { block, kind: 4, id: 0 };
        let section = CheckedSection { owner, bytes: &bytes, checks: &checks };
        let right = SectionProofs { section, proofs: &proofs, first_chunk: 0 };
        assert_eq!(right.touch(100, 8), Ok(()));
        assert!(proofs.is_proved(0) && !proofs.is_proved(1));

        let mut damaged = bytes.clone();
        damaged[9_999] ^= 1;
        let section = CheckedSection { bytes: &damaged, ..section };
        let wrong = SectionProofs { section, proofs: &proofs, first_chunk: 0 };
        for _ in 0..2 {
            // The last 8 bytes of the first chunk and the first of the second.
            let error = wrong.touch(8188, 8).expect_err("the second chunk is damaged");
            assert_eq!(error.rule(), Rule::ChunkChecksum);
        }
        assert_eq!(wrong.touch(8184, 8), Ok(()), "the first chunk is not");
    }
}
