//! Parquet.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use chronoxide_arrow::{Column, ColumnContent};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::compacted::plain;
use super::encoder::Encoder;

/// Series of a row group at most. The writer holds a row group in memory, and readers read row groups in parallel.
const MAX_ROW_GROUP_SERIES: usize = 1 << 18;
/// Memory of a row group at which it is written, in bytes. Blocks with thousands of labels reach it first.
const MAX_ROW_GROUP_MEMORY: usize = 64 << 20;

/// Encoder of Parquet.
pub(super) struct ParquetFile {
    writer: ArrowWriter<Vec<u8>>,
}

impl ParquetFile {
    pub(super) fn new(columns: &[Column], schema: SchemaRef) -> Result<Self, ArrowError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(MAX_ROW_GROUP_SERIES))
            // Names the parts of a map as the specification of Parquet does.
            .set_coerce_types(true);
        for column in columns.iter().filter(|column| *column.content() == ColumnContent::SeriesRef) {
            // Refs ascend by 1: differences take bits where a dictionary would have each of them.
            let path = ColumnPath::from(vec![column.name().to_owned()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        if columns.iter().any(|column| matches!(column.content(), ColumnContent::Values { .. })) {
            // Only Arrow's schema has metadata of fields.
            let fields =
                schema.fields().iter().map(|field| Field::clone(field).with_data_type(plain(field.data_type())));
            let plain = encode_arrow_schema(&Schema::new(fields.collect::<Vec<_>>()));
            let entry = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), plain);
            properties = properties.set_key_value_metadata(Some(vec![entry]));
        }
        // Without the Arrow schema of batches, readers that do not know `Utf8View` see plain strings.
        let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        Ok(Self { writer: ArrowWriter::try_new_with_options(Vec::new(), schema, options)? })
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.inner_mut())
    }
}

impl Encoder for ParquetFile {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        self.writer.write(batch)?;
        if self.writer.memory_size() > MAX_ROW_GROUP_MEMORY {
            self.writer.flush()?;
        }
        Ok(self.take())
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        self.writer.finish()?;
        Ok(self.take())
    }
}
