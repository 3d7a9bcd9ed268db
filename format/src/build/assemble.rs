//! Sections to a file with its checksums (spec, sections 3 and 4).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use crate::checksum::{checks_checksum, chunk_checksum, crc, directory_checksum};
use crate::identity::BlockId;
use crate::layout::{Header, MAGIC, MAJOR, MINOR, SectionEntry, SectionKind};
use crate::number::{length, low32};

/// A section to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionBytes {
    /// Its number in the directory.
    pub kind: u32,
    /// Tells sections of one kind apart.
    pub id: u32,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Puts sections together in the order given, with header, directory and checksums. Computes the checks section itself; where it stands
/// among `sections`, its content is ignored.
///
/// Nothing else is checked: tests assemble broken blocks too.
pub fn assemble(block_id: BlockId, features: [u32; 3], sections: &[SectionBytes]) -> Vec<u8> {
    let is_checks = |section: &SectionBytes| section.kind == SectionKind::Checks.code();
    let checks: Vec<u8> =
        sections
            .iter()
            .filter(|section| !is_checks(section))
            .flat_map(|section| {
                section.bytes.chunks(8192).zip(0..).flat_map(|(data, chunk)| {
                    chunk_checksum(block_id, section.kind, section.id, chunk, data).to_le_bytes()
                })
            })
            .collect();
    let content = |section| if is_checks(section) { &checks } else { &section.bytes };

    let mut directory = Vec::new();
    let mut end = length(size_of::<Header>() + size_of::<SectionEntry>() * sections.len());
    for section in sections {
        let length = length(content(section).len());
        let entry = SectionEntry {
            kind: U32::new(section.kind),
            id: U32::new(section.id),
            offset: U64::new(end),
            length: U64::new(length),
        };
        directory.extend_from_slice(entry.as_bytes());
        end += length;
    }

    let [incompat, ro_compat, compat] = features.map(U32::new);
    let mut header = Header {
        magic: MAGIC,
        major: U16::new(MAJOR),
        minor: U16::new(MINOR),
        incompat,
        ro_compat,
        compat,
        block_id: block_id.0,
        file_len: U64::new(end),
        section_count: U32::new(low32(length(sections.len()))),
        directory_checksum: U32::new(directory_checksum(block_id, &directory)),
        checks_checksum: U32::new(checks_checksum(block_id, &checks)),
        header_checksum: U32::new(0),
    };
    let checked = header.as_bytes().first_chunk::<60>().map_or(&[][..], |bytes| bytes);
    header.header_checksum = U32::new(crc(checked));

    let mut file = Vec::with_capacity(usize::try_from(end).unwrap_or(0));
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&directory);
    for section in sections {
        file.extend_from_slice(content(section));
    }
    file
}
