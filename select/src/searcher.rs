//! [`Searcher`]: queries of one block.

use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use bitvec::vec::BitVec;
use chronoxide_format::view::{BlockView, Domain, Pool};
use chronoxide_format::{KeyId, SeriesRef, TableId};
use hashbrown::HashMap;

use crate::codes::first_not_before;
use crate::collector::Collector;
use crate::condition::{AcceptedCodes, Condition, conditions, conditions_of_codes};
use crate::index::IndexedColumn;
use crate::members::Members;
use crate::part::Part;
use crate::row_set::{Keep, RowSet, filter_rows};
use crate::{Index, Limits, Matcher, Ranges, SelectError, Selection};

/// Most rows of a keyset that are filtered at once at the begin of a page; the next ones are twice as many each time.
const FIRST_ROWS: u32 = 1 << 12;
/// Most rows that are filtered at once for a page: their ranges take at most 4 MiB.
const MAX_ROWS: u32 = 1 << 20;

/// Queries a block: which series match, what values a label has, and how series fall into groups.
///
/// Made from a view and its [`Index`] at no cost, for one query or for many. [`select`](crate::select) is the short
/// way for a single query.
///
/// ```
/// use chronoxide_reader::{Block, Checks};
/// use chronoxide_select::{Index, Limits, Searcher, Selector};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = Block::read(path, Checks::Lazy)?;
/// let view = block.view();
/// let index = Index::new(&view)?;
/// let searcher = Searcher::new(&view, &index).with_limits(Limits::default().with_max_series(1000));
/// let selector: Selector = r#"up{job="db"}"#.parse()?;
/// for series in &searcher.select(selector.matchers())? {
///     println!("{:?}", view.series(series)?.map(|series| series.label_count()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Searcher<'a, 'data> {
    pub(crate) view: &'a BlockView<'data>,
    pub(crate) index: &'a Index,
    pub(crate) limits: Limits<'a>,
}

/// Selects the series of a block that satisfy all matchers; all series if there are none. Makes an [`Index`] for this
/// one query: keep one, and use a [`Searcher`], for more.
///
/// # Errors
/// As [`Index::new`] and [`Searcher::select`].
pub fn select(view: &BlockView<'_>, matchers: &[Matcher]) -> Result<Selection, SelectError> {
    Searcher::new(view, &Index::new(view)?).select(matchers)
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Combines a view and an index of the same block.
    #[must_use]
    pub fn new(view: &'a BlockView<'data>, index: &'a Index) -> Self {
        Self { view, index, limits: Limits::default() }
    }

    /// Returns the view.
    #[must_use]
    pub fn view(&self) -> &'a BlockView<'data> {
        self.view
    }

    /// Sets the limits of the queries that follow. The time limit counts from [`Limits::with_timeout`], not from each
    /// query: set new limits for each.
    #[must_use]
    pub fn with_limits(self, limits: Limits<'a>) -> Self {
        Self { limits, ..self }
    }

    /// Returns the key with a name, which is cut by the label policy of the block as its labels were.
    pub(crate) fn key(&self, name: &[u8]) -> Result<Option<KeyId>, SelectError> {
        let policy = self.view.meta()?.policy();
        match policy.name_bytes(name) {
            Some(name) => Ok(self.index.key(self.view, &name)?),
            None => Ok(None),
        }
    }

    /// Returns the series that satisfy all matchers; all series if there are none. An absent label has the empty
    /// value.
    ///
    /// Each matcher is evaluated once per dictionary, and the codes that it accepts are followed through the tables, to
    /// rows and lists. Strings are compared in dictionaries only. Costs some 20 ns per table that has the rarest label,
    /// 200 ns per keyset that can have selected rows, and a few nanoseconds per row of these and per list.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read, and errors of the [`Limits`].
    pub fn select(&self, matchers: &[Matcher]) -> Result<Selection, SelectError> {
        self.limits.check()?;
        self.select_by(conditions(self.view, matchers, &self.limits)?)
    }

    /// Returns the series that have accepted values of some labels, by codes; all series if no label is named. For
    /// callers that evaluate conditions on values by themselves.
    ///
    /// # Errors
    /// As [`Searcher::select`].
    pub fn select_codes(&self, accepted: &[AcceptedCodes]) -> Result<Selection, SelectError> {
        self.select_by(conditions_of_codes(self.view, accepted.iter().cloned())?)
    }

    fn select_by(&self, conditions: Option<Vec<Condition>>) -> Result<Selection, SelectError> {
        let mut refs = Collector::new(0, usize::MAX, self.limits);
        let mut count = 0;
        self.for_each_part_with(conditions, |part| {
            // Counted before they are listed: a list can stand for many series.
            if self.limits.has_max_series() {
                count += part.count(&self.limits)?;
                self.limits.check_series(count)?;
            }
            part.collect_refs(&mut refs, &self.limits)
        })?;
        Ok(Selection::from_ranges(refs.into_refs()))
    }

    /// Returns the refs from `from` on of the series that satisfy conditions, in at most `max_ranges` ranges, and the
    /// first ref that was not looked at, or `None` if all were.
    pub(crate) fn refs_from(
        &self,
        conditions: &[Condition],
        from: SeriesRef,
        max_ranges: usize,
    ) -> Result<(Ranges, Option<SeriesRef>), SelectError> {
        self.limits.check()?;
        // A page has its own bound, whatever the limit of a selection is.
        let mut refs = Collector::new(from.0, max_ranges, self.limits.with_max_memory(u64::MAX));
        let first_rows = u32::try_from(max_ranges).unwrap_or(u32::MAX).min(FIRST_ROWS);
        let stopped = self.for_each_part_from(conditions, from, Some(first_rows), |part| {
            part.collect_refs(&mut refs, &self.limits)?;
            Ok(if refs.is_full() { Break(()) } else { Continue(()) })
        })?;
        let next = stopped.is_break().then(|| SeriesRef(refs.end()));
        Ok((refs.into_refs(), next))
    }

    /// Returns the number of series that satisfy all matchers, without listing them: a list that many rows end in is
    /// counted once. Costs as much as [`Searcher::select`], or less.
    ///
    /// # Errors
    /// As [`Searcher::select`], except that the number of series is not limited.
    pub fn count(&self, matchers: &[Matcher]) -> Result<u64, SelectError> {
        let mut count = 0;
        self.for_each_part(matchers, |part| {
            count += part.count(&self.limits)?;
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `each` with the selected rows of each keyset that has some, in order. A part may have no series: lists may
    /// lack selected members.
    pub(crate) fn for_each_part(
        &self,
        matchers: &[Matcher],
        each: impl FnMut(Part<'data, 'a>) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        self.limits.check()?;
        self.for_each_part_with(conditions(self.view, matchers, &self.limits)?, each)
    }

    /// Like [`Searcher::for_each_part`], with conditions; `None` if no series can satisfy them.
    fn for_each_part_with(
        &self,
        conditions: Option<Vec<Condition>>,
        mut each: impl FnMut(Part<'data, 'a>) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        let Some(conditions) = conditions else { return Ok(()) };
        let each = |part: Part<'data, 'a>| each(part).map(Continue);
        self.for_each_part_from(&conditions, SeriesRef(0), None, each).map(drop)
    }

    /// Calls `each` with the selected rows of each keyset that has some, from the row of a series on, in order, until
    /// it breaks.
    ///
    /// A keyset is one part, or parts of rows that begin with `first_rows` rows, so that the series of its first rows
    /// are found without its last ones.
    fn for_each_part_from(
        &self,
        conditions: &[Condition],
        from: SeriesRef,
        first_rows: Option<u32>,
        mut each: impl FnMut(Part<'data, 'a>) -> Result<ControlFlow<()>, SelectError>,
    ) -> Result<ControlFlow<()>, SelectError> {
        let first_keyset = first_not_before(0..self.view.keyset_count(), |number| {
            let keyset = self.view.keyset(number)?;
            Ok(keyset.is_some_and(|keyset| keyset.first().0.saturating_add(keyset.series_count()) <= from.0))
        })?;
        let mut evaluation = Evaluation::new(self, conditions);
        let rarest = (0..conditions.len())
            .filter(|&number| conditions[number].keep == Keep::Members)
            .min_by_key(|&number| evaluation.expected_keysets(number));
        let mut visit = |evaluation: &mut Evaluation<'_, 'a, 'data>, number| {
            let first_row = if number == first_keyset { self.row_of(number, from)? } else { 0 };
            evaluation.visit(number, first_row, first_rows, &mut each)
        };
        match rarest {
            None => {
                for keyset in first_keyset..self.view.keyset_count() {
                    if visit(&mut evaluation, keyset)?.is_break() {
                        return Ok(Break(()));
                    }
                }
            }
            Some(condition) => {
                let keysets = evaluation.keysets_with(condition)?;
                for keyset in keysets.iter_ones().filter(|&keyset| keyset >= first_keyset as usize) {
                    if visit(&mut evaluation, keyset as u32)?.is_break() {
                        return Ok(Break(()));
                    }
                }
            }
        }
        Ok(Continue(()))
    }

    /// Returns the row of a series, or 0 if it comes before the keyset.
    fn row_of(&self, keyset: u32, series: SeriesRef) -> Result<u32, SelectError> {
        let Some(keyset) = self.view.keyset(keyset)? else { return Ok(0) };
        let Some(place) = series.0.checked_sub(keyset.first().0).filter(|place| *place > 0) else { return Ok(0) };
        Ok(if place < keyset.series_count() { keyset.locate(place)?.0 } else { 0 })
    }
}

/// Conditions on their way from dictionaries up to keysets.
struct Evaluation<'s, 'a, 'data> {
    searcher: &'s Searcher<'a, 'data>,
    conditions: &'s [Condition],
    /// For each condition, its rows in the inner tables with its key, by the position of the table among these; `None`
    /// before they are asked for.
    rows: Vec<Vec<Option<Arc<RowSet>>>>,
    empty: Arc<RowSet>,
    /// Filters of the current keyset: the number of a column, and rows of its domain.
    filters: Vec<(u32, Arc<RowSet>, Keep)>,
    /// Selected members of lists, by pool.
    members: HashMap<u32, Rc<Members>>,
}

impl<'s, 'a, 'data> Evaluation<'s, 'a, 'data> {
    fn new(searcher: &'s Searcher<'a, 'data>, conditions: &'s [Condition]) -> Self {
        let tables = |condition: &Condition| searcher.index.inner_tables_with(condition.key).len();
        let rows = conditions.iter().map(|condition| vec![None; tables(condition)]).collect();
        Self { searcher, conditions, rows, empty: Arc::default(), filters: Vec::new(), members: HashMap::new() }
    }

    /// Estimates the number of keysets with a row that satisfies a condition on having a label.
    fn expected_keysets(&self, condition: usize) -> u64 {
        let Condition { key, codes, .. } = &self.conditions[condition];
        let keysets = self.searcher.index.keyset_count_with(*key) as u64;
        keysets * u64::from(codes.ranges().count()) / u64::from(codes.row_count()).max(1)
    }

    /// Returns the keysets with a column that can hold a row that satisfies a condition on having a label.
    fn keysets_with(&mut self, condition: usize) -> Result<BitVec, SelectError> {
        let Searcher { view, index, limits } = *self.searcher;
        let Condition { key, codes, .. } = &self.conditions[condition];
        let mut keysets = BitVec::repeat(false, view.keyset_count() as usize);
        let mut mark = |rows: &RowSet, table: u32| {
            for (keyset, column) in index.users(table) {
                if rows.meets(column.codes) {
                    keysets.set(keyset as usize, true);
                }
            }
        };
        mark(codes, key.0);
        // A table refers to earlier ones only.
        for (position, (table, column)) in index.inner_tables_with(*key).enumerate() {
            let rows = self.rows_at(condition, position, table, column)?;
            if !rows.is_empty() {
                limits.check()?;
                mark(&rows, table);
            }
        }
        Ok(keysets)
    }

    /// Returns the rows of a table whose label is among the codes of a condition.
    fn rows(&mut self, condition: usize, table: u32) -> Result<Arc<RowSet>, SelectError> {
        let Condition { key, codes, .. } = &self.conditions[condition];
        let index = self.searcher.index;
        if index.is_dictionary(table) {
            return Ok(Arc::clone(if table == key.0 { codes } else { &self.empty }));
        }
        match index.inner_table_with(*key, table) {
            Some((position, column)) => self.rows_at(condition, position, table, column),
            None => Ok(Arc::clone(&self.empty)),
        }
    }

    /// Like [`Evaluation::rows`], for an inner table whose position and column are known.
    fn rows_at(
        &mut self,
        condition: usize,
        position: usize,
        table: u32,
        column: &IndexedColumn,
    ) -> Result<Arc<RowSet>, SelectError> {
        if let Some(Some(known)) = self.rows[condition].get(position) {
            return Ok(Arc::clone(known));
        }
        let rows = self.find_rows(condition, table, column)?.unwrap_or_else(|| Arc::clone(&self.empty));
        if let Some(slot) = self.rows[condition].get_mut(position) {
            *slot = Some(Arc::clone(&rows));
        }
        Ok(rows)
    }

    /// Returns the rows of an inner table, or `None` if there are none.
    fn find_rows(
        &mut self,
        condition: usize,
        number: u32,
        column: &IndexedColumn,
    ) -> Result<Option<Arc<RowSet>>, SelectError> {
        let Searcher { view, index, limits } = *self.searcher;
        let below = self.rows(condition, column.domain)?;
        if !below.meets(column.codes) {
            return Ok(None);
        }
        if let Some(codes) = index.short_map(number) {
            let rows = below.positions_in(codes);
            return Ok((!rows.is_empty()).then(|| Arc::new(RowSet::new(rows, codes.len() as u32))));
        }
        let Some(table) = view.table(TableId(number))? else { return Ok(None) };
        let stored = table.column(column.number)?;
        let all = Ranges::up_to(table.row_count());
        let rows = filter_rows(&table, (column.number, &stored), &below, Keep::Members, all, &limits)?;
        Ok((!rows.is_empty()).then(|| Arc::new(RowSet::new(rows, table.row_count()))))
    }

    /// Calls `each` with the selected rows of a keyset, if it has some, from a row on, until it breaks; see
    /// [`Searcher::for_each_part_from`].
    fn visit(
        &mut self,
        number: u32,
        first_row: u32,
        first_rows: Option<u32>,
        each: &mut impl FnMut(Part<'data, 'a>) -> Result<ControlFlow<()>, SelectError>,
    ) -> Result<ControlFlow<()>, SelectError> {
        let Searcher { view, index, limits } = *self.searcher;
        limits.check()?;
        self.filters.clear();
        for (condition, place) in self.conditions.iter().zip(0..) {
            match (index.keyset_column(number, condition.key), condition.keep) {
                (None, Keep::Members) => return Ok(Continue(())),
                (None, Keep::Others) => {}
                (Some(column), keep) => {
                    let rows = self.rows(place, column.domain)?;
                    match (rows.meets(column.codes), rows.is_all(), keep) {
                        (false, _, Keep::Members) | (true, true, Keep::Others) => return Ok(Continue(())),
                        (false, _, Keep::Others) | (true, true, Keep::Members) => {}
                        (true, false, keep) => self.filters.push((column.number, rows, keep)),
                    }
                }
            }
        }
        // Without filters, all rows are one range.
        let Some(mut len) = first_rows.filter(|_| !self.filters.is_empty()) else {
            return self.filtered(number, first_row..u32::MAX)?.map_or(Ok(Continue(())), each);
        };
        let Some(table) = view.table(index.keyset_table(number))? else { return Ok(Continue(())) };
        let mut start = first_row;
        while start < table.row_count() {
            let end = start.saturating_add(len);
            if let Some(part) = self.filtered(number, start..end)?
                && each(part)?.is_break()
            {
                return Ok(Break(()));
            }
            limits.check()?;
            (start, len) = (end, len.saturating_mul(2).min(MAX_ROWS));
        }
        Ok(Continue(()))
    }

    /// Returns those of some rows of a keyset that pass all filters, or `None` if there are none.
    fn filtered(&mut self, number: u32, rows: Range<u32>) -> Result<Option<Part<'data, 'a>>, SelectError> {
        let Searcher { view, index, limits } = *self.searcher;
        let within = |row_count: u32| Ranges::from_range(rows.start..rows.end.min(row_count));
        if self.filters.is_empty() {
            return Ok(view.keyset(number)?.map(|keyset| {
                let rows = within(keyset.table().row_count());
                Part { keyset, rows, members: None }
            }));
        }
        // Most keysets that come here have no selected rows: their table is enough.
        let Some(table) = view.table(index.keyset_table(number))? else { return Ok(None) };
        let mut rows = within(table.row_count());
        let mut list_column = None;
        for (number, set, keep) in &self.filters {
            let column = table.column(*number)?;
            if let Domain::Pool(_) = column.domain {
                list_column = Some(*number);
                continue;
            }
            rows = filter_rows(&table, (*number, &column), set, *keep, rows, &limits)?;
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
        Ok(Some(Part { keyset, rows, members: members.filter(|members| !members.is_all()) }))
    }

    /// Returns the members of a pool that pass the filters on the column of lists. The pool's table decides which
    /// filters these are, so that all keysets with the pool share the members.
    fn members(&mut self, pool: &Pool<'data, 'a>, list_column: u32) -> Result<Rc<Members>, SelectError> {
        if let Some(known) = self.members.get(&pool.id().0) {
            return Ok(Rc::clone(known));
        }
        let row_count = pool.table()?.row_count();
        let mut kept = Ranges::up_to(row_count);
        for (_, set, keep) in self.filters.iter().filter(|(number, ..)| *number == list_column) {
            kept = match keep {
                Keep::Members => kept.intersection(set.ranges()),
                Keep::Others => kept.difference(set.ranges()),
            };
        }
        let members = Rc::new(Members::new(RowSet::new(kept, row_count), pool));
        self.members.insert(pool.id().0, Rc::clone(&members));
        Ok(members)
    }
}
