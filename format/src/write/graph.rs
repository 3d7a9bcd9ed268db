//! Tables and pools that were pushed, and their meaning for later tables (spec, section 7).

use super::BuildError;
use crate::bits::{BitWriter, Bits};
use crate::identity::Fingerprint;
use crate::layout::{MAX_COLUMNS, MAX_LABELS};
use crate::lists::Coding;
use crate::number::{index, length, low32};
use crate::view::Domain;
use crate::{KeyId, PoolId, Rule, TableId};

/// The tables and pools that columns may refer to.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Dictionaries, then inner tables.
    pub tables: Vec<BuiltTable>,
    pub pools: Vec<BuiltPool>,
}

/// Properties of a dictionary or an inner table that later tables need.
#[derive(Debug)]
pub(super) struct BuiltTable {
    pub keys: Vec<KeyId>,
    pub depth: u32,
    /// Product of the labels' fingerprints, per row.
    pub fingerprints: Vec<Fingerprint>,
}

#[derive(Debug)]
pub(super) struct BuiltPool {
    pub table: TableId,
    /// Sum of the fingerprints of the members of each list.
    pub lists: Vec<Fingerprint>,
    /// Number of members of each list and those before it.
    pub ends: Vec<u32>,
    /// Coded members of all lists, until they are written.
    pub members: BitWriter,
    pub coding: Coding,
}

impl BuiltPool {
    /// Returns the number of members of a list; 0 if there is no such list.
    fn list_len(&self, list: u32) -> u32 {
        let end = |list: u32| self.ends.get(index(list)).copied().unwrap_or(0);
        end(list).saturating_sub(list.checked_sub(1).map_or(0, end))
    }

    /// Codes the members, which are plain fields, if `coding` is to split lists.
    pub(super) fn split(&mut self, coding: Coding) {
        if !coding.is_split() {
            return;
        }
        let plain_width = self.coding.low_width;
        let plain = std::mem::take(&mut self.members).finish();
        let plain = Bits::new(&plain, Rule::ListMembers);
        let (mut list, mut start) = (Vec::new(), 0_u32);
        for &end in &self.ends {
            list.clear();
            let count = end.saturating_sub(start);
            let first_bit = u64::from(start) * u64::from(plain_width);
            let is_read = plain.push_fields(first_bit, plain_width, count.into(), &mut list).is_ok();
            debug_assert!(is_read, "the stream has all members");
            coding.push_list(&list, &mut self.members);
            start = end;
        }
        self.coding = coding;
    }
}

/// Properties that a table derives from its columns.
pub(super) struct Shape {
    pub keys: Vec<KeyId>,
    pub depth: u32,
    /// Upper bound (exclusive) of the codes of each column.
    pub counts: Vec<usize>,
    /// The column of each leaf, where leaves must be written out.
    pub written: Vec<u64>,
}

impl Graph {
    pub(super) fn table(&self, id: TableId) -> Result<&BuiltTable, BuildError> {
        let count = length(self.tables.len());
        self.tables.get(index(id.0)).ok_or(BuildError::Unknown { what: "table", number: id.0.into(), count })
    }

    pub(super) fn pool(&self, id: PoolId) -> Result<&BuiltPool, BuildError> {
        let count = length(self.pools.len());
        self.pools.get(index(id.0)).ok_or(BuildError::Unknown { what: "pool", number: id.0.into(), count })
    }

    /// Returns the product over the labels of a row, summed over its list if it ends in one.
    pub(super) fn row_fingerprint(&self, domains: &[Domain], row: &[u32]) -> Fingerprint {
        domains.iter().zip(row).fold(Fingerprint::ONE, |product, (domain, &code)| {
            let factor = match *domain {
                Domain::Arena => None,
                Domain::Table(table) => {
                    self.tables.get(index(table.0)).and_then(|table| table.fingerprints.get(index(code)).copied())
                }
                Domain::Pool(pool) => {
                    self.pools.get(index(pool.0)).and_then(|pool| pool.lists.get(index(code))).copied()
                }
            };
            product * factor.unwrap_or(Fingerprint::ZERO)
        })
    }

    /// Returns the number of series of a keyset's row.
    pub(super) fn row_series(&self, domains: &[Domain], row: &[u32]) -> u32 {
        match (domains.last(), row.last()) {
            (Some(&Domain::Pool(pool)), Some(&list)) => {
                self.pools.get(index(pool.0)).map_or(0, |pool| pool.list_len(list))
            }
            _ => 1,
        }
    }

    /// Leaves, depth and the counts that bound the codes of a table with these columns.
    pub(super) fn shape(&self, domains: &[Domain], max_depth: u32) -> Result<Shape, BuildError> {
        if domains.is_empty() {
            return Err(BuildError::Empty { what: "a table's list of columns" });
        }
        if length(domains.len()) > u64::from(MAX_COLUMNS) {
            return Err(BuildError::Columns { count: domains.len() });
        }
        let mut leaves = Vec::new();
        let mut shape = Shape { keys: Vec::new(), depth: 0, counts: Vec::new(), written: Vec::new() };
        let mut first_keys = Vec::new();
        for (column, &domain) in (0_u64..).zip(domains) {
            let (behind, count) = match domain {
                Domain::Arena => return Err(BuildError::Unknown { what: "table", number: 0, count: 0 }),
                Domain::Table(table) => (self.table(table)?, self.table(table)?.fingerprints.len()),
                Domain::Pool(pool) if column > 0 && index(low32(column)) + 1 == domains.len() => {
                    let pool = self.pool(pool)?;
                    (self.table(pool.table)?, pool.lists.len())
                }
                Domain::Pool(_) => return Err(BuildError::ListColumn),
            };
            if !matches!(domain, Domain::Pool(_)) {
                first_keys.push(behind.keys.first().copied());
            }
            leaves.extend(behind.keys.iter().zip(0_u64..).map(|(&key, position)| (key, column, position)));
            shape.depth = shape.depth.max(behind.depth + 1);
            shape.counts.push(count);
        }
        if !first_keys.is_sorted() {
            return Err(BuildError::Order { what: "column", number: 0 });
        }
        leaves.sort_unstable();
        if let Some(&[(key, ..), _]) = leaves.array_windows().find(|[a, b]| a.0 == b.0) {
            return Err(BuildError::TwiceTheKey { key: key.0 });
        }
        if length(leaves.len()) > u64::from(MAX_LABELS) {
            return Err(BuildError::Labels { count: leaves.len() });
        }
        let is_plain =
            leaves.len() == domains.len() && leaves.iter().zip(0..).all(|(&(_, column, _), leaf)| column == leaf);
        if domains.len() > 1 && !is_plain {
            shape.written = leaves.iter().map(|&(_, column, _)| column).collect();
        }
        if shape.depth > max_depth {
            return Err(BuildError::Depth);
        }
        shape.keys = leaves.into_iter().map(|(key, ..)| key).collect();
        Ok(shape)
    }
}
