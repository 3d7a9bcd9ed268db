//! Lock of a folder, for one job at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::temporary::release;

/// Exclusive lock of a folder, for a job that adds and removes files.
///
/// The lock ends when it is dropped or the process dies. On Unix the folder itself is locked; on other systems an empty
/// file `.chronoxide-lock`, which remains. The lock excludes only other holders: readers,
/// [`publish`](crate::publish) and [`recover`](crate::recover) do not take it.
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
    /// Locks a folder, without waiting.
    ///
    /// # Errors
    /// Another job holds the lock, the folder cannot be opened, or its file system has no locks, which is possible for
    /// NFS.
    pub fn try_lock(folder: &Path) -> Result<Self, LockError> {
        let owned = || folder.to_path_buf();
        let file = open(folder).map_err(|source| LockError::Io { folder: owned(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { folder: owned(), file }),
            Err(TryLockError::WouldBlock) => Err(LockError::InUse { folder: owned() }),
            Err(TryLockError::Error(source)) => Err(LockError::Io { folder: owned(), source }),
        }
    }

    /// Returns the locked folder.
    #[must_use]
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

/// Opens the lock file, because folders cannot be locked here. It is never removed: another job may have just locked
/// it.
#[cfg(not(unix))]
fn open(folder: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).open(folder.join(".chronoxide-lock"))
}

/// Error of locking a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another job holds the lock.
    #[error("{}: another job is running in this folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be opened, or its file system has no locks.
    #[error("{}: cannot lock this folder", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}
