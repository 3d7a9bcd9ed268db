//! Messages and fields of the protocol that labels need.

use super::super::kind::MetricKind;
use super::super::requests::Level;

/// Message of the protocol on the way from a request to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Request,
    ResourceMetrics,
    Resource,
    ScopeMetrics,
    Scope,
    Metric,
    Data(MetricKind),
    Point(MetricKind),
    Quantile,
}

/// Content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    One(Message),
    Many(Message),
    Attributes(Level),
    Name,
    Version,
    SchemaUrl,
    Description,
    Unit,
    Temporality,
    IsMonotonic,
    Time,
    Flags,
    /// Sum of measurements. Only its presence matters.
    Sum,
    BucketCounts,
    BucketBounds,
    Quantiles,
    Quantile,
}

impl Message {
    /// Returns the content of a field, or `None` if labels do not need it.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        use Field::{
            Attributes, BucketBounds, BucketCounts, Description, Flags, IsMonotonic, Many, Name, One, Quantile,
            Quantiles, SchemaUrl, Sum, Temporality, Time, Unit, Version,
        };
        use MetricKind::{ExponentialHistogram, Histogram, Summary};
        Some(match (self, name) {
            (Self::Request, "resourceMetrics" | "resource_metrics") => Many(Self::ResourceMetrics),
            (Self::ResourceMetrics, "resource") => One(Self::Resource),
            (
                Self::ResourceMetrics,
                "scopeMetrics" | "scope_metrics" | "instrumentationLibraryMetrics" | "instrumentation_library_metrics",
            ) => Many(Self::ScopeMetrics),
            (Self::Resource, "attributes") => Attributes(Level::Resource),
            (Self::ScopeMetrics, "scope" | "instrumentationLibrary" | "instrumentation_library") => One(Self::Scope),
            (Self::ScopeMetrics, "metrics") => Many(Self::Metric),
            (Self::ScopeMetrics, "schemaUrl" | "schema_url") => SchemaUrl,
            (Self::Scope, "name") => Name,
            (Self::Scope, "version") => Version,
            (Self::Scope, "attributes") => Attributes(Level::Scope),
            (Self::Metric, "name") => Name,
            (Self::Metric, "description") => Description,
            (Self::Metric, "unit") => Unit,
            (Self::Metric, "gauge") => One(Self::Data(MetricKind::Gauge)),
            (Self::Metric, "sum") => One(Self::Data(MetricKind::Sum)),
            (Self::Metric, "histogram") => One(Self::Data(MetricKind::Histogram)),
            (Self::Metric, "exponentialHistogram" | "exponential_histogram") => {
                One(Self::Data(MetricKind::ExponentialHistogram))
            }
            (Self::Metric, "summary") => One(Self::Data(MetricKind::Summary)),
            (Self::Data(kind), "dataPoints" | "data_points") => Many(Self::Point(kind)),
            (
                Self::Data(MetricKind::Sum | Histogram | ExponentialHistogram),
                "aggregationTemporality" | "aggregation_temporality",
            ) => Temporality,
            (Self::Data(MetricKind::Sum), "isMonotonic" | "is_monotonic") => IsMonotonic,
            (Self::Point(_), "attributes") => Attributes(Level::Point),
            (Self::Point(_), "timeUnixNano" | "time_unix_nano") => Time,
            (Self::Point(_), "flags") => Flags,
            (Self::Point(Histogram), "sum") => Sum,
            (Self::Point(Histogram), "bucketCounts" | "bucket_counts") => BucketCounts,
            (Self::Point(Histogram), "explicitBounds" | "explicit_bounds") => BucketBounds,
            (Self::Point(Summary), "quantileValues" | "quantile_values") => Quantiles,
            (Self::Quantile, "quantile") => Quantile,
            _ => return None,
        })
    }

    /// Returns true if a field describes other fields of this message, and must be known before them.
    pub(super) fn describes(self, field: Field) -> bool {
        matches!((self, field), (Self::ResourceMetrics, Field::One(Self::Resource)))
    }

    /// Returns true if another field of this message describes the field.
    pub(super) fn is_described(self, field: Field) -> bool {
        matches!((self, field), (Self::ResourceMetrics, Field::Many(Self::ScopeMetrics)))
    }

    /// Returns the name of the message in the protocol, for errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Request => "an ExportMetricsServiceRequest",
            Self::ResourceMetrics => "ResourceMetrics",
            Self::Resource => "a Resource",
            Self::ScopeMetrics => "ScopeMetrics",
            Self::Scope => "an InstrumentationScope",
            Self::Metric => "a Metric",
            Self::Data(MetricKind::Gauge) => "a Gauge",
            Self::Data(MetricKind::Sum) => "a Sum",
            Self::Data(MetricKind::Histogram) => "a Histogram",
            Self::Data(MetricKind::ExponentialHistogram) => "an ExponentialHistogram",
            Self::Data(MetricKind::Summary) => "a Summary",
            Self::Point(_) => "a data point",
            Self::Quantile => "a ValueAtQuantile",
        }
    }
}
