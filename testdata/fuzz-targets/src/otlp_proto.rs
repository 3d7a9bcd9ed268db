//! The target that reads requests of OTLP as protobuf, beside a generated decoder.

use std::convert::Infallible;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronoxide_format::metadata::{MetricMetadata, Monotonicity};
use chronoxide_ingest::error::DecodeError;
use chronoxide_ingest::otlp::{
    AttributeList, MetricKind, Needs, Request, Requests, decode_otlp_json, decode_otlp_proto,
};
use chronoxide_ingest::protobuf::ProtoError;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data};
use prost::Message;

/// A request: what the generated decoder makes of it, and nothing else, is what is read of it.
///
/// # Panics
/// If a promise of ingest is broken.
pub fn otlp_proto(bytes: &[u8]) {
    // Field 1000, the former name of scopes, is unknown to the generated decoder.
    if bytes.windows(2).any(|key| key[0] & 0xf8 == 0xc0 && key[1] & 0x7f == 0x3e) {
        return;
    }
    match (ExportMetricsServiceRequest::decode(bytes), Parts::from_proto(bytes)) {
        (Ok(request), Ok(read)) => {
            assert_eq!(read.0, Parts::from_request(&request).0, "another reading finds other parts")
        }
        // The generated decoder reads nested lists a little deeper.
        (_, Err(ProtoError::TooDeep { .. })) => {}
        (Ok(_), Err(error)) => panic!("a request is refused: {error}"),
        // The generated decoder also checks fields that do not become labels.
        (Err(_), _) => {}
    }
}

/// The parts of a request as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parts(pub Vec<String>);

impl Parts {
    /// The parts of a request as protobuf.
    ///
    /// # Errors
    /// The request is malformed, or one of its attributes.
    pub fn from_proto(record: &[u8]) -> Result<Self, ProtoError> {
        let mut requests = Requests::default();
        let place = decode_otlp_proto(record, NEEDS, &mut requests)?;
        Self::read(requests.get(&place, record))
    }

    /// The parts of a request as JSON.
    ///
    /// # Errors
    /// The request is malformed.
    pub fn from_json(record: &[u8]) -> Result<Self, DecodeError<Infallible>> {
        let mut requests = Requests::default();
        let place = decode_otlp_json(record, NEEDS, &mut requests)?;
        Ok(Self::read(requests.get(&place, record))?)
    }

    fn read(request: Request<'_>) -> Result<Self, ProtoError> {
        let mut parts = Self::default();
        for resource in request.resources() {
            parts.0.push("resource".to_owned());
            parts.lists("Resource", resource.attributes())?;
            for scope in resource.scopes() {
                parts.0.push("scope".to_owned());
                parts.lists("Scope", scope.attributes())?;
                for each in scope.metrics() {
                    let metadata = metric(&each.metadata());
                    parts.0.push(metadata.clone());
                    for point in each.points() {
                        parts.lists("Point", point.attributes())?;
                        let (kind, time, flags) = (point.kind(), point.time_unix_nano(), point.flags());
                        let (bounds, none): (_, &[f64]) = (point.bounds(), &[]);
                        let (bounds, quantiles) =
                            if kind == MetricKind::Summary { (none, bounds) } else { (bounds, none) };
                        let has_sum = point.has_sum();
                        parts.0.push(format!("{kind:?} {time} {flags} {has_sum} {bounds:?} {quantiles:?}"));
                    }
                    parts.0.push(format!("end of {metadata} after {}", each.points().len()));
                }
            }
        }
        Ok(parts)
    }

    fn lists<'a>(&mut self, level: &str, lists: impl Iterator<Item = AttributeList<'a>>) -> Result<(), ProtoError> {
        for attribute in lists.flat_map(AttributeList::iter) {
            let (key, value) = attribute?;
            self.0.push(format!("{level} {key:?} = {value:?}"));
        }
        Ok(())
    }
}

const NEEDS: Needs =
    Needs { buckets: true, scope_schema_url: false, without_invalid_texts: false, checked_attributes: true };

fn metric(metadata: &MetricMetadata<'_>) -> String {
    let MetricMetadata { name, metric_type, temporality, monotonicity, unit, description } = metadata;
    let is_monotonic = *monotonicity == Monotonicity::Monotonic;
    format!("{} {name:?} {} {is_monotonic} {unit:?} {description:?}", metric_type.name(), temporality.name())
}

impl Parts {
    /// The parts of a request that a generated decoder read.
    #[must_use]
    pub fn from_request(request: &ExportMetricsServiceRequest) -> Self {
        let mut parts = Self::default();
        for of_resource in &request.resource_metrics {
            parts.0.push("resource".to_owned());
            parts.attributes("Resource", of_resource.resource.iter().flat_map(|resource| &resource.attributes));
            for of_scope in &of_resource.scope_metrics {
                parts.0.push("scope".to_owned());
                if let Some(scope) = &of_scope.scope {
                    parts.attributes("Scope", &scope.attributes);
                    for (key, value) in [("otel_scope_name", &scope.name), ("otel_scope_version", &scope.version)] {
                        if !value.is_empty() {
                            parts.0.push(format!("Scope {key:?} = {value:?}"));
                        }
                    }
                }
                of_scope.metrics.iter().for_each(|metric| parts.metric_of(metric));
            }
        }
        parts
    }

    fn attributes<'a>(&mut self, level: &str, attributes: impl IntoIterator<Item = &'a KeyValue>) {
        for KeyValue { key, value, .. } in attributes {
            let text = value.as_ref().map_or_else(String::new, text);
            self.0.push(format!("{level} {key:?} = {text:?}"));
        }
    }

    fn metric_of(&mut self, metric: &Metric) {
        let temporality = |code: i32| match code {
            1 => "delta",
            2 => "cumulative",
            _ => "unspecified",
        };
        let (name, temporality, is_monotonic) = match &metric.data {
            None => ("unknown", "unspecified", false),
            Some(Data::Gauge(_)) => ("gauge", "unspecified", false),
            Some(Data::Sum(sum)) => ("sum", temporality(sum.aggregation_temporality), sum.is_monotonic),
            Some(Data::Histogram(histogram)) => ("histogram", temporality(histogram.aggregation_temporality), false),
            Some(Data::ExponentialHistogram(histogram)) => {
                ("exponential-histogram", temporality(histogram.aggregation_temporality), false)
            }
            Some(Data::Summary(_)) => ("summary", "unspecified", false),
        };
        let (unit, description) = (&metric.unit, &metric.description);
        let metadata = format!("{name} {:?} {temporality} {is_monotonic} {unit:?} {description:?}", metric.name);
        self.0.push(metadata.clone());
        let point_count = self.points(metric);
        self.0.push(format!("end of {metadata} after {point_count}"));
    }

    fn points(&mut self, metric: &Metric) -> usize {
        let mut point = |kind: &str, attributes: &[KeyValue], time: u64, flags: u32, detail: (bool, &[f64], &[f64])| {
            self.attributes("Point", attributes);
            let (has_sum, bounds, quantiles) = detail;
            self.0.push(format!("{kind} {time} {flags} {has_sum} {bounds:?} {quantiles:?}"));
        };
        let none: (bool, &[f64], &[f64]) = (false, &[], &[]);
        match &metric.data {
            None => 0,
            Some(Data::Gauge(gauge)) => {
                let points = &gauge.data_points;
                points.iter().for_each(|each| point("Gauge", &each.attributes, each.time_unix_nano, each.flags, none));
                points.len()
            }
            Some(Data::Sum(sum)) => {
                let points = &sum.data_points;
                points.iter().for_each(|each| point("Sum", &each.attributes, each.time_unix_nano, each.flags, none));
                points.len()
            }
            Some(Data::Histogram(histogram)) => {
                for each in &histogram.data_points {
                    let bounds = &each.explicit_bounds[..each.bucket_counts.len().min(each.explicit_bounds.len())];
                    let detail = (each.sum.is_some(), bounds, &[][..]);
                    point("Histogram", &each.attributes, each.time_unix_nano, each.flags, detail);
                }
                histogram.data_points.len()
            }
            Some(Data::ExponentialHistogram(histogram)) => {
                for each in &histogram.data_points {
                    point("ExponentialHistogram", &each.attributes, each.time_unix_nano, each.flags, none);
                }
                histogram.data_points.len()
            }
            Some(Data::Summary(summary)) => {
                for each in &summary.data_points {
                    let quantiles: Vec<f64> = each.quantile_values.iter().map(|value| value.quantile).collect();
                    let detail = (false, &[][..], quantiles.as_slice());
                    point("Summary", &each.attributes, each.time_unix_nano, each.flags, detail);
                }
                summary.data_points.len()
            }
        }
    }
}

/// The text of an attribute.
fn text(value: &AnyValue) -> String {
    match &value.value {
        None | Some(Value::StringValueStrindex(_)) => String::new(),
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BytesValue(bytes)) => STANDARD.encode(bytes),
        Some(Value::DoubleValue(double)) if !double.is_finite() => if double.is_nan() {
            "NaN"
        } else if *double > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned(),
        Some(_) => json(value),
    }
}

/// An attribute as a part of a list.
fn json(value: &AnyValue) -> String {
    let quoted = |text: &str| serde_json::to_string(text).expect("text is JSON");
    match &value.value {
        None | Some(Value::StringValueStrindex(_)) => "null".to_owned(),
        Some(Value::BoolValue(bool)) => bool.to_string(),
        Some(Value::IntValue(int)) => int.to_string(),
        Some(Value::DoubleValue(double)) if double.is_finite() => {
            let size = double.abs();
            match format!("{double:e}").split_once('e') {
                _ if size == 0.0 || (1e-6..1e21).contains(&size) => double.to_string(),
                Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
                _ => format!("{double:e}"),
            }
        }
        Some(Value::ArrayValue(array)) => {
            let values: Vec<String> = array.values.iter().map(json).collect();
            format!("[{}]", values.join(","))
        }
        Some(Value::KvlistValue(list)) => {
            let mut pairs: Vec<(&str, String)> = Vec::new();
            for KeyValue { key, value, .. } in &list.values {
                pairs.retain(|(other, _)| other != key);
                pairs.push((key, value.as_ref().map_or_else(|| "null".to_owned(), json)));
            }
            pairs.sort_unstable();
            let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
            format!("{{{}}}", pairs.join(","))
        }
        Some(_) => quoted(&text(value)),
    }
}
