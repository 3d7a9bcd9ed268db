//! Writes sections and their checksums to a file, in order (spec, sections 3 and 4).

use std::io::{self, Seek, SeekFrom, Write};

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use crate::checksum::{Grid, Owner, crc, directory_checksum};
use crate::identity::BlockId;
use crate::layout::{CHUNK_LEN, Header, MAGIC, MAJOR, MINOR, SectionEntry, SectionKind};
use crate::number::{length, low32};

/// A section that will be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionOutline {
    pub kind: u32,
    pub id: u32,
    /// Bytes of the section.
    pub len: u64,
}

/// Returns bytes 8 to 23 of the header: the version and the feature words.
pub(super) fn version_and_features(features: [u32; 3]) -> [u8; 16] {
    let version = u32::from(MAJOR) | (u32::from(MINOR) << 16);
    let [incompat, ro_compat, compat] = features;
    let mut bytes = [0; 16];
    for (place, word) in bytes.chunks_exact_mut(4).zip([version, incompat, ro_compat, compat]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Header and directory of a file whose section lengths are known.
#[derive(Debug)]
pub(super) struct FileOutline {
    pub block_id: BlockId,
    pub features: [u32; 3],
    sections: Vec<SectionOutline>,
}

impl FileOutline {
    /// Returns a file with these sections, in this order. Nothing is checked: tests make broken blocks too.
    pub(super) const fn new(block_id: BlockId, features: [u32; 3], sections: Vec<SectionOutline>) -> Self {
        Self { block_id, features, sections }
    }

    /// Returns the grid of chunks.
    fn grid(&self) -> Grid {
        let front = length(size_of::<Header>() + size_of::<SectionEntry>() * self.sections.len());
        Grid { front, end: front + self.sections.iter().map(|section| section.len).sum::<u64>() }
    }

    /// Bytes of the whole file.
    pub(super) fn byte_len(&self) -> u64 {
        let grid = self.grid();
        grid.end + 4 * grid.chunk_count()
    }

    fn directory(&self) -> Vec<u8> {
        let mut directory = Vec::new();
        let mut offset = self.grid().front;
        for section in &self.sections {
            let entry = SectionEntry {
                kind: U32::new(section.kind),
                id: U32::new(section.id),
                offset: U64::new(offset),
                length: U64::new(section.len),
            };
            directory.extend_from_slice(entry.as_bytes());
            offset += section.len;
        }
        directory
    }

    /// Writes the file: `content` writes each section in turn, all its bytes.
    pub(super) fn write<W: Write + Seek>(
        &self,
        out: &mut W,
        mut content: impl FnMut(usize, &mut SectionWriter<'_, '_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let directory = self.directory();
        out.write_all(&[0; size_of::<Header>()])?;
        out.write_all(&directory)?;
        let mut chunks = ChunkWriter::new(out, Owner::Block(self.block_id), self.grid().front);
        for (number, section) in self.sections.iter().enumerate() {
            let mut writer = SectionWriter { chunks: &mut chunks, section, written: 0 };
            content(number, &mut writer)?;
            writer.finish()?;
        }
        let checks = chunks.finish()?;
        out.write_all(&checks)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&self.header(&directory, &checks))?;
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Returns the header, which is known last.
    fn header(&self, directory: &[u8], checks: &[u8]) -> Vec<u8> {
        let [incompat, ro_compat, compat] = self.features.map(U32::new);
        let mut header = Header {
            magic: MAGIC,
            major: U16::new(MAJOR),
            minor: U16::new(MINOR),
            incompat,
            ro_compat,
            compat,
            block_id: self.block_id.0,
            file_len: U64::new(self.byte_len()),
            section_count: U32::new(low32(length(self.sections.len()))),
            directory_checksum: U32::new(directory_checksum(self.block_id, directory)),
            checks_checksum: U32::new(Owner::Block(self.block_id).checks_checksum(checks)),
            header_checksum: U32::new(0),
        };
        let checked = header.as_bytes().first_chunk::<60>().map_or(&[][..], |bytes| bytes);
        header.header_checksum = U32::new(crc(checked));
        header.as_bytes().to_vec()
    }
}

/// Writes the sections of a file, and computes the checksum of each chunk of its grid.
struct ChunkWriter<'a, W> {
    out: &'a mut W,
    owner: Owner,
    checks: Vec<u8>,
    /// Position in the file behind all written bytes.
    position: u64,
    /// Bytes of the current chunk that were not written yet.
    pending: Vec<u8>,
}

impl<'a, W: Write> ChunkWriter<'a, W> {
    /// Begins behind the directory, at position `front`.
    fn new(out: &'a mut W, owner: Owner, front: u64) -> Self {
        let mut checks = Vec::new();
        // Chunks that the directory fills.
        for chunk in 0..front / CHUNK_LEN {
            checks.extend_from_slice(&owner.chunk_checksum(chunk, &[]).to_le_bytes());
        }
        Self { out, owner, checks, position: front, pending: Vec::new() }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let pending = length(self.pending.len());
            // Bytes up to the next boundary of the grid, at most a chunk.
            let room = usize::try_from(CHUNK_LEN - self.position % CHUNK_LEN - pending).unwrap_or(usize::MAX);
            let Some((now, later)) = bytes.split_at_checked(room) else {
                self.pending.extend_from_slice(bytes);
                return Ok(());
            };
            if self.pending.is_empty() {
                self.put(now)?;
            } else {
                self.pending.extend_from_slice(now);
                let chunk = std::mem::take(&mut self.pending);
                self.put(&chunk)?;
            }
            bytes = later;
        }
    }

    /// Writes the rest of a chunk.
    fn put(&mut self, rest: &[u8]) -> io::Result<()> {
        let checksum = self.owner.chunk_checksum(self.position / CHUNK_LEN, rest);
        self.checks.extend_from_slice(&checksum.to_le_bytes());
        self.position += length(rest.len());
        self.out.write_all(rest)
    }

    /// Writes the last chunk, and returns the checks.
    fn finish(mut self) -> io::Result<Vec<u8>> {
        let last = std::mem::take(&mut self.pending);
        // A directory that ends inside a chunk, and no bytes after it, leave an empty chunk.
        if !last.is_empty() || length(self.checks.len() / 4) < self.position.div_ceil(CHUNK_LEN) {
            self.put(&last)?;
        }
        Ok(self.checks)
    }
}

/// Writes the bytes of one section.
pub(super) struct SectionWriter<'a, 'out, W> {
    chunks: &'a mut ChunkWriter<'out, W>,
    section: &'a SectionOutline,
    written: u64,
}

impl<W: Write> SectionWriter<'_, '_, W> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += length(bytes.len());
        self.chunks.write(bytes)
    }

    fn finish(self) -> io::Result<()> {
        let Self { written, section, .. } = self;
        if written != section.len {
            let name = SectionKind::from_code(section.kind).map_or("a section", SectionKind::name);
            return Err(io::Error::other(format!("{name} has {written} bytes, and was to have {}", section.len)));
        }
        Ok(())
    }
}
