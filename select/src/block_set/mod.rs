//! [`BlockSet`]: the live blocks of a folder, queried together.

mod distinct;
mod query;
mod series;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chronoxide_format::view::TimeRange;
use chronoxide_reader::{Block, BlockId, Checks, Folder, FolderError, Hidden, MAX_ARCHIVE_MEMORY, OpenError};

pub use distinct::SetDifference;
pub use query::{BlockSelection, Partial, SetQuery, SetSelection, as_text};
pub use series::{JoinedSeries, Occurrence};

use crate::IndexedBlock;

/// The live blocks of a folder: a snapshot that is queried as one.
///
/// Blocks that a finished compaction replaced are hidden, and a file that is not a valid block is listed and does not
/// affect the others. The snapshot stays valid while a compactor deletes its files: the blocks are open. Clones share
/// the blocks.
///
/// ```
/// use chronoxide_select::{BlockSet, Selector};
/// use chronoxide_reader::Checks;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
/// let set = BlockSet::read(path, Checks::Lazy)?;
/// let selector: Selector = r#"up{job="db"}"#.parse()?;
/// let selection = set.query().select(selector.matchers())?;
/// for occurrences in set.query().join(&selection)?.found.iter() {
///     for found in occurrences {
///         println!("series {} of {}", found.series, set.blocks()[found.block].id());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BlockSet {
    blocks: Arc<[SetBlock]>,
    hidden: Arc<[Hidden]>,
    unreadable: Arc<[(PathBuf, OpenError)]>,
}

/// A block of a set. Clones share the block and its index.
#[derive(Clone, Debug)]
pub struct SetBlock {
    id: BlockId,
    open: IndexedBlock,
    time: Option<TimeRange>,
}

impl SetBlock {
    /// Returns the block's id.
    #[must_use]
    pub fn id(&self) -> BlockId {
        self.id
    }

    /// Returns the block.
    #[must_use]
    pub fn block(&self) -> &Block {
        self.open.block()
    }

    /// Returns the block with its index.
    #[must_use]
    pub fn open(&self) -> &IndexedBlock {
        &self.open
    }

    /// Returns the time range of the block, or `None` if it is unknown.
    #[must_use]
    pub fn time(&self) -> Option<TimeRange> {
        self.time
    }
}

impl FromIterator<Self> for BlockSet {
    /// Unites sets, which share their blocks. Of several blocks with one id, the first is kept.
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        let (mut blocks, mut hidden) = (BTreeMap::new(), Vec::new());
        for set in sets {
            for block in &*set.blocks {
                blocks.entry(block.id()).or_insert_with(|| block.clone());
            }
            hidden.extend_from_slice(&set.hidden);
        }
        Self { blocks: blocks.into_values().collect(), hidden: hidden.into(), ..Self::default() }
    }
}

impl From<IndexedBlock> for SetBlock {
    /// Takes a block with its index.
    fn from(open: IndexedBlock) -> Self {
        // A damaged meta section was found when the block was opened.
        let time = open.block().view().meta().ok().and_then(|meta| meta.time());
        Self { id: open.block().view().block_id(), open, time }
    }
}

impl From<SetBlock> for BlockSet {
    /// Makes a set of one block, which shares its index.
    fn from(block: SetBlock) -> Self {
        Self { blocks: Arc::new([block]), ..Self::default() }
    }
}

/// Reason why a set of blocks could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockSetError {
    /// The folder cannot be listed, keeps changing, or has too large archives.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system has no room for more maps, files or buffers.
    #[error(
        "cannot open all blocks of {}: the system's limit is reached after {opened} blocks; raise the limit of open \
         files or maps, or compact the folder", folder.display()
    )]
    TooMany {
        /// Path of the folder.
        folder: PathBuf,
        /// Number of blocks that could be opened.
        opened: usize,
        /// Error of the first block that could not be opened.
        source: Box<OpenError>,
    },
}

impl BlockSet {
    /// Opens a folder by reading its blocks into memory. The decoded strings of its archives take at most
    /// [`MAX_ARCHIVE_MEMORY`].
    ///
    /// # Errors
    /// [`BlockSetError::Folder`] if the folder cannot be listed or has too large archives, and
    /// [`BlockSetError::TooMany`] if the system's limits do not allow all its blocks. A file that is not a valid block
    /// is [listed](Self::unreadable).
    pub fn read(folder: impl AsRef<Path>, checks: Checks) -> Result<Self, BlockSetError> {
        Self::read_within(folder, checks, MAX_ARCHIVE_MEMORY)
    }

    /// Like [`BlockSet::read`], with another limit of the decoded strings of archives, in bytes.
    ///
    /// # Errors
    /// As [`BlockSet::read`].
    pub fn read_within(folder: impl AsRef<Path>, checks: Checks, archive_memory: u64) -> Result<Self, BlockSetError> {
        let folder = folder.as_ref();
        Self::from_folder(folder, Folder::read_within(folder, checks, archive_memory)?)
    }

    /// Opens a folder by mapping its blocks. The decoded strings of its archives take at most [`MAX_ARCHIVE_MEMORY`].
    ///
    /// # Safety
    /// The contract of [`Block::map`], for each file of the folder whose name ends in `.cx`.
    ///
    /// # Errors
    /// As [`BlockSet::read`].
    pub unsafe fn map(folder: impl AsRef<Path>, checks: Checks) -> Result<Self, BlockSetError> {
        // SAFETY: the caller keeps the same contract.
        unsafe { Self::map_within(folder, checks, MAX_ARCHIVE_MEMORY) }
    }

    /// Like [`BlockSet::map`], with another limit of the decoded strings of archives, in bytes.
    ///
    /// # Safety
    /// As [`BlockSet::map`].
    ///
    /// # Errors
    /// As [`BlockSet::read`].
    pub unsafe fn map_within(
        folder: impl AsRef<Path>,
        checks: Checks,
        archive_memory: u64,
    ) -> Result<Self, BlockSetError> {
        let folder = folder.as_ref();
        // SAFETY: the caller keeps the same contract.
        Self::from_folder(folder, unsafe { Folder::map_within(folder, checks, archive_memory) }?)
    }

    /// Makes a set of open blocks. Of several blocks with one id, one is kept. The caller has left out blocks that
    /// others replace.
    #[must_use]
    pub fn from_blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        let block = |block: Block| (block.view().block_id(), SetBlock::from(IndexedBlock::new(block)));
        let blocks: BTreeMap<BlockId, SetBlock> = blocks.into_iter().map(block).collect();
        Self { blocks: blocks.into_values().collect(), ..Self::default() }
    }

    fn from_folder(folder: &Path, opened: Folder) -> Result<Self, BlockSetError> {
        let is_limit = |error: &OpenError| matches!(error, OpenError::OutOfResources { .. });
        let hidden = opened.hidden().into();
        if opened.unreadable().iter().any(|(_, error)| is_limit(error)) {
            let count = opened.lineages().len();
            let limit = opened.into_unreadable().into_iter().find(|(_, error)| is_limit(error));
            let Some((_, source)) = limit else { return Ok(Self::default()) };
            return Err(BlockSetError::TooMany { folder: folder.to_owned(), opened: count, source: Box::new(source) });
        }
        let (live, unreadable) = opened.into_parts();
        let blocks = live.into_iter().map(|entry| IndexedBlock::new(entry.into_block()).into()).collect();
        Ok(Self { blocks, hidden, unreadable: unreadable.into() })
    }

    /// Takes the indexes of blocks that an earlier snapshot has, too.
    #[must_use]
    pub fn with_indexes_of(mut self, other: &Self) -> Self {
        let known: BTreeMap<BlockId, &IndexedBlock> =
            other.blocks.iter().map(|block| (block.id(), &block.open)).collect();
        for block in Arc::get_mut(&mut self.blocks).into_iter().flatten() {
            if let Some(same) = known.get(&block.id()) {
                block.open.share_index_of(same);
            }
        }
        self
    }

    /// Returns the blocks in the order of their ids: those without a time range first, then by start time. Results name
    /// a block by its position here.
    #[must_use]
    pub fn blocks(&self) -> &[SetBlock] {
        &self.blocks
    }

    /// Returns the blocks that a compaction replaced, and copies.
    #[must_use]
    pub fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// Returns the files that cannot be opened as blocks.
    #[must_use]
    pub fn unreadable(&self) -> &[(PathBuf, OpenError)] {
        &self.unreadable
    }

    /// Starts a query of all blocks.
    #[must_use]
    pub fn query(&self) -> SetQuery<'_> {
        SetQuery::new(self)
    }
}
