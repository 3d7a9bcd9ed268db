//! Errors of blocks as errors of DataFusion.

use std::error::Error;

use datafusion::error::DataFusionError;

/// Wraps an error of a block.
pub(crate) fn external(error: impl Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
