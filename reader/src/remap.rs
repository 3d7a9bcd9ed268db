//! [`Remap`]: an open remap.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::remap::layout::REMAP_MAGIC;
use chronoxide_format::remap::{RemapError, RemapFrame, RemapView};

use crate::backing::Backing;
use crate::{Checks, FileError, OpenError};

/// An open remap: the targets of the series of a block that was compacted. Clones share the bytes, as those of a
/// [`Block`](crate::Block) do.
///
/// ```no_run
/// use chronoxide_reader::{Checks, Remap, SeriesRef};
///
/// let remap = Remap::read("remaps/01ARZ3NDEKTSV4RRFFQ69G5FAV.cxr", Checks::Lazy)?;
/// let view = remap.view();
/// match view.get(SeriesRef(7))? {
///     Some(target) => {
///         let (output, _) = view.output(target.output).expect("targets are series of outputs");
///         println!("series {} of block {output}", target.series);
///     }
///     None => println!("dropped"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Remap {
    open: Arc<OpenRemap>,
}

/// The bytes of a remap and everything that was derived from them at opening.
struct OpenRemap {
    backing: Backing,
    frame: RemapFrame,
    /// Chunks that were checked, for lazy checks.
    proofs: Option<ChunkProofs>,
    /// File of the remap, if it was opened from one.
    path: Option<PathBuf>,
}

impl OpenRemap {
    #[inline]
    fn view(&self) -> RemapView<'_> {
        RemapView::with_frame(self.backing.bytes(), &self.frame, self.proofs.as_ref())
    }
}

impl fmt::Debug for Remap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, len) = (self.view().input_id(), self.bytes().len());
        f.debug_struct("Remap").field("input", &input).field("len", &len).finish()
    }
}

impl Remap {
    /// Opens a remap as a memory map. Costs O(outputs), regardless of its size, unless `checks` is [`Checks::Eager`].
    ///
    /// # Safety
    /// The contract of [`Block::map`](crate::Block::map): as long as the remap or a clone of it exists, the file must
    /// be neither truncated nor changed.
    ///
    /// # Errors
    /// [`OpenError::Io`] or another error of the system if the file cannot be opened or mapped; [`OpenError::Remap`] if
    /// it is not a valid remap.
    pub unsafe fn map(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SAFETY: the caller keeps the same contract.
        Self::open_file(path, unsafe { Backing::map(path) }?, checks)
    }

    /// Opens a remap by reading its file into memory.
    ///
    /// # Errors
    /// [`OpenError::Io`] or another error of the system if the file cannot be read; [`OpenError::Remap`] if it is not a
    /// valid remap.
    pub fn read(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::open_file(path, Backing::read(path, &REMAP_MAGIC)?, checks)
    }

    /// Opens a remap that is in memory.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid remap.
    pub fn from_vec(bytes: Vec<u8>, checks: Checks) -> Result<Self, RemapError> {
        Self::open(Backing::Heap(bytes), checks, None)
    }

    fn open_file(path: &Path, backing: Backing, checks: Checks) -> Result<Self, OpenError> {
        Self::open(backing, checks, Some(path.to_owned()))
            .map_err(|source| OpenError::Remap { path: path.to_owned(), source })
    }

    fn open(backing: Backing, checks: Checks, path: Option<PathBuf>) -> Result<Self, RemapError> {
        let frame = RemapFrame::parse(backing.bytes())?;
        let proofs = checks.begin(backing.bytes(), |bytes| frame.check_all(bytes))?;
        let open = OpenRemap { backing, frame, proofs, path };
        if open.proofs.is_some() {
            open.view().prove_outputs()?;
        }
        Ok(Self { open: Arc::new(open) })
    }

    /// Returns the bytes of the remap.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.open.backing.bytes()
    }

    /// Returns the file that the remap was opened from, or `None` if it came from memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.open.path.as_deref()
    }

    /// Returns a view of the remap's content. It is made in nanoseconds: make one per query, not one per series.
    #[inline]
    #[must_use]
    pub fn view(&self) -> RemapView<'_> {
        self.open.view()
    }

    /// Adds the remap's path to an error of one of its views; see [`Block::locate`](crate::Block::locate).
    pub fn locate<E>(&self, source: E) -> FileError<E> {
        FileError { path: self.open.path.clone(), source }
    }

    /// Checks every rule of the format; see [`RemapView::verify`].
    ///
    /// # Errors
    /// Returns the first violation. [`Remap::locate`] adds the path.
    pub fn verify(&self) -> Result<(), RemapError> {
        RemapView::with_frame(self.bytes(), &self.open.frame, None).verify()
    }
}
