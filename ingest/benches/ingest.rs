//! Points a second through decoding and storing: of series that are new, and of series that are known.
//!
//! The workload is generated, the same on every machine: pods with 14 resource attributes, two fields of a scope, and
//! points with 8 attributes and a name, which is 25 labels.

use chronoxide_format::metadata::MetricMetadata;
use chronoxide_ingest::otlp::{Level, OtlpSink, Point, decode_otlp_json};
use chronoxide_ingest::series_json::decode_series_json;
use chronoxide_ingest::{Collector, CollectorOptions};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::convert::Infallible;
use std::fmt::Write;
use std::hint::black_box;

const PODS: usize = 400;
const METRICS: usize = 10;
const POINTS: usize = 12;
const SERIES: usize = PODS * METRICS * POINTS;

fn resource(pod: usize) -> Vec<(&'static str, String)> {
    let service = pod % 40;
    vec![
        ("service.name", format!("service-{service}")),
        ("service.namespace", format!("team-{}", service % 7)),
        ("service.version", format!("1.{}.{}", service % 9, service % 5)),
        ("service.instance.id", format!("{:08x}-{pod}", pod.wrapping_mul(0x9e37_79b9))),
        ("k8s.cluster.name", "production-eu-1".to_owned()),
        ("k8s.namespace.name", format!("team-{}", service % 7)),
        ("k8s.deployment.name", format!("service-{service}")),
        ("k8s.pod.name", format!("service-{service}-5f7c-{pod}")),
        ("k8s.node.name", format!("node-{}", pod % 60)),
        ("cloud.availability_zone", format!("eu-1{}", ["a", "b", "c"][pod % 3])),
        ("host.arch", "amd64".to_owned()),
        ("telemetry.sdk.name", "opentelemetry".to_owned()),
        ("telemetry.sdk.language", ["go", "java", "python"][service % 3].to_owned()),
        ("telemetry.sdk.version", "1.28.0".to_owned()),
    ]
}

fn point(metric: usize, point: usize) -> Vec<(&'static str, String)> {
    vec![
        ("http.request.method", ["GET", "POST", "PUT"][point % 3].to_owned()),
        ("http.response.status_code", ["200", "404", "500", "503"][point / 3].to_owned()),
        ("http.route", format!("/api/v1/resource-{metric}")),
        ("network.protocol.name", "http".to_owned()),
        ("network.protocol.version", "1.1".to_owned()),
        ("server.address", format!("backend-{}.internal", metric % 4)),
        ("server.port", "8080".to_owned()),
        ("url.scheme", "https".to_owned()),
    ]
}

fn attributes(pairs: &[(&str, String)]) -> String {
    let pair = |(key, value): &(&str, String)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
    format!("[{}]", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
}

/// One request per pod.
fn requests() -> Vec<String> {
    let request = |pod| {
        let mut metrics = Vec::new();
        for metric in 0..METRICS {
            let points: Vec<String> = (0..POINTS)
                .map(|number| {
                    format!(
                        r#"{{"attributes":{},"startTimeUnixNano":"1732918734215440519","timeUnixNano":"{}","asInt":"{pod}"}}"#,
                        attributes(&point(metric, number)),
                        1_732_919_138_215_841_244_u64 + pod as u64,
                    )
                })
                .collect();
            metrics.push(format!(
                r#"{{"name":"http.server.metric.{metric}","unit":"1","sum":{{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{}]}}}}"#,
                points.join(",")
            ));
        }
        format!(
            r#"{{"resourceMetrics":[{{"resource":{{"attributes":{}}},"scopeMetrics":[{{"scope":{{"name":"http","version":"0.58.0"}},"metrics":[{}]}}]}}]}}"#,
            attributes(&resource(pod)),
            metrics.join(",")
        )
    };
    (0..PODS).map(request).collect()
}

/// The same series, one object each.
fn series() -> Vec<String> {
    let mut all = Vec::new();
    for pod in 0..PODS {
        for metric in 0..METRICS {
            for number in 0..POINTS {
                let mut object = format!(
                    r#"{{"__name__":"http.server.metric.{metric}","otel_scope_name":"http","otel_scope_version":"0.58.0""#
                );
                for (key, value) in resource(pod).iter().chain(&point(metric, number)) {
                    write!(object, r#","{key}":"{value}""#).expect("strings take all");
                }
                object.push('}');
                all.push(object);
            }
        }
    }
    all
}

/// Decodes and drops.
struct Nothing;

impl OtlpSink for Nothing {
    type Error = Infallible;
    fn attribute(&mut self, _: Level, key: &str, value: &str) -> Result<(), Infallible> {
        black_box((key, value));
        Ok(())
    }
    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
        black_box(metadata);
        Ok(())
    }
    fn point(&mut self, point: &Point<'_>) -> Result<(), Infallible> {
        black_box(point);
        Ok(())
    }
}

fn collect_otlp(collector: &mut Collector, requests: &[String]) {
    requests.iter().for_each(|request| decode_otlp_json(request.as_bytes(), collector).expect("requests are whole"));
}

fn collect_series(collector: &mut Collector, series: &[String]) {
    series.iter().for_each(|series| decode_series_json(series.as_bytes(), collector).expect("series are whole"));
}

fn otlp_json(criterion: &mut Criterion) {
    let requests = requests();
    let empty = || Collector::new(CollectorOptions::default(), Vec::new());
    let mut known = empty();
    collect_otlp(&mut known, &requests);
    assert_eq!(known.report().series, SERIES as u64);

    let mut group = criterion.benchmark_group("otlp-json");
    group.throughput(Throughput::Elements(SERIES as u64)).sample_size(20);
    group.bench_function("decoded only", |bencher| {
        bencher
            .iter(|| requests.iter().for_each(|request| decode_otlp_json(request.as_bytes(), &mut Nothing).unwrap()));
    });
    group.bench_function("known series", |bencher| bencher.iter(|| collect_otlp(&mut known, &requests)));
    group.bench_function("new series", |bencher| {
        bencher.iter_batched_ref(empty, |collector| collect_otlp(collector, &requests), BatchSize::PerIteration);
    });
    group.finish();
    assert_eq!(known.report().series, SERIES as u64);
}

fn series_json(criterion: &mut Criterion) {
    let series = series();
    let empty = || Collector::new(CollectorOptions::default(), Vec::new());
    let mut known = empty();
    collect_series(&mut known, &series);
    assert_eq!(known.report().series, SERIES as u64);

    let mut group = criterion.benchmark_group("series-json");
    group.throughput(Throughput::Elements(SERIES as u64)).sample_size(20);
    group.bench_function("known series", |bencher| bencher.iter(|| collect_series(&mut known, &series)));
    group.bench_function("new series", |bencher| {
        bencher.iter_batched_ref(empty, |collector| collect_series(collector, &series), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, otlp_json, series_json);
criterion_main!(benches);
