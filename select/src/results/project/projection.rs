//! [`Projection`]: codes and values of a few labels of many series.

use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, SeriesRef};

use crate::rows::lists::Cursor;
use crate::rows::route::Source;
use crate::{Searcher, SelectError};

/// Series between two checks of the limits.
const SERIES_PER_CHECK: usize = 1 << 14;

/// A few labels of many series, as columns of value codes over the dictionaries of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    keys: Vec<Option<KeyId>>,
    columns: Vec<Vec<u32>>,
}

impl Projection {
    /// Code that stands for an absent label.
    pub const ABSENT: u32 = u32::MAX;

    /// Returns the key of a column, or `None` if the block does not have its name or the column is out of range.
    #[must_use]
    pub fn key(&self, column: usize) -> Option<KeyId> {
        self.keys.get(column).copied().flatten()
    }

    /// Returns the codes of a column, one per series, in the order in which these were given. A series without the
    /// label has [`Projection::ABSENT`]. Empty if the column is out of range.
    #[must_use]
    pub fn codes(&self, column: usize) -> &[u32] {
        self.columns.get(column).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the value of a column for the series at a position, or `None` if the series does not have the label.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read.
    pub fn value<'data>(
        &self,
        view: &BlockView<'data>,
        column: usize,
        position: usize,
    ) -> Result<Option<&'data [u8]>, SelectError> {
        let (Some(key), Some(&code)) = (self.key(column), self.codes(column).get(position)) else { return Ok(None) };
        if code == Self::ABSENT {
            return Ok(None);
        }
        Ok(Some(view.symbol(view.dictionary_value(key, code)?)?))
    }
}

impl Searcher<'_, '_> {
    /// Reads the labels with some names of many series, in any order, and no other labels. A ref that is out of range
    /// has no labels.
    ///
    /// Costs a few dozen nanoseconds per series, and as many per label. Sorts the refs first, unless they are sorted.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read, and errors of the
    /// [`Limits`](crate::Limits).
    pub fn project<N: AsRef<[u8]>>(&self, refs: &[SeriesRef], names: &[N]) -> Result<Projection, SelectError> {
        self.project_found(refs, names.iter().map(|name| self.key(name.as_ref())).collect::<Result<_, _>>()?)
    }

    /// Like [`Searcher::project`], by keys.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn project_keys(&self, refs: &[SeriesRef], keys: &[KeyId]) -> Result<Projection, SelectError> {
        self.project_found(refs, keys.iter().copied().map(Some).collect())
    }

    /// Like [`Searcher::project`], by keys; one that the block lacks is `None`.
    fn project_found(&self, refs: &[SeriesRef], keys: Vec<Option<KeyId>>) -> Result<Projection, SelectError> {
        let mut columns = vec![vec![Projection::ABSENT; refs.len()]; keys.len()];
        // Series and position in one number are sorted in half the time of a pair.
        let mut order: Vec<u64> = (0_u64..).zip(refs).map(|(n, series)| u64::from(series.0) << 32 | n).collect();
        if !refs.is_sorted() {
            order.sort_unstable();
        }
        let mut open: Option<Open<'_, '_>> = None;
        let mut next_keyset = 0;
        for (number, &both) in order.iter().enumerate() {
            let (series, position) = ((both >> 32) as u32, both as u32);
            if number % SERIES_PER_CHECK == 0 {
                self.limits.check()?;
            }
            if open.as_ref().is_none_or(|open| series >= open.end) {
                open = self.open(series, &mut next_keyset, &keys)?;
            }
            let Some(open) = &mut open else { break };
            let place = series - open.first;
            if !open.cursor.move_to(place)? {
                continue;
            }
            if open.row_read != Some(open.cursor.row) {
                for (code, source) in open.row_codes.iter_mut().zip(&open.sources) {
                    if let Source::Row(route) = source {
                        *code = route.code(open.cursor.row)?;
                    }
                }
                open.row_read = Some(open.cursor.row);
            }
            let member = if open.has_members { open.cursor.member(place)? } else { 0 };
            for ((column, source), &code) in columns.iter_mut().zip(&open.sources).zip(&open.row_codes) {
                let Some(slot) = column.get_mut(position as usize) else { continue };
                *slot = if let Source::Member(route) = source { route.code(member)? } else { code };
            }
        }
        Ok(Projection { keys, columns })
    }
}

/// The keyset of the series that are being read.
struct Open<'data, 'view> {
    first: u32,
    end: u32,
    cursor: Cursor<'data, 'view>,
    sources: Vec<Source<'data, 'view>>,
    /// True if a label is in the members of lists.
    has_members: bool,
    /// Codes of the labels in the row that was read last.
    row_codes: Vec<u32>,
    row_read: Option<u32>,
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the keyset that has a series, or `None` if the series is out of range. `next` is the first keyset that
    /// may have it.
    fn open(
        &self,
        series: u32,
        next: &mut u32,
        keys: &[Option<KeyId>],
    ) -> Result<Option<Open<'data, 'a>>, SelectError> {
        let mut passed = 0;
        while let Some(keyset) = self.view.keyset(*next)? {
            *next += 1;
            let (first, end) = (keyset.first().0, keyset.first().0.saturating_add(keyset.series_count()));
            if series >= end {
                passed += 1;
                if passed > NEAR_KEYSETS {
                    *next = self.index.keyset_from(SeriesRef(series)).max(*next);
                }
                continue;
            }
            if series >= first {
                let source = |key: &Option<KeyId>| key.map_or(Ok(Source::Absent), |key| self.source(&keyset, key));
                let sources = keys.iter().map(source).collect::<Result<Vec<_>, _>>()?;
                let row_codes = vec![Projection::ABSENT; sources.len()];
                let has_members = sources.iter().any(|source| matches!(source, Source::Member(_)));
                let cursor = Cursor::new(keyset);
                return Ok(Some(Open { first, end, cursor, sources, has_members, row_codes, row_read: None }));
            }
        }
        Ok(None)
    }
}

/// Keysets that are passed one by one; farther ones are searched.
const NEAR_KEYSETS: u32 = 4;
