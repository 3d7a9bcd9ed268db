//! Model of decoding: labelsets of captures from whole documents as `serde_json::Value`, with labels in maps. It shares
//! no code with the crate, and is slow, short and obviously correct.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::column::Value as ColumnValue;
use chronoxide_format::view::BlockView;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;
use serde_json::Value;

pub type Labels = BTreeMap<String, String>;

/// The labelsets of a block, in the order of refs.
pub fn block_series(block: &[u8]) -> Vec<Labels> {
    let view = BlockView::open(block).unwrap();
    view.verify().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (0..view.series_count().unwrap())
        .map(|number| {
            let series = view.series(number.into()).unwrap().expect("the ref is in the block");
            let labels = series.labels().map(|label| label.unwrap());
            labels.map(|label| (text(label.name), text(label.value))).collect()
        })
        .collect()
}

/// First and last time of a series, in nanoseconds since 1970.
pub type Times = (Option<i64>, Option<i64>);

/// The labelsets of a block, with the times of its columns.
pub fn block_times(block: &[u8]) -> BTreeMap<Labels, Times> {
    let view = BlockView::open(block).unwrap();
    let time = |name: &str, number: u32| match view.series_column(name).unwrap()?.get(number.into()).unwrap()? {
        ColumnValue::I64(time) => Some(time),
        other => panic!("{name} of series {number} is {other:?}"),
    };
    let times = |number| (time("chronoxide.first_time", number), time("chronoxide.last_time", number));
    (0..).zip(block_series(block)).map(|(number, labels)| (labels, times(number))).collect()
}

/// The labelsets of lines of series.
pub fn series_json(text: &str) -> BTreeSet<Labels> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| series(&serde_json::from_str(line).unwrap()))
        .collect()
}

/// The labels of one series.
pub fn series(object: &Value) -> Labels {
    let labels = object.as_object().expect("a series is an object").iter();
    labels
        .map(|(name, value)| (name.clone(), value.as_str().expect("values are strings").to_owned()))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// The labelsets of lines of OTLP requests.
pub fn otlp_json(text: &str) -> BTreeSet<Labels> {
    let mut all = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let request: Value = serde_json::from_str(line).unwrap();
        for resource_metrics in items(&request["resourceMetrics"]) {
            let resource = attributes(&resource_metrics["resource"]["attributes"]);
            for scope_metrics in items(&resource_metrics["scopeMetrics"]) {
                let scope = &scope_metrics["scope"];
                let mut base = resource.clone();
                base.extend(attributes(&scope["attributes"]));
                for (label, field) in [("otel_scope_name", "name"), ("otel_scope_version", "version")] {
                    match scope[field].as_str() {
                        None | Some("") => {}
                        Some(value) => drop(base.insert(label.to_owned(), value.to_owned())),
                    }
                }
                for metric in items(&scope_metrics["metrics"]) {
                    for kind in ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] {
                        for point in items(&metric[kind]["dataPoints"]) {
                            let mut labels = base.clone();
                            labels.extend(attributes(&point["attributes"]));
                            labels.insert("__name__".to_owned(), metric["name"].as_str().unwrap().to_owned());
                            labels.retain(|_, value| !value.is_empty());
                            all.insert(labels);
                        }
                    }
                }
            }
        }
    }
    all
}

/// The labelsets of one request as protobuf, read by a generated decoder. Its attributes are strings, numbers and
/// booleans.
pub fn otlp_proto(bytes: &[u8]) -> BTreeSet<Labels> {
    fn attributes(list: &[KeyValue]) -> Labels {
        let text = |pair: &KeyValue| match pair.value.clone().and_then(|value| value.value) {
            Some(any_value::Value::StringValue(text)) => text,
            Some(any_value::Value::IntValue(int)) => int.to_string(),
            Some(any_value::Value::BoolValue(bool)) => bool.to_string(),
            Some(any_value::Value::ArrayValue(array)) => {
                let value = |value: &AnyValue| match &value.value {
                    Some(any_value::Value::StringValue(text)) => Value::from(text.as_str()),
                    other => panic!("an array of strings is expected: {other:?}"),
                };
                array.values.iter().map(value).collect::<Value>().to_string()
            }
            None => String::new(),
            other => panic!("no reading of {other:?} here"),
        };
        list.iter().map(|pair| (pair.key.clone(), text(pair))).collect()
    }
    fn points(data: &Data) -> Vec<&[KeyValue]> {
        match data {
            Data::Gauge(data) => data.data_points.iter().map(|point| &*point.attributes).collect(),
            Data::Sum(data) => data.data_points.iter().map(|point| &*point.attributes).collect(),
            Data::Histogram(data) => data.data_points.iter().map(|point| &*point.attributes).collect(),
            Data::ExponentialHistogram(data) => data.data_points.iter().map(|point| &*point.attributes).collect(),
            Data::Summary(data) => data.data_points.iter().map(|point| &*point.attributes).collect(),
        }
    }
    let mut all = BTreeSet::new();
    for resource_metrics in ExportMetricsServiceRequest::decode(bytes).unwrap().resource_metrics {
        let resource = attributes(&resource_metrics.resource.unwrap_or_default().attributes);
        for scope_metrics in &resource_metrics.scope_metrics {
            let scope = scope_metrics.scope.clone().unwrap_or_default();
            let mut base = resource.clone();
            base.extend(attributes(&scope.attributes));
            base.insert("otel_scope_name".to_owned(), scope.name);
            base.insert("otel_scope_version".to_owned(), scope.version);
            for metric in &scope_metrics.metrics {
                for point in metric.data.iter().flat_map(points) {
                    let mut labels = base.clone();
                    labels.extend(attributes(point));
                    labels.insert("__name__".to_owned(), metric.name.clone());
                    labels.retain(|_, value| !value.is_empty());
                    all.insert(labels);
                }
            }
        }
    }
    all
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn attributes(list: &Value) -> Labels {
    items(list).iter().map(|pair| (pair["key"].as_str().unwrap().to_owned(), text(&pair["value"]))).collect()
}

fn text(value: &Value) -> String {
    match json(value) {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// An attribute's value as plain JSON. Doubles of captures here are such that JSON writes them as OTLP's text does.
fn json(value: &Value) -> Value {
    let Some((kind, content)) = value.as_object().and_then(|object| object.iter().next()) else { return Value::Null };
    match kind.as_str() {
        "intValue" => match content.as_str() {
            Some(digits) => Value::from(digits.parse::<i64>().unwrap()),
            None => content.clone(),
        },
        "arrayValue" => items(&content["values"]).iter().map(json).collect(),
        "kvlistValue" => {
            let pair = |pair: &Value| (pair["key"].as_str().unwrap().to_owned(), json(&pair["value"]));
            items(&content["values"]).iter().map(pair).collect()
        }
        "stringValue" | "boolValue" | "doubleValue" | "bytesValue" => content.clone(),
        other => panic!("unknown kind of value {other}"),
    }
}
