//! The builder of a block.

use std::ops::Range;

use super::graph::{BuiltList, BuiltPool, BuiltTable, Graph, counted};
use super::members::{self, KeysetAnchors};
use super::meta::Content;
use super::symbols::SymbolsBuilder;
use super::table::{Span, pack, spans};
use super::{BlockMeta, BuildError, MetricRecords, Records, SectionBytes, ShapeRecord, assemble};
use crate::bits::BitWriter;
use crate::identity::{BlockId, Fingerprint};
use crate::layout::{ANCHOR_ROWS, MAX_DEPTH, RowForm, SectionKind};
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
    symbols: SymbolsBuilder,
    records: Records,
    graph: Graph,
    keyset_tables: u32,
    last_keys: Vec<KeyId>,
    rows: BitWriter,
    anchors: Vec<KeysetAnchors>,
    series_count: u32,
    label_count: u64,
    fingerprint: Fingerprint,
}

impl BlockBuilder {
    /// An empty block with rows in this form.
    pub fn new(form: RowForm) -> Self {
        Self {
            form,
            max_depth: MAX_DEPTH,
            symbols: SymbolsBuilder::new(),
            records: Records::default(),
            graph: Graph::default(),
            keyset_tables: 0,
            last_keys: Vec::new(),
            rows: BitWriter::new(),
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
        self.symbols.push(symbol)
    }

    /// Adds a key and its value dictionary. Names must increase from key to key, values in the dictionary.
    ///
    /// # Errors
    /// Symbols that do not exist, a wrong order, or no values.
    pub fn push_key(&mut self, name: SymbolId, values: &[SymbolId]) -> Result<KeyId, BuildError> {
        let number = self.records.keys.len();
        if self.graph.tables.len() > number || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "keys", before: "tables" });
        }
        if self.records.keys.last().is_some_and(|&[last, ..]| last >= u64::from(name.0)) {
            return Err(BuildError::Order { what: "key", number: length(number) });
        }
        let key = KeyId(counted("keys", number)?);
        let name_hash = self.symbols.hash(name)?;
        let codes: Vec<u32> = values.iter().map(|value| value.0).collect();
        let fingerprints = (values.iter())
            .map(|&value| Ok(Fingerprint::of_label(name_hash, self.symbols.hash(value)?)))
            .collect::<Result<_, BuildError>>()?;
        let columns = self.write_rows(&[Domain::Arena], &codes, &[self.symbols.count()])?;
        let Written { row_count, offset, spans } = columns;
        let (base, width) = spans.first().map_or((0, 0), |span| (span.base.into(), span.width.into()));
        self.records.keys.push([name.0.into(), row_count, offset, base, width]);
        self.graph.tables.push(BuiltTable { keys: vec![key], depth: 0, fingerprints });
        Ok(key)
    }

    /// Adds an inner table: a map (one column) or a shared table (several). Rows lie one after the other and must increase; columns
    /// must stand in the order of their first keys.
    ///
    /// # Errors
    /// Rows or columns out of order, codes without meaning, too many columns, labels or levels.
    pub fn push_table(&mut self, domains: &[Domain], rows: &[u32]) -> Result<TableId, BuildError> {
        if !self.graph.pools.is_empty() || self.keyset_tables > 0 {
            return Err(BuildError::Phase { what: "tables", before: "pools and keysets" });
        }
        if domains.iter().any(|domain| matches!(domain, Domain::Pool(_))) {
            return Err(BuildError::ListColumn);
        }
        let shape = self.graph.shape(domains, self.max_depth)?;
        self.write_table(domains, rows, &shape.counts, &shape.written)?;
        let fingerprints =
            rows.chunks_exact(domains.len()).map(|row| self.graph.row_fingerprint(domains, row)).collect();
        let id = counted("tables", self.graph.tables.len())?;
        self.graph.tables.push(BuiltTable { keys: shape.keys, depth: shape.depth, fingerprints });
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
        let id = counted("pools", self.graph.pools.len())?;
        if self.graph.pools.last().is_some_and(|last| last.table >= table) {
            return Err(BuildError::Order { what: "pool", number: id.into() });
        }
        let rows = &self.graph.table(table)?.fingerprints;
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
        self.graph.pools.push(pool);
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
        let shape = self.graph.shape(domains, self.max_depth)?;
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
            fingerprint = fingerprint + self.graph.row_fingerprint(domains, row);
            series_count += u64::from(self.graph.row_series(domains, row));
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
    /// Meta data out of order or too long, or texts of metrics that are.
    pub fn finish(mut self, meta: &BlockMeta) -> Result<Vec<u8>, BuildError> {
        let members = members::write(&self.graph, &self.anchors, self.form, &mut self.records);
        let table_count = length(self.records.keys.len() + self.records.tables.len());
        for column in self.records.shapes.iter_mut().flat_map(|shape| &mut shape.columns) {
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
        self.records.place_shapes();
        let catalogue = self.records.encode()?;
        let meta_section = meta.encode(&content)?;
        let metrics =
            if meta.metrics.is_empty() { Vec::new() } else { MetricRecords::from_set(&meta.metrics)?.encode()? };
        let block_id = BlockId::derive(meta.time.map(|time| time.start), &meta_section, &catalogue, &metrics);
        let (symbols, arena) = self.symbols.finish();
        let contents = [catalogue, meta_section, symbols, self.rows.finish(), members, arena, Vec::new()];
        let section = |(kind, bytes): (SectionKind, Vec<u8>)| SectionBytes { kind: kind.code(), id: 0, bytes };
        let mut sections: Vec<SectionBytes> = SectionKind::REQUIRED.into_iter().zip(contents).map(section).collect();
        if !metrics.is_empty() {
            sections.push(section((SectionKind::MetricMetadata, metrics)));
        }
        Ok(assemble(block_id, [0; 3], &sections))
    }

    /// Writes the rows of an inner or keyset table and its records; `counts` bounds the codes of each column.
    fn write_table(
        &mut self,
        domains: &[Domain],
        rows: &[u32],
        counts: &[usize],
        leaves: &[u64],
    ) -> Result<(), BuildError> {
        let Written { row_count, offset, spans } = self.write_rows(domains, rows, counts)?;
        let mut shape = ShapeRecord { columns: Vec::with_capacity(domains.len()), leaves: leaves.to_vec() };
        let mut end_bit = 0;
        for (domain, span) in domains.iter().zip(&spans) {
            end_bit += u64::from(span.width);
            let domain = match domain {
                Domain::Arena => 0,
                Domain::Table(table) => 1 + u64::from(table.0),
                Domain::Pool(pool) => OPEN_POOL + u64::from(pool.0),
            };
            shape.columns.push([domain, span.base.into(), end_bit]);
        }
        self.records.shapes.push(shape);
        // Where shapes start is known once all are there.
        self.records.tables.push([row_count, offset, 0]);
        Ok(())
    }

    fn write_rows(&mut self, domains: &[Domain], rows: &[u32], counts: &[usize]) -> Result<Written, BuildError> {
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
        Ok(Written { row_count: row_count.into(), offset, spans })
    }
}

/// Rows that were written, for the records of their table.
struct Written {
    row_count: u64,
    offset: u64,
    spans: Vec<Span>,
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

/// Marks a domain that is a pool until the number of tables is known; no table has so large a number.
const OPEN_POOL: u64 = 1 << 40;
