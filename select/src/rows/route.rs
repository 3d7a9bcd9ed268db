//! [`Route`]: the way from a row to the value of one label.

use chronoxide_format::view::{Column, Domain, Keyset, Table};
use chronoxide_format::{KeyId, Rule, TableId};

use crate::rows::index::damaged_row;
use crate::{Searcher, SelectError};

/// Columns from a table's row to the dictionary of a key: each code is a row of the next table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route<'data, 'view> {
    steps: Vec<(Table<'data, 'view>, Column)>,
}

impl Route<'_, '_> {
    /// Returns the code of the label.
    #[inline]
    pub(crate) fn code(&self, row: u32) -> Result<u32, SelectError> {
        let mut code = row;
        for (table, column) in &self.steps {
            code = table.code(code, column)?;
        }
        Ok(code)
    }
}

/// Place of a label in a keyset.
#[derive(Clone, Debug)]
pub(crate) enum Source<'data, 'view> {
    /// Nowhere: its series do not have the label.
    Absent,
    /// In the rows of its table.
    Row(Route<'data, 'view>),
    /// In the members of its lists.
    Member(Route<'data, 'view>),
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the place of a label in a keyset.
    pub(crate) fn source(&self, keyset: &Keyset<'data, 'a>, key: KeyId) -> Result<Source<'data, 'a>, SelectError> {
        let Some(indexed) = self.index.keyset_column(keyset.id(), key) else { return Ok(Source::Absent) };
        let table = keyset.table();
        let column = table.column(indexed.number)?;
        match column.domain {
            Domain::Pool(_) => Ok(Source::Member(self.route(indexed.domain, key)?)),
            _ => {
                let mut route = self.route(indexed.domain, key)?;
                route.steps.insert(0, (table, column));
                Ok(Source::Row(route))
            }
        }
    }

    /// Returns the route from the rows of a table to a key. A table refers to earlier ones only, so that it ends.
    pub(crate) fn route(&self, table: u32, key: KeyId) -> Result<Route<'data, 'a>, SelectError> {
        let mut steps = Vec::new();
        let mut number = table;
        while !self.index.is_dictionary(number) {
            let (Some(indexed), Some(table)) = (self.index.column(number, key), self.view.table(TableId(number))?)
            else {
                return Err(damaged_row(Rule::ColumnDomain, number).into());
            };
            let column = table.column(indexed.number)?;
            steps.push((table, column));
            number = indexed.domain;
        }
        Ok(Route { steps })
    }
}
