//! [`BlockCell`]: a block, its view and its index in one object that handles share.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, OnceLock};

use chronoxide_arrow::{BlockTable, TableError};
use chronoxide_reader::{Block, View};
use chronoxide_select::{BlockSet, Index, Limits, Searcher, SelectError};
use self_cell::self_cell;

use crate::error::Failure;
use crate::pointer::required;
use crate::status::HasStatus;

/// A block, and the place of its index.
pub(crate) struct Owner {
    block: Block,
    index: IndexPlace,
    /// Set after the index was made.
    has_index: OnceLock<()>,
    /// Made by the first stream of Arrow.
    table: OnceLock<BlockTable>,
}

/// Place of a block's index, which the first query makes.
enum IndexPlace {
    Own(OnceLock<Arc<Index>>),
    /// A block of a set, by its position: the set has the index.
    Set(BlockSet, usize),
}

self_cell!(
    /// A block with its view, which borrows it.
    pub(crate) struct BlockCell {
        owner: Owner,
        #[covariant]
        dependent: View,
    }
);

impl BlockCell {
    fn share(block: Block, index: IndexPlace) -> Arc<Self> {
        block.keep_paths();
        let owner = Owner { block, index, has_index: OnceLock::new(), table: OnceLock::new() };
        Arc::new(Self::new(owner, |owner| owner.block.view()))
    }

    /// Shares a block that was opened alone.
    pub(crate) fn single(block: Block) -> Arc<Self> {
        Self::share(block, IndexPlace::Own(OnceLock::new()))
    }

    /// Shares the block at a position of a set.
    pub(crate) fn in_set(block: Block, set: &BlockSet, position: usize) -> Arc<Self> {
        Self::share(block, IndexPlace::Set(set.clone(), position))
    }

    pub(crate) fn block(&self) -> &Block {
        &self.borrow_owner().block
    }

    #[inline]
    pub(crate) fn view(&self) -> &View<'_> {
        self.borrow_dependent()
    }

    /// Returns the index. The first call makes it.
    pub(crate) fn index(&self) -> Result<&Arc<Index>, SelectError> {
        let Owner { index, has_index, .. } = self.borrow_owner();
        let index = match index {
            IndexPlace::Own(own) => match own.get() {
                Some(index) => index,
                // Two threads may both make it, which is harmless.
                None => {
                    let made = Arc::new(Index::new(self.view())?);
                    own.get_or_init(|| made)
                }
            },
            // The position is one of the set: the set made this cell.
            IndexPlace::Set(set, position) => set.blocks().get(*position).ok_or(SelectError::OtherSnapshot)?.index()?,
        };
        let _ = has_index.set(());
        Ok(index)
    }

    /// Returns the index if it was made.
    pub(crate) fn known_index(&self) -> Option<&Arc<Index>> {
        self.borrow_owner().has_index.get().and_then(|()| self.index().ok())
    }

    /// Returns a searcher. The first one makes the index.
    pub(crate) fn searcher<'a>(&'a self, limits: Limits<'a>) -> Result<Searcher<'a, 'a>, SelectError> {
        Ok(Searcher::new(self.view(), self.index()?).with_limits(limits))
    }

    /// Returns the block as a table of Arrow. The first call makes it, and the index.
    pub(crate) fn table(&self) -> Result<&BlockTable, TableError> {
        let Owner { block, table, .. } = self.borrow_owner();
        if let Some(table) = table.get() {
            return Ok(table);
        }
        let index = Arc::clone(self.index().map_err(|error| block.locate(error))?);
        let made = BlockTable::with_index(block.clone(), index)?;
        Ok(table.get_or_init(|| made))
    }

    /// Adds the path of the block to an error.
    pub(crate) fn locate<E: HasStatus + 'static>(&self, error: E) -> Failure {
        self.block().locate(error).into()
    }
}

/// Writes a new handle to the caller's pointer, or NULL if it cannot be made.
pub(crate) fn give<T>(
    out: Option<&mut MaybeUninit<*mut T>>,
    name: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let out = required(out, name)?;
    out.write(ptr::null_mut());
    out.write(Box::into_raw(Box::new(make()?)));
    Ok(())
}
