//! [`OpenOptions`] and [`Blocks`]: the blocks of a file or a folder, open for queries.

use std::fmt;
use std::path::{Path, PathBuf};

use chronoxide_reader::{Block, BlockId, Checks, FileError, MAX_ARCHIVE_MEMORY, OpenError, check_archives};
use chronoxide_select::BlockSet;

use crate::error::full_text;
use crate::{Error, ErrorKind, Query};

/// How blocks are opened.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let blocks = chronoxide::OpenOptions::new().open(path)?;
/// assert_eq!(blocks.len(), 1);
/// # Ok::<(), chronoxide::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    checks: Checks,
    archive_memory: u64,
    skips_damaged: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { checks: Checks::Lazy, archive_memory: MAX_ARCHIVE_MEMORY, skips_damaged: false }
    }
}

impl OpenOptions {
    /// Returns the default: checksums are checked where a block is read, and each damaged file is an error.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks all checksums of a block when it is opened, at some 20 GB/s, instead of each chunk of 8 KiB when it is
    /// first read.
    #[must_use]
    pub fn check_at_once(self, is_eager: bool) -> Self {
        Self { checks: if is_eager { Checks::Eager } else { Checks::Lazy }, ..self }
    }

    /// Leaves out the files of a folder that are not valid blocks, and lists them in [`Blocks::damaged`]. Files are
    /// looked at when they are opened: damage that a later query meets is an error of the query, unless everything is
    /// [checked at once](Self::check_at_once).
    #[must_use]
    pub fn skip_damaged(self, skips: bool) -> Self {
        Self { skips_damaged: skips, ..self }
    }

    /// Sets the maximum memory of the decoded strings of archives, in bytes; 4 GiB unless set.
    #[must_use]
    pub fn max_archive_memory(self, bytes: u64) -> Self {
        Self { archive_memory: bytes, ..self }
    }

    /// Opens a block, or the live blocks of a folder, by reading files into memory.
    ///
    /// The blocks of a folder are its files whose names end in `.cx`. The live ones are those that no finished
    /// compaction replaced, so that each series counts once. The folder may change afterwards: the result is a
    /// snapshot.
    ///
    /// # Errors
    /// Errors of kind `Io`, and of kind `Corrupt` or `Unsupported` for a file that is not a valid block.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Blocks, Error> {
        let path = path.as_ref();
        let set = match path.is_dir() {
            true => BlockSet::read_within(path, self.checks, self.archive_memory)?,
            false => self.single(path, Block::read_packed(path, self.checks)?)?,
        };
        self.opened(path, set, false)
    }

    /// Opens a block, or the live blocks of a folder, as memory maps: opening costs the same for any size, and bytes
    /// that no query reads are not loaded.
    ///
    /// # Safety
    /// As long as the result or anything made from it exists, the files must not be truncated and their bytes must not
    /// change: the process could end with SIGBUS, or see bytes that were not checked. Published blocks meet this
    /// contract: they are only deleted, or replaced by renaming. It also holds for files that [`Blocks::refresh`]
    /// finds.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub unsafe fn map(&self, path: impl AsRef<Path>) -> Result<Blocks, Error> {
        let path = path.as_ref();
        let set = match path.is_dir() {
            // SAFETY: the caller keeps the same contract.
            true => unsafe { BlockSet::map_within(path, self.checks, self.archive_memory) }?,
            // SAFETY: the caller keeps the same contract.
            false => self.single(path, unsafe { Block::map_packed(path, self.checks) }?)?,
        };
        self.opened(path, set, true)
    }

    /// Decodes the strings of an archive, if the block is one.
    fn single(&self, path: &Path, block: Block) -> Result<BlockSet, Error> {
        let limit = self.archive_memory;
        check_archives([&block], limit).map_err(|source| OpenError::ArchiveMemory { path: path.to_owned(), source })?;
        block.unpack().map_err(|error| block.locate(error))?;
        Ok(BlockSet::from_blocks([(path.to_owned(), block)]))
    }

    fn opened(&self, path: &Path, set: BlockSet, is_mapped: bool) -> Result<Blocks, Error> {
        if let Some((path, error)) = set.unreadable().first().filter(|_| !self.skips_damaged) {
            return Err(Error::from_unreadable(path, error));
        }
        Ok(Blocks { path: path.to_owned(), options: self.clone(), is_mapped, set })
    }
}

impl Error {
    /// Returns the error of a file of a folder.
    fn from_unreadable(path: &Path, error: &OpenError) -> Self {
        match error {
            OpenError::Block { path, source } => FileError { path: Some(path.clone()), source: source.clone() }.into(),
            // The error of the system cannot be copied.
            other => Self::new(ErrorKind::Io, full_text(other)).with_path(path),
        }
    }
}

/// Reads a block into memory, and checks every rule of the format.
pub(crate) fn read_verified(path: &Path) -> Result<Block, Error> {
    let block = Block::read(path, Checks::Eager)?;
    block.verify().map_err(|error| block.locate(error))?;
    Ok(block)
}

/// Open blocks: a snapshot that is queried as one. Clones share the blocks.
///
/// The files may be deleted meanwhile, by a compaction for example: an open block stays readable.
#[derive(Clone)]
pub struct Blocks {
    path: PathBuf,
    options: OpenOptions,
    is_mapped: bool,
    pub(crate) set: BlockSet,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("path", &self.path).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Blocks {
    /// Opens a block or a folder with the default options: see [`OpenOptions::open`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// Opens the file or folder again, in the same way, and keeps the indexes of blocks that are still there. This
    /// snapshot stays valid: drop it to release deleted files.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn refresh(&self) -> Result<Self, Error> {
        let Self { path, options, is_mapped, set } = self;
        match (path.is_dir(), is_mapped) {
            (false, false) => options.open(path),
            (true, false) => options.opened(path, set.refresh(options.checks)?, false),
            // SAFETY: the caller of `OpenOptions::map` keeps the contract for these files, too.
            (false, true) => unsafe { options.map(path) },
            // SAFETY: as above.
            (true, true) => options.opened(path, unsafe { set.refresh_mapped(options.checks) }?, true),
        }
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.set.blocks().len()
    }

    /// Returns true if a folder has no live blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the blocks, by their ids.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if a block is damaged where its number of series is.
    pub fn iter(&self) -> impl Iterator<Item = Result<BlockInfo<'_>, Error>> {
        self.set.blocks().iter().map(|block| {
            let count = block.block().view().series_count();
            let series_count = count.map_err(|error| Error::from(block.block().locate(error)))?;
            let time = block.time().map(|time| (time.start, time.end));
            Ok(BlockInfo { path: block.path(), id: block.id(), series_count, time })
        })
    }

    /// Returns the files of the folder that are not valid blocks, if these were [skipped](OpenOptions::skip_damaged).
    #[must_use]
    pub fn damaged(&self) -> Vec<Error> {
        self.set.unreadable().iter().map(|(path, error)| Error::from_unreadable(path, error)).collect()
    }

    /// Starts a query of the series that a PromQL selector matches, such as `up{job="api",pod=~"web-.*"}`. `{}` matches
    /// all series.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector.
    pub fn query(&self, selector: &str) -> Result<Query<'_>, Error> {
        Query::new(self, selector)
    }
}

/// File, id, number of series and time range of a block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockInfo<'b> {
    /// File of the block.
    pub path: &'b Path,
    /// Id of the block: blocks with equal ids have equal content.
    pub id: BlockId,
    /// Number of series.
    pub series_count: u32,
    /// Time range of the data, in nanoseconds since 1970, from the first time to before the second; `None` if it is
    /// unknown.
    pub time: Option<(i64, i64)>,
}
