//! Sizes that a message of Arrow IPC claims: [`decoded_len`].

use arrow_ipc::RecordBatch;

use crate::columns::error::ColumnsError;

/// Length of the decompressed length before each compressed buffer.
const PREFIX_LEN: usize = 8;

/// Checks that all buffers of a batch lie within the body of its message, and returns the bytes that decompressing them
/// takes. The decoder indexes and allocates by these numbers without a check.
///
/// # Errors
///
/// A buffer lies outside of the body, or the buffers take more than `max_len` bytes.
pub(super) fn decoded_len(batch: RecordBatch<'_>, body: &[u8], max_len: usize) -> Result<usize, ColumnsError> {
    let is_compressed = batch.compression().is_some();
    let mut decoded_len = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(offset), Ok(len)) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length())) else {
            return Err(ColumnsError::Message("a buffer has a negative position or length"));
        };
        let bytes = offset.checked_add(len).and_then(|end| body.get(offset..end));
        let bytes = bytes.ok_or(ColumnsError::Message("a buffer extends beyond the message"))?;
        if !is_compressed || bytes.is_empty() {
            continue;
        }
        let (prefix, _) = bytes
            .split_first_chunk::<PREFIX_LEN>()
            .ok_or(ColumnsError::Message("a compressed buffer is shorter than the length before it"))?;
        // -1: the buffer is not compressed.
        match i64::from_le_bytes(*prefix) {
            -1 => {}
            len => {
                let len = u64::try_from(len).map_err(|_| ColumnsError::Message("a decompressed length is negative"))?;
                decoded_len = decoded_len.saturating_add(len);
            }
        }
    }
    if decoded_len > max_len as u64 {
        return Err(ColumnsError::TooLarge { what: "the decompressed batch", len: decoded_len, limit: max_len as u64 });
    }
    // Lengths of arrays size nothing without buffers, but they are multiplied by the width of values.
    let is_plausible = |length: i64| (0..=i64::from(i32::MAX)).contains(&length);
    let nodes = batch.nodes().into_iter().flatten();
    if !is_plausible(batch.length())
        || !nodes
            .into_iter()
            .all(|node| is_plausible(node.length()) && (0..=node.length()).contains(&node.null_count()))
    {
        return Err(ColumnsError::Message("the number of rows is not plausible"));
    }
    Ok(decoded_len as usize)
}
