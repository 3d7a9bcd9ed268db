//! [`Scan`]: choice of columns and series.

use arrow_schema::SchemaRef;
use chronoxide_format::view::TimeRange;
use chronoxide_select::{Limits, Pages, Searcher, Selection};

use crate::column::schema;
use crate::{Batches, BlockTable, Column, Strings, TableError};

/// Series of a scan.
#[derive(Clone, Debug)]
pub(crate) enum ScannedSeries {
    All,
    Selected(Selection),
    /// Series that are found while batches are read, and have data in a time range if there is one.
    Pages(Box<Pages>, Option<TimeRange>),
}

/// Description of the batches of a table: columns, series, order and size.
#[derive(Clone, Debug)]
#[must_use]
pub struct Scan {
    pub(crate) table: BlockTable,
    /// `None` for all.
    columns: Option<Vec<Column>>,
    pub(crate) strings: Strings,
    pub(crate) series: ScannedSeries,
    pub(crate) batch_size: usize,
    pub(crate) limit: u64,
    pub(crate) in_label_order: bool,
}

impl Scan {
    /// Series per batch, unless set.
    pub const DEFAULT_BATCH_SIZE: usize = 8192;

    pub(crate) fn new(table: BlockTable) -> Self {
        Self {
            table,
            columns: None,
            strings: Strings::default(),
            series: ScannedSeries::All,
            batch_size: Self::DEFAULT_BATCH_SIZE,
            limit: u64::MAX,
            in_label_order: false,
        }
    }

    /// Sets the columns. Only these are read. A label that the block does not have is a column of nulls.
    pub fn with_columns(self, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: Some(columns.into_iter().collect()), ..self }
    }

    /// Sets the type of columns of labels.
    pub fn with_strings(self, strings: Strings) -> Self {
        Self { strings, ..self }
    }

    /// Keeps selected series only. The selection must be of the table's block; refs that are out of range are skipped.
    pub fn with_selection(self, selection: Selection) -> Self {
        let selection = selection.intersection(&self.table.all());
        Self { series: ScannedSeries::Selected(selection), ..self }
    }

    /// Keeps the series of pages of the table's block, which are found while batches are read: the refs of all of them
    /// are never in memory, unless series are sorted. With a time range, only those that [have
    /// data](Searcher::within) in it.
    pub fn with_pages(self, pages: Pages, time: Option<TimeRange>) -> Self {
        Self { series: ScannedSeries::Pages(Box::new(pages), time), ..self }
    }

    /// Sets the number of series of a batch; the last one may have fewer. At least 1.
    pub fn with_batch_size(self, batch_size: usize) -> Self {
        Self { batch_size: batch_size.max(1), ..self }
    }

    /// Stops after this many series.
    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Sorts series by their labels: by the first name, then its value, then the second name, and so on, by bytes; a
    /// labelset comes before those that begin with it. Sorting is done before the first batch and takes 20 bytes of
    /// memory and some 300 ns per series.
    pub fn in_label_order(self) -> Self {
        Self { in_label_order: true, ..self }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &BlockTable {
        &self.table
    }

    /// Returns all series of the scan.
    pub(crate) fn selection(&self) -> Result<Selection, TableError> {
        match &self.series {
            ScannedSeries::All => Ok(self.table.all()),
            ScannedSeries::Selected(selection) => Ok(selection.clone()),
            ScannedSeries::Pages(pages, time) => {
                let take = |searcher: &Searcher<'_, '_>| pages.as_ref().clone().take(&timed(searcher, *time), u32::MAX);
                Ok(self.table.indexed().search(Limits::default(), take)?)
            }
        }
    }

    /// Returns the columns.
    ///
    /// # Errors
    /// As [`BlockTable::columns`], unless columns were set.
    pub fn columns(&self) -> Result<Vec<Column>, TableError> {
        self.columns.clone().map_or_else(|| self.table.columns(), Ok)
    }

    /// Returns the schema of the batches.
    ///
    /// # Errors
    /// [`TableError::DuplicateColumn`] if two columns have the same name, and errors of [`BlockTable::columns`].
    pub fn schema(&self) -> Result<SchemaRef, TableError> {
        schema(&self.columns()?, self.strings)
    }

    /// Starts reading.
    ///
    /// # Errors
    /// As [`Scan::schema`], and for damage that sorting finds.
    pub fn batches(&self) -> Result<Batches, TableError> {
        Batches::new(self)
    }
}

/// Returns a searcher of a time range, if there is one.
pub(crate) fn timed<'a, 'data>(searcher: &Searcher<'a, 'data>, time: Option<TimeRange>) -> Searcher<'a, 'data> {
    match time {
        Some(time) => searcher.within(time),
        None => *searcher,
    }
}
