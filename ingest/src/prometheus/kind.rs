//! Types of metric families: [`FamilyType`].

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};

/// Type of a metric family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FamilyType {
    /// `unknown` or `untyped`, or not stated.
    #[default]
    Unknown,
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Info,
    StateSet,
}

impl FamilyType {
    /// Returns the type with this name in a `TYPE` line.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "counter" => Self::Counter,
            "gauge" => Self::Gauge,
            "histogram" => Self::Histogram,
            "gaugehistogram" => Self::GaugeHistogram,
            "summary" => Self::Summary,
            "info" => Self::Info,
            "stateset" => Self::StateSet,
            "unknown" | "untyped" => Self::Unknown,
            _ => return None,
        })
    }

    /// Returns the type with this number in remote write and the write-ahead log. Unknown numbers are unknown types.
    pub(crate) fn from_number(number: i32) -> Self {
        match number {
            1 => Self::Counter,
            2 => Self::Gauge,
            3 => Self::Histogram,
            4 => Self::GaugeHistogram,
            5 => Self::Summary,
            6 => Self::Info,
            7 => Self::StateSet,
            _ => Self::Unknown,
        }
    }

    /// Returns the family name of a series: its name without the suffix of a classic histogram or a summary.
    pub(crate) fn family_of(self, name: &str) -> &str {
        let suffixes: &[&str] = match self {
            Self::Histogram => &["_bucket", "_sum", "_count"],
            Self::GaugeHistogram => &["_bucket", "_gsum", "_gcount", "_sum", "_count"],
            Self::Summary => &["_sum", "_count"],
            _ => &[],
        };
        suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
    }

    /// Returns the metadata of a family of this type.
    pub(crate) fn metadata<'a>(self, name: &'a str, unit: &'a str, description: &'a str) -> MetricMetadata<'a> {
        let (metric_type, temporality) = match self {
            Self::Unknown => (MetricType::Unknown, Temporality::Unspecified),
            Self::Counter => (MetricType::Sum, Temporality::Cumulative),
            Self::Gauge => (MetricType::Gauge, Temporality::Unspecified),
            Self::Histogram => (MetricType::Histogram, Temporality::Cumulative),
            Self::GaugeHistogram => (MetricType::GaugeHistogram, Temporality::Unspecified),
            Self::Summary => (MetricType::Summary, Temporality::Unspecified),
            Self::Info => (MetricType::Info, Temporality::Unspecified),
            Self::StateSet => (MetricType::StateSet, Temporality::Unspecified),
        };
        MetricMetadata {
            name,
            metric_type,
            temporality,
            monotonicity: (self == Self::Counter).into(),
            unit,
            description,
        }
    }
}
