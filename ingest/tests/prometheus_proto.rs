//! Metric families as protobuf give the same series as the same registry as text.
//!
//! Prometheus's client library for Go wrote both captures (`testdata/captures/tools/exposition`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_format::metadata::{MetricType, Temporality};
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::prometheus::proto::{decode_metric_family, looks_like_metric_families};
use chronoxide_ingest::prometheus::text::{TextDecoder, TimestampUnit};
use chronoxide_ingest::{AssembleOptions, Ingest, IngestError, IngestOptions};

use crate::taken::{Metadata, Series, Taken};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/exposition").join(name)
}

/// The messages of a capture, cut here once more.
fn messages(mut content: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while !content.is_empty() {
        let mut len = 0;
        for place in 0.. {
            let (&byte, rest) = content.split_first().unwrap();
            content = rest;
            len |= usize::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        let (message, rest) = content.split_at(len);
        messages.push(message);
        content = rest;
    }
    messages
}

fn from_proto(classic_histograms: bool) -> Taken {
    let content = std::fs::read(capture("metrics.pb")).unwrap();
    let mut taken = Taken::default();
    for message in messages(&content) {
        decode_metric_family(message, classic_histograms, &mut taken).unwrap();
    }
    taken
}

fn from_text() -> Taken {
    let content = std::fs::read(capture("metrics.prom")).unwrap();
    let (mut taken, mut decoder) = (Taken::default(), TextDecoder::new(TimestampUnit::ByShape));
    for line in content.split(|&byte| byte == b'\n') {
        decoder.line(line, &mut taken).unwrap();
    }
    decoder.finish(&mut taken).unwrap();
    taken
}

/// Series whose labels are sorted and not empty, without those of the families of these names.
fn series(taken: &Taken, without: &[&str]) -> BTreeSet<Series> {
    let mut all = BTreeSet::new();
    for series in &taken.series {
        let mut series = series.clone();
        series.labels.retain(|(_, value)| !value.is_empty());
        series.labels.sort();
        let name = &series.labels.iter().find(|(name, _)| name == "__name__").unwrap().1;
        if !without.iter().any(|family| name.starts_with(family)) {
            all.insert(series);
        }
    }
    all
}

fn named(name: &str) -> Series {
    Series { labels: vec![("__name__".to_owned(), name.to_owned())], ..Series::default() }
}

#[test]
fn text_and_protobuf_have_the_same_series() {
    let text = from_text();
    let expected = series(&text, &["native_seconds"]);
    assert_eq!(expected.len(), 32);
    let found = series(&from_proto(true), &["native_seconds"]);
    assert_eq!(found, expected);
    // Without classic series a histogram with native buckets is one series.
    let found = series(&from_proto(false), &[]);
    let mut expected = series(&text, &["native_seconds", "both_seconds"]);
    expected.extend([named("native_seconds"), named("both_seconds")]);
    assert_eq!(found, expected);
}

#[test]
fn bounds_and_quantiles_are_as_prometheus_3_stores_them() {
    let values = |taken: &Taken, name: &str| -> BTreeSet<String> {
        let labels = taken.series.iter().flat_map(|series| &series.labels);
        labels.filter(|label| label.0 == name).map(|label| label.1.clone()).collect()
    };
    for taken in [from_text(), from_proto(true)] {
        let bounds = ["+Inf", "0.005", "0.1", "1.0", "1.2345678e+07", "1.5", "10.0", "1e+06", "1e-07", "2.0", "2.5"];
        assert_eq!(values(&taken, "le"), bounds.map(str::to_owned).into());
        assert_eq!(values(&taken, "quantile"), ["0.5", "0.99", "1.0"].map(str::to_owned).into());
    }
}

#[test]
fn families_have_the_same_metadata() {
    let sorted = |taken: Taken| {
        let mut all: Vec<Metadata> = taken.metadata;
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    };
    let (mut text, proto) = (sorted(from_text()), sorted(from_proto(false)));
    assert_eq!(text.len(), 10);
    // The older text format has no gauge histograms.
    let queue_age = text.iter_mut().find(|metadata| metadata.name == "queue_age").unwrap();
    assert_eq!(queue_age.metric_type, MetricType::Histogram);
    (queue_age.metric_type, queue_age.temporality) = (MetricType::GaugeHistogram, Temporality::Unspecified);
    assert_eq!(proto, text);
}

fn ingested(options: IngestOptions, content: &[u8]) -> Result<chronoxide_ingest::Report, IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    ingest.read(Source::new("capture".to_owned(), std::io::Cursor::new(content.to_vec()))?)?;
    Ok(ingest.finish()?.0)
}

#[test]
fn a_capture_is_recognized_and_read_record_by_record() {
    let content = std::fs::read(capture("metrics.pb")).unwrap();
    assert!(looks_like_metric_families(&content));
    let report = ingested(IngestOptions::default(), &content).unwrap();
    assert_eq!((report.records, report.points, report.torn_records), (10, 1, 0));
    assert_eq!(report.series, series(&from_proto(false), &[]).len() as u64);
    let classic = AssembleOptions { classic_histograms: true, ..AssembleOptions::default() };
    let report = ingested(IngestOptions { assemble: classic, ..IngestOptions::default() }, &content).unwrap();
    assert_eq!(report.series, series(&from_proto(true), &[]).len() as u64);
}

#[test]
fn a_capture_that_is_cut_anywhere_gives_its_whole_families() {
    let content = std::fs::read(capture("metrics.pb")).unwrap();
    let options = IngestOptions { format: Some(Format::PrometheusProto), ..IngestOptions::default() };
    let mut ends = vec![0];
    for message in messages(&content) {
        let prefix = if message.len() < 0x80 { 1 } else { 2 };
        ends.push(ends.last().unwrap() + prefix + message.len());
    }
    for len in 0..=content.len() {
        let report = ingested(options.clone(), &content[..len]).unwrap();
        let whole = ends.iter().filter(|&&end| end <= len).count() as u64 - 1;
        let torn = u64::from(!ends.contains(&len));
        assert_eq!((report.records, report.torn_records), (whole, torn), "{len} bytes");
    }
}

#[test]
fn errors_name_their_place() {
    // A name; a metric that is not a message.
    for (message, expected) in [
        (&b"\x18\x01"[..], "the metric family has no name"),
        (b"\x0a\x02up\x22\x02\x0a\x7f", "metric 0 of the family \"up\" is malformed"),
        (b"\x0a\x02\xff\xff", "not a metric family"),
    ] {
        let mut taken = Taken::default();
        let error = decode_metric_family(message, false, &mut taken).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
        assert!(!taken.is_torn());
    }
}

#[test]
fn float_labels_of_text_can_be_kept_as_they_are_written() {
    let line = b"x_bucket{le=\"1\"} 1";
    let lines = |keeps: bool, type_line: &[u8]| {
        let decoder = TextDecoder::new(TimestampUnit::ByShape);
        let mut decoder = if keeps { decoder.keep_float_labels() } else { decoder };
        let mut taken = Taken::default();
        decoder.line(type_line, &mut taken).unwrap();
        decoder.line(line, &mut taken).unwrap();
        taken.series[0].labels[1].1.clone()
    };
    assert_eq!(lines(false, b"# TYPE x histogram"), "1.0");
    assert_eq!(lines(true, b"# TYPE x histogram"), "1");
    // The last TYPE decides, as in Prometheus.
    assert_eq!(lines(false, b"# TYPE x gauge"), "1");
    assert_eq!(lines(false, b"# TYPE x summary"), "1");
    assert_eq!(lines(false, b"# TYPE y histogram"), "1.0");
}

/// A histogram in two pieces is their concatenation; spans alone, of either sign, make it native.
#[test]
fn histograms_in_pieces_and_with_spans_alone_are_read() {
    let read = |message: &[u8]| {
        let mut taken = Taken::default();
        decode_metric_family(message, false, &mut taken).unwrap();
        taken
            .series
            .iter()
            .map(|series| series.labels.iter().map(|(_, value)| value.clone()).collect())
            .collect::<Vec<Vec<String>>>()
    };
    let bucket = |bound: f64| [&b"\x3a\x0b\x1a\x09\x11"[..], &bound.to_le_bytes()].concat();
    let metric = |content: &[u8]| [&b"\x0a\x01x\x18\x04\x22"[..], &[content.len() as u8], content].concat();
    let names = |all: Vec<Vec<String>>| all.into_iter().map(|labels| labels.join(" ")).collect::<Vec<String>>();
    let pieces = [bucket(1.0), bucket(2.0)].concat();
    assert_eq!(names(read(&metric(&pieces))), ["x_bucket 1.0", "x_bucket 2.0", "x_bucket +Inf", "x_sum", "x_count"]);
    for span in [b"\x3a\x02\x4a\x00", b"\x3a\x02\x62\x00"] {
        assert_eq!(names(read(&metric(span))), ["x"], "{span:x?}");
    }
}
