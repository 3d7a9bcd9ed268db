//! Blocks mapped: the command holds none of them in memory.

use std::path::Path;

use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{Block, Checks, Folder, FolderError, OpenError};

/// Opens a block; what is read of it is checked where it is verified.
pub(crate) fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which leaves a map as it is. Whoever changes one in place while
    // it is merged does what the documentation of the format forbids.
    unsafe { Block::map(path, Checks::Never) }
}

/// Opens all blocks of a folder.
pub(crate) fn map_folder(path: &Path) -> Result<Folder, FolderError> {
    // SAFETY: as above.
    unsafe { Folder::map(path, Checks::Never) }
}

/// Checks every rule of the format on a block that was written.
pub(crate) fn verify(path: &Path) -> Result<Lineage, OpenError> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = map(path)?;
    let view = block.view();
    chronoxide_compactor::verify(&view).map_err(damaged)?;
    Lineage::from_view(&view).map_err(damaged)
}
