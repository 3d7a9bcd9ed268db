//! Writes sections and their checksums to a file, in order, and derives its id from them (spec, sections 3, 4 and 11).

use std::io::{self, Seek, SeekFrom, Write};

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use crate::checksum::{Grid, OpenChecksum, Owner, crc, front_checksum};
use crate::identity::{BlockId, BlockIdHasher, SectionHasher};
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
    pub features: [u32; 3],
    /// First time of the data, which the id begins with.
    time_start: Option<i64>,
    /// The first section, which stands under the checksum of the front.
    first: Vec<u8>,
    /// The other sections.
    sections: Vec<SectionOutline>,
}

impl FileOutline {
    /// Returns a file with these sections, in this order. Nothing is checked: tests make broken blocks too.
    pub(super) const fn new(
        features: [u32; 3],
        time_start: Option<i64>,
        first: Vec<u8>,
        sections: Vec<SectionOutline>,
    ) -> Self {
        Self { features, time_start, first, sections }
    }

    /// Adds a section at a place that is not the first.
    pub(super) fn insert(&mut self, place: usize, section: SectionOutline) {
        self.sections.insert(place, section);
    }

    /// Returns the grid of chunks.
    fn grid(&self) -> Grid {
        let directory = size_of::<SectionEntry>() * self.sections.len();
        let first = self.sections.first().map_or(0, |section| section.len);
        let directory_end = length(size_of::<Header>() + directory);
        let len = self.sections.iter().map(|section| section.len).sum::<u64>();
        Grid { front: directory_end + first, end: directory_end + len }
    }

    /// Bytes of the whole file.
    pub(super) fn byte_len(&self) -> u64 {
        let grid = self.grid();
        grid.end + 4 * grid.chunk_count()
    }

    /// Returns the directory and the first section.
    fn front(&self) -> Vec<u8> {
        let mut front = Vec::new();
        let mut offset = length(size_of::<Header>() + size_of::<SectionEntry>() * self.sections.len());
        for section in &self.sections {
            let entry = SectionEntry {
                kind: U32::new(section.kind),
                id: U32::new(section.id),
                offset: U64::new(offset),
                length: U64::new(section.len),
            };
            front.extend_from_slice(entry.as_bytes());
            offset += section.len;
        }
        front.extend_from_slice(&self.first);
        front
    }

    /// Writes the file: `content` writes each section after the first in turn, all its bytes. Returns the block id:
    /// `id`, or the one that the sections give.
    pub(super) fn write<W: Write + Seek>(
        &self,
        id: Option<BlockId>,
        out: &mut W,
        mut content: impl FnMut(usize, &mut SectionWriter<'_, '_, W>) -> io::Result<()>,
    ) -> io::Result<BlockId> {
        let front = self.front();
        out.write_all(&[0; size_of::<Header>()])?;
        out.write_all(&front)?;
        let mut hasher = BlockIdHasher::new(version_and_features(self.features));
        let mut chunks = ChunkWriter::new(out, self.grid().front);
        for (number, section) in self.sections.iter().enumerate() {
            let mut writer = SectionWriter { chunks: &mut chunks, section, hasher: SectionHasher::default() };
            match number {
                0 => writer.hasher.update(&self.first),
                _ => content(number, &mut writer)?,
            }
            hasher.add(section.kind, section.id, &writer.finish()?);
        }
        let id = id.unwrap_or_else(|| hasher.finish(self.time_start));
        let owner = Owner::Block(id);
        let checks: Vec<u8> = chunks.finish()?.iter().flat_map(|chunk| chunk.for_owner(&owner).to_le_bytes()).collect();
        out.write_all(&checks)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&self.header(id, &front, &checks))?;
        out.seek(SeekFrom::End(0))?;
        Ok(id)
    }

    /// Returns the header, which is known last.
    fn header(&self, id: BlockId, front: &[u8], checks: &[u8]) -> Vec<u8> {
        let [incompat, ro_compat, compat] = self.features.map(U32::new);
        let mut header = Header {
            magic: MAGIC,
            major: U16::new(MAJOR),
            minor: U16::new(MINOR),
            incompat,
            ro_compat,
            compat,
            block_id: id.0,
            file_len: U64::new(self.byte_len()),
            section_count: U32::new(low32(length(self.sections.len()))),
            front_checksum: U32::new(front_checksum(id, front)),
            checks_checksum: U32::new(Owner::Block(id).checks_checksum(checks)),
            header_checksum: U32::new(0),
        };
        let checked = header.as_bytes().first_chunk::<60>().map_or(&[][..], |bytes| bytes);
        header.header_checksum = U32::new(crc(checked));
        header.as_bytes().to_vec()
    }
}

/// Writes the sections of a file, and hashes each chunk of its grid. The id of the block, which the checksums begin
/// with, is known when all sections are written.
struct ChunkWriter<'a, W> {
    out: &'a mut W,
    chunks: Vec<OpenChecksum>,
    /// Position in the file behind all written bytes.
    position: u64,
    /// Bytes of the current chunk that were not written yet.
    pending: Vec<u8>,
}

impl<'a, W: Write> ChunkWriter<'a, W> {
    /// Begins behind the front, which ends at position `front`.
    fn new(out: &'a mut W, front: u64) -> Self {
        // Chunks that the front fills.
        let chunks = (0..front / CHUNK_LEN).map(|chunk| OpenChecksum::new(chunk, &[])).collect();
        Self { out, chunks, position: front, pending: Vec::new() }
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
        self.chunks.push(OpenChecksum::new(self.position / CHUNK_LEN, rest));
        self.position += length(rest.len());
        self.out.write_all(rest)
    }

    /// Writes the last chunk, and returns the checksums of all.
    fn finish(mut self) -> io::Result<Vec<OpenChecksum>> {
        let last = std::mem::take(&mut self.pending);
        // A front that ends inside a chunk, and no bytes after it, leave an empty chunk.
        if !last.is_empty() || length(self.chunks.len()) < self.position.div_ceil(CHUNK_LEN) {
            self.put(&last)?;
        }
        Ok(self.chunks)
    }
}

/// Writes the bytes of one section.
pub(super) struct SectionWriter<'a, 'out, W> {
    chunks: &'a mut ChunkWriter<'out, W>,
    section: &'a SectionOutline,
    hasher: SectionHasher,
}

impl<W: Write> SectionWriter<'_, '_, W> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.chunks.write(bytes)
    }

    fn finish(self) -> io::Result<SectionHasher> {
        let Self { hasher, section, .. } = self;
        let written = hasher.byte_len();
        if written != section.len {
            let name = SectionKind::from_code(section.kind).map_or("a section", SectionKind::name);
            return Err(io::Error::other(format!("{name} has {written} bytes, and was to have {}", section.len)));
        }
        Ok(hasher)
    }
}
