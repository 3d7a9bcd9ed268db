//! Tables and list pools of a block: content, size and references.

mod entry;
mod kind;
mod references;

use chronoxide_format::view::{BlockView, Domain, Pool, Table, Text};
use chronoxide_format::{Result, TableId};
pub use entry::{ColumnEntry, Entry, PoolEntry, PoolTotal, TableEntry, Total};
pub use kind::TableKind;
use references::References;
pub use references::Referrers;

use crate::DumpError;
use crate::name::Name;

/// Selection of the tables to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// If set, list only tables of this kind, and no pools.
    pub kind: Option<TableKind>,
    /// If set, list only the first dictionaries, inner tables, keyset tables and pools, this many of each.
    pub first: Option<u32>,
}

/// Calls `take` with each table of a block, each pool, and a total for each kind. Totals include tables that
/// [`Selection::first`] omits. Holds one reference per column of the block, and one entry.
///
/// # Errors
/// Returns an error if the block is damaged, or the error of `take`.
pub fn table_entries<'v>(
    view: &'v BlockView<'v>,
    selection: Selection,
    take: &mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>,
) -> Result<(), DumpError> {
    let (keys, count) = (view.key_count(), view.table_count());
    let first_keyset = count.saturating_sub(view.keyset_count());
    let list = List { view, text: view.text()?, references: References::from_view(view)?, first_keyset };
    let first = selection.first.unwrap_or(u32::MAX);
    let mut totals = TableKind::ALL.map(Total::new);
    for tables in [0..keys, keys..first_keyset, first_keyset..count] {
        let mut seen: u32 = 0;
        for id in tables {
            let Some(table) = view.table(TableId(id))? else { break };
            let kind = TableKind::from_table(&table);
            if selection.kind.is_some_and(|wanted| wanted != kind) {
                continue;
            }
            totals.iter_mut().filter(|total| total.kind == kind).for_each(|total| total.add(&table));
            if seen < first {
                take(Entry::Table(list.table(&table)?))?;
            }
            seen += 1;
        }
        more(seen, first, take)?;
    }
    let pools = if selection.kind.is_none() { list.pools(first, take)? } else { PoolTotal::default() };
    let series = view.series_count()?;
    for total in totals.into_iter().filter(|total| selection.kind.is_none_or(|wanted| wanted == total.kind)) {
        take(Entry::Total(total.for_series(series)))?;
    }
    if selection.kind.is_none() { take(Entry::PoolTotal(pools.for_series(series))) } else { Ok(()) }
}

fn more<'v>(seen: u32, first: u32, take: &mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>) -> Result<(), DumpError> {
    if seen > first { take(Entry::More { count: seen - first }) } else { Ok(()) }
}

struct List<'v> {
    view: &'v BlockView<'v>,
    text: Text<'v, 'v>,
    references: References,
    first_keyset: u32,
}

impl<'v> List<'v> {
    fn table(&self, table: &Table<'v, 'v>) -> Result<TableEntry<'v>> {
        let id = table.id();
        Ok(TableEntry {
            table: id.0,
            kind: TableKind::from_table(table),
            keyset: id.0.checked_sub(self.first_keyset),
            keys: Name::from_leaves(&self.text, table)?,
            rows: table.row_count(),
            bits: table.row_bits(),
            bytes: table.len(),
            columns: table.columns().map(|column| column.map(ColumnEntry::from)).collect::<Result<_>>()?,
            referrers: self.references.to(Domain::Table(id)),
        })
    }

    fn pools(
        &self,
        first: u32,
        take: &mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>,
    ) -> Result<PoolTotal, DumpError> {
        let mut total = PoolTotal::default();
        for pool in self.view.pools() {
            let pool = pool?;
            total.add(&pool);
            if pool.id().0 < first {
                take(Entry::Pool(self.pool(&pool)))?;
            }
        }
        more(self.view.pool_count(), first, take)?;
        Ok(total)
    }

    fn pool(&self, pool: &Pool<'_, '_>) -> PoolEntry {
        PoolEntry {
            pool: pool.id().0,
            table: pool.table_id().0,
            lists: pool.list_count(),
            members: pool.member_count(),
            bytes: pool.len(),
            referrers: self.references.to(Domain::Pool(pool.id())),
        }
    }
}
