//! Series of equal labelsets, joined over the blocks of a set.

use chronoxide_format::SeriesRef;
use hashbrown::HashMap;

use super::{Partial, SetQuery, SetSelection};
use crate::SelectError;
use crate::results::project::{RandomHash, room_for};

/// Series of several blocks, each with the blocks that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedSeries {
    /// For each series, the number of occurrences up to its last one.
    ends: Vec<usize>,
    occurrences: Vec<Occurrence>,
}

/// Ref of a series in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence {
    /// Position of the block in [`BlockSet::blocks`](super::BlockSet::blocks).
    pub block: usize,
    /// Ref of the series in this block.
    pub series: SeriesRef,
}

impl JoinedSeries {
    /// Returns the number of distinct series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no series.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the refs of a series, in the order of blocks, at least one; none if it is out of range.
    #[must_use]
    pub fn get(&self, number: usize) -> &[Occurrence] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or_default());
        let end = self.ends.get(number).copied().unwrap_or_default();
        self.occurrences.get(start..end).unwrap_or_default()
    }

    /// Returns the refs of each series, in the order of the first of them.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Occurrence]> {
        (0..self.len()).map(|number| self.get(number))
    }
}

/// Distinct series that were found so far.
#[derive(Default)]
struct Distinct {
    /// Number of the series with a hash.
    known: HashMap<[u64; 2], u32>,
    /// Number of occurrences of each series.
    counts: Vec<u32>,
    /// Each occurrence: the number of the series, the position of the block, and the ref.
    occurrences: Vec<(u32, u32, SeriesRef)>,
}

impl Distinct {
    /// Adds a series of a block.
    fn add(&mut self, hash: [u64; 2], block: usize, series: SeriesRef) {
        let next = self.counts.len() as u32;
        let number = *self.known.entry(hash).or_insert(next);
        if number == next {
            self.counts.push(0);
        }
        if let Some(count) = self.counts.get_mut(number as usize) {
            *count += 1;
        }
        self.occurrences.push((number, block as u32, series));
    }

    /// Returns the occurrences by series.
    fn joined(self) -> JoinedSeries {
        drop(self.known);
        let mut next: Vec<usize> = Vec::with_capacity(self.counts.len());
        let mut end = 0;
        for count in self.counts {
            next.push(end);
            end += count as usize;
        }
        let mut occurrences = vec![Occurrence { block: 0, series: SeriesRef(0) }; end];
        for (number, block, series) in self.occurrences {
            if let Some(next) = next.get_mut(number as usize)
                && let Some(place) = occurrences.get_mut(*next)
            {
                *place = Occurrence { block: block as usize, series };
                *next += 1;
            }
        }
        JoinedSeries { ends: next, occurrences }
    }
}

impl SetQuery<'_> {
    /// Joins the series of a selection that have equal labels. They come in the order of their first occurrence.
    ///
    /// Series are compared as by [`SetQuery::each_distinct`]. Takes some 50 bytes of memory per distinct series, and 52
    /// per occurrence. The series of a damaged block are missing.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`](crate::Limits).
    pub fn join(&self, selection: &SetSelection) -> Result<Partial<JoinedSeries>, SelectError> {
        let hash = RandomHash::new();
        let hashed = self.read_blocks(selection, selection.blocks(), |searcher, block| {
            let mut hashes = room_for(&block.series)?;
            searcher.each_random_hash(&block.series, hash, |hash| hashes.push(hash))?;
            Ok(hashes)
        })?;
        let (mut distinct, mut failed) = (Distinct::default(), Vec::new());
        for (block, hashes) in selection.blocks().iter().zip(hashed) {
            self.limits.check()?;
            match hashes {
                Ok(hashes) => {
                    let series = block.series.iter().zip(hashes);
                    series.for_each(|(series, hash)| distinct.add(hash, block.block, series));
                }
                Err(error) => failed.push(error),
            }
        }
        Ok(Partial { found: distinct.joined(), failed })
    }
}
