//! [`select`]: from matchers to the series of one block.

use std::ops::ControlFlow::{self, Break, Continue};

use chronoxide_format::SeriesRef;
use chronoxide_format::view::BlockView;

use crate::conditions::collector::Collector;
use crate::conditions::condition::{AcceptedCodes, Condition, conditions, conditions_of_codes};
use crate::conditions::evaluation::Evaluation;
use crate::conditions::posted::Posted;
use crate::conditions::selected::{Selected, SelectedRows};
use crate::rows::row_set::Keep;
use crate::{Index, Matcher, Ranges, Searcher, SelectError, Selection};

/// Maximum rows in the first batch of a page; each later batch has twice as many.
const FIRST_ROWS: u32 = 1 << 12;

/// Selects the series of a block that satisfy all matchers; all series if there are none. Makes an [`Index`] for this
/// one query: keep one, and use a [`Searcher`], for more.
///
/// # Errors
/// As [`Index::new`] and [`Searcher::select`].
pub fn select(view: &BlockView<'_>, matchers: &[Matcher]) -> Result<Selection, SelectError> {
    Searcher::new(view, &Index::new(view)?).select(matchers)
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the series that satisfy all matchers; all series if there are none. An absent label has the empty
    /// value.
    ///
    /// Each matcher is evaluated once per dictionary, and the codes that it accepts are followed through the tables, to
    /// rows and lists. Strings are compared in dictionaries only. Costs some 20 ns per table that has the rarest label,
    /// 200 ns per keyset that can have selected rows, and a few nanoseconds per row of these and per list.
    ///
    /// When queries looked at many keysets for matchers that name at most 32 values of a key, the next one makes the
    /// postings of the key and keeps them in the [`Index`]: 10 to 30 ns per series of the block. From then on, queries
    /// whose matchers are all of this kind cost some 10 ns per range of refs.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read, and errors of the
    /// [`Limits`](crate::Limits).
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
        let Some(conditions) = conditions else { return Ok(Selection::default()) };
        if self.times()?.is_none() {
            return Ok(Selection::from_ranges(self.refs(&conditions)?));
        }
        let (found, _) =
            self.in_time(self.with_limits(self.limits.without_max_series()).refs(&conditions)?, usize::MAX)?;
        self.limits.check_series(found.count().into())?;
        Ok(Selection::from_ranges(found))
    }

    /// Returns the refs of the series that satisfy conditions, at any time.
    fn refs(&self, conditions: &[Condition]) -> Result<Ranges, SelectError> {
        if let Some(found) = self.refs_by_postings(conditions) {
            self.limits.check_series(found.count().into())?;
            let bytes = size_of_val(found.as_slice()) as u64;
            self.limits.reserve(0, bytes, bytes)?;
            return Ok(found);
        }
        let mut refs = Collector::new(0, usize::MAX, self.limits);
        let mut count = 0;
        self.for_each_keyset(conditions, |selected| {
            // Counted before they are listed: a list can stand for many series.
            if self.limits.has_max_series() {
                count += selected.count(self.index, &self.limits)?;
                self.limits.check_series(count)?;
            }
            selected.collect_refs(self.index, &mut refs, &self.limits)
        })?;
        Ok(refs.into_refs())
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
        let (refs, next) = self.refs_from_at_any_time(conditions, from, max_ranges)?;
        let searcher = self.with_limits(self.limits.with_max_memory(u64::MAX));
        let (refs, earlier) = searcher.in_time(refs, max_ranges)?;
        Ok((refs, earlier.or(next)))
    }

    fn refs_from_at_any_time(
        &self,
        conditions: &[Condition],
        from: SeriesRef,
        max_ranges: usize,
    ) -> Result<(Ranges, Option<SeriesRef>), SelectError> {
        // A page has its own bound, whatever the limit of a selection is.
        let mut refs = Collector::new(from.0, max_ranges, self.limits.with_max_memory(u64::MAX));
        if let Some(found) = self.refs_by_postings(conditions) {
            found.as_slice().iter().try_for_each(|range| refs.push(range.clone()))?;
            let next = refs.is_full().then(|| SeriesRef(refs.end()));
            return Ok((refs.into_refs(), next));
        }
        let first_rows = u32::try_from(max_ranges).unwrap_or(u32::MAX).min(FIRST_ROWS);
        let stopped = self.for_each_keyset_from(conditions, from, Some(first_rows), |selected| {
            selected.collect_refs(self.index, &mut refs, &self.limits)?;
            Ok(if refs.is_full() { Break(()) } else { Continue(()) })
        })?;
        let next = stopped.is_break().then(|| SeriesRef(refs.end()));
        Ok((refs.into_refs(), next))
    }

    /// Returns the number of series that satisfy all matchers, in little memory: a list that many rows end in is
    /// counted once, and refs of postings take at most 1 MiB. Costs as much as [`Searcher::select`], or less.
    ///
    /// # Errors
    /// As [`Searcher::select`], except that the number of series is not limited.
    pub fn count(&self, matchers: &[Matcher]) -> Result<u64, SelectError> {
        let mut count = 0;
        self.limits.check()?;
        if self.times()?.is_some() {
            self.for_each_page(matchers, |page| {
                count += u64::from(page.count());
                Ok(())
            })?;
            return Ok(count);
        }
        let Some(conditions) = conditions(self.view, matchers, &self.limits)? else { return Ok(0) };
        if let Some(found) = self.refs_by_postings(&conditions) {
            return Ok(found.count().into());
        }
        self.for_each_keyset(&conditions, |selected| {
            count += selected.count(self.index, &self.limits)?;
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `each` with the selected rows of each keyset that has some, in order, whatever the times of series are. A
    /// part may have no series: lists may lack selected members.
    pub(crate) fn for_each_part(
        &self,
        matchers: &[Matcher],
        mut each: impl FnMut(SelectedRows<'data, 'a>) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        self.limits.check()?;
        let Some(conditions) = conditions(self.view, matchers, &self.limits)? else { return Ok(()) };
        self.for_each_keyset(&conditions, |selected| selected.into_part(self.view)?.map_or(Ok(()), &mut each))
    }

    /// Calls `each` with the selected series of each keyset that has some, in order.
    fn for_each_keyset(
        &self,
        conditions: &[Condition],
        mut each: impl FnMut(Selected<'data, 'a>) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        let each = |selected: Selected<'data, 'a>| each(selected).map(Continue);
        self.for_each_keyset_from(conditions, SeriesRef(0), None, each).map(drop)
    }

    /// Calls `each` with the selected series of each keyset that has some, from the row of a series on, in order, until
    /// it breaks.
    ///
    /// A keyset is one part, or parts of rows that begin with `first_rows` rows, so that the series of its first rows
    /// are found without its last ones.
    fn for_each_keyset_from(
        &self,
        conditions: &[Condition],
        from: SeriesRef,
        first_rows: Option<u32>,
        mut each: impl FnMut(Selected<'data, 'a>) -> Result<ControlFlow<()>, SelectError>,
    ) -> Result<ControlFlow<()>, SelectError> {
        let first_keyset = self.index.keyset_from(from);
        let mut evaluation = Evaluation::new(self, conditions);
        let members = || conditions.iter().zip(0..).filter(|(condition, _)| condition.keep == Keep::Members);
        let posted = members().filter_map(|(condition, _)| self.posted(condition)).min_by_key(Posted::len);
        let rarest = members().map(|(_, number)| number).min_by_key(|&number| evaluation.expected_keysets(number));
        let mut visit = |evaluation: &mut Evaluation<'_, 'a, 'data>, number, known| {
            if !evaluation.set_filters(number, known)? {
                return Ok(Continue(()));
            }
            let first_row = if number == first_keyset { self.row_of(number, from)? } else { 0 };
            evaluation.visit(number, first_row, first_rows, &mut each)
        };
        if let Some(posted) = posted {
            let keysets = self.keysets_of(&posted.refs(None));
            conditions.iter().for_each(|condition| self.use_key(condition, keysets.len()));
            for keyset in keysets {
                if keyset >= first_keyset && visit(&mut evaluation, keyset, None)?.is_break() {
                    return Ok(Break(()));
                }
            }
            return Ok(Continue(()));
        }
        match rarest {
            None => {
                let keysets = first_keyset..self.view.keyset_count();
                conditions.iter().for_each(|condition| self.use_key(condition, keysets.len()));
                for keyset in keysets {
                    if visit(&mut evaluation, keyset, None)?.is_break() {
                        return Ok(Break(()));
                    }
                }
            }
            Some(condition) => {
                let candidates = evaluation.candidates(condition)?;
                self.use_key(&conditions[condition], candidates.len());
                for candidate in candidates {
                    if candidate.keyset >= first_keyset
                        && visit(&mut evaluation, candidate.keyset, Some((condition, candidate)))?.is_break()
                    {
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
