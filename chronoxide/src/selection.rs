//! [`Selection`]: selected series, to be kept and combined.

use std::fmt;
use std::ops::Range;

use chronoxide_format::identity::Fingerprint;
use chronoxide_reader::SeriesRef;
use chronoxide_select::{BlockSelection, Labels, Limits, Searcher, SelectError, Selection as Refs};
use rayon::prelude::*;

use crate::series::SeriesRows;
use crate::{BlockId, Blocks, Error, ErrorKind, Query, SeriesId};

/// Selected series of each block, which keep the blocks open: what an engine keeps of a query, and combines with
/// others. A series that several blocks have is selected in each.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let blocks = chronoxide::Blocks::open(path)?;
/// let (up, pods) = (blocks.query("up")?.select()?, blocks.query(r#"{pod!=""}"#)?.select()?);
/// let both = up.intersection(&pods)?;
/// assert_eq!(both.len(), blocks.query(r#"up{pod!=""}"#)?.count()?);
/// assert!(both.ids().all(|id| up.contains(id) && pods.contains(id)));
/// # Ok::<(), chronoxide::Error>(())
/// ```
#[derive(Clone)]
pub struct Selection {
    pub(crate) blocks: Blocks,
    /// Refs in each block, by the position of the block.
    pub(crate) refs: Vec<Refs>,
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection").field("blocks", &self.blocks).field("len", &self.len()).finish()
    }
}

impl PartialEq for Selection {
    /// Compares the series, and the ids of the blocks.
    fn eq(&self, other: &Self) -> bool {
        self.blocks.has_same_ids(&other.blocks) && self.refs == other.refs
    }
}

impl Query<'_> {
    /// Selects the series, and keeps their numbers: 8 bytes per run of neighbouring series.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn select(&self) -> Result<Selection, Error> {
        Ok(Selection::new(self.blocks, self.found(&self.start())?.blocks()))
    }
}

impl Selection {
    pub(crate) fn new(blocks: &Blocks, selected: &[BlockSelection]) -> Self {
        let mut refs = vec![Refs::default(); blocks.len()];
        for block in selected {
            if let Some(place) = refs.get_mut(block.block) {
                place.clone_from(&block.series);
            }
        }
        Self { blocks: blocks.clone(), refs }
    }

    /// Returns the blocks of the series.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns the number of series, summed over the blocks.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.refs.iter().map(|refs| u64::from(refs.count())).sum()
    }

    /// Returns true if no series is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.refs.iter().all(Refs::is_empty)
    }

    /// Returns true if a series is selected. Costs two binary searches.
    #[must_use]
    pub fn contains(&self, id: SeriesId) -> bool {
        let refs = self.blocks.position(id).and_then(|position| self.refs.get(position));
        refs.is_some_and(|refs| refs.contains(SeriesRef(id.series)))
    }

    /// Returns the ids of the series, in their order.
    pub fn ids(&self) -> impl Iterator<Item = SeriesId> {
        let blocks = self.blocks.set.blocks().iter().zip(&self.refs);
        blocks.flat_map(|(block, refs)| refs.iter().map(|series| SeriesId { block: block.id(), series: series.0 }))
    }

    /// Returns the runs of neighbouring series, with their positions in their block, in the order of ids.
    pub fn ranges(&self) -> impl Iterator<Item = (BlockId, Range<u32>)> {
        let blocks = self.blocks.set.blocks().iter().zip(&self.refs);
        blocks.flat_map(|(block, refs)| {
            refs.ranges().map(|range| (block.id(), Range { start: range.start.0, end: range.end.0 }))
        })
    }

    /// Returns the id at a position. Costs a look at each run of neighbouring series before it.
    #[must_use]
    pub fn nth(&self, position: u64) -> Option<SeriesId> {
        let mut left = position;
        for (block, range) in self.ranges() {
            let count = range.len() as u64;
            if left < count {
                return Some(SeriesId { block, series: range.start + u32::try_from(left).unwrap_or_default() });
            }
            left -= count;
        }
        None
    }

    /// Returns the series, with their labels, block by block: one that several blocks have comes in each. Rows have no
    /// limits; [`SeriesRows::skip_damaged`] leaves out damage.
    #[must_use]
    pub fn series(&self) -> SeriesRows<'_> {
        SeriesRows::block_by_block(&self.blocks, &self.refs)
    }

    /// Returns the [fingerprint](crate::Series::fingerprint) of each series, in the order of [`Selection::ids`]. Each
    /// distinct name and value is hashed once: a series costs a few nanoseconds, and 32 bytes of memory.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// let blocks = chronoxide::Blocks::open(path)?;
    /// let selection = blocks.query("up")?.select()?;
    /// let (fingerprints, mut rows) = (selection.fingerprints()?, selection.series());
    /// for fingerprint in fingerprints {
    ///     assert_eq!(rows.next()?.expect("as many").fingerprint(), fingerprint);
    /// }
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of kind `Corrupt` if a block is damaged where the labels are.
    pub fn fingerprints(&self) -> Result<Vec<[u8; 16]>, Error> {
        let fingerprints = self.read_blocks(|searcher, refs| searcher.fingerprints(refs, Labels::All))?;
        Ok(fingerprints.into_iter().flatten().map(Fingerprint::to_bytes).collect())
    }

    /// Calls `read` with each block of selected series, on all threads.
    pub(crate) fn read_blocks<'s, T: Send>(
        &'s self,
        read: impl Fn(&Searcher<'_, 's>, &Refs) -> Result<T, SelectError> + Sync,
    ) -> Result<Vec<T>, Error> {
        let blocks = self.blocks.set.blocks().par_iter().zip(&self.refs).filter(|(_, refs)| !refs.is_empty());
        blocks
            .map(|(block, refs)| Ok(block.open().search(Limits::default(), |searcher| read(searcher, refs))?))
            .collect()
    }

    /// Returns the series of each block, in the order of blocks.
    #[must_use]
    pub fn by_block(&self) -> Vec<Self> {
        let blocks = self.blocks.each().into_iter().zip(&self.refs);
        blocks.map(|(blocks, refs)| Self { blocks, refs: vec![refs.clone()] }).collect()
    }

    /// Returns the series of either.
    ///
    /// # Errors
    /// An error of kind `Usage` for selections of different blocks.
    pub fn union(&self, other: &Self) -> Result<Self, Error> {
        self.combined(other, Refs::union)
    }

    /// Returns the series of both.
    ///
    /// # Errors
    /// As [`Selection::union`].
    pub fn intersection(&self, other: &Self) -> Result<Self, Error> {
        self.combined(other, Refs::intersection)
    }

    /// Returns the series that the other does not have.
    ///
    /// # Errors
    /// As [`Selection::union`].
    pub fn difference(&self, other: &Self) -> Result<Self, Error> {
        self.combined(other, Refs::difference)
    }

    fn combined(&self, other: &Self, combine: impl Fn(&Refs, &Refs) -> Refs) -> Result<Self, Error> {
        if !self.blocks.has_same_ids(&other.blocks) {
            return Err(Error::new(ErrorKind::Usage, "the selections are of different blocks"));
        }
        let mut refs = Vec::with_capacity(self.refs.len());
        for ((block, left), right) in self.blocks.iter().zip(&self.refs).zip(&other.refs) {
            // Damaged blocks of one id can have different numbers of series.
            let all = Refs::from_range(SeriesRef(0)..SeriesRef(block?.series_count));
            refs.push(combine(left, right).intersection(&all));
        }
        Ok(Self { blocks: self.blocks.clone(), refs })
    }
}
