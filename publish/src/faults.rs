//! File system that fails or dies at a chosen call, or whose disk is full at a chosen byte.
//!
//! Tests of every point of failure run once with [`Faults::none`] to count the calls, then once for each call and each
//! fault.
//!
//! ```
//! use chronoxide_publish::faults::{Effect, Fault, Faults, Outcome};
//! use chronoxide_publish::{Existing, publish};
//!
//! let folder = tempfile::tempdir()?;
//! let target = folder.path().join("metrics.cx");
//! let run = |system: &Faults| {
//!     publish(system, &target, Existing::Replace, |out| out.write_all(b"labels"), |_| Ok::<_, std::fmt::Error>(()))
//! };
//! let whole = Faults::none();
//! run(&whole)?;
//! for at in 0..whole.calls().len() {
//!     let full = Fault { at, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(28) };
//!     assert!(run(&Faults::with(full)).is_err());
//!     assert_eq!(std::fs::read(&target)?, b"labels");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::file_system::{Disk, FileSystem};

/// Errors of the operating system to try at each call: `EPERM`, `EIO`, `ENOMEM`, `EACCES`, `EBUSY`, `ENFILE`, `EMFILE`,
/// `ENOSPC`, `EROFS`, `EDQUOT`. All but the last have the same number on all Unix systems.
pub const ERRORS: [i32; 10] = [1, 5, 12, 13, 16, 23, 24, ENOSPC, 30, EDQUOT];

const ENOSPC: i32 = 28;
const EDQUOT: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 122 } else { 69 };

/// Method of [`FileSystem`] that was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the methods of the trait, which has the docs")]
pub enum Call {
    CreateTemporary,
    Write,
    SetMode,
    SyncFile,
    Open,
    RenameNew,
    RenameOver,
    CreateFolder,
    SyncFolder,
    Unlink,
}

/// Part of the failing call that takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// None.
    Nothing,
    /// Half of the bytes of a write; nothing of any other call.
    Half,
    /// The whole call, as if the response of a file server was lost.
    Whole,
}

/// Result that the caller gets from the failing call and later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Success; with [`Effect::Half`], a short write.
    Success,
    /// This error of the operating system once; later calls work.
    ErrorOnce(i32),
    /// This error from now on; later calls have no effect.
    ErrorFromThenOn(i32),
    /// Death of the process: no later call has an effect. They return errors so that the test ends.
    Death,
}

/// Failure of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fault {
    /// Number of the call, from 0.
    pub at: usize,
    /// Part of the call that takes effect.
    pub effect: Effect,
    /// Result that the caller gets.
    pub outcome: Outcome,
}

/// [`Disk`] with at most one [`Fault`], or with a limited capacity.
/// Clones count and fail together.
#[derive(Clone, Debug)]
pub struct Faults {
    fault: Option<Fault>,
    /// Capacity in bytes.
    room: u64,
    seen: Arc<Mutex<Seen>>,
}

/// Calls so far.
#[derive(Debug, Default)]
struct Seen {
    calls: Vec<Call>,
    written: u64,
}

impl Faults {
    /// Creates a file system without faults, which counts calls.
    #[must_use]
    pub fn none() -> Self {
        Self::full_after(u64::MAX)
    }

    /// Creates a file system with this fault.
    #[must_use]
    pub fn with(fault: Fault) -> Self {
        Faults { fault: Some(fault), ..Self::none() }
    }

    /// Creates a file system whose disk is full after `room` bytes. The write that exceeds it is short, and later
    /// writes fail with `ENOSPC`. Removing files frees no space.
    #[must_use]
    pub fn full_after(room: u64) -> Self {
        Faults { fault: None, room, seen: Arc::default() }
    }

    /// Returns the calls so far, including those without effect.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// Returns the bytes written so far, including those that overwrote others.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.lock().written
    }

    /// Returns true if the call with the fault was reached.
    #[must_use]
    pub fn struck(&self) -> bool {
        self.fault.is_some_and(|fault| fault.at < self.lock().calls.len())
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the call. Returns the part that takes effect, and the error for the caller if there is one.
    fn enter(&self, call: Call) -> (Effect, Option<io::Error>) {
        let calls = &mut self.lock().calls;
        let number = calls.len();
        calls.push(call);
        let Some(fault) = self.fault.filter(|fault| fault.at <= number) else {
            return (Effect::Whole, None);
        };
        let struck = fault.at == number;
        let effect = if struck { fault.effect } else { Effect::Nothing };
        match fault.outcome {
            Outcome::Success if struck => (effect, None),
            Outcome::ErrorOnce(code) if struck => (effect, Some(io::Error::from_raw_os_error(code))),
            Outcome::Success | Outcome::ErrorOnce(_) => (Effect::Whole, None),
            Outcome::ErrorFromThenOn(code) => (effect, Some(io::Error::from_raw_os_error(code))),
            Outcome::Death => (effect, Some(io::Error::other("the process is dead"))),
        }
    }

    /// Writes all bytes that fit, so that a run always makes the same number of calls.
    fn write_all(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        let written = &mut self.lock().written;
        let room = usize::try_from(self.room.saturating_sub(*written)).unwrap_or(usize::MAX);
        if room == 0 && !bytes.is_empty() {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        let some = &bytes[..bytes.len().min(room)];
        io::Write::write_all(&mut file, some)?;
        *written += some.len() as u64;
        Ok(some.len())
    }

    fn run<T>(&self, call: Call, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.enter(call) {
            (_, None) => act(),
            (Effect::Whole, Some(error)) => act().and(Err(error)),
            (Effect::Nothing | Effect::Half, Some(error)) => Err(error),
        }
    }
}

impl FileSystem for Faults {
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        self.run(Call::CreateTemporary, || Disk.create_temporary(folder))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let (effect, error) = self.enter(Call::Write);
        let count = match effect {
            Effect::Nothing => 0,
            Effect::Half => self.write_all(file, &bytes[..bytes.len() / 2])?,
            Effect::Whole => self.write_all(file, bytes)?,
        };
        error.map_or(Ok(count), Err)
    }

    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()> {
        self.run(Call::SetMode, || Disk.set_mode(file, mode))
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        self.run(Call::SyncFile, || Disk.sync_file(file))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.run(Call::Open, || Disk.open(path))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Call::RenameNew, || Disk.rename_new(from, to))
    }

    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Call::RenameOver, || Disk.rename_over(from, to))
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.run(Call::CreateFolder, || Disk.create_folder(folder))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.run(Call::SyncFolder, || Disk.sync_folder(folder))
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Unlink, || Disk.unlink(path))
    }
}
