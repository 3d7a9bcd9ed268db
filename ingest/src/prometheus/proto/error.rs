//! Errors of malformed metric families.

use crate::protobuf::ProtoError;

/// Why a metric family was not taken. `E` is the error of the sink.
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

/// What is wrong with a metric family. Metrics count from 0.
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
        /// Which metric.
        number: usize,
        /// What is wrong.
        source: ProtoError,
    },
    /// A time is not within the 64-bit nanoseconds around 1970.
    #[error(
        "metric {number} of the family {family:?} is at {milliseconds} ms, which is not between the years 1677 and 2262"
    )]
    TimeRange {
        /// Name of the family.
        family: String,
        /// Which metric.
        number: usize,
        /// The time.
        milliseconds: i64,
    },
}
