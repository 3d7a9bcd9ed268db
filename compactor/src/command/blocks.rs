//! Opens blocks as memory maps.

use std::path::Path;

use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{Block, Checks, Folder, FolderError, OpenError};

/// Maps a block without checks: merging verifies it.
pub(crate) fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // Changing a block in place violates the documentation of the format.
    unsafe { Block::map(path, Checks::Never) }
}

/// Maps all blocks of a folder.
pub(crate) fn map_folder(path: &Path) -> Result<Folder, FolderError> {
    // SAFETY: as above.
    unsafe { Folder::map(path, Checks::Never) }
}

/// Verifies a written block.
pub(crate) fn verify(path: &Path) -> Result<Lineage, OpenError> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = map(path)?;
    let view = block.view();
    chronoxide_compactor::verify(&view).map_err(damaged)?;
    Lineage::from_view(&view).map_err(damaged)
}
