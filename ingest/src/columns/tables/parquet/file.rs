//! A Parquet file: [`ParquetFile`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use super::block_times::block_times;
use super::footer::check_footer;
use super::group::RowGroup;
use super::unmarked::unmarked;
use crate::columns::error::{ColumnsError, ParquetError, RowsError, SkippedRows};
use crate::columns::prefix::PARQUET_MAGIC as MAGIC;
use crate::columns::tables::guard::catch;
use crate::columns::tables::rows::Rows;
use crate::columns::tables::schema::LabelColumns;
use crate::columns::tables::texts::as_bytes;
use crate::series::SeriesSink;

/// Bytes of the length of the footer and the magic after it.
const END_LEN: usize = 8;

/// Last bytes of a file whose footer is encrypted.
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";

/// Memory of a batch, in pages of the maximum length. This is what records of other formats take.
const PAGES_PER_BATCH: u64 = 6;

/// A Parquet file whose columns are labels.
pub(crate) struct ParquetFile {
    pub(super) file: Arc<File>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) mask: ProjectionMask,
    pub(super) levels: FieldLevels,
    pub(super) max_page_len: usize,
    pub(super) max_batch_len: u64,
    rows: Rows,
    times: Option<(i64, i64)>,
    len: u64,
}

impl ParquetFile {
    /// Reads the footer of a file. The pages of a batch may take six times `max_page_len` bytes. With `skips_rows`, a
    /// bad value costs its row and is not an error. Without `keeps_values`, series columns are ignored.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is damaged, truncated or encrypted, or its columns are not labels.
    pub(crate) fn open(
        file: File,
        max_page_len: usize,
        skips_rows: bool,
        keeps_values: bool,
    ) -> Result<Self, ParquetError> {
        let (footer, len) = read_footer(&file, max_page_len)?;
        let max_batch_len = max_page_len as u64 * PAGES_PER_BATCH;
        check_footer(&footer, max_batch_len).map_err(ParquetError::Footer)?;
        let (metadata, schema) = catch(|| {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(data)?;
            // Without the schema that Arrow writers embed: it only adds types that are all read as views of the pages.
            let schema = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None).map_err(data)?;
            Ok((metadata, schema))
        })
        .map_err(ParquetError::Footer)?;
        drop(footer);
        let times = block_times(metadata.file_metadata());
        let columns = LabelColumns::from_schema(&with_metadata(&schema, &metadata), times.is_some(), keeps_values)?;
        let (mask, levels) = catch(|| {
            let descriptor = unmarked(metadata.file_metadata().schema_descr()).map_err(data)?;
            let mask = ProjectionMask::roots(&descriptor, columns.projection.iter().copied());
            let views = views(&schema);
            let levels = parquet_to_arrow_field_levels(&descriptor, mask.clone(), Some(&views)).map_err(data)?;
            Ok((mask, levels))
        })
        .map_err(ParquetError::Footer)?;
        let (file, metadata, mut rows) = (Arc::new(file), Arc::new(metadata), Rows::new(columns, skips_rows));
        rows.set_times(times);
        Ok(Self { file, metadata, mask, levels, max_page_len, max_batch_len, rows, times, len })
    }

    /// Length of the file in bytes.
    pub(crate) fn byte_len(&self) -> u64 {
        self.len
    }

    /// Returns the ignored columns, with their types.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.rows.columns().ignored
    }

    /// Returns true if the footer states the times of all series.
    pub(crate) fn has_times(&self) -> bool {
        self.times.is_some()
    }

    /// Returns true if the file lists row groups of other files only, as `_metadata` of a folder of Spark or Dask does.
    pub(crate) fn is_summary(&self) -> bool {
        let mut chunks = self.metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).peekable();
        chunks.peek().is_some() && chunks.all(|chunk| chunk.file_path().is_some())
    }

    /// Returns the rows that were skipped since the last call.
    pub(crate) fn take_skipped(&mut self) -> SkippedRows {
        self.rows.take_skipped()
    }

    /// Returns the number of row groups.
    pub(crate) fn group_count(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// Returns the number of bytes of row group `number`, from 0.
    pub(crate) fn group_len(&self, number: usize) -> u64 {
        let columns = self.metadata.row_group(number).columns().iter();
        columns.map(|chunk| u64::try_from(chunk.compressed_size()).unwrap_or_default()).fold(0, u64::saturating_add)
    }

    /// Begins to read row group `number`, from 0.
    pub(crate) fn group(&self, number: usize) -> Result<RowGroup, ColumnsError> {
        RowGroup::new(self, number)
    }

    /// Reads the next batch of a row group, and gives its rows to the sink. Returns false at the end.
    ///
    /// # Errors
    ///
    /// The row group is damaged, or the sink refuses a part. Rows before the error were given.
    pub(crate) fn give_batch<S: SeriesSink>(
        &mut self,
        group: &mut RowGroup,
        sink: &mut S,
    ) -> Result<bool, RowsError<S::Error>> {
        let before = group.row_count();
        let Some(batch) = group.next_batch()? else { return Ok(false) };
        match self.rows.give(&batch, sink) {
            Err(RowsError::Columns(error)) => Err(error.after_rows(before).into()),
            given => given.map(|()| true),
        }
    }
}

/// Adds the metadata of fields from the schema that Arrow writers embed, if it is sound. Nothing else of it is used.
fn with_metadata(schema: &Schema, metadata: &ParquetMetaData) -> Schema {
    let file = metadata.file_metadata();
    let embedded = catch(|| parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()).map_err(data));
    let Ok(embedded) = embedded else { return schema.clone() };
    let field = |field: &FieldRef| match embedded.field_with_name(field.name()) {
        Ok(known) => Arc::new(Field::clone(field).with_metadata(known.metadata().clone())),
        Err(_) => FieldRef::clone(field),
    };
    Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())
}

/// Reads the footer and the length of a file.
fn read_footer(mut file: &File, max_len: usize) -> Result<(Vec<u8>, u64), ParquetError> {
    let failed = |offset| move |source| ParquetError::Read { offset, source };
    let len = file.seek(SeekFrom::End(0)).map_err(failed(0))?;
    let Some(end_start) = len.checked_sub((END_LEN + MAGIC.len()) as u64).map(|_| len - END_LEN as u64) else {
        return Err(ParquetError::NoFooter);
    };
    let mut end = [0; END_LEN];
    file.seek(SeekFrom::Start(end_start)).and_then(|_| file.read_exact(&mut end)).map_err(failed(end_start))?;
    let [a, b, c, d, magic @ ..] = end;
    match magic {
        MAGIC => {}
        ENCRYPTED_MAGIC => return Err(ParquetError::Encrypted),
        _ => return Err(ParquetError::NoFooter),
    }
    let footer_len = u64::from(u32::from_le_bytes([a, b, c, d]));
    let start = end_start.checked_sub(footer_len).filter(|&start| start >= MAGIC.len() as u64);
    let start =
        start.ok_or(ParquetError::Footer(ColumnsError::Message("it is longer than the file, by its length")))?;
    if footer_len > max_len as u64 {
        let (what, limit) = ("the footer", max_len as u64);
        return Err(ParquetError::Footer(ColumnsError::TooLarge { what, len: footer_len, limit }));
    }
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.take(footer_len).read_to_end(&mut footer))
        .map_err(failed(start))?;
    Ok((footer, len))
}

/// Returns the columns with all texts as views of bytes, which borrow the pages. Other types of text copy: a dictionary
/// of one large text could fill any memory.
fn views(schema: &Schema) -> Fields {
    schema.fields().iter().map(|field| view(&as_bytes(field))).collect()
}

fn view(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Map(entries, is_sorted) => DataType::Map(Arc::new(view(entries)), *is_sorted),
        DataType::List(element) => DataType::List(Arc::new(view(element))),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| view(field)).collect()),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

fn data(error: parquet::errors::ParquetError) -> ColumnsError {
    ColumnsError::Data(error.to_string())
}
