//! The entries of a dump: as lines of text, which the spec defines (section 13), and as JSON objects.

use std::fmt;

use chronoxide_format::column::Value;
use chronoxide_format::view::{Domain, TimeRange};
use chronoxide_text::escape::DumpText;
use serde::Serialize;

use crate::metrics::MetricEntry;

/// An entry of a dump. `Display` gives its lines without the last line feed, `Serialize` an object with the entry's
/// `type`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the spec's")]
pub enum Entry<'v> {
    /// The file as a whole.
    Block { block_id: String, major: u16, minor: u16, incompat: u32, ro_compat: u32, compat: u32, bytes: usize },
    /// Number of entries that follow.
    Count { of: &'static str, count: u64 },
    /// A section.
    Section { name: String, id: u32, offset: u64, length: u64 },
    /// Length of a packed arena, and of its section.
    PackedArena { arena: u64, packed: u64 },
    /// Checksums of the chunks, at the end of the file.
    Checks { chunks: u64, offset: u64 },
    /// Metadata of the block.
    Meta(Box<MetaEntry<'v>>),
    /// A symbol.
    Symbol { id: u32, symbol: &'v str },
    /// A key and the number of its values.
    Key { key: u32, name: &'v str, values: u32 },
    /// A table, before its columns and rows.
    Table { table: u32, kind: &'static str, rows: u32, bits: u32 },
    /// A column of the table before it.
    Column { column: u32, domain: DomainEntry, base: u32, bits: u32 },
    /// A leaf of the table before it that is written out.
    Leaf { leaf: u32, column: u32, position: u32 },
    /// A row of the table before it; of a dictionary with its symbol.
    Row { row: u32, codes: Vec<u32>, symbol: Option<&'v str> },
    /// A list pool, before its lists.
    Pool { pool: u32, table: u32, lists: u32, members: u32, low_width: u32 },
    /// A list of the pool before it.
    List { list: u32, members: Vec<u32> },
    /// A keyset, before its anchors.
    Keyset { keyset: u32, table: u32, first: u32, end: u32, keys: Vec<&'v str> },
    /// An anchor of the keyset before it.
    Anchor { row: u32, series: u32 },
    /// A series.
    Series { series: u32, labels: Vec<(&'v str, &'v str)> },
    /// A row of metric metadata.
    Metric {
        row: u32,
        #[serde(flatten)]
        metadata: MetricEntry<'v>,
    },
    /// A series column, before its values.
    SeriesColumn { column: u32, name: &'v str, value_type: &'static str, merge: &'static str, unit: u64 },
    /// A value of the series column before it, if the series has one.
    Value { series: u32, value: Option<ValueEntry<'v>> },
    /// Entries that were left out here.
    More {
        count: u32,
        #[serde(skip)]
        indentation: &'static str,
    },
}

/// A value of a series column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueEntry<'v>(pub Value<'v>);

impl Serialize for ValueEntry<'_> {
    /// Writes a number, or bytes as a text of hexadecimal digits.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::I64(number) => serializer.serialize_i64(number),
            Value::U64(number) => serializer.serialize_u64(number),
            Value::Bytes(_) => serializer.collect_str(&self.0),
        }
    }
}

/// Metadata of the block.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the spec's")]
pub struct MetaEntry<'v> {
    pub series: u64,
    pub labels: u64,
    /// Two numbers of 16 hexadecimal digits.
    pub fingerprint: [String; 2],
    pub time: Option<[i64; 2]>,
    pub window: Option<[i64; 2]>,
    pub job: Option<JobEntry>,
    pub parents: Vec<String>,
    pub ancestors: Vec<String>,
    pub external_labels: Vec<(&'v str, &'v str)>,
    pub annotations: Vec<(&'v str, &'v str)>,
    pub max_name_len: u32,
    pub max_value_len: u32,
    pub planner_version: u32,
    pub rows: String,
}

/// The job that wrote the block.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the spec's")]
pub struct JobEntry {
    pub id: String,
    pub output: u32,
    pub output_count: u32,
}

/// Meaning of a column's codes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the spec's")]
pub enum DomainEntry {
    Symbols,
    Table(u32),
    Pool(u32),
}

impl From<Domain> for DomainEntry {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Arena => Self::Symbols,
            Domain::Table(table) => Self::Table(table.0),
            Domain::Pool(pool) => Self::Pool(pool.0),
        }
    }
}

/// Start and end of a range.
pub(super) fn ends(range: Option<TimeRange>) -> Option<[i64; 2]> {
    range.map(|range| [range.start, range.end])
}

impl fmt::Display for DomainEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbols => write!(f, "symbols"),
            Self::Table(table) => write!(f, "table {table}"),
            Self::Pool(pool) => write!(f, "pool {pool}"),
        }
    }
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { block_id, major, minor, incompat, ro_compat, compat, bytes } => {
                writeln!(f, "block {block_id}\nformat {major}.{minor}")?;
                write!(f, "features incompat={incompat} ro_compat={ro_compat} compat={compat}\nfile {bytes} bytes")
            }
            Self::Count { of, count } => write!(f, "{of} {count}"),
            Self::Section { name, id, offset, length } => write!(f, "  {name} {id} offset {offset} length {length}"),
            Self::PackedArena { arena, packed } => write!(f, "arena {arena} bytes packed into {packed}"),
            Self::Checks { chunks, offset } => write!(f, "checks {chunks} offset {offset}"),
            Self::Meta(meta) => meta.fmt(f),
            Self::Symbol { id, symbol } => write!(f, "  {id} {}", DumpText(symbol)),
            Self::Key { key, name, values } => write!(f, "  {key} {} values {values}", DumpText(name)),
            Self::Table { table, kind, rows, bits } => write!(f, "  table {table} {kind} rows {rows} bits {bits}"),
            Self::Column { column, domain, base, bits } => {
                write!(f, "    column {column} {domain} base {base} bits {bits}")
            }
            Self::Leaf { leaf, column, position } => write!(f, "    leaf {leaf} column {column} position {position}"),
            Self::Row { row, codes, symbol } => {
                write!(f, "    row {row}")?;
                numbers(f, codes)?;
                symbol.map_or(Ok(()), |symbol| write!(f, " {}", DumpText(symbol)))
            }
            Self::Pool { pool, table, lists, members, low_width } => {
                write!(f, "  pool {pool} table {table} lists {lists} members {members} low {low_width}")
            }
            Self::List { list, members } => {
                write!(f, "    list {list}")?;
                numbers(f, members)
            }
            Self::Keyset { keyset, table, first, end, keys } => {
                write!(f, "  keyset {keyset} table {table} series {first} {end} keys")?;
                keys.iter().try_for_each(|key| write!(f, " {}", DumpText(key)))
            }
            Self::Anchor { row, series } => write!(f, "    anchor {row} {series}"),
            Self::Series { series, labels } => {
                write!(f, "  {series}")?;
                labels.iter().try_for_each(|(name, value)| write!(f, " {}={}", DumpText(name), DumpText(value)))
            }
            Self::Metric { row, metadata } => {
                let MetricEntry { name, metric_type, temporality, unit, description, .. } = metadata;
                write!(f, "  {row} {} {metric_type} {temporality} {}", DumpText(name), metadata.monotonicity)?;
                write!(f, " {} {}", DumpText(unit), DumpText(description))
            }
            Self::SeriesColumn { column, name, value_type, merge, unit } => {
                write!(f, "  column {column} {} {value_type} {merge} unit {unit}", DumpText(name))
            }
            Self::Value { series, value: Some(ValueEntry(value)) } => write!(f, "    {series} {value}"),
            Self::Value { series, value: None } => write!(f, "    {series} -"),
            Self::More { count, indentation } => write!(f, "{indentation}... {count} more"),
        }
    }
}

fn numbers(f: &mut fmt::Formatter<'_>, numbers: &[u32]) -> fmt::Result {
    numbers.iter().try_for_each(|number| write!(f, " {number}"))
}

impl fmt::Display for MetaEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = &self.fingerprint;
        writeln!(f, "meta\n  series {}\n  labels {}\n  fingerprint {first} {second}", self.series, self.labels)?;
        for (name, range) in [("time", self.time), ("window", self.window)] {
            match range {
                Some([start, end]) => writeln!(f, "  {name} {start} {end}")?,
                None => writeln!(f, "  {name} unknown")?,
            }
        }
        match &self.job {
            Some(job) => writeln!(f, "  job {} {} {}", job.id, job.output, job.output_count)?,
            None => writeln!(f, "  job none")?,
        }
        self.parents.iter().try_for_each(|parent| writeln!(f, "  parent {parent}"))?;
        self.ancestors.iter().try_for_each(|ancestor| writeln!(f, "  ancestor {ancestor}"))?;
        for (name, pairs) in [("external", &self.external_labels), ("annotation", &self.annotations)] {
            pairs.iter().try_for_each(|(key, value)| writeln!(f, "  {name} {} {}", DumpText(key), DumpText(value)))?;
        }
        writeln!(f, "  policy {} {}", self.max_name_len, self.max_value_len)?;
        write!(f, "  planner {}\n  rows {}", self.planner_version, self.rows)
    }
}
