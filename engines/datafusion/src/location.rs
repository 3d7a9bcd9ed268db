//! Opens a path as tables of blocks.

use std::path::Path;
use std::sync::Arc;

use chronoxide_arrow::BlockTable;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::BlockSet;
use datafusion::error::{DataFusionError, Result};

/// How files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    is_mapped: bool,
}

impl Access {
    /// Reads files into memory.
    pub const READ: Self = Self { is_mapped: false };

    /// Maps files.
    ///
    /// # Safety
    /// The contract of [`Block::map`], for all files that are opened by this access, now or later: they are never
    /// changed or truncated while they are open, only deleted or replaced by renaming. Published blocks meet it.
    #[must_use]
    pub const unsafe fn mapped() -> Self {
        Self { is_mapped: true }
    }

    /// Opens a block, or all live blocks of a folder. Returns the blocks, and true if they are those of a folder.
    ///
    /// # Errors
    /// An error that names the file if it cannot be read or is not a valid block. A folder with one such file is an
    /// error, too: a query would silently lack its series.
    pub(crate) fn open(self, path: &Path) -> Result<(Vec<BlockTable>, bool)> {
        if path.is_dir() {
            let set = if self.is_mapped {
                // SAFETY: the creator of this access guarantees the contract.
                unsafe { BlockSet::map(path, Checks::Lazy) }
            } else {
                BlockSet::read(path, Checks::Lazy)
            };
            return Ok((tables_of_set(&set.map_err(external)?)?, true));
        }
        let block = if self.is_mapped {
            // SAFETY: the creator of this access guarantees the contract.
            unsafe { Block::map(path, Checks::Lazy) }
        } else {
            Block::read(path, Checks::Lazy)
        };
        Ok((vec![BlockTable::new(block.map_err(external)?).map_err(external)?], false))
    }
}

/// Returns tables of the blocks of a set.
pub(crate) fn tables_of_set(set: &BlockSet) -> Result<Vec<BlockTable>> {
    if let Some((_, error)) = set.unreadable().first() {
        return Err(DataFusionError::External(error.to_string().into()));
    }
    let table = |block: &chronoxide_select::SetBlock| {
        let index = block.index().map_err(|error| external(block.block().locate(error)))?;
        BlockTable::with_index(block.block().clone(), Arc::clone(index)).map_err(external)
    };
    set.blocks().iter().map(table).collect()
}

/// Returns the path of a location: a path, or a URL of a file.
pub(crate) fn path_of(location: &str) -> Result<&Path> {
    match location.split_once("://") {
        None => Ok(Path::new(location)),
        Some(("file", path)) => Ok(Path::new(path)),
        Some((scheme, _)) => Err(DataFusionError::NotImplemented(format!(
            "{location}: blocks are read from local files, not by {scheme}"
        ))),
    }
}

/// Wraps an error of a block.
pub(crate) fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
