//! [`BatchOptions`] and [`Query::batches`]: series as Arrow record batches.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use chronoxide_arrow::{BlockTable, ChainedBatches, Column, Guarded, Scan, Strings, TableError, schema};
use chronoxide_select::Selection as Refs;

use crate::{Blocks, Error, ErrorKind, Query, Selection};

/// Columns, order and size of record batches.
#[derive(Clone, Debug)]
#[must_use]
pub struct BatchOptions {
    labels: Option<Vec<String>>,
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

    /// Returns the default: a column `series_ref`, and one per label of the blocks, in the order of refs.
    ///
    /// | column | Arrow type | content |
    /// |---|---|---|
    /// | `block` | `Utf8View` | id of the block as text, which parses as [`BlockId`](crate::BlockId) |
    /// | `series_ref` | `UInt64` | position of the series in its block: with `block`, its [`SeriesId`](crate::SeriesId) |
    /// | one per label | `Dictionary(UInt32, Utf8View)`, or `Utf8View` | value, null if the series does not have it |
    /// | `labels`, instead of these | `Map(Utf8View, Utf8View)` | all labels, sorted by name |
    ///
    /// If a label is named like another column, the other gets a leading underscore.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads some labels only. One that no block has is a column of nulls.
    pub fn labels<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { labels: Some(names.into_iter().map(N::into).collect()), ..self }
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
    /// As [`Query::series`], and of kind `Usage` if two columns have one name. Damage that is met later is an error of
    /// the iterator, which ends it.
    pub fn batches(&self, options: &BatchOptions) -> Result<Batches, Error> {
        let selection = self.select()?;
        let mut tables = Vec::with_capacity(self.blocks.len());
        for (position, refs) in selection.refs.iter().enumerate() {
            // Names of labels are those of all blocks.
            match self.blocks.table(position).and_then(|table| Ok((table.label_names()?, table))) {
                Ok((_, table)) => tables.push((table, refs)),
                Err(error) => self.leave_out(error)?,
            }
        }
        batches(&tables, options)
    }
}

impl Selection {
    /// Returns the series as record batches of Arrow, as [`Query::batches`].
    ///
    /// # Errors
    /// As [`Query::batches`].
    pub fn batches(&self, options: &BatchOptions) -> Result<Batches, Error> {
        let tables = self.blocks.tables()?;
        batches(&tables.into_iter().zip(&self.refs).collect::<Vec<_>>(), options)
    }
}

/// Starts to read series of tables.
fn batches(tables: &[(BlockTable, &Refs)], options: &BatchOptions) -> Result<Batches, Error> {
    let columns = options.columns(tables.iter().map(|(table, _)| table))?;
    let schema = schema(&columns, options.strings)?;
    let scans = tables.iter().filter(|(_, refs)| !refs.is_empty()).map(|(table, refs)| {
        let scan = table.scan().with_selection(Refs::clone(refs)).with_columns(columns.iter().cloned());
        let scan = scan.with_strings(options.strings).with_batch_size(options.batch_size);
        if options.is_sorted { scan.in_label_order() } else { scan }
    });
    Ok(Batches(Guarded::new(ChainedBatches::new(schema, scans, options.limit))))
}

impl BatchOptions {
    fn columns<'t>(&self, tables: impl Iterator<Item = &'t BlockTable>) -> Result<Vec<Column>, Error> {
        let own = self.has_block_ids.then(Column::block_id).into_iter().chain([Column::series_ref()]);
        let own = own.chain(self.is_map.then(Column::labels));
        let labels = match &self.labels {
            _ if self.is_map => Vec::new(),
            Some(names) => names.clone(),
            None => {
                let mut names = BTreeSet::new();
                for table in tables {
                    names.extend(table.label_names()?);
                }
                names.into_iter().collect()
            }
        };
        Ok(Column::with_labels(own, labels).into_iter().map(Column::without_nul).collect())
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
            TableError::DuplicateColumn { .. } => Self::new(ErrorKind::Usage, error),
            other => Self::new(ErrorKind::Unsupported, other),
        }
    }
}
