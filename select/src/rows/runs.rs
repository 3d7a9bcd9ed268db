//! [`Runs`]: the series of neighbouring rows of a keyset, read at once.

use std::ops::Range;
use std::sync::Arc;

use chronoxide_format::Rule;
use chronoxide_format::view::Keyset;

use super::index::damaged_row;
use super::list_cache::{DecodedPool, ListCache};
use super::lists::{Cursor, Lists};
use crate::{Limits, Searcher, SelectError, Selection};

/// Most series to read at once: their members take memory.
pub(crate) const SERIES_PER_READ: u32 = 1 << 16;
/// Most rows whose lists are read at once.
const ROWS_PER_READ: u32 = 256;

/// Reads the run of series that each of some rows of a keyset stands for. What neighbours share is decoded once and
/// kept, in at most 16 MiB.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// Lists that many rows end in; `None` if so few series are read that most lists are read once.
    cache: Option<ListCache>,
    /// Keyset that was read last.
    keyset: u32,
    /// Row of the keyset that was read last, and the number of the keyset's series before it.
    row: (u32, u32),
    /// For each row, the number of its list.
    lists: Vec<u32>,
    lens: Vec<u32>,
    members: Vec<u32>,
    /// Series that were read since limits were checked.
    unchecked: u32,
}

impl Runs {
    /// Creates runs to read these series once.
    pub(crate) fn for_selection(searcher: &Searcher<'_, '_>, selection: &Selection) -> Self {
        let is_most = selection.count() > searcher.index.series_count() / 2;
        Self { cache: is_most.then(ListCache::default), ..Self::default() }
    }

    /// Creates runs to read ranges of series, which will be most of a block.
    pub(crate) fn for_ranges() -> Self {
        Self { cache: Some(ListCache::default()), ..Self::default() }
    }

    /// Opens a keyset to read runs of some `count` of its series, and the members of these series in their lists if
    /// they are wanted.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub(crate) fn open<'r, 'data, 'view>(
        &'r mut self,
        keyset: &Keyset<'data, 'view>,
        count: u32,
        has_members: bool,
    ) -> Result<KeysetRuns<'r, 'data, 'view>, SelectError> {
        if self.keyset != keyset.id() {
            (self.keyset, self.row) = (keyset.id(), (0, 0));
        }
        let mut cursor = Cursor::new(*keyset);
        cursor.pass_to(self.row.0, self.row.1);
        let (mut lens, mut members) = (None, None);
        if let (Some(Lists { pool, .. }), Some(cache)) = (&cursor.lists, &mut self.cache) {
            lens = cache.list_lens(pool, keyset.table().row_count().min(count))?;
            if has_members {
                members = cache.pool(pool, count)?;
            }
        }
        Ok(KeysetRuns { runs: self, cursor, has_members, lens, members })
    }
}

/// The runs of a keyset.
pub(crate) struct KeysetRuns<'r, 'data, 'view> {
    runs: &'r mut Runs,
    cursor: Cursor<'data, 'view>,
    has_members: bool,
    /// Lengths of all lists, if they are known.
    lens: Option<Arc<[u32]>>,
    /// Members of all lists, if they are known.
    members: Option<Arc<DecodedPool>>,
}

impl KeysetRuns<'_, '_, '_> {
    /// For each row, the number of its series that were read.
    pub(crate) fn lens(&self) -> &[u32] {
        &self.runs.lens
    }

    /// The members of all series that were read, if they are wanted.
    pub(crate) fn members(&self) -> &[u32] {
        &self.runs.members
    }

    /// For each row, its members.
    pub(crate) fn members_of_rows(&self) -> impl Iterator<Item = &[u32]> {
        let mut left = self.members();
        self.lens().iter().map(move |&len| left.split_off(..len as usize).unwrap_or_default())
    }

    /// Reads the runs of some series, by their places in the keyset. Returns the rows. Ranges may come in any order;
    /// ascending ones are faster.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged, and errors of the limits.
    pub(crate) fn read(&mut self, limits: &Limits<'_>, places: Range<u32>) -> Result<Range<u32>, SelectError> {
        let Self { runs, cursor, .. } = self;
        let count = places.end - places.start;
        runs.unchecked = runs.unchecked.saturating_add(count);
        if runs.unchecked >= SERIES_PER_READ {
            runs.unchecked = 0;
            limits.check()?;
        }
        runs.lists.clear();
        runs.lens.clear();
        runs.members.clear();
        if cursor.lists.is_none() {
            runs.lens.resize(count as usize, 1);
            return Ok(places);
        }
        if !cursor.move_to(places.start)? {
            return Err(damaged_row(Rule::Anchors, cursor.keyset.table().id().0).into());
        }
        let (first_row, before) = (cursor.row, cursor.before);
        self.read_lens(places.end)?;
        let row_count = self.runs.lens.len() as u32;
        // The first list may begin before the places.
        let skipped = places.start.saturating_sub(before);
        if let Some(len) = self.runs.lens.first_mut() {
            *len = len.saturating_sub(skipped);
        }
        self.read_members(skipped)?;
        Ok(first_row..first_row + row_count)
    }

    /// Reads the lengths of the lists from the row of the cursor on, up to series `end` of the keyset.
    fn read_lens(&mut self, end: u32) -> Result<(), SelectError> {
        let Self { runs, cursor, .. } = self;
        let (Some(Lists { column, pool }), Some(first)) = (&cursor.lists, cursor.list) else { return Ok(()) };
        let table = cursor.keyset.table();
        let damaged = |rule| SelectError::from(damaged_row(rule, table.id().0));
        // The cursor knows its row. Many ranges have no other.
        runs.lists.push(first);
        runs.lens.push(cursor.len);
        let (mut row, mut read) = (cursor.row + 1, cursor.before.saturating_add(cursor.len));
        while read < end && row < table.row_count() {
            // Each row has a series.
            let rows = ROWS_PER_READ.min(end - read).min(table.row_count() - row);
            let known = runs.lists.len();
            runs.lists.resize(known + rows as usize, 0);
            let lists = runs.lists.get_mut(known..).unwrap_or_default();
            table.read_column(row..row + rows, column, lists)?;
            for &list in &*lists {
                let len = match &self.lens {
                    Some(lens) => lens.get(list as usize).copied().ok_or_else(|| damaged(Rule::ColumnCode))?,
                    None => pool.list_len(list)?,
                };
                runs.lens.push(len);
                read = read.saturating_add(len);
                row += 1;
                if read >= end {
                    break;
                }
            }
        }
        // A damaged block may have fewer series in lists than in keysets.
        if read < end {
            return Err(damaged(Rule::Anchors));
        }
        if let Some(last) = runs.lens.last_mut() {
            runs.row = (row - 1, read.saturating_sub(*last));
            if runs.row.0 != cursor.row {
                cursor.pass_to(runs.row.0, runs.row.1);
            }
            // The last list may end behind the places.
            *last = last.saturating_sub(read - end);
        }
        Ok(())
    }

    /// Reads the members of the series whose lengths were read, without those that were skipped in the first list.
    fn read_members(&mut self, mut skipped: u32) -> Result<(), SelectError> {
        let Self { runs, cursor, .. } = self;
        let Some(Lists { pool, .. }) = cursor.lists.as_ref().filter(|_| self.has_members) else { return Ok(()) };
        for (&list, &len) in runs.lists.iter().zip(&runs.lens) {
            let wanted = skipped..skipped + len;
            skipped = 0;
            match self.members.as_ref().and_then(|pool| pool.members(list, wanted.clone())) {
                Some(known) => runs.members.extend_from_slice(known),
                None => pool.list(list)?.push_some_members(wanted, &mut runs.members)?,
            }
        }
        Ok(())
    }
}
