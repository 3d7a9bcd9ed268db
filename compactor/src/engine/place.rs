//! [`Workplace`]: a location, and what work on it needs.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chronoxide_locations::{Cache, Facts, Listing, Location, LocationError, Wanted};
use chronoxide_publish::{Disk, FileSystem, FolderLock, recover};
use chronoxide_reader::{Block, BlockId, OpenError};

use super::{CompactionError, Proof, Refused};
use crate::{Observer, verify_file};

/// Fetches of a block whose file another process deletes before it is mapped.
const MAX_FETCHES: usize = 5;

/// Location, cache and limits of a compaction, or of a proof before a deletion.
#[derive(Clone, Copy)]
pub struct Workplace<'a> {
    /// The location: a folder, or a prefix of a bucket.
    pub location: &'a Location,
    /// Folder for blocks of object stores, and for outputs until they are uploaded.
    pub cache: &'a Cache,
    /// Maps a block whose checksums need not be checked. Archives need not be decoded.
    pub map: &'a (dyn Fn(&Path) -> Result<Block, OpenError> + Sync),
    /// Limit of memory in bytes.
    pub memory_limit: Option<usize>,
    /// Receives progress, and can cancel.
    pub observer: &'a dyn Observer,
}

impl fmt::Debug for Workplace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workplace")
            .field("location", &self.location)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl<'a> Workplace<'a> {
    /// Locks a folder of this machine, and removes temporary files of dead processes from it. Object stores have no
    /// locks: outputs are checked there against what others published meanwhile.
    ///
    /// # Errors
    /// Another job holds the lock, or the folder cannot be opened.
    pub fn lock(&self) -> Result<Option<FolderLock>, CompactionError> {
        let Some(folder) = self.location.path("") else { return Ok(None) };
        let lock = FolderLock::try_lock(&folder)?;
        let failed = |source| LocationError::Io { object: self.location.name(""), operation: "list", source };
        recover(self.system(), &folder).map_err(failed)?;
        Ok(Some(lock))
    }

    /// Lists the blocks. A folder is listed by its blocks alone, a bucket also by its manifest.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn list(&self) -> Result<Listing, LocationError> {
        if self.location.is_remote() { Listing::read(self.location) } else { Listing::read_blocks(self.location) }
    }

    /// Returns the file system for files of a run: that of the folder, or of this machine.
    pub(crate) fn system(&self) -> &'a dyn FileSystem {
        self.location.system().unwrap_or(&Disk)
    }

    /// Returns the folder of scratch files: that of the outputs, or the cache.
    ///
    /// # Errors
    /// The folder of the cache cannot be created.
    pub fn scratch_folder(&self) -> Result<PathBuf, LocationError> {
        match self.location.path("") {
            Some(folder) => Ok(folder),
            None => self.cache.make().map(|()| self.cache.folder().to_owned()),
        }
    }

    /// Brings a block to this machine, and maps it. Another process may need the cache's room in between: the block is
    /// fetched again then.
    pub(crate) fn open(&self, wanted: &Wanted<'_>) -> Result<Block, CompactionError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let path = self.cache.fetch_sound(self.location, wanted)?;
            match (self.map)(&path) {
                Err(OpenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound && attempts < MAX_FETCHES => {
                }
                opened => return Ok(opened?),
            }
        }
    }

    /// Verifies a written block, and returns what it states.
    ///
    /// # Errors
    /// The file cannot be read, or breaks a rule.
    pub fn verify(&self, path: &Path) -> Result<Facts, Refused> {
        verify_file(path, &|path| (self.map)(path))
    }

    /// Returns the proof that blocks hold the series of others.
    pub(crate) fn proof(&self, external_labels: &'a [(String, String)]) -> Proof<'a> {
        let Self { map: open, memory_limit, observer, .. } = *self;
        Proof { system: self.system(), open, memory_limit, external_labels, observer }
    }
}

/// Returns the key of a block.
pub(super) fn key_of(id: BlockId) -> String {
    format!("{id}{}", chronoxide_locations::BLOCK_SUFFIX)
}
