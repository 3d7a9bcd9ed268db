//! [`Backing`]: the bytes of an open file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::{OpenError, mapping};

/// The bytes of a block or a remap. Every variant returns the same immutable bytes on each call: a check made once
/// stays valid.
#[derive(Debug)]
pub(crate) enum Backing {
    Map(Mmap),
    Heap(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Backing {
    /// Maps a file.
    ///
    /// # Safety
    /// The contract of [`mapping::map`].
    pub(crate) unsafe fn map(path: &Path) -> Result<Self, OpenError> {
        refuse_pipe(path)?;
        let (file, len) = open(path)?;
        if len == 0 {
            // An empty file cannot be mapped, and is not a valid block.
            return Ok(Self::Heap(Vec::new()));
        }
        // SAFETY: the caller keeps the same contract.
        Ok(Self::Map(unsafe { mapping::map(&file) }.map_err(|source| OpenError::io(path, source))?))
    }

    /// Reads a file into memory. Of a file that does not begin with the magic, only as many bytes: it may be of any
    /// size.
    pub(crate) fn read(path: &Path, magic: &[u8; 8]) -> Result<Self, OpenError> {
        let io = |source| OpenError::io(path, source);
        let (mut file, len) = open(path)?;
        let mut bytes = Vec::new();
        file.by_ref().take(8).read_to_end(&mut bytes).map_err(io)?;
        if bytes == magic {
            bytes.try_reserve(len).map_err(|_| io(io::ErrorKind::OutOfMemory.into()))?;
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        Ok(Self::Heap(bytes))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Heap(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Returns an error for a pipe or a device: opening a pipe waits for a writer.
pub(crate) fn refuse_pipe(path: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            Err(OpenError::io(path, io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")))
        }
        // A missing file is reported when it is opened.
        _ => Ok(()),
    }
}

/// Opens a file and returns its length. Returns an error for folders and for files that cannot be addressed.
fn open(path: &Path) -> Result<(File, usize), OpenError> {
    let io = |source| OpenError::io(path, source);
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(io(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let len = metadata.len();
    let addressed = usize::try_from(len).map_err(|_| OpenError::TooLarge { path: path.to_owned(), len })?;
    Ok((file, addressed))
}
