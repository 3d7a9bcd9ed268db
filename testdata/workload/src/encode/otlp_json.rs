//! Requests in the JSON mapping of OTLP: names in camel case, 64-bit integers as strings, enums as numbers, and nothing
//! for what has its default.

use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
    SummaryDataPoint,
};

use crate::encode::object::{Object, display, double};

/// Writes a request as one line of JSON.
///
/// It knows what the workload has: values that are texts, numbers or flags, and no exemplars.
///
/// # Errors
///
/// What `out` says.
pub fn write_otlp_json(request: &ExportMetricsServiceRequest, out: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    let mut object = Object::begin(&mut line);
    object.objects("resourceMetrics", &request.resource_metrics, resource_metrics);
    object.end();
    line.push(b'\n');
    out.write_all(&line)
}

fn resource_metrics(resource_metrics: &ResourceMetrics, object: &mut Object<'_>) {
    if let Some(resource) = &resource_metrics.resource {
        object.object("resource", |object| attributes(&resource.attributes, object));
    }
    object.objects("scopeMetrics", &resource_metrics.scope_metrics, scope_metrics);
    object.text_if_any("schemaUrl", &resource_metrics.schema_url);
}

fn scope_metrics(scope_metrics: &ScopeMetrics, object: &mut Object<'_>) {
    if let Some(scope) = &scope_metrics.scope {
        object.object("scope", |object| {
            object.text_if_any("name", &scope.name);
            object.text_if_any("version", &scope.version);
            attributes(&scope.attributes, object);
        });
    }
    object.objects("metrics", &scope_metrics.metrics, metric);
    object.text_if_any("schemaUrl", &scope_metrics.schema_url);
}

fn metric(metric: &Metric, object: &mut Object<'_>) {
    object.text_if_any("name", &metric.name);
    object.text_if_any("description", &metric.description);
    object.text_if_any("unit", &metric.unit);
    match &metric.data {
        Some(Data::Gauge(gauge)) => {
            object.object("gauge", |object| object.objects("dataPoints", &gauge.data_points, number_point));
        }
        Some(Data::Sum(sum)) => object.object("sum", |object| {
            object.objects("dataPoints", &sum.data_points, number_point);
            object.plain("aggregationTemporality", sum.aggregation_temporality);
            if sum.is_monotonic {
                object.plain("isMonotonic", true);
            }
        }),
        Some(Data::Histogram(histogram)) => object.object("histogram", |object| {
            object.objects("dataPoints", &histogram.data_points, histogram_point);
            object.plain("aggregationTemporality", histogram.aggregation_temporality);
        }),
        Some(Data::ExponentialHistogram(histogram)) => object.object("exponentialHistogram", |object| {
            object.objects("dataPoints", &histogram.data_points, exponential_point);
            object.plain("aggregationTemporality", histogram.aggregation_temporality);
        }),
        Some(Data::Summary(summary)) => {
            object.object("summary", |object| object.objects("dataPoints", &summary.data_points, summary_point));
        }
        None => {}
    }
}

/// Writes the fields that points of all kinds have.
fn point(list: &[KeyValue], start: u64, time: u64, object: &mut Object<'_>) {
    attributes(list, object);
    if start > 0 {
        object.long("startTimeUnixNano", start);
    }
    object.long("timeUnixNano", time);
}

fn number_point(number: &NumberDataPoint, object: &mut Object<'_>) {
    point(&number.attributes, number.start_time_unix_nano, number.time_unix_nano, object);
    match number.value {
        Some(Number::AsInt(value)) => object.long("asInt", value),
        Some(Number::AsDouble(value)) => object.double("asDouble", value),
        None => {}
    }
}

fn histogram_point(histogram: &HistogramDataPoint, object: &mut Object<'_>) {
    point(&histogram.attributes, histogram.start_time_unix_nano, histogram.time_unix_nano, object);
    object.long("count", histogram.count);
    statistics(histogram.sum, histogram.min, histogram.max, object);
    object.list("bucketCounts", &histogram.bucket_counts, long);
    object.list("explicitBounds", &histogram.explicit_bounds, |bound, out| double(*bound, out));
}

fn exponential_point(histogram: &ExponentialHistogramDataPoint, object: &mut Object<'_>) {
    point(&histogram.attributes, histogram.start_time_unix_nano, histogram.time_unix_nano, object);
    object.long("count", histogram.count);
    statistics(histogram.sum, histogram.min, histogram.max, object);
    object.plain("scale", histogram.scale);
    object.long("zeroCount", histogram.zero_count);
    object.double("zeroThreshold", histogram.zero_threshold);
    for (name, side) in [("positive", &histogram.positive), ("negative", &histogram.negative)] {
        if let Some(side) = side {
            object.object(name, |object| buckets(side, object));
        }
    }
}

fn buckets(buckets: &Buckets, object: &mut Object<'_>) {
    object.plain("offset", buckets.offset);
    object.list("bucketCounts", &buckets.bucket_counts, long);
}

fn statistics(sum: Option<f64>, min: Option<f64>, max: Option<f64>, object: &mut Object<'_>) {
    for (name, value) in [("sum", sum), ("min", min), ("max", max)] {
        if let Some(value) = value {
            object.double(name, value);
        }
    }
}

fn summary_point(summary: &SummaryDataPoint, object: &mut Object<'_>) {
    point(&summary.attributes, summary.start_time_unix_nano, summary.time_unix_nano, object);
    object.long("count", summary.count);
    object.double("sum", summary.sum);
    object.objects("quantileValues", &summary.quantile_values, |value, object| {
        object.double("quantile", value.quantile);
        object.double("value", value.value);
    });
}

fn long(value: &u64, out: &mut Vec<u8>) {
    display(format_args!("\"{value}\""), out);
}

fn attributes(list: &[KeyValue], object: &mut Object<'_>) {
    object.objects("attributes", list, |attribute, object| {
        object.text("key", &attribute.key);
        object.object("value", |object| match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(Value::StringValue(text)) => object.text("stringValue", text),
            Some(Value::IntValue(number)) => object.long("intValue", number),
            Some(Value::BoolValue(flag)) => object.plain("boolValue", flag),
            Some(Value::DoubleValue(value)) => object.double("doubleValue", *value),
            _ => {}
        });
    });
}
