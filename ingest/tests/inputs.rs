//! Inputs of every framing and compression: complete, truncated, malformed and malicious.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report, Warning};
use proptest::prelude::*;

use crate::canonical::{self, Labels};
use crate::compressed::{gzip, zstd};

const LINES: &str = "{\"a\":\"1\"}\n{\"a\":\"2\",\"b\":\"x\"}\n{\"a\":\"1\"}\n";

fn run(content: impl Into<Vec<u8>>, options: IngestOptions) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    run_reader(Cursor::new(content.into()), options)
}

fn run_reader(
    reader: impl Read + Send + 'static,
    options: IngestOptions,
) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    ingest.read(Source::new("capture".to_owned(), reader)?)?;
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report))
}

/// Yields one byte a call, as a slow pipe might.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

/// Fails after its content.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            count => Ok(count),
        }
    }
}

#[test]
fn every_framing_and_compression_gives_the_same_series() {
    let expected = canonical::series_json(LINES);
    let array = r#"[{"a":"1"},{"a":"2","b":"x"},{"a":"1"}]"#;
    let response = format!(r#"{{"status":"success","data":{array}}}"#);
    let spread = "{\n \"status\" : \"success\",\n \"infos\": [\"data\", \"[x\"], \"data\" : [\n {\n\"a\":\"1\"\n} , {\"a\":\"2\",\r\n\"b\":\"x\"}\n,{\"a\":\"1\"} ] ,\n \"more\": {\"data\": [1]}\n}\n";
    let (first, second) = LINES.split_at(13);
    let contents: [(&str, Vec<u8>); 12] = [
        ("lines", LINES.into()),
        ("lines with CR LF and blank ones", LINES.replace('\n', "\r\n\r\n").into()),
        ("lines after a byte order mark", format!("\u{feff}{LINES}").into()),
        ("lines without the last newline", LINES.trim_end().into()),
        ("an array", array.into()),
        ("a response", response.clone().into()),
        ("a response over several lines", spread.into()),
        ("two responses", format!("{response}\n{response}").into()),
        ("zstd", zstd(LINES.as_bytes())),
        ("zstd of several frames", [zstd(first.as_bytes()), zstd(b""), zstd(second.as_bytes())].concat()),
        ("gzip", gzip(response.as_bytes())),
        ("gzip of several members", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat()),
    ];
    for (what, content) in contents {
        for format in [None, Some(Format::SeriesJson)] {
            let options = IngestOptions { format, ..IngestOptions::default() };
            let (found, report) =
                run(content.clone(), options.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(found, expected, "{what}");
            assert_eq!((report.records % 3, report.warnings.len(), report.torn_records), (0, 0, 0), "{what}");
            let (slowly, _) = run_reader(Trickle(Cursor::new(content.clone())), options).unwrap();
            assert_eq!(slowly, expected, "{what}, byte by byte");
        }
    }
}

#[test]
fn a_torn_last_record_is_left_out_and_warned_of() {
    let whole = canonical::series_json(LINES).len();
    let array = r#"[{"a":"1"},{"a":"2","b":"x"},{"a":"é"}]"#;
    for content in ["", LINES, array] {
        for torn in ["{\"a\":\"3", "{\"a\"", "{", "{\"a\":\"\\u00"] {
            let content = if content == array {
                format!("[{{\"a\":\"1\"}},{{\"a\":\"2\"}},{torn}")
            } else {
                format!("{content}{torn}")
            };
            let (found, report) =
                run(content.clone(), IngestOptions { format: Some(Format::SeriesJson), ..IngestOptions::default() })
                    .unwrap();
            let expected = if content.starts_with('[') {
                2
            } else if content.len() > 10 {
                whole
            } else {
                0
            };
            assert_eq!((found.len(), report.torn_records), (expected, 1), "{content}");
            assert!(matches!(report.warnings[0], Warning::TornRecord { .. }), "{content}");
            assert!(report.is_partial(false) && !report.is_partial(true));
        }
    }
    // Also within a character.
    let mut bytes = LINES.as_bytes().to_vec();
    bytes.extend_from_slice(b"{\"a\":\"\xc3");
    assert_eq!(run(bytes, IngestOptions::default()).unwrap().1.torn_records, 1);
}

#[test]
fn every_truncation_of_a_capture_is_read_up_to_there() {
    let capture =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/monday.series.jsonl")).unwrap();
    let all = run(capture.clone(), IngestOptions::default()).unwrap().0;
    let options = IngestOptions { format: Some(Format::SeriesJson), ..IngestOptions::default() };
    for len in 0..capture.len() {
        let (found, report) =
            run(&capture[..len], options.clone()).unwrap_or_else(|error| panic!("{len} bytes: {error}"));
        let lines = capture[..len].iter().filter(|&&byte| byte == b'\n').count();
        assert!(found.is_subset(&all), "{len} bytes");
        assert!(report.records as usize == lines || report.records as usize == lines + 1, "{len} bytes");
    }
    for compressed in [zstd(&capture), gzip(&capture)] {
        for len in (0..compressed.len()).step_by(7) {
            // A handful of bytes is not recognised as compressed, or as a whole frame header.
            if let Ok((found, report)) = run(&compressed[..len], options.clone()) {
                assert!(found.is_subset(&all), "{len} bytes");
                assert!(len == 0 || report.truncated_inputs == 1, "{len} bytes: {report:?}");
            } else {
                assert!(len < 12, "{len} bytes");
            }
        }
    }
}

#[test]
fn a_broken_record_stops_the_run_and_says_where() {
    let content = format!("{LINES}\n{{\"a\":1}}\n{LINES}");
    let error = run(content.clone(), IngestOptions::default()).unwrap_err();
    let IngestError::Record { number, offset, .. } = &error else { panic!("{error}") };
    assert_eq!((*number, *offset), (4, LINES.len() as u64 + 1));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "invalid type: integer `1`, expected a string at line 1 column 6");
    assert_eq!(error.to_string(), format!("capture: record 4 at byte {offset} is malformed"));

    let options = IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
    let (found, report) = run(content, options).unwrap();
    assert_eq!(found, canonical::series_json(LINES));
    assert_eq!((report.records, report.skipped.broken_records, report.blank_lines), (6, 1, 1));
    assert!(report.is_partial(false));
}

#[test]
fn a_record_with_an_error_before_its_end_is_malformed() {
    for last in ["{\"a\":1", "garbage", "{\"a\":\"1\"}}", "{\"a\":\"\x01"] {
        let error = run(format!("{LINES}{last}"), IngestOptions::default()).unwrap_err();
        assert!(matches!(error, IngestError::Record { number: 4, .. }), "{last}: {error}");
    }
}

#[test]
fn a_broken_request_leaves_nothing_behind_when_it_is_skipped() {
    let good = |name: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"resource":{{}},"scopeMetrics":[{{"scope":{{}},"metrics":[{{"name":"{name}","gauge":{{"dataPoints":[{{}}]}}}}]}}]}}]}}"#
        )
    };
    // The mistake comes after a good point.
    let bad = good("bad").replace(r#"[{}]}}"#, r#"[{},{"timeUnixNano":"x"}]}}"#);
    let options = IngestOptions { skip_broken_records: true, ..IngestOptions::default() };
    let (found, report) = run(format!("{}\n{bad}\n{}\n", good("a"), good("b")), options).unwrap();
    let names: Vec<&str> = found.iter().map(|labels| labels["__name__"].as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!((report.points, report.records, report.skipped.broken_records), (2, 2, 1));
}

#[test]
fn records_are_bounded() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(100));
    let limit =
        |skip_broken_records| IngestOptions { max_record_len: 50, skip_broken_records, ..IngestOptions::default() };
    for content in [format!("{LINES}{long}\n{LINES}"), format!("[{{\"a\":\"1\"}},{long},{{\"a\":\"2\",\"b\":\"x\"}}]")]
    {
        let error = run(content.clone(), limit(false)).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("longer than 50 bytes (--max-record-size)"), "{content}");
        let (found, report) = run(content, limit(true)).unwrap();
        assert_eq!((found, report.skipped.broken_records), (canonical::series_json(LINES), 1));
    }
    let at_limit = format!("{{\"a\":\"{}\"}}\n", "x".repeat(42));
    assert_eq!(run(at_limit, limit(false)).unwrap().1.records, 1);
    let envelope = format!("{{\"status\":\"success\",\"note\":\"{}\",\"data\":[]}}", "x".repeat(100));
    let error = run(envelope, limit(true)).unwrap_err().to_string();
    assert!(error.contains("more than 50 bytes outside of the series list"), "{error}");
}

/// 1 MiB that expands to 1 GiB: it has to end in an error, or pass in little memory.
#[test]
fn a_small_file_that_expands_is_no_danger() {
    let bomb = || zstd::encode_all(io::repeat(b' ').take(1 << 30), 1).unwrap();
    let (found, report) =
        run(bomb(), IngestOptions { max_record_len: 1 << 20, skip_broken_records: true, ..IngestOptions::default() })
            .unwrap();
    assert_eq!((found.len(), report.records), (0, 0));
    let error = run(bomb(), IngestOptions { max_record_len: 1 << 20, ..IngestOptions::default() }).unwrap_err();
    assert!(matches!(error, IngestError::Record { number: 1, .. }), "{error}");
}

#[test]
fn errors_of_the_system_of_the_stream_and_of_the_content_are_told_apart() {
    for content in [LINES.as_bytes().to_vec(), zstd(LINES.as_bytes()), gzip(LINES.as_bytes())] {
        let error = run_reader(Failing(Cursor::new(content)), IngestOptions::default()).unwrap_err();
        assert!(matches!(error, IngestError::Read { .. }), "{error:?}");
    }
    // Large and hard to compress, so that the damage lies within the data.
    let lines: String =
        (0..40_000u64).map(|n| format!("{{\"a\":\"{}\"}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    for mut compressed in [zstd(lines.as_bytes()), gzip(lines.as_bytes())] {
        let middle = compressed.len() / 2;
        compressed[middle..middle + 64].fill(0xff);
        let error = run(compressed, IngestOptions::default()).map(|(_, report)| report).unwrap_err();
        assert!(matches!(error, IngestError::Compression { .. } | IngestError::Record { .. }), "{error:?}");
    }
    let trailing = [gzip(LINES.as_bytes()), b"garbage, longer than a header".to_vec()].concat();
    let error = run(trailing, IngestOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::Compression { compression: "gzip", .. }), "{error:?}");
}

#[test]
fn responses_must_be_whole_and_successful() {
    for (content, reason) in [
        (r#"{"status":"error","errorType":"bad_data","error":"no match","data":null}"#, "error, bad_data, no match"),
        (r#"{"status":"success","data":[{"a":"1"}],"data":[{"a":"2"}]}"#, "duplicate field"),
        (r#"{"status":"success","data":[{"a":"1"} {"a":"2"}]}"#, "unexpected '{'"),
        (r#"{"status":"success","data":[,]}"#, "unexpected ','"),
        (r#"{"status":"success","data":[{"a":"1"},]}"#, "unexpected ']'"),
        (r#"{"status":"success","data":[]} x"#, "unexpected 'x'"),
        (r#"[] }"#, "unexpected '}'"),
    ] {
        let error = run(content, IngestOptions { skip_broken_records: true, ..IngestOptions::default() }).unwrap_err();
        assert!(error.to_string().contains(reason), "{content}: {error}");
    }
    let (found, report) = run(r#"{"status":"success","data":[]}"#, IngestOptions::default()).unwrap();
    assert_eq!((found.len(), report.warnings.len()), (0, 1));
    let (_, report) = run(r#"{"status":"success","data":[{"a":"1"}]"#, IngestOptions::default()).unwrap();
    assert_eq!((report.records, report.torn_records), (1, 1));
}

#[test]
fn requests_of_old_captures_and_other_writers_are_understood() {
    let modern = r#"{"resourceMetrics":[{"resource":{},"scopeMetrics":[{"scope":{"name":"s"},"metrics":[{"name":"m","exponentialHistogram":{"dataPoints":[{"timeUnixNano":"5"}]}}]}]}]}"#;
    let expected = canonical::otlp_json(modern);
    for other in [
        modern
            .replace("scopeMetrics", "instrumentationLibraryMetrics")
            .replace("\"scope\"", "\"instrumentationLibrary\""),
        modern
            .replace("resourceMetrics", "resource_metrics")
            .replace("scopeMetrics", "scope_metrics")
            .replace("exponentialHistogram", "exponential_histogram")
            .replace("dataPoints", "data_points")
            .replace("timeUnixNano", "time_unix_nano"),
        modern.replace("\"5\"", "5"),
        modern.replace(
            "\"name\":\"m\",",
            "\"name\":\"m\",\"later\":{\"deep\":[1,null,{\"x\":\"\\u0000\"}]},\"unit\":null,",
        ),
        modern.replace("{\"timeUnixNano\"", "{\"attributes\":null,\"exemplars\":[{}],\"timeUnixNano\""),
    ] {
        let (found, report) =
            run(other.clone(), IngestOptions::default()).unwrap_or_else(|error| panic!("{other}: {error:?}"));
        assert_eq!(found, expected, "{other}");
        assert_eq!(report.time, Some((5, 6)), "{other}");
    }
}

#[test]
fn malformed_requests_are_refused_with_a_reason() {
    for (content, reason) in [
        (r#"{"resourceMetrics":{}}"#, "an array, each item ResourceMetrics"),
        (r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":1}]}}]}"#, "expected a string"),
        (r#"{"resourceMetrics":[{"resource":{},"scopeMetrics":[],"resource":{}}]}"#, "described a second time"),
        (r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[7]}}]}]}]}"#, "a data point"),
        (r#"{"resourceMetrics":[]}{}"#, "trailing characters"),
    ] {
        let error = run(format!("{content}\n"), IngestOptions::default()).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(source.contains(reason), "{content}: {error}: {source}");
    }
}

/// Deep nesting everywhere.
#[test]
fn hostile_nesting_ends_in_an_error_or_is_ignored() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let (_, report) = run(format!(r#"{{"resourceMetrics":[{{"x":{deep}}}]}}"#), IngestOptions::default()).unwrap();
    assert_eq!(report.records, 1);
    let mut nested = r#"{"stringValue":"x"}"#.to_owned();
    for _ in 0..10_000 {
        nested = format!(r#"{{"arrayValue":{{"values":[{nested}]}}}}"#);
    }
    let attribute =
        format!(r#"{{"resourceMetrics":[{{"resource":{{"attributes":[{{"key":"a","value":{nested}}}]}}}}]}}"#);
    let error = run(attribute + "\n", IngestOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::Record { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_taken_or_refused(content in proptest::collection::vec(any::<u8>(), 0..300), skip: bool) {
        for format in [None, Some(Format::OtlpJson), Some(Format::SeriesJson)] {
            let options = IngestOptions { format, skip_broken_records: skip, ..IngestOptions::default() };
            let _ = run(content.clone(), options);
        }
    }

    /// Pieces of JSON in random order get further than random bytes.
    #[test]
    fn any_pieces_of_json_are_taken_or_refused(pieces in proptest::collection::vec(prop_oneof![
        Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just(":"), Just("null"), Just("1"), Just("-1e9"), Just("\""),
        Just("\"resourceMetrics\":["), Just("\"resource\":{"), Just("\"scopeMetrics\":["), Just("\"metrics\":["), Just("\"name\":\"m\""),
        Just("\"gauge\":{\"dataPoints\":["), Just("\"attributes\":["), Just("\"key\":\"k\""), Just("\"value\":{"), Just("\"intValue\":\"5\""),
        Just("\"kvlistValue\":{\"values\":["), Just("\"status\":\"success\""), Just("\"data\":["), Just("\"a\":\"b\""), Just("\n"), Just("\\"),
    ], 0..40), skip: bool) {
        let content = pieces.concat();
        for format in [None, Some(Format::OtlpJson), Some(Format::SeriesJson)] {
            let options = IngestOptions { format, skip_broken_records: skip, ..IngestOptions::default() };
            let _ = run(content.clone(), options);
        }
    }

    #[test]
    fn framings_agree_on_random_series(
        series in proptest::collection::vec(proptest::collection::btree_map("[a-c\"\\\\{}\\[\\],é]{1,3}", "[a-c\"\\\\{}\\[\\],:é]{0,4}", 1..5), 1..20),
    ) {
        let lines: Vec<String> = series.iter().map(|labels| serde_json::to_string(labels).unwrap()).collect();
        let expected: BTreeSet<Labels> = canonical::series_json(&lines.join("\n")).into_iter().filter(|labels| !labels.is_empty()).collect();
        let array = format!("[{}]", lines.join(","));
        for content in [lines.join("\n"), array.clone(), format!("{{\"status\":\"success\",\"data\":{array}}}")] {
            let (found, report) = run(content, IngestOptions { format: Some(Format::SeriesJson), ..IngestOptions::default() }).unwrap();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(report.records, lines.len() as u64);
        }
    }
}
