//! Opens blocks as memory maps.

use std::path::Path;

use chronoxide_reader::{Block, Checks, OpenError};

/// Maps a block without checks: merging verifies it. The arena of an archive is not decoded.
pub(crate) fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // Changing a block in place violates the documentation of the format.
    unsafe { Block::map_packed(path, Checks::Never) }
}
