//! Entries for a table, for a pool, and for totals.

use chronoxide_format::view::{Column, Pool, Table};
use serde::Serialize;

use super::{Referrers, TableKind};
use crate::block::DomainEntry;
use crate::name::Name;
use crate::summary::per;

/// A line of the list of tables; `Serialize` gives an object with the entry's `type`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry<'v> {
    /// A table.
    Table(TableEntry<'v>),
    /// A list pool.
    Pool(PoolEntry),
    /// Tables or pools that were left out here.
    More {
        /// Number of entries.
        count: u32,
    },
    /// All tables of a kind.
    Total(Total),
    /// All list pools.
    PoolTotal(PoolTotal),
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct TableEntry<'v> {
    /// Number.
    pub table: u32,
    /// Kind of the table.
    pub kind: TableKind,
    /// Number of the keyset that the table belongs to; absent for other tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyset: Option<u32>,
    /// Names of the labels of its rows, in order.
    pub keys: Vec<Name<'v>>,
    /// Rows.
    pub rows: u32,
    /// Bits of a row.
    pub bits: u32,
    /// Bytes that its rows take.
    pub bytes: u64,
    /// Columns.
    pub columns: Vec<ColumnEntry>,
    /// Who refers to it.
    pub referrers: Referrers,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ColumnEntry {
    /// Meaning of its codes.
    pub domain: DomainEntry,
    /// Bits of its field.
    pub bits: u32,
}

impl From<Column> for ColumnEntry {
    fn from(column: Column) -> Self {
        Self { domain: column.domain.into(), bits: column.width }
    }
}

/// A list pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolEntry {
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
    /// Who refers to it: keysets only.
    pub referrers: Referrers,
}

/// All tables of a kind together.
#[derive(Clone, Debug, Serialize)]
pub struct Total {
    /// The kind.
    pub kind: TableKind,
    /// Number of tables.
    pub count: u32,
    /// Rows.
    pub rows: u64,
    /// Bytes that the rows take.
    pub bytes: u64,
    /// Bytes per series; `None` for a block without series.
    pub bytes_per_series: Option<f64>,
}

/// All list pools together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PoolTotal {
    /// Number of pools.
    pub count: u32,
    /// Lists.
    pub lists: u64,
    /// Members of the lists.
    pub members: u64,
    /// Bytes that the lists take.
    pub bytes: u64,
    /// Bytes per series; `None` for a block without series.
    pub bytes_per_series: Option<f64>,
}

impl Total {
    pub(super) const fn new(kind: TableKind) -> Self {
        Self { kind, count: 0, rows: 0, bytes: 0, bytes_per_series: None }
    }

    pub(super) fn add(&mut self, table: &Table<'_, '_>) {
        self.count += 1;
        self.rows += u64::from(table.row_count());
        self.bytes = self.bytes.saturating_add(table.len());
    }

    pub(super) fn for_series(self, series: u32) -> Self {
        Self { bytes_per_series: per(self.bytes, series.into()), ..self }
    }
}

impl PoolTotal {
    pub(super) fn add(&mut self, pool: &Pool<'_, '_>) {
        self.count += 1;
        self.lists += u64::from(pool.list_count());
        self.members += u64::from(pool.member_count());
        self.bytes = self.bytes.saturating_add(pool.len());
    }

    pub(super) fn for_series(self, series: u32) -> Self {
        Self { bytes_per_series: per(self.bytes, series.into()), ..self }
    }
}
