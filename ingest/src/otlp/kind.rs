//! Kinds of metrics: [`MetricKind`].

use chronoxide_format::metadata::MetricType;

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub enum MetricKind {
    Gauge,
    Sum,
    Histogram,
    ExponentialHistogram,
    Summary,
}

impl MetricKind {
    /// All kinds, in the order of the protocol.
    pub const ALL: [Self; 5] = [Self::Gauge, Self::Sum, Self::Histogram, Self::ExponentialHistogram, Self::Summary];

    /// Returns the kind as a metric type of metadata.
    #[must_use]
    pub fn metric_type(self) -> MetricType {
        match self {
            Self::Gauge => MetricType::Gauge,
            Self::Sum => MetricType::Sum,
            Self::Histogram => MetricType::Histogram,
            Self::ExponentialHistogram => MetricType::ExponentialHistogram,
            Self::Summary => MetricType::Summary,
        }
    }
}
