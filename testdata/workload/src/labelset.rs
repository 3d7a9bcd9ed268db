//! The labels of points: one series for each distinct labelset.

use std::borrow::Cow;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;

/// Names and values of a series, in the order of names.
pub type Labelset = Vec<(String, String)>;

/// A name and its value, borrowed from a request as far as it is a text there.
pub type Label<'r> = (&'r str, Cow<'r, str>);

/// Shows the labels of each point of a request, in the order of names, each name once.
///
/// They are `__name__`, the attributes of the point, `otel_scope_name` and `otel_scope_version`, and the attributes of
/// the resource; where two have one name, the one named first here wins. Empty values make no label.
pub fn visit_labelsets<'r>(request: &'r ExportMetricsServiceRequest, mut visit: impl FnMut(&[Label<'r>])) {
    let mut labels: Vec<Label<'r>> = Vec::new();
    for resource_metrics in &request.resource_metrics {
        let resource = resource_metrics.resource.as_ref().map_or(&[][..], |resource| &resource.attributes);
        for scope_metrics in &resource_metrics.scope_metrics {
            let mut base: Vec<Label<'r>> = scope_metrics.scope.iter().flat_map(scope_labels).collect();
            base.extend(resource.iter().map(label));
            for metric in &scope_metrics.metrics {
                for attributes in metric.data.iter().flat_map(point_attributes) {
                    labels.clear();
                    labels.push(("__name__", Cow::Borrowed(&metric.name)));
                    labels.extend(attributes.iter().map(label));
                    labels.extend_from_slice(&base);
                    // A stable sort keeps the order of equal names, so that the first wins.
                    labels.sort_by_key(|(name, _)| *name);
                    labels.dedup_by_key(|(name, _)| *name);
                    labels.retain(|(_, value)| !value.is_empty());
                    visit(&labels);
                }
            }
        }
    }
}

fn scope_labels(scope: &InstrumentationScope) -> impl Iterator<Item = Label<'_>> {
    let own = [("otel_scope_name", &scope.name), ("otel_scope_version", &scope.version)];
    let own = own.into_iter().map(|(name, value)| (name, Cow::Borrowed(value.as_str())));
    own.chain(scope.attributes.iter().map(label))
}

fn label(attribute: &KeyValue) -> Label<'_> {
    let value = match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => Cow::Borrowed(text.as_str()),
        Some(Value::IntValue(number)) => number.to_string().into(),
        Some(Value::BoolValue(flag)) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        // The workload has no other values.
        _ => Cow::Borrowed(""),
    };
    (&attribute.key, value)
}

/// The attributes of each point of a metric.
fn point_attributes(data: &Data) -> Box<dyn Iterator<Item = &[KeyValue]> + '_> {
    match data {
        Data::Gauge(gauge) => Box::new(gauge.data_points.iter().map(|point| point.attributes.as_slice())),
        Data::Sum(sum) => Box::new(sum.data_points.iter().map(|point| point.attributes.as_slice())),
        Data::Histogram(histogram) => Box::new(histogram.data_points.iter().map(|point| point.attributes.as_slice())),
        Data::ExponentialHistogram(histogram) => {
            Box::new(histogram.data_points.iter().map(|point| point.attributes.as_slice()))
        }
        Data::Summary(summary) => Box::new(summary.data_points.iter().map(|point| point.attributes.as_slice())),
    }
}
