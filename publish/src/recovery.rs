//! Removal of stale temporary files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;
use crate::listing::names_in;
use crate::temporary::{Claim, release, try_claim};
use crate::temporary_name::is_temporary_name;

/// What [`recover`] found, each list in the order of the names.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// Temporary files of dead writers, removed.
    pub removed: Vec<PathBuf>,
    /// Temporary files that a living process writes, or that another recovery is about to remove.
    pub in_use: Vec<PathBuf>,
    /// Temporary files that could not be judged or not be removed, and why. They do no harm but take space.
    pub left: Vec<(PathBuf, io::Error)>,
}

/// Removes the temporary files that dead writers have left in `folder`.
///
/// Only ordinary files whose name [is ours](is_temporary_name) are touched, and only when nobody holds their
/// lock, so this can run at any time, beside writers and beside itself, and can be killed and run again.
///
/// # Errors
///
/// When the folder cannot be listed. A file that cannot be removed is no error, but listed.
pub fn recover(system: &dyn FileSystem, folder: &Path) -> io::Result<Recovered> {
    let mut paths = Vec::new();
    for name in names_in(folder)? {
        if name.to_str().is_some_and(is_temporary_name) {
            paths.push(folder.join(name));
        }
    }
    paths.sort();

    let mut recovered = Recovered::default();
    for path in paths {
        match remove_if_stale(system, &path) {
            Ok(Outcome::Removed) => recovered.removed.push(path),
            Ok(Outcome::InUse) => recovered.in_use.push(path),
            Ok(Outcome::NotOurs) => {}
            // Published, or removed by its writer or by another recovery, in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => recovered.left.push((path, error)),
        }
    }
    Ok(recovered)
}

enum Outcome {
    Removed,
    InUse,
    NotOurs,
}

fn remove_if_stale(system: &dyn FileSystem, path: &Path) -> io::Result<Outcome> {
    // Opening a pipe would wait for a writer, and a symbolic link may lead anywhere.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(Outcome::NotOurs);
    }
    let file = File::open(path)?;
    match try_claim(&file) {
        // The lock is held until the file is gone: its writer, if it has only just created it, sees that.
        Claim::Held => {
            let removed = system.unlink(path);
            release(&file);
            removed.map(|()| Outcome::Removed)
        }
        Claim::InUse => Ok(Outcome::InUse),
        Claim::Unknown => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "there is no lock to tell whether its writer is alive"))
        }
    }
}
