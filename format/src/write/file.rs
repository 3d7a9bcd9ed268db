//! Writes sections and their checksums to a file, in order (spec, sections 3 and 4).

use std::io::{self, Seek, SeekFrom, Write};

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use crate::checksum::{checks_checksum, chunk_checksum, chunk_count, crc, directory_checksum};
use crate::identity::BlockId;
use crate::layout::{Header, MAGIC, MAJOR, MINOR, SectionEntry, SectionKind};
use crate::number::{length, low32};

/// Bytes under one checksum.
const CHUNK: usize = 8192;

/// A section that will be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionOutline {
    pub kind: u32,
    pub id: u32,
    /// Bytes of the section. The content of the checks section is ignored; its length counts.
    pub len: u64,
}

impl SectionOutline {
    fn is_checks(&self) -> bool {
        self.kind == SectionKind::Checks.code()
    }
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
    pub(super) fn new(block_id: BlockId, features: [u32; 3], mut sections: Vec<SectionOutline>) -> Self {
        let chunks: u64 =
            sections.iter().filter(|section| !section.is_checks()).map(|section| chunk_count(section.len)).sum();
        for section in &mut sections {
            if section.is_checks() {
                section.len = 4 * chunks;
            }
        }
        Self { block_id, features, sections }
    }

    /// Bytes of the whole file.
    pub(super) fn byte_len(&self) -> u64 {
        let front = length(size_of::<Header>() + size_of::<SectionEntry>() * self.sections.len());
        front + self.sections.iter().map(|section| section.len).sum::<u64>()
    }

    fn directory(&self) -> Vec<u8> {
        let mut directory = Vec::new();
        let mut offset = length(size_of::<Header>() + size_of::<SectionEntry>() * self.sections.len());
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

    /// Writes the file: `content` writes each section in turn, all its bytes, but the checks.
    pub(super) fn write<W: Write + Seek>(
        &self,
        out: &mut W,
        mut content: impl FnMut(usize, &mut SectionWriter<'_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let directory = self.directory();
        out.write_all(&[0; size_of::<Header>()])?;
        out.write_all(&directory)?;
        // Sections may come after the checks that these hold the checksums of.
        let (mut checks, mut checks_at) = (Vec::new(), None);
        let mut offset = length(size_of::<Header>() + directory.len());
        for (number, section) in self.sections.iter().enumerate() {
            if section.is_checks() {
                checks_at = Some(offset);
                out.seek(SeekFrom::Current(i64::try_from(section.len).map_err(io::Error::other)?))?;
            } else {
                let mut writer = SectionWriter {
                    out: &mut *out,
                    block_id: self.block_id,
                    section,
                    checks: &mut checks,
                    chunk: Vec::new(),
                    chunks: 0,
                };
                content(number, &mut writer)?;
                writer.finish()?;
            }
            offset += section.len;
        }
        if let Some(offset) = checks_at {
            out.seek(SeekFrom::Start(offset))?;
            out.write_all(&checks)?;
        }
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
            checks_checksum: U32::new(checks_checksum(self.block_id, checks)),
            header_checksum: U32::new(0),
        };
        let checked = header.as_bytes().first_chunk::<60>().map_or(&[][..], |bytes| bytes);
        header.header_checksum = U32::new(crc(checked));
        header.as_bytes().to_vec()
    }
}

/// Writes the bytes of one section and computes their checksums.
pub(super) struct SectionWriter<'a, W> {
    out: &'a mut W,
    block_id: BlockId,
    section: &'a SectionOutline,
    checks: &'a mut Vec<u8>,
    /// Bytes that were not written yet, less than a chunk.
    chunk: Vec<u8>,
    chunks: u64,
}

impl<W: Write> SectionWriter<'_, W> {
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.chunk.len() + bytes.len() >= CHUNK {
            let (now, later) = bytes.split_at(CHUNK - self.chunk.len());
            if self.chunk.is_empty() {
                self.put(now)?;
            } else {
                self.chunk.extend_from_slice(now);
                let chunk = std::mem::take(&mut self.chunk);
                self.put(&chunk)?;
            }
            bytes = later;
        }
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    fn put(&mut self, chunk: &[u8]) -> io::Result<()> {
        let checksum = chunk_checksum(self.block_id, self.section.kind, self.section.id, self.chunks, chunk);
        self.checks.extend_from_slice(&checksum.to_le_bytes());
        self.chunks += 1;
        self.out.write_all(chunk)
    }

    fn finish(mut self) -> io::Result<()> {
        let written = self.chunks * length(CHUNK) + length(self.chunk.len());
        if written != self.section.len {
            let section = SectionKind::from_code(self.section.kind).map_or("a section", SectionKind::name);
            return Err(io::Error::other(format!(
                "{section} has {written} bytes, and was to have {}",
                self.section.len
            )));
        }
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.put(&chunk)
    }
}
