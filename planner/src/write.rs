//! Factored content into a block.

use chronoxide_format::build::{BlockBuilder, BuildError};
use chronoxide_format::view::Domain;
use chronoxide_format::{SeriesRef, TableId};

use crate::factor::Factored;
use crate::plan::Part;

impl Factored {
    /// Pushes all tables, pools and keysets into a builder that has `key_count` keys with their dictionaries. Returns the block's series of
    /// each series of the content, in its order.
    ///
    /// # Errors
    /// More tables, lists or series than a block holds.
    pub fn write(&self, key_count: u32, builder: &mut BlockBuilder) -> Result<Vec<SeriesRef>, BuildError> {
        let table = |part: Part| match part {
            Part::Key(key) => TableId(key),
            Part::Table(table) => TableId(key_count + table as u32),
        };
        let domains =
            |parts: &[Part]| -> Vec<Domain> { parts.iter().map(|&part| Domain::Table(table(part))).collect() };
        for inner in &self.tables {
            builder.push_table(&domains(&inner.parts), &inner.rows)?;
        }
        let mut pools = Vec::with_capacity(self.pools.len());
        for pool in &self.pools {
            let lists: Vec<&[u32]> = pool.lists.iter().map(Vec::as_slice).collect();
            pools.push(builder.push_pool(table(pool.part), &lists)?);
        }
        let mut refs = vec![SeriesRef(0); self.keysets.iter().map(|keyset| keyset.order.len()).sum()];
        let mut start = 0;
        for keyset in &self.keysets {
            let mut domains = domains(&keyset.parts);
            domains.extend(keyset.pool.map(|pool| Domain::Pool(pools[pool])));
            let first = builder.push_keyset_table(&domains, &keyset.rows)?;
            for (&row, series) in keyset.order.iter().zip(first.0..) {
                refs[start + row as usize] = SeriesRef(series);
            }
            start += keyset.order.len();
        }
        Ok(refs)
    }
}
