//! Metadata of metrics: type, unit, description, temporality, monotonicity.
//!
//! Types have the names of OpenTelemetry, and those of OpenMetrics that OpenTelemetry lacks. A counter of Prometheus
//! is a cumulative monotonic sum.

use std::collections::BTreeSet;

/// Type of a metric's points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MetricType {
    /// Unknown; also Prometheus's `untyped`.
    #[default]
    Unknown = 0,
    /// A value that goes up and down.
    Gauge = 1,
    /// A sum of measurements; a counter if it is monotonic.
    Sum = 2,
    /// Counts of measurements in buckets with explicit bounds.
    Histogram = 3,
    /// Counts of measurements in buckets whose bounds grow exponentially.
    ExponentialHistogram = 4,
    /// Quantiles that were computed where measured.
    Summary = 5,
    /// A histogram whose counts may decrease (OpenMetrics).
    GaugeHistogram = 6,
    /// Constant text in labels (OpenMetrics).
    Info = 7,
    /// Related booleans in labels (OpenMetrics).
    StateSet = 8,
}

impl MetricType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Gauge,
        Self::Sum,
        Self::Histogram,
        Self::ExponentialHistogram,
        Self::Summary,
        Self::GaugeHistogram,
        Self::Info,
        Self::StateSet,
    ];

    /// Returns the number of the type in a block.
    #[expect(clippy::as_conversions, reason = "the discriminant of a `repr(u8)` enum")]
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the type with this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the name of the type in dumps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Gauge => "gauge",
            Self::Sum => "sum",
            Self::Histogram => "histogram",
            Self::ExponentialHistogram => "exponential-histogram",
            Self::Summary => "summary",
            Self::GaugeHistogram => "gauge-histogram",
            Self::Info => "info",
            Self::StateSet => "state-set",
        }
    }
}

/// Time that a value counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Temporality {
    /// Unknown, or the type has none.
    #[default]
    Unspecified = 0,
    /// The previous point.
    Delta = 1,
    /// A fixed start.
    Cumulative = 2,
}

impl Temporality {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Unspecified, Self::Delta, Self::Cumulative];

    /// Returns the number in a block, which is also that of OTLP.
    #[expect(clippy::as_conversions, reason = "the discriminant of a `repr(u8)` enum")]
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the temporality with this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|temporality| temporality.code() == code)
    }

    /// Returns the name in dumps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Delta => "delta",
            Self::Cumulative => "cumulative",
        }
    }
}

/// Metadata of a metric name. A name may have several of these if sources differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricMetadata<'a> {
    /// The name of the metric; for Prometheus that of the family, without `_bucket` and the like.
    pub name: &'a str,
    /// Type.
    pub metric_type: MetricType,
    /// Time that its values count from.
    pub temporality: Temporality,
    /// True if a sum only grows.
    pub is_monotonic: bool,
    /// Unit; empty if unknown.
    pub unit: &'a str,
    /// Description; empty if unknown.
    pub description: &'a str,
}

/// [`MetricMetadata`] that owns its text, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedMetricMetadata {
    name: Box<str>,
    metric_type: MetricType,
    temporality: Temporality,
    is_monotonic: bool,
    unit: Box<str>,
    description: Box<str>,
}

impl OwnedMetricMetadata {
    /// Returns the metadata without text of its own.
    #[must_use]
    pub fn borrowed(&self) -> MetricMetadata<'_> {
        let &Self { metric_type, temporality, is_monotonic, .. } = self;
        let [name, unit, description] = [&*self.name, &*self.unit, &*self.description];
        MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description }
    }
}

impl From<MetricMetadata<'_>> for OwnedMetricMetadata {
    fn from(metadata: MetricMetadata<'_>) -> Self {
        let MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description } = metadata;
        let [name, unit, description] = [name, unit, description].map(Box::from);
        Self { name, metric_type, temporality, is_monotonic, unit, description }
    }
}

/// Metadata of the metrics of a block, each once, in the order of the block: by name, type, temporality, monotonicity,
/// unit and description, text in byte order.
///
/// ```
/// use chronoxide_format::metadata::{MetricMetadata, MetricSet, MetricType};
///
/// let up = MetricMetadata { name: "up", metric_type: MetricType::Gauge, ..MetricMetadata::default() };
/// let mut metrics = MetricSet::new();
/// assert!(metrics.insert(up));
/// assert!(!metrics.insert(up), "it is there already");
/// assert!(metrics.insert(MetricMetadata { unit: "1", ..up }), "another source may say something else");
/// assert_eq!(metrics.iter().next(), Some(up));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricSet {
    rows: BTreeSet<OwnedMetricMetadata>,
}

impl MetricSet {
    /// Without any.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: BTreeSet::new() }
    }

    /// Adds metadata and returns true if they are new. The builder checks the length of texts.
    pub fn insert(&mut self, metadata: MetricMetadata<'_>) -> bool {
        self.rows.insert(metadata.into())
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the items, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = MetricMetadata<'_>> + DoubleEndedIterator + Clone {
        self.rows.iter().map(OwnedMetricMetadata::borrowed)
    }
}

impl<'a> Extend<MetricMetadata<'a>> for MetricSet {
    fn extend<I: IntoIterator<Item = MetricMetadata<'a>>>(&mut self, metadata: I) {
        self.rows.extend(metadata.into_iter().map(OwnedMetricMetadata::from));
    }
}

impl<'a> FromIterator<MetricMetadata<'a>> for MetricSet {
    fn from_iter<I: IntoIterator<Item = MetricMetadata<'a>>>(metadata: I) -> Self {
        let mut set = Self::new();
        set.extend(metadata);
        set
    }
}
