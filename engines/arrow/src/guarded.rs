//! [`Guarded`]: batches for code in another language.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

/// A reader whose panics are errors: they must not cross the functions of Arrow's C stream interface.
#[derive(Debug)]
pub struct Guarded<R> {
    reader: R,
    has_panicked: bool,
}

impl<R: RecordBatchReader> Guarded<R> {
    /// Guards a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, has_panicked: false }
    }
}

impl<R: RecordBatchReader> Iterator for Guarded<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_panicked {
            return None;
        }
        let Self { reader, has_panicked } = self;
        catch_unwind(AssertUnwindSafe(|| reader.next())).unwrap_or_else(|_| {
            *has_panicked = true;
            Some(Err(ArrowError::ComputeError("internal error, please report it".to_owned())))
        })
    }
}

impl<R: RecordBatchReader> RecordBatchReader for Guarded<R> {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Schema;

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
