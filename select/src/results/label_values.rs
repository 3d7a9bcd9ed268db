//! The values that a label has in selected series.

use std::collections::BTreeMap;

use chronoxide_format::view::{Column, Domain, Pool, Table};
use chronoxide_format::{KeyId, TableId};
use hashbrown::HashMap;

use crate::conditions::condition::{Dictionary, conditions};
use crate::conditions::selected::SelectedRows;
use crate::results::tally::rows_of;
use crate::rows::row_set::Keep;
use crate::rows::scan::each_code;
use crate::{CodeCounts, ColumnReader, Matcher, Operator, Pages, Ranges, Searcher, SelectError};

/// Values of a label that are wanted; all by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueRange<'v> {
    /// Begin of the values.
    pub prefix: &'v str,
    /// String that the values come after, in the order of bytes.
    pub after: &'v str,
}

/// Numbers of series by the value of a label, or `None` for those without it.
pub type ValueCounts<'data> = Vec<(Option<&'data [u8]>, u64)>;

impl<'data> Searcher<'_, 'data> {
    /// Counts the selected series by the value of a label, in the order of values: first those without it. Costs a few
    /// nanoseconds per series, or less for series that share a row.
    ///
    /// # Errors
    /// As [`Searcher::select`]; the number of series is not limited.
    pub fn count_by_value(
        &self,
        name: impl AsRef<[u8]>,
        matchers: &[Matcher],
    ) -> Result<ValueCounts<'data>, SelectError> {
        let Some(key) = self.key(name.as_ref())? else {
            let count = self.count(matchers)?;
            return Ok((count > 0).then_some((None, count)).into_iter().collect());
        };
        let Some(dictionary) = Dictionary::open(self.view, key)? else { return Ok(Vec::new()) };
        let counted = self.count_values(matchers, key)?;
        let mut counts = Vec::new();
        if counted.absent() > 0 {
            counts.push((None, counted.absent()));
        }
        for (code, &count) in (0..).zip(counted.counts()) {
            if count > 0 {
                counts.push((Some(dictionary.value(code)?), count));
            }
        }
        Ok(counts)
    }

    /// Returns the values that a label has in selected series, in order, at most `limit` of them. Costs as much as
    /// [`Searcher::select`], and a few nanoseconds per selected row and per row of the tables between it and the label;
    /// without matchers, a read of each value.
    ///
    /// # Errors
    /// As [`Searcher::select`]; the number of series is not limited.
    pub fn label_values(
        &self,
        name: impl AsRef<[u8]>,
        matchers: &[Matcher],
        limit: Option<usize>,
    ) -> Result<Vec<&'data [u8]>, SelectError> {
        self.label_values_in(name, ValueRange::default(), matchers, limit)
    }

    /// Like [`Searcher::label_values`], with only the values of a range. These are found by binary search.
    ///
    /// # Errors
    /// As [`Searcher::label_values`].
    pub fn label_values_in(
        &self,
        name: impl AsRef<[u8]>,
        values: ValueRange<'_>,
        matchers: &[Matcher],
        limit: Option<usize>,
    ) -> Result<Vec<&'data [u8]>, SelectError> {
        let Some(key) = self.key(name.as_ref())? else { return Ok(Vec::new()) };
        let Some(dictionary) = Dictionary::open(self.view, key)? else { return Ok(Vec::new()) };
        let mut range = dictionary.with_prefix(values.prefix.as_bytes())?;
        range.start = dictionary.behind(values.after.as_bytes())?.clamp(range.start, range.end);
        let limit = limit.unwrap_or(usize::MAX);
        let has_value = |matcher: &Matcher| matcher.operator() == Operator::Equal && !matcher.value().is_empty();
        if matchers.iter().any(|matcher| matcher.name().as_bytes() == name.as_ref() && has_value(matcher)) {
            let code = self.only_value(matchers, key)?.filter(|code| range.contains(code));
            return code.into_iter().take(limit).map(|code| dictionary.value(code)).collect();
        }
        if self.times()?.is_some() {
            let counted = self.count_values(matchers, key)?;
            let codes = range.filter(|&code| counted.counts().get(code as usize).is_some_and(|&count| count > 0));
            return codes.take(limit).map(|code| dictionary.value(code)).collect();
        }
        if matchers.is_empty() {
            // Each value is one of a series.
            return range.take(limit).map(|code| dictionary.value(code)).collect();
        }
        let mut presence = Presence { searcher: self, key, tables: BTreeMap::new(), lists: HashMap::new() };
        self.for_each_part(matchers, |part| presence.add_part(&part))?;
        let present = presence.into_codes()?;
        let codes = range.filter(|&code| present.get(code as usize).is_some_and(|present| *present));
        codes.take(limit).map(|code| dictionary.value(code)).collect()
    }
}

impl Searcher<'_, '_> {
    /// Returns the value that a key has in selected series, if matchers leave one at most: the first series tells.
    fn only_value(&self, matchers: &[Matcher], key: KeyId) -> Result<Option<u32>, SelectError> {
        self.limits.check()?;
        let Some(conditions) = conditions(self.view, matchers, &self.limits)? else { return Ok(None) };
        let accepted = conditions.iter().find(|condition| condition.key == key && condition.keep == Keep::Members);
        let code = accepted.and_then(|condition| condition.codes.ranges().iter().next());
        let searcher = self.with_limits(self.limits.without_max_series());
        let first = Pages::new(vec![conditions]).with_max_ranges(1).next_page(&searcher)?;
        Ok(first.and(code))
    }

    /// Counts the selected series by the values of a key, series by series.
    fn count_values(&self, matchers: &[Matcher], key: KeyId) -> Result<CodeCounts, SelectError> {
        let mut counts = [CodeCounts::new(self.view.cardinality(key)?.unwrap_or(0))];
        let mut reader = ColumnReader::default();
        self.for_each_page(matchers, |page| {
            page.ranges().try_for_each(|range| reader.count(self, range, &[key], &mut counts))
        })?;
        let [counts] = counts;
        Ok(counts)
    }
}

/// Rows of tables that selected series lead to, on their way down to the dictionary of a key.
struct Presence<'s, 'a, 'data> {
    searcher: &'s Searcher<'a, 'data>,
    key: KeyId,
    /// Marks of the rows that are there, by table.
    tables: BTreeMap<u32, Vec<bool>>,
    /// Marks of the lists whose members were added, by pool. A list has the same selected members in all keysets.
    lists: HashMap<u32, Vec<bool>>,
}

impl<'a, 'data> Presence<'_, 'a, 'data> {
    /// Adds the rows that the selected series of a keyset lead to.
    fn add_part(&mut self, part: &SelectedRows<'data, 'a>) -> Result<(), SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        let Some(indexed) = index.keyset_column(part.keyset.id(), self.key) else { return Ok(()) };
        let table = part.keyset.table();
        let column = table.column(indexed.number)?;
        match (column.domain, part.keyset.pool()) {
            (Domain::Pool(_), Some(pool)) => self.add_members(part, &table, &column, &pool),
            (Domain::Table(domain), _) => {
                let rows = part.rows_with_series(&limits)?;
                let Some(present) = rows_of(&mut self.tables, view, domain)? else { return Ok(()) };
                each_code(&table, &column, &rows, &limits, |code| {
                    mark(present, code);
                    Ok(())
                })
            }
            _ => Ok(()),
        }
    }

    /// Adds the selected members of the lists of a keyset.
    fn add_members(
        &mut self,
        part: &SelectedRows<'data, 'a>,
        table: &Table<'data, 'a>,
        column: &Column,
        pool: &Pool<'data, 'a>,
    ) -> Result<(), SelectError> {
        let Searcher { view, limits, .. } = *self.searcher;
        let Some(present) = rows_of(&mut self.tables, view, pool.table_id())? else { return Ok(()) };
        let added = self.lists.entry(pool.id().0).or_insert_with(|| vec![false; pool.list_count() as usize]);
        let mut members = Vec::new();
        each_code(table, column, &part.rows, &limits, |number| {
            if added.get(number as usize).is_none_or(|added| *added) {
                return Ok(());
            }
            mark(added, number);
            members.clear();
            pool.list(number)?.push_members(&mut members)?;
            for &member in &members {
                if part.members.as_ref().is_none_or(|kept| kept.contains(member)) {
                    mark(present, member);
                }
            }
            Ok(())
        })
    }

    /// Passes all rows down to the dictionary. A table refers to earlier ones only.
    fn into_codes(mut self) -> Result<Vec<bool>, SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        while let Some((number, present)) = self.tables.pop_last() {
            if number == self.key.0 {
                return Ok(present);
            }
            limits.check()?;
            let (Some(indexed), Some(table)) = (index.column(number, self.key), view.table(TableId(number))?) else {
                continue;
            };
            let column = table.column(indexed.number)?;
            let Some(below) = rows_of(&mut self.tables, view, TableId(indexed.domain))? else { continue };
            let mut present = present.into_iter();
            each_code(&table, &column, &Ranges::up_to(table.row_count()), &limits, |code| {
                if present.next() == Some(true) {
                    mark(below, code);
                }
                Ok(())
            })?;
        }
        Ok(Vec::new())
    }
}

#[inline]
fn mark(rows: &mut [bool], row: u32) {
    if let Some(row) = rows.get_mut(row as usize) {
        *row = true;
    }
}
