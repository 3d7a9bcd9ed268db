//! A remap and the bytes that it is.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chronoxide_format::remap::{RemapError, RemapView};

use crate::OpenError;
use crate::backing::Backing;
use crate::block::file_len;
use crate::mapping;

/// What became of the series of a block in a compaction, open to be read by any number of threads.
///
/// ```no_run
/// use chronoxide_reader::{Remap, SeriesRef};
///
/// let remap = Remap::read("remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr")?;
/// let view = remap.view()?;
/// match view.get(SeriesRef(7))? {
///     Some(target) => println!("series {} of {}", target.series, view.output(target.output).expect("it is one of them").0),
///     None => println!("dropped"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Remap {
    backing: Backing,
}

impl Remap {
    /// Opens a remap as a memory map, and checks its checksums.
    ///
    /// # Safety
    /// As for [`Block::map`](crate::Block::map): for as long as the remap lives, the file must be neither truncated nor changed.
    ///
    /// # Errors
    /// A file that cannot be opened or mapped, is no remap, or is damaged.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let io = |source| OpenError::io(path, source);
        let file = File::open(path).map_err(io)?;
        let backing = if file_len(&file, path)? == 0 {
            // An empty file cannot be mapped, and is no remap anyway.
            Backing::Heap(Vec::new())
        } else {
            // SAFETY: the caller keeps the same contract.
            Backing::Map(unsafe { mapping::map(&file) }.map_err(io)?)
        };
        Self::open(backing).map_err(|source| OpenError::Remap { path: path.to_owned(), source })
    }

    /// Opens a remap by reading it into memory, and checks its checksums.
    ///
    /// # Errors
    /// A file that cannot be opened or read, is no remap, or is damaged.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let io = |source| OpenError::io(path, source);
        let mut file = File::open(path).map_err(io)?;
        file_len(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        Self::from_vec(bytes).map_err(|source| OpenError::Remap { path: path.to_owned(), source })
    }

    /// Opens a remap that lies in memory, and checks its checksums.
    ///
    /// # Errors
    /// Bytes that are no remap, or are damaged.
    pub fn from_vec(bytes: Vec<u8>) -> Result<Self, RemapError> {
        Self::open(Backing::Heap(bytes))
    }

    fn open(backing: Backing) -> Result<Self, RemapError> {
        RemapView::open(backing.bytes())?.check()?;
        Ok(Self { backing })
    }

    /// What the remap says: made in some nanoseconds. Make one per query, not one per series.
    ///
    /// # Errors
    /// None: what cannot be viewed was not opened.
    pub fn view(&self) -> Result<RemapView<'_>, RemapError> {
        RemapView::open(self.backing.bytes())
    }
}
