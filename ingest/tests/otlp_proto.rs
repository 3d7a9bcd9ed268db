//! Requests as protobuf are read as a generated decoder reads them, and as they are read from JSON.

use chronoxide_fuzz_targets::{Parts, otlp_proto};
use chronoxide_ingest::otlp::looks_like_request;
use chronoxide_workload::{Options, Set, Workload, encode};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList};
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint, metric::Data,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message;

fn read(bytes: &[u8]) -> Parts {
    Parts::from_proto(bytes).unwrap()
}

#[test]
fn the_workload_is_read_alike_from_both_encodings_and_by_both_decoders() {
    for set in [Set::Otlp, Set::Wide, Set::UniqueLabel] {
        let workload = Workload::new(Options { series: 3_000, set, ..Options::default() }).unwrap();
        let mut count = 0;
        for request in workload.requests() {
            let bytes = request.encode_to_vec();
            assert!(looks_like_request(&bytes[..bytes.len().min(64 << 10)]));
            let parts = read(&bytes);
            assert_eq!(parts, Parts::from_request(&request), "{set:?}");
            let mut line = Vec::new();
            encode::write_otlp_json(&request, &mut line).unwrap();
            assert_eq!(Parts::from_json(&line).unwrap(), parts, "{set:?}");
            count += 1;
        }
        assert!(count > 1);
    }
}

#[test]
fn captures_that_scopes_were_not_yet_in_are_read() {
    let request = |field: &[u8]| {
        let scope_metrics = ScopeMetrics {
            metrics: vec![Metric { name: "old".to_owned(), ..Metric::default() }],
            ..ScopeMetrics::default()
        };
        let message = scope_metrics.encode_to_vec();
        let inner = [field, &[message.len() as u8], &message].concat();
        [&[0x0a, inner.len() as u8], &*inner].concat()
    };
    assert_eq!(read(&request(&[0xc2, 0x3e])), read(&request(&[0x12])));
}

#[test]
fn lists_are_read_to_a_depth() {
    let nested = |depth: usize| {
        let mut value = AnyValue { value: Some(Value::IntValue(1)) };
        for _ in 0..depth {
            value = AnyValue { value: Some(Value::ArrayValue(ArrayValue { values: vec![value] })) };
        }
        let attribute = KeyValue { key: "a".to_owned(), value: Some(value), ..KeyValue::default() };
        let resource = Resource { attributes: vec![attribute], ..Resource::default() };
        let resource_metrics = ResourceMetrics { resource: Some(resource), ..ResourceMetrics::default() };
        ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
    };
    let text = format!("{}1{}", "[".repeat(32), "]".repeat(32));
    assert_eq!(read(&nested(32)).0[1], format!("Resource \"a\" = {text:?}"));
    let error = Parts::from_proto(&nested(33)).unwrap_err().to_string();
    assert!(error.starts_with("nested more than 32 levels deep at byte "), "{error}");
}

/// A value in pieces is joined, up to a limit: nested pieces would take many times their bytes.
#[test]
fn values_in_pieces_are_joined_up_to_4_mib() {
    let message = |key: u8, content: &[u8]| {
        let mut bytes = vec![key];
        prost::encode_length_delimiter(content.len(), &mut bytes).unwrap();
        bytes.extend_from_slice(content);
        bytes
    };
    // Attributes of a resource: one with a value in two pieces. The first is an unknown field.
    let request = |len: usize| {
        let value = AnyValue { value: Some(Value::StringValue("x".repeat(len))) }.encode_to_vec();
        let pieces = [message(0x12, b"\x78\x01"), message(0x12, &value)].concat();
        let attribute = message(0x0a, &[message(0x0a, b"a"), pieces].concat());
        message(0x0a, &message(0x0a, &attribute))
    };
    let joined = 2 + 1 + 4; // The first piece, and the key and the length of the text.
    assert_eq!(read(&request((4 << 20) - joined)).0[1].len(), "Resource \"a\" = \"\"".len() + (4 << 20) - joined);
    let error = Parts::from_proto(&request((4 << 20) - joined + 1)).unwrap_err().to_string();
    assert!(error.starts_with("more than 4194304 bytes of a value in pieces in the message at byte "), "{error}");
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c]", ".{0,12}"]
}

fn value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(None),
        name().prop_map(|text| Some(Value::StringValue(text))),
        any::<bool>().prop_map(|bool| Some(Value::BoolValue(bool))),
        any::<i64>().prop_map(|int| Some(Value::IntValue(int))),
        any::<u64>().prop_map(|bits| Some(Value::DoubleValue(f64::from_bits(bits)))),
        (-1000i32..1000).prop_map(|int| Some(Value::DoubleValue(f64::from(int) / 8.0))),
        vec(any::<u8>(), 0..6).prop_map(|bytes| Some(Value::BytesValue(bytes))),
    ]
    .prop_map(|value| AnyValue { value });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let pair = (name(), option::of(inner.clone()));
        prop_oneof![
            vec(inner, 0..3).prop_map(|values| Value::ArrayValue(ArrayValue { values })),
            vec(pair, 0..4).prop_map(|pairs| {
                let pair = |(key, value)| KeyValue { key, value, ..KeyValue::default() };
                Value::KvlistValue(KeyValueList { values: pairs.into_iter().map(pair).collect() })
            }),
        ]
        .prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let attribute = |(key, value)| KeyValue { key, value, ..KeyValue::default() };
    vec((name(), option::of(value())).prop_map(attribute), 0..4)
}

fn data() -> impl Strategy<Value = Option<Data>> {
    let number = (attributes(), any::<u64>(), any::<u32>()).prop_map(|(attributes, time_unix_nano, flags)| {
        NumberDataPoint { attributes, time_unix_nano, flags, ..NumberDataPoint::default() }
    });
    let bounds = (vec(any::<u64>(), 0..4), vec(-10.0..10.0, 0..4), option::of(0.0..1.0));
    let histogram = (attributes(), any::<u64>(), any::<u32>(), bounds).prop_map(
        |(attributes, time_unix_nano, flags, (bucket_counts, explicit_bounds, sum))| HistogramDataPoint {
            attributes,
            time_unix_nano,
            flags,
            bucket_counts,
            explicit_bounds,
            sum,
            ..HistogramDataPoint::default()
        },
    );
    let exponential = (attributes(), any::<u64>()).prop_map(|(attributes, time_unix_nano)| {
        ExponentialHistogramDataPoint { attributes, time_unix_nano, ..ExponentialHistogramDataPoint::default() }
    });
    let summary = (attributes(), vec((0.0..1.0, any::<u32>()), 0..3)).prop_map(|(attributes, quantiles)| {
        let value = |(quantile, value)| ValueAtQuantile { quantile, value: f64::from(value) };
        let quantile_values = quantiles.into_iter().map(value).collect();
        SummaryDataPoint { attributes, quantile_values, ..SummaryDataPoint::default() }
    });
    let numbers = vec(number, 0..3).boxed();
    prop_oneof![
        Just(None),
        numbers.clone().prop_map(|data_points| Some(Data::Gauge(Gauge { data_points }))),
        (numbers, -1..4i32, any::<bool>()).prop_map(|(data_points, aggregation_temporality, is_monotonic)| {
            Some(Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic }))
        }),
        (vec(histogram, 0..3), 0..3i32).prop_map(|(data_points, aggregation_temporality)| {
            Some(Data::Histogram(Histogram { data_points, aggregation_temporality }))
        }),
        (vec(exponential, 0..3), 0..3i32).prop_map(|(data_points, aggregation_temporality)| {
            Some(Data::ExponentialHistogram(ExponentialHistogram { data_points, aggregation_temporality }))
        }),
        vec(summary, 0..3).prop_map(|data_points| Some(Data::Summary(Summary { data_points }))),
    ]
}

fn request() -> impl Strategy<Value = ExportMetricsServiceRequest> {
    let metric = (name(), name(), name(), data()).prop_map(|(name, description, unit, data)| Metric {
        name,
        description,
        unit,
        data,
        ..Metric::default()
    });
    let scope = (name(), name(), attributes()).prop_map(|(name, version, attributes)| InstrumentationScope {
        name,
        version,
        attributes,
        ..InstrumentationScope::default()
    });
    let of_scope = (option::of(scope), vec(metric, 0..3)).prop_map(|(scope, metrics)| ScopeMetrics {
        scope,
        metrics,
        ..ScopeMetrics::default()
    });
    let resource = attributes().prop_map(|attributes| Resource { attributes, ..Resource::default() });
    let resource_metrics = (option::of(resource), vec(of_scope, 0..3)).prop_map(|(resource, scope_metrics)| {
        ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }
    });
    vec(resource_metrics, 0..3).prop_map(|resource_metrics| ExportMetricsServiceRequest { resource_metrics })
}

/// Moves the scopes of each resource to another position among its fields.
fn with_late_resources(request: &ExportMetricsServiceRequest, place: prop::sample::Index) -> Vec<u8> {
    let mut out = Vec::new();
    for resource_metrics in &request.resource_metrics {
        let piece = |piece: ResourceMetrics| piece.encode_to_vec();
        let scopes = resource_metrics.scope_metrics.iter();
        let mut pieces: Vec<Vec<u8>> = scopes
            .map(|of_scope| piece(ResourceMetrics { scope_metrics: vec![of_scope.clone()], ..Default::default() }))
            .collect();
        let resource = piece(ResourceMetrics { resource: resource_metrics.resource.clone(), ..Default::default() });
        pieces.insert(place.index(pieces.len() + 1), resource);
        let message = pieces.concat();
        out.push(0x0a);
        prost::encoding::encode_varint(message.len() as u64, &mut out);
        out.extend(message);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_request_is_read_as_a_generated_decoder_reads_it(
        request in request(),
        place in any::<prop::sample::Index>(),
    ) {
        let bytes = request.encode_to_vec();
        prop_assert_eq!(read(&bytes), Parts::from_request(&request));
        prop_assert_eq!(read(&with_late_resources(&request, place)), Parts::from_request(&request));
    }

    #[test]
    fn damage_and_joined_messages_are_read_as_a_generated_decoder_reads_them(
        requests in (request(), request()),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        // Two messages one behind the other are one; so are parts of them, which a changed length makes.
        let mut bytes = [requests.0.encode_to_vec(), requests.1.encode_to_vec()].concat();
        otlp_proto(&bytes);
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                otlp_proto(&bytes);
            }
        }
        if !bytes.is_empty() {
            otlp_proto(&bytes[..cut.index(bytes.len())]);
        }
    }
}

#[test]
fn a_value_in_very_many_pieces_is_read() {
    // 300,000 pieces of one array with an element each: what is copied for each piece would be copied very often.
    let piece = AnyValue {
        value: Some(Value::ArrayValue(ArrayValue { values: vec![AnyValue { value: Some(Value::BoolValue(true)) }] })),
    };
    let value = piece.encode_to_vec().repeat(300_000);
    let field = |key: u8, content: &[u8]| {
        let mut out = vec![key];
        prost::encoding::encode_varint(content.len() as u64, &mut out);
        out.extend_from_slice(content);
        out
    };
    let attribute = [field(0x0a, b"a"), field(0x12, &value)].concat();
    let request = field(0x0a, &field(0x0a, &field(0x0a, &attribute)));
    let expected = format!("Resource \"a\" = {:?}", format!("[{}]", vec!["true"; 300_000].join(",")));
    assert_eq!(read(&request).0[1], expected);
    otlp_proto(&request);
}
