//! System calls that change files, behind one trait.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::temporary_name::{RANDOM_LEN, TEMPORARY_PREFIX};

/// Calls that change a folder or a file, and the call that reads a written file back.
///
/// This crate makes these calls from one thread in a fixed order, so the n-th call of a run is always the same.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates an empty file with a new name in `folder`: [`TEMPORARY_PREFIX`] and random letters and digits.
    ///
    /// The file gets the mode of any new file: `0o666` less the process's umask, or the folder's default ACL.
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)>;

    /// Writes a prefix of `bytes` at the position of `file`, advances the position, and returns the length of the
    /// prefix.
    ///
    /// Seeking changes no data, and is done on the file itself.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;

    /// Sets the permissions of `file`.
    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()>;

    /// Syncs the content and the metadata of `file` to disk.
    fn sync_file(&self, file: &File) -> io::Result<()>;

    /// Opens a written file for reading. It changes nothing, but tests make it fail like the others.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Renames the file `from` to `to`, which must not exist.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if `to` exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames the file `from` to `to`, and replaces a file with that name.
    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Creates the folder `folder` in an existing one.
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)
    }

    /// Syncs `folder` to disk, which makes its names durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes the file `path`.
    fn unlink(&self, path: &Path) -> io::Result<()>;
}

/// File system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        // `tempfile()` creates files with mode 0o600. Widening that by the umask would need its value, which can only
        // be read by setting it for all threads. The kernel applies the umask if the file is opened in the ordinary
        // way.
        let created = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .suffix("")
            .rand_bytes(RANDOM_LEN)
            // Removal goes through `unlink` of this trait.
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
        // `renameat2(RENAME_NOREPLACE)` if the file system has it, else a hard link and an unlink. A kill between the
        // two leaves the complete file under both names, and recovery removes the temporary one.
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

    /// Windows has no call that syncs a folder. Its file systems journal names.
    #[cfg(not(unix))]
    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
