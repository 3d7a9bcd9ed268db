//! [`check_archives`]: the memory of archives that are decoded together.

use crate::Block;

/// Maximum memory of the decoded strings of the archives of a folder in bytes, unless another limit is set: 4 GiB.
pub const MAX_ARCHIVE_MEMORY: u64 = 4 << 30;

/// The decoded strings of archives take more memory than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the strings of the archives take {needed} bytes of memory, the limit is {limit}")]
pub struct ArchiveMemoryError {
    /// Memory of all of them in bytes.
    pub needed: u64,
    /// Maximum memory in bytes.
    pub limit: u64,
}

/// Checks the memory of the decoded strings of archives among blocks that are held at once, before one of them is
/// [decoded](Block::unpack). A limit per archive does not bound their sum: a file of 3 KB can stand for
/// 1 MiB of strings, and a folder can have very many of them.
///
/// # Errors
/// [`ArchiveMemoryError`] if all of them take more than `limit` bytes.
pub fn check_archives<'b>(blocks: impl IntoIterator<Item = &'b Block>, limit: u64) -> Result<(), ArchiveMemoryError> {
    // The header of a packed arena was checked when the block was opened.
    let decoded_len = |block: &Block| block.view().packed().ok().flatten().map_or(0, |packed| packed.content_len());
    let needed = blocks.into_iter().map(decoded_len).fold(0, u64::saturating_add);
    if needed > limit { Err(ArchiveMemoryError { needed, limit }) } else { Ok(()) }
}
