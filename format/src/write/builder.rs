//! [`BlockBuilder`]: the builder of a block.

use std::ops::Range;

use super::graph::{BuiltPool, BuiltTable, Graph, Shape};
use super::members::Anchors;
use super::prepared::{LaterRows, LaterTables, PreparedBlock};
use super::symbols::SymbolsBuilder;
use super::table::{KeysetOutline, RowPacker, check_codes, ranges};
use super::{BlockMeta, BuildError, Limits, Records, ShapeRecord};
use crate::bits::BitWriter;
use crate::identity::{Fingerprint, LabelHasher};
use crate::layout::{ANCHOR_ROWS, MAX_DEPTH, RowForm};
use crate::lists::{Coding, ListSizes};
use crate::number::{index, length, low32};
use crate::view::Domain;
use crate::{KeyId, PoolId, SeriesRef, SymbolId, TableId};

/// Builds a block in memory: symbols, then keys with their dictionaries, then inner tables, then list pools, then
/// keysets.
///
/// Equal calls give equal bytes.
#[derive(Debug)]
pub struct BlockBuilder {
    pub(super) form: RowForm,
    max_depth: u32,
    pub(super) limits: Limits,
    pub(super) symbols: SymbolsBuilder,
    pub(super) records: Records,
    pub(super) graph: Graph,
    keyset_tables: u32,
    last_keys: Vec<KeyId>,
    pub(super) rows: BitWriter,
    pub(super) later: LaterTables,
    pub(super) anchors: Vec<Anchors>,
    pub(super) series_count: u32,
    pub(super) label_count: u64,
    pub(super) fingerprint: Fingerprint,
}

impl BlockBuilder {
    /// Returns an empty block with rows in this form.
    #[must_use]
    pub fn new(form: RowForm) -> Self {
        Self {
            form,
            max_depth: MAX_DEPTH,
            limits: Limits::FORMAT,
            symbols: SymbolsBuilder::new(),
            records: Records::default(),
            graph: Graph::default(),
            keyset_tables: 0,
            last_keys: Vec::new(),
            rows: BitWriter::new(),
            later: LaterTables::default(),
            anchors: Vec::new(),
            series_count: 0,
            label_count: 0,
            fingerprint: Fingerprint::ZERO,
        }
    }

    /// Allows tables deeper than the format does, for tests of readers.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_any_depth(mut self) -> Self {
        self.max_depth = u32::MAX;
        self
    }

    /// Replaces the limits, for tests of writers.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a symbol. Symbols must be added in byte order.
    ///
    /// # Errors
    /// Returns an error for a symbol that is out of order, empty or too long, and if the block has too many.
    pub fn push_symbol(&mut self, symbol: &str) -> Result<SymbolId, BuildError> {
        if !self.records.keys.is_empty() {
            return Err(BuildError::Phase { what: "symbols", before: "keys" });
        }
        self.symbols.push(symbol, &self.limits)
    }

    /// Adds a key and its value dictionary. Names must increase from key to key, values in the dictionary.
    ///
    /// # Errors
    /// Returns an error for unknown symbols, a wrong order or an empty dictionary.
    pub fn push_key(&mut self, name: SymbolId, values: &[SymbolId]) -> Result<KeyId, BuildError> {
        let number = self.records.keys.len();
        if self.graph.tables.len() > number || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "keys", before: "tables" });
        }
        if self.records.keys.last().is_some_and(|&[last, ..]| last >= u64::from(name.0)) {
            return Err(BuildError::Order { what: "key", number: length(number) });
        }
        let key = KeyId(self.limits.next("keys", number)?);
        let hasher = LabelHasher::new(self.symbols.get(name)?);
        let codes: Vec<u32> = values.iter().map(|value| value.0).collect();
        let fingerprints = (values.iter())
            .map(|&value| Ok(hasher.label(self.symbols.get(value)?)))
            .collect::<Result<_, BuildError>>()?;
        let columns = self.write_rows(&[Domain::Arena], &codes, &[self.symbols.count()])?;
        let Written { row_count, offset, packer } = columns;
        let (base, width) = packer.spans().first().map_or((0, 0), |span| (span.base.into(), span.width.into()));
        self.records.keys.push([name.0.into(), row_count.into(), offset, base, width]);
        self.graph.tables.push(BuiltTable { keys: vec![key], depth: 0, fingerprints });
        Ok(key)
    }

    /// Adds an inner table: a map (one column) or a shared table (several columns). `rows` holds row after row, in
    /// increasing order; columns must be in the order of their first keys.
    ///
    /// # Errors
    /// Returns an error for rows or columns out of order, codes out of range, and too many columns, labels or levels.
    pub fn push_table(&mut self, domains: &[Domain], rows: &[u32]) -> Result<TableId, BuildError> {
        if !self.graph.pools.is_empty() || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "tables", before: "pools and keysets" });
        }
        if domains.iter().any(|domain| matches!(domain, Domain::Pool(_))) {
            return Err(BuildError::ListColumn);
        }
        let shape = self.graph.shape(domains, self.max_depth)?;
        let id = self.limits.next("tables", self.graph.tables.len())?;
        self.write_table(domains, rows, &shape.counts, &shape.written)?;
        let fingerprints =
            rows.chunks_exact(domains.len()).map(|row| self.graph.row_fingerprint(domains, row)).collect();
        self.graph.tables.push(BuiltTable { keys: shape.keys, depth: shape.depth, fingerprints });
        Ok(TableId(id))
    }

    /// Adds a pool of lists over a dictionary or an inner table. Members must increase in a list, lists in the pool,
    /// and the tables from pool to pool.
    ///
    /// # Errors
    /// Returns an error for a wrong order, empty lists and members out of range.
    pub fn push_pool(&mut self, table: TableId, lists: &[&[u32]]) -> Result<PoolId, BuildError> {
        self.push_pool_from(table, lists.iter().map(|list| list.iter().copied()))
    }

    /// Like [`Self::push_pool`], but takes the members of each list one after the other: the caller need not have them
    /// in memory. They are packed at once.
    ///
    /// # Errors
    /// Returns the errors of [`Self::push_pool`].
    pub fn push_pool_from<L: Iterator<Item = u32>>(
        &mut self,
        table: TableId,
        lists: impl Iterator<Item = L>,
    ) -> Result<PoolId, BuildError> {
        if self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "pools", before: "keysets" });
        }
        let id = self.limits.next("pools", self.graph.pools.len())?;
        if self.graph.pools.last().is_some_and(|last| last.table >= table) {
            return Err(BuildError::Order { what: "pool", number: id.into() });
        }
        let rows = &self.graph.table(table)?.fingerprints;
        let row_count = low32(length(rows.len()));
        let member_width = self.form.width(row_count.saturating_sub(1));
        let coding = Coding::new(member_width, row_count);
        let mut pool = BuiltPool { table, lists: Vec::new(), ends: Vec::new(), members: BitWriter::new(), coding };
        let (mut list, mut before, mut member_count, mut longest) = (Vec::new(), Vec::new(), 0, 0);
        for (number, members) in lists.enumerate() {
            self.limits.count("lists", number + 1)?;
            list.clear();
            list.extend(members);
            if list.is_empty() {
                return Err(BuildError::Empty { what: "a list" });
            }
            if (number > 0 && before >= list) || !list.is_sorted_by(|a, b| a < b) {
                return Err(BuildError::Order { what: "list or member of list", number: length(number) });
            }
            let mut fingerprint = Fingerprint::ZERO;
            for &member in &list {
                let row = rows.get(index(member));
                fingerprint = fingerprint
                    + *row.ok_or(BuildError::Unknown {
                        what: "row",
                        number: member.into(),
                        count: length(rows.len()),
                    })?;
                pool.members.push(member.into(), member_width);
            }
            member_count += list.len();
            longest = longest.max(list.len());
            pool.lists.push(fingerprint);
            pool.ends.push(self.limits.count("members", member_count)?);
            std::mem::swap(&mut list, &mut before);
        }
        if pool.lists.is_empty() {
            return Err(BuildError::Empty { what: "a pool" });
        }
        let list_count = length(pool.lists.len());
        let sizes = ListSizes { row_count, list_count, member_count: length(member_count), longest: length(longest) };
        if self.form == RowForm::BitPacked {
            pool.split(Coding::choose(member_width, &sizes));
        }
        self.graph.pools.push(pool);
        Ok(PoolId(id))
    }

    /// Adds a keyset whose rows are value codes of its keys' dictionaries, row after row and increasing. Returns its
    /// first series.
    ///
    /// # Errors
    /// Returns an error for keysets, keys or rows out of order, codes out of range, and too many labels or series.
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
    /// Returns the errors of [`BlockBuilder::push_keyset`], and an error for a list column that is not the last of
    /// several.
    pub fn push_keyset_table(&mut self, domains: &[Domain], rows: &[u32]) -> Result<SeriesRef, BuildError> {
        let shape = self.enter_keyset(domains)?;
        if !self.later.tables.is_empty() {
            return Err(BuildError::Phase { what: "keysets with their rows", before: "outlines of keysets" });
        }
        self.write_table(domains, rows, &shape.counts, &shape.written)?;

        let (mut series_count, mut fingerprint) = (0_u64, Fingerprint::ZERO);
        let mut anchors = Vec::new();
        let anchor_rows = index(ANCHOR_ROWS);
        for (number, row) in rows.chunks_exact(domains.len()).enumerate() {
            if number % anchor_rows == 0 {
                anchors.push(u32::try_from(series_count).unwrap_or(u32::MAX));
            }
            fingerprint = fingerprint + self.graph.row_fingerprint(domains, row);
            series_count += u64::from(self.graph.row_series(domains, row));
        }
        let anchors = matches!(domains.last(), Some(Domain::Pool(_))).then(|| Anchors::known(anchors));
        self.count_keyset(shape.keys, series_count, fingerprint, anchors)
    }

    /// Adds a keyset whose rows are written later, through [`PreparedBlock::write_to`]: for blocks larger than memory.
    /// Returns its first series, and a packer of its rows. The builder does not see the rows: [`crate::verify`] checks
    /// them.
    ///
    /// # Errors
    /// Returns the errors of [`BlockBuilder::push_keyset_table`], except those of rows.
    pub fn push_keyset_outline(&mut self, outline: &KeysetOutline<'_>) -> Result<(SeriesRef, RowPacker), BuildError> {
        let KeysetOutline { domains, row_count, ranges, series_count, fingerprint } = *outline;
        let shape = self.enter_keyset(domains)?;
        if row_count == 0 {
            return Err(BuildError::Empty { what: "a table" });
        }
        if ranges.len() != domains.len() {
            return Err(BuildError::Shape { codes: ranges.len(), columns: domains.len() });
        }
        check_codes(ranges, &shape.counts)?;
        self.limits.count_long("rows", row_count.into())?;
        self.limits.count_long("series", u64::from(self.series_count).saturating_add(series_count))?;
        let packer = RowPacker::new(ranges, self.form);
        let offset = self.rows.aligned_len() + self.later.len;
        self.limits.bytes("rows", offset, packer.len(row_count))?;
        self.later.tables.push(LaterRows { row_count, row_bits: packer.row_bits() });
        self.later.len += packer.len(row_count);
        let written = Written { row_count, offset, packer };
        self.write_records(domains, &written, &shape.written);
        let anchors = matches!(domains.last(), Some(Domain::Pool(_))).then(|| Anchors::open(row_count));
        let first = self.count_keyset(shape.keys, series_count, fingerprint, anchors)?;
        Ok((first, written.packer))
    }

    /// Returns the bytes of the block.
    ///
    /// # Errors
    /// Returns an error for metadata out of order or too long, and for keysets that were pushed as outlines.
    pub fn finish(self, meta: &BlockMeta) -> Result<Vec<u8>, BuildError> {
        let prepared = self.prepare(meta)?;
        let mut block = std::io::Cursor::new(Vec::with_capacity(usize::try_from(prepared.byte_len()).unwrap_or(0)));
        match prepared.write_to(&mut block, |_| Ok(())) {
            Ok(_) => Ok(block.into_inner()),
            // Writes to memory do not fail: the rows of an outline are missing.
            Err(_) => Err(BuildError::Phase { what: "all rows", before: "the end" }),
        }
    }

    /// Finishes everything except rows that are written later. The block's length is known then.
    ///
    /// # Errors
    /// Returns an error for metadata out of order or too long.
    pub fn prepare(mut self, meta: &BlockMeta) -> Result<PreparedBlock, BuildError> {
        let table_count = length(self.records.keys.len() + self.records.tables.len());
        for column in self.records.shapes.iter_mut().flat_map(|shape| &mut shape.columns) {
            // Domains of pools were left open until the number of tables was known.
            if let Some(pool) = column[0].checked_sub(OPEN_POOL) {
                column[0] = 1 + table_count + pool;
            }
        }
        PreparedBlock::new(self, meta)
    }

    /// Derived from the columns of the next keyset's table.
    fn enter_keyset(&self, domains: &[Domain]) -> Result<Shape, BuildError> {
        let shape = self.graph.shape(domains, self.max_depth)?;
        if self.keyset_tables > 0 && self.last_keys >= shape.keys {
            return Err(BuildError::Order { what: "keyset", number: self.keyset_tables.into() });
        }
        // Tables are numbered together: dictionaries, inner tables, keysets.
        self.limits.next("tables", self.graph.tables.len() + index(self.keyset_tables))?;
        Ok(shape)
    }

    /// Counts a keyset whose table has its records. Returns its first series.
    fn count_keyset(
        &mut self,
        keys: Vec<KeyId>,
        series_count: u64,
        fingerprint: Fingerprint,
        anchors: Option<Anchors>,
    ) -> Result<SeriesRef, BuildError> {
        let first = self.series_count;
        let end = u64::from(first).saturating_add(series_count);
        self.series_count = self.limits.count_long("series", end)?;
        self.keyset_tables += 1;
        self.label_count += series_count * length(keys.len());
        self.fingerprint = self.fingerprint + fingerprint;
        let keyset = self.records.keysets.len();
        self.anchors.extend(anchors.map(|anchors| anchors.for_keyset(keyset, low32(series_count))));
        self.records.keysets.push([end, 0]);
        self.last_keys = keys;
        Ok(SeriesRef(first))
    }

    /// Writes the rows of an inner or keyset table and its records; `counts` bounds the codes of each column.
    fn write_table(
        &mut self,
        domains: &[Domain],
        rows: &[u32],
        counts: &[usize],
        leaves: &[u64],
    ) -> Result<(), BuildError> {
        let written = self.write_rows(domains, rows, counts)?;
        self.write_records(domains, &written, leaves);
        Ok(())
    }

    fn write_records(&mut self, domains: &[Domain], written: &Written, leaves: &[u64]) {
        let mut shape = ShapeRecord { columns: Vec::with_capacity(domains.len()), leaves: leaves.to_vec() };
        let mut end_bit = 0;
        for (domain, span) in domains.iter().zip(written.packer.spans()) {
            end_bit += u64::from(span.width);
            let domain = match domain {
                Domain::Arena => 0,
                Domain::Table(table) => 1 + u64::from(table.0),
                Domain::Pool(pool) => OPEN_POOL + u64::from(pool.0),
            };
            shape.columns.push([domain, span.base.into(), end_bit]);
        }
        self.records.shapes.push(shape);
        // The starts of shapes are known once all shapes are there.
        self.records.tables.push([written.row_count.into(), written.offset, 0]);
    }

    fn write_rows(&mut self, domains: &[Domain], rows: &[u32], counts: &[usize]) -> Result<Written, BuildError> {
        let columns = domains.len();
        if rows.is_empty() {
            return Err(BuildError::Empty { what: "a table" });
        }
        if !rows.len().is_multiple_of(columns) {
            return Err(BuildError::Shape { codes: rows.len(), columns });
        }
        let row_count = self.limits.count("rows", rows.len() / columns)?;
        check_order(rows, columns, ordered_columns(domains))?;
        let ranges = ranges(rows, columns);
        check_codes(&ranges, counts)?;
        let packer = RowPacker::new(&ranges, self.form);
        let offset = self.rows.aligned_len();
        self.limits.bytes("rows", offset, packer.len(row_count))?;
        packer.pack(rows, &mut self.rows)?;
        self.rows.align();
        Ok(Written { row_count, offset, packer })
    }
}

/// Rows that were written, for the records of their table.
struct Written {
    row_count: u32,
    offset: u64,
    packer: RowPacker,
}

/// Returns the columns by which rows are ordered: all but a list column.
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

/// Marks a domain that is a pool until the number of tables is known; no table has this number.
const OPEN_POOL: u64 = 1 << 40;
