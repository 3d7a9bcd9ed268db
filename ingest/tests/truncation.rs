//! Captures that are truncated at any byte are never read without a warning about the loss.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{BrokenRecord, Ingest, IngestError, IngestOptions, Report};

use crate::canonical::{self, Labels};
use crate::compressed::{gzip, zstd};

/// Series of each capture.
const COUNT: usize = 3;

/// Returns a capture of [`COUNT`] records with one series each.
struct Capture {
    name: &'static str,
    format: Format,
    content: Vec<u8>,
    /// Start of each record.
    starts: Vec<usize>,
}

impl Capture {
    /// Returns a capture of these records after `before`.
    fn new(
        name: &'static str,
        format: Format,
        before: &str,
        between: &str,
        after: &str,
        record: impl Fn(usize) -> Vec<u8>,
    ) -> Self {
        let (mut content, mut starts) = (before.as_bytes().to_vec(), Vec::new());
        for number in 0..COUNT {
            starts.push(content.len());
            content.extend(record(number));
            content.extend_from_slice(if number + 1 < COUNT { between } else { after }.as_bytes());
        }
        Self { name, format, content, starts }
    }
}

/// A message with one field of bytes.
fn field(key: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![key];
    prost::encoding::encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn otlp_json(number: usize) -> Vec<u8> {
    let attribute = format!(r#"{{"key":"pod","value":{{"stringValue":"pod-{number}"}}}}"#);
    format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"up","gauge":{{"dataPoints":[{{"timeUnixNano":"1762851600000000000","attributes":[{attribute}]}}]}}}}]}}]}}]}}"#)
        .into_bytes()
}

/// Without anything that could be left away at the end and give another series.
fn otlp_proto(number: usize) -> Vec<u8> {
    let attribute = [field(0x0a, b"pod"), field(0x12, &field(0x0a, format!("pod-{number}").as_bytes()))].concat();
    let metric = [field(0x0a, b"up"), field(0x2a, &field(0x0a, &field(0x3a, &attribute)))].concat();
    field(0x0a, &field(0x12, &field(0x12, &metric)))
}

fn series_json(number: usize) -> Vec<u8> {
    format!(r#"{{"__name__":"up","pod":"pod-{number}"}}"#).into_bytes()
}

fn line(number: usize) -> Vec<u8> {
    format!("up{{pod=\"pod-{number}\"}} 1 1762851600000").into_bytes()
}

fn seconds(number: usize) -> Vec<u8> {
    format!("up{{pod=\"pod-{number}\"}} 1 1762851600.123").into_bytes()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

fn captures() -> Vec<Capture> {
    use Format::{OpenMetrics, OtlpJson, OtlpProto, PrometheusText, SeriesJson};
    let pretty = |number| {
        let value: serde_json::Value = serde_json::from_slice(&otlp_json(number)).unwrap();
        serde_json::to_vec_pretty(&value).unwrap()
    };
    let help = "# HELP up whether it is there\n# TYPE up gauge\n";
    let response = "{\"status\":\"success\",\"data\":[";
    vec![
        Capture::new("OTLP lines", OtlpJson, "", "\n", "\n", otlp_json),
        Capture::new("OTLP over many lines", OtlpJson, "", "\n", "\n", pretty),
        Capture::new("OTLP as framed JSON", OtlpJson, "", "", "", |number| framed(&otlp_json(number))),
        Capture::new("OTLP as framed protobuf", OtlpProto, "", "", "", |number| framed(&otlp_proto(number))),
        Capture::new("OTLP as framed zstd", OtlpProto, "", "", "", |number| framed(&zstd(&otlp_proto(number)))),
        Capture::new("OTLP as one request", OtlpProto, "", "", "", otlp_proto),
        Capture::new("series on lines", SeriesJson, "", "\n", "\n", series_json),
        Capture::new("series in an array", SeriesJson, "[", ",", "]", series_json),
        Capture::new("series of a response", SeriesJson, response, ",", "]}", series_json),
        Capture::new("exposition text", PrometheusText, help, "\n", "\n", line),
        Capture::new("OpenMetrics", OpenMetrics, help, "\n", "\n# EOF\n", seconds),
    ]
}

fn run(content: &[u8], format: Option<Format>) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    let mut ingest = Ingest::new(IngestOptions { format, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content.to_vec()))?)?;
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report))
}

/// The series of the first records.
fn series(count: usize) -> BTreeSet<Labels> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    (0..count).map(|number| [pair("__name__", "up"), pair("pod", &format!("pod-{number}"))].into()).collect()
}

/// Fails unless the warnings say where something was lost.
#[track_caller]
fn assert_told(report: &Report, what: &str) {
    let told: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|warning| warning.contains("capture: ") && warning.contains("cut off")),
        "{what}: {told:?}"
    );
}

#[test]
fn a_capture_cut_anywhere_is_whole_or_said_to_be_cut() {
    let mut cuts = 0;
    for capture in captures() {
        let content = &capture.content;
        let (found, report) = run(content, Some(capture.format)).unwrap();
        assert_eq!((found, report.is_partial(false)), (series(COUNT), false), "{}", capture.name);
        for len in 0..content.len() {
            let what = format!("{} cut to {len} of {} bytes", capture.name, content.len());
            let (found, report) =
                run(&content[..len], Some(capture.format)).unwrap_or_else(|error| panic!("{what}: {error}"));
            let begun = capture.starts.iter().filter(|&&start| start < len).count();
            if report.is_partial(false) {
                assert!(found.is_subset(&series(begun)), "{what}: {found:?}");
                // One request is one record: it is left out whole.
                let kept = if capture.name == "OTLP as one request" { 0 } else { begun.saturating_sub(1) };
                assert!(found.is_superset(&series(kept)), "{what}: whole records are kept");
                assert_told(&report, &what);
                assert!(!report.is_partial(true), "{what}: it can be allowed");
            } else {
                assert_eq!(found, series(begun), "{what}");
            }
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
    assert!(cuts > 2_000, "{cuts}");
}

#[test]
fn a_compressed_capture_cut_anywhere_is_said_to_be_cut() {
    let mut cuts = 0;
    for capture in captures() {
        for (compression, compress) in [("zstd", zstd as fn(&[u8]) -> Vec<u8>), ("gzip", gzip)] {
            let compressed = compress(&capture.content);
            for len in 1..compressed.len() {
                let what = format!("{} as {compression} cut to {len} of {} bytes", capture.name, compressed.len());
                cuts += 1;
                match run(&compressed[..len], Some(capture.format)) {
                    Ok((found, report)) => {
                        assert!(report.is_partial(false), "{what}");
                        assert!(found.is_subset(&series(COUNT)), "{what}: {found:?}");
                        assert_told(&report, &what);
                    }
                    // These few bytes are neither recognized as compressed nor valid in the given format.
                    Err(error) => assert!(len < 4, "{what}: {error}"),
                }
            }
        }
    }
    println!("{cuts} cuts");
    assert!(cuts > 2_000, "{cuts}");
}

#[test]
fn members_of_a_stream_cut_between_them_are_whole_and_cut_within_the_next_are_not() {
    let first = format!("{}\n", String::from_utf8(series_json(0)).unwrap());
    for compress in [zstd as fn(&[u8]) -> Vec<u8>, gzip] {
        let (member, next) = (compress(first.as_bytes()), compress(first.replace("pod-0", "pod-1").as_bytes()));
        let both = [member.clone(), next].concat();
        for len in member.len()..both.len() {
            let (found, report) = run(&both[..len], Some(Format::SeriesJson)).unwrap();
            assert_eq!(report.is_partial(false), len > member.len(), "{len} of {} bytes", both.len());
            assert!(found.is_superset(&series(1)), "{len} of {} bytes", both.len());
        }
    }
}

#[test]
fn a_request_of_remote_write_cut_anywhere_is_cut_or_broken() {
    let label =
        |name: &str, value: &str| field(0x0a, &[field(0x0a, name.as_bytes()), field(0x12, value.as_bytes())].concat());
    let sample = field(0x12, &[0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 1]);
    let one = |number: usize| {
        field(0x0a, &[label("__name__", "up"), label("pod", &format!("pod-{number}")), sample.clone()].concat())
    };
    let request: Vec<u8> = (0..COUNT).flat_map(one).collect();
    let body = snap::raw::Encoder::new().compress_vec(&request).unwrap();
    assert_eq!(run(&body, Some(Format::RemoteWrite)).unwrap().0, series(COUNT));
    let mut cut_off = 0;
    for len in 1..body.len() {
        match run(&body[..len], Some(Format::RemoteWrite)) {
            Ok((found, report)) => {
                assert!(report.is_partial(false) && found.is_empty(), "{len} bytes");
                assert_told(&report, "a request");
                cut_off += 1;
            }
            // The stream cannot expand to its stated size, so it counts as damaged, not as cut.
            Err(IngestError::Record { source: BrokenRecord::Decode(_), .. }) => {}
            Err(error) => panic!("{len} bytes: {error}"),
        }
    }
    assert!(cut_off > body.len() / 2, "{cut_off} of {} bytes", body.len());
}

/// Returns 82 records; the second claims to reach beyond the end, or to a place within the capture.
#[test]
fn a_wrong_length_that_swallows_records_is_told() {
    let records: Vec<Vec<u8>> = (0..82).map(|number| framed(&otlp_proto(number))).collect();
    let place = records[0].len();
    let rest: usize = records[1..].iter().map(Vec::len).sum();
    let mut lengths = 0;
    for length in (0..rest as u32 + 200).filter(|length| *length as usize != records[1].len() - 4) {
        let mut content = records.concat();
        content[place..place + 4].copy_from_slice(&length.to_be_bytes());
        match run(&content, None) {
            Ok((found, report)) => {
                assert!(report.is_partial(false), "length {length}");
                assert_eq!(found.len(), 1, "length {length}");
                let lost = rest - 4;
                let told = format!(
                    "capture: record 2 at byte {place} is cut off at the end of the input: its length prefix is {length}, but {lost} bytes follow"
                );
                assert!(report.warnings[0].to_string().starts_with(&told), "{}", report.warnings[0]);
            }
            Err(IngestError::Record { number, offset, .. }) => {
                assert!(number >= 2 && offset >= place as u64, "length {length}: record {number} at {offset}");
            }
            Err(error) => panic!("length {length}: {error}"),
        }
        lengths += 1;
    }
    assert!(lengths > 3_000, "{lengths}");
}
