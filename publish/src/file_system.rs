//! The seam of file-changing system calls.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::temporary_name::{RANDOM_LEN, TEMPORARY_PREFIX};

/// Every call that changes a folder or a file, one method each, and the one call that reads a file again.
///
/// Everything in this crate makes these calls from one thread and in a fixed order, so the n-th call of a run is
/// always the same one.
pub trait FileSystem {
    /// Creates an empty file with a new name in `folder`: [`TEMPORARY_PREFIX`] and random letters and digits.
    ///
    /// The file gets the mode that any new file gets: `0o666` less the process's umask, or what the folder's
    /// default ACL says.
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)>;

    /// Writes some of `bytes` at the place where `file` stands, moves it on, and returns how many.
    ///
    /// Moving to another place changes nothing, and is done to the file itself.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;

    /// Sets who may read and write `file`.
    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()>;

    /// Makes the content and the metadata of `file` durable.
    fn sync_file(&self, file: &File) -> io::Result<()>;

    /// Opens the file that was written, to read it. Changes nothing, but fails like the others.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Gives the file `from` the name `to`, unless something has that name:
    /// then the error is of the kind [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives the file `from` the name `to`, in place of the file that had it.
    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the folder `folder`, in one that exists.
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)
    }

    /// Makes the names in `folder` durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes the file `path`.
    fn unlink(&self, path: &Path) -> io::Result<()>;
}

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        // `tempfile()` would create with mode 0o600, and widening that to what the umask allows means to read
        // the umask, which can only be done by setting it, for all threads at once. Opened in the ordinary way,
        // the kernel applies it.
        let created = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .suffix("")
            .rand_bytes(RANDOM_LEN)
            // Removal is a changing call too, and goes through `unlink`.
            .disable_cleanup(true)
            .make_in(folder, |path| File::options().read(true).write(true).create_new(true).open(path))?;
        let path = created.path().to_path_buf();
        Ok((created.into_file(), path))
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()> {
        file.set_permissions(mode)
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        // `renameat2(RENAME_NOREPLACE)` where the file system has it, else a hard link and an unlink: a kill in
        // between leaves the whole file under both names, and recovery removes the temporary one.
        tempfile::TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|refused| {
            let mut path = refused.path;
            path.disable_cleanup(true);
            refused.error
        })
    }

    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    /// Windows has no call that syncs a folder; its file systems journal their names.
    #[cfg(not(unix))]
    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
