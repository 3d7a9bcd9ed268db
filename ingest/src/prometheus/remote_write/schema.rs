//! The part of the protocol that series come from.
//!
//! These are written by hand and not generated: few fields are needed, and generating would need `protoc` to build.
//! Unknown fields are read over, as protobuf wants it.

use prost::Message;
use prost::bytes::Bytes;

/// `prometheus.WriteRequest` and `io.prometheus.write.v2.Request` at once: their numbers of fields differ, so that each
/// can be told from the other. Parts stay bytes until it is their turn, because a part in memory is many times as large.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(super) series_v1: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(super) metadata_v1: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub(super) symbols_v2: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(super) series_v2: Vec<Bytes>,
}

/// `prometheus.TimeSeries`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SeriesV1 {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) histograms: Vec<Histogram>,
}

/// `prometheus.Label`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// A sample of either version.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Sample {
    #[prost(int64, tag = "2")]
    pub(super) timestamp: i64,
}

/// A native histogram of either version.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(int64, tag = "15")]
    pub(super) timestamp: i64,
}

/// `prometheus.MetricMetadata`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MetadataV1 {
    #[prost(int32, tag = "1")]
    pub(super) family_type: i32,
    #[prost(string, tag = "2")]
    pub(super) family_name: String,
    #[prost(string, tag = "4")]
    pub(super) help: String,
    #[prost(string, tag = "5")]
    pub(super) unit: String,
}

/// `io.prometheus.write.v2.TimeSeries`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SeriesV2 {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) labels_refs: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(super) histograms: Vec<Histogram>,
    #[prost(message, optional, tag = "5")]
    pub(super) metadata: Option<MetadataV2>,
}

/// `io.prometheus.write.v2.Metadata`.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MetadataV2 {
    #[prost(int32, tag = "1")]
    pub(super) family_type: i32,
    #[prost(uint32, tag = "3")]
    pub(super) help_ref: u32,
    #[prost(uint32, tag = "4")]
    pub(super) unit_ref: u32,
}
