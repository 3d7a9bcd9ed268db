//! Sections that are there already to a file.

use std::io::Cursor;

use super::file::{FileOutline, SectionOutline};
use crate::identity::BlockId;
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

/// Concatenates sections in the given order, with header, directory and checksums. The checks section is computed: its
/// content in `sections` is ignored.
///
/// Nothing else is checked: tests assemble broken blocks too.
#[must_use]
pub fn assemble(block_id: BlockId, features: [u32; 3], sections: &[SectionBytes]) -> Vec<u8> {
    let outline = |section: &SectionBytes| SectionOutline {
        kind: section.kind,
        id: section.id,
        len: length(section.bytes.len()),
    };
    let file = FileOutline::new(block_id, features, sections.iter().map(outline).collect());
    let mut out = Cursor::new(Vec::new());
    let written = file
        .write(&mut out, |number, writer| sections.get(number).map_or(Ok(()), |section| writer.write(&section.bytes)));
    debug_assert!(written.is_ok(), "memory takes what it is given");
    out.into_inner()
}
