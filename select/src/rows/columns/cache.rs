//! [`Cache`]: the codes of inner tables, decoded.

use std::sync::Arc;

use chronoxide_format::{KeyId, Rule, TableId};
use hashbrown::HashMap;

use crate::rows::index::damaged_row;
use crate::{Searcher, SelectError};

/// Maximum number of decoded codes: 16 MiB. All are dropped at once then.
const MAX_CODES: usize = 4 << 20;
/// A table is decoded when this part of its rows was asked for one by one.
const ROWS_PER_LOOKUP: u64 = 4;

/// Decoded codes of the tables of one block.
#[derive(Debug, Default)]
pub(super) struct Cache {
    tables: HashMap<(KeyId, u32), CachedTable>,
    /// Number of codes in the cache.
    len: usize,
}

#[derive(Debug)]
enum CachedTable {
    /// Number of rows that were asked for one by one.
    Asked(u64),
    /// Value code of each row.
    Decoded(Arc<[u32]>),
}

impl Cache {
    /// Replaces rows of a table by the codes of a key's values in these rows.
    ///
    /// # Errors
    /// `Corrupt` if a row is out of range.
    pub(super) fn map_rows(
        &mut self,
        searcher: &Searcher<'_, '_>,
        key: KeyId,
        table: u32,
        rows: &mut [u32],
    ) -> Result<(), SelectError> {
        if searcher.index.is_dictionary(table) {
            return Ok(());
        }
        if let Some(codes) = self.decoded(searcher, key, table, rows.len())? {
            let mut largest = 0;
            for row in &mut *rows {
                let code = codes.get(*row as usize).copied().unwrap_or(u32::MAX);
                largest = largest.max(code);
                *row = code;
            }
            return if largest < u32::MAX { Ok(()) } else { Err(damaged_row(Rule::ColumnCode, table).into()) };
        }
        let route = searcher.route(table, key)?;
        for row in rows {
            *row = route.code(*row)?;
        }
        Ok(())
    }

    /// Returns the codes of all rows of a table, or `None` while too few of them were asked for.
    fn decoded(
        &mut self,
        searcher: &Searcher<'_, '_>,
        key: KeyId,
        table: u32,
        wanted: usize,
    ) -> Result<Option<Arc<[u32]>>, SelectError> {
        let mut asked = wanted as u64;
        match self.tables.get_mut(&(key, table)) {
            Some(CachedTable::Decoded(codes)) => return Ok(Some(Arc::clone(codes))),
            Some(CachedTable::Asked(before)) => asked = asked.saturating_add(*before),
            None => {}
        }
        let Some(opened) = searcher.view.table(TableId(table))? else { return Ok(None) };
        let row_count = opened.row_count() as usize;
        let Some(indexed) = searcher.index.column(table, key) else { return Ok(None) };
        let column = opened.column(indexed.number)?;
        if row_count > MAX_CODES || asked * ROWS_PER_LOOKUP < row_count as u64 {
            self.tables.insert((key, table), CachedTable::Asked(asked));
            return Ok(None);
        }
        let mut codes = vec![0; row_count];
        opened.read_column(0..opened.row_count(), &column, &mut codes)?;
        // A table refers to earlier ones only, so that the recursion ends.
        self.map_rows(searcher, key, indexed.domain, &mut codes)?;
        let codes: Arc<[u32]> = codes.into();
        self.make_room(row_count);
        self.tables.insert((key, table), CachedTable::Decoded(Arc::clone(&codes)));
        Ok(Some(codes))
    }

    /// Forgets everything if `added` more codes exceed the limit.
    fn make_room(&mut self, added: usize) {
        if self.len.saturating_add(added) > MAX_CODES {
            self.tables.clear();
            self.len = 0;
        }
        self.len = self.len.saturating_add(added);
    }
}
