//! [`Block`]: an open block, and [`View`]: its content.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use chronoxide_format::Error;
use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::layout::MAGIC;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::{BlockView, Frame, Paths, Text};

use crate::backing::Backing;
use crate::text::{ArenaText, TextResolver};
use crate::{Checks, FileError, OpenError};

/// An open block.
///
/// It owns its bytes, so that it can be stored in a struct. Clones share them: a clone costs one reference count, and
/// can be moved to another thread or task. The bytes are released with the last clone.
///
/// The packed sections of an archive (ARCHIVE.md) are decoded when the block is opened: that takes about 1 ms per MB of
/// their content, and it stays in memory as long as the block. [`Block::map_packed`] puts this off until
/// [`Block::unpack`]. Everything else is read in place.
///
/// ```
/// use chronoxide_reader::{Block, Checks, SeriesRef};
///
/// struct Task {
///     block: Block,
///     series: SeriesRef,
/// }
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = Block::read(path, Checks::Lazy)?;
/// let tasks = (0..4).map(|series| Task { block: block.clone(), series: SeriesRef(series) });
/// let threads: Vec<_> = tasks
///     .map(|task| std::thread::spawn(move || task.block.view().series(task.series).map(|series| series.is_some())))
///     .collect();
/// for thread in threads {
///     assert!(thread.join().expect("no panic")?);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Block {
    open: Arc<OpenBlock>,
}

/// The bytes of a block and everything that was derived from them. Never changes, but for the two records of checks,
/// and for the arena, which is decoded once, and the paths, which are kept from their first use on.
struct OpenBlock {
    backing: Backing,
    frame: Frame,
    /// The decoded content of an archive's packed sections. Empty until it is decoded.
    unpacked: OnceLock<Vec<u8>>,
    /// Chunks that were checked, for lazy checks.
    proofs: Option<ChunkProofs>,
    /// Entries of the catalogue and paths to labels, if the owner asked for them to be kept.
    paths: OnceLock<Paths>,
    arena_text: ArenaText,
    /// File of the block, if it was opened from one.
    path: Option<PathBuf>,
}

impl OpenBlock {
    #[inline]
    fn view(&self) -> BlockView<'_> {
        self.view_with(self.proofs.as_ref())
    }

    #[inline]
    fn view_with<'a>(&'a self, proofs: Option<&'a ChunkProofs>) -> BlockView<'a> {
        let view = BlockView::with_frame(self.backing.bytes(), &self.frame, proofs);
        let view = match self.unpacked.get() {
            None => view,
            Some(content) => view.with_unpacked(content),
        };
        match self.paths.get() {
            None => view,
            Some(paths) => view.with_paths(paths),
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, len) = (self.view().block_id(), self.bytes().len());
        f.debug_struct("Block").field("id", &id).field("len", &len).finish()
    }
}

impl Block {
    /// Opens a block as a memory map. Costs O(sections), regardless of its size, unless `checks` is [`Checks::Eager`]
    /// or the arena is packed.
    ///
    /// # Safety
    /// As long as the block or a clone of it exists, the file must not be truncated and its bytes must not change, in
    /// this process or any other. Published blocks meet this contract: they are only deleted or replaced by renaming.
    ///
    /// # Errors
    /// [`OpenError::Io`] or another error of the system if the file cannot be opened or mapped; [`OpenError::Block`] if
    /// it is not a valid block.
    pub unsafe fn map(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SAFETY: the caller keeps the same contract.
        Self::open_file(path, unsafe { Backing::map(path) }?, checks)
    }

    /// Like [`Block::map`], but does not decode a packed arena. Checks its form, which costs a look at each 128 KiB of
    /// it. Until [`Block::unpack`], views have counts, codes and meta, and give [`PackedArena`] for symbols.
    ///
    /// [`PackedArena`]: chronoxide_format::ErrorKind::PackedArena
    ///
    /// Use it for blocks that may not all be read, or to [check](crate::check_archives) the length of their
    /// arenas against a limit first: a small file can have an arena that is 256 times as long.
    ///
    /// # Safety
    /// The contract of [`Block::map`].
    ///
    /// # Errors
    /// Those of [`Block::map`].
    pub unsafe fn map_packed(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SAFETY: the caller keeps the same contract.
        let backing = unsafe { Backing::map(path) }?;
        Self::open_packed(backing, checks, Some(path.to_owned())).map_err(|source| OpenError::block(path, source))
    }

    /// Reads a file like [`Block::read`], but does not decode a packed arena; see [`Block::map_packed`].
    ///
    /// # Errors
    /// Those of [`Block::read`].
    pub fn read_packed(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let block = Self::open_packed(Backing::read(path, &MAGIC)?, checks, Some(path.to_owned()));
        block.map_err(|source| OpenError::block(path, source))
    }

    /// Opens a block in memory like [`Block::from_vec`], but does not decode a packed arena; see [`Block::map_packed`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid block.
    pub fn from_vec_packed(bytes: Vec<u8>, checks: Checks) -> Result<Self, Error> {
        Self::open_packed(Backing::Heap(bytes), checks, None)
    }

    /// Decodes a packed arena, unless that is done. Views that were made before stay without symbols. Costs about 1 ms
    /// per MB of the arena, and memory for it as long as the block or a clone of it exists.
    ///
    /// # Errors
    /// `Corrupt` if the arena is damaged, `OutOfMemory` if there is no memory for it, `UnsupportedArchive` without the
    /// feature `archive`.
    pub fn unpack(&self) -> Result<(), Error> {
        if let Some(content) = self.decoded()? {
            // Two threads may both decode it, which is harmless.
            let _ = self.open.unpacked.set(content);
        }
        Ok(())
    }

    /// Decodes a packed arena as [`Block::unpack`] does, and keeps nothing.
    ///
    /// # Errors
    /// As [`Block::unpack`].
    pub(crate) fn check_arena(&self) -> Result<(), Error> {
        self.decoded().map(drop)
    }

    /// Returns the decoded content of an archive. Returns `None` if the block is none, or was decoded.
    fn decoded(&self) -> Result<Option<Vec<u8>>, Error> {
        let view = self.open.view();
        if !view.is_packed() {
            return Ok(None);
        }
        let Some(packed) = view.packed()? else { return Ok(None) };
        let mut content = Vec::new();
        packed.decode_into(&mut content)?;
        Ok(Some(content))
    }

    /// Opens a block by reading its file into memory. The file may change or disappear afterwards.
    ///
    /// # Errors
    /// [`OpenError::Io`] or another error of the system if the file cannot be read; [`OpenError::Block`] if it is not a
    /// valid block.
    pub fn read(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::open_file(path, Backing::read(path, &MAGIC)?, checks)
    }

    /// Opens a block that is in memory.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid block.
    pub fn from_vec(bytes: Vec<u8>, checks: Checks) -> Result<Self, Error> {
        Self::try_from_vec(bytes, checks).map_err(|(error, _)| error)
    }

    /// Like [`Block::from_vec`], and returns the bytes with an error.
    ///
    /// # Errors
    /// Returns an error and the bytes if they are not a valid block.
    pub fn try_from_vec(bytes: Vec<u8>, checks: Checks) -> Result<Self, (Error, Vec<u8>)> {
        let opened = (|| {
            let frame = Frame::parse(&bytes)?;
            let proofs = checks.begin(&bytes, |bytes| frame.check_all(bytes))?;
            Ok((frame, proofs))
        })();
        let (frame, proofs) = match opened {
            Ok(opened) => opened,
            Err(error) => return Err((error, bytes)),
        };
        let block = Self::with_frame(Backing::Heap(bytes), frame, proofs, None);
        match block.prove().and_then(|()| block.unpack()) {
            Ok(()) => Ok(block),
            Err(error) => Err((error, block.into_vec().unwrap_or_default())),
        }
    }

    /// Converts a block back to the bytes that it was made of by [`Block::from_vec`]. Returns `None` for other blocks,
    /// and if a clone exists.
    #[must_use]
    pub fn into_vec(self) -> Option<Vec<u8>> {
        match Arc::into_inner(self.open)?.backing {
            Backing::Heap(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Opens a block that is in memory and shared.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid block.
    pub fn from_shared(bytes: Arc<[u8]>, checks: Checks) -> Result<Self, Error> {
        Self::open(Backing::Shared(bytes), checks, None)
    }

    fn open_file(path: &Path, backing: Backing, checks: Checks) -> Result<Self, OpenError> {
        Self::open(backing, checks, Some(path.to_owned())).map_err(|source| OpenError::block(path, source))
    }

    fn open(backing: Backing, checks: Checks, path: Option<PathBuf>) -> Result<Self, Error> {
        let block = Self::open_packed(backing, checks, path)?;
        block.unpack()?;
        Ok(block)
    }

    /// Opens a block without decoding a packed arena.
    fn open_packed(backing: Backing, checks: Checks, path: Option<PathBuf>) -> Result<Self, Error> {
        let frame = Frame::parse(backing.bytes())?;
        let proofs = checks.begin(backing.bytes(), |bytes| frame.check_all(bytes))?;
        let block = Self::with_frame(backing, frame, proofs, path);
        block.prove()?;
        Ok(block)
    }

    fn with_frame(backing: Backing, frame: Frame, proofs: Option<ChunkProofs>, path: Option<PathBuf>) -> Self {
        let (unpacked, paths) = (OnceLock::new(), OnceLock::new());
        let arena_text = ArenaText::default();
        Self { open: Arc::new(OpenBlock { backing, frame, unpacked, proofs, paths, arena_text, path }) }
    }

    /// Checks what every use of the block relies on.
    fn prove(&self) -> Result<(), Error> {
        let view = self.open.view();
        if self.open.proofs.is_some() {
            view.prove_frame()?;
        }
        view.packed().map(|_| ())
    }

    /// Returns the bytes of the block.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.open.backing.bytes()
    }

    /// Names the block in errors by another path: that of its origin, if it was opened from a copy. Does nothing for a
    /// block with clones.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<PathBuf>) -> Self {
        if let Some(open) = Arc::get_mut(&mut self.open) {
            open.path = Some(path.into());
        }
        self
    }

    /// Returns the file that the block was opened from, or `None` if it came from memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.open.path.as_deref()
    }

    /// Keeps entries of the catalogue and the paths to labels from their first use on, for all later views of this
    /// block and its clones: [`Paths`]. Then labels are read in less than half the time. The call is free; the first
    /// query takes 0.3 to 0.7 ms longer for a block of 3,578 keysets, and both take memory: see [`Paths`]. Without it,
    /// views allocate nothing.
    pub fn keep_paths(&self) {
        self.open.paths.get_or_init(Paths::new);
    }

    /// Returns what [`Block::keep_paths`] keeps; `None` if it was not called.
    #[must_use]
    pub fn paths(&self) -> Option<&Paths> {
        self.open.paths.get()
    }

    /// Returns a view of the block's content. It is a few hundred bytes large and made in nanoseconds: make one per
    /// query, not one per series.
    #[inline]
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { view: self.open.view(), open: &self.open }
    }

    /// Adds the block's path to an error of one of its views. With lazy checks, damage may be found long after
    /// opening, in code that does not know the path.
    ///
    /// ```
    /// use chronoxide_reader::{Block, FileError, SeriesRef};
    ///
    /// fn label_count(block: &Block, series: SeriesRef) -> Result<Option<u32>, FileError> {
    ///     let view = block.view();
    ///     let series = view.series(series).map_err(|error| block.locate(error))?;
    ///     Ok(series.map(|series| series.label_count()))
    /// }
    /// ```
    pub fn locate<E>(&self, source: E) -> FileError<E> {
        FileError { path: self.open.path.clone(), source }
    }

    /// Checks every rule of the format; see [`BlockView::verify`]. If the arena is still packed, it is decoded, and
    /// dropped again.
    ///
    /// # Errors
    /// Returns the first violation. [`Block::locate`] adds the path.
    pub fn verify(&self) -> Result<ContentFingerprint, Error> {
        let view = self.open.view_with(None);
        if !view.is_packed() {
            return view.verify();
        }
        let mut content = Vec::new();
        BlockView::open_unpacked(self.bytes(), &mut content)?.verify()
    }
}

/// Content of a [`Block`]: all methods of [`BlockView`], plus labels as text. The block remembers the check of its
/// text.
///
/// Labels that are read through a view borrow the block, not the view:
///
/// ```
/// use chronoxide_reader::{Block, SeriesRef};
///
/// fn job(block: &Block) -> Option<&[u8]> {
///     block.view().series(SeriesRef(0)).ok()??.get("job").ok()?
/// }
/// ```
#[derive(Clone, Copy)]
pub struct View<'data> {
    /// View of the bytes of `open` by the frame of `open`.
    view: BlockView<'data>,
    open: &'data OpenBlock,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl<'data> Deref for View<'data> {
    type Target = BlockView<'data>;

    #[inline]
    fn deref(&self) -> &BlockView<'data> {
        &self.view
    }
}

impl<'data> View<'data> {
    /// Returns the block's labels as text. The first call checks the symbols of the block, at about 8 GB/s. Later
    /// calls, on any view of the block or of its clones, cost nothing.
    ///
    /// # Errors
    /// `Corrupt` if the symbols are damaged, `PackedArena` if the arena was packed when this view was made.
    pub fn text(&self) -> Result<Text<'data, '_>, Error> {
        // SAFETY: both fields of a view come from one `OpenBlock` (`Block::view` is the only constructor), so that all
        // calls on its `arena_text` come with views of its own bytes by its own frame, with its own decoded arena if it
        // has one and the view is not packed. Nothing changes the frame after `Block::open`; the arena is in a
        // `OnceLock`, which is set once. Nor do the bytes change: those of a map by the contract of `Block::map`, those
        // of a buffer because `OpenBlock` owns or shares it immutably.
        let arena = unsafe { self.open.arena_text.get(&self.view) }?;
        Ok(Text::from_checked(&self.view, arena))
    }

    /// Returns a cache that resolves many series to text, after the check of [`View::text`].
    ///
    /// # Errors
    /// As [`View::text`].
    pub fn text_resolver(&self) -> Result<TextResolver<'data, '_>, Error> {
        self.text()?;
        // SAFETY: `text` gave the view to `ArenaText::get`.
        Ok(unsafe { TextResolver::from_checked(&self.view) })
    }
}
