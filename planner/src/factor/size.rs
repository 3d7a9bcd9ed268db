//! Bytes of tables, lists and their records in a block, as the builder writes them.

use chronoxide_format::layout::ANCHOR_ROWS;
use chronoxide_format::lists::ListSizes;

use super::factored::{Factored, FactoredKeyset};
use super::shape::{Leaves, Shape, bits, row_bytes};
use crate::content::{Content, KeysetRows};
use crate::plan::Part;
use crate::threads::Threads;

/// Bytes by which a keyset may exceed its plain rows, because shared parts compensate for them.
const SLACK: u64 = 64;

/// Zero bytes at the end of a non-empty members section.
const CLOSING_BYTES: u64 = 8;

/// Returns the approximate bytes of the rows of all dictionaries. Content does not know the distances between symbols
/// of a key.
///
/// They matter only because the records of tables count from the first of them.
pub(crate) fn dictionary_bytes(content: &Content) -> u64 {
    let symbols = content.value_counts.iter().map(|&values| u64::from(values) + 1).sum();
    content.value_counts.iter().map(|&values| (u64::from(values) * bits(symbols)).div_ceil(8)).sum()
}

/// Sizes of plain rows, by keyset. Costs a pass over all rows.
#[derive(Debug)]
pub(crate) struct PlainSizes {
    shapes: Vec<Shape>,
    /// Bytes of the records of the keysets.
    records: u64,
}

impl PlainSizes {
    pub(crate) fn new(content: &Content, threads: &Threads) -> Self {
        let shape = |keyset: &KeysetRows| {
            let domains: Vec<u64> = keyset.keys.iter().map(|&key| u64::from(key) + 1).collect();
            let leaves: Vec<Leaves> = keyset.keys.iter().map(|&first_key| Leaves { count: 1, first_key }).collect();
            Shape::from_rows(&keyset.rows, &domains, &leaves)
        };
        let shapes = threads.map(content.keysets.iter().collect(), shape);
        Self { shapes, records: keyset_record_bytes(content, 0) }
    }

    /// Returns the bytes that plain keysets add to a block, given the bytes of its dictionaries.
    pub(crate) fn bytes(&self, dictionary_bytes: u64) -> u64 {
        table_bytes(&self.shapes, dictionary_bytes) + self.records
    }
}

/// Returns the bytes of TABLE records, shapes and rows of tables that are not dictionaries (spec, sections 5 and 7).
fn table_bytes(shapes: &[Shape], dictionary_bytes: u64) -> u64 {
    let largest = |field: fn(&Shape) -> u64| bits(shapes.iter().map(field).max().unwrap_or(0));
    let count_bits = largest(|shape| shape.columns) + largest(|shape| shape.leaves);
    let domain_bits = largest(|shape| shape.largest_domain);
    let (mut row_bytes, mut shape_bits) = (0, 0);
    let (mut rows_offset, mut shape_offset) = (0, 0);
    for shape in shapes {
        (rows_offset, shape_offset) = (dictionary_bytes + row_bytes, shape_bits);
        row_bytes += shape.row_bytes();
        shape_bits += shape.shape_bits(count_bits, domain_bits);
    }
    let record_bits = largest(|shape| shape.rows) + bits(rows_offset) + bits(shape_offset);
    packed_bytes(shapes.len(), record_bits) + shape_bits.div_ceil(8) + row_bytes
}

/// Returns the bytes of the KEYSET records, given the start of the last anchors.
fn keyset_record_bytes(content: &Content, anchors_offset: u64) -> u64 {
    let series = content.series_count();
    packed_bytes(content.keysets.len(), bits(series) + bits(anchors_offset))
}

fn packed_bytes(records: usize, record_bits: u64) -> u64 {
    (records as u64 * record_bits).div_ceil(8)
}

/// Returns the bytes of the anchors of a keyset, 0 without lists.
fn anchor_bytes(keyset: &FactoredKeyset, series: usize) -> u64 {
    let rows = (keyset.rows.len() / keyset.width()) as u64;
    if keyset.pool.is_some() { (rows.div_ceil(u64::from(ANCHOR_ROWS)) * bits(series as u64)).div_ceil(8) } else { 0 }
}

impl Factored {
    /// Returns the bytes that these tables, pools and keysets add to a block, given the bytes of its dictionaries: the
    /// exact bytes of records except KEY records, of rows except those of dictionaries, and of the members section.
    pub(crate) fn bytes(&self, content: &Content, dictionary_bytes: u64, threads: &Threads) -> u64 {
        let (pool_record_bytes, pool_bytes) = self.pool_bytes(content);
        let (mut members, mut anchors_offset) = (pool_bytes, 0);
        for (keyset, source) in self.keysets.iter().zip(&content.keysets) {
            if keyset.pool.is_some() {
                anchors_offset = members;
            }
            members += anchor_bytes(keyset, source.len());
        }
        if !self.pools.is_empty() {
            members += CLOSING_BYTES;
        }
        let records = pool_record_bytes + keyset_record_bytes(content, anchors_offset);
        table_bytes(&self.shapes(content, threads), dictionary_bytes) + records + members
    }

    /// Returns the shapes of inner tables and keyset tables, in order of the block.
    fn shapes(&self, content: &Content, threads: &Threads) -> Vec<Shape> {
        let key_count = content.value_counts.len() as u64;
        let table_count = key_count + (self.tables.len() + self.keysets.len()) as u64;
        let mut table_leaves: Vec<Leaves> = Vec::with_capacity(self.tables.len());
        let leaves = |table_leaves: &[Leaves], part: Part| match part {
            Part::Key(first_key) => Leaves { count: 1, first_key },
            Part::Table(table) => table_leaves[table],
        };
        let domain = |&part: &Part| 1 + table_number(part, key_count);
        let mut shapes = Vec::with_capacity(self.tables.len() + self.keysets.len());
        for table in &self.tables {
            let columns: Vec<Leaves> = table.parts.iter().map(|&part| leaves(&table_leaves, part)).collect();
            shapes.push(Shape::from_rows(&table.rows, &table.parts.iter().map(domain).collect::<Vec<_>>(), &columns));
            table_leaves.push(Leaves::sum(&columns));
        }
        let shape = |keyset: &FactoredKeyset| {
            let mut domains: Vec<u64> = keyset.parts.iter().map(domain).collect();
            let mut columns: Vec<Leaves> = keyset.parts.iter().map(|&part| leaves(&table_leaves, part)).collect();
            if let Some(pool) = keyset.pool {
                domains.push(1 + table_count + pool as u64);
                columns.push(leaves(&table_leaves, self.pools[pool].part));
            }
            Shape::from_rows(&keyset.rows, &domains, &columns)
        };
        shapes.extend(threads.map(self.keysets.iter().collect(), shape));
        shapes
    }

    /// Returns the bytes of the POOL records, and of the pools in the members section (spec, section 8).
    fn pool_bytes(&self, content: &Content) -> (u64, u64) {
        let (mut bytes, mut offset) = (0, 0);
        let (mut most_lists, mut most_members, mut most_low) = (0, 0, 0);
        for pool in &self.pools {
            let lists = pool.lists.len() as u64;
            let members = pool.lists.code_count();
            let sizes = ListSizes {
                row_count: u32::try_from(self.row_count(pool.part, &content.value_counts)).unwrap_or(u32::MAX),
                list_count: lists,
                member_count: members,
                longest: pool.lists.iter().map(|list| list.len() as u64).max().unwrap_or(0),
            };
            offset = bytes;
            bytes += (lists * bits(members)).div_ceil(8) + sizes.member_bits().div_ceil(8);
            (most_lists, most_members) = (most_lists.max(lists), most_members.max(members));
            most_low = most_low.max(sizes.low_width().into());
        }
        // Pools are in order of their tables.
        let table = self.pools.last().map_or(0, |pool| table_number(pool.part, content.value_counts.len() as u64));
        let record_bits = bits(table) + bits(most_lists) + bits(most_members) + bits(most_low) + bits(offset);
        (packed_bytes(self.pools.len(), record_bits), bytes)
    }

    /// Returns the number of values of a key, or of rows of a table.
    pub(super) fn row_count(&self, part: Part, value_counts: &[u32]) -> u64 {
        match part {
            Part::Key(key) => value_counts[key as usize].into(),
            Part::Table(table) => (self.tables[table].rows.len() / self.tables[table].parts.len()) as u64,
        }
    }

    /// Returns the keysets whose own rows and anchors take more than plain rows would.
    pub(crate) fn worse_than_plain(&self, plain: &PlainSizes) -> Vec<usize> {
        (self.keysets.iter().zip(&plain.shapes).enumerate())
            .filter(|(_, (keyset, plain))| {
                let own = row_bytes(&keyset.rows, keyset.width()) + anchor_bytes(keyset, plain.rows as usize);
                own > plain.row_bytes() + SLACK
            })
            .map(|(number, _)| number)
            .collect()
    }
}

/// Returns the table number of a part in a block: dictionaries come first.
fn table_number(part: Part, key_count: u64) -> u64 {
    match part {
        Part::Key(key) => key.into(),
        Part::Table(table) => key_count + table as u64,
    }
}

#[cfg(test)]
#[path = "../../tests/plan/content/mod.rs"]
#[expect(dead_code, reason = "the tests beside it need more of it")]
mod content;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::content::{Model, labelsets, plain_block, sizes, write};
    use super::*;
    use crate::plan::Plan;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn bytes_are_those_of_the_block(series in labelsets()) {
            let model = Model::from_labelsets(&series);
            // The learned plan, before parts that do not pay are dropped.
            let learned = crate::factor(&model.content, &crate::learn::learn(&model.content, &Threads::default()));
            let found = sizes(&write(&model, &learned).0);
            prop_assert_eq!(learned.bytes(&model.content, found.dictionaries, &Threads::default()), found.tables);

            let plain = crate::factor(&model.content, &Plan::plain(&model.content));
            let found = sizes(&write(&model, &plain).0);
            prop_assert_eq!(plain.bytes(&model.content, found.dictionaries, &Threads::default()), found.tables);

            let found = sizes(&plain_block(&model));
            prop_assert_eq!(PlainSizes::new(&model.content, &Threads::default()).bytes(found.dictionaries), found.tables);
        }

        #[test]
        fn keysets_are_worse_where_their_own_bytes_are_more(series in labelsets()) {
            let model = Model::from_labelsets(&series);
            let learned = crate::factor(&model.content, &crate::learn::learn(&model.content, &Threads::default()));
            let own = sizes(&write(&model, &learned).0).keysets;
            let plain = sizes(&plain_block(&model)).keysets;
            let worse: Vec<usize> = (0..own.len()).filter(|&number| own[number] > plain[number] + SLACK).collect();
            prop_assert_eq!(learned.worse_than_plain(&PlainSizes::new(&model.content, &Threads::default())), worse);
        }
    }
}
