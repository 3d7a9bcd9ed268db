//! Temporary files: creation, locks and removal.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Attempts to create a temporary file. Recovery can mistake a new file for a stale one between its creation and its
/// lock. That is rare; many times in a row means another problem.
const CREATION_ATTEMPTS: usize = 16;

/// Temporary file. Dropping it before it is renamed removes it, if possible.
pub(crate) struct Temporary<'a> {
    system: &'a dyn FileSystem,
    /// Open and locked until the file is renamed or removed.
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    named: bool,
}

impl<'a> Temporary<'a> {
    pub(crate) fn create(system: &'a dyn FileSystem, folder: &Path) -> io::Result<Self> {
        for _ in 0..CREATION_ATTEMPTS {
            let (file, path) = system.create_temporary(folder)?;
            let temporary = Temporary { system, file, path, named: false };
            match try_claim(&temporary.file) {
                // Recovery may have locked and removed the file before this.
                Claim::Held if !exists(&temporary.path) => {}
                Claim::Held | Claim::Unknown => return Ok(temporary),
                Claim::InUse => {}
            }
        }
        Err(io::Error::other("recovery removed every file that was created"))
    }

    /// Returns a writer through the file system. After the first error all writes fail.
    pub(crate) fn writer(&self) -> TemporaryWriter<'_> {
        TemporaryWriter { system: self.system, file: &self.file, position: 0, byte_len: 0, failed: false }
    }

    /// Removes the file and returns the result, which dropping would ignore.
    pub(crate) fn remove(mut self) -> io::Result<()> {
        self.named = true;
        self.system.unlink(&self.path)
    }

    /// Records that the file was renamed.
    pub(crate) fn set_named(&mut self) {
        self.named = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.named {
            // An earlier error is already reported. Recovery removes the file if this fails.
            let _ = self.system.unlink(&self.path);
        }
        release(&self.file);
    }
}

pub(crate) struct TemporaryWriter<'a> {
    system: &'a dyn FileSystem,
    file: &'a File,
    /// Position of the next byte, by the bytes that the system accepted.
    position: u64,
    byte_len: u64,
    failed: bool,
}

impl TemporaryWriter<'_> {
    /// Returns the end of the last byte that the system accepted.
    pub(crate) fn byte_len(&self) -> u64 {
        self.byte_len
    }

    fn check(&self) -> io::Result<()> {
        // A dropped `BufWriter` writes its buffer again, and a caller may ignore an error.
        if self.failed { Err(io::Error::other("an earlier write failed")) } else { Ok(()) }
    }
}

impl Write for TemporaryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        match self.system.write(self.file, bytes) {
            Ok(count) => {
                self.position += count as u64;
                self.byte_len = self.byte_len.max(self.position);
                Ok(count)
            }
            Err(error) => {
                self.failed = error.kind() != io::ErrorKind::Interrupted;
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.check()
    }
}

impl Seek for TemporaryWriter<'_> {
    /// `SeekFrom::End` counts from the bytes written, not from the length of the file. If these differ, the length
    /// check of publication fails.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.check()?;
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.byte_len.checked_add_signed(by),
        };
        let position = position.ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = self.file;
        self.position = file.seek(SeekFrom::Start(position))?;
        Ok(self.position)
    }
}

/// Result of trying to lock a temporary file.
pub(crate) enum Claim {
    /// The lock is held until the file is closed.
    Held,
    /// Another process holds the lock.
    InUse,
    /// The file system has no locks.
    Unknown,
}

/// Tries to lock a temporary file, without waiting.
///
/// Some file systems have no locks (NFS without its daemon), and on Windows a lock prevents reading, including
/// verification. A writer then continues without a lock, and recovery removes nothing.
pub(crate) fn try_claim(file: &File) -> Claim {
    if cfg!(not(unix)) {
        return Claim::Unknown;
    }
    match file.try_lock() {
        Ok(()) => Claim::Held,
        Err(TryLockError::WouldBlock) => Claim::InUse,
        Err(TryLockError::Error(_)) => Claim::Unknown,
    }
}

/// Releases the lock of a file.
///
/// Closing the file is not enough: a child process between fork and exec inherits the open file, and its lock. If
/// unlocking fails, the lock ends when the last copy is closed.
pub(crate) fn release(file: &File) {
    let _ = file.unlock();
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::Temporary;
    use crate::{
        Disk,
        faults::{Effect, Fault, Faults, Outcome},
        recover,
    };

    #[test]
    fn a_writer_that_fails_leaves_its_file_to_recovery_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let system = Faults::with(Fault { at: 1, effect: Effect::Nothing, outcome: Outcome::Death });
        let temporary = Temporary::create(&system, folder.path()).expect("the first call works");
        // The copy of a child process between fork and exec.
        let inherited = temporary.file.try_clone().expect("one more file");
        let path = temporary.path.clone();
        drop(temporary);
        assert!(path.exists(), "it could not be removed");
        let recovered = recover(&Disk, folder.path()).expect("a folder");
        assert_eq!((recovered.removed, recovered.in_use), (vec![path], vec![]));
        drop(inherited);
    }
}
