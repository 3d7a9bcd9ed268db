//! [`OpenOptions`] and [`Blocks`]: the blocks of a file or a folder, open for queries.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chronoxide_reader::{Block, BlockId, Checks, FileError, MAX_ARCHIVE_MEMORY, OpenError, check_archives};
use chronoxide_select::{BlockSet, SetBlock};

use crate::error::full_text;
#[cfg(feature = "objects")]
use crate::remote::Remote;
use crate::{Error, ErrorKind, Label, Query, Selector};

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
    is_mapped: bool,
    #[cfg(feature = "objects")]
    pub(crate) remote: Remote,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            checks: Checks::Lazy,
            archive_memory: MAX_ARCHIVE_MEMORY,
            skips_damaged: false,
            is_mapped: false,
            #[cfg(feature = "objects")]
            remote: Remote::default(),
        }
    }
}

impl OpenOptions {
    /// Returns the default: files are read into memory, checksums are checked where a block is read, and each damaged
    /// file is an error.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when checksums are checked: of each chunk of 8 KiB when it is first read, unless set.
    #[must_use]
    pub fn checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }

    /// Leaves out the files of a folder that are not valid blocks, and lists them in [`Blocks::damaged`]. Files are
    /// looked at when they are opened: damage that a later query meets is an error of the query, unless all
    /// [checks](Self::checks) are eager.
    #[must_use]
    pub fn skip_damaged(self, skips: bool) -> Self {
        Self { skips_damaged: skips, ..self }
    }

    /// Sets the maximum memory of the decoded strings of archives, in bytes; 4 GiB unless set.
    #[must_use]
    pub fn max_archive_memory(self, bytes: u64) -> Self {
        Self { archive_memory: bytes, ..self }
    }

    /// Maps files instead of reading them: opening costs the same for any size, and bytes that no query reads are not
    /// loaded.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// // SAFETY: files of this folder are published whole, and never changed in place.
    /// let options = unsafe { chronoxide::OpenOptions::new().map() };
    /// assert_eq!(options.open(path)?.len(), 1);
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    ///
    /// # Safety
    /// As long as blocks that these options open, or anything made from them, exist, their files must not be truncated
    /// and their bytes must not change: the process could end with SIGBUS, or see bytes that were not checked.
    /// Published blocks meet this contract: they are only deleted, or replaced by renaming. It also holds for files
    /// that [`Blocks::refresh`] finds, and for the copies of remote blocks in the cache.
    #[must_use]
    pub unsafe fn map(self) -> Self {
        Self { is_mapped: true, ..self }
    }

    /// Opens a block, or the live blocks of a folder.
    ///
    /// The blocks of a folder are its files whose names end in `.cx` and begin with no point. The live ones are those
    /// that no finished compaction replaced, so that each series counts once. The folder may change afterwards: the
    /// result is a snapshot. With the feature `objects`, the path may be a URL: see the documentation of the crate.
    ///
    /// # Errors
    /// Errors of kind `Io`, and of kind `Corrupt` or `Unsupported` for a file that is not a valid block.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Blocks, Error> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "the path is empty"));
        }
        let found = match as_url(path) {
            Some(url) => self.open_url(url)?,
            None => self.open_path(path)?,
        };
        Ok(Blocks::new(Some(path.to_owned()), self, found))
    }

    /// Opens a block from its bytes.
    ///
    /// # Errors
    /// Errors of kind `Corrupt`, `Unsupported` and `OutOfResources`, without a path.
    pub fn open_bytes(&self, bytes: Vec<u8>) -> Result<Blocks, Error> {
        let block = Block::from_vec_packed(bytes, self.checks).map_err(|source| FileError { path: None, source })?;
        Ok(Blocks::new(None, self, self.single(block)?))
    }

    pub(crate) fn open_path(&self, path: &Path) -> Result<Found, Error> {
        expect_file(path)?;
        if !path.is_dir() {
            return self.single(self.open_file(path)?);
        }
        let set = match self.is_mapped {
            // SAFETY: the caller of `map` keeps the contract.
            true => unsafe { BlockSet::map_within(path, self.checks, self.archive_memory) }?,
            false => BlockSet::read_within(path, self.checks, self.archive_memory)?,
        };
        let damaged: Vec<_> =
            set.unreadable().iter().map(|(path, error)| Error::from_unreadable(path, error)).collect();
        let hidden = set.hidden().len();
        Ok(Found { set, damaged: self.skipped(damaged)?, is_folder: true, hidden })
    }

    #[cfg(not(feature = "objects"))]
    fn open_url(&self, url: &str) -> Result<Found, Error> {
        let reason = format!("{url}: this program was built without the feature `objects` of the crate chronoxide");
        Err(Error::new(ErrorKind::Unsupported, reason))
    }

    /// Opens the block of a file. Strings of an archive stay packed.
    pub(crate) fn open_file(&self, path: &Path) -> Result<Block, OpenError> {
        match self.is_mapped {
            // SAFETY: the caller of `map` keeps the contract.
            true => unsafe { Block::map_packed(path, self.checks) },
            false => Block::read_packed(path, self.checks),
        }
    }

    /// Decodes the strings of a block if it is an archive, within the limit.
    pub(crate) fn single(&self, block: Block) -> Result<Found, Error> {
        check_archives([&block], self.archive_memory)
            .map_err(|error| Error::new(ErrorKind::OutOfResources, block.locate(error)).with_path_of(&block))?;
        block.unpack().map_err(|error| block.locate(error))?;
        Ok(Found { set: BlockSet::from_blocks([block]), ..Found::default() })
    }

    /// Decodes the strings of the archives of a location, within the limit.
    #[cfg(feature = "objects")]
    pub(crate) fn several(&self, blocks: Vec<Block>, mut damaged: Vec<Error>) -> Result<Found, Error> {
        check_archives(&blocks, self.archive_memory).map_err(|error| Error::new(ErrorKind::OutOfResources, error))?;
        let mut sound = Vec::with_capacity(blocks.len());
        for block in blocks {
            match block.unpack() {
                Ok(()) => sound.push(block),
                Err(error) => damaged.push(block.locate(error).into()),
            }
        }
        let (set, damaged) = (BlockSet::from_blocks(sound), self.skipped(damaged)?);
        Ok(Found { set, damaged, is_folder: true, hidden: 0 })
    }

    /// Returns the errors of files that are not valid blocks, if these are skipped.
    pub(crate) fn skipped(&self, damaged: Vec<Error>) -> Result<Vec<Error>, Error> {
        if self.skips_damaged { Ok(damaged) } else { damaged.into_iter().next().map_or(Ok(Vec::new()), Err) }
    }
}

/// Open blocks, before they are shared.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) set: BlockSet,
    pub(crate) damaged: Vec<Error>,
    pub(crate) is_folder: bool,
    /// Number of blocks that compactions replaced.
    pub(crate) hidden: usize,
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

/// Returns a path that is a URL: it begins with a scheme, and no file has it.
pub(crate) fn as_url(path: &Path) -> Option<&str> {
    let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_url = |text: &&str| text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    path.to_str().filter(is_url).filter(|_| path.symlink_metadata().is_err())
}

/// Refuses a pipe, reading which would wait, and a device, which may have no end.
fn expect_file(path: &Path) -> Result<(), Error> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(Error::new(ErrorKind::Io, format!("{}: not a file", path.display())).with_path(path))
        }
        // Opening it gives a better error.
        _ => Ok(()),
    }
}

/// Reads a block into memory, and checks every rule of the format.
pub(crate) fn read_verified(path: &Path) -> Result<Block, Error> {
    expect_file(path)?;
    let block = Block::read(path, Checks::Eager)?;
    block.verify().map_err(|error| block.locate(error))?;
    Ok(block)
}

/// Open blocks: a snapshot that is queried as one. Clones share the blocks.
///
/// The files may be deleted meanwhile, by a compaction for example: an open block stays readable.
#[derive(Clone)]
pub struct Blocks {
    /// Path or URL, unless the block was opened from bytes.
    path: Option<PathBuf>,
    options: OpenOptions,
    /// Blocks that these unite, if they were opened one by one.
    united: Arc<[Self]>,
    is_folder: bool,
    pub(crate) set: BlockSet,
    damaged: Arc<[Error]>,
    hidden: usize,
    #[cfg(feature = "arrow")]
    pub(crate) tables: Arc<crate::arrow::Tables>,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("path", &self.path).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Blocks {
    pub(crate) fn new(path: Option<PathBuf>, options: &OpenOptions, found: Found) -> Self {
        let Found { set, damaged, is_folder, hidden } = found;
        Self {
            path,
            options: options.clone(),
            united: Arc::default(),
            is_folder,
            #[cfg(feature = "arrow")]
            tables: set.blocks().iter().map(|_| std::sync::OnceLock::new()).collect(),
            set,
            damaged: damaged.into(),
            hidden,
        }
    }

    /// Opens a block or a folder with the default options: see [`OpenOptions::open`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// Opens the file, folder or URL again, in the same way, and keeps the indexes of blocks that are still there; if
    /// several were united, each of them. Blocks from bytes stay. This snapshot stays valid: drop it to release deleted
    /// files.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn refresh(&self) -> Result<Self, Error> {
        let Some(path) = &self.path else {
            let united = self.united.iter().map(Self::refresh);
            return if self.united.is_empty() { Ok(self.clone()) } else { united.collect() };
        };
        let mut fresh = self.options.open(path)?;
        // Without checks, a damaged block may have had a sound header.
        if self.options.checks != Checks::Never {
            fresh.set = fresh.set.with_indexes_of(&self.set);
        }
        Ok(fresh)
    }

    /// Returns true for the blocks of a folder or of a location in an object store, and false for a single block.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.is_folder
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
    /// An error of kind `Corrupt` if a block is damaged where these facts are.
    pub fn iter(&self) -> impl Iterator<Item = Result<BlockInfo<'_>, Error>> {
        self.set.blocks().iter().map(|block| {
            let (view, locate) = (block.open().view(), |error| Error::from(block.block().locate(error)));
            let series_count = view.series_count().map_err(locate)?;
            let external = view.meta().and_then(|meta| meta.external_labels()).map_err(locate)?;
            let external_labels = external.map(|pair| pair.map(|(name, value)| Label { name, value }).map_err(locate));
            let external_labels = external_labels.collect::<Result<_, _>>()?;
            let byte_len = block.block().bytes().len() as u64;
            let time = block.time().map(|time| (time.start, time.end));
            let path = block.block().path();
            let url = path.and_then(as_url);
            let path = path.filter(|_| url.is_none());
            Ok(BlockInfo { path, url, id: block.id(), series_count, byte_len, time, external_labels })
        })
    }

    /// Returns each block alone, in the order of [`Blocks::iter`]. They share indexes with this snapshot.
    #[must_use]
    pub fn each(&self) -> Vec<Self> {
        let single = |(position, block): (usize, &SetBlock)| {
            #[cfg(not(feature = "arrow"))]
            let _ = position;
            Self {
                path: block.block().path().map(Path::to_owned),
                options: self.options.clone(),
                united: Arc::default(),
                is_folder: false,
                set: BlockSet::from(block.clone()),
                damaged: Arc::default(),
                hidden: 0,
                #[cfg(feature = "arrow")]
                tables: self.tables.iter().skip(position).take(1).cloned().collect(),
            }
        };
        self.set.blocks().iter().enumerate().map(single).collect()
    }

    /// Returns true if both have blocks of the same ids.
    pub(crate) fn has_same_ids(&self, other: &Self) -> bool {
        self.set.blocks().iter().map(SetBlock::id).eq(other.set.blocks().iter().map(SetBlock::id))
    }

    /// Returns the number of blocks of a folder that compactions replaced, and copies: they are not queried.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.hidden
    }

    /// Returns the errors of files that are not valid blocks, if these were [skipped](OpenOptions::skip_damaged).
    #[must_use]
    pub fn damaged(&self) -> &[Error] {
        &self.damaged
    }

    /// Starts a query of the series that a selector matches: a text such as `up{job="api",pod=~"web-.*"}`, or a
    /// [`Selector`]. `{}` matches all series.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector.
    pub fn query<S: TryInto<Selector>>(&self, selector: S) -> Result<Query<'_>, Error>
    where
        Error: From<S::Error>,
    {
        Ok(Query::new(self, selector.try_into()?))
    }

    /// Checks every rule of the format in all blocks: takes about as long as reading all labels.
    ///
    /// # Errors
    /// An error of kind `Corrupt` for the first block that breaks a rule.
    pub fn verify(&self) -> Result<(), Error> {
        self.set.blocks().iter().try_for_each(|block| {
            let block = block.block();
            block.verify().map(drop).map_err(|error| block.locate(error).into())
        })
    }
}

impl From<BlockSet> for Blocks {
    /// Takes blocks that a part of this crate opened. [Refreshed](Blocks::refresh), they stay as they are.
    fn from(set: BlockSet) -> Self {
        let hidden = set.hidden().len();
        Self::new(None, &OpenOptions::default(), Found { set, is_folder: true, hidden, ..Found::default() })
    }
}

impl FromIterator<Self> for Blocks {
    /// Unites blocks that were opened one by one, to be queried as one. Equal blocks are one. A block of one folder
    /// does not replace those of another: their series count once, and have an id in each.
    fn from_iter<I: IntoIterator<Item = Self>>(opened: I) -> Self {
        let opened: Vec<Self> = opened.into_iter().collect();
        let options = opened.first().map(|first| first.options.clone()).unwrap_or_default();
        let found = Found {
            set: opened.iter().map(|blocks| blocks.set.clone()).collect(),
            damaged: opened.iter().flat_map(|blocks| blocks.damaged.iter().cloned()).collect(),
            is_folder: true,
            hidden: opened.iter().map(Self::replaced).sum(),
        };
        Self { united: opened.into(), ..Self::new(None, &options, found) }
    }
}

/// Facts about a block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockInfo<'b> {
    /// File of the block; `None` for a block from bytes, or of an object store.
    pub path: Option<&'b Path>,
    /// URL of a block of an object store.
    pub url: Option<&'b str>,
    /// Id of the block: blocks with equal ids have equal content.
    pub id: BlockId,
    /// Number of series.
    pub series_count: u32,
    /// Size in bytes.
    pub byte_len: u64,
    /// Time range of the data, in nanoseconds since 1970, from the first time to before the second; `None` if it is
    /// unknown.
    pub time: Option<(i64, i64)>,
    /// External labels, which belong to all series of the block and are not among their labels.
    pub external_labels: Vec<Label<'b>>,
}
