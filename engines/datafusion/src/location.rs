//! Opens a location as tables of blocks.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;

use chronoxide_arrow::BlockTable;
use chronoxide_reader::{Block, BlockId, Checks, MAX_ARCHIVE_MEMORY, check_archives};
use chronoxide_select::BlockSet;
use chronoxide_store::{BLOCK_SUFFIX, Cache, DEFAULT_CACHE_LEN, Location, StoreError};
use datafusion::error::{DataFusionError, Result};

/// How files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    is_mapped: bool,
}

/// Open blocks of a table.
#[derive(Debug)]
pub(crate) struct OpenBlocks {
    pub blocks: Vec<BlockTable>,
    /// URLs of the blocks of an object store.
    pub urls: BTreeMap<BlockId, String>,
    /// True for the blocks of a folder or location, false for a single one.
    pub is_set: bool,
}

impl Access {
    /// Reads files into memory.
    pub const READ: Self = Self { is_mapped: false };

    /// Maps files.
    ///
    /// # Safety
    /// The contract of [`Block::map`], for all files that are opened by this access, now or later: they are never
    /// changed or truncated while they are open, only deleted or replaced by renaming. Published blocks meet it, and
    /// so do files of a [`Cache`].
    #[must_use]
    pub const unsafe fn mapped() -> Self {
        Self { is_mapped: true }
    }

    /// Opens a block, or all live blocks of a folder or of a location in an object store, by its path or URL. Blocks of
    /// object stores are fetched into the cache that the environment names.
    ///
    /// # Errors
    /// An error that names the file or object if it cannot be read or is not a valid block. A folder or location with
    /// one such block is an error, too: a query would silently lack its series.
    pub(crate) fn open(self, text: &str) -> Result<OpenBlocks> {
        if !Location::is_url(text) {
            return self.open_path(Path::new(text));
        }
        let location = Location::open(text).map_err(stored)?;
        if !location.is_remote() {
            return self.open_path(Path::new(location.text()));
        }
        let cache = Cache::from_environment(DEFAULT_CACHE_LEN).map_err(stored)?;
        if text.ends_with(BLOCK_SUFFIX) {
            let path = cache.fetch_url(text).map_err(stored)?;
            let block = self.open_packed(&path)?;
            let urls = BTreeMap::from([(block.view().block_id(), text.to_owned())]);
            return Ok(OpenBlocks { blocks: tables(vec![block])?, urls, is_set: false });
        }
        let (listing, paths) = cache.fetch_live(&location).map_err(stored)?;
        if let Some((_, error)) = listing.unreadable.into_iter().next() {
            return Err(stored(error));
        }
        let packed = paths.iter().map(|path| self.open_packed(path)).collect::<Result<Vec<_>>>()?;
        let names = listing.live.iter().map(|listed| (listed.facts.id, location.name(&listed.object.key)));
        Ok(OpenBlocks { blocks: tables(packed)?, urls: names.collect(), is_set: true })
    }

    /// Opens a block, or all live blocks of a folder.
    ///
    /// # Errors
    /// As [`Access::open`].
    pub(crate) fn open_path(self, path: &Path) -> Result<OpenBlocks> {
        if !path.is_dir() {
            let blocks = tables(vec![self.open_packed(path)?])?;
            return Ok(OpenBlocks { blocks, urls: BTreeMap::new(), is_set: false });
        }
        let set = if self.is_mapped {
            // SAFETY: the creator of this access guarantees the contract.
            unsafe { BlockSet::map(path, Checks::Lazy) }
        } else {
            BlockSet::read(path, Checks::Lazy)
        };
        let blocks = tables_of_set(&set.map_err(external)?)?;
        Ok(OpenBlocks { blocks, urls: BTreeMap::new(), is_set: true })
    }

    /// Opens a block without decoding the strings of an archive.
    fn open_packed(self, path: &Path) -> Result<Block> {
        let block = if self.is_mapped {
            // SAFETY: the creator of this access guarantees the contract.
            unsafe { Block::map_packed(path, Checks::Lazy) }
        } else {
            Block::read_packed(path, Checks::Lazy)
        };
        block.map_err(external)
    }
}

/// Returns tables of blocks whose archives are packed, within the memory of a folder's archives.
fn tables(blocks: Vec<Block>) -> Result<Vec<BlockTable>> {
    check_archives(&blocks, MAX_ARCHIVE_MEMORY).map_err(external)?;
    let table = |block: Block| {
        block.unpack().map_err(|error| external(block.locate(error)))?;
        BlockTable::new(block).map_err(external)
    };
    blocks.into_iter().map(table).collect()
}

/// Returns tables of the blocks of a set.
pub(crate) fn tables_of_set(set: &BlockSet) -> Result<Vec<BlockTable>> {
    if let Some((_, error)) = set.unreadable().first() {
        return Err(DataFusionError::External(error.to_string().into()));
    }
    set.blocks().iter().map(|block| BlockTable::new(block.open().clone()).map_err(external)).collect()
}

/// Error of a store. Its text has the causes, too: DataFusion shows the text alone.
#[derive(Debug)]
struct StoredError(StoreError);

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl Error for StoredError {}

fn stored(error: StoreError) -> DataFusionError {
    external(StoredError(error))
}

/// Wraps an error of a block.
pub(crate) fn external(error: impl Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
