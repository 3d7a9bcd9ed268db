//! Keysets that use an inner table or a pool.

use chronoxide_format::view::{BlockView, Domain, Pool, Table};
use chronoxide_format::{Result, TableId};
use serde::Serialize;

use crate::tables::TableKind;

/// An inner table, and the number of keysets that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableUse {
    /// Number.
    pub table: u32,
    /// A map or a shared table.
    pub kind: TableKind,
    /// Rows.
    pub rows: u32,
    /// Bytes that its rows take.
    pub bytes: u64,
    /// Number of keysets whose own table has a column over it.
    pub direct_keysets: u32,
    /// Number of keysets that refer to it directly, through other inner tables or through lists.
    pub keysets: u32,
}

/// A list pool, and the number of keysets that use it. Only keysets refer to pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolUse {
    /// Number.
    pub pool: u32,
    /// Table whose rows are the members.
    pub table: u32,
    /// Lists.
    pub lists: u32,
    /// Members of all lists together.
    pub members: u32,
    /// Bytes that the lists take.
    pub bytes: u64,
    /// Number of keysets whose own table has a column over it.
    pub keysets: u32,
}

/// The inner tables and pools of a block.
pub(super) struct Uses {
    pub(super) tables: Vec<TableUse>,
    pub(super) pools: Vec<PoolUse>,
}

impl Uses {
    /// Walks from each keyset to all inner tables below it, and counts each table once per keyset.
    pub(super) fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let mut uses = Self::none(view)?;
        // Last keyset that reached each inner table.
        let mut reached = vec![None; uses.tables.len()];
        for keyset in view.keysets() {
            let keyset = keyset?;
            let (own, keyset) = (keyset.table().id(), keyset.id());
            let mut waiting = vec![own];
            while let Some(table) = waiting.pop() {
                for domain in domains(view.table(table)?.as_ref())? {
                    let Some(behind) = uses.step(domain) else { continue };
                    // Dictionaries are not chosen by the planner.
                    let Some(place) = behind.0.checked_sub(view.key_count()).map(|place| place as usize) else {
                        continue;
                    };
                    let used = &mut uses.tables[place];
                    used.direct_keysets += u32::from(table == own && domain == Domain::Table(behind));
                    if reached[place].replace(keyset) != Some(keyset) {
                        used.keysets += 1;
                        waiting.push(behind);
                    }
                }
            }
        }
        Ok(uses)
    }

    /// Returns the table behind a column, and counts the use of a pool: only keysets refer to pools.
    fn step(&mut self, domain: Domain) -> Option<TableId> {
        match domain {
            Domain::Arena => None,
            Domain::Table(table) => Some(table),
            Domain::Pool(pool) => {
                let pool = &mut self.pools[pool.0 as usize];
                pool.keysets += 1;
                Some(TableId(pool.table))
            }
        }
    }

    fn none(view: &BlockView<'_>) -> Result<Self> {
        let inner = view.key_count()..view.table_count().saturating_sub(view.keyset_count());
        let table = |table: Table<'_, '_>| {
            let id = table.id().0;
            let (kind, rows, bytes) = (TableKind::from_table(&table), table.row_count(), table.len());
            TableUse { table: id, kind, rows, bytes, direct_keysets: 0, keysets: 0 }
        };
        let pool = |pool: Pool<'_, '_>| {
            let id = pool.id().0;
            let (table, lists, members, bytes) =
                (pool.table_id().0, pool.list_count(), pool.member_count(), pool.len());
            PoolUse { pool: id, table, lists, members, bytes, keysets: 0 }
        };
        Ok(Self {
            tables: inner
                .filter_map(|id| view.table(TableId(id)).transpose())
                .map(|found| found.map(table))
                .collect::<Result<_>>()?,
            pools: view.pools().map(|found| found.map(pool)).collect::<Result<_>>()?,
        })
    }
}

fn domains(table: Option<&Table<'_, '_>>) -> Result<Vec<Domain>> {
    table.into_iter().flat_map(Table::columns).map(|column| column.map(|column| column.domain)).collect()
}
