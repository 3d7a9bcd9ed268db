//! [`Compacted`]: batches whose dictionaries do not refer to the block.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, GenericStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, GenericStringArray, MapArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StringViewArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use chronoxide_arrow::{ColumnContent, Scan, TableError};

use super::ExportError;
use super::value_fields::schema;

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
    /// Copy of the dictionary, which replaces it.
    Dictionary(ArrayRef),
    /// The strings and bytes of each batch are copied.
    Strings,
}

impl Compacted {
    /// Copies the dictionaries of a scan. Costs their bytes in memory, and time for each value.
    pub(super) fn new(scan: &Scan) -> Result<Self, ExportError> {
        let table = scan.table();
        let view = table.block().view();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (column, field) in scan.columns()?.iter().zip(schema(scan)?.fields()) {
            let (data_type, compaction) = match column.content() {
                ColumnContent::Label(name) => {
                    let key = view.key(name).map_err(|error| TableError::from(table.block().locate(error.into())))?;
                    let values = key.map(|key| table.dictionary(key)).transpose()?;
                    let values = copied_dictionary(&values.unwrap_or_else(|| Arc::new(StringViewArray::new_null(0))))?;
                    let keys = Box::new(DataType::UInt32);
                    let data_type = DataType::Dictionary(keys, Box::new(values.data_type().clone()));
                    (data_type, Compaction::Dictionary(values))
                }
                _ => (plain(field.data_type()), Compaction::Strings),
            };
            fields.push(Field::clone(field).with_data_type(data_type));
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
            Compaction::Dictionary(values) => {
                let codes = array.as_dictionary::<UInt32Type>().keys().clone();
                Ok(Arc::new(DictionaryArray::try_new(codes, Arc::clone(values))?) as ArrayRef)
            }
            Compaction::Strings => plain_array(array, field.data_type()),
        };
        let columns = self.columns.iter().zip(self.schema.fields()).zip(batch.columns());
        let columns = columns.map(convert).collect::<Result<_, ArrowError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Copies the strings of a dictionary to a `Utf8` array, or to a `LargeUtf8` array if they have 2 GiB or more.
fn copied_dictionary(values: &StringViewArray) -> Result<ArrayRef, ArrowError> {
    Ok(match copied::<i32>(values) {
        Ok(strings) => Arc::new(strings),
        Err(ArrowError::OffsetOverflowError(_)) => Arc::new(copied::<i64>(values)?),
        Err(error) => return Err(error),
    })
}

/// Copies strings to an array of their own. Fails with `OffsetOverflowError` if the offsets are too small for them.
fn copied<O: OffsetSizeTrait>(values: &StringViewArray) -> Result<GenericStringArray<O>, ArrowError> {
    let byte_len: usize = values.iter().flatten().map(str::len).sum();
    // The builder would panic.
    O::from_usize(byte_len).ok_or(ArrowError::OffsetOverflowError(byte_len))?;
    let mut strings = GenericStringBuilder::<O>::with_capacity(values.len(), byte_len);
    strings.extend(values);
    Ok(strings.finish())
}

/// Copies an array with views to a type from [`plain`]. An array without views is returned as it is.
fn plain_array(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match data_type {
        DataType::Utf8 => Arc::new(copied::<i32>(array.as_string_view())?),
        DataType::Binary => {
            let values = array.as_binary_view();
            let mut copy = BinaryBuilder::with_capacity(values.len(), 0);
            copy.extend(values);
            Arc::new(copy.finish())
        }
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = plain_array(&entries, field.data_type())?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        DataType::Struct(fields) => {
            let entries = array.as_struct();
            let copy = |(field, column): (&FieldRef, &ArrayRef)| plain_array(column, field.data_type());
            let columns = fields.iter().zip(entries.columns()).map(copy).collect::<Result<_, ArrowError>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, entries.nulls().cloned())?)
        }
        _ => Arc::clone(array),
    })
}

/// Returns a type with `Utf8` instead of `Utf8View`, and `Binary` instead of `BinaryView`.
pub(super) fn plain(data_type: &DataType) -> DataType {
    let plain_field =
        |field: &FieldRef| Arc::new(Field::new(field.name(), plain(field.data_type()), field.is_nullable()));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect::<Fields>()),
        other => other.clone(),
    }
}
