//! Shared parts of the tests: a publication, and checks of the folder after it.

// Each test binary uses its own part.
#![allow(dead_code)]

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chronoxide_publish::{
    Candidate, Disk, Existing, FileSystem, Output, PublishError, Published, is_temporary_name, publish,
};

pub const ENOSPC: i32 = 28;
pub const EIO: i32 = 5;

/// The verifier read something else than was to be written.
#[derive(Debug, PartialEq, Eq)]
pub struct Differs {
    pub byte_len: usize,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} other bytes", self.byte_len)
    }
}

impl std::error::Error for Differs {}

/// Bytes that fill the writer's buffer a few times, and end somewhere in it.
pub fn content(seed: u8) -> Vec<u8> {
    (0..600_000_u32).map(|at| (at / 7) as u8 ^ seed).collect()
}

/// Publishes `bytes`, in pieces, and verifies them.
pub fn publish_bytes(
    system: &dyn FileSystem,
    target: &Path,
    existing: Existing,
    bytes: &[u8],
) -> Result<Published, PublishError<Differs>> {
    let write = |out: &mut dyn Output| -> io::Result<()> {
        for piece in bytes.chunks(70_000) {
            out.write_all(piece)?;
        }
        Ok(())
    };
    publish(system, target, existing, write, |candidate| same(candidate, bytes))
}

/// Publishes `bytes`, the first 4,096 of them last.
pub fn publish_header_last(
    system: &dyn FileSystem,
    target: &Path,
    existing: Existing,
    bytes: &[u8],
) -> Result<Published, PublishError<Differs>> {
    let (header, rest) = bytes.split_at(4096);
    let write = |out: &mut dyn Output| -> io::Result<()> {
        out.write_all(&[0; 4096])?;
        for piece in rest.chunks(70_000) {
            out.write_all(piece)?;
        }
        out.rewind()?;
        out.write_all(header)
    };
    publish(system, target, existing, write, |candidate| same(candidate, bytes))
}

pub fn same(candidate: &Candidate<'_>, bytes: &[u8]) -> Result<(), Differs> {
    let mut found = Vec::new();
    let read = candidate.file().read_to_end(&mut found);
    if read.is_ok() && found == bytes { Ok(()) } else { Err(Differs { byte_len: found.len() }) }
}

/// The temporary files in `folder`; panics over any other file but `target`.
pub fn temporaries(folder: &Path, target: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("the folder can be listed");
        if entry.path() == target {
            continue;
        }
        let name = entry.file_name();
        assert!(name.to_str().is_some_and(is_temporary_name), "{name:?} is not ours");
        found.push(entry.path());
    }
    found
}

/// The content of `target`, if it exists.
pub fn content_of(target: &Path) -> Option<Vec<u8>> {
    match fs::read(target) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", target.display()),
    }
}

/// Behavior of [`FileSystem::write`].
pub type WriteCall = dyn Fn(&File, &[u8]) -> io::Result<usize> + Send + Sync;

/// A disk with something of a test's own in two of its calls.
pub struct Rigged {
    /// Instead of writing.
    pub write: Box<WriteCall>,
    /// After a file was created.
    pub created: Box<dyn Fn(&Path) + Send + Sync>,
}

impl Default for Rigged {
    fn default() -> Self {
        Rigged { write: Box::new(|file, bytes| Disk.write(file, bytes)), created: Box::new(|_| {}) }
    }
}

impl std::fmt::Debug for Rigged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rigged").finish_non_exhaustive()
    }
}

impl FileSystem for Rigged {
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        let (file, path) = Disk.create_temporary(folder)?;
        (self.created)(&path);
        Ok((file, path))
    }
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        (self.write)(file, bytes)
    }
    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()> {
        Disk.set_mode(file, mode)
    }
    fn sync_file(&self, file: &File) -> io::Result<()> {
        Disk.sync_file(file)
    }
    fn open(&self, path: &Path) -> io::Result<File> {
        Disk.open(path)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename_new(from, to)
    }
    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename_over(from, to)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        Disk.sync_folder(folder)
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        Disk.unlink(path)
    }
}
