//! [`IndexedBlock`]: an open block and its index.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use chronoxide_format::view::{FindError, TimeRange};
use chronoxide_format::{Error, SeriesRef};
use chronoxide_reader::{Block, FileError, View};
use self_cell::self_cell;

use super::times::Times;
use super::{Index, Searcher};
use crate::{Limits, SelectError};

/// An open block and its [`Index`], which the first query makes. Clones share both: keep one per block, and a query
/// never meets the index of another block.
///
/// ```
/// use chronoxide_reader::{Block, Checks};
/// use chronoxide_select::{IndexedBlock, Limits, Selector};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = IndexedBlock::new(Block::read(path, Checks::Lazy)?);
/// let selector: Selector = r#"up{job="db"}"#.parse()?;
/// let limits = Limits::default().with_max_series(1000);
/// let selected = block.search(limits, |searcher| searcher.select(selector.matchers()))?;
/// for series in &selected {
///     println!("{:?}", block.block().view().series(series)?.map(|series| series.label_count()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexedBlock {
    block: Block,
    viewed: Arc<OnceLock<ViewedBlock>>,
    index: Arc<OnceLock<Index>>,
    /// Number of searches without the index.
    searches: Arc<AtomicU32>,
}

/// Searches after which the index is made: it costs about as much.
const SEARCHES_WITHOUT_INDEX: u32 = 256;

self_cell!(
    /// A block with its view, which borrows it.
    struct ViewedBlock {
        owner: Block,
        #[covariant]
        dependent: View,
    }

    impl {Debug}
);

impl IndexedBlock {
    /// Wraps a block. Costs nothing: the index is made by the first query.
    #[must_use]
    pub fn new(block: Block) -> Self {
        Self { block, viewed: Arc::default(), index: Arc::default(), searches: Arc::default() }
    }

    /// Returns the block.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns a view that lives as long as the block, and keeps paths ([`Block::keep_paths`]): for readers of many
    /// series.
    #[inline]
    #[must_use]
    pub fn view(&self) -> &View<'_> {
        let viewed = self.viewed.get_or_init(|| {
            self.block.keep_paths();
            ViewedBlock::new(self.block.clone(), Block::view)
        });
        viewed.borrow_dependent()
    }

    /// Returns the index. The first call makes it, and lets the block keep paths: queries read many series.
    ///
    /// # Errors
    /// As [`Index::new`], with the path of the block.
    pub fn index(&self) -> Result<&Index, FileError<SelectError>> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        // Two threads may both make it, which is harmless.
        let index = Index::new(self.view()).map_err(|error| self.block.locate(error))?;
        Ok(self.index.get_or_init(|| index))
    }

    /// Returns a searcher of the block. The first call makes the index.
    ///
    /// # Errors
    /// As [`IndexedBlock::index`].
    pub fn searcher<'a>(&'a self, limits: Limits<'a>) -> Result<Searcher<'a, 'a>, FileError<SelectError>> {
        Ok(Searcher::new(self.view(), self.index()?).with_limits(limits))
    }

    /// Calls `query` with a searcher of the block, and adds the path of the block to an error.
    ///
    /// # Errors
    /// As [`IndexedBlock::index`], and errors of the query.
    pub fn search<'data, T>(
        &'data self,
        limits: Limits<'_>,
        query: impl FnOnce(&Searcher<'_, 'data>) -> Result<T, SelectError>,
    ) -> Result<T, FileError<SelectError>> {
        let searcher = Searcher::new(self.view(), self.index()?).with_limits(limits);
        query(&searcher).map_err(|error| self.block.locate(error))
    }

    /// Returns the series with exactly these labels, as [`Searcher::find`]. The index, if no query has made it, costs
    /// as much as hundreds of searches, and is made after as many.
    ///
    /// # Errors
    /// As [`Searcher::find`], with the path of the block.
    pub fn find<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        labels: &[(N, V)],
    ) -> Result<Option<SeriesRef>, FileError<FindError>> {
        // Once: that of a damaged block fails again and again.
        let is_time = || self.searches.fetch_add(1, Ordering::Relaxed) == SEARCHES_WITHOUT_INDEX;
        let index = self.index.get().or_else(|| if is_time() { self.index().ok() } else { None });
        let found = match index {
            Some(index) => Searcher::new(self.view(), index).find(labels),
            // Paths would take longer to make than a search.
            None => self.block.view().find(labels.iter().map(|(name, value)| (name, value))),
        };
        found.map_err(|error| self.block.locate(error))
    }

    /// Returns true if the block has a series with exactly these labels, byte by byte: [`IndexedBlock::find`] cuts them
    /// by the label policy of the block, and finds the cut form as well. Labels must be in the order of their names. If
    /// a time range is given, the series must [have data](Searcher::within) in it.
    ///
    /// # Errors
    /// As [`IndexedBlock::find`].
    pub fn has<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        labels: &[(N, V)],
        time: Option<TimeRange>,
    ) -> Result<bool, FileError<FindError>> {
        let Some(found) = self.find(labels)? else { return Ok(false) };
        let has = || -> Result<bool, Error> {
            let view = self.block.view();
            let Some(series) = view.series(found)? else { return Ok(false) };
            if usize::try_from(series.label_count()) != Ok(labels.len()) {
                return Ok(false);
            }
            for (label, (name, value)) in series.labels().zip(labels) {
                let label = label?;
                if label.name != name.as_ref() || label.value != value.as_ref() {
                    return Ok(false);
                }
            }
            match time {
                Some(range) => Times::open(&view, range)?.map_or(Ok(true), |times| times.has(found)),
                None => Ok(true),
            }
        };
        has().map_err(|error| self.block.locate(error.into()))
    }

    /// Takes the index of another open block if both are the same bytes, which equal headers prove.
    pub(crate) fn share_index_of(&mut self, other: &Self) {
        if self.block.view().header_bytes() == other.block.view().header_bytes() {
            self.index = Arc::clone(&other.index);
        }
    }
}

impl From<Block> for IndexedBlock {
    fn from(block: Block) -> Self {
        Self::new(block)
    }
}
