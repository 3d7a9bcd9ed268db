//! [`BlockCell`]: a block, its view and its index in one object that handles share.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, OnceLock};

use chronoxide_arrow::{BlockTable, TableError};
use chronoxide_reader::{Block, FileError, View};
use chronoxide_select::{IndexedBlock, Limits, Searcher, SelectError};
use self_cell::self_cell;

use crate::error::Failure;
use crate::pointer::required;
use crate::status::HasStatus;

/// A block with its index, and its table.
pub(crate) struct Owner {
    open: IndexedBlock,
    /// Made by the first stream of Arrow.
    table: OnceLock<BlockTable>,
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
    pub(crate) fn share(open: IndexedBlock) -> Arc<Self> {
        // Before the view is made: callers of C read many series.
        open.block().keep_paths();
        Arc::new(Self::new(Owner { open, table: OnceLock::new() }, |owner| owner.open.block().view()))
    }

    pub(crate) fn open(&self) -> &IndexedBlock {
        &self.borrow_owner().open
    }

    pub(crate) fn block(&self) -> &Block {
        self.open().block()
    }

    #[inline]
    pub(crate) fn view(&self) -> &View<'_> {
        self.borrow_dependent()
    }

    /// Returns a searcher. The first one makes the index.
    pub(crate) fn searcher<'a>(&'a self, limits: Limits<'a>) -> Result<Searcher<'a, 'a>, FileError<SelectError>> {
        Ok(Searcher::new(self.view(), self.open().index()?).with_limits(limits))
    }

    /// Returns the block as a table of Arrow. The first call makes it, and the index.
    pub(crate) fn table(&self) -> Result<&BlockTable, TableError> {
        let Owner { open, table } = self.borrow_owner();
        if let Some(table) = table.get() {
            return Ok(table);
        }
        let made = BlockTable::new(open.clone())?;
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
