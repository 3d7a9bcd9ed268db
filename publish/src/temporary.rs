//! Temporary files: creation, locks and removal.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Recovery can take a new file for a stale one between its creation and its lock. It happens once in a blue
/// moon; many times in a row means that something else is wrong.
const CREATION_ATTEMPTS: usize = 16;

/// A file on its way to a name. Dropped before that, it is removed as well as the system allows.
pub(crate) struct Temporary<'a> {
    system: &'a dyn FileSystem,
    /// Open, and with it locked, until the file has its name or is gone.
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
                // Recovery may have had the lock, removed the file and left, all before this.
                Claim::Held if !exists(&temporary.path) => {}
                Claim::Held | Claim::Unknown => return Ok(temporary),
                Claim::InUse => {}
            }
        }
        Err(io::Error::other("recovery removed every file that was created"))
    }

    /// Everything written to it goes through the seam, and stops for good at the first error.
    pub(crate) fn writer(&self) -> TemporaryWriter<'_> {
        TemporaryWriter { system: self.system, file: &self.file, position: 0, byte_len: 0, failed: false }
    }

    /// Removes it before it is dropped, and says how that went.
    pub(crate) fn remove(mut self) -> io::Result<()> {
        self.named = true;
        self.system.unlink(&self.path)
    }

    /// The file has its name now.
    pub(crate) fn set_named(&mut self) {
        self.named = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.named {
            // The first error is the one to report. What cannot be removed is left to recovery.
            let _ = self.system.unlink(&self.path);
        }
        release(&self.file);
    }
}

pub(crate) struct TemporaryWriter<'a> {
    system: &'a dyn FileSystem,
    file: &'a File,
    /// Where the next byte goes, by what the system said it took.
    position: u64,
    byte_len: u64,
    failed: bool,
}

impl TemporaryWriter<'_> {
    /// The end of the last byte that the system took.
    pub(crate) fn byte_len(&self) -> u64 {
        self.byte_len
    }

    fn check(&self) -> io::Result<()> {
        // A `BufWriter` tries again what it holds when it is dropped, and a caller may overlook an error.
        if self.failed { Err(io::Error::other("writing has failed before")) } else { Ok(()) }
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
    /// Counts from what was written, not from what the file holds: should the two differ, the lengths tell.
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

/// Whether a temporary file belongs to a living process.
pub(crate) enum Claim {
    /// It is ours now, until the file is closed.
    Held,
    /// Another process has it.
    InUse,
    /// There is no lock to be had here, so nobody can tell.
    Unknown,
}

/// Takes the lock of a temporary file, without waiting.
///
/// Some file systems have no locks (NFS without its daemon), and on Windows a lock keeps others from reading,
/// verification included. There a writer goes on without one, and recovery removes nothing.
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

/// Gives the lock of a file back. Closing would do, but for a process that is being started meanwhile: until it becomes another program it has whatever is
/// open here, and the lock with it. What cannot be given back goes with the file.
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
        // What a process has that is being started at that moment.
        let inherited = temporary.file.try_clone().expect("one more file");
        let path = temporary.path.clone();
        drop(temporary);
        assert!(path.exists(), "it could not be removed");
        let recovered = recover(&Disk, folder.path()).expect("a folder");
        assert_eq!((recovered.removed, recovered.in_use), (vec![path], vec![]));
        drop(inherited);
    }
}
