//! One job at a time in a folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::temporary::release;

/// The right to be the only job that adds files to a folder and removes them.
///
/// It ends when this is dropped and when the process dies, and leaves nothing to clean up: on Unix the folder itself
/// is locked, elsewhere an empty file `.chronoxide-lock` that stays. It keeps away other holders of the lock and nobody
/// else: readers need none, and [`publish`](crate::publish) and [`recover`](crate::recover) do without.
///
/// ```
/// use chronoxide_publish::{FolderLock, LockError};
///
/// let folder = tempfile::tempdir()?;
/// let lock = FolderLock::try_lock(folder.path())?;
/// assert!(matches!(FolderLock::try_lock(folder.path()), Err(LockError::InUse { .. })));
/// drop(lock);
/// FolderLock::try_lock(folder.path())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the folder is locked for as long as this lives"]
pub struct FolderLock {
    folder: PathBuf,
    file: File,
}

impl FolderLock {
    /// Takes the lock of a folder, without waiting.
    ///
    /// # Errors
    /// Another job has it, the folder cannot be opened, or its file system has no locks, as NFS may be mounted.
    pub fn try_lock(folder: &Path) -> Result<Self, LockError> {
        let owned = || folder.to_path_buf();
        let file = open(folder).map_err(|source| LockError::Io { folder: owned(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { folder: owned(), file }),
            Err(TryLockError::WouldBlock) => Err(LockError::InUse { folder: owned() }),
            Err(TryLockError::Error(source)) => Err(LockError::Io { folder: owned(), source }),
        }
    }

    /// The folder that is locked.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        release(&self.file);
    }
}

#[cfg(unix)]
fn open(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    if file.metadata()?.is_dir() { Ok(file) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// A folder has no lock here. The file stays: who removed it could remove one that another job has just locked.
#[cfg(not(unix))]
fn open(folder: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).open(folder.join(".chronoxide-lock"))
}

/// Why a folder cannot be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another job has the lock.
    #[error("{}: another job works in this folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be opened, or there is no lock to be had.
    #[error("{}: cannot lock this folder", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}
