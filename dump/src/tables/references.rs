//! References to tables and pools.

use chronoxide_format::view::{BlockView, Domain};
use chronoxide_format::{Result, TableId};
use serde::Serialize;

/// Who refers to a table or to a pool, by number and in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Referrers {
    /// Inner tables with a column over it.
    pub tables: Vec<u32>,
    /// A pool whose members are its rows.
    pub pools: Vec<u32>,
    /// A keyset whose own table has a column over it.
    pub keysets: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Referrer {
    Table(u32),
    Pool(u32),
    Keyset(u32),
}

/// All references of a block: one per column and pool, ordered by their target.
pub(super) struct References(Vec<(Domain, Referrer)>);

impl References {
    /// Reads each column and each pool once.
    pub(super) fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let mut references = Vec::new();
        let first_keyset = view.table_count().saturating_sub(view.keyset_count());
        for id in view.key_count()..view.table_count() {
            let Some(table) = view.table(TableId(id))? else { break };
            let referrer = id.checked_sub(first_keyset).map_or(Referrer::Table(id), Referrer::Keyset);
            for column in table.columns() {
                references.push((column?.domain, referrer));
            }
        }
        for pool in view.pools() {
            let pool = pool?;
            references.push((Domain::Table(pool.table_id()), Referrer::Pool(pool.id().0)));
        }
        references.sort_unstable();
        Ok(Self(references))
    }

    /// Who refers to `domain`.
    pub(super) fn to(&self, domain: Domain) -> Referrers {
        let first = self.0.partition_point(|&(other, _)| other < domain);
        let mut referrers = Referrers::default();
        for &(_, referrer) in self.0[first..].iter().take_while(|&&(other, _)| other == domain) {
            match referrer {
                Referrer::Table(table) => referrers.tables.push(table),
                Referrer::Pool(pool) => referrers.pools.push(pool),
                Referrer::Keyset(keyset) => referrers.keysets.push(keyset),
            }
        }
        referrers
    }
}
