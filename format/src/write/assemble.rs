//! Sections that are there already to a file.

use std::io::Cursor;

use super::file::{FileOutline, SectionOutline, SectionWriter};
use crate::identity::BlockId;
use crate::layout::SectionKind;
use crate::number::length;

/// A section to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionBytes {
    /// Number in the directory.
    pub kind: u32,
    /// Tells sections of one kind apart.
    pub id: u32,
    /// Content.
    pub bytes: Vec<u8>,
}

impl SectionBytes {
    /// Returns the section of a kind that this crate knows.
    #[must_use]
    pub const fn new(kind: SectionKind, bytes: Vec<u8>) -> Self {
        Self { kind: kind.code(), id: 0, bytes }
    }
}

/// Concatenates sections in the given order, with header, directory and checksums. Without a block id the file gets the
/// one that belongs to its features and sections (spec, section 11), with this first time of the data.
///
/// Nothing else is checked: tests assemble broken blocks too.
#[must_use]
pub fn assemble(
    block_id: Option<BlockId>,
    features: [u32; 3],
    time_start: Option<i64>,
    sections: &[SectionBytes],
) -> Vec<u8> {
    let outline = |section: &SectionBytes| SectionOutline {
        kind: section.kind,
        id: section.id,
        len: length(section.bytes.len()),
    };
    let first = sections.first().map(|section| section.bytes.clone()).unwrap_or_default();
    let file = FileOutline::new(features, time_start, first, sections.iter().map(outline).collect());
    let mut out = Cursor::new(Vec::new());
    let content = |number: usize, writer: &mut SectionWriter<'_, '_, Cursor<Vec<u8>>>| {
        sections.get(number).map_or(Ok(()), |section| writer.write(&section.bytes))
    };
    let written = file.write(block_id, &mut out, content);
    debug_assert!(written.is_ok(), "memory takes what it is given");
    out.into_inner()
}
