//! Everything that is in a block, as text (spec, section 13).

use std::fmt;
use std::io::Write;

use chronoxide_cli::escape::Escaped;
use chronoxide_format::view::{BlockView, Domain, Keyset, Pool, Table, Text};
use chronoxide_format::{KeyId, PoolId, SymbolId, TableId};

use crate::InspectError;

/// Writes the dump of a block: all of it, or with `first` only so many of each list of symbols, keys, tables, rows, series and so on.
///
/// # Errors
/// A block that is damaged, or a writer that fails.
pub fn dump(view: &BlockView<'_>, first: Option<u32>, out: &mut dyn Write) -> Result<(), InspectError> {
    let text = view.text()?;
    let mut dump = Dump { view, text, first: first.unwrap_or(u32::MAX), out };
    dump.header()?;
    dump.meta()?;
    dump.symbols()?;
    dump.keys()?;
    dump.tables()?;
    dump.pools()?;
    dump.keysets()?;
    dump.series()
}

struct Dump<'v, 'w> {
    view: &'v BlockView<'v>,
    text: Text<'v>,
    first: u32,
    out: &'w mut dyn Write,
}

impl<'v> Dump<'v, '_> {
    fn header(&mut self) -> Result<(), InspectError> {
        use chronoxide_format::layout::{MAJOR, MINOR};
        let [incompat, ro_compat, compat] = self.view.features();
        writeln!(self.out, "block {}", self.view.block_id())?;
        writeln!(self.out, "format {MAJOR}.{MINOR}")?;
        writeln!(self.out, "features incompat={incompat} ro_compat={ro_compat} compat={compat}")?;
        writeln!(self.out, "file {} bytes", self.view.bytes().len())?;
        writeln!(self.out, "sections {}", self.view.sections().count())?;
        for section in self.view.sections() {
            let (id, offset, length) = (section.id, section.offset, section.length);
            match section.known() {
                Some(kind) => writeln!(self.out, "  {} {id} offset {offset} length {length}", kind.name())?,
                None => writeln!(self.out, "  optional-{} {id} offset {offset} length {length}", section.kind)?,
            }
        }
        Ok(())
    }

    fn meta(&mut self) -> Result<(), InspectError> {
        let meta = self.view.meta()?;
        let [first, second] = meta.fingerprint();
        writeln!(self.out, "meta")?;
        writeln!(self.out, "  series {}", meta.series_count())?;
        writeln!(self.out, "  labels {}", meta.label_count())?;
        writeln!(self.out, "  fingerprint {first:016x} {second:016x}")?;
        for (name, range) in [("time", meta.time()), ("window", meta.window())] {
            match range {
                Some(range) => writeln!(self.out, "  {name} {} {}", range.start, range.end)?,
                None => writeln!(self.out, "  {name} unknown")?,
            }
        }
        match meta.job() {
            Some(job) => {
                writeln!(self.out, "  job {:032x} {} {}", u128::from_be_bytes(job.id), job.output, job.output_count)?;
            }
            None => writeln!(self.out, "  job none")?,
        }
        for parent in meta.parents()? {
            writeln!(self.out, "  parent {parent}")?;
        }
        for ancestor in meta.ancestors()? {
            writeln!(self.out, "  ancestor {ancestor}")?;
        }
        for (name, pairs) in [("external", meta.external_labels()?), ("user", meta.user_pairs()?)] {
            for pair in pairs {
                let (key, value) = pair?;
                writeln!(self.out, "  {name} {} {}", Escaped(key), Escaped(value))?;
            }
        }
        let policy = meta.policy();
        writeln!(self.out, "  policy {} {}", policy.max_name_len(), policy.max_value_len())?;
        writeln!(self.out, "  planner {}", meta.planner_version())?;
        writeln!(self.out, "  rows {}", self.view.row_form().name())?;
        Ok(())
    }

    fn symbols(&mut self) -> Result<(), InspectError> {
        let count = self.view.symbols().count();
        writeln!(self.out, "symbols {count}")?;
        for id in 0..count.min(self.first) {
            writeln!(self.out, "  {id} {}", Escaped(self.symbol(SymbolId(id))?))?;
        }
        self.more("  ", count)
    }

    fn keys(&mut self) -> Result<(), InspectError> {
        let count = self.view.key_count();
        writeln!(self.out, "keys {count}")?;
        for key in 0..count.min(self.first) {
            let values = self.view.cardinality(KeyId(key))?;
            writeln!(self.out, "  {key} {} values {values}", Escaped(self.key_name(KeyId(key))?))?;
        }
        self.more("  ", count)
    }

    fn tables(&mut self) -> Result<(), InspectError> {
        let count = self.view.table_count();
        writeln!(self.out, "tables {count}")?;
        let (keys, keysets) = (self.view.key_count(), self.view.keyset_count());
        // The first of each kind, so that rows of keysets are seen too.
        for kind in [0..keys, keys..count - keysets, count - keysets..count] {
            for id in kind.clone().take(usize::try_from(self.first).unwrap_or(usize::MAX)) {
                self.table(id)?;
            }
            self.more("  ", kind.end - kind.start)?;
        }
        Ok(())
    }

    fn table(&mut self, id: u32) -> Result<(), InspectError> {
        let table = self.view.table(TableId(id))?;
        writeln!(self.out, "  table {id} {} rows {} bits {}", kind(&table), table.row_count(), table.row_bits())?;
        self.columns(&table)?;
        self.rows(&table)
    }

    fn columns(&mut self, table: &Table<'v>) -> Result<(), InspectError> {
        for number in 0..table.column_count() {
            let column = table.column(number)?;
            writeln!(
                self.out,
                "    column {number} {} base {} bits {}",
                DomainName(column.domain),
                column.base,
                column.width
            )?;
        }
        for leaf in 0..table.written_leaf_count() {
            let (column, position) = table.leaf_place(leaf)?;
            writeln!(self.out, "    leaf {leaf} column {column} position {position}")?;
        }
        Ok(())
    }

    fn rows(&mut self, table: &Table<'v>) -> Result<(), InspectError> {
        for row in 0..table.row_count().min(self.first) {
            write!(self.out, "    row {row}")?;
            for column in 0..table.column_count() {
                write!(self.out, " {}", table.code_at(row, column)?)?;
            }
            if table.is_dictionary() {
                write!(self.out, " {}", Escaped(self.symbol(SymbolId(table.code_at(row, 0)?))?))?;
            }
            writeln!(self.out)?;
        }
        self.more("    ", table.row_count())
    }

    fn pools(&mut self) -> Result<(), InspectError> {
        let count = self.view.pool_count();
        writeln!(self.out, "pools {count}")?;
        for id in 0..count.min(self.first) {
            let pool: Pool<'v> = self.view.pool(PoolId(id))?;
            let (lists, members) = (pool.list_count(), pool.member_count());
            writeln!(self.out, "  pool {id} table {} lists {lists} members {members}", pool.table_id())?;
            for number in 0..lists.min(self.first) {
                let list = pool.list(number)?;
                write!(self.out, "    list {number}")?;
                for place in 0..list.len() {
                    write!(self.out, " {}", list.get(place)?)?;
                }
                writeln!(self.out)?;
            }
            self.more("    ", lists)?;
        }
        self.more("  ", count)
    }

    fn keysets(&mut self) -> Result<(), InspectError> {
        let count = self.view.keyset_count();
        writeln!(self.out, "keysets {count}")?;
        for id in 0..count.min(self.first) {
            let keyset: Keyset<'v> = self.view.keyset(id)?;
            let first = keyset.first().0;
            let end = first + keyset.series_count();
            write!(self.out, "  keyset {id} table {} series {first} {end} keys", keyset.table().id())?;
            for key in keyset.keys()? {
                write!(self.out, " {}", Escaped(self.key_name(key?)?))?;
            }
            writeln!(self.out)?;
            for anchor in 0..keyset.anchor_count().min(self.first) {
                writeln!(self.out, "    anchor {} {}", anchor * 16, keyset.anchor(anchor)?)?;
            }
            self.more("    ", keyset.anchor_count())?;
        }
        self.more("  ", count)
    }

    fn series(&mut self) -> Result<(), InspectError> {
        let count = self.view.series_count()?;
        writeln!(self.out, "series {count}")?;
        for series in self.view.all_series().take(usize::try_from(self.first).unwrap_or(usize::MAX)) {
            let series = series?;
            write!(self.out, "  {}", series.series_ref())?;
            for label in self.text.labels(&series) {
                let (name, value) = label?;
                write!(self.out, " {}={}", Escaped(name), Escaped(value))?;
            }
            writeln!(self.out)?;
        }
        self.more("  ", count)
    }

    fn more(&mut self, indentation: &str, count: u32) -> Result<(), InspectError> {
        if count > self.first {
            writeln!(self.out, "{indentation}... {} more", count - self.first)?;
        }
        Ok(())
    }

    fn symbol(&self, id: SymbolId) -> Result<&'v str, InspectError> {
        Ok(self.text.symbol(id)?.unwrap_or_default())
    }

    fn key_name(&self, key: KeyId) -> Result<&'v str, InspectError> {
        self.symbol(self.view.key_symbol(key)?)
    }
}

fn kind(table: &Table<'_>) -> &'static str {
    if table.is_dictionary() {
        "dictionary"
    } else if table.is_keyset() {
        "keyset"
    } else if table.is_map() {
        "map"
    } else {
        "shared"
    }
}

struct DomainName(Domain);

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Domain::Arena => write!(f, "symbols"),
            Domain::Table(table) => write!(f, "table {table}"),
            Domain::Pool(pool) => write!(f, "pool {pool}"),
        }
    }
}
