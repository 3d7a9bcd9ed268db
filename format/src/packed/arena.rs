//! [`PackedArena`]: length and decoding of a packed arena.

use std::fmt;

use zerocopy::FromBytes;

use super::{decode, frame};
use crate::error::{Place, corrupt};
use crate::layout::{FREE_PACKED_LEN, MAX_PACKED_RATIO, PackedArenaHeader};
use crate::number::length;
use crate::{Result, Rule};

/// The packed arena of a block. Its form was checked; its content is checked as it is decoded.
#[derive(Clone, Copy)]
pub struct PackedArena<'a> {
    arena_len: u64,
    frame: &'a [u8],
}

impl fmt::Debug for PackedArena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("PackedArena");
        debug.field("arena_len", &self.arena_len).field("frame_len", &self.frame.len()).finish()
    }
}

impl<'a> PackedArena<'a> {
    /// Checks the header and the form of the frame. `symbols_len` is the length of all symbols, as the symbols section
    /// states it. Costs a look at each block of the frame, which holds up to 128 KiB of the arena.
    pub(crate) fn parse(section: &'a [u8], symbols_len: u64) -> Result<Self> {
        let (header, frame) = PackedArenaHeader::ref_from_prefix(section).map_err(|_| {
            let header_len = length(size_of::<PackedArenaHeader>());
            corrupt(Rule::PackedHeader, Place::Byte(0), length(section.len()), header_len)
        })?;
        let arena_len = header.arena_len.get();
        let most = max_arena_len(frame);
        if arena_len > most {
            return Err(corrupt(Rule::PackedHeader, Place::Byte(0), arena_len, most));
        }
        let most = frame::check(frame, arena_len)?;
        // A lie is found before memory is reserved for it.
        if arena_len > most {
            return Err(corrupt(Rule::PackedLength, Place::Byte(0), arena_len, most));
        }
        if arena_len != symbols_len {
            return Err(corrupt(Rule::PackedLength, Place::Byte(0), arena_len, symbols_len));
        }
        Ok(Self { arena_len, frame })
    }

    /// Returns the length of the arena in bytes: what [`PackedArena::decode_into`] needs.
    #[must_use]
    pub const fn arena_len(&self) -> u64 {
        self.arena_len
    }

    /// Returns the length of the section in bytes.
    #[must_use]
    pub const fn section_len(&self) -> u64 {
        length(size_of::<PackedArenaHeader>() + self.frame.len())
    }

    /// Decodes the arena into a buffer, whose content is replaced. Costs about 1 ms per MB. At most
    /// [`PackedArena::arena_len`] bytes are reserved, which the length of the frame bounds.
    ///
    /// # Errors
    /// `Corrupt` if the frame is damaged or has another length, `OutOfMemory` if the buffer cannot be reserved,
    /// `UnsupportedArchive` without the feature `archive`.
    pub fn decode_into(&self, arena: &mut Vec<u8>) -> Result<()> {
        arena.clear();
        decode(self.frame, self.arena_len, arena).inspect_err(|_| arena.clear())
    }
}

/// Returns the length of the longest arena that a frame of this length may stand for.
pub(super) fn max_arena_len(frame: &[u8]) -> u64 {
    length(frame.len()).saturating_mul(MAX_PACKED_RATIO).max(FREE_PACKED_LEN)
}
