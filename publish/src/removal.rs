//! Removal of files that are no longer needed.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Result of [`remove_files`], each list in the given order.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// Files that were removed.
    pub removed: Vec<PathBuf>,
    /// Files that did not exist.
    pub missing: Vec<PathBuf>,
}

/// Error of [`remove_files`]: not all files were removed, or their removal is not durable.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}; {} removed, {} left", path.display(), self.what(), removed.len(), left.len())]
pub struct RemoveError {
    /// File that cannot be removed, or folder that cannot be synced.
    pub path: PathBuf,
    /// Files that were removed. Until their folder is synced, a power loss may restore them.
    pub removed: Vec<PathBuf>,
    /// File that failed, which may be removed nevertheless, and those after it. Empty if a folder cannot be synced.
    pub left: Vec<PathBuf>,
    /// Error of the operating system.
    pub source: io::Error,
}

impl RemoveError {
    fn what(&self) -> &'static str {
        if self.left.is_empty() {
            "cannot sync the folder to disk after removing files"
        } else {
            "cannot remove the file"
        }
    }
}

/// Removes files in the given order, then syncs each of their folders once.
///
/// A missing file is not an error, so the call can be repeated after a kill. Contents are not checked.
///
/// # Errors
/// Stops at the first error. The error lists the removed and the remaining files.
pub fn remove_files(system: &dyn FileSystem, paths: &[PathBuf]) -> Result<Removed, RemoveError> {
    let mut done = Removed::default();
    let mut folders: Vec<&Path> = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        match system.unlink(path) {
            Ok(()) => done.removed.push(path.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => done.missing.push(path.clone()),
            Err(source) => {
                let left = paths[number..].to_vec();
                return Err(RemoveError { path: path.clone(), removed: done.removed, left, source });
            }
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // Folders without removed files too: a run that was killed may have removed files there.
    for folder in folders {
        if let Err(source) = system.sync_folder(folder) {
            let (path, left) = (folder.to_path_buf(), Vec::new());
            return Err(RemoveError { path, removed: done.removed, left, source });
        }
    }
    Ok(done)
}
