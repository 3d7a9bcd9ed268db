//! Opens blocks as memory maps.

use std::path::{Path, PathBuf};

use chronoxide_compactor::job::Proof;
use chronoxide_compactor::{CompactOptions, Compaction, Observer};
use chronoxide_format::view::BlockView;
use chronoxide_publish::Disk;
use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{Block, Checks, Folder, FolderError, OpenError};

use crate::compact::failure::Error;
use crate::{fetch_url, url};

/// Returns the file of an input: its path, or that of a copy in the cache if it is a URL.
pub(crate) fn fetch(input: &Path) -> Result<PathBuf, Error> {
    Ok(url(input).map_or_else(|| Ok(input.to_owned()), fetch_url)?)
}

/// Maps a block without checks: merging verifies it. The arena of an archive is not decoded; see [`unpack`].
pub(crate) fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // Changing a block in place violates the documentation of the format.
    unsafe { Block::map_packed(path, Checks::Never) }
}

/// Maps all blocks of a folder like [`map`].
pub(crate) fn map_folder(path: &Path) -> Result<Folder, FolderError> {
    // SAFETY: as above.
    unsafe { Folder::map_packed(path, Checks::Never) }
}

/// Decodes the arenas of archives, unless a merge of the blocks could exceed the memory limit: a small file can have an
/// arena that is hundreds of times as long.
pub(crate) fn unpack(blocks: &[(&Path, Block)], options: &CompactOptions, remaps: Option<&Path>) -> Result<(), Error> {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|(_, block)| *block.view()).collect();
    if !views.iter().any(BlockView::is_packed) {
        return Ok(());
    }
    let paths: Vec<&Path> = blocks.iter().map(|(path, _)| *path).collect();
    let compaction = Compaction { remaps, ..Compaction::new(&views, options) };
    compaction.check_memory().map_err(|error| Error::named(error.into(), &paths))?;
    for (path, block) in blocks {
        block.unpack().map_err(|source| Error::Input { path: path.to_path_buf(), source })?;
    }
    Ok(())
}

/// Returns the proof that blocks hold the series of others, as a merge with these options would find.
pub(crate) fn proof<'a>(options: &'a CompactOptions, observer: &'a dyn Observer) -> Proof<'a> {
    let CompactOptions { memory_limit, external_labels, .. } = options;
    Proof { system: &Disk, open: &map, memory_limit: *memory_limit, external_labels, observer }
}

/// Verifies a written block.
pub(crate) fn verify(path: &Path) -> Result<Lineage, OpenError> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = map(path)?;
    block.unpack().map_err(damaged)?;
    let view = block.view();
    chronoxide_compactor::verify(&view).map_err(damaged)?;
    Lineage::from_view(&view).map_err(damaged)
}
