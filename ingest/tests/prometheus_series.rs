//! Points of OTLP become the classic series of Prometheus.

use std::io::Cursor;

use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions, Report};

use crate::canonical;

fn ingested(content: &str, assemble: AssembleOptions) -> (Report, Vec<String>) {
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    let content = content.as_bytes().to_vec();
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content)).unwrap()).unwrap();
    let (report, blocks) = ingest.finish().unwrap();
    let mut series: Vec<String> = blocks
        .iter()
        .flat_map(|block| canonical::block_series(block))
        .map(|labels| labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    series.sort();
    (report, series)
}

fn request(metrics: &str) -> String {
    let resource = r#"{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}},{"key":"le","value":{"stringValue":"x"}}]}"#;
    let resource_metrics = format!(r#"{{"resource":{resource},"scopeMetrics":[{{"metrics":[{metrics}]}}]}}"#);
    format!(r#"{{"resourceMetrics":[{resource_metrics}]}}"#)
}

/// Unit, type and monotonicity stand after the points, as writers of JSON have them.
const HISTOGRAM: &str = r#"{"name":"latency","histogram":{"dataPoints":[
    {"bucketCounts":["1","0","2","3"],"explicitBounds":[0.005,1,1000000],"count":"6","sum":7.5,
     "attributes":[{"key":"route","value":{"stringValue":"/"}}]}],"aggregationTemporality":2},"unit":"s"}"#;
const WITHOUT_SUM: &str = r#"{"name":"size","histogram":{"dataPoints":[{"count":"1"}]},"unit":"By"}"#;
const SUMMARY: &str = r#"{"name":"gc","summary":{"dataPoints":[{"quantileValues":[{"quantile":0.5,"value":1},{"quantile":1,"value":2},{"value":1}]}]}}"#;
const EXPONENTIAL: &str = r#"{"name":"native","exponentialHistogram":{"dataPoints":[{"count":"1","sum":1}]}}"#;
const COUNTER: &str =
    r#"{"name":"http.requests","sum":{"dataPoints":[{}],"isMonotonic":true,"aggregationTemporality":2},"unit":"1"}"#;

#[test]
fn histograms_and_summaries_become_their_classic_series() {
    let metrics = [HISTOGRAM, WITHOUT_SUM, SUMMARY, EXPONENTIAL].join(",").replace('\n', " ");
    let options = AssembleOptions { classic_histograms: true, ..AssembleOptions::default() };
    let (report, series) = ingested(&request(&metrics), options);
    let expected = [
        // The label of a bucket wins over an attribute of its name.
        "__name__=gc_count le=x service.name=cart",
        "__name__=gc_sum le=x service.name=cart",
        "__name__=gc le=x quantile=0 service.name=cart",
        "__name__=gc le=x quantile=0.5 service.name=cart",
        "__name__=gc le=x quantile=1 service.name=cart",
        "__name__=latency_bucket le=+Inf route=/ service.name=cart",
        "__name__=latency_bucket le=0.005 route=/ service.name=cart",
        "__name__=latency_bucket le=1 route=/ service.name=cart",
        "__name__=latency_bucket le=1000000 route=/ service.name=cart",
        "__name__=latency_count le=x route=/ service.name=cart",
        "__name__=latency_sum le=x route=/ service.name=cart",
        "__name__=native le=x service.name=cart",
        "__name__=size_bucket le=+Inf service.name=cart",
        "__name__=size_count le=x service.name=cart",
    ];
    let mut expected: Vec<String> = expected.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(series, expected);
    assert_eq!((report.points, report.series), (4, 14));
    // Otherwise a point is a series.
    let (report, series) = ingested(&request(&metrics), AssembleOptions::default());
    assert_eq!((report.points, series.len()), (4, 4));
}

#[test]
fn names_types_and_units_are_those_of_prometheus() {
    let metrics = [COUNTER, HISTOGRAM, EXPONENTIAL].join(",").replace('\n', " ");
    let options = AssembleOptions { prometheus_names: true, type_and_unit_labels: true, ..AssembleOptions::default() };
    let (_, series) = ingested(&request(&metrics), options);
    assert_eq!(
        series,
        [
            "__name__=http_requests_total __type__=counter job=cart",
            "__name__=latency_seconds __type__=histogram __unit__=seconds job=cart route=/",
            "__name__=native __type__=histogram job=cart",
            "__name__=target_info job=cart le=x",
        ]
    );
    let classic = AssembleOptions {
        classic_histograms: true,
        prometheus_names: true,
        type_and_unit_labels: true,
        ..AssembleOptions::default()
    };
    let (_, series) = ingested(&request(&HISTOGRAM.replace('\n', " ")), classic);
    assert_eq!(
        series[0],
        "__name__=latency_seconds_bucket __type__=histogram __unit__=seconds job=cart le=+Inf route=/"
    );
    assert_eq!(series.len(), 7);
}

#[test]
fn text_says_types_and_units_itself() {
    let text = "# HELP h_seconds What.\n# TYPE h_seconds histogram\n# UNIT h_seconds seconds\nh_seconds_bucket{le=\"1\"} 1\n\
                # TYPE up gauge\nup 1\nother 1\n";
    let options = AssembleOptions { type_and_unit_labels: true, ..AssembleOptions::default() };
    let (_, series) = ingested(text, options);
    assert_eq!(
        series,
        [
            "__name__=h_seconds_bucket __type__=histogram __unit__=seconds le=1.0",
            "__name__=other",
            "__name__=up __type__=gauge",
        ]
    );
}

#[test]
fn types_are_those_of_the_own_metric_and_the_own_input() {
    let options = AssembleOptions { type_and_unit_labels: true, ..AssembleOptions::default() };
    let mut ingest = Ingest::new(IngestOptions { assemble: options, ..IngestOptions::default() }, Vec::new());
    for content in [
        "# TYPE a counter\n# TYPE b gauge\na 1\nb 1\n",
        "{\"__name__\":\"a\",\"__name__\":\"a\",\"from\":\"elsewhere\"}\n",
    ] {
        ingest.read(Source::new("capture".to_owned(), Cursor::new(content)).unwrap()).unwrap();
    }
    let (report, blocks) = ingest.finish().unwrap();
    let mut found: Vec<String> = canonical::block_series(&blocks[0])
        .iter()
        .map(|labels| labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    found.sort();
    assert_eq!(found, ["__name__=a __type__=counter", "__name__=a from=elsewhere", "__name__=b __type__=gauge"]);
    assert_eq!(report.duplicate_keys.point, 1);
}

#[test]
fn expanded_points_survive_a_cut_in_their_midst() {
    let metrics = [HISTOGRAM, SUMMARY].join(",").replace('\n', " ");
    let options = AssembleOptions { classic_histograms: true, ..AssembleOptions::default() };
    let (_, whole) = ingested(&request(&metrics), options.clone());
    for max_series in 1..8 {
        let (_, cut) = ingested(&request(&metrics), AssembleOptions { max_series, ..options.clone() });
        assert_eq!(cut, whole, "{max_series}");
    }
}
