//! [`Evaluation`]: conditions on their way from dictionaries up to keysets.

use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use chronoxide_format::TableId;
use chronoxide_format::view::{Domain, Pool};
use hashbrown::HashMap;

use crate::conditions::condition::Condition;
use crate::conditions::selected::{Selected, SelectedRows};
use crate::conditions::selected_members::SelectedMembers;
use crate::rows::index::IndexedColumn;
use crate::rows::row_set::{Keep, RowSet, filter_rows};
use crate::{Ranges, Searcher, SelectError};

/// Most rows of a keyset that are filtered at once for a page: their ranges take at most 4 MiB.
const MAX_ROWS: u32 = 1 << 20;

/// A keyset that can have rows that satisfy a condition on having a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub keyset: u32,
    /// Number of the column that leads to the label.
    column: u32,
    /// Rows of the column's domain, by their number in the condition's [`RowSets`].
    rows: usize,
}

/// The rows that satisfy a condition, in the tables that were looked at.
#[derive(Debug)]
struct RowSets {
    /// For each inner table, 0 before it was looked at, 1 if it has no such row, or the number of its set plus 2.
    numbers: Vec<u32>,
    /// The codes of the condition, which are rows of the dictionary, and the sets that are not empty.
    sets: Vec<Arc<RowSet>>,
}

/// Number of the dictionary's rows in [`RowSets`].
const DICTIONARY: usize = 0;

/// A filter of a keyset: which codes a column may have.
#[derive(Clone, Copy, Debug)]
struct Filter {
    /// Number of the column.
    column: u32,
    condition: usize,
    /// Rows of the column's domain, by their number in the condition's [`RowSets`].
    rows: usize,
    keep: Keep,
}

/// Conditions on their way from dictionaries up to keysets.
pub(crate) struct Evaluation<'s, 'a, 'data> {
    searcher: &'s Searcher<'a, 'data>,
    conditions: &'s [Condition],
    /// The rows of each condition.
    rows: Vec<RowSets>,
    /// Filters of the current keyset.
    filters: Vec<Filter>,
    /// Selected members of lists, by pool.
    members: HashMap<u32, Rc<SelectedMembers>>,
}

impl<'s, 'a, 'data> Evaluation<'s, 'a, 'data> {
    pub(crate) fn new(searcher: &'s Searcher<'a, 'data>, conditions: &'s [Condition]) -> Self {
        let inner_tables = searcher.index.inner_table_count();
        let rows = |condition: &Condition| RowSets {
            numbers: vec![0; inner_tables],
            sets: vec![Arc::clone(&condition.codes)],
        };
        Self {
            searcher,
            conditions,
            rows: conditions.iter().map(rows).collect(),
            filters: Vec::new(),
            members: HashMap::new(),
        }
    }

    /// Estimates the number of keysets with a row that satisfies a condition on having a label.
    pub(crate) fn expected_keysets(&self, condition: usize) -> u64 {
        let Condition { key, codes, .. } = &self.conditions[condition];
        let keysets = self.searcher.index.keyset_count_with(*key) as u64;
        keysets * u64::from(codes.ranges().count()) / u64::from(codes.row_count()).max(1)
    }

    /// Returns the keysets with a column that can hold a row that satisfies a condition on having a label, in order.
    pub(crate) fn candidates(&mut self, condition: usize) -> Result<Vec<Candidate>, SelectError> {
        let Searcher { index, limits, .. } = *self.searcher;
        let key = self.conditions[condition].key;
        let mut candidates = Vec::new();
        let mut push_users = |rows: usize, set: &RowSet, table: u32| {
            let users = index.users(table).filter(|(_, column)| set.meets(column.codes));
            candidates.extend(users.map(|(keyset, column)| Candidate { keyset, column: column.number, rows }));
        };
        push_users(DICTIONARY, self.set(condition, DICTIONARY), key.0);
        // A table refers to earlier ones only, so that each is looked at after its domain.
        for (table, column) in index.inner_tables_with(key) {
            if let Some(rows) = self.inner_rows(condition, table, column)? {
                limits.check()?;
                push_users(rows, self.set(condition, rows), table);
            }
        }
        // Users of each table are in order. A keyset has a key once, except in a damaged block.
        candidates.sort_by_key(|candidate| candidate.keyset);
        candidates.dedup_by_key(|candidate| candidate.keyset);
        Ok(candidates)
    }

    /// Returns rows that satisfy a condition by their number.
    #[inline]
    fn set(&self, condition: usize, rows: usize) -> &RowSet {
        &self.rows[condition].sets[rows]
    }

    /// Returns the number of the rows of a table whose label is among the codes of a condition, or `None` if it has no
    /// such row.
    fn rows(&mut self, condition: usize, table: u32) -> Result<Option<usize>, SelectError> {
        let (index, key) = (self.searcher.index, self.conditions[condition].key);
        let Some(inner) = index.inner_number(table) else {
            return Ok((table == key.0).then_some(DICTIONARY));
        };
        match self.rows[condition].numbers.get(inner) {
            Some(0) => match index.column(table, key) {
                Some(column) => self.inner_rows(condition, table, column),
                None => Ok(None),
            },
            number => Ok(number.and_then(|&number| (number as usize).checked_sub(2))),
        }
    }

    /// Like [`Evaluation::rows`], for an inner table whose column is known.
    fn inner_rows(
        &mut self,
        condition: usize,
        table: u32,
        column: &IndexedColumn,
    ) -> Result<Option<usize>, SelectError> {
        let Some(inner) = self.searcher.index.inner_number(table) else { return Ok(None) };
        match self.rows[condition].numbers.get(inner) {
            Some(0) => {}
            number => return Ok(number.and_then(|&number| (number as usize).checked_sub(2))),
        }
        let found = match self.rows(condition, column.domain)? {
            Some(below) => self.find_rows(self.set(condition, below), table, column)?,
            None => None,
        };
        let RowSets { numbers, sets } = &mut self.rows[condition];
        let rows = found.map(|found| {
            sets.push(Arc::new(found));
            sets.len() - 1
        });
        if let Some(number) = numbers.get_mut(inner) {
            *number = rows.map_or(1, |rows| rows as u32 + 2);
        }
        Ok(rows)
    }

    /// Returns the rows of an inner table whose code is in a set, or `None` if there are none.
    fn find_rows(&self, below: &RowSet, number: u32, column: &IndexedColumn) -> Result<Option<RowSet>, SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        if !below.meets(column.codes) {
            return Ok(None);
        }
        if let Some(codes) = index.short_map(number) {
            let rows = below.positions_in(codes);
            return Ok((!rows.is_empty()).then(|| RowSet::new(rows, codes.len() as u32)));
        }
        let Some(table) = view.table(TableId(number))? else { return Ok(None) };
        let stored = table.column(column.number)?;
        let all = Ranges::up_to(table.row_count());
        let rows = filter_rows(&table, (column.number, &stored), below, Keep::Members, all, &limits)?;
        Ok((!rows.is_empty()).then(|| RowSet::new(rows, table.row_count())))
    }

    /// Sets the filters of a keyset. Returns false if it has no selected row. The column of a condition may be known.
    pub(crate) fn set_filters(&mut self, number: u32, known: Option<(usize, Candidate)>) -> Result<bool, SelectError> {
        let Searcher { index, limits, .. } = *self.searcher;
        limits.check()?;
        self.filters.clear();
        for (condition, place) in self.conditions.iter().zip(0..) {
            let keep = condition.keep;
            if let Some((_, Candidate { column, rows, .. })) = known.filter(|(known, _)| *known == place) {
                if !self.set(place, rows).is_all() {
                    self.filters.push(Filter { column, condition: place, rows, keep });
                }
                continue;
            }
            let Some(column) = index.keyset_column(number, condition.key) else {
                match keep {
                    Keep::Members => return Ok(false),
                    Keep::Others => continue,
                }
            };
            let rows = self.rows(place, column.domain)?;
            match (rows.filter(|&rows| self.set(place, rows).meets(column.codes)), keep) {
                (None, Keep::Members) => return Ok(false),
                (None, Keep::Others) => {}
                (Some(rows), keep) => match (self.set(place, rows).is_all(), keep) {
                    (true, Keep::Others) => return Ok(false),
                    (true, Keep::Members) => {}
                    (false, keep) => {
                        self.filters.push(Filter { column: column.number, condition: place, rows, keep });
                    }
                },
            }
        }
        // Rows are sorted by the first column: what it leaves is few rows, which the others are read in.
        self.filters.sort_by_key(|filter| filter.column != 0);
        Ok(true)
    }

    /// Calls `each` with the selected series of a keyset, whose filters are set, if it has some, from a row on, until
    /// it breaks.
    pub(crate) fn visit(
        &mut self,
        number: u32,
        first_row: u32,
        first_rows: Option<u32>,
        each: &mut impl FnMut(Selected<'data, 'a>) -> Result<ControlFlow<()>, SelectError>,
    ) -> Result<ControlFlow<()>, SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        if self.filters.is_empty() {
            // The rows before the first one, if there are any, have no refs that are asked for.
            return each(Selected::Keyset(number));
        }
        let Some(mut len) = first_rows else {
            let part = self.filtered(number, first_row..u32::MAX)?;
            return part.map_or(Ok(Continue(())), |part| each(Selected::Rows(part)));
        };
        let Some(table) = view.table(index.keyset_table(number))? else { return Ok(Continue(())) };
        let mut start = first_row;
        while start < table.row_count() {
            let end = start.saturating_add(len);
            if let Some(part) = self.filtered(number, start..end)?
                && each(Selected::Rows(part))?.is_break()
            {
                return Ok(Break(()));
            }
            limits.check()?;
            (start, len) = (end, len.saturating_mul(2).min(MAX_ROWS));
        }
        Ok(Continue(()))
    }

    /// Returns those of some rows of a keyset that pass all filters, or `None` if there are none.
    fn filtered(&mut self, number: u32, rows: Range<u32>) -> Result<Option<SelectedRows<'data, 'a>>, SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        // Most keysets that come here have no selected rows: their table is enough.
        let Some(table) = view.table(index.keyset_table(number))? else { return Ok(None) };
        let mut rows = Ranges::from_range(rows.start..rows.end.min(table.row_count()));
        let mut list_column = None;
        for filter in &self.filters {
            let column = table.column(filter.column)?;
            if let Domain::Pool(_) = column.domain {
                list_column = Some(filter.column);
                continue;
            }
            let set = self.set(filter.condition, filter.rows);
            rows = filter_rows(&table, (filter.column, &column), set, filter.keep, rows, &limits)?;
            if rows.is_empty() {
                return Ok(None);
            }
        }
        let Some(keyset) = view.keyset(number)? else { return Ok(None) };
        let members = match (list_column, keyset.pool()) {
            (Some(column), Some(pool)) => Some(self.members(&pool, column)?),
            _ => None,
        };
        if members.as_ref().is_some_and(|members| members.is_empty()) {
            return Ok(None);
        }
        Ok(Some(SelectedRows { keyset, rows, members: members.filter(|members| !members.is_all()) }))
    }

    /// Returns the members of a pool that pass the filters on the column of lists. The pool's table decides which
    /// filters these are, so that all keysets with the pool share the members.
    fn members(&mut self, pool: &Pool<'data, 'a>, list_column: u32) -> Result<Rc<SelectedMembers>, SelectError> {
        if let Some(known) = self.members.get(&pool.id().0) {
            return Ok(Rc::clone(known));
        }
        let row_count = pool.table()?.row_count();
        let mut kept = Ranges::up_to(row_count);
        for filter in self.filters.iter().filter(|filter| filter.column == list_column) {
            let set = self.set(filter.condition, filter.rows).ranges();
            kept = match filter.keep {
                Keep::Members => kept.intersection(set),
                Keep::Others => kept.difference(set),
            };
        }
        let members = Rc::new(SelectedMembers::new(RowSet::new(kept, row_count), pool));
        self.members.insert(pool.id().0, Rc::clone(&members));
        Ok(members)
    }
}
