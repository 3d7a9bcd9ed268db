//! [`Cache`]: what neighbouring rows share, decoded: codes of inner tables, and members of lists.

use std::ops::Range;
use std::sync::Arc;

use chronoxide_format::view::Pool;
use chronoxide_format::{KeyId, Rule, TableId};
use hashbrown::HashMap;

use crate::rows::index::damaged_row;
use crate::{Searcher, SelectError};

/// Maximum number of decoded codes and members: 32 MiB. All are dropped at once then.
const MAX_CODES: usize = 8 << 20;
/// A table is decoded when this part of its rows was asked for one by one.
const ROWS_PER_LOOKUP: u64 = 4;

/// Decoded codes of tables and members of lists of one block.
#[derive(Debug, Default)]
pub(super) struct Cache {
    tables: HashMap<(KeyId, u32), CachedTable>,
    pools: HashMap<u32, CachedPool>,
    lens: HashMap<u32, CachedLens>,
    /// Number of codes and members in the cache.
    len: usize,
}

#[derive(Debug)]
enum CachedTable {
    /// Number of rows that were asked for one by one.
    Asked(u64),
    /// Value code of each row.
    Decoded(Arc<[u32]>),
}

#[derive(Debug)]
enum CachedPool {
    /// Number of members that were asked for.
    Asked(u64),
    Decoded(Arc<DecodedPool>),
}

#[derive(Debug)]
enum CachedLens {
    /// Number of lists that were asked for.
    Asked(u64),
    /// Number of members of each list.
    Decoded(Arc<[u32]>),
}

/// All lists of a pool.
#[derive(Debug)]
pub(super) struct DecodedPool {
    /// End of each list in `members`.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl DecodedPool {
    fn new(pool: &Pool<'_, '_>) -> Result<Self, SelectError> {
        let mut decoded = Self { ends: Vec::new(), members: Vec::new() };
        pool.push_ends(&mut decoded.ends)?;
        pool.push_members(&mut decoded.members)?;
        Ok(decoded)
    }

    /// Returns the members of a list in some places, or `None` if one is out of range.
    pub(super) fn members(&self, list: u32, places: Range<u32>) -> Option<&[u32]> {
        let end = *self.ends.get(list as usize)? as usize;
        let start = list.checked_sub(1).map_or(Some(0), |before| self.ends.get(before as usize).copied())? as usize;
        self.members.get(start..end)?.get(places.start as usize..places.end as usize)
    }
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

    /// Returns all lists of a pool, or `None` while too few of their members were asked for.
    pub(super) fn pool(&mut self, pool: &Pool<'_, '_>, wanted: u32) -> Result<Option<Arc<DecodedPool>>, SelectError> {
        let mut asked = u64::from(wanted);
        match self.pools.get_mut(&pool.id().0) {
            Some(CachedPool::Decoded(decoded)) => return Ok(Some(Arc::clone(decoded))),
            Some(CachedPool::Asked(before)) => asked = asked.saturating_add(*before),
            None => {}
        }
        let len = pool.member_count() as usize + pool.list_count() as usize;
        if len > MAX_CODES || asked * ROWS_PER_LOOKUP < len as u64 {
            self.pools.insert(pool.id().0, CachedPool::Asked(asked));
            return Ok(None);
        }
        let decoded = Arc::new(DecodedPool::new(pool)?);
        self.make_room(len);
        self.pools.insert(pool.id().0, CachedPool::Decoded(Arc::clone(&decoded)));
        Ok(Some(decoded))
    }

    /// Returns the lengths of all lists of a pool, or `None` while too few of its lists were asked for.
    pub(super) fn list_lens(&mut self, pool: &Pool<'_, '_>, wanted: u32) -> Result<Option<Arc<[u32]>>, SelectError> {
        let mut asked = u64::from(wanted);
        match self.lens.get_mut(&pool.id().0) {
            Some(CachedLens::Decoded(lens)) => return Ok(Some(Arc::clone(lens))),
            Some(CachedLens::Asked(before)) => asked = asked.saturating_add(*before),
            None => {}
        }
        let count = pool.list_count() as usize;
        if count > MAX_CODES || asked * ROWS_PER_LOOKUP < count as u64 {
            self.lens.insert(pool.id().0, CachedLens::Asked(asked));
            return Ok(None);
        }
        let mut ends = Vec::new();
        pool.push_ends(&mut ends)?;
        let starts = [0].into_iter().chain(ends.iter().copied());
        let lens: Arc<[u32]> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
        self.make_room(count);
        self.lens.insert(pool.id().0, CachedLens::Decoded(Arc::clone(&lens)));
        Ok(Some(lens))
    }

    /// Forgets everything if `added` more codes exceed the limit.
    fn make_room(&mut self, added: usize) {
        if self.len.saturating_add(added) > MAX_CODES {
            self.tables.clear();
            self.pools.clear();
            self.lens.clear();
            self.len = 0;
        }
        self.len = self.len.saturating_add(added);
    }
}
