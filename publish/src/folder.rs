//! Folders that are made for good.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Why a folder cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {}", path.display(), if *is_made { "make the folder durable" } else { "make the folder" })]
pub struct MakeFolderError {
    /// The folder that cannot be made, or the one whose names cannot be made durable.
    pub path: PathBuf,
    /// True if making it durable failed.
    pub is_made: bool,
    /// Error of the operating system.
    pub source: io::Error,
}

/// Makes a folder, and all above it that are missing, and makes their names durable.
///
/// Each folder is made durable before the next one is made in it. The lowest folder that exists is made durable too: a
/// run that was killed may have made it just before. So this can be killed and run again.
///
/// # Errors
/// Stops at the first folder that cannot be made or synced. A folder that existed before stays as it is if the folder
/// above it may not be read.
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
            // Another run made it meanwhile.
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

/// The folder that has the name of this one; none for the root, and for the current folder under the empty name.
fn above(path: &Path) -> Option<&Path> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(Path::new(".")),
        parent => parent,
    }
}
