//! [`OwnedRows`] and [`OwnedReader`]: rows and readers in one value with their blocks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self_cell::self_cell;

use crate::{Blocks, Damage, Error, Label, LabelReader, Selection, Series, SeriesId, SeriesRows};

/// Blocks, and the flag that cancels the rows.
struct Owner {
    blocks: Blocks,
    flag: Arc<AtomicBool>,
}

self_cell!(
    struct RowsCell {
        owner: Owner,
        #[covariant]
        dependent: SeriesRows,
    }
);

self_cell!(
    struct ReaderCell {
        owner: Blocks,
        #[covariant]
        dependent: LabelReader,
    }
);

/// [`SeriesRows`] that own their blocks: a function can return them, a struct can keep them, a thread can take them.
///
/// ```
/// use chronoxide::{Blocks, Error, OwnedRows};
///
/// fn series(blocks: Blocks, selector: &str) -> Result<OwnedRows, Error> {
///     OwnedRows::new(blocks, |blocks| blocks.query(selector)?.sorted_series())
/// }
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let mut rows = series(Blocks::open(path)?, "up")?;
/// while let Some(series) = rows.next()? {
///     println!("{:?}", series.labels());
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct OwnedRows(RowsCell);

impl fmt::Debug for OwnedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedRows").field("blocks", self.blocks()).finish_non_exhaustive()
    }
}

impl OwnedRows {
    /// Takes blocks, and the rows that `select` makes of them.
    ///
    /// # Errors
    /// Errors of `select`.
    pub fn new<E>(
        blocks: Blocks,
        select: impl for<'b> FnOnce(&'b Blocks) -> Result<SeriesRows<'b>, E>,
    ) -> Result<Self, E> {
        Self::with_flag(blocks, Arc::default(), |blocks, _| select(blocks))
    }

    /// Takes also a flag, for [`Query::cancelled_by`](crate::Query::cancelled_by).
    ///
    /// # Errors
    /// Errors of `select`.
    pub fn with_flag<E>(
        blocks: Blocks,
        flag: Arc<AtomicBool>,
        select: impl for<'b> FnOnce(&'b Blocks, &'b AtomicBool) -> Result<SeriesRows<'b>, E>,
    ) -> Result<Self, E> {
        RowsCell::try_new(Owner { blocks, flag }, |owner| select(&owner.blocks, &owner.flag)).map(Self)
    }

    /// Leaves out the rest of a block where damage is met, as [`SeriesRows::skip_damaged`].
    #[must_use]
    pub fn skip_damaged(mut self, damage: &Damage) -> Self {
        self.0.with_dependent_mut(|_, rows| rows.leave_out_damaged(damage));
        self
    }

    /// Returns the blocks.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.0.borrow_owner().blocks
    }

    /// Reads the next series, as [`SeriesRows::next`]. Its labels are valid until the next call.
    ///
    /// # Errors
    /// As [`SeriesRows::next`].
    #[expect(clippy::should_implement_trait, reason = "a series borrows the memory that all of them share")]
    pub fn next(&mut self) -> Result<Option<Series<'_, '_>>, Error> {
        self.0.with_dependent_mut(|_, rows| rows.advance())?;
        Ok(self.0.borrow_dependent().current())
    }

    /// Goes to the next series, and returns its ids, as [`SeriesRows::next_ids`].
    ///
    /// # Errors
    /// As [`SeriesRows::next`].
    pub fn next_ids(&mut self) -> Result<Option<impl Iterator<Item = SeriesId>>, Error> {
        self.0.with_dependent_mut(|_, rows| rows.advance_ids())?;
        Ok(self.0.borrow_dependent().current_ids())
    }
}

impl Selection {
    /// Returns the series block by block, as [`Selection::series`], with the blocks.
    #[must_use]
    pub fn into_series(self) -> OwnedRows {
        let Self { blocks, refs } = self;
        let owner = Owner { blocks, flag: Arc::default() };
        OwnedRows(RowsCell::new(owner, |owner| SeriesRows::block_by_block(&owner.blocks, &refs)))
    }
}

/// A [`LabelReader`] that owns its blocks.
pub struct OwnedReader(ReaderCell);

impl fmt::Debug for OwnedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedReader").field("blocks", self.0.borrow_owner()).finish_non_exhaustive()
    }
}

impl OwnedReader {
    /// Returns the labels of a series, as [`LabelReader::labels`]. They are valid until the next call.
    ///
    /// # Errors
    /// As [`LabelReader::labels`].
    pub fn labels(&mut self, id: SeriesId) -> Result<Option<&[Label<'_>]>, Error> {
        let is_found = self.0.with_dependent_mut(|_, reader| Ok::<_, Error>(reader.labels(id)?.is_some()))?;
        Ok(is_found.then(|| self.0.borrow_dependent().last()))
    }
}

impl Blocks {
    /// Returns a [reader](Self::reader) that owns these blocks: an engine keeps one per thread.
    #[must_use]
    pub fn into_reader(self) -> OwnedReader {
        OwnedReader(ReaderCell::new(self, Self::reader))
    }
}
