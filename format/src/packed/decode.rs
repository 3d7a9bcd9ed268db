//! From the frame of a packed section to its content.

use zstd::zstd_safe::{DCtx, get_error_name};

use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::PackedHeader;
use crate::number::length;
use crate::{ErrorKind, Result, Rule};

/// Appends the content of a frame whose form was checked. After an error the buffer may hold a part of the content.
pub(super) fn decode(frame: &[u8], len: u64, content: &mut Vec<u8>) -> Result<()> {
    let memory = ErrorKind::OutOfMemory { len };
    let content_len = usize::try_from(len).map_err(|_| memory)?;
    content.try_reserve_exact(content_len).map_err(|_| memory)?;
    let mut context = DCtx::try_create().ok_or(memory)?;
    // Decoding ends with an error where the buffer does. Spare capacity need not be zeroed before, but is used from the
    // beginning of a buffer only.
    let start = content.len();
    let decoded = if start == 0 {
        context.decompress(content, frame)
    } else {
        content.resize(start + content_len, 0);
        context.decompress(content.get_mut(start..).unwrap_or_default(), frame)
    };
    let decoded = decoded.map_err(|code| match get_error_name(code) {
        "Destination buffer is too small" => corrupt_at(Rule::PackedLength, Place::Byte(0)),
        "Allocation error : not enough memory" => memory.into(),
        _ => corrupt_at(Rule::PackedFrame, Place::Byte(length(size_of::<PackedHeader>()))),
    })?;
    if decoded != content_len {
        return Err(corrupt(Rule::PackedLength, Place::Byte(0), length(decoded), len));
    }
    Ok(())
}
