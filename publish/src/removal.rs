//! Removal of files that are no longer needed.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// What [`remove_files`] did, each list in the order that was given.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// Files that are gone now.
    pub removed: Vec<PathBuf>,
    /// Files that were gone before.
    pub missing: Vec<PathBuf>,
}

/// Why not all files were removed, or not for good.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}; {} removed, {} left", path.display(), self.what(), removed.len(), left.len())]
pub struct RemoveError {
    /// The file that cannot be removed, or the folder that cannot be synced.
    pub path: PathBuf,
    /// Files that are gone. Until their folder is synced, a loss of power may bring them back.
    pub removed: Vec<PathBuf>,
    /// Files that were not tried, after the one that failed, which may be gone all the same. None if it was a folder.
    pub left: Vec<PathBuf>,
    /// What the operating system says.
    pub source: io::Error,
}

impl RemoveError {
    fn what(&self) -> &'static str {
        if self.left.is_empty() { "cannot make the removal of files durable" } else { "cannot remove it" }
    }
}

/// Removes files one by one in this order, then makes their folders durable, each once.
///
/// A file that is missing is no error, so this can be killed and run again. What each file is, is not looked at.
///
/// # Errors
/// Stops at the first error, and says what was removed and what was left.
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
    // Also those where nothing was removed: it may have been removed by a run that was killed before this.
    for folder in folders {
        if let Err(source) = system.sync_folder(folder) {
            let (path, left) = (folder.to_path_buf(), Vec::new());
            return Err(RemoveError { path, removed: done.removed, left, source });
        }
    }
    Ok(done)
}
