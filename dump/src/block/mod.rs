//! Everything that is in a block (spec, section 13), as entries.

mod entry;

use std::io::Write;

use chronoxide_format::layout::ANCHOR_ROWS;
use chronoxide_format::view::{BlockView, Meta, Pairs, Table, Text};
use chronoxide_format::{KeyId, SeriesRef, SymbolId, TableId};
use entry::ValueEntry;
pub use entry::{DomainEntry, Entry, JobEntry, MetaEntry};

use crate::DumpError;
use crate::tables::TableKind;

/// Writes the dump of a block as text. With `first`, writes only the first entries of each list of symbols, keys,
/// tables, rows, series and so on.
///
/// # Errors
/// Returns an error if the block is damaged or writing fails.
pub fn dump(view: &BlockView<'_>, first: Option<u32>, out: &mut dyn Write) -> Result<(), DumpError> {
    dump_entries(view, first, &mut |entry| Ok(writeln!(out, "{entry}")?))
}

/// Calls `take` with each entry of the dump, in order. Holds one entry in memory.
///
/// # Errors
/// Returns an error if the block is damaged, or the error of `take`.
pub fn dump_entries<'v>(
    view: &'v BlockView<'v>,
    first: Option<u32>,
    take: &mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>,
) -> Result<(), DumpError> {
    let text = view.text()?;
    let mut dump = Dump { view, text, first: first.unwrap_or(u32::MAX), take };
    dump.header()?;
    dump.meta()?;
    dump.symbols()?;
    dump.keys()?;
    dump.tables()?;
    dump.pools()?;
    dump.keysets()?;
    dump.series()?;
    dump.metrics()?;
    dump.columns()
}

struct Dump<'v, 't> {
    view: &'v BlockView<'v>,
    text: Text<'v, 'v>,
    first: u32,
    take: &'t mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>,
}

impl<'v> Dump<'v, '_> {
    fn take(&mut self, entry: Entry<'v>) -> Result<(), DumpError> {
        (self.take)(entry)
    }

    fn count(&mut self, of: &'static str, count: u32) -> Result<(), DumpError> {
        self.take(Entry::Count { of, count: count.into() })
    }

    fn more(&mut self, indentation: &'static str, count: u32) -> Result<(), DumpError> {
        if count > self.first { self.take(Entry::More { count: count - self.first, indentation }) } else { Ok(()) }
    }

    /// Returns the number of entries of each kind to show.
    fn first(&self) -> usize {
        usize::try_from(self.first).unwrap_or(usize::MAX)
    }

    fn symbol(&self, id: SymbolId) -> Result<&'v str, DumpError> {
        Ok(self.text.symbol(id)?)
    }

    fn key_name(&self, key: KeyId) -> Result<&'v str, DumpError> {
        self.symbol(self.view.key_symbol(key)?)
    }

    fn header(&mut self) -> Result<(), DumpError> {
        let ((major, minor), [incompat, ro_compat, compat]) = (self.view.version(), self.view.features());
        let (block_id, bytes) = (self.view.block_id().to_string(), self.view.bytes().len());
        self.take(Entry::Block { block_id, major, minor, incompat, ro_compat, compat, bytes })?;
        self.take(Entry::Count { of: "sections", count: self.view.sections().count() as u64 })?;
        for section in self.view.sections() {
            let name = crate::section_name(&section);
            self.take(Entry::Section { name, id: section.id, offset: section.offset, length: section.length })?;
        }
        if let Some(packed) = self.view.packed()? {
            self.take(Entry::PackedArena { arena: packed.arena_len(), packed: packed.arena_section_len() })?;
        }
        let grid = self.view.frame().grid();
        self.take(Entry::Checks { chunks: grid.chunk_count(), offset: grid.end })
    }

    fn meta(&mut self) -> Result<(), DumpError> {
        let meta = self.view.meta()?;
        let pairs = |pairs: Pairs<'v>| pairs.collect::<Result<Vec<_>, _>>();
        let policy = meta.policy();
        let job = |job: chronoxide_format::view::Job| JobEntry {
            id: format!("{:032x}", u128::from_be_bytes(job.id)),
            output: job.output,
            output_count: job.output_count,
        };
        self.take(Entry::Meta(Box::new(MetaEntry {
            series: meta.series_count(),
            labels: meta.label_count(),
            fingerprint: meta.fingerprint().map(|half| format!("{half:016x}")),
            time: entry::ends(meta.time()),
            window: entry::ends(meta.window()),
            job: meta.job().map(job),
            parents: meta.parents()?.map(|parent| parent.to_string()).collect(),
            ancestors: meta.ancestors()?.map(|ancestor| ancestor.to_string()).collect(),
            external_labels: pairs(meta.external_labels()?)?,
            annotations: pairs(meta.annotations()?)?,
            max_name_len: policy.max_name_len(),
            max_value_len: policy.max_value_len(),
            planner_version: meta.planner_version(),
            rows: rows(&meta),
        })))
    }

    fn symbols(&mut self) -> Result<(), DumpError> {
        let count = self.view.symbols().count();
        self.count("symbols", count)?;
        for id in 0..count.min(self.first) {
            let symbol = self.symbol(SymbolId(id))?;
            self.take(Entry::Symbol { id, symbol })?;
        }
        self.more("  ", count)
    }

    fn keys(&mut self) -> Result<(), DumpError> {
        let count = self.view.key_count();
        self.count("keys", count)?;
        for key in 0..count.min(self.first) {
            let (name, values) = (self.key_name(KeyId(key))?, self.view.cardinality(KeyId(key))?);
            self.take(Entry::Key { key, name, values: values.unwrap_or_default() })?;
        }
        self.more("  ", count)
    }

    fn tables(&mut self) -> Result<(), DumpError> {
        let count = self.view.table_count();
        self.count("tables", count)?;
        let (keys, keysets) = (self.view.key_count(), self.view.keyset_count());
        // The first of each kind, so that rows of keysets are seen too.
        for kind in [0..keys, keys..count - keysets, count - keysets..count] {
            let tables = kind.end - kind.start;
            for id in kind.start..kind.start + tables.min(self.first) {
                if let Some(table) = self.view.table(TableId(id))? {
                    self.table(&table)?;
                }
            }
            self.more("  ", tables)?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table<'v, 'v>) -> Result<(), DumpError> {
        let (id, rows) = (table.id().0, table.row_count());
        self.take(Entry::Table { table: id, kind: TableKind::from_table(table).name(), rows, bits: table.row_bits() })?;
        for (number, column) in (0..).zip(table.columns()) {
            let column = column?;
            let (domain, base) = (column.domain.into(), column.base);
            self.take(Entry::Column { column: number, domain, base, bits: column.width })?;
        }
        for leaf in 0..table.written_leaf_count() {
            let (column, position) = table.leaf_place(leaf)?;
            self.take(Entry::Leaf { leaf, column, position })?;
        }
        for row in 0..rows.min(self.first) {
            let mut codes = Vec::new();
            table.push_codes(row..row + 1, &mut codes)?;
            let symbol = codes.first().filter(|_| table.is_dictionary()).map(|&code| self.symbol(SymbolId(code)));
            self.take(Entry::Row { row, symbol: symbol.transpose()?, codes })?;
        }
        self.more("    ", rows)
    }

    fn pools(&mut self) -> Result<(), DumpError> {
        let count = self.view.pool_count();
        self.count("pools", count)?;
        for pool in self.view.pools().take(self.first()) {
            let pool = pool?;
            let (lists, members) = (pool.list_count(), pool.member_count());
            let (table, low_width) = (pool.table_id().0, pool.low_width());
            self.take(Entry::Pool { pool: pool.id().0, table, lists, members, low_width })?;
            for (number, list) in (0..).zip(pool.lists()).take(self.first()) {
                let mut members = Vec::new();
                list?.push_members(&mut members)?;
                self.take(Entry::List { list: number, members })?;
            }
            self.more("    ", lists)?;
        }
        self.more("  ", count)
    }

    fn keysets(&mut self) -> Result<(), DumpError> {
        let count = self.view.keyset_count();
        self.count("keysets", count)?;
        for keyset in self.view.keysets().take(self.first()) {
            let keyset = keyset?;
            let first = keyset.first().0;
            let end = first.saturating_add(keyset.series_count());
            let keys = keyset.keys()?.map(|key| self.key_name(key?)).collect::<Result<Vec<_>, DumpError>>()?;
            self.take(Entry::Keyset { keyset: keyset.id(), table: keyset.table().id().0, first, end, keys })?;
            for (row, series) in (0..).step_by(ANCHOR_ROWS as usize).zip(keyset.anchors()).take(self.first()) {
                self.take(Entry::Anchor { row, series: series? })?;
            }
            self.more("    ", keyset.anchor_count())?;
        }
        self.more("  ", count)
    }

    fn series(&mut self) -> Result<(), DumpError> {
        let count = self.view.series_count()?;
        self.count("series", count)?;
        for series in self.view.series_iter().take(self.first()) {
            let series = series?;
            let labels = self.text.labels(&series).map(|label| label.map(Into::into)).collect::<Result<Vec<_>, _>>()?;
            self.take(Entry::Series { series: series.series_ref().0, labels })?;
        }
        self.more("  ", count)
    }

    /// Nothing if the block has no metric metadata.
    fn metrics(&mut self) -> Result<(), DumpError> {
        let metrics = self.view.metric_metadata()?;
        if metrics.is_empty() {
            return Ok(());
        }
        self.count("metrics", metrics.len())?;
        for (row, metadata) in (0..self.first).zip(metrics.iter()) {
            self.take(Entry::Metric { row, metadata: metadata?.into() })?;
        }
        self.more("  ", metrics.len())
    }

    /// Nothing if the block has no series columns.
    fn columns(&mut self) -> Result<(), DumpError> {
        let count = self.view.column_count();
        if count == 0 {
            return Ok(());
        }
        self.count("columns", count)?;
        for (number, column) in (0..self.first).zip(self.view.series_columns()) {
            let column = column?;
            let (value_type, merge) = (column.value_type().name(), column.merge().name());
            let (name, unit) = (column.name(), column.unit());
            self.take(Entry::SeriesColumn { column: number, name, value_type, merge, unit })?;
            column.read(SeriesRef(0)..SeriesRef(self.first), |series, value| {
                self.take(Entry::Value { series: series.0, value: value.map(ValueEntry) })
            })?;
            self.more("    ", self.view.series_count()?)?;
        }
        self.more("  ", count)
    }
}

/// Returns the name of the row form, or `unknown-` and its number.
fn rows(meta: &Meta<'_>) -> String {
    meta.row_form().map_or_else(|| format!("unknown-{}", meta.row_form_code()), |form| form.name().to_owned())
}
