//! [`RemapFolder`]: a series followed through many compactions.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::RemapError;

use crate::backing::refuse_pipe;
use crate::{Checks, OpenError, Remap};

/// File extension of remaps.
pub const REMAP_EXTENSION: &str = "cxr";

/// The remaps of a folder. `chronoxide-compact --remaps` names each after the id of its input block: `<id>.cxr`.
///
/// A remap is opened on its first use, and stays open.
///
/// ```
/// use chronoxide_reader::{BlockId, Checks, Followed, RemapFolder, SeriesRef};
///
/// # fn example(blocks: &std::path::Path, hour: BlockId) -> Result<(), chronoxide_reader::FollowError> {
/// let mut remaps = RemapFolder::new("remaps", Checks::Lazy);
/// let is_there = |block: BlockId| blocks.join(format!("{block}.cx")).exists();
/// match remaps.follow(hour, SeriesRef(7), is_there)? {
///     Followed::Found { block, series } => println!("series {series} of block {block}"),
///     Followed::Dropped { block } => println!("dropped when block {block} was merged"),
///     Followed::Lost { block, series } => println!("series {series} of block {block}, which is missing and has no remap"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RemapFolder {
    path: PathBuf,
    checks: Checks,
    /// Remaps by block; `None` if the folder has none.
    remaps: BTreeMap<BlockId, Option<Remap>>,
}

/// Place of a series after all compactions that the folder knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The series is in a block that exists.
    Found {
        /// The block.
        block: BlockId,
        /// The series in that block.
        series: SeriesRef,
    },
    /// A compaction dropped the series.
    Dropped {
        /// Input block of that compaction.
        block: BlockId,
    },
    /// The series is in a block that is missing and has no remap.
    Lost {
        /// The block.
        block: BlockId,
        /// The series in that block.
        series: SeriesRef,
    },
}

/// Reason why a series could not be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// A remap cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A remap is damaged.
    #[error("{}: {source}", path.display())]
    Remap {
        /// Path of the file.
        path: PathBuf,
        /// Error of the remap.
        source: RemapError,
    },
    /// A remap is of another block than its file name states.
    #[error("{}: the file name says block {expected}, but the remap is of block {found}", path.display())]
    OtherBlock {
        /// Path of the file.
        path: PathBuf,
        /// Block of the file name.
        expected: BlockId,
        /// The block that the remap is of.
        found: BlockId,
    },
    /// The series is out of range.
    #[error("series {series} is out of range: block {block} has {count} series, from 0")]
    NoSeries {
        /// The block.
        block: BlockId,
        /// Requested series.
        series: SeriesRef,
        /// Number of series.
        count: u64,
    },
    /// The remaps form a cycle.
    #[error("remaps form a cycle at block {block}")]
    Cycle {
        /// The block.
        block: BlockId,
    },
}

impl RemapFolder {
    /// Creates a folder of remaps. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>, checks: Checks) -> Self {
        Self { path: path.into(), checks, remaps: BTreeMap::new() }
    }

    /// Returns the path of a block's remap; the file need not exist.
    #[must_use]
    pub fn path_for(&self, block: BlockId) -> PathBuf {
        self.path.join(format!("{block}.{REMAP_EXTENSION}"))
    }

    /// Returns the remap of a block, or `None` if the folder has none.
    ///
    /// # Errors
    /// Returns an error if the remap cannot be opened or is of another block.
    pub fn get(&mut self, block: BlockId) -> Result<Option<&Remap>, FollowError> {
        if !self.remaps.contains_key(&block) {
            let opened = self.open(block)?;
            self.remaps.insert(block, opened);
        }
        Ok(self.remaps.get(&block).and_then(Option::as_ref))
    }

    fn open(&self, block: BlockId) -> Result<Option<Remap>, FollowError> {
        let path = self.path_for(block);
        refuse_pipe(&path)?;
        let remap = match Remap::read(&path, self.checks) {
            Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let found = remap.view().input_id();
        if found != block {
            return Err(FollowError::OtherBlock { path, expected: block, found });
        }
        Ok(Some(remap))
    }

    /// Follows a series of `block` through remaps to the first block for which `is_there` returns true. Costs one
    /// lookup per compaction, and the opening of each remap on its first use.
    ///
    /// # Errors
    /// See [`FollowError`].
    pub fn follow(
        &mut self,
        block: BlockId,
        series: SeriesRef,
        is_there: impl Fn(BlockId) -> bool,
    ) -> Result<Followed, FollowError> {
        let (mut block, mut series) = (block, series);
        let mut seen = BTreeSet::new();
        while !is_there(block) {
            if !seen.insert(block) {
                return Err(FollowError::Cycle { block });
            }
            let path = self.path_for(block);
            let damaged = |source| FollowError::Remap { path: path.clone(), source };
            let Some(remap) = self.get(block)? else { return Ok(Followed::Lost { block, series }) };
            let view = remap.view();
            let count = view.series_count().map_err(damaged)?;
            if u64::from(series.0) >= count {
                return Err(FollowError::NoSeries { block, series, count });
            }
            let Some(target) = view.get(series).map_err(damaged)? else { return Ok(Followed::Dropped { block }) };
            // The lookup has checked that the output is in range.
            let Some((output, _)) = view.output(target.output) else { return Ok(Followed::Lost { block, series }) };
            (block, series) = (output, target.series);
        }
        Ok(Followed::Found { block, series })
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
