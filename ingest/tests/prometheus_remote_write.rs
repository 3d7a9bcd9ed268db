//! Remote-write requests give the series that were written into them, in both versions.

use std::collections::BTreeMap;

use chronoxide_format::metadata::MetricType;
use chronoxide_ingest::prometheus::remote_write::{decode_remote_write, looks_like_remote_write};
use proptest::prelude::*;
use prost::Message;

use crate::taken::Taken;

/// The protocol as its documents have it, with fields that the decoder does not look at.
pub mod v1 {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct WriteRequest {
        #[prost(message, repeated, tag = "1")]
        pub timeseries: Vec<TimeSeries>,
        #[prost(message, repeated, tag = "3")]
        pub metadata: Vec<MetricMetadata>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TimeSeries {
        #[prost(message, repeated, tag = "1")]
        pub labels: Vec<Label>,
        #[prost(message, repeated, tag = "2")]
        pub samples: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub exemplars: Vec<Exemplar>,
        #[prost(message, repeated, tag = "4")]
        pub histograms: Vec<Histogram>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub value: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(double, tag = "1")]
        pub value: f64,
        #[prost(int64, tag = "2")]
        pub timestamp: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Exemplar {
        #[prost(message, repeated, tag = "1")]
        pub labels: Vec<Label>,
        #[prost(double, tag = "2")]
        pub value: f64,
        #[prost(int64, tag = "3")]
        pub timestamp: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Histogram {
        #[prost(uint64, tag = "1")]
        pub count_int: u64,
        #[prost(double, tag = "3")]
        pub sum: f64,
        #[prost(sint64, repeated, tag = "12")]
        pub positive_deltas: Vec<i64>,
        #[prost(int64, tag = "15")]
        pub timestamp: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct MetricMetadata {
        #[prost(int32, tag = "1")]
        pub kind: i32,
        #[prost(string, tag = "2")]
        pub metric_family_name: String,
        #[prost(string, tag = "4")]
        pub help: String,
        #[prost(string, tag = "5")]
        pub unit: String,
    }
}

pub mod v2 {
    use super::v1::{Histogram, Sample};

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Request {
        #[prost(string, repeated, tag = "4")]
        pub symbols: Vec<String>,
        #[prost(message, repeated, tag = "5")]
        pub timeseries: Vec<TimeSeries>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TimeSeries {
        #[prost(uint32, repeated, tag = "1")]
        pub labels_refs: Vec<u32>,
        #[prost(message, repeated, tag = "2")]
        pub samples: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub histograms: Vec<Histogram>,
        #[prost(message, optional, tag = "5")]
        pub metadata: Option<Metadata>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Metadata {
        #[prost(int32, tag = "1")]
        pub kind: i32,
        #[prost(uint32, tag = "3")]
        pub help_ref: u32,
        #[prost(uint32, tag = "4")]
        pub unit_ref: u32,
    }
}

const MAX_LEN: usize = 1 << 20;

pub fn body(message: &impl Message) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(&message.encode_to_vec()).unwrap()
}

fn read(body: &[u8]) -> Result<Taken, String> {
    let mut taken = Taken::default();
    decode_remote_write(body, MAX_LEN, &mut taken).map_err(|error| error.to_string())?;
    Ok(taken)
}

fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A series: labels, times of samples, times of histograms, in milliseconds.
pub type Model = (Vec<(String, String)>, Vec<i64>, Vec<i64>);

fn points(times: &[i64]) -> Vec<v1::Sample> {
    times.iter().map(|&timestamp| v1::Sample { value: 1.5, timestamp }).collect()
}

fn histograms(times: &[i64]) -> Vec<v1::Histogram> {
    let one = |&timestamp| v1::Histogram { count_int: 3, sum: 1.0, positive_deltas: vec![1, -1], timestamp };
    times.iter().map(one).collect()
}

pub fn in_version_1(all: &[Model]) -> v1::WriteRequest {
    let one = |(labels, samples, native): &Model| v1::TimeSeries {
        labels: labels.iter().map(|(name, value)| v1::Label { name: name.clone(), value: value.clone() }).collect(),
        samples: points(samples),
        exemplars: vec![v1::Exemplar {
            labels: vec![v1::Label { name: "trace_id".to_owned(), value: "a".to_owned() }],
            value: 1.0,
            timestamp: 1,
        }],
        histograms: histograms(native),
    };
    v1::WriteRequest { timeseries: all.iter().map(one).collect(), metadata: Vec::new() }
}

pub fn in_version_2(all: &[Model]) -> v2::Request {
    let mut symbols = vec![String::new()];
    let mut refs = BTreeMap::from([(String::new(), 0)]);
    let mut timeseries = Vec::new();
    for (labels, samples, native) in all {
        let mut labels_refs = Vec::new();
        for text in labels.iter().flat_map(|(name, value)| [name, value]) {
            let next = refs.len() as u32;
            labels_refs.push(*refs.entry(text.clone()).or_insert_with(|| {
                symbols.push(text.clone());
                next
            }));
        }
        let (samples, histograms) = (points(samples), histograms(native));
        timeseries.push(v2::TimeSeries { labels_refs, samples, histograms, metadata: None });
    }
    v2::Request { symbols, timeseries }
}

#[test]
fn both_versions_give_labels_times_and_metadata() {
    let up = (labels(&[("__name__", "up"), ("job", "a"), ("empty", "")]), vec![3, -1, 2], vec![]);
    let native = (labels(&[("__name__", "latency_count")]), vec![], vec![5, 9]);
    let silent = (labels(&[("__name__", "latency_bucket"), ("le", "1")]), vec![], vec![]);
    let all = [up, native, silent];

    let mut first = in_version_1(&all);
    let family = |kind, name: &str| v1::MetricMetadata {
        kind,
        metric_family_name: name.to_owned(),
        help: "What.".to_owned(),
        unit: "s".to_owned(),
    };
    first.metadata = vec![family(1, "up"), family(3, "latency"), family(99, "later")];
    let mut second = in_version_2(&all);
    let refs = second.symbols.len() as u32;
    second.symbols.extend(["What.".to_owned(), "s".to_owned()]);
    let metadata = |kind| Some(v2::Metadata { kind, help_ref: refs, unit_ref: refs + 1 });
    second.timeseries[0].metadata = metadata(1);
    second.timeseries[1].metadata = metadata(3);
    second.timeseries[2].metadata = metadata(3);

    let (first, second) = (read(&body(&first)).unwrap(), read(&body(&second)).unwrap());
    assert_eq!(first.series, second.series);
    let times: Vec<_> = first.series.iter().map(|series| series.points.clone()).collect();
    let at = |milliseconds: &[i64]| milliseconds.iter().map(|time| (time * 1_000_000, time * 1_000_000)).collect();
    assert_eq!(times, [at(&[3, -1, 2]), at(&[5, 9]), vec![]]);
    assert_eq!(first.series[0].labels, labels(&[("__name__", "up"), ("job", "a"), ("empty", "")]));
    let said = |taken: &Taken| -> Vec<(String, MetricType, bool)> {
        let all = taken.metadata.iter();
        all.map(|metadata| (metadata.name.clone(), metadata.metric_type, metadata.is_monotonic)).collect()
    };
    let up = ("up".to_owned(), MetricType::Sum, true);
    let classic = ("latency".to_owned(), MetricType::Histogram, false);
    let later = ("later".to_owned(), MetricType::Unknown, false);
    assert_eq!(said(&first), [up.clone(), classic.clone(), later]);
    // A native histogram has no suffix: what looks like one belongs to its name.
    assert_eq!(said(&second), [up, ("latency_count".to_owned(), MetricType::Histogram, false), classic]);
    for metadata in first.metadata.iter().chain(&second.metadata) {
        assert_eq!((metadata.description.as_str(), metadata.unit.as_str()), ("What.", "s"));
    }
}

#[test]
fn symbols_may_come_after_the_series() {
    let request = in_version_2(&[(labels(&[("__name__", "up")]), vec![1], vec![])]);
    let series = v2::Request { symbols: Vec::new(), timeseries: request.timeseries.clone() };
    let symbols = v2::Request { symbols: request.symbols.clone(), timeseries: Vec::new() };
    let content = [series.encode_to_vec(), symbols.encode_to_vec()].concat();
    let swapped = snap::raw::Encoder::new().compress_vec(&content).unwrap();
    assert_eq!(read(&swapped), read(&body(&request)));
}

#[test]
fn errors_state_their_values() {
    let one = (labels(&[("__name__", "up")]), vec![1], vec![]);
    let mut odd = in_version_2(&[one.clone(), one.clone()]);
    odd.timeseries[1].labels_refs.push(0);
    let mut out_of_range = in_version_2(std::slice::from_ref(&one));
    out_of_range.timeseries[0].labels_refs = vec![1, 3];
    let mut help = in_version_2(std::slice::from_ref(&one));
    help.timeseries[0].metadata = Some(v2::Metadata { kind: 1, help_ref: 9, unit_ref: 0 });
    let mut first = in_version_2(std::slice::from_ref(&one));
    first.symbols[0] = "up".to_owned();
    let mut late = in_version_1(std::slice::from_ref(&one));
    late.timeseries[0].samples[0].timestamp = i64::MAX;
    let mixed =
        [in_version_1(std::slice::from_ref(&one)).encode_to_vec(), in_version_2(&[one]).encode_to_vec()].concat();
    let packed = |content: &[u8]| snap::raw::Encoder::new().compress_vec(content).unwrap();
    for (body, message) in [
        (body(&odd), "series 1 has 3 references to names and values; the number must be even"),
        (body(&out_of_range), "series 0 refers to symbol 3, but there are 3 symbols"),
        (body(&help), "series 0 refers to symbol 9, but there are 3 symbols"),
        (body(&first), "symbol 0 has 2 bytes; it must be empty"),
        (packed(&mixed), "the request has 1 parts of version 1 and 4 of version 2"),
        (packed(b"\x22\x00\x22\x02a\xff\x2a\x04\x0a\x02\x01\x01"), "symbol 1 is not valid UTF-8 at its byte 1"),
        (packed(b"\x0a\x02\x0a\x05"), "series 0 of the request is malformed"),
        (packed(b"\x0a\x05\x0a\x03\x0a\x01\xff"), "series 0 of the request is malformed"),
        (packed(b"\x0a\x05\x0a"), "invalid remote-write request"),
        (b"\xff\xff\xff\xff\x0f\x00a".to_vec(), "the request has 4 GiB, more than 1 MiB (--max-record-size)"),
        (b"\xe8\x07\x00a".to_vec(), "4 bytes of snappy cannot expand to 1000 bytes"),
        (b"\x05\x00a".to_vec(), "invalid snappy block"),
        (b"".to_vec(), "invalid snappy block"),
    ] {
        assert_eq!(read(&body), Err(message.to_owned()));
    }
    assert_eq!(read(&packed(b"")), Ok(Taken::default()));
    // A time that does not fit costs no labels.
    let late = read(&body(&late)).unwrap();
    assert_eq!((late.series.len(), &late.series[0].points, late.series[0].untimed), (1, &Vec::new(), 1));
}

#[test]
fn the_best_compression_of_snappy_is_read() {
    let long = (labels(&[("__name__", &"a".repeat(900_000))]), vec![1], vec![]);
    let body = body(&in_version_1(&[long]));
    assert!(body.len() < 50_000, "{}", body.len());
    assert_eq!(read(&body).unwrap().series[0].labels[0].1.len(), 900_000);
}

#[test]
fn only_requests_are_detected_as_requests() {
    let one = (labels(&[("__name__", "up"), ("job", "a")]), vec![1], vec![]);
    let metadata = v1::WriteRequest {
        timeseries: Vec::new(),
        metadata: vec![v1::MetricMetadata { kind: 1, metric_family_name: "up".to_owned(), ..Default::default() }],
    };
    for body in [body(&in_version_1(std::slice::from_ref(&one))), body(&in_version_2(&[one])), body(&metadata)] {
        assert!(looks_like_remote_write(&body), "{body:?}");
        assert!((0..4).all(|len| !looks_like_remote_write(&body[..len])));
    }
    for other in [
        &b"# TYPE up gauge\nup 1\n"[..],
        b"{\"__name__\":\"up\"}",
        b"{\n  \"resourceMetrics\": []\n}",
        b"\x28\xb5\x2f\xfd\x04\x00",
        b"\x1f\x8b\x08\x00",
        b"\xba\xaa\xd7\x00\x02",
        b"",
    ] {
        assert!(!looks_like_remote_write(other), "{other:?}");
    }
}

fn models() -> impl Strategy<Value = Vec<Model>> {
    let text = || prop_oneof!["[a-z_]{0,4}", "\\PC{0,6}", "a{0,300}"];
    let labels = proptest::collection::vec((text(), text()), 0..5);
    let times = || proptest::collection::vec(-9_000_000_000_000_i64..9_000_000_000_000, 0..4);
    proptest::collection::vec((labels, times(), times()), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_versions_read_back(models in models()) {
        for body in [body(&in_version_1(&models)), body(&in_version_2(&models))] {
            let taken = read(&body).map_err(TestCaseError::fail)?;
            prop_assert_eq!(taken.series.len(), models.len());
            for (series, (labels, samples, native)) in taken.series.iter().zip(&models) {
                prop_assert_eq!(&series.labels, labels);
                let times = [samples.as_slice(), native].concat();
                let times: Vec<_> = times.iter().map(|time| (time * 1_000_000, time * 1_000_000)).collect();
                prop_assert_eq!(&series.points, &times);
            }
        }
    }

    #[test]
    fn damage_is_refused_or_read(models in models(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for mut body in [body(&in_version_1(&models)), body(&in_version_2(&models))] {
            let at = at.index(body.len());
            body[at] = byte;
            let mut taken = Taken::default();
            let _ = decode_remote_write(&body, MAX_LEN, &mut taken);
            prop_assert!(!taken.is_torn());
            let _ = read(&body[..at]);
        }
    }
}

/// Protobuf lets a writer repeat fields: the last number or text counts, and pieces of messages and lists are joined.
#[test]
fn fields_that_come_twice_are_read_as_protobuf_defines_it() {
    let packed = |content: &[u8]| snap::raw::Encoder::new().compress_vec(content).unwrap();
    let symbols = b"\x22\x00\x22\x08__name__\x22\x02up\x22\x03job\x22\x01a\x22\x05What.\x22\x01s";
    // References in two lists and two single numbers; help and unit in two pieces of the metadata.
    let pieces = b"\x2a\x14\x0a\x02\x01\x02\x08\x03\x08\x04\x0a\x00\x2a\x04\x08\x02\x18\x05\x2a\x02\x20\x06";
    let taken = read(&packed(&[&symbols[..], pieces].concat())).unwrap();
    assert_eq!(taken.series[0].labels, labels(&[("__name__", "up"), ("job", "a")]));
    let metadata = &taken.metadata[0];
    assert_eq!(
        (metadata.metric_type, metadata.description.as_str(), metadata.unit.as_str()),
        (MetricType::Gauge, "What.", "s")
    );
    // A label with two names and two values; a sample with two timestamps.
    let twice = b"\x0a\x13\x0a\x0b\x0a\x01x\x12\x01y\x0a\x00\x12\x01z\x12\x04\x10\x05\x10\x07";
    let taken = read(&packed(twice)).unwrap();
    assert_eq!(taken.series[0].labels, labels(&[("", "z")]));
    assert_eq!(taken.series[0].points, [(7_000_000, 7_000_000)]);
}

#[test]
fn groups_and_field_numbers_that_protobuf_forbids_are_refused() {
    let packed = |content: &[u8]| snap::raw::Encoder::new().compress_vec(content).unwrap();
    let series = b"\x0a\x00";
    assert!(read(&packed(&[&series[..], b"\xa3\x01\x08\x01\xa4\x01"].concat())).is_ok(), "a group is skipped");
    for (bad, what) in [
        (&b"\xa3\x01\x08\x01\xac\x01\xa4\x01"[..], "a group ends within another"),
        (b"\xa3\x01\xac\x01", "a group ends as another"),
        (b"\x88\x80\x80\x80\x10\x00", "a field number above 2^29 - 1"),
    ] {
        assert_eq!(
            read(&packed(&[&series[..], bad].concat())),
            Err("invalid remote-write request".to_owned()),
            "{what}"
        );
    }
}

/// Parts that are almost empty take many times their bytes once they are decoded: a request that consists of them is
/// refused before that.
#[test]
fn requests_that_would_take_many_times_their_bytes_are_refused() {
    let packed = |content: &[u8]| snap::raw::Encoder::new().compress_vec(content).unwrap();
    let invalid = Err("invalid remote-write request".to_owned());
    for part in [b"\x0a\x00", b"\x22\x00", b"\x2a\x00", b"\x1a\x00"] {
        assert_eq!(read(&packed(&part.repeat(400_000))).map(|_| ()), invalid, "{part:x?}");
        assert_ne!(read(&packed(&part.repeat(1_000))).map(|_| ()), invalid, "{part:x?}");
    }
    let message = |key: u8, content: &[u8]| {
        let mut bytes = vec![key];
        prost::encode_length_delimiter(content.len(), &mut bytes).unwrap();
        bytes.extend_from_slice(content);
        bytes
    };
    let label = message(0x0a, b"\x0a\x01a\x12\x01b");
    for (count, is_refused) in [(4_096, false), (4_097, true)] {
        let series = message(0x0a, &label.repeat(count));
        let error = read(&packed(&series)).map(|_| ());
        assert_eq!(
            error == Err("series 0 of the request is malformed".to_owned()),
            is_refused,
            "{count} labels: {error:?}"
        );
        let series = [&b"\x22\x00"[..], &message(0x2a, &message(0x0a, &vec![0; 2 * count]))].concat();
        let error = read(&packed(&series)).map(|_| ());
        assert_eq!(
            error == Err("series 0 of the request is malformed".to_owned()),
            is_refused,
            "{count} references: {error:?}"
        );
    }
}
