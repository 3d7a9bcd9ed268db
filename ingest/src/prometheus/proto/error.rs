//! Errors of malformed metric families.

use crate::protobuf::ProtoError;

/// Error of decoding a metric family. `E` is the error of the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExpositionError<E> {
    /// The family is malformed.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// The sink refused a part.
    #[error(transparent)]
    Sink(E),
}

/// Reason why a metric family is malformed. Metrics count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FamilyError {
    /// The record is not a `MetricFamily`.
    #[error("not a metric family")]
    Message(#[source] ProtoError),
    /// The family has no name.
    #[error("the metric family has no name")]
    NoName,
    /// A metric cannot be decoded.
    #[error("metric {number} of the family {family:?} is malformed")]
    Metric {
        /// Name of the family.
        family: String,
        /// Number of the metric.
        number: usize,
        /// Reason.
        source: ProtoError,
    },
}
