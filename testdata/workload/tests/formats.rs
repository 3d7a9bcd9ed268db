//! Holds the formats to each other, and their points to their windows.

use std::collections::BTreeSet;

use chronoxide_workload::{ExportMetricsServiceRequest, Format, Options, Set, Workload};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;

use crate::oracle::{Labels, bytes, decode_proto, json_labels, points, proto_labels};

fn small(set: Set) -> Options {
    let series = if set == Set::Wide { 60 } else { 3_000 };
    Options { series, set, windows: 2..4, ..Options::default() }
}

#[test]
fn all_formats_and_the_library_have_the_same_labelsets() {
    for set in Set::ALL {
        let options = small(set);
        let expected = proto_labels(&bytes(&options, Format::OtlpProto));
        assert_eq!(expected.len() as u64, 2 * options.series, "{}", set.name());
        assert_eq!(json_labels(&bytes(&options, Format::SeriesJson)), expected, "{}", set.name());
        let workload = Workload::new(options).unwrap();
        let owned: Vec<Labels> = workload.labelsets().map(|labels| labels.into_iter().collect()).collect();
        assert_eq!(owned, expected, "{}", set.name());
        assert!(workload.labelsets().all(|labels| labels.is_sorted_by(|a, b| a.0 < b.0)), "{}", set.name());
    }
}

/// The reader is that of OpenTelemetry's own crate.
#[test]
fn json_says_what_protobuf_says() {
    let mut kinds = BTreeSet::new();
    for set in Set::ALL {
        let requests = decode_proto(&bytes(&small(set), Format::OtlpProto));
        let json = bytes(&small(set), Format::OtlpJson);
        let lines: Vec<&str> = std::str::from_utf8(&json).unwrap().lines().collect();
        assert_eq!(lines.len(), requests.len());
        for (line, request) in lines.into_iter().zip(&requests) {
            let read: ExportMetricsServiceRequest = serde_json::from_str(line).unwrap();
            assert_eq!(read, *request);
        }
        let scopes = requests.iter().flat_map(|request| &request.resource_metrics[0].scope_metrics);
        kinds.extend(scopes.flat_map(|scope| &scope.metrics).map(|metric| match metric.data.as_ref().unwrap() {
            Data::Gauge(_) => "gauge".to_owned(),
            Data::Sum(sum) => format!("sum {} {}", sum.aggregation_temporality, sum.is_monotonic),
            Data::Histogram(_) => "histogram".to_owned(),
            Data::ExponentialHistogram(_) => "exponential histogram".to_owned(),
            Data::Summary(_) => "summary".to_owned(),
        }));
    }
    let all = ["exponential histogram", "gauge", "histogram", "sum 1 true", "sum 2 false", "sum 2 true", "summary"];
    assert!(kinds.iter().eq(all), "{kinds:?}");
}

#[test]
fn integers_of_64_bits_are_strings_in_json() {
    let json = bytes(&Options { series: 500, ..Options::default() }, Format::OtlpJson);
    let text = std::str::from_utf8(&json).unwrap();
    for name in ["timeUnixNano", "startTimeUnixNano", "asInt", "intValue", "count", "zeroCount"] {
        let key = format!("\"{name}\":");
        let mut values = text.match_indices(&key).map(|(at, key)| &text[at + key.len()..]);
        assert!(values.clone().count() > 0 || name == "zeroCount", "{name}");
        assert!(values.all(|value| value.starts_with('"')), "{name}");
    }
}

#[test]
fn points_are_within_their_window_and_scrapes_follow_each_other() {
    for set in Set::ALL {
        for (window_seconds, scrapes) in [(3600, 1), (3600, 4), (60, 60), (1, 1000)] {
            let series = if set == Set::Wide { 30 } else { 60 };
            let options = Options { series, set, windows: 3..5, window_seconds, scrapes, ..Options::default() };
            let workload = Workload::new(options.clone()).unwrap();
            let interval = u64::from(window_seconds) * 1_000_000_000 / u64::from(scrapes);
            let mut count = 0;
            let mut requests = workload.requests();
            while let Some(request) = requests.next() {
                let window = requests.window();
                for point in points(&request) {
                    let range = options.window_nanos(window);
                    assert!(range.contains(&point.time), "{} is not in {range:?}", point.time);
                    assert!(point.start <= point.time);
                    let scrape = count / series % u64::from(scrapes);
                    assert_eq!((point.time - range.start) / interval, scrape);
                    count += 1;
                }
                // Requests of some thousand scrapes are checked by their beginning.
                if count > 8_000 {
                    break;
                }
            }
            assert!(count > 8_000 || count == 2 * series * u64::from(scrapes), "{count} points");
        }
    }
}

#[test]
fn buckets_add_up_to_the_count() {
    let mut seen = 0;
    for request in Workload::new(small(Set::Otlp)).unwrap().requests() {
        for metric in request.resource_metrics[0].scope_metrics.iter().flat_map(|scope| &scope.metrics) {
            match metric.data.as_ref().unwrap() {
                Data::Histogram(histogram) => {
                    for point in &histogram.data_points {
                        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                        assert!(point.explicit_bounds.is_sorted());
                        seen += 1;
                    }
                }
                Data::ExponentialHistogram(histogram) => {
                    for point in &histogram.data_points {
                        let positive = &point.positive.as_ref().unwrap().bucket_counts;
                        assert_eq!(positive.iter().sum::<u64>() + point.zero_count, point.count);
                        seen += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert!(seen > 1_000, "only {seen} histograms were seen");
}

#[test]
fn counters_never_shrink_while_a_pod_lives() {
    let options = Options { series: 500, windows: 0..3, scrapes: 2, churn: 0.0, ..Options::default() };
    let mut counts: std::collections::BTreeMap<Labels, Vec<u64>> = std::collections::BTreeMap::new();
    for request in Workload::new(options).unwrap().requests() {
        for scope in &request.resource_metrics[0].scope_metrics {
            for metric in &scope.metrics {
                let Some(Data::Histogram(histogram)) = &metric.data else { continue };
                for point in &histogram.data_points {
                    let mut alone = request.clone();
                    let mut metric = metric.clone();
                    let mut data = histogram.clone();
                    data.data_points = vec![point.clone()];
                    metric.data = Some(Data::Histogram(data));
                    let mut scope = scope.clone();
                    scope.metrics = vec![metric];
                    alone.resource_metrics[0].scope_metrics = vec![scope];
                    let labels = points(&alone).remove(0).labels;
                    counts.entry(labels).or_default().push(point.count);
                }
            }
        }
    }
    assert!(counts.len() > 50, "only {} histograms were seen", counts.len());
    for (labels, counts) in counts {
        assert_eq!(counts.len(), 6, "{labels:?}");
        assert!(counts.is_sorted(), "{labels:?}: {counts:?}");
    }
}
