//! Scratch data of a job, in memory or in a temporary file: [`Spool`].

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;
use crate::temporary::Temporary;

/// Size of a write in bytes, once there is a file. A job has many spools, each with its own buffer.
const PIECE_LEN: usize = 64 * 1024;

/// Scratch bytes that are appended and then read any number of times in any order.
///
/// Up to a limit they are in memory. Beyond it all of them are in a temporary file, except for at most 64 KiB in a
/// buffer. The file is locked and named like those of [`publish`](crate::publish). It is never synced, and is removed
/// with the spool; [`recover`](crate::recover) removes the files of dead jobs.
///
/// ```
/// use chronoxide_publish::{Disk, Spool};
///
/// let folder = tempfile::tempdir()?;
/// let mut spool = Spool::new(&Disk, folder.path(), 4);
/// spool.append(b"a pod's ")?;
/// let at = spool.byte_len();
/// spool.append(b"labels")?;
///
/// let mut read = [0; 6];
/// spool.contents().read_exact_at(at, &mut read)?;
/// assert_eq!(&read, b"labels");
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
/// spool.close()?;
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spool<'a> {
    system: &'a dyn FileSystem,
    folder: PathBuf,
    memory_len: usize,
    /// Bytes after those in the file.
    tail: Vec<u8>,
    spilled: Option<Temporary<'a>>,
    /// Number of bytes in the file.
    spilled_len: u64,
    failed: bool,
}

impl<'a> Spool<'a> {
    /// Creates an empty spool. Beyond `memory_len` bytes it creates a file in `folder`.
    pub fn new(system: &'a dyn FileSystem, folder: &Path, memory_len: usize) -> Self {
        let folder = folder.to_path_buf();
        Spool { system, folder, memory_len, tail: Vec::new(), spilled: None, spilled_len: 0, failed: false }
    }

    /// Returns the number of appended bytes, which is the offset of the next one.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.spilled_len + self.tail.len() as u64
    }

    /// Returns true if there is a file.
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The file cannot be created or written. All later calls fail.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        if self.failed {
            return Err(self.error(SpoolStep::Write, io::Error::other("an earlier write failed")));
        }
        let limit = if self.is_spilled() { PIECE_LEN } else { self.memory_len };
        if bytes.len() <= limit.saturating_sub(self.tail.len()) {
            let needed = self.tail.len() + bytes.len();
            if needed > self.tail.capacity() {
                // A `Vec` would double its capacity beyond the limit.
                let capacity = needed.max(self.tail.capacity().saturating_mul(2).min(limit));
                self.tail.reserve_exact(capacity - self.tail.len());
            }
            self.tail.extend_from_slice(bytes);
            return Ok(());
        }
        let appended = self.spill(bytes);
        self.failed = appended.is_err();
        appended
    }

    /// Writes the tail and `bytes` to the file, except for a rest that is shorter than a piece.
    fn spill(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        if self.spilled.is_none() {
            let created = Temporary::create(self.system, &self.folder);
            self.spilled = Some(created.map_err(|source| self.error(SpoolStep::Create, source))?);
        }
        let mut tail = mem::take(&mut self.tail);
        // Fill short pieces first, so that writes are pieces of 64 KiB whatever the lengths of appends are.
        let fill = PIECE_LEN.saturating_sub(tail.len()).min(bytes.len());
        let (fill, rest) = bytes.split_at(fill);
        tail.extend_from_slice(fill);
        if tail.len() >= PIECE_LEN {
            self.write(&tail)?;
            tail.clear();
        }
        let whole = if rest.len() >= PIECE_LEN { rest.len() } else { 0 };
        let (whole, rest) = rest.split_at(whole);
        self.write(whole)?;
        tail.extend_from_slice(rest);
        // Before there was a file, the buffer may have been much larger.
        tail.shrink_to(PIECE_LEN);
        self.tail = tail;
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), SpoolError> {
        while let (Some(temporary), false) = (&self.spilled, bytes.is_empty()) {
            let mut file = &temporary.file;
            // Restores the position on systems where reading at an offset moves it.
            let moved = file.seek(SeekFrom::Start(self.spilled_len));
            match moved.and_then(|_| self.system.write(file, bytes)) {
                Ok(0) => return Err(self.error(SpoolStep::Write, io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.spilled_len += count as u64;
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error(SpoolStep::Write, error)),
            }
        }
        Ok(())
    }

    /// Returns the bytes so far. Any number of threads may read them.
    #[must_use]
    pub fn contents(&self) -> Contents<'_> {
        let file = self.spilled.as_ref().map(|temporary| &temporary.file);
        Contents { path: self.path(), file, file_len: self.spilled_len, tail: &self.tail, failed: self.failed }
    }

    /// Removes the file, if there is one, and returns errors, which dropping the spool ignores.
    ///
    /// # Errors
    /// The file cannot be removed. It only takes space; [`recover`](crate::recover) removes it.
    pub fn close(mut self) -> Result<(), SpoolError> {
        let Some(temporary) = self.spilled.take() else {
            return Ok(());
        };
        let path = temporary.path.clone();
        match temporary.remove() {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(SpoolError { path, step: SpoolStep::Remove, source })
            }
            _ => Ok(()),
        }
    }

    fn path(&self) -> &Path {
        self.spilled.as_ref().map_or(&self.folder, |temporary| &temporary.path)
    }

    fn error(&self, step: SpoolStep, source: io::Error) -> SpoolError {
        SpoolError { path: self.path().to_path_buf(), step, source }
    }
}

impl fmt::Debug for Spool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool")
            .field("path", &self.path())
            .field("byte_len", &self.byte_len())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// Bytes of a [`Spool`]. Nothing can be appended while it is borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    path: &'a Path,
    file: Option<&'a File>,
    file_len: u64,
    tail: &'a [u8],
    failed: bool,
}

impl<'a> Contents<'a> {
    /// Returns the number of bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.file_len + self.tail.len() as u64
    }

    /// Returns the path of the temporary file, or of the folder if there is no file.
    #[must_use]
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Fills `out` with the bytes starting at `offset`.
    ///
    /// # Errors
    /// The range exceeds the bytes, or the file cannot be read.
    pub fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<(), SpoolError> {
        self.fill(offset, out).map_err(|source| SpoolError {
            path: self.path.to_path_buf(),
            step: SpoolStep::Read,
            source,
        })
    }

    fn fill(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let end = offset.checked_add(out.len() as u64).filter(|end| *end <= self.byte_len());
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let in_file = usize::try_from(self.file_len.saturating_sub(offset)).map_or(out.len(), |len| len.min(out.len()));
        let (from_file, from_tail) = out.split_at_mut(in_file);
        if let (Some(file), false) = (self.file, from_file.is_empty()) {
            read_exact_at(file, from_file, offset)?;
        }
        if !from_tail.is_empty() {
            let skip = usize::try_from(offset.saturating_sub(self.file_len)).map_err(io::Error::other)?;
            from_tail.copy_from_slice(&self.tail[skip..][..from_tail.len()]);
        }
        Ok(())
    }

    /// Returns a reader of `range`, limited to the end of the bytes. It is not buffered.
    #[must_use]
    pub fn reader(&self, range: Range<u64>) -> ContentsReader<'a> {
        ContentsReader { contents: *self, range: range.start..range.end.min(self.byte_len()) }
    }
}

/// Reader of a range of [`Contents`].
#[derive(Debug, Clone)]
pub struct ContentsReader<'a> {
    contents: Contents<'a>,
    range: Range<u64>,
}

impl Read for ContentsReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end.saturating_sub(self.range.start);
        let len = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        // The error keeps its path: callers can get it from the `io::Error`.
        let read = self.contents.read_exact_at(self.range.start, &mut out[..len]);
        read.map_err(|error| io::Error::new(error.source.kind(), error))?;
        self.range.start += len as u64;
        Ok(len)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                out = &mut out[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Operation of a [`Spool`] that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpoolStep {
    /// Creating the temporary file.
    Create,
    /// Writing to the file.
    Write,
    /// Reading bytes.
    Read,
    /// Removing the file.
    Remove,
}

impl fmt::Display for SpoolStep {
    /// Completes the sentence "cannot ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpoolStep::Create => "create a temporary file in it",
            SpoolStep::Write => "write scratch data",
            SpoolStep::Read => "read scratch data",
            SpoolStep::Remove => "remove scratch data",
        })
    }
}

/// Error of a [`Spool`].
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {step}", path.display())]
pub struct SpoolError {
    /// Path of the temporary file, or of the folder if there is no file.
    pub path: PathBuf,
    /// Operation that failed.
    pub step: SpoolStep,
    /// Error of the operating system.
    pub source: io::Error,
}
