//! CSV and JSON lines.

use arrow::array::RecordBatch;
use arrow::csv;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json;

use super::encoder::Encoder;

/// Encoder of CSV.
pub(super) struct Csv {
    /// Header, until the first batch.
    header: Vec<u8>,
}

impl Csv {
    /// Creates an encoder. An export without series has the header, too.
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let mut header = Vec::new();
        csv::Writer::new(&mut header).write(&RecordBatch::new_empty(schema.clone()))?;
        Ok(Self { header })
    }
}

impl Encoder for Csv {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut text = std::mem::take(&mut self.header);
        csv::WriterBuilder::new().with_header(false).build(&mut text).write(batch)?;
        Ok(text)
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(std::mem::take(&mut self.header))
    }
}

/// Encoder of JSON lines. Nulls are left out, so that a label is in the object if and only if the series has it.
///
/// Arrow's writer encodes column by column without a map per series; serde_json would need the labels of each series.
pub(super) struct JsonLines;

impl Encoder for JsonLines {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut text = Vec::new();
        json::LineDelimitedWriter::new(&mut text).write(batch)?;
        Ok(text)
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(Vec::new())
    }
}
