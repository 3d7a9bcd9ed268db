//! [`SetQuery`]: queries of all blocks of a set.

use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use chronoxide_format::error::Place;
use chronoxide_format::view::{FindError, TimeRange};
use chronoxide_format::{Corruption, Error, Rule};
use chronoxide_reader::FileError;
use rayon::prelude::*;

use super::{BlockSet, Occurrence, SetBlock};
use crate::{Limits, Matcher, Searcher, SelectError, Selection, ValueRange};

/// A query of the blocks of a set, of all or of a time range. Blocks are queried on all threads; results are in the
/// order of blocks.
#[derive(Clone, Copy, Debug)]
pub struct SetQuery<'a> {
    pub(super) set: &'a BlockSet,
    pub(super) limits: Limits<'a>,
    time: Option<TimeRange>,
}

/// Selected series of several blocks.
#[derive(Debug)]
pub struct SetSelection {
    snapshot: Arc<[SetBlock]>,
    blocks: Vec<BlockSelection>,
    failed: Vec<FileError<SelectError>>,
}

/// Selected series of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSelection {
    /// Position of the block in [`BlockSet::blocks`].
    pub block: usize,
    /// Selected series, at least one.
    pub series: Selection,
}

impl SetSelection {
    /// Returns the blocks with selected series, in order.
    #[must_use]
    pub fn blocks(&self) -> &[BlockSelection] {
        &self.blocks
    }

    /// Returns the errors of damaged blocks. Their series are missing.
    #[must_use]
    pub fn failed(&self) -> &[FileError<SelectError>] {
        &self.failed
    }

    /// Returns the sum of the blocks' series. A series that several blocks have counts in each.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.series.count())).sum()
    }
}

/// Result of the blocks that are not damaged.
#[derive(Debug)]
#[non_exhaustive]
pub struct Partial<T> {
    /// Result of the other blocks.
    pub found: T,
    /// Errors of damaged blocks, whose part is missing.
    pub failed: Vec<FileError<SelectError>>,
}

/// Returns the error of a damaged block, or an error that ends the whole query.
fn damage(error: FileError<SelectError>) -> Result<FileError<SelectError>, SelectError> {
    match error.source {
        SelectError::Block(_) | SelectError::TooManyLabels { .. } => Ok(error),
        other => Err(other),
    }
}

/// Result of one block: an error ends the whole query only if it is not about the block.
type PerBlock<T> = Result<Result<T, FileError<SelectError>>, SelectError>;

/// Queries a block.
pub(super) fn search<'a, T>(
    block: &'a SetBlock,
    limits: Limits<'_>,
    query: impl FnOnce(&Searcher<'_, 'a>) -> Result<T, SelectError>,
) -> PerBlock<T> {
    limits.check()?;
    block.open().search(limits, query).map_or_else(|error| damage(error).map(Err), |found| Ok(Ok(found)))
}

impl<'a> SetQuery<'a> {
    pub(super) fn new(set: &'a BlockSet) -> Self {
        Self { set, limits: Limits::default(), time: None }
    }

    /// Sets the limits of the query. The number of series, and the memory of a selection, are limited for all blocks
    /// together.
    #[must_use]
    pub fn with_limits(self, limits: Limits<'a>) -> Self {
        Self { limits, ..self }
    }

    /// Leaves out blocks and series without data from `start` (ns since 1970) to before `end`: see
    /// [`Searcher::within`]. A block whose time range is unknown is queried. A range that ends before it begins has no
    /// data.
    #[must_use]
    pub fn within(self, start: i64, end: i64) -> Self {
        Self { time: Some(TimeRange { start, end }), ..self }
    }

    /// Returns the blocks of the time range, with their places.
    pub(super) fn blocks(&self) -> Vec<(usize, &'a SetBlock)> {
        let has_data = |block: &SetBlock| match (self.time, block.time()) {
            (Some(wanted), _) if wanted.start >= wanted.end => false,
            (Some(wanted), Some(has)) => has.start < wanted.end && wanted.start < has.end,
            _ => true,
        };
        self.set.blocks().iter().enumerate().filter(|(_, block)| has_data(block)).collect()
    }

    /// Returns the positions of the blocks of the time range.
    #[must_use]
    pub fn positions(&self) -> Vec<usize> {
        self.blocks().into_iter().map(|(position, _)| position).collect()
    }

    /// Returns a searcher of the time range.
    #[must_use]
    pub fn timed<'s, 'd>(&self, searcher: &Searcher<'s, 'd>) -> Searcher<'s, 'd> {
        match self.time {
            Some(range) => searcher.within(range),
            None => *searcher,
        }
    }

    /// Returns the number of blocks of the time range that do not know when their series had data, and have data
    /// outside of it: all their series are selected.
    ///
    /// # Errors
    /// Errors of the [`Limits`].
    pub fn untimed(&self) -> Result<Partial<u64>, SelectError> {
        let Partial { found, failed } = self.each_block(|searcher| searcher.is_untimed())?;
        Ok(Partial { found: found.iter().map(|(_, is_untimed)| u64::from(*is_untimed)).sum(), failed })
    }

    /// Queries each block on all threads. Returns results in the order of blocks, and the errors of damaged blocks.
    fn each_block<T: Send>(
        &self,
        query: impl Fn(&Searcher<'_, 'a>) -> Result<T, SelectError> + Sync,
    ) -> Result<Partial<Vec<(usize, T)>>, SelectError> {
        let ask = |(position, block): (usize, &'a SetBlock)| -> PerBlock<(usize, T)> {
            let limits = self.limits.without_max_series();
            search(block, limits, |searcher| Ok((position, query(&self.timed(searcher))?)))
        };
        let results: Result<Vec<_>, SelectError> = self.blocks().into_par_iter().map(ask).collect();
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for result in results? {
            match result {
                Ok(result) => found.push(result),
                Err(error) => failed.push(error),
            }
        }
        Ok(Partial { found, failed })
    }

    /// Calls `read` with some blocks of a selection on all threads. Returns results in the order of these blocks, with
    /// the errors of damaged ones.
    pub(super) fn read_blocks<T: Send>(
        &self,
        selection: &SetSelection,
        blocks: &[impl Borrow<BlockSelection> + Sync],
        read: impl Fn(&Searcher<'_, 'a>, &BlockSelection) -> Result<T, SelectError> + Sync,
    ) -> Result<Vec<Result<T, FileError<SelectError>>>, SelectError> {
        let ask = |selected: &BlockSelection| {
            search(self.block(selection, selected)?, self.limits, |searcher| read(searcher, selected))
        };
        blocks.par_iter().map(|block| ask(block.borrow())).collect()
    }

    /// Returns a block of a selection.
    pub(super) fn block(
        &self,
        selection: &SetSelection,
        selected: &BlockSelection,
    ) -> Result<&'a SetBlock, SelectError> {
        let is_same = Arc::ptr_eq(&selection.snapshot, &self.set.blocks);
        let block = if is_same { self.set.blocks().get(selected.block) } else { None };
        block.ok_or(SelectError::OtherSnapshot)
    }

    /// Returns the series that satisfy all matchers.
    ///
    /// # Errors
    /// Errors of the [`Limits`]. A damaged block is not an error, but [listed](SetSelection::failed).
    pub fn select(&self, matchers: &[Matcher]) -> Result<SetSelection, SelectError> {
        self.select_any(&[matchers])
    }

    /// Returns the series that satisfy all matchers of at least one list.
    ///
    /// # Errors
    /// As [`SetQuery::select`].
    pub fn select_any(&self, alternatives: &[&[Matcher]]) -> Result<SetSelection, SelectError> {
        // The memory limit is that of all blocks together.
        let reserved = AtomicU64::new(0);
        let Partial { found, failed } = self.each_block(|searcher| {
            let searcher = searcher.with_limits(self.limits.with_shared_memory(&reserved));
            let mut selections = alternatives.iter().map(|matchers| searcher.select(matchers));
            let first = selections.next().unwrap_or_else(|| Ok(Selection::default()))?;
            selections.try_fold(first, |all, selection| Ok(all.union(&selection?)))
        })?;
        let selected = found.into_iter().filter(|(_, series)| !series.is_empty());
        let blocks = selected.map(|(block, series)| BlockSelection { block, series }).collect();
        let selection = SetSelection { snapshot: Arc::clone(&self.set.blocks), blocks, failed };
        self.limits.check_series(selection.count())?;
        Ok(selection)
    }

    /// Returns the number of distinct series that satisfy all matchers of at least one list. Takes no memory for a
    /// single block and list, and else as much as [`SetQuery::each_distinct`].
    ///
    /// # Errors
    /// Errors of the [`Limits`].
    pub fn count_any(&self, alternatives: &[&[Matcher]]) -> Result<Partial<u64>, SelectError> {
        if let (&[matchers], 0 | 1) = (alternatives, self.blocks().len()) {
            let Partial { found, failed } = self.each_block(|searcher| searcher.count(matchers))?;
            let found = found.iter().map(|(_, count)| count).sum();
            self.limits.check_series(found)?;
            return Ok(Partial { found, failed });
        }
        let selection = self.select_any(alternatives)?;
        let Partial { found, failed } = self.each_distinct(&selection, |_, series| Ok(u64::from(series.count())))?;
        let failed = selection.failed.into_iter().chain(failed).collect();
        Ok(Partial { found: found.into_iter().sum(), failed })
    }

    /// Returns the names of the labels that selected series have, in order, and the errors of damaged blocks.
    ///
    /// # Errors
    /// Errors of the [`Limits`].
    pub fn label_names(&self, matchers: &[Matcher]) -> Result<Partial<Vec<&'a str>>, SelectError> {
        self.label_names_of_any(&[matchers])
    }

    /// Returns the names of the labels that series have, in order, if they satisfy all matchers of at least one list.
    ///
    /// # Errors
    /// As [`SetQuery::label_names`].
    pub fn label_names_of_any(&self, alternatives: &[&[Matcher]]) -> Result<Partial<Vec<&'a str>>, SelectError> {
        let each = |searcher: &Searcher<'_, 'a>| {
            let names = |matchers: &&[Matcher]| texts(searcher.label_names(matchers)?);
            Ok(united(alternatives.iter().map(names).collect::<Result<_, _>>()?))
        };
        Ok(self.each_block(each)?.united(None))
    }

    /// Returns the values that a label has in selected series, in order, at most `limit` of them, and the errors of
    /// damaged blocks.
    ///
    /// # Errors
    /// Errors of the [`Limits`].
    pub fn label_values(
        &self,
        name: impl AsRef<[u8]> + Sync,
        matchers: &[Matcher],
        limit: Option<usize>,
    ) -> Result<Partial<Vec<&'a str>>, SelectError> {
        self.label_values_of_any(name, ValueRange::default(), &[matchers], limit)
    }

    /// Returns the values of a range that a label has, in order, at most `limit` of them, in series that satisfy all
    /// matchers of at least one list.
    ///
    /// # Errors
    /// As [`SetQuery::label_values`].
    pub fn label_values_of_any(
        &self,
        name: impl AsRef<[u8]> + Sync,
        range: ValueRange<'_>,
        alternatives: &[&[Matcher]],
        limit: Option<usize>,
    ) -> Result<Partial<Vec<&'a str>>, SelectError> {
        let each = |searcher: &Searcher<'_, 'a>| {
            let values = |matchers: &&[Matcher]| texts(searcher.label_values_in(&name, range, matchers, limit)?);
            Ok(united(alternatives.iter().map(values).collect::<Result<_, _>>()?))
        };
        Ok(self.each_block(each)?.united(limit))
    }

    /// Returns true if the block at a position has a series with exactly these labels, and with data in the time range:
    /// see [`IndexedBlock::has`](crate::IndexedBlock::has). The limits are not checked.
    ///
    /// # Errors
    /// As [`IndexedBlock::has`](crate::IndexedBlock::has).
    pub fn has<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        block: usize,
        labels: &[(N, V)],
    ) -> Result<bool, FileError<FindError>> {
        self.set.blocks().get(block).map_or(Ok(false), |block| block.open().has(labels, self.time))
    }

    /// Returns the blocks that have the series with exactly these labels, in order, with its ref in each, as
    /// [`IndexedBlock::find`](crate::IndexedBlock::find). The limits are not checked.
    ///
    /// # Errors
    /// [`FindError::DuplicateName`] if two labels have one name.
    pub fn find<N: AsRef<[u8]> + Sync, V: AsRef<[u8]> + Sync>(
        &self,
        labels: &[(N, V)],
    ) -> Result<Partial<Vec<Occurrence>>, FindError> {
        let find = |(position, block): (usize, &SetBlock)| match block.open().find(labels) {
            Ok(found) => Ok(Ok(found.map(|series| Occurrence { block: position, series }))),
            Err(FileError { path, source: FindError::Block(error) }) => {
                Ok(Err(FileError { path, source: SelectError::Block(error) }))
            }
            Err(error) => Err(error.source),
        };
        // A search takes microseconds, as long as it takes to wake a thread.
        let blocks = self.blocks();
        let results: Result<Vec<_>, _> = match blocks.len() {
            0..64 => blocks.into_iter().map(find).collect(),
            _ => blocks.into_par_iter().with_min_len(64).map(find).collect(),
        };
        let mut partial = Partial { found: Vec::new(), failed: Vec::new() };
        for result in results? {
            match result {
                Ok(found) => partial.found.extend(found),
                Err(error) => partial.failed.push(error),
            }
        }
        Ok(partial)
    }
}

/// Returns a symbol as text, which it is as a rule of the format says.
///
/// # Errors
/// [`SelectError::Block`] if it is not UTF-8: its block is damaged.
pub fn as_text(symbol: &[u8]) -> Result<&str, SelectError> {
    std::str::from_utf8(symbol).map_err(|error| {
        let place = Place::Byte(error.valid_up_to() as u64);
        Error::from(Corruption::new(Rule::SymbolsUtf8, place)).into()
    })
}

/// Converts symbols to text.
fn texts(symbols: Vec<&[u8]>) -> Result<Vec<&str>, SelectError> {
    symbols.into_iter().map(as_text).collect()
}

/// Returns the distinct strings of sorted lists, in order.
fn united(mut lists: Vec<Vec<&str>>) -> Vec<&str> {
    if lists.len() < 2 {
        return lists.pop().unwrap_or_default();
    }
    let mut all = lists.concat();
    // Sorting notices the lists.
    all.sort();
    all.dedup();
    all
}

impl<'d> Partial<Vec<(usize, Vec<&'d str>)>> {
    /// Returns the distinct strings of all blocks, in order.
    fn united(self, limit: Option<usize>) -> Partial<Vec<&'d str>> {
        let mut found = united(self.found.into_iter().map(|(_, strings)| strings).collect());
        found.truncate(limit.unwrap_or(usize::MAX));
        Partial { found, failed: self.failed }
    }
}
