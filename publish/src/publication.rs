//! The order of the calls.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{PublishError, Step};
use crate::file_system::FileSystem;
use crate::target::{Existing, Target};
use crate::temporary::Temporary;

/// Bytes gathered before a system call. Larger pieces that the caller writes go through as they are.
const BUFFER_LEN: usize = 256 * 1024;

/// What a file is written to: bytes in their order, and then those that can be known only at the end.
///
/// The file ends where the last byte of it stands, wherever that was written from. Moving around changes nothing,
/// but it writes out what is buffered: who needs to know the place after each piece had better count.
pub trait Output: Write + Seek {}

impl<W: Write + Seek + ?Sized> Output for W {}

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The target.
    pub path: PathBuf,
    /// The file's size in bytes.
    pub byte_len: u64,
}

/// The written file, opened again, before it has its name.
///
/// Nobody changes it while the verifier looks at it, so it may be mapped.
#[derive(Debug)]
pub struct Candidate<'a> {
    file: &'a File,
    path: &'a Path,
    byte_len: u64,
}

impl Candidate<'_> {
    /// The file, open to be read, at its beginning.
    pub fn file(&self) -> &File {
        self.file
    }

    /// The temporary name that the file has. It will not last.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// The file's size in bytes.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }
}

/// Publishes one file, whole or not at all.
///
/// In this order: creates a temporary file in the target's folder, lets `write` fill it, makes it durable, opens
/// it again and lets `verify` judge it, gives it the target's name, makes the folder durable. `write` gets a
/// buffered writer that can go back, to fill in a header at the end; flushing it is not needed. A call that makes something durable is made once: after it has
/// failed, the system may have dropped what it could not write, and a second call would succeed for no reason.
///
/// The file gets the mode of any new file (`0o666` less the umask), or that of the file that it replaces.
///
/// # Errors
///
/// After an error the target is what it was before, except as [`PublishError::may_be_in_place`] says, and the
/// temporary file is removed. If that fails too, or the process dies, [`recover`](crate::recover) removes it.
pub fn publish<E>(
    system: &dyn FileSystem,
    target: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Output) -> io::Result<()>,
    verify: impl FnOnce(&Candidate<'_>) -> Result<(), E>,
) -> Result<Published, PublishError<E>> {
    let target = Target::check(target, existing)?;
    let path = || target.path.to_path_buf();
    let failed = |step| move |source| PublishError::Io { path: path(), step, source };

    let mut temporary = Temporary::create(system, &target.folder).map_err(failed(Step::Create))?;
    if let Some(mode) = &target.mode {
        // Before the content, so that nobody reads what the replaced file's mode would have kept from them.
        system.set_mode(&temporary.file, mode.clone()).map_err(failed(Step::SetMode))?;
    }

    let written = fill(&temporary, write).map_err(failed(Step::Write))?;
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

/// Lets the caller write through a buffer; returns how long the file should be, by what the system took.
fn fill(temporary: &Temporary<'_>, write: impl FnOnce(&mut dyn Output) -> io::Result<()>) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(BUFFER_LEN, temporary.writer());
    write(&mut out)?;
    out.flush()?;
    Ok(out.get_ref().byte_len())
}
