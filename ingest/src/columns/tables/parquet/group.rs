//! Batches of a row group: [`RowGroup`].

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::basic::Encoding;
use parquet::column::page::{PageIterator, PageReader};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::file::ParquetFile;
use super::meter::Meter;
use super::pages::{Limits, Pages};
use crate::columns::error::ColumnsError;
use crate::columns::tables::guard::catch;

/// Maximum number of rows of a batch.
const MAX_BATCH_ROWS: usize = 2_048;

/// Length of a page that most writers do not exceed.
const USUAL_PAGE_LEN: u64 = 5 << 18;

/// Reader of the batches of a row group.
pub(crate) struct RowGroup {
    reader: ParquetRecordBatchReader,
    meter: Arc<Meter>,
    rows: u64,
    expected_rows: u64,
}

impl RowGroup {
    /// Begins to read row group `number`, from 0.
    ///
    /// # Errors
    ///
    /// The metadata of the row group is damaged.
    pub(super) fn new(file: &ParquetFile, number: usize) -> Result<Self, ColumnsError> {
        catch(|| {
            let group = file.metadata.row_group(number);
            let expected_rows = u64::try_from(group.num_rows());
            let expected_rows = expected_rows.map_err(|_| ColumnsError::Message("the number of rows is negative"))?;
            let limits = Limits { max_page_len: file.max_page_len, batch_rows: batch_rows(file, group) };
            let meter = Arc::new(Meter::new(file.max_batch_len));
            let pages = GroupPages { file: &file.file, metadata: &file.metadata, number, limits, meter: meter.clone() };
            let reader =
                ParquetRecordBatchReader::try_new_with_row_groups(&file.levels, &pages, limits.batch_rows, None);
            Ok(Self { reader: reader.map_err(parquet_error)?, meter, rows: 0, expected_rows })
        })
    }

    /// Number of rows so far.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows
    }

    /// Reads the next rows. Returns `None` at the end.
    ///
    /// # Errors
    ///
    /// The row group is damaged, or its pages take too much memory. The reader cannot be used any more.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, ColumnsError> {
        self.meter.batch_begins();
        let batch = catch(|| self.reader.next().transpose().map_err(arrow_error))?;
        match &batch {
            Some(batch) => self.rows += batch.num_rows() as u64,
            None if self.rows != self.expected_rows => {
                let (rows, expected) = (self.rows, self.expected_rows);
                return Err(ColumnsError::Data(format!("the footer claims {expected} rows, but there are {rows}")));
            }
            None => {}
        }
        Ok(batch)
    }
}

/// Chooses the number of rows of a batch, so that its pages fit into memory. This trusts the footer: if it is wrong,
/// [`Meter`] refuses the batch.
fn batch_rows(file: &ParquetFile, group: &RowGroupMetaData) -> usize {
    let rows = u64::try_from(group.num_rows()).unwrap_or_default().max(1);
    let (mut row_len, mut delta_page_len) = (0_u64, 0_u64);
    for (column, chunk) in group.columns().iter().enumerate() {
        if !file.mask.leaf_included(column) {
            continue;
        }
        let len = u64::try_from(chunk.uncompressed_size()).unwrap_or_default();
        row_len = row_len.saturating_add(len / rows);
        // The decoder may copy a whole page for each row.
        if chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY) {
            delta_page_len += len.clamp(1, USUAL_PAGE_LEN);
        }
    }
    let by_row = file.max_batch_len / 4 / row_len.max(1);
    let by_page = (file.max_batch_len / 4).checked_div(delta_page_len).unwrap_or(u64::MAX);
    usize::try_from(by_row.min(by_page)).unwrap_or(usize::MAX).clamp(1, MAX_BATCH_ROWS)
}

/// Pages of one row group.
struct GroupPages<'a> {
    file: &'a Arc<File>,
    metadata: &'a Arc<ParquetMetaData>,
    number: usize,
    limits: Limits,
    meter: Arc<Meter>,
}

impl RowGroups for GroupPages<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.row_group(self.number).num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, column: usize) -> parquet::errors::Result<Box<dyn PageIterator>> {
        let chunk = self.metadata.row_group(self.number).column(column);
        if chunk.file_path().is_some() {
            let reason = "the columns are in another file, which is not supported".to_owned();
            return Err(parquet::errors::ParquetError::General(reason));
        }
        let pages = Pages::new(self.file.clone(), chunk, self.limits, self.meter.clone());
        Ok(Box::new(OneChunk(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.number)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// Pages of one column chunk.
struct OneChunk(Option<Pages>);

impl Iterator for OneChunk {
    type Item = parquet::errors::Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneChunk {}

/// Returns the error of this module within an error of the decoder, or its text.
fn parquet_error(error: parquet::errors::ParquetError) -> ColumnsError {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<ColumnsError>() {
            Ok(own) => *own,
            Err(other) => ColumnsError::Data(other.to_string()),
        },
        other => ColumnsError::Data(other.to_string()),
    }
}

fn arrow_error(error: arrow_schema::ArrowError) -> ColumnsError {
    ColumnsError::Data(match error {
        // Errors of this module arrive as text.
        arrow_schema::ArrowError::ParquetError(reason) => match reason.strip_prefix("External: ") {
            Some(own) => own.to_owned(),
            None => reason,
        },
        other => other.to_string(),
    })
}
