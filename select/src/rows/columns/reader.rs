//! [`ColumnReader`]: reads columns of ranges of series.

use std::ops::Range;

use chronoxide_format::view::Keyset;
use chronoxide_format::{KeyId, Rule, SeriesRef};

use super::cache::Cache;
use super::{CodeColumn, CodeCounts, CodeSink};
use crate::rows::index::{IndexedColumn, damaged_row};
use crate::rows::runs::Runs;
use crate::{Searcher, SelectError};

/// Reads columns of value codes of ranges of series of one block.
///
/// Series next to each other share most of their labels, and their codes are read together: a row of a factored keyset
/// stands for a list of series, and a label of the row is one code for all of them. What neighbours share is decoded
/// once and kept, in at most 32 MiB, so that a reader is made once per scan.
///
/// ```
/// use chronoxide_reader::{Block, Checks, SeriesRef};
/// use chronoxide_select::{CodeColumn, ColumnReader, Index, Searcher};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = Block::read(path, Checks::Lazy)?;
/// let view = block.view();
/// let index = Index::new(&view)?;
/// let job = view.key("job")?.expect("the block has this label");
/// let mut columns = [CodeColumn::default()];
/// let all = SeriesRef(0)..SeriesRef(view.series_count()?);
/// ColumnReader::default().read(&Searcher::new(&view, &index), all, &[job], &mut columns)?;
/// assert_eq!(columns[0].len(), view.series_count()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ColumnReader {
    cache: Cache,
    /// Keyset that was read last.
    keyset: u32,
    /// For each key, where the last search in the index ended.
    places: Vec<usize>,
    runs: Runs,
    buffers: Buffers,
}

/// Memory that is used again.
#[derive(Debug, Default)]
struct Buffers {
    /// Column of the keyset for each key.
    indexed: Vec<Option<IndexedColumn>>,
    /// Codes of rows, or of members.
    codes: Vec<u32>,
}

impl Default for ColumnReader {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            keyset: 0,
            places: Vec::new(),
            runs: Runs::for_ranges(),
            buffers: Buffers::default(),
        }
    }
}

impl ColumnReader {
    /// Appends the codes of each key in a range of series to the column in the same position. Series that are out of
    /// range are skipped.
    ///
    /// The searcher must be of the same block in all calls: otherwise codes are wrong, or an error. Ranges may come in
    /// any order; ascending ones are faster. Costs about a nanosecond per series and key, and some 100 ns per keyset
    /// and key.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read, and errors of the
    /// [`Limits`](crate::Limits). Columns may then have different lengths. A code of a damaged block may be beyond the
    /// dictionary.
    pub fn read(
        &mut self,
        searcher: &Searcher<'_, '_>,
        series: Range<SeriesRef>,
        keys: &[KeyId],
        columns: &mut [CodeColumn],
    ) -> Result<(), SelectError> {
        self.read_into(searcher, series, keys, columns)
    }

    /// Adds the number of series of each value of each key in a range of series to the counts in the same position.
    /// Series that are out of range are skipped.
    ///
    /// The searcher must be of the same block in all calls. Costs a few nanoseconds per row, which stands for a list of
    /// series, or per series of a key that lists have.
    ///
    /// # Errors
    /// As [`ColumnReader::read`], and [`SelectError::Block`] if a code is beyond the counts: they have fewer values
    /// than the key, or the block is damaged.
    pub fn count(
        &mut self,
        searcher: &Searcher<'_, '_>,
        series: Range<SeriesRef>,
        keys: &[KeyId],
        counts: &mut [CodeCounts],
    ) -> Result<(), SelectError> {
        self.read_into(searcher, series, keys, counts)?;
        match keys.iter().zip(counts).find(|(_, counts)| counts.has_unknown_codes()) {
            Some((key, _)) => Err(damaged_row(Rule::ColumnCode, key.0).into()),
            None => Ok(()),
        }
    }

    pub(super) fn read_into(
        &mut self,
        searcher: &Searcher<'_, '_>,
        series: Range<SeriesRef>,
        keys: &[KeyId],
        sinks: &mut [impl CodeSink],
    ) -> Result<(), SelectError> {
        let mut next = series.start.0;
        while next < series.end.0 {
            let Some(keyset) = self.keyset_with(searcher, next)? else { break };
            searcher.limits.check()?;
            let first = keyset.first().0;
            let end = series.end.0.min(first.saturating_add(keyset.series_count()));
            self.read_keyset(searcher, &keyset, next - first..end - first, keys, sinks)?;
            if end - first == keyset.series_count() {
                self.keyset = keyset.id().saturating_add(1);
            }
            next = end;
        }
        Ok(())
    }

    /// Returns the keyset that has a series, or `None` if the series is out of range.
    fn keyset_with<'a, 'data>(
        &mut self,
        searcher: &Searcher<'a, 'data>,
        series: u32,
    ) -> Result<Option<Keyset<'data, 'a>>, SelectError> {
        let has = |keyset: &Keyset<'_, '_>| {
            series.checked_sub(keyset.first().0).is_some_and(|place| place < keyset.series_count())
        };
        for number in [self.keyset, self.keyset.saturating_add(1)] {
            if let Some(keyset) = searcher.view.keyset(number)?.filter(has) {
                self.keyset = number;
                return Ok(Some(keyset));
            }
        }
        let number = searcher.index.keyset_from(SeriesRef(series));
        self.keyset = number;
        Ok(searcher.view.keyset(number)?.filter(has))
    }

    /// Passes on the codes of some series of a keyset, by their places in it.
    fn read_keyset<'a, 'data>(
        &mut self,
        searcher: &Searcher<'a, 'data>,
        keyset: &Keyset<'data, 'a>,
        places: Range<u32>,
        keys: &[KeyId],
        sinks: &mut [impl CodeSink],
    ) -> Result<(), SelectError> {
        self.places.resize(keys.len(), 0);
        let columns_of_keys = keys.iter().zip(&mut self.places);
        let indexed = columns_of_keys.map(|(&key, place)| searcher.index.next_keyset_column(keyset.id(), key, place));
        self.buffers.indexed.clear();
        self.buffers.indexed.extend(indexed.map(Option::<&_>::copied));
        let indexed = &self.buffers.indexed;
        if indexed.iter().all(Option::is_none) {
            sinks.iter_mut().for_each(|sink| sink.push_absent(places.end - places.start));
            return Ok(());
        }
        let table = keyset.table();
        let has_lists = keyset.pool().is_some();
        let is_member = |indexed: &IndexedColumn| has_lists && indexed.number + 1 == table.column_count();
        let has_members = indexed.iter().flatten().any(is_member);
        let mut runs = self.runs.open(keyset, places.end - places.start, has_members)?;
        let rows = if has_lists { runs.read(&searcher.limits, places.clone())? } else { places.clone() };
        let Buffers { indexed, codes } = &mut self.buffers;
        for ((key, indexed), sink) in keys.iter().zip(&*indexed).zip(sinks) {
            let Some(indexed) = indexed else {
                sink.push_absent(places.end - places.start);
                continue;
            };
            codes.clear();
            if is_member(indexed) {
                codes.extend_from_slice(runs.members());
                self.cache.map_rows(searcher, *key, indexed.domain, codes)?;
                sink.push_codes(codes);
                continue;
            }
            let stored = table.column(indexed.number)?;
            codes.resize(rows.len(), 0);
            table.read_column(rows.clone(), &stored, codes)?;
            self.cache.map_rows(searcher, *key, indexed.domain, codes)?;
            if has_lists {
                sink.push_runs(runs.lens(), codes);
            } else {
                sink.push_codes(codes);
            }
        }
        Ok(())
    }
}
