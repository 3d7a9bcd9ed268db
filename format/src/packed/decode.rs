//! From the frame of a packed arena to the arena.

use zstd::zstd_safe::{DCtx, get_error_name};

use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::PackedArenaHeader;
use crate::number::length;
use crate::{Error, Result, Rule};

/// Decodes a frame whose form was checked into an empty buffer. After an error the buffer may hold a part of the arena.
pub(super) fn decode(frame: &[u8], len: u64, arena: &mut Vec<u8>) -> Result<()> {
    let memory = Error::OutOfMemory { len };
    let arena_len = usize::try_from(len).map_err(|_| memory)?;
    arena.try_reserve_exact(arena_len).map_err(|_| memory)?;
    let mut context = DCtx::try_create().ok_or(memory)?;
    // Decoding ends with an error where the buffer does.
    let decoded = context.decompress(arena, frame).map_err(|code| match get_error_name(code) {
        "Destination buffer is too small" => corrupt_at(Rule::PackedLength, Place::Byte(0)),
        "Allocation error : not enough memory" => memory,
        _ => corrupt_at(Rule::PackedFrame, Place::Byte(length(size_of::<PackedArenaHeader>()))),
    })?;
    if decoded != arena_len {
        return Err(corrupt(Rule::PackedLength, Place::Byte(0), length(decoded), len));
    }
    Ok(())
}
