//! Metadata of metrics: type, unit, description, temporality, monotonicity.
//!
//! Types have the names of OpenTelemetry, and those of OpenMetrics that OpenTelemetry lacks. A counter of Prometheus
//! is a cumulative monotonic sum.

use std::collections::BTreeSet;
use std::fmt;

/// Declares an enum of numbers that later texts may add to: a number without a meaning is kept, and read as the first.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident $first_word:literal $($(#[$variant_doc:meta])* $variant:ident $code:literal $word:literal)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$variant_doc])* $variant,)*
            /// A number that a later text gives a meaning, and that is read as 0. Use `from_code` to make it.
            Later(u32),
        }

        impl $name {
            /// Values with a meaning, in the order of their numbers.
            pub const ALL: &'static [Self] = &[Self::$first, $(Self::$variant,)*];

            /// Returns the number in a block.
            #[must_use]
            pub const fn code(self) -> u32 {
                match self {
                    Self::$first => 0,
                    $(Self::$variant => $code,)*
                    Self::Later(code) => code,
                }
            }

            /// Returns the value with this number.
            #[must_use]
            pub const fn from_code(code: u32) -> Self {
                match code {
                    0 => Self::$first,
                    $($code => Self::$variant,)*
                    code => Self::Later(code),
                }
            }

            /// Returns the word in dumps; the first word for a number without a meaning.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$first | Self::Later(_) => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            /// Writes the word, or `unknown-` and a number without a meaning.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Later(code) => write!(f, "unknown-{code}"),
                    known => f.write_str(known.name()),
                }
            }
        }
    };
}

numbers! {
    /// Type of a metric's points.
    MetricType {
        /// Unknown; also Prometheus's `untyped`.
        Unknown "unknown"
        /// A value that goes up and down.
        Gauge 1 "gauge"
        /// A sum of measurements; a counter if it is monotonic.
        Sum 2 "sum"
        /// Counts of measurements in buckets with explicit bounds.
        Histogram 3 "histogram"
        /// Counts of measurements in buckets whose bounds grow exponentially.
        ExponentialHistogram 4 "exponential-histogram"
        /// Quantiles that were computed where measured.
        Summary 5 "summary"
        /// A histogram whose counts may decrease (OpenMetrics).
        GaugeHistogram 6 "gauge-histogram"
        /// Constant text in labels (OpenMetrics).
        Info 7 "info"
        /// Related booleans in labels (OpenMetrics).
        StateSet 8 "state-set"
    }
}

numbers! {
    /// Time that a value counts from. The numbers are those of OTLP.
    Temporality {
        /// Unknown, or the type has none.
        Unspecified "unspecified"
        /// The previous point.
        Delta 1 "delta"
        /// A fixed start.
        Cumulative 2 "cumulative"
    }
}

numbers! {
    /// Growth of values.
    Monotonicity {
        /// Values may fall, or nothing is known of them.
        NotMonotonic "not-monotonic"
        /// Values only grow.
        Monotonic 1 "monotonic"
    }
}

impl Temporality {
    /// Returns the temporality with this number of OTLP, where numbers without a meaning are unspecified.
    #[must_use]
    pub const fn from_otlp(code: u64) -> Self {
        match code {
            1 => Self::Delta,
            2 => Self::Cumulative,
            _ => Self::Unspecified,
        }
    }
}

impl From<bool> for Monotonicity {
    fn from(is_monotonic: bool) -> Self {
        if is_monotonic { Self::Monotonic } else { Self::NotMonotonic }
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
    /// Growth of the values of a sum.
    pub monotonicity: Monotonicity,
    /// Unit; empty if unknown.
    pub unit: &'a str,
    /// Description; empty if unknown.
    pub description: &'a str,
}

impl MetricMetadata<'_> {
    /// Gives numbers with a meaning their names, whatever made them.
    fn normalized(self) -> Self {
        Self {
            metric_type: MetricType::from_code(self.metric_type.code()),
            temporality: Temporality::from_code(self.temporality.code()),
            monotonicity: Monotonicity::from_code(self.monotonicity.code()),
            ..self
        }
    }
}

/// [`MetricMetadata`] that owns its text, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedMetricMetadata {
    name: Box<str>,
    metric_type: MetricType,
    temporality: Temporality,
    monotonicity: Monotonicity,
    unit: Box<str>,
    description: Box<str>,
}

impl OwnedMetricMetadata {
    /// Returns the metadata without text of its own.
    #[must_use]
    pub fn borrowed(&self) -> MetricMetadata<'_> {
        let &Self { metric_type, temporality, monotonicity, .. } = self;
        let [name, unit, description] = [&*self.name, &*self.unit, &*self.description];
        MetricMetadata { name, metric_type, temporality, monotonicity, unit, description }
    }
}

impl From<MetricMetadata<'_>> for OwnedMetricMetadata {
    fn from(metadata: MetricMetadata<'_>) -> Self {
        let MetricMetadata { name, metric_type, temporality, monotonicity, unit, description } = metadata;
        let [name, unit, description] = [name, unit, description].map(Box::from);
        Self { name, metric_type, temporality, monotonicity, unit, description }
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
        self.rows.insert(metadata.normalized().into())
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
        self.rows.extend(metadata.into_iter().map(|metadata| OwnedMetricMetadata::from(metadata.normalized())));
    }
}

impl<'a> FromIterator<MetricMetadata<'a>> for MetricSet {
    fn from_iter<I: IntoIterator<Item = MetricMetadata<'a>>>(metadata: I) -> Self {
        let mut set = Self::new();
        set.extend(metadata);
        set
    }
}
