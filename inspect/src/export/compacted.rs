//! [`Compacted`]: batches whose dictionaries do not refer to the block.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, UInt32Type};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use chronoxide_arrow::{ColumnContent, Scan, TableError};

use super::ExportError;

/// Converts batches of a scan for the IPC format.
///
/// The strings of a batch are views of the mapped block, and the format has all buffers of an array: each dictionary,
/// and each batch of a map, would have the whole block. A dictionary is copied once; the writer recognizes the copy in
/// later batches by its address.
pub(super) struct Compacted {
    schema: SchemaRef,
    columns: Vec<Compaction>,
}

/// How the values of a column are copied.
enum Compaction {
    /// The array does not refer to the block, and is kept.
    Unchanged,
    /// Copy of the dictionary, which replaces it.
    Dictionary(ArrayRef),
    /// Each batch is copied by a cast to the type of the field.
    Cast,
}

impl Compacted {
    /// Copies the dictionaries of a scan. Costs their bytes in memory, and time for each value.
    pub(super) fn new(scan: &Scan) -> Result<Self, ExportError> {
        let table = scan.table();
        let view = table.block().view();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (column, field) in scan.columns()?.iter().zip(scan.schema()?.fields()) {
            let (data_type, compaction) = match column.content() {
                ColumnContent::Label(name) => {
                    let key = view.key(name).map_err(|error| TableError::from(table.block().locate(error.into())))?;
                    let values = key.map(|key| table.dictionary(key)).transpose()?;
                    let values = copied(&values.unwrap_or_else(|| Arc::new(StringViewArray::new_null(0))))?;
                    let keys = Box::new(DataType::UInt32);
                    let data_type = DataType::Dictionary(keys, Box::new(values.data_type().clone()));
                    (data_type, Compaction::Dictionary(values))
                }
                _ => match plain(field.data_type()) {
                    same if same == *field.data_type() => (same, Compaction::Unchanged),
                    other => (other, Compaction::Cast),
                },
            };
            fields.push(Field::new(field.name(), data_type, field.is_nullable()));
            columns.push(compaction);
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), columns })
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Converts a batch of the scan.
    pub(super) fn batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let convert = |((column, field), array): ((&Compaction, &FieldRef), &ArrayRef)| match column {
            Compaction::Unchanged => Ok(Arc::clone(array)),
            Compaction::Dictionary(values) => {
                let codes = array.as_dictionary::<UInt32Type>().keys().clone();
                Ok(Arc::new(DictionaryArray::try_new(codes, Arc::clone(values))?) as ArrayRef)
            }
            Compaction::Cast => cast(array, field.data_type()),
        };
        let columns = self.columns.iter().zip(self.schema.fields()).zip(batch.columns());
        let columns = columns.map(convert).collect::<Result<_, ArrowError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Copies strings to an array of their own.
fn copied(values: &StringViewArray) -> Result<ArrayRef, ArrowError> {
    let byte_len: usize = values.iter().flatten().map(str::len).sum();
    let fits = i32::try_from(byte_len).is_ok();
    cast(values, if fits { &DataType::Utf8 } else { &DataType::LargeUtf8 })
}

/// Returns a type with `Utf8` instead of `Utf8View`.
fn plain(data_type: &DataType) -> DataType {
    let plain_field =
        |field: &FieldRef| Arc::new(Field::new(field.name(), plain(field.data_type()), field.is_nullable()));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect::<Fields>()),
        other => other.clone(),
    }
}
