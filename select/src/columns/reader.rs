//! [`ColumnReader`]: reads columns of ranges of series.

use std::ops::Range;

use chronoxide_format::view::Keyset;
use chronoxide_format::{KeyId, Rule, SeriesRef};

use super::CodeColumn;
use super::cache::Cache;
use crate::index::{IndexedColumn, damaged_row};
use crate::part::Lists;
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
#[derive(Debug, Default)]
pub struct ColumnReader {
    cache: Cache,
    /// Keyset that was read last.
    keyset: u32,
    /// Row of the keyset that was read last, and the number of series before it.
    row: (u32, u32),
    /// For each key, where the last search in the index ended.
    places: Vec<usize>,
    buffers: Buffers,
}

/// Memory that is used again.
#[derive(Debug, Default)]
struct Buffers {
    /// Column of the keyset for each key.
    indexed: Vec<Option<IndexedColumn>>,
    /// For each row, the number of its series that are read.
    runs: Vec<u32>,
    /// Codes of rows, or of members.
    codes: Vec<u32>,
    members: Vec<u32>,
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
        let mut next = series.start.0;
        while next < series.end.0 {
            let Some(keyset) = self.keyset_with(searcher, next)? else { break };
            searcher.limits.check()?;
            let first = keyset.first().0;
            let end = series.end.0.min(first.saturating_add(keyset.series_count()));
            self.read_keyset(searcher, &keyset, next - first..end - first, keys, columns)?;
            if end - first == keyset.series_count() {
                self.open(keyset.id().saturating_add(1));
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
                self.open(number);
                return Ok(Some(keyset));
            }
        }
        let number = searcher.first_keyset_behind(series, 0)?;
        self.open(number);
        Ok(searcher.view.keyset(number)?.filter(has))
    }

    fn open(&mut self, keyset: u32) {
        if self.keyset != keyset {
            (self.keyset, self.row) = (keyset, (0, 0));
        }
    }

    /// Appends the codes of some series of a keyset, by their places in it.
    fn read_keyset<'a, 'data>(
        &mut self,
        searcher: &Searcher<'a, 'data>,
        keyset: &Keyset<'data, 'a>,
        places: Range<u32>,
        keys: &[KeyId],
        columns: &mut [CodeColumn],
    ) -> Result<(), SelectError> {
        self.places.resize(keys.len(), 0);
        let columns_of_keys = keys.iter().zip(&mut self.places);
        let indexed = columns_of_keys.map(|(&key, place)| searcher.index.next_keyset_column(keyset.id(), key, place));
        self.buffers.indexed.clear();
        self.buffers.indexed.extend(indexed.map(Option::<&_>::copied));
        let indexed = &self.buffers.indexed;
        if indexed.iter().all(Option::is_none) {
            columns.iter_mut().for_each(|column| column.push_absent(places.end - places.start));
            return Ok(());
        }
        let table = keyset.table();
        let lists = Lists::open(keyset)?;
        let is_member = |indexed: &IndexedColumn| lists.is_some() && indexed.number + 1 == table.column_count();
        let rows = match &lists {
            None => places.clone(),
            Some(lists) => {
                let has_members = indexed.iter().flatten().any(is_member);
                self.read_runs(keyset, lists, places.clone(), has_members)?
            }
        };
        let Buffers { indexed, runs, codes, members } = &mut self.buffers;
        for ((key, indexed), column) in keys.iter().zip(&*indexed).zip(columns) {
            let Some(indexed) = indexed else {
                column.push_absent(places.end - places.start);
                continue;
            };
            codes.clear();
            if is_member(indexed) {
                codes.extend_from_slice(members);
                self.cache.map_rows(searcher, *key, indexed.domain, codes)?;
                column.push_codes(codes);
                continue;
            }
            let Some(stored) = table.column(indexed.number)? else { continue };
            codes.resize(rows.len(), 0);
            table.read_column(rows.clone(), &stored, codes)?;
            self.cache.map_rows(searcher, *key, indexed.domain, codes)?;
            if lists.is_some() {
                runs.iter().zip(&*codes).for_each(|(&len, &code)| column.push_run(code, len));
            } else {
                column.push_codes(codes);
            }
        }
        Ok(())
    }

    /// Reads the lists of some series of a keyset: the length of each row's run and, if needed, members. Returns the
    /// rows.
    fn read_runs<'a, 'data>(
        &mut self,
        keyset: &Keyset<'data, 'a>,
        lists: &Lists<'data, 'a>,
        places: Range<u32>,
        has_members: bool,
    ) -> Result<Range<u32>, SelectError> {
        /// Rows whose lists are read at once.
        const BATCH: u32 = 256;
        let Buffers { runs, members, .. } = &mut self.buffers;
        runs.clear();
        members.clear();
        let pool = &lists.pool;
        let table = keyset.table();
        let decoded = if has_members { self.cache.pool(pool, places.end - places.start)? } else { None };
        let lens = self.cache.list_lens(pool, table.row_count().min(places.end - places.start))?;
        let (mut row, mut before) = self.row;
        if places.start < before || places.start - before > BATCH {
            let Some((found, in_list)) = keyset.row_of(places.start)? else { return Ok(0..0) };
            (row, before) = (found, places.start - in_list);
        }
        let mut first_row = None;
        let mut codes = [0; BATCH as usize];
        'rows: while row < table.row_count() {
            let end = table.row_count().min(row.saturating_add(BATCH));
            let codes = codes.get_mut(..(end - row) as usize).unwrap_or_default();
            table.read_column(row..end, &lists.column, codes)?;
            for &mut number in codes {
                let damaged = || damaged_row(Rule::ColumnCode, table.id().0);
                let len = match &lens {
                    Some(lens) => *lens.get(number as usize).ok_or_else(damaged)?,
                    None => pool.list(number)?.ok_or_else(damaged)?.len(),
                };
                let list_end = before.saturating_add(len);
                if list_end > places.start {
                    first_row.get_or_insert(row);
                    let start = places.start.saturating_sub(before);
                    let len = list_end.min(places.end) - before - start;
                    runs.push(len);
                    if has_members {
                        let wanted = start..start + len;
                        match decoded.as_ref().and_then(|pool| pool.members(number, wanted.clone())) {
                            Some(known) => members.extend_from_slice(known),
                            None => {
                                let list = pool.list(number)?.ok_or_else(damaged)?;
                                list.push_some_members(wanted, members)?;
                            }
                        }
                    }
                    if list_end >= places.end {
                        self.row = (row, before);
                        break 'rows;
                    }
                }
                before = list_end;
                row += 1;
            }
        }
        // A damaged block may have fewer series in lists than in keysets.
        let found: u64 = runs.iter().map(|&len| u64::from(len)).sum();
        if found != u64::from(places.end - places.start) {
            return Err(damaged_row(Rule::Anchors, table.id().0).into());
        }
        let first_row = first_row.unwrap_or_default();
        Ok(first_row..first_row + runs.len() as u32)
    }
}
