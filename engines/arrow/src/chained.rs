//! [`ChainedBatches`]: the record batches of several scans.

use std::collections::VecDeque;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::{Batches, Scan};

/// Iterator over the record batches of scans of several blocks, one after the other. After an error it ends.
#[derive(Debug)]
pub struct ChainedBatches {
    schema: SchemaRef,
    scans: VecDeque<Scan>,
    current: Option<Batches>,
    /// Maximum number of series that are still to come.
    left: u64,
}

impl ChainedBatches {
    /// Chains scans, whose columns have this schema, and stops after `limit` series.
    #[must_use]
    pub fn new(schema: SchemaRef, scans: impl IntoIterator<Item = Scan>, limit: u64) -> Self {
        Self { schema, scans: scans.into_iter().collect(), current: None, left: limit }
    }

    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next).transpose()? {
                self.left = self.left.saturating_sub(batch.num_rows() as u64);
                return Ok(Some(batch));
            }
            self.current = None;
            let Some(scan) = self.scans.pop_front().filter(|_| self.left > 0) else { return Ok(None) };
            self.current = Some(scan.with_limit(self.left).batches()?);
        }
    }
}

impl Iterator for ChainedBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let taken = self.take();
        if taken.is_err() {
            self.scans.clear();
            self.current = None;
        }
        taken.transpose()
    }
}

impl RecordBatchReader for ChainedBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
