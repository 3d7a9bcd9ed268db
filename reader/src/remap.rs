//! A remap and the bytes that it is.

use std::fmt;
use std::path::Path;

use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::remap::{RemapError, RemapFrame, RemapView};

use crate::backing::Backing;
use crate::{Checks, OpenError};

/// What became of the series of a block in a compaction, open to be read by any number of threads.
///
/// ```no_run
/// use chronoxide_reader::{Checks, Remap, SeriesRef};
///
/// let remap = Remap::read("remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr", Checks::Lazy)?;
/// let view = remap.view();
/// match view.get(SeriesRef(7))? {
///     Some(target) => println!("series {} of {}", target.series, view.output(target.output).expect("it is one of them").0),
///     None => println!("dropped"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Remap {
    backing: Backing,
    frame: RemapFrame,
    /// Which chunks were checked, for lazy checks.
    proofs: Option<ChunkProofs>,
}

impl fmt::Debug for Remap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, len) = (self.view().input_id(), self.bytes().len());
        f.debug_struct("Remap").field("input", &input).field("len", &len).finish()
    }
}

impl Remap {
    /// Opens a remap as a memory map: O(outputs), whatever its size, unless `checks` asks for more.
    ///
    /// # Safety
    /// As for [`Block::map`](crate::Block::map): for as long as the remap lives, the file must be neither truncated nor changed.
    ///
    /// # Errors
    /// A file that cannot be opened or mapped, is no remap, or is damaged where it was looked at.
    pub unsafe fn map(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SAFETY: the caller keeps the same contract.
        let backing = unsafe { Backing::map(path) }?;
        Self::open(backing, checks).map_err(|source| OpenError::Remap { path: path.to_owned(), source })
    }

    /// Opens a remap by reading it into memory.
    ///
    /// # Errors
    /// A file that cannot be opened or read, is no remap, or is damaged where it was looked at.
    pub fn read(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::open(Backing::read(path)?, checks).map_err(|source| OpenError::Remap { path: path.to_owned(), source })
    }

    /// Opens a remap that lies in memory.
    ///
    /// # Errors
    /// Bytes that are no remap, or are damaged where they were looked at.
    pub fn from_vec(bytes: Vec<u8>, checks: Checks) -> Result<Self, RemapError> {
        Self::open(Backing::Heap(bytes), checks)
    }

    fn open(backing: Backing, checks: Checks) -> Result<Self, RemapError> {
        let frame = RemapFrame::parse(backing.bytes())?;
        let proofs = checks.begin(backing.bytes(), |bytes| frame.check_all(bytes))?;
        let remap = Self { backing, frame, proofs };
        if remap.proofs.is_some() {
            remap.view().prove_outputs()?;
        }
        Ok(remap)
    }

    /// The bytes of the remap.
    pub fn bytes(&self) -> &[u8] {
        self.backing.bytes()
    }

    /// What the remap says: made in some nanoseconds. Make one per query, not one per series.
    #[inline]
    pub fn view(&self) -> RemapView<'_> {
        RemapView::with_frame(self.backing.bytes(), &self.frame, self.proofs.as_ref())
    }

    /// Checks every rule of the format; see [`RemapView::verify`].
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn verify(&self) -> Result<(), RemapError> {
        RemapView::with_frame(self.backing.bytes(), &self.frame, None).verify()
    }
}
