//! Labelsets of the formats the straightforward way: everything in memory, labels in maps. It shares no code with the
//! crate, and is slow, short and obviously right.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use chronoxide_workload::{ExportMetricsServiceRequest, Format, Options, Workload, write};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;

pub type Labels = BTreeMap<String, String>;

/// A point: its labels, when its counting started, when it is.
#[derive(Debug)]
pub struct Point {
    pub labels: Labels,
    pub start: u64,
    pub time: u64,
}

pub fn bytes(options: &Options, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&Workload::new(options.clone()).unwrap(), format, &mut bytes).unwrap();
    bytes
}

/// The requests of a stream of protobuf.
pub fn decode_proto(mut bytes: &[u8]) -> Vec<ExportMetricsServiceRequest> {
    let mut requests = Vec::new();
    while let Some((len, rest)) = bytes.split_at_checked(4) {
        let (request, rest) = rest.split_at(u32::from_be_bytes(len.try_into().unwrap()) as usize);
        requests.push(ExportMetricsServiceRequest::decode(request).unwrap());
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{} bytes are left", bytes.len());
    requests
}

/// The points of a request. A name that two levels have is an error: the workload has none.
pub fn points(request: &ExportMetricsServiceRequest) -> Vec<Point> {
    let mut all = Vec::new();
    for resource_metrics in &request.resource_metrics {
        for scope_metrics in &resource_metrics.scope_metrics {
            let mut base = Labels::new();
            insert(&mut base, &resource_metrics.resource.as_ref().unwrap().attributes);
            let scope = scope_metrics.scope.as_ref().unwrap();
            insert(&mut base, &scope.attributes);
            for (name, value) in [("otel_scope_name", &scope.name), ("otel_scope_version", &scope.version)] {
                if !value.is_empty() {
                    assert_eq!(base.insert(name.to_owned(), value.clone()), None);
                }
            }
            for metric in &scope_metrics.metrics {
                let mut point = |attributes: &[KeyValue], start: u64, time: u64| {
                    let mut labels = base.clone();
                    insert(&mut labels, attributes);
                    assert_eq!(labels.insert("__name__".to_owned(), metric.name.clone()), None);
                    all.push(Point { labels, start, time });
                };
                macro_rules! each {
                    ($data:expr) => {
                        for each in &$data.data_points {
                            point(&each.attributes, each.start_time_unix_nano, each.time_unix_nano);
                        }
                    };
                }
                match metric.data.as_ref().unwrap() {
                    Data::Gauge(data) => each!(data),
                    Data::Sum(data) => each!(data),
                    Data::Histogram(data) => each!(data),
                    Data::ExponentialHistogram(data) => each!(data),
                    Data::Summary(data) => each!(data),
                }
            }
        }
    }
    all
}

/// The attributes of the first resource of a request.
pub fn resource(request: &ExportMetricsServiceRequest) -> Labels {
    let mut labels = Labels::new();
    insert(&mut labels, &request.resource_metrics[0].resource.as_ref().unwrap().attributes);
    labels
}

fn insert(labels: &mut Labels, attributes: &[KeyValue]) {
    for attribute in attributes {
        let text = match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
            Value::StringValue(text) => text.clone(),
            Value::IntValue(number) => number.to_string(),
            Value::BoolValue(flag) => flag.to_string(),
            other => panic!("{other:?} is not a value of the workload"),
        };
        assert!(!text.is_empty(), "{} is empty", attribute.key);
        let before = labels.insert(attribute.key.clone(), text);
        assert_eq!(before, None, "{} is there twice", attribute.key);
    }
}

/// The labelsets of all points of a stream of protobuf.
pub fn proto_labels(bytes: &[u8]) -> Vec<Labels> {
    decode_proto(bytes).iter().flat_map(points).map(|point| point.labels).collect()
}

/// The labelsets of lines of series.
pub fn json_labels(bytes: &[u8]) -> Vec<Labels> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
