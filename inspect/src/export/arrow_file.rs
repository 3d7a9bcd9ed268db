//! Arrow IPC, as a file or a stream.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use chronoxide_arrow::Scan;

use super::ExportError;
use super::compacted::Compacted;
use super::encoder::Encoder;

/// Encoder of an Arrow IPC file.
pub(super) struct ArrowFile {
    compacted: Compacted,
    writer: FileWriter<Vec<u8>>,
}

impl ArrowFile {
    pub(super) fn new(scan: &Scan) -> Result<Self, ExportError> {
        let compacted = Compacted::new(scan)?;
        let writer = FileWriter::try_new_with_options(Vec::new(), compacted.schema(), options()?)?;
        Ok(Self { compacted, writer })
    }
}

impl Encoder for ArrowFile {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        self.writer.write(&self.compacted.batch(batch)?)?;
        Ok(std::mem::take(self.writer.get_mut()))
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        self.writer.finish()?;
        Ok(std::mem::take(self.writer.get_mut()))
    }
}

/// Encoder of an Arrow IPC stream, which can be read before it ends.
pub(super) struct ArrowStream {
    compacted: Compacted,
    writer: StreamWriter<Vec<u8>>,
}

impl ArrowStream {
    pub(super) fn new(scan: &Scan) -> Result<Self, ExportError> {
        let compacted = Compacted::new(scan)?;
        let writer = StreamWriter::try_new_with_options(Vec::new(), compacted.schema(), options()?)?;
        Ok(Self { compacted, writer })
    }
}

impl Encoder for ArrowStream {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        self.writer.write(&self.compacted.batch(batch)?)?;
        Ok(std::mem::take(self.writer.get_mut()))
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        self.writer.finish()?;
        Ok(std::mem::take(self.writer.get_mut()))
    }
}

fn options() -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))
}
