//! [`Folding`]: a value for each row of each table, made from the labels that the row stands for.

use std::ops::Range;
use std::rc::Rc;

use chronoxide_format::view::{BlockView, Column, Domain, Keyset};
use chronoxide_format::{KeyId, Rule, TableId};
use hashbrown::HashMap;

use super::spans::room;
use crate::rows::index::damaged_row;
use crate::rows::scan::each_code;
use crate::{Ranges, Searcher, SelectError};

/// How values of labels become the value of a row.
pub(crate) trait Fold {
    type Value: Copy;

    /// Value of a row without any of the labels.
    const EMPTY: Self::Value;

    /// Returns the values of the entries of a key's dictionary, in order.
    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<Self::Value>, SelectError>;

    /// Combines the values of two columns.
    fn join(&mut self, left: Self::Value, right: Self::Value) -> Self::Value;

    /// Adds what a row of an inner table has beside its columns.
    fn row(&mut self, _table: u32, _row: u32, value: Self::Value) -> Self::Value {
        value
    }
}

/// The keys of labels that are kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptKeys {
    kept: Vec<bool>,
}

impl KeptKeys {
    pub(crate) fn new(key_count: u32, is_kept: impl Fn(KeyId) -> bool) -> Self {
        Self { kept: (0..key_count).map(|key| is_kept(KeyId(key))).collect() }
    }

    pub(crate) fn has(&self, key: KeyId) -> bool {
        self.kept.get(key.0 as usize).is_some_and(|kept| *kept)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = KeyId> + use<'_> {
        (0..).zip(&self.kept).filter(|(_, kept)| **kept).map(|(key, _)| KeyId(key))
    }
}

/// Kept labels of a keyset's table, by column.
pub(crate) struct FoldedColumns<V> {
    /// Columns with kept keys, without that of lists, and the values of the rows of their domains.
    pub columns: Vec<(Column, Rc<Vec<V>>)>,
    /// Table of the members of lists, if the keyset has lists.
    pub member_table: Option<u32>,
}

/// The folded rows of tables, each made when it is first needed.
pub(crate) struct Folding<'s, 'a, 'data, F: Fold> {
    pub searcher: &'s Searcher<'a, 'data>,
    pub fold: F,
    pub kept: KeptKeys,
    tables: HashMap<u32, Option<Rc<Vec<F::Value>>>>,
}

impl<'s, 'a, 'data, F: Fold> Folding<'s, 'a, 'data, F> {
    pub(crate) fn new(searcher: &'s Searcher<'a, 'data>, kept: KeptKeys, fold: F) -> Self {
        Self { searcher, fold, kept, tables: HashMap::new() }
    }

    /// Returns the value of each row of a table, or `None` if the table has none of the kept keys. A table refers to
    /// earlier ones only, so that the recursion ends.
    pub(crate) fn rows(&mut self, table: u32) -> Result<Option<Rc<Vec<F::Value>>>, SelectError> {
        if let Some(known) = self.tables.get(&table) {
            return Ok(known.clone());
        }
        let rows = self.fold_rows(table)?.map(Rc::new);
        self.tables.insert(table, rows.clone());
        Ok(rows)
    }

    /// Returns the columns of a keyset's table that have kept keys, and the table of its lists' members.
    pub(crate) fn columns(&mut self, keyset: &Keyset<'data, 'a>) -> Result<FoldedColumns<F::Value>, SelectError> {
        let mut folded = FoldedColumns { columns: Vec::new(), member_table: None };
        for column in keyset.table().columns() {
            let column = column?;
            match column.domain {
                Domain::Table(domain) => {
                    if let Some(rows) = self.rows(domain.0)? {
                        folded.columns.push((column, rows));
                    }
                }
                Domain::Pool(pool) => {
                    folded.member_table = self.searcher.view.pool(pool)?.map(|pool| pool.table_id().0);
                }
                Domain::Arena => {}
            }
        }
        Ok(folded)
    }

    /// Calls `each` with the value of each row of a keyset, without the labels of its list, and with the list, or 0 if
    /// the keyset has no lists. `columns` are those of the keyset.
    pub(crate) fn each_row(
        &mut self,
        keyset: &Keyset<'data, 'a>,
        columns: &FoldedColumns<F::Value>,
        mut each: impl FnMut(F::Value, u32),
    ) -> Result<(), SelectError> {
        let (table, limits) = (keyset.table(), self.searcher.limits);
        let all = Ranges::up_to(table.row_count());
        let mut rows = self.row_values(keyset, columns, 0..table.row_count())?.into_iter();
        for column in table.columns() {
            let column = column?;
            if let Domain::Pool(_) = column.domain {
                return each_code(&table, &column, &all, &limits, |list| {
                    rows.next().into_iter().for_each(|row| each(row, list));
                    Ok(())
                });
            }
        }
        rows.for_each(|row| each(row, 0));
        Ok(())
    }

    /// Returns the values of some rows of a keyset, without the labels of their lists. `columns` are those of the
    /// keyset.
    pub(crate) fn row_values(
        &mut self,
        keyset: &Keyset<'data, 'a>,
        columns: &FoldedColumns<F::Value>,
        rows: Range<u32>,
    ) -> Result<Vec<F::Value>, SelectError> {
        let (table, limits) = (keyset.table(), self.searcher.limits);
        let mut row_values: Vec<F::Value> = room(rows.len() as u64)?;
        row_values.resize(rows.len(), F::EMPTY);
        let rows = Ranges::from_range(rows);
        for (number, (column, values)) in columns.columns.iter().enumerate() {
            let mut row_values = row_values.iter_mut();
            each_code(&table, column, &rows, &limits, |code| {
                let value = value_of(values, code, table.id())?;
                if let Some(row) = row_values.next() {
                    *row = if number == 0 { value } else { self.fold.join(*row, value) };
                }
                Ok(())
            })?;
        }
        Ok(row_values)
    }

    fn fold_rows(&mut self, number: u32) -> Result<Option<Vec<F::Value>>, SelectError> {
        let Searcher { view, index, limits, .. } = *self.searcher;
        limits.check()?;
        if index.is_dictionary(number) {
            let key = KeyId(number);
            return if self.kept.has(key) { self.fold.dictionary(view, key).map(Some) } else { Ok(None) };
        }
        let Some(table) = view.table(TableId(number))? else { return Ok(None) };
        let mut folded: Option<Vec<F::Value>> = None;
        for column in table.columns() {
            let column = column?;
            let Domain::Table(domain) = column.domain else { continue };
            let Some(below) = self.rows(domain.0)? else { continue };
            let all = Ranges::up_to(table.row_count());
            match &mut folded {
                None => {
                    let mut values = Vec::with_capacity(table.row_count() as usize);
                    each_code(&table, &column, &all, &limits, |code| {
                        values.push(value_of(&below, code, table.id())?);
                        Ok(())
                    })?;
                    folded = Some(values);
                }
                Some(values) => {
                    let mut values = values.iter_mut();
                    each_code(&table, &column, &all, &limits, |code| {
                        let value = value_of(&below, code, table.id())?;
                        if let Some(joined) = values.next() {
                            *joined = self.fold.join(*joined, value);
                        }
                        Ok(())
                    })?;
                }
            }
        }
        for (row, value) in (0..).zip(folded.iter_mut().flatten()) {
            *value = self.fold.row(number, row, *value);
        }
        Ok(folded)
    }
}

/// Returns the value of a row that a code of a table stands for. Only a damaged block has no such row.
#[inline]
pub(super) fn value_of<V: Copy>(values: &[V], code: u32, table: TableId) -> Result<V, SelectError> {
    values.get(code as usize).copied().ok_or_else(|| damaged_row(Rule::ColumnCode, table.0).into())
}
