//! [`Part`]: the selected series of one keyset.

use chronoxide_format::view::{Column, Keyset, List, Pool};
use hashbrown::HashMap;

use crate::row_set::RowSet;
use crate::{Limits, Ranges, SelectError};

/// Rows that are passed one by one; over more rows, the number of series is read from an anchor.
const NEAR_ROWS: u32 = 12;
/// Ranges of members that are searched in a list; over more, all its members are read.
const FEW_RANGES: usize = 4;
/// Rows between two checks of the limits.
const ROWS_PER_CHECK: u32 = 1 << 12;

/// The selected series of one keyset: some rows of its table, and of each row's list the members in a set.
#[derive(Debug)]
pub(crate) struct Part<'data, 'view> {
    pub keyset: Keyset<'data, 'view>,
    /// Selected rows, never empty.
    pub rows: Ranges,
    /// Selected rows of the pool's table; `None` for all.
    pub members: Option<RowSet>,
}

/// The column of lists of a keyset, and their pool.
#[derive(Debug)]
pub(crate) struct Lists<'data, 'view> {
    pub column: Column,
    pub pool: Pool<'data, 'view>,
}

impl<'data, 'view> Lists<'data, 'view> {
    /// Returns the lists of a keyset, or `None` if it has none.
    pub(crate) fn open(keyset: &Keyset<'data, 'view>) -> Result<Option<Self>, SelectError> {
        let Some(pool) = keyset.pool() else { return Ok(None) };
        let table = keyset.table();
        Ok(table.column(table.column_count() - 1)?.map(|column| Self { column, pool }))
    }
}

impl<'data, 'view> Part<'data, 'view> {
    /// Returns true if the part has all series of its keyset.
    pub(crate) fn is_whole(&self) -> bool {
        self.members.is_none() && self.rows.has_all(self.keyset.table().row_count())
    }

    /// Returns the number of series. Each list is counted once, however many rows end in it.
    pub(crate) fn count(&self, limits: &Limits<'_>) -> Result<u64, SelectError> {
        if self.is_whole() {
            return Ok(self.keyset.series_count().into());
        }
        let Some(lists) = Lists::open(&self.keyset)? else { return Ok(self.rows.count().into()) };
        let mut count = 0_u64;
        if let Some(members) = &self.members {
            let mut counts: HashMap<u32, u32> = HashMap::new();
            self.for_each_row(limits, |row| {
                let Some(list) = self.keyset.table().code(row, &lists.column)? else { return Ok(()) };
                let counted = match counts.get(&list) {
                    Some(count) => *count,
                    None => {
                        let places = places(&lists.pool, list, members)?;
                        *counts.entry(list).or_insert(places.0.count())
                    }
                };
                count += u64::from(counted);
                Ok(())
            })?;
        } else {
            let mut place = Place::new(&self.keyset, &lists);
            for rows in self.rows.as_slice() {
                let before = place.move_to(rows.start)?;
                count += u64::from(place.move_to(rows.end)?.saturating_sub(before));
            }
        }
        Ok(count)
    }

    /// Appends the refs of the series, in order.
    pub(crate) fn push_refs(&self, refs: &mut Ranges, limits: &Limits<'_>) -> Result<(), SelectError> {
        let first = self.keyset.first().0;
        let end = first.saturating_add(self.keyset.series_count());
        // A damaged block may count more series in lists than in keysets.
        let mut push =
            |from: u32, to: u32| refs.push(first.saturating_add(from).min(end)..first.saturating_add(to).min(end));
        if self.is_whole() {
            push(0, self.keyset.series_count());
            return Ok(());
        }
        let Some(lists) = Lists::open(&self.keyset)? else {
            self.rows.as_slice().iter().for_each(|rows| push(rows.start, rows.end));
            return Ok(());
        };
        let mut place = Place::new(&self.keyset, &lists);
        let Some(members) = &self.members else {
            for rows in self.rows.as_slice() {
                let before = place.move_to(rows.start)?;
                push(before, place.move_to(rows.end)?);
            }
            return Ok(());
        };
        let mut known: HashMap<u32, (Ranges, u32)> = HashMap::new();
        self.for_each_row(limits, |row| {
            let before = place.move_to(row)?;
            let Some(list) = self.keyset.table().code(row, &lists.column)? else { return Ok(()) };
            let (places, len) = match known.get(&list) {
                Some(known) => known,
                None => known.entry(list).or_insert(places(&lists.pool, list, members)?),
            };
            for range in places.as_slice() {
                push(before.saturating_add(range.start), before.saturating_add(range.end));
            }
            place.pass(*len);
            Ok(())
        })
    }

    /// Calls `each` with each selected row, in order.
    fn for_each_row(
        &self,
        limits: &Limits<'_>,
        mut each: impl FnMut(u32) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        for row in self.rows.iter() {
            if row % ROWS_PER_CHECK == 0 {
                limits.check()?;
            }
            each(row)?;
        }
        Ok(())
    }
}

/// Returns the places of the list's members that are in the set, and the length of the list. Members increase, so that
/// a set of few ranges is searched.
pub(crate) fn places(pool: &Pool<'_, '_>, list: u32, members: &RowSet) -> Result<(Ranges, u32), SelectError> {
    let Some(list) = pool.list(list)? else { return Ok((Ranges::default(), 0)) };
    let ranges = members.ranges().as_slice();
    if ranges.len() <= FEW_RANGES {
        let mut places = Ranges::default();
        let mut from = 0;
        for range in ranges {
            let start = first_place(&list, from, range.start)?;
            from = first_place(&list, start, range.end)?;
            places.push(start..from);
        }
        return Ok((places, list.len()));
    }
    let mut all = Vec::with_capacity(list.len() as usize);
    list.push_members(&mut all)?;
    let kept = (0..).zip(&all).filter(|(_, member)| members.contains(**member));
    Ok((kept.map(|(place, _)| place..place + 1).collect(), list.len()))
}

/// Returns the first place from `from` on whose member is at least `member`.
fn first_place(list: &List<'_, '_>, from: u32, member: u32) -> Result<u32, SelectError> {
    let (mut low, mut high) = (from, list.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match list.get(middle)? {
            Some(found) if found < member => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// A row of a keyset, and the number of series before it.
struct Place<'a, 'data, 'view> {
    keyset: &'a Keyset<'data, 'view>,
    lists: &'a Lists<'data, 'view>,
    row: u32,
    before: u32,
}

impl<'a, 'data, 'view> Place<'a, 'data, 'view> {
    fn new(keyset: &'a Keyset<'data, 'view>, lists: &'a Lists<'data, 'view>) -> Self {
        Self { keyset, lists, row: 0, before: 0 }
    }

    /// Moves forward to `row`, or to the end, and returns the number of series before it.
    fn move_to(&mut self, row: u32) -> Result<u32, SelectError> {
        if row > self.row.saturating_add(NEAR_ROWS) {
            self.before = self.keyset.series_before(row)?.unwrap_or_else(|| self.keyset.series_count());
            self.row = row;
        }
        while self.row < row {
            let list = self.keyset.table().code(self.row, &self.lists.column)?.unwrap_or_default();
            self.pass(self.lists.pool.list_len(list)?.unwrap_or_default());
        }
        Ok(self.before)
    }

    /// Moves past the current row, whose list has `len` members.
    fn pass(&mut self, len: u32) {
        self.row += 1;
        self.before = self.before.saturating_add(len);
    }
}
