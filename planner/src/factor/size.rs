//! How many bytes tables, lists and their records take in a block, as the builder writes them.

use crate::content::Content;
use crate::factor::{Factored, FactoredKeyset};
use crate::plan::Part;

/// Series of a keyset that share an anchor, and what a shape has besides columns and leaves (spec, sections 5 and 8).
const ANCHOR_ROWS: usize = 16;
const SHAPE_HEAD_BITS: u64 = 10;

/// A keyset may take so many bytes more than its plain rows: what it shares makes up for them.
const SLACK: u64 = 64;

/// A table as its records see it.
struct Shape {
    rows: u64,
    /// Domain, smallest code and bits of each column.
    columns: Vec<(u64, u32, u32)>,
    /// Leaves that are written out.
    leaves: u64,
}

impl Shape {
    fn of(width: usize, rows: &[u32], domain: impl Fn(usize) -> u64, leaves: usize) -> Self {
        let mut ranges = vec![(u32::MAX, 0); width];
        for row in rows.chunks_exact(width) {
            for (range, &code) in ranges.iter_mut().zip(row) {
                *range = (range.0.min(code), range.1.max(code));
            }
        }
        let columns = ranges.into_iter().enumerate();
        let columns =
            columns.map(|(column, (least, most))| (domain(column), least, bits(u64::from(most - least)) as u32));
        let leaves = if width == 1 || leaves == width { 0 } else { leaves as u64 };
        Self { rows: (rows.len() / width) as u64, columns: columns.collect(), leaves }
    }

    fn row_bits(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.2)).sum()
    }

    fn row_bytes(&self) -> u64 {
        (self.rows * self.row_bits()).div_ceil(8)
    }

    fn shape_bits(&self, counts: u64, domain_bits: u64) -> u64 {
        let base_bits = bits(self.columns.iter().map(|column| column.1.into()).max().unwrap_or(0));
        let columns = self.columns.len() as u64;
        counts
            + SHAPE_HEAD_BITS
            + columns * (domain_bits + base_bits + bits(self.row_bits()))
            + self.leaves * bits(columns - 1)
    }
}

fn bits(largest: u64) -> u64 {
    u64::from(u64::BITS - largest.leading_zeros())
}

fn most(values: impl Iterator<Item = u64>) -> u64 {
    bits(values.max().unwrap_or(0))
}

/// Bytes of records and rows of tables that are no dictionaries.
fn table_bytes(shapes: &[Shape]) -> u64 {
    let counts =
        most(shapes.iter().map(|shape| shape.columns.len() as u64)) + most(shapes.iter().map(|shape| shape.leaves));
    let domain_bits = most(shapes.iter().flat_map(|shape| &shape.columns).map(|column| column.0));
    let shape_bits: u64 = shapes.iter().map(|shape| shape.shape_bits(counts, domain_bits)).sum();
    let row_bytes: u64 = shapes.iter().map(Shape::row_bytes).sum();
    let record = most(shapes.iter().map(|shape| shape.rows)) + bits(row_bytes) + bits(shape_bits);
    row_bytes + (shapes.len() as u64 * record).div_ceil(8) + shape_bits.div_ceil(8)
}

/// Bytes of what a block has of plain keysets besides dictionaries: records of tables and rows.
pub(crate) fn plain_bytes(content: &Content) -> u64 {
    let shapes: Vec<Shape> = (content.keysets.iter())
        .map(|keyset| {
            let keys = &keyset.keys;
            Shape::of(keys.len(), &keyset.rows, |column| u64::from(keys[column]) + 1, keys.len())
        })
        .collect();
    table_bytes(&shapes)
}

impl Factored {
    /// Bytes of what a block has of these tables, pools and keysets besides dictionaries.
    pub(crate) fn bytes(&self, content: &Content) -> u64 {
        let key_count = content.value_counts.len() as u64;
        let table_count = key_count + (self.tables.len() + self.keysets.len()) as u64;
        let domain = |part: Part| match part {
            Part::Key(key) => u64::from(key) + 1,
            Part::Table(table) => key_count + table as u64 + 1,
        };
        let mut leaves: Vec<usize> = Vec::with_capacity(self.tables.len());
        let mut shapes: Vec<Shape> = Vec::new();
        for table in &self.tables {
            let of_part = |part: &Part| if let Part::Table(table) = part { leaves[*table] } else { 1 };
            leaves.push(table.parts.iter().map(of_part).sum());
            let parts = &table.parts;
            shapes.push(Shape::of(parts.len(), &table.rows, |column| domain(parts[column]), leaves[leaves.len() - 1]));
        }
        for (keyset, source) in self.keysets.iter().zip(&content.keysets) {
            let column = |column: usize| match keyset.parts.get(column) {
                Some(&part) => domain(part),
                None => table_count + keyset.pool.unwrap_or_default() as u64 + 1,
            };
            shapes.push(Shape::of(keyset.width(), &keyset.rows, column, source.keys.len()));
        }
        table_bytes(&shapes) + self.list_bytes(content)
    }

    fn list_bytes(&self, content: &Content) -> u64 {
        let rows = |part: Part| match part {
            Part::Key(key) => u64::from(content.value_counts[key as usize]),
            Part::Table(table) => (self.tables[table].rows.len() / self.tables[table].parts.len()) as u64,
        };
        let counts: Vec<[u64; 3]> = (self.pools.iter())
            .map(|pool| {
                [rows(pool.part), pool.lists.len() as u64, pool.lists.iter().map(|list| list.len() as u64).sum()]
            })
            .collect();
        let lists: u64 = (counts.iter())
            .map(|&[rows, lists, members]| (lists * bits(members)).div_ceil(8) + (members * bits(rows - 1)).div_ceil(8))
            .sum();
        let anchors: u64 =
            self.keysets.iter().zip(&content.keysets).map(|(keyset, source)| anchor_bytes(keyset, source.len())).sum();
        let tables = bits((content.value_counts.len() + self.tables.len()) as u64);
        let record = tables
            + most(counts.iter().map(|count| count[1]))
            + most(counts.iter().map(|count| count[2]))
            + bits(lists);
        let offsets = self.keysets.len() as u64 * bits(lists + anchors);
        lists + anchors + (self.pools.len() as u64 * record).div_ceil(8) + offsets.div_ceil(8)
    }

    /// The keysets whose own rows and anchors take more than they would take as plain rows.
    pub(crate) fn worse_than_plain(&self, content: &Content) -> Vec<usize> {
        let plain = |number: usize| {
            let keyset = &content.keysets[number];
            Shape::of(keyset.keys.len(), &keyset.rows, |_| 0, keyset.keys.len()).row_bytes()
        };
        (self.keysets.iter().enumerate())
            .filter(|(number, keyset)| {
                let own = Shape::of(keyset.width(), &keyset.rows, |_| 0, 0).row_bytes();
                own + anchor_bytes(keyset, content.keysets[*number].len()) > plain(*number) + SLACK
            })
            .map(|(number, _)| number)
            .collect()
    }
}

fn anchor_bytes(keyset: &FactoredKeyset, series: usize) -> u64 {
    let rows = keyset.rows.len() / keyset.width();
    if keyset.pool.is_some() { (rows.div_ceil(ANCHOR_ROWS) as u64 * bits(series as u64)).div_ceil(8) } else { 0 }
}
