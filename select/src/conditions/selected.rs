//! [`SelectedRows`] and [`Selected`]: the selected series of one keyset.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use chronoxide_format::view::{BlockView, Keyset};

use crate::conditions::collector::Collector;
use crate::conditions::selected_members::SelectedMembers;
use crate::rows::lists::{Cursor, Lists};
use crate::rows::scan::each_batch;
use crate::{Index, Limits, Ranges, SelectError};

/// Rows with lists that are read before a collector is asked if it is full.
const ROWS_BETWEEN_CHECKS: u32 = 128;

/// Selected series of a keyset.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "moved once per keyset; a box would be an allocation for each")]
pub(crate) enum Selected<'data, 'view> {
    /// All series of the keyset with this number. Refs and counts of them need no keyset to be opened.
    Keyset(u32),
    Rows(SelectedRows<'data, 'view>),
}

impl<'data, 'view> Selected<'data, 'view> {
    /// Returns the part, for which a whole keyset is opened; `None` if the keyset is out of range.
    pub(crate) fn into_part(
        self,
        view: &'view BlockView<'data>,
    ) -> Result<Option<SelectedRows<'data, 'view>>, SelectError> {
        let keyset = match self {
            Self::Rows(part) => return Ok(Some(part)),
            Self::Keyset(number) => view.keyset(number)?,
        };
        Ok(keyset.map(|keyset| SelectedRows { keyset, rows: Ranges::up_to(keyset.table().row_count()), members: None }))
    }

    /// Returns the number of series. Each list is counted once, however many rows end in it.
    pub(crate) fn count(&self, index: &Index, limits: &Limits<'_>) -> Result<u64, SelectError> {
        match self {
            Self::Keyset(number) => Ok(index.series_of(*number).len() as u64),
            Self::Rows(part) => part.count(limits),
        }
    }

    /// Collects the refs of the series, in order, until the collector is full.
    pub(crate) fn collect_refs(
        &self,
        index: &Index,
        refs: &mut Collector<'_>,
        limits: &Limits<'_>,
    ) -> Result<(), SelectError> {
        match self {
            Self::Keyset(number) => refs.push(index.series_of(*number)),
            Self::Rows(part) => part.collect_refs(refs, limits),
        }
    }
}

/// The selected series of one keyset: some rows of its table, and of each row's list the members in a set.
#[derive(Debug)]
pub(crate) struct SelectedRows<'data, 'view> {
    pub keyset: Keyset<'data, 'view>,
    /// Selected rows, never empty.
    pub rows: Ranges,
    /// Selected members of lists; `None` for all.
    pub members: Option<Rc<SelectedMembers>>,
}

impl<'data, 'view> SelectedRows<'data, 'view> {
    /// Returns true if the part has all series of its keyset.
    pub(crate) fn is_whole(&self) -> bool {
        self.members.is_none() && self.rows.has_all(self.keyset.table().row_count())
    }

    /// Returns the number of series.
    pub(crate) fn count(&self, limits: &Limits<'_>) -> Result<u64, SelectError> {
        if self.is_whole() {
            return Ok(self.keyset.series_count().into());
        }
        let mut count = 0_u64;
        if let (Some(members), Some(lists)) = (&self.members, Lists::open(&self.keyset)) {
            for rows in self.rows.as_slice() {
                self.for_each_batch(&lists, rows, limits, |batch| {
                    members.for_each(&lists.pool, batch, |places| {
                        count += u64::from(places.count());
                        Ok(())
                    })
                })?;
            }
        } else {
            let mut cursor = Cursor::new(self.keyset);
            for rows in self.rows.as_slice() {
                let before = cursor.move_to_row(rows.start)?;
                count += u64::from(cursor.move_to_row(rows.end)?.saturating_sub(before));
            }
        }
        Ok(count)
    }

    /// Collects the refs of the series.
    fn collect_refs(&self, refs: &mut Collector<'_>, limits: &Limits<'_>) -> Result<(), SelectError> {
        let first = self.keyset.first().0;
        let end = first.saturating_add(self.keyset.series_count());
        // A damaged block may count more series in lists than in keysets.
        let mut push =
            |from: u32, to: u32| refs.push(first.saturating_add(from).min(end)..first.saturating_add(to).min(end));
        if self.is_whole() {
            return push(0, self.keyset.series_count());
        }
        let mut cursor = Cursor::new(self.keyset);
        let (Some(members), Some(lists)) = (&self.members, cursor.lists) else {
            for rows in self.rows.as_slice() {
                let before = cursor.move_to_row(rows.start)?;
                push(before, cursor.move_to_row(rows.end)?)?;
            }
            return Ok(());
        };
        for rows in self.rows.as_slice() {
            let mut before = cursor.move_to_row(rows.start)?;
            let mut row = rows.start;
            while row < rows.end && !refs.is_full() {
                let batch = row..rows.end.min(row.saturating_add(ROWS_BETWEEN_CHECKS));
                row = batch.end;
                self.for_each_batch(&lists, &batch, limits, |batch| {
                    members.for_each(&lists.pool, batch, |places| {
                        for range in places.ranges {
                            let [from, to] = [range.start, range.end].map(|place| before.saturating_add(place));
                            refs.push(first.saturating_add(from).min(end)..first.saturating_add(to).min(end))?;
                        }
                        before = before.saturating_add(places.len);
                        Ok(())
                    })
                })?;
            }
            cursor.pass_to(rows.end, before);
        }
        Ok(())
    }

    /// Returns the selected rows that have series. A row has none if no member of its list is selected.
    pub(crate) fn rows_with_series(&self, limits: &Limits<'_>) -> Result<Cow<'_, Ranges>, SelectError> {
        let (Some(members), Some(lists)) = (&self.members, Lists::open(&self.keyset)) else {
            return Ok(Cow::Borrowed(&self.rows));
        };
        let mut kept = Ranges::default();
        for rows in self.rows.as_slice() {
            let mut row = rows.start;
            self.for_each_batch(&lists, rows, limits, |batch| {
                members.for_each(&lists.pool, batch, |places| {
                    if !places.ranges.is_empty() {
                        kept.push(row..row + 1);
                    }
                    row += 1;
                    Ok(())
                })
            })?;
        }
        Ok(Cow::Owned(kept))
    }

    /// Calls `each` with the lists of some rows, in batches and in order.
    fn for_each_batch(
        &self,
        lists: &Lists<'_, '_>,
        rows: &Range<u32>,
        limits: &Limits<'_>,
        mut each: impl FnMut(&[u32]) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        each_batch(&self.keyset.table(), &lists.column, rows.clone(), |_, codes| {
            each(codes)?;
            limits.check()
        })
    }
}
