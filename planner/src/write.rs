//! Writing of factored content into a block builder.

use chronoxide_format::view::Domain;
use chronoxide_format::write::{BlockBuilder, BuildError};
use chronoxide_format::{PoolId, SeriesRef, TableId};

use crate::factor::{Factored, FactoredKeyset, FactoredPool};
use crate::plan::Part;

impl Factored {
    /// Moves all tables and pools into a builder that has `key_count` keys with their dictionaries. Returns the ids of
    /// the pools. The rows of tables and the lists of pools are gone then: they can be a large part of the memory.
    ///
    /// # Errors
    /// The tables or lists exceed the limits of a block.
    pub fn write_shared(&mut self, key_count: u32, builder: &mut BlockBuilder) -> Result<Vec<PoolId>, BuildError> {
        for inner in &mut self.tables {
            builder.push_table(&domains(&inner.parts, key_count), &inner.rows)?;
            inner.rows = Vec::new();
        }
        let push = |pool: &mut FactoredPool| {
            let lists = std::mem::take(&mut pool.lists);
            builder.push_pool_from(table(pool.part, key_count), lists.iter().map(|list| list.iter()))
        };
        self.pools.iter_mut().map(push).collect()
    }

    /// Pushes all tables, pools and keysets into a builder that has `key_count` keys with their dictionaries. Returns
    /// the series in the block for each series of the content, in order.
    ///
    /// # Errors
    /// The tables, lists or series exceed the limits of a block.
    pub fn write(mut self, key_count: u32, builder: &mut BlockBuilder) -> Result<Vec<SeriesRef>, BuildError> {
        let pools = self.write_shared(key_count, builder)?;
        let mut refs = vec![SeriesRef(0); self.keysets.iter().map(|keyset| keyset.order.len()).sum()];
        let mut start = 0;
        for keyset in &self.keysets {
            let first = builder.push_keyset_table(&keyset.domains(key_count, &pools), &keyset.rows)?;
            for (&row, series) in keyset.order.iter().zip(first.0..) {
                refs[start + row as usize] = SeriesRef(series);
            }
            start += keyset.order.len();
        }
        Ok(refs)
    }
}

impl FactoredKeyset {
    /// Returns the table ids and the pool id of the table of a keyset.
    #[must_use]
    pub fn domains(&self, key_count: u32, pools: &[PoolId]) -> Vec<Domain> {
        let mut domains = domains(&self.parts, key_count);
        domains.extend(self.pool.map(|pool| Domain::Pool(pools[pool])));
        domains
    }
}

fn domains(parts: &[Part], key_count: u32) -> Vec<Domain> {
    parts.iter().map(|&part| Domain::Table(table(part, key_count))).collect()
}

/// Returns the table number of a part in a block: dictionaries come first.
fn table(part: Part, key_count: u32) -> TableId {
    match part {
        Part::Key(key) => TableId(key),
        Part::Table(table) => TableId(key_count + table as u32),
    }
}
