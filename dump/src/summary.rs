//! Summary of a block: counts, times, and the size of each part.

use chronoxide_format::edition::Edition;
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Section, SeriesColumn, TimeRange};
use chronoxide_format::{KeyId, Result};
use chronoxide_text::human::time;
use serde::Serialize;

/// Summary of a block. Costs one look at each key, table and keyset; no series is resolved.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The block's id.
    pub block_id: String,
    /// Version of the format, as the header says.
    pub format: String,
    /// Oldest edition of the format that defines all that the block uses; none if it uses more than this crate knows.
    pub edition: Option<&'static str>,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Layout as `--layout` names it: `fixed`, `bitpacked` or `factored`.
    pub layout: &'static str,
    /// Form of the rows: `fixedwidth` or `bitpacked`.
    pub rows: &'static str,
    /// The version of the planner that chose the tables; 0 for none.
    pub planner_version: u32,
    /// The time range of the data as RFC 3339, if it is known.
    pub time: Option<Times>,
    /// The window that the block was cut for, if it was.
    pub window: Option<Times>,
    /// Series.
    pub series: u64,
    /// Labels of all series together.
    pub labels: u64,
    /// Keysets.
    pub keysets: u32,
    /// Label keys.
    pub keys: u32,
    /// Values in all dictionaries together.
    pub values: u64,
    /// Distinct strings.
    pub symbols: u32,
    /// Bytes of these strings.
    pub symbol_bytes: u64,
    /// Bytes of the section that they are packed into; none for a block that is not an archive.
    pub packed_symbol_bytes: Option<u64>,
    /// Inner tables: maps and shared tables.
    pub inner_tables: u32,
    /// List pools.
    pub list_pools: u32,
    /// Rows of metric metadata.
    pub metric_metadata: u32,
    /// Series columns.
    pub columns: Vec<ColumnSummary>,
    /// Blocks that this one was made of.
    pub parents: Vec<String>,
    /// Labels of the block as a whole.
    pub external_labels: Vec<(String, String)>,
    /// Annotations: pairs that writers attach to a block.
    pub annotations: Vec<(String, String)>,
    /// Longest name and value that are kept whole, in bytes.
    pub label_policy: (u32, u32),
    /// Size of each part in bytes; the sum is `bytes`.
    pub parts: Vec<Part>,
    /// Keys with the most values.
    pub top_keys: Vec<KeySummary>,
}

/// A half-open range of times.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Start as RFC 3339.
    pub start: String,
    /// End as RFC 3339, not itself in it.
    pub end: String,
}

/// A part of the file.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Name of the part.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes per series; none for a block without series.
    pub bytes_per_series: Option<f64>,
}

/// A series column.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnSummary {
    /// Name.
    pub name: String,
    /// Type of the values: `i64`, `u64` or `bytes`.
    #[serde(rename = "type")]
    pub value_type: &'static str,
    /// Way to combine values of series that become one.
    pub merge: &'static str,
    /// Number that all values are multiples of.
    pub unit: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes per series; none for a block without series.
    pub bytes_per_series: Option<f64>,
}

/// A key and its number of values.
#[derive(Clone, Debug, Serialize)]
pub struct KeySummary {
    /// Name.
    pub name: String,
    /// Values in its dictionary.
    pub values: u32,
}

/// Layout of blocks whose tables a planner chose.
pub const FACTORED: &str = "factored";

/// Number of keys in a summary.
const TOP_KEYS: usize = 5;

impl Summary {
    /// Looks at a block.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let meta = view.meta()?;
        let keys = keys(view)?;
        let pairs = |pairs: chronoxide_format::view::Pairs<'_>| {
            pairs.map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned()))).collect::<Result<Vec<_>>>()
        };
        let (policy, (major, minor)) = (meta.policy(), view.version());
        Ok(Self {
            block_id: view.block_id().to_string(),
            format: format!("{major}.{minor}"),
            edition: Edition::needed_by(view).map(Edition::name),
            bytes: view.bytes().len() as u64,
            layout: layout(meta.row_form(), meta.planner_version()),
            rows: meta.row_form().map_or("unknown", RowForm::name),
            planner_version: meta.planner_version(),
            time: meta.time().map(times),
            window: meta.window().map(times),
            series: meta.series_count(),
            labels: meta.label_count(),
            keysets: view.keyset_count(),
            keys: view.key_count(),
            values: keys.iter().map(|key| u64::from(key.values)).sum(),
            symbols: view.symbols().count(),
            symbol_bytes: view.symbols().arena().len() as u64,
            packed_symbol_bytes: view.packed()?.map(|packed| packed.arena_section_len()),
            inner_tables: view.table_count().saturating_sub(view.key_count()).saturating_sub(view.keyset_count()),
            list_pools: view.pool_count(),
            metric_metadata: view.metric_metadata()?.len(),
            columns: column_summaries(view)?,
            parents: meta.parents()?.map(|parent| parent.to_string()).collect(),
            external_labels: pairs(meta.external_labels()?)?,
            annotations: pairs(meta.annotations()?)?,
            label_policy: (policy.max_name_len(), policy.max_value_len()),
            parts: parts(view, meta.series_count())?,
            top_keys: keys.into_iter().take(TOP_KEYS).collect(),
        })
    }

    /// Returns the whole file's bytes per series; none for a block without series.
    #[must_use]
    pub fn bytes_per_series(&self) -> Option<f64> {
        per(self.bytes, self.series)
    }
}

/// Returns the series columns with their sizes, in the order of their names.
///
/// # Errors
/// `Corrupt` if the beginning of a column is damaged.
pub fn column_summaries(view: &BlockView<'_>) -> Result<Vec<ColumnSummary>> {
    let series = view.series_count()?.into();
    let sections = view.sections().filter(|section| section.known() == Some(SectionKind::SeriesColumn));
    let summary = |(column, section): (Result<SeriesColumn<'_>>, Section)| {
        let column = column?;
        Ok(ColumnSummary {
            name: column.name().to_owned(),
            value_type: column.value_type().name(),
            merge: column.merge().name(),
            unit: column.unit(),
            bytes: section.length,
            bytes_per_series: per(section.length, series),
        })
    };
    view.series_columns().zip(sections).map(summary).collect()
}

/// Returns the name of a layout. A planner chose the tables of a factored block, even if it found none to share.
fn layout(form: Option<RowForm>, planner_version: u32) -> &'static str {
    match form {
        _ if planner_version > 0 => FACTORED,
        Some(RowForm::FixedWidth) => "fixed",
        Some(RowForm::BitPacked) => "bitpacked",
        None => "unknown",
    }
}

/// Bytes per series; none for a block without series.
#[must_use]
pub fn per(bytes: u64, series: u64) -> Option<f64> {
    (series > 0).then(|| bytes as f64 / series as f64)
}

/// Keys by falling number of values.
fn keys(view: &BlockView<'_>) -> Result<Vec<KeySummary>> {
    let mut keys = (0..view.key_count())
        .map(KeyId)
        .map(|key| {
            let name = String::from_utf8_lossy(view.key_name(key)?).into_owned();
            Ok(KeySummary { name, values: view.cardinality(key)?.unwrap_or_default() })
        })
        .collect::<Result<Vec<_>>>()?;
    keys.sort_by(|a, b| b.values.cmp(&a.values).then_with(|| a.name.cmp(&b.name)));
    Ok(keys)
}

/// Returns the sizes of the sections, with the rows by kind of table, and of the parts before them.
fn parts(view: &BlockView<'_>, series: u64) -> Result<Vec<Part>> {
    let mut rows = [("rows: dictionaries", 0), ("rows: inner tables", 0), ("rows: keyset tables", 0)];
    let inner_end = view.table_count().saturating_sub(view.keyset_count());
    for table in view.tables() {
        let table = table?;
        let kind = if table.is_dictionary() { 0 } else { 1 + usize::from(table.id().0 >= inner_end) };
        rows[kind].1 += table.len();
    }
    let mut parts =
        vec![("header and directory".to_owned(), view.sections().next().map_or(0, |section| section.offset))];
    for section in view.sections() {
        match section.known() {
            Some(SectionKind::Rows) => {
                let tail = section.length.saturating_sub(rows.iter().map(|(_, bytes)| bytes).sum());
                parts.extend(rows.map(|(name, bytes)| (name.to_owned(), bytes)));
                parts.push(("rows: padding".to_owned(), tail));
            }
            Some(kind) => parts.push((kind.name().to_owned(), section.length)),
            None => parts.push((format!("optional section {}", section.kind), section.length)),
        }
    }
    parts.push(("checks".to_owned(), view.checks_len()));
    let part = |(name, bytes)| Part { name, bytes, bytes_per_series: per(bytes, series) };
    Ok(parts.into_iter().filter(|&(_, bytes)| bytes > 0).map(part).collect())
}

/// Returns a range of times as text.
#[must_use]
pub fn times(range: TimeRange) -> Times {
    Times { start: time(range.start), end: time(range.end) }
}
