//! [`BatchOptions`] and [`Query::batches`]: series as Arrow record batches.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use chronoxide_arrow::{BlockTable, ChainedBatches, Column, Guarded, Scan, Strings, TableError, ValuesBuilder, schema};
use chronoxide_select::Selection as Refs;

use crate::{Blocks, Error, ErrorKind, Query, Selection};

/// Columns, order and size of record batches.
#[derive(Clone, Debug)]
#[must_use]
pub struct BatchOptions {
    labels: Option<Vec<String>>,
    values: Vec<String>,
    has_block_ids: bool,
    is_map: bool,
    strings: Strings,
    is_sorted: bool,
    batch_size: usize,
    limit: u64,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            labels: None,
            values: Vec::new(),
            has_block_ids: false,
            is_map: false,
            strings: Strings::Dictionary,
            is_sorted: false,
            batch_size: Self::DEFAULT_BATCH_SIZE,
            limit: u64::MAX,
        }
    }
}

impl BatchOptions {
    /// Series per batch, unless set.
    pub const DEFAULT_BATCH_SIZE: usize = Scan::DEFAULT_BATCH_SIZE;

    /// Name of the column of fingerprints: see [`BatchOptions::values`].
    pub const FINGERPRINT: &str = chronoxide_arrow::FINGERPRINT;

    /// Returns the default: a column `series_ref`, and one per label of the blocks, in the order of refs.
    ///
    /// | column | Arrow type | content |
    /// |---|---|---|
    /// | `block` | `Utf8View` | id of the block as text, which parses as [`BlockId`](crate::BlockId) |
    /// | `series_ref` | `UInt64` | position of the series in its block: with `block`, its [`SeriesId`](crate::SeriesId) |
    /// | one per label | `Dictionary(UInt32, Utf8View)`, or `Utf8View` | value, null if the series does not have it |
    /// | `labels`, instead of these | `Map(Utf8View, Utf8View)` | all labels, sorted by name |
    /// | one per [series column](BatchOptions::values) | see there | value, null if the series has none |
    ///
    /// If a label or a series column is named like `block`, `series_ref` or `labels`, these get a leading underscore.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads some labels only. One that no block has is a column of nulls.
    pub fn labels<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { labels: Some(names.into_iter().map(N::into).collect()), ..self }
    }

    /// Adds series columns, behind the labels. A block that lacks one gives nulls.
    ///
    /// | values | Arrow type |
    /// |---|---|
    /// | [`I64`](crate::ValueType::I64) | `Int64` |
    /// | `chronoxide.first_time`, `chronoxide.last_time` | `Timestamp(Nanosecond, "UTC")` |
    /// | [`U64`](crate::ValueType::U64) | `UInt64` |
    /// | [`Bytes`](crate::ValueType::Bytes) | `BinaryView`, with copied bytes |
    ///
    /// The name [`BatchOptions::FINGERPRINT`] adds a column that no block stores: the
    /// [fingerprint](crate::Series::fingerprint) of each series, as `FixedSizeBinary(16)`. It joins the series of
    /// several files, costs a few nanoseconds per series, and takes 16 bytes of memory for each until the last batch.
    ///
    /// ```
    /// use chronoxide::{BatchOptions, BlockWriter, Blocks, ColumnMerge, ValueType};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("week.cx");
    /// let mut writer = BlockWriter::new();
    /// let first_time = writer.add_column("chronoxide.first_time", ValueType::I64, ColumnMerge::Min)?;
    /// let series = writer.insert([("__name__", "up"), ("job", "api")])?;
    /// writer.set(first_time, series, 1_700_000_000_000_000_000_i64)?;
    /// writer.finish(&path)?;
    ///
    /// let blocks = Blocks::open(&path)?;
    /// let options = BatchOptions::new().labels(["job"]).values(["chronoxide.first_time", BatchOptions::FINGERPRINT]);
    /// for batch in blocks.query("up")?.batches(&options)? {
    ///     assert_eq!(batch?.num_columns(), 4); // series_ref, job and these
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { values: names.into_iter().map(N::into).collect(), ..self }
    }

    /// Adds the column `block`: refs of several blocks are numbers that repeat.
    pub fn block_ids(self, has_block_ids: bool) -> Self {
        Self { has_block_ids, ..self }
    }

    /// Reads all labels into one column `labels` of maps, instead of a column per label.
    pub fn as_map(self, is_map: bool) -> Self {
        Self { is_map, ..self }
    }

    /// Gives labels as `Utf8View` instead of `Dictionary(UInt32, Utf8View)`, for consumers without dictionaries.
    pub fn without_dictionaries(self, is_without: bool) -> Self {
        Self { strings: if is_without { Strings::View } else { Strings::Dictionary }, ..self }
    }

    /// Sorts the series of each block by their labels instead of their refs.
    pub fn sorted(self, is_sorted: bool) -> Self {
        Self { is_sorted, ..self }
    }

    /// Sets the number of series of a batch; 8,192 unless set, and at least 1.
    pub fn batch_size(self, batch_size: usize) -> Self {
        Self { batch_size, ..self }
    }

    /// Ends after `limit` series.
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }
}

/// Record batches of selected series, of version 59 of Arrow. Their schema is given by the trait
/// [`RecordBatchReader`]. Strings are those of the blocks, without copies, and keep them open. Panics,
/// which would be bugs, are errors: batches may be handed to code in other languages.
#[derive(Debug)]
pub struct Batches(Guarded<ChainedBatches>);

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

impl Query<'_> {
    /// Returns the selected series as record batches of Arrow, block by block: one that several blocks have comes once
    /// per block. Each label is a column; see [`BatchOptions`].
    ///
    /// ```
    /// use chronoxide::{BatchOptions, Blocks};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// let blocks = Blocks::open(path)?;
    /// let pods = BatchOptions::new().labels(["pod"]);
    /// for batch in blocks.query(r#"up{pod!=""}"#)?.batches(&pods)? {
    ///     println!("{} series, {}", batch?.num_rows(), "columns series_ref and pod");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::series`], and of kind `Usage` if two columns have one name, no block has a series column, or blocks
    /// have one with different types or ways to merge. Damage that is met later is an error of the iterator, which ends
    /// it.
    pub fn batches(&self, options: &BatchOptions) -> Result<Batches, Error> {
        let selection = self.select()?;
        let mut tables = Vec::with_capacity(self.blocks.len());
        for (position, refs) in selection.refs.iter().enumerate() {
            // Names of labels and types of values are those of all blocks.
            let read = |table: BlockTable| {
                table.label_names()?;
                let mut names = options.values.iter();
                names.try_for_each(|name| self.blocks.series_column(position, name).map(drop))?;
                Ok(table)
            };
            match self.blocks.table(position).and_then(read) {
                Ok(table) => tables.push((position, table, refs)),
                Err(error) => self.leave_out(error)?,
            }
        }
        batches(self.blocks, &tables, options)
    }
}

impl Selection {
    /// Returns the series as record batches of Arrow, as [`Query::batches`].
    ///
    /// # Errors
    /// As [`Query::batches`].
    pub fn batches(&self, options: &BatchOptions) -> Result<Batches, Error> {
        let tables = self.blocks.tables()?.into_iter().zip(&self.refs).enumerate();
        let tables: Vec<_> = tables.map(|(position, (table, refs))| (position, table, refs)).collect();
        batches(&self.blocks, &tables, options)
    }
}

impl crate::Column<'_> {
    /// Returns the values of a selection as an array of Arrow, in the order of the selection's ids, of the types that
    /// [`BatchOptions::values`] lists. Takes 8 bytes per number; bytes are copied.
    ///
    /// # Errors
    /// As [`Column::read_selection`](crate::Column::read_selection).
    pub fn to_array(&self, selection: &Selection) -> Result<ArrayRef, Error> {
        let info = self.info();
        let mut values = ValuesBuilder::new(info.name, info.value_type, 0);
        self.read_selection(selection, |_, value| {
            values.push(value);
            Ok::<(), Error>(())
        })?;
        Ok(values.finish())
    }
}

/// Starts to read series of tables, which come with the positions of their blocks.
fn batches(blocks: &Blocks, tables: &[(usize, BlockTable, &Refs)], options: &BatchOptions) -> Result<Batches, Error> {
    let columns = options.columns(blocks, tables)?;
    let schema = schema(&columns, options.strings)?;
    let scans = tables.iter().filter(|(_, _, refs)| !refs.is_empty()).map(|(_, table, refs)| {
        let scan = table.scan().with_selection(Refs::clone(refs)).with_columns(columns.iter().cloned());
        let scan = scan.with_strings(options.strings).with_batch_size(options.batch_size);
        if options.is_sorted { scan.in_label_order() } else { scan }
    });
    Ok(Batches(Guarded::new(ChainedBatches::new(schema, scans, options.limit))))
}

/// Returns the column of the values of a series column.
fn values(blocks: &Blocks, tables: &[(usize, BlockTable, &Refs)], name: &str) -> Result<Column, Error> {
    if name == BatchOptions::FINGERPRINT {
        return Ok(Column::fingerprint());
    }
    let mut found = Vec::new();
    for &(position, ..) in tables {
        found.extend(blocks.series_column(position, name)?.map(|column| (position, column)));
    }
    match blocks.agreed(found.iter().map(|(position, column)| (*position, column)))? {
        Some(facts) => Ok(Column::values(name, facts.value_type)),
        None => Err(Error::new(ErrorKind::Usage, format!("no block has a series column {name:?}"))),
    }
}

impl BatchOptions {
    fn columns(&self, blocks: &Blocks, tables: &[(usize, BlockTable, &Refs)]) -> Result<Vec<Column>, Error> {
        let own = self.has_block_ids.then(Column::block_id).into_iter().chain([Column::series_ref()]);
        let own = own.chain(self.is_map.then(Column::labels));
        let labels = match &self.labels {
            _ if self.is_map => Vec::new(),
            Some(names) => names.clone(),
            None => {
                let mut names = BTreeSet::new();
                for (_, table, _) in tables {
                    names.extend(table.label_names()?);
                }
                names.into_iter().collect()
            }
        };
        if let Some(name) = self.values.iter().find(|name| labels.contains(name)) {
            let text = format!("{name:?} is a label and a series column: name the labels to read, without this one");
            return Err(Error::new(ErrorKind::Usage, text));
        }
        let values: Vec<Column> =
            self.values.iter().map(|name| self::values(blocks, tables, name)).collect::<Result<_, _>>()?;
        let own = own.map(|column| column.beside(labels.iter().chain(&self.values).map(String::as_str)));
        let columns: Vec<Column> = own.chain(labels.iter().map(Column::label)).chain(values).collect();
        Ok(columns.into_iter().map(Column::without_nul).collect())
    }
}

/// Tables of Arrow of blocks, made when they are first needed.
pub(crate) type Tables = [OnceLock<BlockTable>];

impl Blocks {
    /// Returns the blocks as tables of the crate `chronoxide-arrow`, for engines that read columns of codes. The first
    /// call makes the indexes of the blocks.
    ///
    /// # Errors
    /// An error of kind `Corrupt` for a damaged block.
    pub fn tables(&self) -> Result<Vec<BlockTable>, Error> {
        (0..self.len()).map(|position| self.table(position)).collect()
    }

    /// Returns the table of the block at a position.
    fn table(&self, position: usize) -> Result<BlockTable, Error> {
        let (Some(block), Some(slot)) = (self.set.blocks().get(position), self.tables.get(position)) else {
            return Err(Error::new(ErrorKind::Usage, format!("block {position} of {}", self.len())));
        };
        if let Some(table) = slot.get() {
            return Ok(table.clone());
        }
        // Two threads may both make it, which is harmless.
        let made = BlockTable::new(block.open().clone())?;
        Ok(slot.get_or_init(|| made).clone())
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Select(error) => error.into(),
            TableError::DuplicateColumn { .. } | TableError::ColumnType { .. } => Self::new(ErrorKind::Usage, error),
            other => Self::new(ErrorKind::Unsupported, other),
        }
    }
}
