//! A block and the bytes that it is.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use chronoxide_format::Error;
use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::{BlockView, Frame, Text};

use crate::backing::Backing;
use crate::text::ArenaText;
use crate::{Checks, OpenError};

/// A block of labelsets, open to be read by any number of threads.
pub struct Block {
    backing: Backing,
    frame: Frame,
    /// Which chunks were checked, for lazy checks.
    proofs: Option<ChunkProofs>,
    arena_text: ArenaText,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, len) = (self.view().block_id(), self.bytes().len());
        f.debug_struct("Block").field("id", &id).field("len", &len).finish()
    }
}

impl Block {
    /// Opens a block as a memory map: O(sections), whatever its size.
    ///
    /// # Safety
    /// For as long as the block lives, the file must not be truncated and its bytes must not be changed, by this process or any other. Blocks that were
    /// published and are only ever deleted or replaced by renaming keep this contract.
    ///
    /// # Errors
    /// A file that cannot be opened or mapped, is no block, or is damaged where it was looked at.
    pub unsafe fn map(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SAFETY: the caller keeps the same contract.
        let backing = unsafe { Backing::map(path) }?;
        Self::open(backing, checks).map_err(|source| OpenError::Block { path: path.to_owned(), source })
    }

    /// Opens a block by reading it into memory: safe whatever happens to the file afterwards.
    ///
    /// # Errors
    /// A file that cannot be opened or read, is no block, or is damaged where it was looked at.
    pub fn read(path: impl AsRef<Path>, checks: Checks) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::open(Backing::read(path)?, checks).map_err(|source| OpenError::Block { path: path.to_owned(), source })
    }

    /// Opens a block that lies in memory.
    ///
    /// # Errors
    /// Bytes that are no block, or are damaged where they were looked at.
    pub fn from_vec(bytes: Vec<u8>, checks: Checks) -> Result<Self, Error> {
        Self::open(Backing::Heap(bytes), checks)
    }

    /// Opens a block that lies in memory and is shared with others.
    ///
    /// # Errors
    /// Bytes that are no block, or are damaged where they were looked at.
    pub fn from_shared(bytes: Arc<[u8]>, checks: Checks) -> Result<Self, Error> {
        Self::open(Backing::Shared(bytes), checks)
    }

    fn open(backing: Backing, checks: Checks) -> Result<Self, Error> {
        let frame = Frame::parse(backing.bytes())?;
        let proofs = checks.begin(backing.bytes(), |bytes| frame.check_all(bytes))?;
        let block = Self { backing, frame, proofs, arena_text: ArenaText::default() };
        if block.proofs.is_some() {
            block.view().prove_frame()?;
        }
        Ok(block)
    }

    /// The bytes of the block.
    pub fn bytes(&self) -> &[u8] {
        self.backing.bytes()
    }

    /// The block's content: a few hundred bytes that borrow the block, made in some nanoseconds. Make one per query, not one per series.
    #[inline]
    pub fn view(&self) -> BlockView<'_> {
        BlockView::with_frame(self.backing.bytes(), &self.frame, self.proofs.as_ref())
    }

    /// The block's content as text; `view` is a view of this block. The first call checks the arena (8 GB/s); later ones cost nothing.
    ///
    /// # Errors
    /// A damaged arena.
    pub fn text<'v>(&'v self, view: &'v BlockView<'v>) -> Result<Text<'v>, Error> {
        let own = self.view();
        // SAFETY: `arena_text` is used here only, with this block's own bytes and frame. The frame never changes, nor do the bytes: those of a
        // map by the contract of `Block::map`, those of a buffer because this block owns it, or shares it, immutably. What `view` is
        // does not matter: the text of another block's view would be wrong, but text.
        let arena = unsafe { self.arena_text.of(&own) }?;
        Ok(Text::of_checked(view, arena))
    }

    /// Checks every rule of the format; see [`BlockView::verify`].
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn verify(&self) -> Result<ContentFingerprint, Error> {
        BlockView::with_frame(self.backing.bytes(), &self.frame, None).verify()
    }
}
