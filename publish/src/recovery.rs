//! Removal of stale temporary files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;
use crate::listing::names_in;
use crate::temporary::{Claim, release, try_claim};
use crate::temporary_name::is_temporary_name;

/// Result of [`recover`], each list sorted by name.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// Removed temporary files of dead writers.
    pub removed: Vec<PathBuf>,
    /// Temporary files of living writers, or of another recovery that is removing them.
    pub in_use: Vec<PathBuf>,
    /// Temporary files that could not be checked or removed, with the error. They only take space.
    pub left: Vec<(PathBuf, io::Error)>,
}

/// Removes the temporary files that dead writers left in `folder`.
///
/// Only regular files with a [temporary name](is_temporary_name) are removed, and only if their lock is free. The call
/// is therefore safe at any time, concurrently with writers and other recoveries, and can be repeated after a kill.
///
/// # Errors
///
/// The folder cannot be listed. Files that cannot be removed are not an error; they are listed.
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
            // The file was published or removed in the meantime.
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
        // The lock is held until the file is removed: a writer that has just created it notices that.
        Claim::Held => {
            let removed = system.unlink(path);
            release(&file);
            removed.map(|()| Outcome::Removed)
        }
        Claim::InUse => Ok(Outcome::InUse),
        Claim::Unknown => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "the file system has no locks, so the writer may be alive"))
        }
    }
}
