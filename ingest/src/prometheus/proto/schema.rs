//! The part of `io.prometheus.client` that series come from, declared by hand. Unknown fields are read over.

use crate::prometheus::FamilyType;
use prost::Message;
use prost::bytes::Bytes;

/// `MetricFamily`. Metrics stay bytes until it is their turn, because they are many times as large in memory.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricFamily {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) help: String,
    #[prost(int32, tag = "3")]
    pub(super) family_type: i32,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub(super) metrics: Vec<Bytes>,
    #[prost(string, tag = "5")]
    pub(super) unit: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<LabelPair>,
    #[prost(message, optional, tag = "4")]
    pub(super) summary: Option<Summary>,
    #[prost(int64, tag = "6")]
    pub(super) timestamp_ms: i64,
    #[prost(message, optional, tag = "7")]
    pub(super) histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LabelPair {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "3")]
    pub(super) quantiles: Vec<Quantile>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Quantile {
    #[prost(double, tag = "1")]
    pub(super) quantile: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(message, repeated, tag = "3")]
    pub(super) buckets: Vec<Bucket>,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    zero_count: u64,
    #[prost(message, repeated, tag = "9")]
    negative_spans: Vec<Span>,
    #[prost(message, repeated, tag = "12")]
    positive_spans: Vec<Span>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Bucket {
    #[prost(double, tag = "2")]
    pub(super) upper_bound: f64,
}

/// A run of buckets of a native histogram, of which nothing is needed.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Span {}

impl Histogram {
    /// Returns true if it has the buckets of a native histogram, as Prometheus tells.
    pub(super) fn is_native(&self) -> bool {
        self.zero_threshold > 0.0
            || self.zero_count > 0
            || !self.negative_spans.is_empty()
            || !self.positive_spans.is_empty()
    }
}

/// The type of this number. Numbers that came later are of unknown types.
pub(super) fn family_type(number: i32) -> FamilyType {
    match number {
        0 => FamilyType::Counter,
        1 => FamilyType::Gauge,
        2 => FamilyType::Summary,
        4 => FamilyType::Histogram,
        5 => FamilyType::GaugeHistogram,
        _ => FamilyType::Unknown,
    }
}
