//! [`Packed`]: the packed sections of an archive, their lengths and their decoding.

use std::fmt;

use zerocopy::FromBytes;

use super::{decode, frame};
use crate::error::{Place, corrupt};
use crate::layout::{FREE_PACKED_LEN, MAX_PACKED_LEN, MAX_PACKED_RATIO, PackedHeader, SectionKind};
use crate::number::length;
use crate::{ErrorKind, Result, Rule};

/// The packed sections of an archive. Their form was checked; their content is checked as it is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    arena: PackedSection<'a>,
    metrics: Option<PackedSection<'a>>,
}

impl<'a> Packed<'a> {
    /// Checks the form of the sections. `symbols_len` is the length of all symbols, as the symbols section states it.
    /// Costs a look at each block of a frame, which holds up to 128 KiB of content.
    pub(crate) fn parse(arena: &'a [u8], metrics: Option<&'a [u8]>, symbols_len: u64) -> Result<Self> {
        let arena = PackedSection::parse(arena)?;
        if arena.content_len != symbols_len {
            return Err(corrupt(Rule::PackedLength, Place::Byte(0), arena.content_len, symbols_len));
        }
        let metrics = metrics.map(PackedSection::parse).transpose();
        Ok(Self { arena, metrics: metrics.map_err(|error| error.in_section(SectionKind::PackedMetricMetadata))? })
    }

    /// Returns the length of the arena in bytes.
    #[must_use]
    pub const fn arena_len(&self) -> u64 {
        self.arena.content_len
    }

    /// Returns the length of the metric metadata in bytes; 0 if they are not packed.
    #[must_use]
    pub fn metrics_len(&self) -> u64 {
        self.metrics.map_or(0, |metrics| metrics.content_len)
    }

    /// Returns the length of all content in bytes: the memory that [`Packed::decode_into`] needs.
    #[must_use]
    pub fn content_len(&self) -> u64 {
        // Neither is longer than 2^48 bytes.
        self.arena_len() + self.metrics_len()
    }

    /// Returns the length of the packed arena's section in bytes.
    #[must_use]
    pub const fn arena_section_len(&self) -> u64 {
        length(size_of::<PackedHeader>() + self.arena.frame.len())
    }

    /// Decodes the arena and the metric metadata into a buffer, one after the other. Its content is replaced. Costs
    /// about 1 ms per MB. At most [`Packed::content_len`] bytes are reserved, which the length of the frames bounds.
    ///
    /// # Errors
    /// `Corrupt` if a frame is damaged or has another length, `OutOfMemory` if the buffer cannot be reserved,
    /// `UnsupportedArchive` without the feature `archive`.
    pub fn decode_into(&self, content: &mut Vec<u8>) -> Result<()> {
        content.clear();
        self.decode_both(content).inspect_err(|_| content.clear())
    }

    fn decode_both(&self, content: &mut Vec<u8>) -> Result<()> {
        let len = self.content_len();
        let memory = ErrorKind::OutOfMemory { len };
        content.try_reserve_exact(usize::try_from(len).map_err(|_| memory)?).map_err(|_| memory)?;
        decode(self.arena.frame, self.arena.content_len, content)?;
        match self.metrics {
            Some(PackedSection { content_len, frame }) => decode(frame, content_len, content),
            None => Ok(()),
        }
        .map_err(|error| error.in_section(SectionKind::PackedMetricMetadata))
    }
}

/// A packed section.
#[derive(Clone, Copy)]
pub(super) struct PackedSection<'a> {
    content_len: u64,
    frame: &'a [u8],
}

impl fmt::Debug for PackedSection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("PackedSection");
        debug.field("content_len", &self.content_len).field("frame_len", &self.frame.len()).finish()
    }
}

impl<'a> PackedSection<'a> {
    /// Checks the header and the form of the frame.
    pub(super) fn parse(section: &'a [u8]) -> Result<Self> {
        let (header, frame) = PackedHeader::ref_from_prefix(section).map_err(|_| {
            corrupt(Rule::PackedHeader, Place::Byte(0), length(section.len()), length(size_of::<PackedHeader>()))
        })?;
        let content_len = header.content_len.get();
        let most = max_content_len(frame);
        if content_len > most {
            return Err(corrupt(Rule::PackedHeader, Place::Byte(0), content_len, most));
        }
        let most = frame::check(frame, content_len)?;
        // A lie is found before memory is reserved for it.
        if content_len > most {
            return Err(corrupt(Rule::PackedLength, Place::Byte(0), content_len, most));
        }
        Ok(Self { content_len, frame })
    }
}

/// Returns the length of the longest content that a frame of this length may stand for.
fn max_content_len(frame: &[u8]) -> u64 {
    length(frame.len()).saturating_mul(MAX_PACKED_RATIO).clamp(FREE_PACKED_LEN, MAX_PACKED_LEN)
}
