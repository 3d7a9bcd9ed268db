//! The builder of a block.

use std::ops::Range;

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32};

use super::meta::Content;
use super::table::{pack, spans};
use super::{BlockMeta, BuildError, Records, SectionBytes, assemble};
use crate::bits::{BitWriter, width};
use crate::identity::{BlockId, Fingerprint};
use crate::layout::{
    ANCHOR_ROWS, MAX_COLUMNS, MAX_DEPTH, MAX_LABELS, MAX_SYMBOL_LEN, RowForm, SYMBOL_GROUP, SectionKind, SymbolsHeader,
};
use crate::number::{index, length, low32};
use crate::view::Domain;
use crate::{KeyId, PoolId, SeriesRef, SymbolId, TableId};

/// Builds a block in memory: symbols, then keys with their dictionaries, then inner tables, then list pools, then keysets.
///
/// The same calls give the same bytes.
#[derive(Debug)]
pub struct BlockBuilder {
    form: RowForm,
    max_depth: u32,
    arena: Vec<u8>,
    /// Where each symbol starts, and the arena's length.
    starts: Vec<u64>,
    records: Records,
    /// Dictionaries, then inner tables.
    tables: Vec<BuiltTable>,
    pools: Vec<BuiltPool>,
    keyset_tables: u32,
    last_keys: Vec<KeyId>,
    rows: BitWriter,
    members: BitWriter,
    anchors: Vec<KeysetAnchors>,
    series_count: u32,
    label_count: u64,
    fingerprint: Fingerprint,
}

/// What later tables need to know of a dictionary or an inner table.
#[derive(Debug)]
struct BuiltTable {
    keys: Vec<KeyId>,
    depth: u32,
    /// Of each row: the product over its labels.
    fingerprints: Vec<Fingerprint>,
}

#[derive(Debug)]
struct BuiltPool {
    table: TableId,
    lists: Vec<BuiltList>,
    ends: Vec<u32>,
    members: Vec<u32>,
}

#[derive(Debug)]
struct BuiltList {
    len: u32,
    /// The sum over its members.
    fingerprint: Fingerprint,
}

/// The anchors of a keyset, written once the pools are.
#[derive(Debug)]
struct KeysetAnchors {
    keyset: usize,
    series_count: u32,
    anchors: Vec<u32>,
}

impl BlockBuilder {
    /// An empty block with rows in this form.
    pub fn new(form: RowForm) -> Self {
        Self {
            form,
            max_depth: MAX_DEPTH,
            arena: Vec::new(),
            starts: vec![0],
            records: Records::default(),
            tables: Vec::new(),
            pools: Vec::new(),
            keyset_tables: 0,
            last_keys: Vec::new(),
            rows: BitWriter::new(),
            members: BitWriter::new(),
            anchors: Vec::new(),
            series_count: 0,
            label_count: 0,
            fingerprint: Fingerprint::ZERO,
        }
    }

    /// Lets tables be deeper than the format allows: for tests of readers, which must refuse such a block.
    #[doc(hidden)]
    pub const fn with_any_depth(mut self) -> Self {
        self.max_depth = u32::MAX;
        self
    }

    /// Adds a symbol, which must come after the one before it in byte order.
    ///
    /// # Errors
    /// A symbol out of order, empty or too long, or one too many.
    pub fn push_symbol(&mut self, symbol: &str) -> Result<SymbolId, BuildError> {
        if !self.records.keys.is_empty() {
            return Err(BuildError::Phase { what: "symbols", before: "keys" });
        }
        let len = symbol.len();
        if len == 0 || length(len) > u64::from(MAX_SYMBOL_LEN) {
            return Err(BuildError::SymbolLen { len });
        }
        let id = self.starts.len() - 1;
        if self.symbol(id.wrapping_sub(1)).is_some_and(|last| last >= symbol.as_bytes()) {
            return Err(BuildError::Order { what: "symbol", number: length(id) });
        }
        let id = counted("symbols", id)?;
        self.arena.extend_from_slice(symbol.as_bytes());
        self.starts.push(length(self.arena.len()));
        Ok(SymbolId(id))
    }

    fn symbol(&self, id: usize) -> Option<&[u8]> {
        let (&start, &end) = (self.starts.get(id)?, self.starts.get(id + 1)?);
        self.arena.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Adds a key and its value dictionary. Names must increase from key to key, values in the dictionary.
    ///
    /// # Errors
    /// Symbols that do not exist, a wrong order, or no values.
    pub fn push_key(&mut self, name: SymbolId, values: &[SymbolId]) -> Result<KeyId, BuildError> {
        let number = self.records.keys.len();
        if self.tables.len() > number || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "keys", before: "tables" });
        }
        if self.records.keys.last().is_some_and(|&[last]| last >= u64::from(name.0)) {
            return Err(BuildError::Order { what: "key", number: length(number) });
        }
        let symbol_count = self.starts.len() - 1;
        let unknown =
            |id: SymbolId| BuildError::Unknown { what: "symbol", number: id.0.into(), count: length(symbol_count) };
        let name_bytes = self.symbol(index(name.0)).ok_or_else(|| unknown(name))?.to_vec();
        let key = KeyId(counted("keys", number)?);
        let codes: Vec<u32> = values.iter().map(|value| value.0).collect();
        let fingerprints = values
            .iter()
            .map(|&value| {
                Ok(Fingerprint::of_label(&name_bytes, self.symbol(index(value.0)).ok_or_else(|| unknown(value))?))
            })
            .collect::<Result<_, BuildError>>()?;
        self.records.keys.push([name.0.into()]);
        self.write_table(&[Domain::Arena], &codes, &[symbol_count], &[])?;
        self.tables.push(BuiltTable { keys: vec![key], depth: 0, fingerprints });
        Ok(key)
    }

    /// Adds an inner table: a map (one column) or a shared table (several). Rows lie one after the other and must increase; columns
    /// must stand in the order of their first keys.
    ///
    /// # Errors
    /// Rows or columns out of order, codes without meaning, too many columns, labels or levels.
    pub fn push_table(&mut self, domains: &[Domain], rows: &[u32]) -> Result<TableId, BuildError> {
        if !self.pools.is_empty() || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "tables", before: "pools and keysets" });
        }
        if domains.iter().any(|domain| matches!(domain, Domain::Pool(_))) {
            return Err(BuildError::ListColumn);
        }
        let shape = self.shape(domains)?;
        self.write_table(domains, rows, &shape.counts, &shape.written)?;
        let fingerprints = rows.chunks_exact(domains.len()).map(|row| self.row_fingerprint(domains, row)).collect();
        let id = counted("tables", self.tables.len())?;
        self.tables.push(BuiltTable { keys: shape.keys, depth: shape.depth, fingerprints });
        Ok(TableId(id))
    }

    /// Adds a pool of lists over a dictionary or an inner table. Members must increase in a list, lists in the pool, and
    /// the tables from pool to pool.
    ///
    /// # Errors
    /// A wrong order, empty lists, members without meaning.
    pub fn push_pool(&mut self, table: TableId, lists: &[&[u32]]) -> Result<PoolId, BuildError> {
        if self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "pools", before: "keysets" });
        }
        let id = counted("pools", self.pools.len())?;
        if self.pools.last().is_some_and(|last| last.table >= table) {
            return Err(BuildError::Order { what: "pool", number: id.into() });
        }
        let rows = &self.table(table)?.fingerprints;
        if lists.is_empty() {
            return Err(BuildError::Empty { what: "a pool" });
        }
        let mut pool = BuiltPool { table, lists: Vec::new(), ends: Vec::new(), members: Vec::new() };
        for (number, list) in lists.iter().enumerate() {
            let before = number.checked_sub(1).and_then(|before| lists.get(before));
            if list.is_empty() {
                return Err(BuildError::Empty { what: "a list" });
            }
            if before.is_some_and(|before| before >= list) || !list.is_sorted_by(|a, b| a < b) {
                return Err(BuildError::Order { what: "list or member of list", number: length(number) });
            }
            let mut fingerprint = Fingerprint::ZERO;
            for &member in *list {
                let row = rows.get(index(member));
                fingerprint = fingerprint
                    + *row.ok_or(BuildError::Unknown {
                        what: "row",
                        number: member.into(),
                        count: length(rows.len()),
                    })?;
            }
            pool.members.extend_from_slice(list);
            pool.lists.push(BuiltList { len: counted("members", list.len())?, fingerprint });
            pool.ends.push(counted("members", pool.members.len())?);
        }
        self.pools.push(pool);
        Ok(PoolId(id))
    }

    /// Adds a keyset whose rows are value codes of its keys' dictionaries, one after the other and increasing. Returns its first
    /// series.
    ///
    /// # Errors
    /// Keysets, keys or rows out of order, codes without meaning, too many labels or series.
    pub fn push_keyset(&mut self, keys: &[KeyId], rows: &[u32]) -> Result<SeriesRef, BuildError> {
        let domains: Vec<Domain> = keys.iter().map(|key| Domain::Table(TableId(key.0))).collect();
        if let Some(key) = keys.iter().find(|key| index(key.0) >= self.records.keys.len()) {
            return Err(BuildError::Unknown {
                what: "key",
                number: key.0.into(),
                count: length(self.records.keys.len()),
            });
        }
        self.push_keyset_table(&domains, rows)
    }

    /// Adds a keyset whose rows refer to any tables and may end in a list. Returns its first series.
    ///
    /// # Errors
    /// As [`BlockBuilder::push_keyset`], and a list column that is not the last of several.
    pub fn push_keyset_table(&mut self, domains: &[Domain], rows: &[u32]) -> Result<SeriesRef, BuildError> {
        let shape = self.shape(domains)?;
        if (self.keyset_tables > 0) && self.last_keys >= shape.keys {
            return Err(BuildError::Order { what: "keyset", number: self.keyset_tables.into() });
        }
        self.write_table(domains, rows, &shape.counts, &shape.written)?;
        self.keyset_tables += 1;

        let (mut series_count, mut fingerprint) = (0_u64, Fingerprint::ZERO);
        let mut anchors = Vec::new();
        let anchor_rows = index(ANCHOR_ROWS);
        for (number, row) in rows.chunks_exact(domains.len()).enumerate() {
            if number % anchor_rows == 0 {
                anchors.push(u32::try_from(series_count).unwrap_or(u32::MAX));
            }
            fingerprint = fingerprint + self.row_fingerprint(domains, row);
            series_count += u64::from(self.row_series(domains, row));
        }
        let first = self.series_count;
        let end = u64::from(first) + series_count;
        self.series_count = u32::try_from(end).map_err(|_| BuildError::TooMany { what: "series" })?;
        self.label_count += series_count * length(shape.keys.len());
        self.fingerprint = self.fingerprint + fingerprint;
        if matches!(domains.last(), Some(Domain::Pool(_))) {
            let keyset = self.records.keysets.len();
            self.anchors.push(KeysetAnchors { keyset, series_count: low32(series_count), anchors });
        }
        self.records.keysets.push([end, 0]);
        self.last_keys = shape.keys;
        Ok(SeriesRef(first))
    }

    /// The block, whole.
    ///
    /// # Errors
    /// Meta data out of order or too long.
    pub fn finish(mut self, meta: &BlockMeta) -> Result<Vec<u8>, BuildError> {
        self.write_members();
        let table_count = length(self.records.tables.len());
        for column in &mut self.records.columns {
            // Domains of pools were left open until the number of tables was known.
            if let Some(pool) = column[0].checked_sub(OPEN_POOL) {
                column[0] = 1 + table_count + pool;
            }
        }
        let content = Content {
            series_count: self.series_count.into(),
            label_count: self.label_count,
            fingerprint: self.fingerprint,
            row_form: self.form,
        };
        let catalogue = self.records.encode()?;
        let meta_section = meta.encode(&content)?;
        let block_id = BlockId::derive(meta.time.map(|time| time.start), &meta_section, &catalogue);
        let symbols = pack_starts(&self.starts);
        let members = if self.pools.is_empty() { Vec::new() } else { self.members.finish() };
        let contents = [catalogue, meta_section, symbols, self.rows.finish(), members, self.arena, Vec::new()];
        let sections: Vec<SectionBytes> = SectionKind::ALL
            .into_iter()
            .zip(contents)
            .map(|(kind, bytes)| SectionBytes { kind: kind.code(), id: 0, bytes })
            .collect();
        Ok(assemble(block_id, [0; 3], &sections))
    }

    fn write_members(&mut self) {
        for pool in &self.pools {
            let offset = self.members.aligned_len();
            let end_width = width(length(pool.members.len()));
            for &end in &pool.ends {
                self.members.push(end.into(), end_width);
            }
            self.members.align();
            let rows = self.tables.get(index(pool.table.0)).map_or(0, |table| table.fingerprints.len());
            let member_width = self.form.width(low32(length(rows)).saturating_sub(1));
            for &member in &pool.members {
                self.members.push(member.into(), member_width);
            }
            let counts = (length(pool.lists.len()), length(pool.members.len()));
            self.records.pools.push([pool.table.0.into(), counts.0, counts.1, offset]);
        }
        for keyset in &self.anchors {
            let offset = self.members.aligned_len();
            for &anchor in &keyset.anchors {
                self.members.push(anchor.into(), width(keyset.series_count.into()));
            }
            if let Some(record) = self.records.keysets.get_mut(keyset.keyset) {
                record[1] = offset;
            }
        }
    }

    fn table(&self, id: TableId) -> Result<&BuiltTable, BuildError> {
        let count = length(self.tables.len());
        self.tables.get(index(id.0)).ok_or(BuildError::Unknown { what: "table", number: id.0.into(), count })
    }

    fn pool(&self, id: PoolId) -> Result<&BuiltPool, BuildError> {
        let count = length(self.pools.len());
        self.pools.get(index(id.0)).ok_or(BuildError::Unknown { what: "pool", number: id.0.into(), count })
    }

    /// The product over the labels of a row, summed over its list if it ends in one.
    fn row_fingerprint(&self, domains: &[Domain], row: &[u32]) -> Fingerprint {
        domains.iter().zip(row).fold(Fingerprint::ONE, |product, (domain, &code)| {
            let factor = match *domain {
                Domain::Arena => None,
                Domain::Table(table) => {
                    self.tables.get(index(table.0)).and_then(|table| table.fingerprints.get(index(code)).copied())
                }
                Domain::Pool(pool) => self
                    .pools
                    .get(index(pool.0))
                    .and_then(|pool| pool.lists.get(index(code)))
                    .map(|list| list.fingerprint),
            };
            product * factor.unwrap_or(Fingerprint::ZERO)
        })
    }

    /// How many series a keyset's row stands for.
    fn row_series(&self, domains: &[Domain], row: &[u32]) -> u32 {
        match (domains.last(), row.last()) {
            (Some(&Domain::Pool(pool)), Some(&list)) => {
                self.pools.get(index(pool.0)).and_then(|pool| pool.lists.get(index(list))).map_or(0, |list| list.len)
            }
            _ => 1,
        }
    }

    /// Leaves, depth and the counts that bound the codes of a table with these columns.
    fn shape(&self, domains: &[Domain]) -> Result<Shape, BuildError> {
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
            shape.depth = shape.depth.max(behind.depth);
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
        if domains.len() > 1 {
            shape.depth += 1;
            if leaves.len() > domains.len() || leaves.iter().zip(0..).any(|(&(_, column, _), leaf)| column != leaf) {
                shape.written = leaves.iter().map(|&(_, column, position)| [column, position]).collect();
            }
        }
        if shape.depth > self.max_depth {
            return Err(BuildError::Depth);
        }
        shape.keys = leaves.into_iter().map(|(key, ..)| key).collect();
        Ok(shape)
    }

    /// Writes the rows of a table and its records; `counts` bounds the codes of each column.
    fn write_table(
        &mut self,
        domains: &[Domain],
        rows: &[u32],
        counts: &[usize],
        leaves: &[[u64; 2]],
    ) -> Result<(), BuildError> {
        let columns = domains.len();
        if rows.is_empty() {
            return Err(BuildError::Empty { what: "a table" });
        }
        if !rows.len().is_multiple_of(columns) {
            return Err(BuildError::Shape { codes: rows.len(), columns });
        }
        let row_count = counted("rows", rows.len() / columns)?;
        check_order(rows, columns, ordered_columns(domains))?;
        let spans = spans(rows, columns, self.form);
        for (column, &count) in counts.iter().enumerate() {
            let most = rows.iter().skip(column).step_by(columns).max().copied().unwrap_or(0);
            if index(most) >= count {
                return Err(BuildError::Unknown { what: "code", number: most.into(), count: length(count) });
            }
        }
        let offset = self.rows.aligned_len();
        pack(&mut self.rows, rows, &spans);

        let mut end_bit = 0;
        for (domain, span) in domains.iter().zip(&spans) {
            end_bit += u64::from(span.width);
            let domain = match domain {
                Domain::Arena => 0,
                Domain::Table(table) => 1 + u64::from(table.0),
                Domain::Pool(pool) => OPEN_POOL + u64::from(pool.0),
            };
            self.records.columns.push([domain, span.base.into(), end_bit]);
        }
        self.records.leaves.extend_from_slice(leaves);
        let ends = (length(self.records.columns.len()), length(self.records.leaves.len()));
        self.records.tables.push([ends.0, row_count.into(), offset, ends.1]);
        Ok(())
    }
}

/// Marks a domain that is a pool until the number of tables is known; no table has so large a number.
const OPEN_POOL: u64 = 1 << 40;

/// What the columns of a table make of it.
struct Shape {
    keys: Vec<KeyId>,
    depth: u32,
    /// What the codes of each column must stay below.
    counts: Vec<usize>,
    /// Leaf records, where they must be written out.
    written: Vec<[u64; 2]>,
}

/// The columns by which rows are ordered: all but a list column.
fn ordered_columns(domains: &[Domain]) -> Range<usize> {
    0..domains.len() - usize::from(matches!(domains.last(), Some(Domain::Pool(_))))
}

fn check_order(rows: &[u32], columns: usize, ordered: Range<usize>) -> Result<(), BuildError> {
    let mut before: Option<&[u32]> = None;
    for (row, number) in rows.chunks_exact(columns).zip(0..) {
        let key = row.get(ordered.clone()).unwrap_or_default();
        if before.is_some_and(|before| before >= key) {
            return Err(BuildError::Order { what: "row", number });
        }
        before = Some(key);
    }
    Ok(())
}

/// A count as a number of 32 bits.
fn counted(what: &'static str, count: usize) -> Result<u32, BuildError> {
    u32::try_from(count).ok().filter(|&count| count < u32::MAX).ok_or(BuildError::TooMany { what })
}

/// The symbols section.
fn pack_starts(starts: &[u64]) -> Vec<u8> {
    let group = index(SYMBOL_GROUP);
    let bases = starts.iter().step_by(group);
    let base_width = width(bases.max().copied().unwrap_or(0));
    let differences =
        |group: &[u64]| group.iter().map(|start| start - group.first().unwrap_or(start)).collect::<Vec<u64>>();
    let difference_width = width(starts.chunks(group).flat_map(differences).max().unwrap_or(0));
    let header = SymbolsHeader {
        symbol_count: U32::new(low32(length(starts.len() - 1))),
        base_width: u8::try_from(base_width).unwrap_or(u8::MAX),
        difference_width: u8::try_from(difference_width).unwrap_or(u8::MAX),
        reserved: U16::new(0),
    };
    let mut writer = BitWriter::new();
    for &byte in header.as_bytes() {
        writer.push(byte.into(), 8);
    }
    for group in starts.chunks(group) {
        for (place, (&start, difference)) in group.iter().zip(differences(group)).enumerate() {
            if place == 0 { writer.push(start, base_width) } else { writer.push(difference, difference_width) }
        }
    }
    writer.finish()
}
