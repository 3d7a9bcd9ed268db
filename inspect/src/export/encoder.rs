//! [`Encoder`]: batches to bytes of a format.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use chronoxide_arrow::Scan;

use super::arrow_file::{ArrowFile, ArrowStream};
use super::parquet_file::ParquetFile;
use super::text::{Csv, JsonLines};
use super::value_fields::schema;
use super::{ExportError, Format};

/// Encodes batches in a format.
///
/// Encoders return bytes instead of writing them: the writers of the formats turn errors of an output into text, which
/// has no kind any more.
pub(super) trait Encoder {
    /// Encodes a batch. Returns the bytes that are ready; these may be of earlier batches, or none.
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError>;

    /// Returns all bytes that are left.
    fn finish(&mut self) -> Result<Vec<u8>, ArrowError>;
}

/// Returns an encoder for the batches of a scan.
pub(super) fn new(format: Format, scan: &Scan) -> Result<Box<dyn Encoder>, ExportError> {
    Ok(match format {
        Format::Parquet => Box::new(ParquetFile::new(&scan.columns()?, schema(scan)?)?),
        Format::Arrow => Box::new(ArrowFile::new(scan)?),
        Format::ArrowStream => Box::new(ArrowStream::new(scan)?),
        Format::Csv => Box::new(Csv::new(&scan.schema()?, false)?),
        Format::SafeCsv => Box::new(Csv::new(&scan.schema()?, true)?),
        Format::Jsonl => Box::new(JsonLines),
    })
}
