//! [`Guarded`]: batches for code in another language.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// A reader whose panics are errors: they must not cross the functions of Arrow's C stream interface. Batches are read
/// one at a time, even if a consumer calls from several threads at once, as it must not.
#[derive(Debug)]
pub struct Guarded<R> {
    schema: SchemaRef,
    /// `None` after a panic.
    reader: Mutex<Option<R>>,
}

impl<R: RecordBatchReader> Guarded<R> {
    /// Guards a reader.
    pub fn new(reader: R) -> Self {
        Self { schema: reader.schema(), reader: Mutex::new(Some(reader)) }
    }
}

impl<R: RecordBatchReader> Iterator for Guarded<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut guarded = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = guarded.as_mut()?;
        catch_unwind(AssertUnwindSafe(|| reader.next())).unwrap_or_else(|_| {
            *guarded = None;
            Some(Err(ArrowError::ComputeError("internal error, please report it".to_owned())))
        })
    }
}

impl<R: RecordBatchReader> RecordBatchReader for Guarded<R> {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Schema;

    use super::*;

    /// Panics at its first batch.
    struct Broken;

    impl Iterator for Broken {
        type Item = Result<RecordBatch, ArrowError>;

        fn next(&mut self) -> Option<Self::Item> {
            panic!("row 7 is wrong")
        }
    }

    impl RecordBatchReader for Broken {
        fn schema(&self) -> SchemaRef {
            Arc::new(Schema::empty())
        }
    }

    #[test]
    fn a_panic_is_the_last_error() {
        let mut batches = Guarded::new(Broken);
        assert!(matches!(batches.next(), Some(Err(ArrowError::ComputeError(_)))));
        assert!(batches.next().is_none());
    }
}
