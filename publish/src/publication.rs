//! Publication of a file: [`publish`] and [`publish_in`].

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{PublishError, Step};
use crate::file_system::FileSystem;
use crate::target::{Existing, Target};
use crate::temporary::Temporary;

/// Size of the write buffer in bytes. Larger pieces bypass it.
const BUFFER_LEN: usize = 256 * 1024;

/// Writer of a file that can seek, for example to fill in a header at the end.
///
/// The file ends after its last written byte, whatever the final position is. Seeking flushes the buffer: to know the
/// position after each piece, count bytes instead.
pub trait Output: Write + Seek {}

impl<W: Write + Seek + ?Sized> Output for W {}

/// Published file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// Path of the file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub byte_len: u64,
}

/// Written file, reopened for verification before it gets its name.
///
/// The file does not change during verification, so it may be mapped.
#[derive(Debug)]
pub struct Candidate<'a> {
    file: &'a File,
    path: &'a Path,
    byte_len: u64,
}

impl Candidate<'_> {
    /// Returns the file, open for reading at its start.
    #[must_use]
    pub fn file(&self) -> &File {
        self.file
    }

    /// Returns the temporary path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }
}

/// Publishes one file, completely or not at all.
///
/// The steps are: create a temporary file in the target's folder, call `write` to fill it, sync it to disk, reopen it
/// and call `verify`, rename it to the target, sync the folder. `write` gets a buffered writer that can seek, and need
/// not flush it. Syncs are not retried: after a failed sync the system may have dropped the data, and a second sync
/// would succeed wrongly.
///
/// The file gets the mode of any new file (`0o666` less the umask), or the mode of the file that it replaces.
///
/// # Errors
///
/// After an error the target is unchanged, except as documented at [`PublishError::may_be_in_place`], and the temporary
/// file is removed. If the removal fails or the process dies, [`recover`](crate::recover) removes it.
pub fn publish<E>(
    system: &dyn FileSystem,
    target: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Output) -> io::Result<()>,
    verify: impl FnOnce(&Candidate<'_>) -> Result<(), E>,
) -> Result<Published, PublishError<E>> {
    let target = Target::check(target, existing)?;
    let mut draft = Draft::create(system, target.path, &target.folder)?;
    if let Some(mode) = &target.mode {
        // Before the content is written: the mode of the replaced file may keep it secret.
        let failed = |source| PublishError::Io { path: target.path.to_path_buf(), step: Step::SetMode, source };
        system.set_mode(&draft.temporary.file, mode.clone()).map_err(failed)?;
    }
    let ((), written) = draft.fill(target.path, write)?;
    draft.finish(&target, existing, written, verify)
}

/// Publishes one file whose name is known when it is written, as [`publish`] does: `write` returns the name in the
/// folder. An existing file is not replaced.
///
/// # Errors
///
/// Those of [`publish`]. Errors before the name is known have the path of the folder.
pub fn publish_in<E>(
    system: &dyn FileSystem,
    folder: &Path,
    write: impl FnOnce(&mut dyn Output) -> io::Result<String>,
    verify: impl FnOnce(&Candidate<'_>) -> Result<(), E>,
) -> Result<Published, PublishError<E>> {
    let mut draft = Draft::create(system, folder, folder)?;
    let (name, written) = draft.fill(folder, write)?;
    let path = folder.join(name);
    let target = Target::check(&path, Existing::Refuse)?;
    draft.finish(&target, Existing::Refuse, written, verify)
}

/// Makes an existing file and its name durable: the process that published it may have died before that.
///
/// # Errors
/// The file cannot be opened, or it or its folder cannot be synced.
pub fn make_durable(system: &dyn FileSystem, path: &Path) -> io::Result<()> {
    let file = system.open(path)?;
    // Other systems sync only files that are open for writing.
    if cfg!(unix) {
        system.sync_file(&file)?;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    system.sync_folder(folder.unwrap_or(Path::new(".")))
}

/// A file under its temporary name.
struct Draft<'a> {
    system: &'a dyn FileSystem,
    temporary: Temporary<'a>,
}

impl<'a> Draft<'a> {
    /// Creates an empty file in the folder. Errors have the path `named`.
    fn create<E>(system: &'a dyn FileSystem, named: &Path, folder: &Path) -> Result<Self, PublishError<E>> {
        let failed = |source| PublishError::Io { path: named.to_path_buf(), step: Step::Create, source };
        Ok(Self { system, temporary: Temporary::create(system, folder).map_err(failed)? })
    }

    /// Calls `write` with a buffered writer. Returns its result, and the length that the file should have.
    fn fill<T, E>(
        &mut self,
        named: &Path,
        write: impl FnOnce(&mut dyn Output) -> io::Result<T>,
    ) -> Result<(T, u64), PublishError<E>> {
        let failed = |source| PublishError::Io { path: named.to_path_buf(), step: Step::Write, source };
        fill(&self.temporary, write).map_err(failed)
    }

    /// Syncs the file, verifies it, and gives it its name.
    fn finish<E>(
        mut self,
        target: &Target<'_>,
        existing: Existing,
        written: u64,
        verify: impl FnOnce(&Candidate<'_>) -> Result<(), E>,
    ) -> Result<Published, PublishError<E>> {
        let (system, temporary) = (self.system, &mut self.temporary);
        let path = || target.path.to_path_buf();
        let failed = |step| move |source| PublishError::Io { path: path(), step, source };
        system.sync_file(&temporary.file).map_err(failed(Step::SyncFile))?;

        let reopened = system.open(&temporary.path).map_err(failed(Step::Reopen))?;
        let found = reopened.metadata().map_err(failed(Step::Reopen))?.len();
        if found != written {
            return Err(PublishError::LengthDiffers { path: path(), written, found });
        }
        let candidate = Candidate { file: &reopened, path: &temporary.path, byte_len: found };
        verify(&candidate).map_err(|source| PublishError::Unverified { path: path(), source })?;

        match existing {
            Existing::Refuse => system.rename_new(&temporary.path, target.path),
            Existing::Replace => system.rename_over(&temporary.path, target.path),
        }
        .map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => PublishError::Exists { path: path() },
            _ => failed(Step::Rename)(source),
        })?;
        temporary.set_named();
        system.sync_folder(&target.folder).map_err(failed(Step::SyncFolder))?;
        Ok(Published { path: path(), byte_len: found })
    }
}

/// Calls `write` with a buffered writer. Returns its result, and the length that the file should have, by the bytes
/// that the system accepted.
fn fill<T>(temporary: &Temporary<'_>, write: impl FnOnce(&mut dyn Output) -> io::Result<T>) -> io::Result<(T, u64)> {
    let mut out = BufWriter::with_capacity(BUFFER_LEN, temporary.writer());
    let result = write(&mut out)?;
    out.flush()?;
    Ok((result, out.get_ref().byte_len()))
}
