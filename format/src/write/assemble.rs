//! Sections that are there already to a file.

use std::io::Cursor;

use super::file::{FileOutline, SectionOutline, version_and_features};
use crate::identity::{BlockId, BlockIdHasher};
use crate::layout::{OPTIONAL_KINDS, SectionKind};
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

/// Concatenates sections in the given order, with header, directory and checksums.
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

/// Returns the id that belongs to these features and sections (spec, section 11). `time_start` is in nanoseconds since
/// 1970; a section that is absent counts as empty.
#[must_use]
pub fn derive_id(features: [u32; 3], sections: &[SectionBytes], time_start: Option<i64>) -> BlockId {
    let required = |kind: SectionKind| {
        sections.iter().find(|section| section.kind == kind.code()).map_or(&[][..], |section| &section.bytes)
    };
    let words = version_and_features(features);
    let mut hasher = BlockIdHasher::new(words, required(SectionKind::Meta), required(SectionKind::Catalogue));
    for section in sections.iter().filter(|section| section.kind >= OPTIONAL_KINDS) {
        hasher.add_optional(section.kind, section.id, &section.bytes);
    }
    hasher.finish(time_start)
}
