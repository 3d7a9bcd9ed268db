//! Durable creation of folders.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Error of [`make_folder`].
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {}", path.display(), if *is_made { "sync the folder to disk" } else { "create the folder" })]
pub struct MakeFolderError {
    /// Folder that cannot be created or synced.
    pub path: PathBuf,
    /// True if the folder was created, and syncing it failed.
    pub is_made: bool,
    /// Error of the operating system.
    pub source: io::Error,
}

/// Creates a folder and its missing ancestors, and makes their names durable.
///
/// Each folder is synced before the next one is created in it. The lowest existing folder is synced too, because a
/// killed run may have created it just before. The call can therefore be repeated after a kill.
///
/// # Errors
/// Stops at the first folder that cannot be created or synced. Missing permission to sync the parent of an existing
/// folder is not an error.
pub fn make_folder(system: &dyn FileSystem, folder: &Path) -> Result<(), MakeFolderError> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    if let Some(existing) = folder.ancestors().nth(missing.len())
        && let Some(above) = above(existing)
        && let Err(source) = system.sync_folder(above)
        && source.kind() != io::ErrorKind::PermissionDenied
    {
        return Err(MakeFolderError { path: existing.to_path_buf(), is_made: true, source });
    }
    for path in missing.into_iter().rev() {
        let failed = |is_made| move |source| MakeFolderError { path: path.to_path_buf(), is_made, source };
        match system.create_folder(path) {
            // Another process created it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
        .map_err(failed(false))?;
        if let Some(above) = above(path) {
            system.sync_folder(above).map_err(failed(true))?;
        }
    }
    Ok(())
}

/// Returns the parent of a folder, or `None` for the root and for the empty path.
fn above(path: &Path) -> Option<&Path> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(Path::new(".")),
        parent => parent,
    }
}
