//! [`BlockTable`]: an open block with its dictionaries.

use std::sync::{Arc, OnceLock};

use arrow_array::StringViewArray;
use chronoxide_format::{Error, KeyId, SeriesRef};
use chronoxide_reader::{Block, FileError, View};
use chronoxide_select::{IndexedBlock, Limits, Matcher, Pages, SelectError, Selection};

use crate::arena::Arena;
use crate::column::Column;
use crate::dictionary::{key_names, values_of_key};
use crate::{Scan, TableError};

/// A block as a table: a row per series, a column per label key.
///
/// Keeps the block open. Clones share it, and the dictionaries that scans have read.
#[derive(Clone, Debug)]
pub struct BlockTable {
    open: Arc<OpenTable>,
}

#[derive(Debug)]
struct OpenTable {
    block: IndexedBlock,
    arena: Arena,
    /// Names of the keys, made by the first scan that needs them.
    key_names: OnceLock<Arc<StringViewArray>>,
    /// Values of each key, made by the first scan that needs them.
    dictionaries: Box<[OnceLock<Arc<StringViewArray>>]>,
    series_count: u32,
}

impl BlockTable {
    /// Makes a table of a block, and the index of the block.
    ///
    /// # Errors
    /// [`TableError::Select`] if the block is damaged in a byte that was read.
    pub fn new(block: impl Into<IndexedBlock>) -> Result<Self, TableError> {
        let indexed = block.into();
        indexed.index()?;
        let block = indexed.block();
        let view = block.view();
        let series_count = view.series_count().map_err(|error| block.locate(error.into()))?;
        let dictionaries = (0..view.key_count()).map(|_| OnceLock::new()).collect();
        let arena = Arena::new(block);
        let key_names = OnceLock::new();
        Ok(Self { open: Arc::new(OpenTable { arena, key_names, dictionaries, series_count, block: indexed }) })
    }

    /// Returns the block.
    #[must_use]
    pub fn block(&self) -> &Block {
        self.open.block.block()
    }

    /// Returns the block with its index.
    #[must_use]
    pub fn indexed(&self) -> &IndexedBlock {
        &self.open.block
    }

    /// Returns the number of series.
    #[must_use]
    pub fn series_count(&self) -> u32 {
        self.open.series_count
    }

    /// Returns the names of labels, in byte order.
    ///
    /// # Errors
    /// [`TableError::Select`] if the block is damaged in a byte that was read.
    pub fn label_names(&self) -> Result<Vec<String>, TableError> {
        Ok(self.key_names()?.iter().flatten().map(str::to_owned).collect())
    }

    /// Returns all columns but the map of labels: `series_ref`, and one per label, in byte order. If a label is named
    /// `series_ref`, the column of refs gets a leading underscore.
    ///
    /// # Errors
    /// As [`BlockTable::label_names`].
    pub fn columns(&self) -> Result<Vec<Column>, TableError> {
        Ok(Column::with_labels([Column::series_ref()], self.label_names()?))
    }

    /// Returns the series that satisfy all matchers; all series if there are none.
    ///
    /// # Errors
    /// As [`Searcher::select`](chronoxide_select::Searcher::select), with the path of the block.
    pub fn select(&self, matchers: &[Matcher]) -> Result<Selection, TableError> {
        Ok(self.indexed().search(Limits::default(), |searcher| searcher.select(matchers))?)
    }

    /// Prepares the series that satisfy all matchers of at least one list, in parts of bounded memory: see
    /// [`Scan::with_pages`].
    ///
    /// # Errors
    /// As [`Searcher::pages`](chronoxide_select::Searcher::pages), with the path of the block.
    pub fn pages<'m>(&self, alternatives: impl IntoIterator<Item = &'m [Matcher]>) -> Result<Pages, TableError> {
        Ok(self.indexed().search(Limits::default(), |searcher| searcher.pages(alternatives))?)
    }

    /// Returns all series.
    #[must_use]
    pub fn all(&self) -> Selection {
        Selection::from_range(SeriesRef(0)..SeriesRef(self.series_count()))
    }

    /// Starts a scan of all series with the columns `series_ref` and all labels.
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    /// Returns the values of a key in byte order, as an array over the mapped block. The first call makes it, at some
    /// 20 ns per value, and the first for any key checks the symbols of the block, at about 8 GB/s. Empty if the key is
    /// out of range.
    ///
    /// # Errors
    /// [`TableError::Select`] if the block's symbols or the dictionary are damaged.
    pub fn dictionary(&self, key: KeyId) -> Result<Arc<StringViewArray>, TableError> {
        let Some(slot) = self.open.dictionaries.get(key.0 as usize) else {
            return Ok(Arc::new(StringViewArray::new_null(0)));
        };
        self.get_or_make(slot, |view, arena| values_of_key(view, arena, key))
    }

    /// Returns the names of all keys, by their numbers.
    pub(crate) fn key_names(&self) -> Result<Arc<StringViewArray>, TableError> {
        self.get_or_make(&self.open.key_names, key_names)
    }

    fn get_or_make(
        &self,
        slot: &OnceLock<Arc<StringViewArray>>,
        make: impl FnOnce(&View<'_>, &Arena) -> Result<StringViewArray, Error>,
    ) -> Result<Arc<StringViewArray>, TableError> {
        if let Some(known) = slot.get() {
            return Ok(Arc::clone(known));
        }
        let made = make(&self.block().view(), &self.open.arena).map_err(|error| self.locate(error))?;
        Ok(Arc::clone(slot.get_or_init(|| Arc::new(made))))
    }

    /// Returns the arena of the block.
    pub(crate) fn arena(&self) -> &Arena {
        &self.open.arena
    }

    /// Adds the path of the block to an error.
    pub(crate) fn locate(&self, error: impl Into<SelectError>) -> FileError<SelectError> {
        self.block().locate(error.into())
    }
}
